//! `Pattern`: what to look for, checked and compiled once.

use std::fmt;
use std::ops::Range;

use svit_tree::guest::{Meter, OutOfTicks};

use crate::error::Quoted;
use crate::linear::{self, Flags, Limits, Linear, Scratch, quote};
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
/// Bytes of text that plain text is looked for in at the price of one tick.
const BYTES_PER_TICK: u64 = 64;

/// What to look for: plain text, or a regular expression.
///
/// Regular expressions have the syntax of the `regex` crate, without back-references and look-around, which would
/// not be linear in time. The leftmost match wins, and of several there the one that is written first. A pattern
/// that matches the empty text is refused.
///
/// Texts are Unicode, but no table of it takes part, since what a pattern finds may be stored and such tables change:
/// - `\d`, `\s`, `\w` and `\b` know ASCII: `\w` is `[0-9A-Za-z_]`. `.` and negated classes match whole characters.
/// - `(?i)` makes `a` match `A`, but not `é` `É`.
/// - `\p{..}` is refused, with advice; so is the flag `u`. Write characters out: `[Ͱ-Ͽ]`, or `[\u{370}-\u{3ff}]`.
/// - With the flag `x`, in names of groups and inside of `{..}`, patterns are in ASCII.
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
/// assert_eq!(Pattern::regex(r"\p{Greek}").unwrap_err().code(), "unicode_class");
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
    Regex(Box<str>, Box<Linear>),
}

/// What a pattern learns while it looks: memory, and no part of any result.
pub(super) struct Looking(Option<Scratch>);

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
    /// [`QueryError::BadPattern`] with the place of the mistake, [`QueryError::UnicodeClass`],
    /// [`QueryError::MatchesEmpty`], [`QueryError::PatternTooLarge`].
    pub fn regex(pattern: &str) -> Result<Self, QueryError> {
        let limits = Limits {
            bytes: MAX_PATTERN_BYTES,
            classes: MAX_PATTERN_CLASSES,
            positions: MAX_PATTERN_POSITIONS,
            compiled: MAX_PATTERN_COMPILED_BYTES,
            cache: MAX_CACHE_BYTES,
            groups: false,
        };
        let linear = linear::compile(pattern, Flags::default(), &limits)?;
        if linear.matches_empty {
            return Err(matches_empty(pattern));
        }
        Ok(Self {
            cost: linear.cost,
            matcher: Matcher::Regex(pattern.into(), Box::new(linear)),
        })
    }

    /// The pattern as it was given.
    pub fn as_str(&self) -> &str {
        match &self.matcher {
            Matcher::Text(text) | Matcher::Regex(text, _) => text,
        }
    }

    /// Whether it is a regular expression.
    pub const fn is_regex(&self) -> bool {
        matches!(self.matcher, Matcher::Regex(..))
    }

    /// How dear it is to look for it, relative to plain text: 1 for plain text, for a regular
    /// expression the characters that it can be waiting for at once, repetitions counted out.
    pub const fn cost(&self) -> u64 {
        self.cost
    }

    pub(super) fn looking(&self) -> Looking {
        Looking(match &self.matcher {
            Matcher::Text(_) => None,
            Matcher::Regex(_, linear) => Some(linear.scratch()),
        })
    }

    /// The first match that starts at `from` or later, charged for what is read. `from` is between two characters.
    pub(super) fn find_at(
        &self,
        looking: &mut Looking,
        text: &str,
        from: usize,
        meter: &Meter,
    ) -> Result<Option<Range<usize>>, OutOfTicks> {
        match (&self.matcher, &mut looking.0) {
            (Matcher::Regex(_, linear), Some(scratch)) => {
                linear.find_at(scratch, text, from, |ticks| meter.charge(ticks))
            }
            (Matcher::Regex(_, linear), None) => {
                linear.find_at(&mut linear.scratch(), text, from, |ticks| {
                    meter.charge(ticks)
                })
            }
            (Matcher::Text(needle), _) => {
                let rest = text.get(from..).unwrap_or_default();
                let found = rest.find(&**needle);
                let read = found.map_or(rest.len(), |start| start + needle.len());
                meter.charge(1 + read as u64 / BYTES_PER_TICK)?;
                Ok(found.map(|start| from + start..from + start + needle.len()))
            }
        }
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_regex() { "regex" } else { "text" };
        write!(f, "Pattern::{kind}({})", Quoted(&quote(self.as_str())))
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
