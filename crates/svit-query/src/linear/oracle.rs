//! Patterns made at random, and a slow, obvious matcher of them that shares nothing with the engine: it tries every
//! way in the order in which the pattern is written.

use std::ops::Range;

use proptest::prelude::*;

/// Whether a class has a character, perhaps of the other case.
type Holds = fn(char, bool) -> bool;

/// A pattern.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Char(char),
    Dot,
    /// Negated, and its text with what it holds, also if case is ignored.
    Class(bool, &'static str, Holds),
    Start,
    End,
    Boundary(bool),
    All(Vec<Node>),
    Either(Vec<Node>),
    Repeat(Box<Node>, usize, Option<usize>, bool),
    IgnoreCase(Box<Node>),
}

fn word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn classes() -> Vec<Node> {
    fn space(c: char, _: bool) -> bool {
        ('\t'..='\r').contains(&c) || c == ' '
    }
    fn ab(c: char, fold: bool) -> bool {
        c == 'a' || c == 'b' || fold && (c == 'A' || c == 'B')
    }
    fn greek(c: char, fold: bool) -> bool {
        ('\u{370}'..='\u{3ff}').contains(&c) || c == 'k' || fold && c == 'K'
    }
    fn word_but_a(c: char, fold: bool) -> bool {
        word(c) && c != 'a' && !(fold && c == 'A')
    }
    let of: [(&str, Holds); 10] = [
        ("[a&&b]", |_, _| false),
        (r"\w", |c, _| word(c)),
        (r"\s", space),
        (r"\d", |c, _| c.is_ascii_digit()),
        ("[ab]", ab),
        (r"[\u{370}-\u{3ff}k]", greek),
        (r"[\w--a]", word_but_a),
        ("[[:alpha:]]", |c, _| c.is_ascii_alphabetic()),
        (r"[^\Wa]", word_but_a),
        (r"[\w&&[^a]]", word_but_a),
    ];
    let of = of.into_iter();
    of.flat_map(|(text, holds)| [false, true].map(|negated| Node::Class(negated, text, holds)))
        .collect()
}

fn nodes() -> impl Strategy<Value = Node> {
    // Characters whose other case a table of Unicode has in ASCII or beyond: the Kelvin sign, the long s.
    let one = prop_oneof![
        8 => prop::sample::select(vec!['a', 'b', 'A', 'k', 's', 'K', '\u{212a}', '\u{17f}', 'é', 'É', '٣', '1', ' '])
            .prop_map(Node::Char),
        2 => Just(Node::Dot),
        6 => prop::sample::select(classes()),
    ];
    let some = prop_oneof![
        12 => one,
        1 => Just(Node::Start),
        1 => Just(Node::End),
        1 => any::<bool>().prop_map(Node::Boundary),
    ];
    some.prop_recursive(4, 12, 4, |inner| {
        prop_oneof![
            3 => prop::collection::vec(inner.clone(), 1..4).prop_map(Node::All),
            2 => prop::collection::vec(inner.clone(), 2..4).prop_map(Node::Either),
            // What is repeated matches at least a character: engines differ on how often nothing fits.
            3 => (prop_oneof![Just('a'), Just('b'), Just('é')], inner.clone(), 0usize..3, prop::option::of(0usize..3), any::<bool>())
                .prop_map(|(c, node, min, more, greedy)| {
                    let part = Node::All(vec![node, Node::Char(c)]);
                    Node::Repeat(Box::new(part), min, more.map(|more| min + more), greedy)
                }),
            2 => (prop::sample::select(classes()), 0usize..2, any::<bool>())
                .prop_map(|(class, min, greedy)| Node::Repeat(Box::new(class), min, None, greedy)),
            1 => inner.prop_map(|node| Node::IgnoreCase(Box::new(node))),
        ]
    })
}

/// Patterns, most of which match something of what [`texts`] gives.
pub(crate) fn patterns() -> impl Strategy<Value = Node> {
    nodes()
}

/// Texts for them.
pub(crate) fn texts() -> impl Strategy<Value = String> {
    "[abABkKs1 \n_éÉ٣\u{212a}\u{17f}\u{a0}]{0,12}"
}

impl Node {
    /// How it is written.
    pub(crate) fn text(&self) -> String {
        let joined = |nodes: &[Self], between: &str| {
            let texts: Vec<_> = nodes.iter().map(Self::text).collect();
            format!("(?:{})", texts.join(between))
        };
        match self {
            Self::Char(c) => c.to_string(),
            Self::Dot => ".".into(),
            Self::Class(false, text, _) => (*text).into(),
            Self::Class(true, text, _) => format!("[^{text}]"),
            Self::Start => "^".into(),
            Self::End => "$".into(),
            Self::Boundary(true) => r"\b".into(),
            Self::Boundary(false) => r"\B".into(),
            Self::All(nodes) => joined(nodes, ""),
            Self::Either(nodes) => joined(nodes, "|"),
            Self::Repeat(node, min, max, greedy) => {
                let max = max.map_or(String::new(), |max| max.to_string());
                let lazy = if *greedy { "" } else { "?" };
                format!("(?:{}){{{min},{max}}}{lazy}", node.text())
            }
            Self::IgnoreCase(node) => format!("(?i:{})", node.text()),
        }
    }

    /// Tries `then` at every end that a match from `at` has, in the order in which the pattern prefers them.
    fn ways(
        &self,
        text: &[char],
        at: usize,
        fold: bool,
        then: &mut dyn FnMut(usize) -> bool,
    ) -> bool {
        let one = |holds: &dyn Fn(char) -> bool| text.get(at).is_some_and(|c| holds(*c));
        let is_word = |at: Option<usize>| at.and_then(|at| text.get(at)).is_some_and(|c| word(*c));
        match self {
            Self::Char(wanted) => {
                one(&|c| c == *wanted || fold && c.eq_ignore_ascii_case(wanted)) && then(at + 1)
            }
            Self::Dot => one(&|c| c != '\n') && then(at + 1),
            Self::Class(negated, _, holds) => one(&|c| holds(c, fold) != *negated) && then(at + 1),
            Self::Start => at == 0 && then(at),
            Self::End => at == text.len() && then(at),
            Self::Boundary(wanted) => {
                (is_word(at.checked_sub(1)) != is_word(Some(at))) == *wanted && then(at)
            }
            Self::All(nodes) => match nodes.split_first() {
                None => then(at),
                Some((first, rest)) => first.ways(text, at, fold, &mut |at| {
                    Self::All(rest.to_vec()).ways(text, at, fold, then)
                }),
            },
            Self::Either(nodes) => nodes.iter().any(|node| node.ways(text, at, fold, then)),
            Self::Repeat(node, min, max, greedy) => {
                if *min == 0 && !greedy && then(at) {
                    return true;
                }
                let again = *max != Some(0)
                    && node.ways(text, at, fold, &mut |next| {
                        let rest = Self::Repeat(
                            node.clone(),
                            min.saturating_sub(1),
                            max.map(|max| max - 1),
                            *greedy,
                        );
                        next > at && rest.ways(text, next, fold, then)
                    });
                again || *min == 0 && *greedy && then(at)
            }
            Self::IgnoreCase(node) => node.ways(text, at, true, then),
        }
    }

    /// The first match at or behind a byte.
    pub(crate) fn find(&self, text: &str, from: usize) -> Option<Range<usize>> {
        let places: Vec<usize> = text
            .char_indices()
            .map(|(at, _)| at)
            .chain([text.len()])
            .collect();
        let chars: Vec<char> = text.chars().collect();
        let first = places.iter().position(|place| *place >= from)?;
        (first..places.len()).find_map(|start| {
            let mut end = None;
            self.ways(&chars, start, false, &mut |at| {
                end = Some(at);
                true
            });
            Some(places[start]..places[end?])
        })
    }
}
