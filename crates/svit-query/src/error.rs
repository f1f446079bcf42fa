//! Everything that can be wrong with a question.

use svit_tree::Path;
#[cfg(feature = "search")]
use svit_tree::guest::HostError;
use svit_tree::guest::OutOfTicks;

/// Why a question was refused or stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The regular expression has a mistake.
    #[cfg(any(feature = "search", feature = "jq"))]
    #[error("bad pattern {} at byte {at}: {why}", Quoted(.pattern))]
    BadPattern {
        /// The pattern, cut at 200 bytes.
        pattern: String,
        /// Where the mistake starts, in bytes of the whole pattern.
        at: usize,
        /// What is wrong there.
        why: String,
    },
    /// The pattern matches the empty text, which is everywhere.
    #[cfg(any(feature = "search", feature = "jq"))]
    #[error(
        "the pattern {} matches the empty text, which is everywhere; make it match at least one character",
        Quoted(.pattern)
    )]
    MatchesEmpty {
        /// The pattern, cut at 200 bytes.
        pattern: String,
    },
    /// The regular expression has a class that only a table of Unicode could explain. Such tables change, and what
    /// a pattern finds may be stored.
    #[cfg(any(feature = "search", feature = "jq"))]
    #[error(
        "{class} at byte {at} needs a table of Unicode, whose version must not reach what is stored; \
         write the characters out, as in [A-Za-z] or [\\u{{370}}-\\u{{3ff}}], or \\w, \\d, \\s for those of ASCII"
    )]
    UnicodeClass {
        /// The class as it was written, such as `\p{Greek}`.
        class: String,
        /// Where it is, in bytes of the pattern.
        at: usize,
    },
    /// The pattern is larger than a pattern may be.
    #[cfg(any(feature = "search", feature = "jq"))]
    #[error("{limit} is limited to {allowed}{}", Actual(*.actual))]
    PatternTooLarge {
        /// Which limit.
        limit: PatternLimit,
        /// The most that is allowed.
        allowed: u64,
        /// The size, if it was found out.
        actual: Option<u64>,
    },
    /// The filter has a mistake.
    #[cfg(feature = "jq")]
    #[error("bad filter at byte {at}: {why}")]
    BadFilter {
        /// Where the first mistake is, in bytes of the filter's text.
        at: usize,
        /// What is wrong there.
        why: String,
    },
    /// The filter's text is longer than it may be.
    #[cfg(feature = "jq")]
    #[error("a filter is limited to {allowed} bytes, and this has {actual}")]
    FilterTooLarge {
        /// The most bytes.
        allowed: u64,
        /// The bytes it has.
        actual: u64,
    },
    /// The filter raised an error that it did not catch.
    #[cfg(feature = "jq")]
    #[error("the filter failed: {message}")]
    FilterFailed {
        /// The error as text, cut at 500 bytes.
        message: String,
        /// The error's value, which `catch` would have had as its input.
        value: svit_value::Value,
    },
    /// The filter went beyond a limit.
    #[cfg(feature = "jq")]
    #[error("the filter went beyond a limit: {limit}, {allowed}")]
    FilterLimit {
        /// Which limit.
        limit: FilterLimit,
        /// The most that is allowed.
        allowed: u64,
    },
    /// The interpreter of filters has a bug, and this filter met it.
    #[cfg(feature = "jq")]
    #[error("the filter met a bug of its interpreter")]
    FilterBroken,
    /// The results are larger than values may be.
    #[cfg(feature = "jq")]
    #[error("the result of the filter: {0}")]
    ResultTooLarge(#[from] svit_value::ValueError),
    /// The query of a ranked search has a mistake.
    #[cfg(feature = "rank")]
    #[error("bad query: {why}")]
    BadQuery {
        /// What is wrong.
        why: String,
    },
    /// The index of a ranked search cannot be made or brought up to date.
    #[cfg(feature = "rank")]
    #[error("the index: {why}")]
    Index {
        /// What went wrong.
        why: String,
    },
    /// There is nothing at the path below which to search.
    #[error("there is nothing at {path}")]
    Missing {
        /// The path.
        path: Path,
    },
    /// Who gives the contents of mounts ended the search.
    #[cfg(feature = "search")]
    #[error(transparent)]
    Stopped(HostError),
    /// Whoever ran the filter wanted it to end. Nothing that a script does may swallow this.
    #[cfg(feature = "jq")]
    #[error("the filter was interrupted")]
    Interrupted,
    /// The tick budget is used up. Nothing that a script does may swallow this.
    #[error(transparent)]
    OutOfTicks(#[from] OutOfTicks),
}

/// What a [`QueryError::PatternTooLarge`] is about.
#[cfg(any(feature = "search", feature = "jq"))]
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

#[cfg(any(feature = "search", feature = "jq"))]
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

/// A text in quotes. `{:?}` would ask a table of Unicode what can be printed, and a script may store what an error
/// says.
#[cfg(any(feature = "search", feature = "jq"))]
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

#[cfg(any(feature = "search", feature = "jq"))]
impl std::fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use std::fmt::Write as _;
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                '\0'..=' ' | '\u{7f}' if c != ' ' => write!(f, "\\u{{{:x}}}", u32::from(c))?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

#[cfg(any(feature = "search", feature = "jq"))]
struct Actual(Option<u64>);

#[cfg(any(feature = "search", feature = "jq"))]
impl std::fmt::Display for Actual {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(actual) => write!(f, ", and this is {actual}"),
            None => f.write_str(", and this is larger"),
        }
    }
}

/// What a [`QueryError::FilterLimit`] is about.
#[cfg(feature = "jq")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FilterLimit {
    /// Results.
    Results,
    /// Bytes of all values made on the way.
    Bytes,
    /// Evaluations inside each other.
    Nesting,
    /// The stack of this machine. Others come first; this is there so that nothing aborts.
    Stack,
    /// Evaluations that have begun and wait for others.
    Waiting,
    /// Contexts made by a filter in which a function with filters as parameters calls itself.
    Chained,
    /// Nesting of a value.
    Depth,
}

#[cfg(feature = "jq")]
impl std::fmt::Display for FilterLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Results => "the number of results",
            Self::Bytes => "bytes of values made on the way",
            Self::Nesting => "evaluations inside each other",
            Self::Stack => "the stack of this machine",
            Self::Waiting => "evaluations waiting for others",
            Self::Chained => "evaluations of a function that passes filters to itself",
            Self::Depth => "the nesting of a value",
        })
    }
}

impl QueryError {
    /// Whether the whole activation must end: true if ticks are used up, a filter was interrupted, or the source of a
    /// mount's contents ended the search. All other errors are answers that a script may catch.
    pub const fn is_hard(&self) -> bool {
        match self {
            Self::OutOfTicks(_) => true,
            #[cfg(feature = "jq")]
            Self::Interrupted => true,
            #[cfg(feature = "search")]
            Self::Stopped(_) => true,
            _ => false,
        }
    }

    /// A stable name for the sort of failure, in snake case.
    pub const fn code(&self) -> &'static str {
        match self {
            #[cfg(any(feature = "search", feature = "jq"))]
            Self::BadPattern { .. } => "bad_pattern",
            #[cfg(any(feature = "search", feature = "jq"))]
            Self::MatchesEmpty { .. } => "matches_empty",
            #[cfg(any(feature = "search", feature = "jq"))]
            Self::UnicodeClass { .. } => "unicode_class",
            #[cfg(any(feature = "search", feature = "jq"))]
            Self::PatternTooLarge { .. } => "pattern_too_large",
            #[cfg(feature = "jq")]
            Self::BadFilter { .. } => "bad_filter",
            #[cfg(feature = "jq")]
            Self::FilterTooLarge { .. } => "filter_too_large",
            #[cfg(feature = "jq")]
            Self::FilterFailed { .. } => "filter_failed",
            #[cfg(feature = "jq")]
            Self::FilterLimit { .. } => "filter_limit",
            #[cfg(feature = "jq")]
            Self::FilterBroken => "filter_broken",
            #[cfg(feature = "jq")]
            Self::ResultTooLarge(_) => "result_too_large",
            #[cfg(feature = "rank")]
            Self::BadQuery { .. } => "bad_query",
            #[cfg(feature = "rank")]
            Self::Index { .. } => "index",
            Self::Missing { .. } => "missing",
            #[cfg(feature = "search")]
            Self::Stopped(_) => "stopped",
            #[cfg(feature = "jq")]
            Self::Interrupted => "interrupted",
            Self::OutOfTicks(_) => "out_of_ticks",
        }
    }
}
