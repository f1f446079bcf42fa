//! Regular expressions whose time is bounded and whose meaning is the same for ever: parsed, measured and compiled
//! within limits. `search` and the functions of `jq` share it.
//!
//! What a pattern finds can be stored, so no table of Unicode takes part: such tables change from one version of a
//! library to the next. `ascii` gives the classes and the folding of case, `spelling` refuses what the parser would
//! ask a table about, and the engine is given the result, not the text.

mod ascii;
mod scan;
mod spelling;

use std::fmt;

use regex_automata::hybrid::dfa::DFA;
use regex_automata::meta;
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_syntax::ast::{
    self, Ast, ClassSetBinaryOp, ClassSetItem, RepetitionKind, RepetitionRange,
};

pub(crate) use scan::Scratch;

use crate::{PatternLimit, QueryError};

/// Nesting of groups and repetitions; bounds the recursion over the parsed pattern.
const MAX_NESTING: u32 = 64;
/// What the engine has for a character at most, but for classes of many ranges.
const STATES_PER_POSITION: u64 = 4;

/// How a pattern is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Flags {
    pub(crate) ignore_case: bool,
    pub(crate) ignore_space: bool,
    pub(crate) dot_matches_new_line: bool,
}

/// What a pattern may be.
pub(crate) struct Limits {
    pub(crate) bytes: usize,
    pub(crate) classes: usize,
    pub(crate) positions: u64,
    pub(crate) compiled: usize,
    /// Memory that it may use for what it learns while it runs.
    pub(crate) cache: usize,
    /// Whether somebody wants to know where groups are. They take memory, and are left out otherwise.
    pub(crate) groups: bool,
}

/// A compiled pattern, with what is known about it.
#[derive(Clone)]
pub(crate) struct Linear {
    regex: meta::Regex,
    /// The same pattern as an automaton of which each step is seen.
    steps: DFA,
    /// The characters that it can be waiting for at once.
    pub(crate) cost: u64,
    pub(crate) matches_empty: bool,
    /// Bytes of the table of groups that a search may need: a place for each group in each state.
    #[cfg_attr(not(feature = "jq"), allow(dead_code, reason = "only jq has groups"))]
    pub(crate) groups_bytes: usize,
}

impl fmt::Debug for Linear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Linear({})", self.cost)
    }
}

/// Compiles a pattern.
///
/// # Errors
/// [`QueryError::BadPattern`] with the place of the mistake, [`QueryError::UnicodeClass`],
/// [`QueryError::PatternTooLarge`].
pub(crate) fn compile(pattern: &str, flags: Flags, limits: &Limits) -> Result<Linear, QueryError> {
    check(
        PatternLimit::Bytes,
        limits.bytes as u64,
        pattern.len() as u64,
    )?;
    let bad = |at: usize, why: String| QueryError::BadPattern {
        pattern: quote(pattern),
        at,
        why,
    };
    spelling::check(pattern, flags.ignore_space).map_err(|(at, why)| bad(at, why.to_owned()))?;
    let parsed = ast::parse::ParserBuilder::new()
        .nest_limit(MAX_NESTING)
        .ignore_whitespace(flags.ignore_space)
        .build()
        .parse(pattern)
        .map_err(|error| bad(error.span().start.offset, error.kind().to_string()))?;
    let classes = ast::visit(&parsed, Classes(0)).unwrap_or(usize::MAX);
    check(PatternLimit::Classes, limits.classes as u64, classes as u64)?;
    let size = Size::of(&parsed);
    let cost = size.positions.max(1);
    check(PatternLimit::Positions, limits.positions, cost)?;
    let hir = ascii::translate(pattern, &parsed, flags, limits.groups)?;
    let too_large = |actual| QueryError::PatternTooLarge {
        limit: PatternLimit::Compiled,
        allowed: limits.compiled as u64,
        actual,
    };
    let regex = meta::Builder::new()
        .configure(
            meta::Config::new()
                .nfa_size_limit(Some(limits.compiled))
                .hybrid_cache_capacity(limits.cache),
        )
        .build_from_hir(&hir)
        .map_err(|error| match error.size_limit() {
            Some(_) => too_large(None),
            None => bad(0, error.to_string()),
        })?;
    let steps = thompson::Compiler::new()
        .configure(
            thompson::Config::new()
                .nfa_size_limit(Some(limits.compiled))
                .which_captures(WhichCaptures::None),
        )
        .build_from_hir(&hir)
        .map_err(|_| too_large(None))?;
    let groups = regex.group_info().all_group_len();
    let steps = DFA::builder()
        .configure(
            DFA::config()
                .cache_capacity(limits.cache)
                .skip_cache_capacity_check(true),
        )
        .build_from_nfa(steps)
        .map_err(|_| too_large(None))?;
    Ok(Linear {
        regex,
        steps,
        cost,
        matches_empty: size.empty,
        groups_bytes: size.table(groups),
    })
}

pub(crate) fn check(limit: PatternLimit, allowed: u64, actual: u64) -> Result<(), QueryError> {
    if actual <= allowed {
        return Ok(());
    }
    Err(QueryError::PatternTooLarge {
        limit,
        allowed,
        actual: Some(actual),
    })
}

/// The start of a pattern that is quoted in an error.
pub(crate) fn quote(pattern: &str) -> String {
    pattern[..pattern.floor_char_boundary(200)].to_owned()
}

/// Counts classes before they are made.
struct Classes(usize);

impl ast::Visitor for Classes {
    type Output = usize;
    type Err = std::convert::Infallible;

    fn finish(self) -> Result<usize, Self::Err> {
        Ok(self.0)
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), Self::Err> {
        if matches!(
            ast,
            Ast::ClassUnicode(_) | Ast::ClassPerl(_) | Ast::ClassBracketed(_)
        ) {
            self.0 += 1;
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), Self::Err> {
        if matches!(
            item,
            ClassSetItem::Ascii(_)
                | ClassSetItem::Unicode(_)
                | ClassSetItem::Perl(_)
                | ClassSetItem::Bracketed(_)
        ) {
            self.0 += 1;
        }
        Ok(())
    }

    fn visit_class_set_binary_op_pre(&mut self, _: &ClassSetBinaryOp) -> Result<(), Self::Err> {
        self.0 += 1;
        Ok(())
    }
}

/// What is told by how a pattern is written, and not by what a version of the engine makes of it.
#[derive(Clone, Copy)]
struct Size {
    /// How many characters it can be waiting for at once, repetitions counted out: each costs a step for each byte
    /// of text in the worst case, whatever the engine does to be faster.
    positions: u64,
    /// Groups, repetitions counted out.
    groups: u64,
    /// Whether it matches the empty text somewhere. The engine does not say so of `[a&&b]*`.
    empty: bool,
}

impl Size {
    const NOTHING: Self = Self {
        positions: 0,
        groups: 0,
        empty: true,
    };
    const CHARACTER: Self = Self {
        positions: 1,
        groups: 0,
        empty: false,
    };

    fn and(self, other: Self, empty: bool) -> Self {
        Self {
            positions: self.positions.saturating_add(other.positions),
            groups: self.groups.saturating_add(other.groups),
            empty,
        }
    }

    /// The nesting limit bounds recursion.
    fn of(pattern: &Ast) -> Self {
        match pattern {
            Ast::Empty(_) | Ast::Flags(_) => Self::NOTHING,
            Ast::Assertion(_) => Self {
                positions: 1,
                ..Self::NOTHING
            },
            Ast::Literal(literal) => Self {
                positions: literal.c.len_utf8() as u64,
                ..Self::CHARACTER
            },
            Ast::Dot(_) | Ast::ClassUnicode(_) | Ast::ClassPerl(_) | Ast::ClassBracketed(_) => {
                Self::CHARACTER
            }
            Ast::Repetition(repetition) => {
                let once = Self::of(&repetition.ast);
                let (least, times) = times(&repetition.op.kind);
                Self {
                    positions: once.positions.saturating_mul(times),
                    groups: once.groups.saturating_mul(times),
                    empty: once.empty || least == 0,
                }
            }
            Ast::Group(group) => {
                let inside = Self::of(&group.ast);
                Self {
                    groups: inside.groups.saturating_add(group.is_capturing().into()),
                    ..inside
                }
            }
            Ast::Alternation(either) => {
                let parts = either.asts.iter().map(Self::of);
                let all = parts.reduce(|a, b| a.and(b, a.empty || b.empty));
                all.unwrap_or(Self::NOTHING)
            }
            Ast::Concat(parts) => {
                let parts = parts.asts.iter().map(Self::of);
                parts.fold(Self::NOTHING, |a, b| a.and(b, a.empty && b.empty))
            }
        }
    }

    /// About the bytes of the table in which a search keeps where each of so many groups is, in each state.
    fn table(self, groups: usize) -> usize {
        let states = self.positions.saturating_mul(STATES_PER_POSITION);
        let states = states.saturating_add(self.groups.saturating_mul(2));
        // A start and an end of each, in the states now and in those next.
        let table = states.saturating_mul(groups as u64 * 32);
        usize::try_from(table).unwrap_or(usize::MAX)
    }
}

/// How often a repetition must match, and how often its part is in the compiled pattern.
fn times(kind: &RepetitionKind) -> (u32, u64) {
    let (least, most) = match kind {
        RepetitionKind::ZeroOrOne | RepetitionKind::ZeroOrMore => (0, 1),
        RepetitionKind::OneOrMore => (1, 1),
        RepetitionKind::Range(RepetitionRange::Exactly(n) | RepetitionRange::AtLeast(n)) => {
            (*n, *n)
        }
        RepetitionKind::Range(RepetitionRange::Bounded(n, m)) => (*n, *m),
    };
    (least, u64::from(most.max(1)))
}

#[cfg(test)]
pub(crate) mod oracle;
#[cfg(test)]
mod tests;
