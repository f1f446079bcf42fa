//! `Filter`: a filter's text, parsed and compiled once.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use jaq_core::load::lex::{StrPart, Tok, Token};
use jaq_core::load::{self, Arena, File, Loader};
use jaq_core::{Compiler, compile};

use super::run::Data;
use super::{defs, natives, stack};
use crate::QueryError;
use crate::error::Quoted;

/// The most bytes of a filter's text.
pub const MAX_FILTER_BYTES: usize = 4_096;
/// Compiled filters that are kept.
const CACHED: usize = 256;

/// A filter, compiled.
///
/// Compiling takes some hundred microseconds for a small filter; the last 256 texts are kept, so that asking again
/// for one takes less than one. Cloning is cheap, and a filter may be used on many threads.
///
/// ```
/// use svit_query::jq::Filter;
///
/// assert_eq!(Filter::new(".a | length")?.as_str(), ".a | length");
/// let error = Filter::new(".a | lenght").unwrap_err();
/// assert_eq!(error.to_string(), "bad filter at byte 5: there is no filter lenght/0");
/// assert_eq!(Filter::new(".a |").unwrap_err().code(), "bad_filter");
/// # Ok::<(), svit_query::QueryError>(())
/// ```
#[derive(Clone)]
pub struct Filter(Arc<Compiled>);

struct Compiled {
    text: String,
    chains: bool,
    filter: jaq_core::Filter<Data>,
}

#[derive(Default)]
struct Cache {
    filters: BTreeMap<Arc<str>, (u64, Filter)>,
    /// Counts uses; the filter that was used longest ago makes room.
    clock: u64,
}

static CACHE: Mutex<Cache> = Mutex::new(Cache {
    filters: BTreeMap::new(),
    clock: 0,
});

impl Filter {
    /// Parses and compiles a filter, or finds it among those that were.
    ///
    /// # Errors
    /// [`QueryError::BadFilter`] with the place of the first mistake; [`QueryError::FilterTooLarge`] above
    /// [`MAX_FILTER_BYTES`].
    pub fn new(text: &str) -> Result<Self, QueryError> {
        if text.len() > MAX_FILTER_BYTES {
            return Err(QueryError::FilterTooLarge {
                allowed: MAX_FILTER_BYTES as u64,
                actual: text.len() as u64,
            });
        }
        if let Some(known) = cached(text) {
            return Ok(known);
        }
        if let Some(at) = beyond_ascii(text) {
            return Err(QueryError::BadFilter {
                at,
                why: "outside of strings and comments a filter is in ASCII".to_owned(),
            });
        }
        let filter = stack::with_enough(false, || compile_text(text))?;
        let filter = Self(Arc::new(Compiled {
            chains: stack::with_enough(false, || chains(text)),
            text: text.to_owned(),
            filter,
        }));
        keep(text, &filter);
        Ok(filter)
    }

    /// The text as it was given.
    pub fn as_str(&self) -> &str {
        &self.0.text
    }

    /// Whether calls may hold on to the calls before them.
    pub(super) fn chains(&self) -> bool {
        self.0.chains
    }

    pub(super) fn compiled(&self) -> &jaq_core::Filter<Data> {
        &self.0.filter
    }
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.as_str();
        write!(
            f,
            "Filter({})",
            Quoted(&text[..text.floor_char_boundary(200)])
        )
    }
}

fn cached(text: &str) -> Option<Filter> {
    let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    cache.clock += 1;
    let now = cache.clock;
    let (used, filter) = cache.filters.get_mut(text)?;
    *used = now;
    Some(filter.clone())
}

fn keep(text: &str, filter: &Filter) {
    let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    if cache.filters.len() >= CACHED {
        let oldest = cache.filters.iter().min_by_key(|(_, (used, _))| *used);
        if let Some(oldest) = oldest.map(|(text, _)| Arc::clone(text)) {
            cache.filters.remove(&oldest);
        }
    }
    let now = cache.clock;
    cache.filters.insert(text.into(), (now, filter.clone()));
}

fn compile_text(text: &str) -> Result<jaq_core::Filter<Data>, QueryError> {
    let arena = Arena::default();
    let file = File {
        code: text,
        path: (),
    };
    let modules = Loader::new(defs::needed_by(text))
        .load(&arena, file)
        .map_err(|errors| not_parsed(text, errors))?;
    Compiler::default()
        .with_funs(natives::all())
        .compile(modules)
        .map_err(|errors| not_compiled(text, errors))
}

/// The first character beyond ASCII that is neither in a string nor in a comment. The lexer would skip those that
/// a table of Unicode calls space, and refuse the others.
fn beyond_ascii(text: &str) -> Option<usize> {
    if text.is_ascii() {
        return None;
    }
    // For each string that is open, the parentheses that are open in the filter inside it, if one is.
    let mut strings: Vec<Option<u32>> = Vec::new();
    let mut rest = text.char_indices();
    while let Some((at, c)) = rest.next() {
        match (strings.last_mut(), c) {
            (Some(inside @ None), '\\') => {
                *inside = rest.next().filter(|(_, c)| *c == '(').map(|_| 0);
            }
            (Some(None), '"') => drop(strings.pop()),
            (Some(None), _) => {}
            (_, '"') => strings.push(None),
            (_, '#') => skip_comment(&mut rest),
            (Some(Some(open)), '(') => *open += 1,
            (Some(inside @ Some(0)), ')') => *inside = None,
            (Some(Some(open)), ')') => *open -= 1,
            (_, c) if !c.is_ascii() => return Some(at),
            _ => {}
        }
    }
    None
}

/// Up to the end of the line, or of the next one behind an odd number of backslashes.
fn skip_comment(rest: &mut std::str::CharIndices<'_>) {
    let mut odd = false;
    for (_, c) in rest.by_ref() {
        match c {
            '\n' if !odd => return,
            '\\' => odd = !odd,
            // Windows' end of a line does not count.
            '\r' => {}
            _ => odd = false,
        }
    }
}

/// Whether a function with a filter as parameter may call itself: whether its name is there once more than it
/// takes to define and to call it. This finds some that do not, which then have a lower limit.
fn chains(text: &str) -> bool {
    fn walk<'a>(tokens: &[Token<&'a str>], named: &mut Vec<&'a str>, all: &mut Vec<&'a str>) {
        for (at, Token(text, token)) in tokens.iter().enumerate() {
            match token {
                Tok::Word => all.push(text),
                Tok::Block(inner) => walk(inner, named, all),
                Tok::Str(parts) => parts.iter().for_each(|part| {
                    if let StrPart::Term(token) = part {
                        walk(std::slice::from_ref(token), named, all);
                    }
                }),
                _ => {}
            }
            if let (&"def", [Token(name, _), Token(_, Tok::Block(parameters)), ..]) =
                (text, &tokens[at + 1..])
                && parameters
                    .iter()
                    .any(|Token(_, token)| matches!(token, Tok::Word))
            {
                named.push(name);
            }
        }
    }
    let (mut named, mut all) = (Vec::new(), Vec::new());
    if let Ok(tokens) = load::Lexer::new(text).lex() {
        walk(&tokens, &mut named, &mut all);
    }
    named
        .iter()
        .any(|name| all.iter().filter(|word| *word == name).count() > 2)
}

/// Where a piece of the text is in it. Pieces of other texts, of which there are none, are at the end.
fn place(text: &str, piece: &str) -> usize {
    let start = piece.as_ptr().addr();
    let place = start.wrapping_sub(text.as_ptr().addr());
    if place <= text.len() {
        place
    } else {
        text.len()
    }
}

/// The mistake that comes first in the text.
fn first(mistakes: impl Iterator<Item = (usize, String)>) -> QueryError {
    let (at, why) = mistakes
        .min_by_key(|(at, _)| *at)
        .unwrap_or((0, "it cannot be understood".to_owned()));
    QueryError::BadFilter { at, why }
}

fn not_parsed(text: &str, errors: load::Errors<&str, ()>) -> QueryError {
    first(errors.into_iter().flat_map(|(_, error)| {
        match error {
            load::Error::Io(errors) => errors
                .into_iter()
                .map(|(module, _)| (place(text, module), "there are no modules".to_owned()))
                .collect::<Vec<_>>(),
            load::Error::Lex(errors) => errors
                .into_iter()
                .map(|(expected, rest)| {
                    (place(text, rest), format!("expected {}", expected.as_str()))
                })
                .collect(),
            load::Error::Parse(errors) => errors
                .into_iter()
                .map(|(expected, found)| {
                    let why = match found {
                        "" => format!("expected {}, and the filter ends", expected.as_str()),
                        _ => format!("expected {}", expected.as_str()),
                    };
                    (place(text, found), why)
                })
                .collect(),
        }
    }))
}

fn not_compiled(text: &str, errors: compile::Errors<&str, ()>) -> QueryError {
    let errors = errors.into_iter().flat_map(|(_, errors)| errors);
    first(errors.map(|(name, undefined)| {
        let name_shown = &name[..name.floor_char_boundary(60)];
        let why = match undefined {
            compile::Undefined::Filter(arity) => format!("there is no filter {name_shown}/{arity}"),
            other => format!("there is no {} {name_shown}", other.as_str()),
        };
        (place(text, name), why)
    }))
}

#[cfg(test)]
mod tests {
    use super::{Filter, beyond_ascii};

    #[test]
    fn only_strings_and_comments_go_beyond_ascii() {
        for (text, place) in [
            ("\"é\"", None),
            (".a # é", None),
            (". # a \\\n é\n| .", None),
            (". # a \\\\\n\u{a0}.", Some(9)),
            ("\"é\\(.a | \"\\(1 + (2))é\")é\"", None),
            ("\"\\(\u{a0}1)\"", Some(3)),
            ("\"a\\\\\"\u{2003}", Some(5)),
            (".a\u{a0}", Some(2)),
            ("é", Some(0)),
            (".é", Some(1)),
            ("\u{85}.", Some(0)),
        ] {
            assert_eq!(beyond_ascii(text), place, "{text:?}");
            assert_eq!(Filter::new(text).is_err(), place.is_some(), "{text:?}");
        }
    }
}
