//! `Pattern`: what to look for, checked and compiled once.

use std::fmt;
use std::ops::Range;

use regex::Regex;

use crate::linear::{self, Flags, Limits, Linear, quote};
use crate::{PatternLimit, QueryError};

/// The most bytes of a pattern's text.
pub const MAX_PATTERN_BYTES: usize = 4_096;
/// The most classes in a regular expression, each part of a class counted. Making one is dear.
pub const MAX_PATTERN_CLASSES: usize = 32;
/// The most characters that a regular expression can be waiting for, repetitions counted out.
pub const MAX_PATTERN_POSITIONS: u64 = 1_000;
/// The most bytes of a compiled regular expression.
pub const MAX_PATTERN_COMPILED_BYTES: usize = 1 << 20;

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
        let limits = Limits {
            bytes: MAX_PATTERN_BYTES,
            classes: MAX_PATTERN_CLASSES,
            positions: MAX_PATTERN_POSITIONS,
            compiled: MAX_PATTERN_COMPILED_BYTES,
            cache: MAX_CACHE_BYTES,
        };
        let linear = linear::compile(pattern, Flags::default(), &limits)?;
        if linear.matches_empty {
            return Err(matches_empty(pattern));
        }
        let Linear { regex, cost, .. } = linear;
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
    linear::check(
        PatternLimit::Bytes,
        MAX_PATTERN_BYTES as u64,
        pattern.len() as u64,
    )
}

fn matches_empty(pattern: &str) -> QueryError {
    QueryError::MatchesEmpty {
        pattern: quote(pattern),
    }
}

#[cfg(test)]
pub(super) mod tests;
