//! jq: facts picked out of a value, values made from values, within ticks and bytes.
//!
//! [`jq`] asks once; a [`Filter`] is compiled from its text and [run](Filter::run) on any
//! [`Value`](svit_value::Value), and the results are values too. The language is that of jq 1.8, as its manual
//! has it; the interpreter is jaq.
//!
//! # Price
//! 200 ticks for asking, then 1 for each evaluation of a term and each element that is iterated over, compared
//! or sorted, and 1 for each 64 bytes of values that are made or looked at. A regular expression costs 2,000
//! ticks when a run meets it first, and 1 for each 64 bytes of its table of groups, and then, for each match and the look that finds no more, `1 + n * cost / 64`,
//! where `n` is the number of bytes that are read until it is known where the match ends, and `cost` the number of
//! characters it can be waiting for. All this is the same on every machine and in every build.
//!
//! # Bounds
//! Nothing inside a filter can catch that a bound was reached.
//! - Ticks: [`QueryError::OutOfTicks`](crate::QueryError::OutOfTicks), which is a
//!   [hard](crate::QueryError::is_hard) error. The meter is charged when the run ends, however it ends.
//! - Time: the caller's own, through an [`Interrupt`] that is asked every millisecond or so; the error,
//!   [`QueryError::Interrupted`](crate::QueryError::Interrupted), is hard too.
//! - [`JqOptions`]: results, bytes of values made on the way, sizes of results.
//! - Recursion: 4,000 evaluations inside each other, some 1,000 calls of a function that is not the last thing
//!   its caller does; 200,000 that wait for others. A call that is the last thing takes no space, but in a
//!   filter where a function with filters as parameters calls itself, 60,000 evaluations are the end.
//! - The text of a filter: [`MAX_FILTER_BYTES`]. Regular expressions: 1,024 bytes, 64 of them in a run.
//!
//! The stack of the caller may be small: where it is, a run gets one of its own.
//!
//! # What is different from jq
//! - Maps are in the order of their keys, not in that of writing.
//! - Integers are exact up to 64 bits, and become floats beyond. How a number was written is not kept. NaN and
//!   the infinities exist only on the way: in a list or map and as a result, NaN is null and an infinity is the
//!   largest float.
//! - Bytes, which jq does not have, are of type `bytes`, have a length, and are written as JSON in the form
//!   `{"/": {"bytes": ..}}`.
//! - Of several outputs on both sides of an operator, or in one text, jaq varies the right side fastest, and jq
//!   the left. `reduce` goes on with each output of a step, and ends without one; jq takes the last, or null.
//! - `?//`, a point without digits behind it, and a negative count for `limit` and `skip` are as in jaq: an
//!   error, an error, and none.
//! - Regular expressions are those of the `regex` crate: no look-around and no back-references, which are not
//!   linear in time; the flag `l` is refused.
//! - No table of Unicode takes part, since what a filter gives may be stored and such tables change. In regular
//!   expressions `\d`, `\s`, `\w`, `\b`, `[[:alpha:]]` and the flag `i` know ASCII, `.` and negated classes match
//!   whole characters, and `\p{..}` is refused. With the flag `x`, in names of groups, and in a filter outside of
//!   its strings and comments, only ASCII may stand. `trim` takes off the characters that the manual lists.
//! - Removed, because a filter sees its input and nothing else: `input`, `inputs`, `debug`, `stderr`, `env`,
//!   `$ENV`, `now`, `localtime`, `strflocaltime`, `halt`, `halt_error`, `input_filename`,
//!   `input_line_number`, `$__loc__`, `$__prog_args`, `get_search_list`, `get_jq_origin`, `get_prog_origin`,
//!   `modulemeta`, `builtins`, `import` and `include`. So are `jn` and `yn`, which take time without a bound.
//! - Texts of errors are near those of jq, but not promised to be the same.
//! - More than jq has: `@base32` and `@base32d`.
//!
//! Tests hold the rest to what jq 1.8.2 gives for some 500 filters; those above are pinned with both answers
//! (`tests/jq/`).
//!
//! # Limitations
//! A filter is stopped by unwinding, so a program that aborts on panic cannot be built with this feature.

mod access;
mod arithmetic;
mod defs;
mod filter;
mod gauge;
mod json;
mod natives;
mod number;
mod order;
mod run;
mod stack;
mod value;

pub use filter::{Filter, MAX_FILTER_BYTES};
pub use run::{Interrupt, JqOptions, jq};
