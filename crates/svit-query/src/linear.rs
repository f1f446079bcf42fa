//! Regular expressions whose time is bounded: parsed, measured and compiled within limits. `search` and the
//! functions of `jq` share it.

use regex::{Regex, RegexBuilder};
use regex_syntax::ast::{self, Ast, ClassSetBinaryOp, ClassSetItem};
use regex_syntax::hir::translate::TranslatorBuilder;
use regex_syntax::hir::{Hir, HirKind};

use crate::{PatternLimit, QueryError};

/// Nesting of groups and repetitions; bounds the recursion over the parsed pattern.
const MAX_NESTING: u32 = 64;

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
}

/// A compiled pattern, with what is known about it.
#[derive(Clone, Debug)]
pub(crate) struct Linear {
    pub(crate) regex: Regex,
    /// The characters that it can be waiting for at once.
    pub(crate) cost: u64,
    #[cfg_attr(
        not(feature = "search"),
        allow(dead_code, reason = "only search refuses these")
    )]
    pub(crate) matches_empty: bool,
    /// Bytes of its longest match, if there is one.
    #[cfg_attr(
        not(feature = "jq"),
        allow(dead_code, reason = "only jq finds all matches")
    )]
    pub(crate) longest: Option<usize>,
}

/// Compiles a pattern.
///
/// # Errors
/// [`QueryError::BadPattern`] with the place of the mistake, [`QueryError::PatternTooLarge`].
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
    let parsed = ast::parse::ParserBuilder::new()
        .nest_limit(MAX_NESTING)
        .ignore_whitespace(flags.ignore_space)
        .build()
        .parse(pattern)
        .map_err(|error| bad(error.span().start.offset, error.kind().to_string()))?;
    let classes = ast::visit(&parsed, Classes(0)).unwrap_or(usize::MAX);
    check(PatternLimit::Classes, limits.classes as u64, classes as u64)?;
    let hir = TranslatorBuilder::new()
        .case_insensitive(flags.ignore_case)
        .dot_matches_new_line(flags.dot_matches_new_line)
        .build()
        .translate(pattern, &parsed)
        .map_err(|error| bad(error.span().start.offset, error.kind().to_string()))?;
    let cost = positions(&hir).max(1);
    check(PatternLimit::Positions, limits.positions, cost)?;
    let regex = RegexBuilder::new(pattern)
        .case_insensitive(flags.ignore_case)
        .ignore_whitespace(flags.ignore_space)
        .dot_matches_new_line(flags.dot_matches_new_line)
        .nest_limit(MAX_NESTING)
        .size_limit(limits.compiled)
        .dfa_size_limit(limits.cache)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(allowed) => QueryError::PatternTooLarge {
                limit: PatternLimit::Compiled,
                allowed: allowed as u64,
                actual: None,
            },
            other => bad(0, other.to_string()),
        })?;
    Ok(Linear {
        regex,
        cost,
        longest: hir.properties().maximum_len(),
        matches_empty: hir.properties().minimum_len() == Some(0),
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

/// Counts classes before they are made: `(?i)\p{any}` takes eight characters and milliseconds.
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

/// How many characters the pattern can be waiting for at once: each costs a step for each byte of
/// text in the worst case, whatever the engine does to be faster. The nesting limit bounds recursion.
fn positions(hir: &Hir) -> u64 {
    match hir.kind() {
        HirKind::Empty => 0,
        HirKind::Literal(literal) => literal.0.len() as u64,
        HirKind::Class(_) | HirKind::Look(_) => 1,
        HirKind::Capture(capture) => positions(&capture.sub),
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min).max(repetition.min);
            positions(&repetition.sub).saturating_mul(u64::from(times.max(1)))
        }
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().map(positions).fold(0, u64::saturating_add)
        }
    }
}
