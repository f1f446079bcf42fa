//! What a parsed pattern means, said in ranges of characters: `\d \s \w \b` and the folding of case are those of
//! ASCII, `.` and negated classes match whole characters, and `\p{..}` is refused.

use regex_syntax::ast;
use regex_syntax::ast::{
    AssertionKind, Ast, ClassAscii, ClassAsciiKind, ClassBracketed, ClassPerl, ClassPerlKind,
    ClassSet, ClassSetBinaryOpKind, ClassSetItem, ClassUnicode, Flag, FlagsItemKind, Group,
    GroupKind, Repetition, RepetitionKind, RepetitionRange, Span,
};
use regex_syntax::hir::{
    self, Capture, Class, ClassUnicode as Chars, ClassUnicodeRange, Dot, Hir, Look,
};

use super::{Flags, quote};
use crate::QueryError;

/// # Errors
/// [`QueryError::UnicodeClass`]; [`QueryError::BadPattern`] for the flag `u`.
pub(super) fn translate(
    pattern: &str,
    parsed: &Ast,
    flags: Flags,
    groups: bool,
) -> Result<Hir, QueryError> {
    let mut reader = Reader {
        pattern,
        groups,
        state: State {
            ignore_case: flags.ignore_case,
            dot_matches_new_line: flags.dot_matches_new_line,
            ..State::default()
        },
    };
    reader.node(parsed)
}

/// The flags that are on where the reader is.
#[derive(Clone, Copy, Default)]
struct State {
    ignore_case: bool,
    multi_line: bool,
    dot_matches_new_line: bool,
    swap_greed: bool,
    crlf: bool,
}

struct Reader<'a> {
    pattern: &'a str,
    /// Whether groups are told of.
    groups: bool,
    state: State,
}

impl Reader<'_> {
    /// The recursion is bounded by the parser's limit on nesting.
    fn node(&mut self, node: &Ast) -> Result<Hir, QueryError> {
        Ok(match node {
            Ast::Empty(_) => Hir::empty(),
            Ast::Flags(set) => {
                self.set(&set.flags)?;
                Hir::empty()
            }
            Ast::Literal(literal) => self.literal(literal.c),
            Ast::Dot(_) => Hir::dot(match (self.state.dot_matches_new_line, self.state.crlf) {
                (true, _) => Dot::AnyChar,
                (false, true) => Dot::AnyCharExceptCRLF,
                (false, false) => Dot::AnyCharExceptLF,
            }),
            Ast::Assertion(assertion) => Hir::look(self.look(&assertion.kind)),
            Ast::ClassUnicode(class) => return Err(self.refused(class)),
            Ast::ClassPerl(class) => Hir::class(Class::Unicode(perl(class))),
            Ast::ClassBracketed(class) => Hir::class(Class::Unicode(self.bracketed(class)?)),
            Ast::Repetition(repetition) => self.repetition(repetition)?,
            Ast::Group(group) => self.group(group)?,
            Ast::Alternation(either) => Hir::alternation(self.nodes(&either.asts)?),
            Ast::Concat(parts) => Hir::concat(self.nodes(&parts.asts)?),
        })
    }

    fn nodes(&mut self, nodes: &[Ast]) -> Result<Vec<Hir>, QueryError> {
        nodes.iter().map(|node| self.node(node)).collect()
    }

    fn literal(&self, c: char) -> Hir {
        let mut chars = Chars::new([ClassUnicodeRange::new(c, c)]);
        self.fold(&mut chars);
        Hir::class(Class::Unicode(chars))
    }

    fn look(&self, kind: &AssertionKind) -> Look {
        match (kind, self.state.multi_line, self.state.crlf) {
            (AssertionKind::StartLine, true, true) => Look::StartCRLF,
            (AssertionKind::StartLine, true, false) => Look::StartLF,
            (AssertionKind::EndLine, true, true) => Look::EndCRLF,
            (AssertionKind::EndLine, true, false) => Look::EndLF,
            (AssertionKind::StartLine | AssertionKind::StartText, ..) => Look::Start,
            (AssertionKind::EndLine | AssertionKind::EndText, ..) => Look::End,
            (AssertionKind::WordBoundary, ..) => Look::WordAscii,
            (AssertionKind::NotWordBoundary, ..) => Look::WordAsciiNegate,
            (AssertionKind::WordBoundaryStart | AssertionKind::WordBoundaryStartAngle, ..) => {
                Look::WordStartAscii
            }
            (AssertionKind::WordBoundaryEnd | AssertionKind::WordBoundaryEndAngle, ..) => {
                Look::WordEndAscii
            }
            (AssertionKind::WordBoundaryStartHalf, ..) => Look::WordStartHalfAscii,
            (AssertionKind::WordBoundaryEndHalf, ..) => Look::WordEndHalfAscii,
        }
    }

    fn repetition(&mut self, repetition: &Repetition) -> Result<Hir, QueryError> {
        let (min, max) = match repetition.op.kind {
            RepetitionKind::ZeroOrOne => (0, Some(1)),
            RepetitionKind::ZeroOrMore => (0, None),
            RepetitionKind::OneOrMore => (1, None),
            RepetitionKind::Range(RepetitionRange::Exactly(n)) => (n, Some(n)),
            RepetitionKind::Range(RepetitionRange::AtLeast(n)) => (n, None),
            RepetitionKind::Range(RepetitionRange::Bounded(n, m)) => (n, Some(m)),
        };
        // The flags inside of what is repeated end with its group, which cannot be open here.
        let greedy = repetition.greedy != self.state.swap_greed;
        let sub = Box::new(self.node(&repetition.ast)?);
        Ok(Hir::repetition(hir::Repetition {
            min,
            max,
            greedy,
            sub,
        }))
    }

    fn group(&mut self, group: &Group) -> Result<Hir, QueryError> {
        let outer = self.state;
        if let GroupKind::NonCapturing(flags) = &group.kind {
            self.set(flags)?;
        }
        let sub = self.node(&group.ast)?;
        self.state = outer;
        if !self.groups {
            return Ok(sub);
        }
        let (index, name) = match &group.kind {
            GroupKind::CaptureIndex(index) => (*index, None),
            GroupKind::CaptureName { name, .. } => (name.index, Some(name.name.as_str().into())),
            GroupKind::NonCapturing(_) => return Ok(sub),
        };
        let sub = Box::new(sub);
        Ok(Hir::capture(Capture { index, name, sub }))
    }

    fn set(&mut self, flags: &ast::Flags) -> Result<(), QueryError> {
        let mut on = true;
        for item in &flags.items {
            match item.kind {
                FlagsItemKind::Negation => on = false,
                FlagsItemKind::Flag(Flag::CaseInsensitive) => self.state.ignore_case = on,
                FlagsItemKind::Flag(Flag::MultiLine) => self.state.multi_line = on,
                FlagsItemKind::Flag(Flag::DotMatchesNewLine) => {
                    self.state.dot_matches_new_line = on;
                }
                FlagsItemKind::Flag(Flag::SwapGreed) => self.state.swap_greed = on,
                FlagsItemKind::Flag(Flag::CRLF) => self.state.crlf = on,
                // The parser has done it.
                FlagsItemKind::Flag(Flag::IgnoreWhitespace) => {}
                FlagsItemKind::Flag(Flag::Unicode) => {
                    return Err(QueryError::BadPattern {
                        pattern: quote(self.pattern),
                        at: item.span.start.offset,
                        why:
                            "there is no flag u: classes, \\b and (?i) are always those of ASCII, \
                              and . is always a whole character"
                                .to_owned(),
                    });
                }
            }
        }
        Ok(())
    }

    fn bracketed(&self, class: &ClassBracketed) -> Result<Chars, QueryError> {
        let mut chars = self.set_of(&class.kind)?;
        self.fold(&mut chars);
        if class.negated {
            chars.negate();
        }
        Ok(chars)
    }

    fn set_of(&self, set: &ClassSet) -> Result<Chars, QueryError> {
        let operation = match set {
            ClassSet::Item(item) => return self.item(item),
            ClassSet::BinaryOp(operation) => operation,
        };
        let mut left = self.set_of(&operation.lhs)?;
        let mut right = self.set_of(&operation.rhs)?;
        self.fold(&mut left);
        self.fold(&mut right);
        match operation.kind {
            ClassSetBinaryOpKind::Intersection => left.intersect(&right),
            ClassSetBinaryOpKind::Difference => left.difference(&right),
            ClassSetBinaryOpKind::SymmetricDifference => left.symmetric_difference(&right),
        }
        Ok(left)
    }

    fn item(&self, item: &ClassSetItem) -> Result<Chars, QueryError> {
        let range = |start, end| Chars::new([ClassUnicodeRange::new(start, end)]);
        Ok(match item {
            ClassSetItem::Empty(_) => Chars::empty(),
            ClassSetItem::Literal(literal) => range(literal.c, literal.c),
            ClassSetItem::Range(ends) => range(ends.start.c, ends.end.c),
            ClassSetItem::Ascii(class) => self.ascii(class),
            ClassSetItem::Unicode(class) => return Err(self.refused(class)),
            ClassSetItem::Perl(class) => perl(class),
            ClassSetItem::Bracketed(class) => self.bracketed(class)?,
            ClassSetItem::Union(union) => {
                let mut all = Chars::empty();
                for item in &union.items {
                    all.union(&self.item(item)?);
                }
                all
            }
        })
    }

    fn ascii(&self, class: &ClassAscii) -> Chars {
        let mut chars = named(&class.kind);
        self.fold(&mut chars);
        if class.negated {
            chars.negate();
        }
        chars
    }

    /// Adds the other case of the letters of ASCII, if case is to be ignored.
    fn fold(&self, chars: &mut Chars) {
        if !self.state.ignore_case {
            return;
        }
        for (letters, other) in [(('a', 'z'), 'A'), (('A', 'Z'), 'a')] {
            let mut some = Chars::new([ClassUnicodeRange::new(letters.0, letters.1)]);
            some.intersect(chars);
            let shifted = |c: char| {
                let c = u32::from(c) - u32::from(letters.0) + u32::from(other);
                char::from_u32(c).unwrap_or(other)
            };
            let folded = some
                .iter()
                .map(|range| ClassUnicodeRange::new(shifted(range.start()), shifted(range.end())));
            chars.union(&Chars::new(folded));
        }
    }

    fn refused(&self, class: &ClassUnicode) -> QueryError {
        let Span { start, end } = class.span;
        QueryError::UnicodeClass {
            class: quote(&self.pattern[start.offset..end.offset]),
            at: start.offset,
        }
    }
}

fn perl(class: &ClassPerl) -> Chars {
    let mut chars = named(&match class.kind {
        ClassPerlKind::Digit => ClassAsciiKind::Digit,
        ClassPerlKind::Space => ClassAsciiKind::Space,
        ClassPerlKind::Word => ClassAsciiKind::Word,
    });
    if class.negated {
        chars.negate();
    }
    chars
}

/// The characters of `[:alpha:]` and its like.
fn named(kind: &ClassAsciiKind) -> Chars {
    let ranges: &[(char, char)] = match kind {
        ClassAsciiKind::Alnum => &[('0', '9'), ('A', 'Z'), ('a', 'z')],
        ClassAsciiKind::Alpha => &[('A', 'Z'), ('a', 'z')],
        ClassAsciiKind::Ascii => &[('\0', '\x7f')],
        ClassAsciiKind::Blank => &[('\t', '\t'), (' ', ' ')],
        ClassAsciiKind::Cntrl => &[('\0', '\x1f'), ('\x7f', '\x7f')],
        ClassAsciiKind::Digit => &[('0', '9')],
        ClassAsciiKind::Graph => &[('!', '~')],
        ClassAsciiKind::Lower => &[('a', 'z')],
        ClassAsciiKind::Print => &[(' ', '~')],
        ClassAsciiKind::Punct => &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
        ClassAsciiKind::Space => &[('\t', '\r'), (' ', ' ')],
        ClassAsciiKind::Upper => &[('A', 'Z')],
        ClassAsciiKind::Word => &[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')],
        ClassAsciiKind::Xdigit => &[('0', '9'), ('A', 'F'), ('a', 'f')],
    };
    let ranges = ranges.iter();
    Chars::new(ranges.map(|(start, end)| ClassUnicodeRange::new(*start, *end)))
}
