//! Everything that can be wrong with a question.

use svit_tree::Path;
use svit_tree::guest::OutOfTicks;

/// Why a question was refused or stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The regular expression has a mistake.
    #[cfg(feature = "search")]
    #[error("bad pattern {pattern:?} at byte {at}: {why}")]
    BadPattern {
        /// The pattern, cut at 200 bytes.
        pattern: String,
        /// Where the mistake starts, in bytes of the whole pattern.
        at: usize,
        /// What is wrong there.
        why: String,
    },
    /// The pattern matches the empty text, which is everywhere.
    #[cfg(feature = "search")]
    #[error(
        "the pattern {pattern:?} matches the empty text, which is everywhere; make it match at least one character"
    )]
    MatchesEmpty {
        /// The pattern, cut at 200 bytes.
        pattern: String,
    },
    /// The pattern is larger than a pattern may be.
    #[cfg(feature = "search")]
    #[error("{limit} is limited to {allowed}{}", Actual(*.actual))]
    PatternTooLarge {
        /// Which limit.
        limit: PatternLimit,
        /// The most that is allowed.
        allowed: u64,
        /// The size, if it was found out.
        actual: Option<u64>,
    },
    /// There is nothing at the path below which to search.
    #[error("there is nothing at {path}")]
    Missing {
        /// The path.
        path: Path,
    },
    /// The tick budget is used up. Nothing that a script does may swallow this.
    #[error(transparent)]
    OutOfTicks(#[from] OutOfTicks),
}

/// What a [`QueryError::PatternTooLarge`] is about.
#[cfg(feature = "search")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PatternLimit {
    /// Bytes of pattern text.
    Bytes,
    /// Classes such as `\d`, `\pL` and `[a-z]`, each part of a class counted.
    Classes,
    /// Characters that the pattern can be waiting for, repetitions counted out.
    Positions,
    /// Bytes of the compiled pattern.
    Compiled,
}

#[cfg(feature = "search")]
impl std::fmt::Display for PatternLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Bytes => "the text of a pattern (bytes)",
            Self::Classes => "the number of classes in a pattern",
            Self::Positions => "the length of a pattern with its repetitions counted out",
            Self::Compiled => "a compiled pattern (bytes)",
        })
    }
}

#[cfg(feature = "search")]
struct Actual(Option<u64>);

#[cfg(feature = "search")]
impl std::fmt::Display for Actual {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(actual) => write!(f, ", and this is {actual}"),
            None => f.write_str(", and this is larger"),
        }
    }
}

impl QueryError {
    /// A stable name for the sort of failure, in snake case.
    pub const fn code(&self) -> &'static str {
        match self {
            #[cfg(feature = "search")]
            Self::BadPattern { .. } => "bad_pattern",
            #[cfg(feature = "search")]
            Self::MatchesEmpty { .. } => "matches_empty",
            #[cfg(feature = "search")]
            Self::PatternTooLarge { .. } => "pattern_too_large",
            Self::Missing { .. } => "missing",
            Self::OutOfTicks(_) => "out_of_ticks",
        }
    }
}
