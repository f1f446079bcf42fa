//! `Pattern`: what to look for, checked and compiled once.

use std::fmt;
use std::ops::Range;

use regex::{Regex, RegexBuilder};
use regex_syntax::ast::{self, Ast, ClassSetBinaryOp, ClassSetItem};
use regex_syntax::hir::translate::Translator;
use regex_syntax::hir::{Hir, HirKind};

use crate::{PatternLimit, QueryError};

/// The most bytes of a pattern's text.
pub const MAX_PATTERN_BYTES: usize = 4_096;
/// The most classes in a regular expression, each part of a class counted. Making one is dear.
pub const MAX_PATTERN_CLASSES: usize = 32;
/// The most characters that a regular expression can be waiting for, repetitions counted out.
pub const MAX_PATTERN_POSITIONS: u64 = 1_000;
/// The most bytes of a compiled regular expression.
pub const MAX_PATTERN_COMPILED_BYTES: usize = 1 << 20;

/// Nesting of groups and repetitions; bounds the recursion over the parsed pattern.
const MAX_NESTING: u32 = 64;
/// Bytes of memory that a running regular expression may use for what it learns on the way.
const MAX_CACHE_BYTES: usize = 1 << 20;

/// What to look for: plain text, or a regular expression.
///
/// Regular expressions have the syntax of the `regex` crate, with Unicode classes and `(?i)`, and no
/// back-references or look-around, which would not be linear in time. The leftmost match wins, and
/// of several there the one that is written first. A pattern that matches the empty text is refused.
///
/// Compiling takes microseconds for ordinary patterns and less than half a second for the worst that
/// pass the limits; keep a pattern that is used again. Cloning is cheap.
///
/// ```
/// use svit_query::search::Pattern;
///
/// assert_eq!(Pattern::text("teal")?.cost(), 1);
/// assert_eq!(Pattern::regex(r"(?i)teal|\d{4}")?.cost(), 8);
/// assert_eq!(Pattern::regex(r"tea(l").unwrap_err().to_string(),
///     r#"bad pattern "tea(l" at byte 3: unclosed group"#);
/// assert_eq!(Pattern::regex(r"x*").unwrap_err().code(), "matches_empty");
/// assert_eq!(Pattern::regex(r".{2000}").unwrap_err().code(), "pattern_too_large");
/// # Ok::<(), svit_query::QueryError>(())
/// ```
#[derive(Clone)]
pub struct Pattern {
    matcher: Matcher,
    cost: u64,
}

#[derive(Clone)]
enum Matcher {
    Text(Box<str>),
    Regex(Regex),
}

impl Pattern {
    /// A pattern that matches exactly this text.
    ///
    /// # Errors
    /// [`QueryError::MatchesEmpty`], [`QueryError::PatternTooLarge`].
    pub fn text(text: &str) -> Result<Self, QueryError> {
        check_len(text)?;
        if text.is_empty() {
            return Err(matches_empty(text));
        }
        Ok(Self {
            matcher: Matcher::Text(text.into()),
            cost: 1,
        })
    }

    /// A regular expression.
    ///
    /// # Errors
    /// [`QueryError::BadPattern`] with the place of the mistake, [`QueryError::MatchesEmpty`],
    /// [`QueryError::PatternTooLarge`].
    pub fn regex(pattern: &str) -> Result<Self, QueryError> {
        check_len(pattern)?;
        let bad = |at: usize, why: String| QueryError::BadPattern {
            pattern: quote(pattern),
            at,
            why,
        };
        let parsed = ast::parse::ParserBuilder::new()
            .nest_limit(MAX_NESTING)
            .build()
            .parse(pattern)
            .map_err(|error| bad(error.span().start.offset, error.kind().to_string()))?;
        let classes = ast::visit(&parsed, Classes(0)).unwrap_or(usize::MAX);
        check_limit(
            PatternLimit::Classes,
            MAX_PATTERN_CLASSES as u64,
            classes as u64,
        )?;
        let hir = Translator::new()
            .translate(pattern, &parsed)
            .map_err(|error| bad(error.span().start.offset, error.kind().to_string()))?;
        if hir.properties().minimum_len() == Some(0) {
            return Err(matches_empty(pattern));
        }
        let cost = positions(&hir).max(1);
        check_limit(PatternLimit::Positions, MAX_PATTERN_POSITIONS, cost)?;
        let regex = RegexBuilder::new(pattern)
            .nest_limit(MAX_NESTING)
            .size_limit(MAX_PATTERN_COMPILED_BYTES)
            .dfa_size_limit(MAX_CACHE_BYTES)
            .build()
            .map_err(|error| match error {
                regex::Error::CompiledTooBig(allowed) => QueryError::PatternTooLarge {
                    limit: PatternLimit::Compiled,
                    allowed: allowed as u64,
                    actual: None,
                },
                other => bad(0, other.to_string()),
            })?;
        Ok(Self {
            matcher: Matcher::Regex(regex),
            cost,
        })
    }

    /// The pattern as it was given.
    pub fn as_str(&self) -> &str {
        match &self.matcher {
            Matcher::Text(text) => text,
            Matcher::Regex(regex) => regex.as_str(),
        }
    }

    /// Whether it is a regular expression.
    pub const fn is_regex(&self) -> bool {
        matches!(self.matcher, Matcher::Regex(_))
    }

    /// How dear it is to look for it, relative to plain text: 1 for plain text, for a regular
    /// expression the characters that it can be waiting for at once, repetitions counted out.
    pub const fn cost(&self) -> u64 {
        self.cost
    }

    /// The first match that starts at `from` or later. `from` is between two characters.
    pub(crate) fn find_at(&self, text: &str, from: usize) -> Option<Range<usize>> {
        match &self.matcher {
            Matcher::Text(needle) => {
                let start = from + text.get(from..)?.find(&**needle)?;
                Some(start..start + needle.len())
            }
            Matcher::Regex(regex) => Some(regex.find_at(text, from)?.range()),
        }
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_regex() { "regex" } else { "text" };
        write!(f, "Pattern::{kind}({:?})", quote(self.as_str()))
    }
}

fn check_len(pattern: &str) -> Result<(), QueryError> {
    check_limit(
        PatternLimit::Bytes,
        MAX_PATTERN_BYTES as u64,
        pattern.len() as u64,
    )
}

fn check_limit(limit: PatternLimit, allowed: u64, actual: u64) -> Result<(), QueryError> {
    if actual <= allowed {
        return Ok(());
    }
    Err(QueryError::PatternTooLarge {
        limit,
        allowed,
        actual: Some(actual),
    })
}

fn matches_empty(pattern: &str) -> QueryError {
    QueryError::MatchesEmpty {
        pattern: quote(pattern),
    }
}

/// The start of a pattern that is quoted in an error.
fn quote(pattern: &str) -> String {
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

#[cfg(test)]
pub(super) mod tests;
