//! Pure, bounded questions over values.
//!
//! An agent writes notes into its memory and must find them again; a script must pick facts out of a
//! big answer. This crate answers such questions about a [`Value`](svit_value::Value): without side
//! effects, within bounds that the caller sets, and with the same result and the same price in ticks
//! on every machine.
//!
//! ```
//! use svit_query::search::{Pattern, SearchOptions, search};
//! use svit_tree::{Path, guest::Meter};
//! use svit_value::value;
//!
//! let memory = value!({
//!     "facts": {"release_color": "the release color is teal"},
//!     "notes": ["call Ada", "paint the door teal"],
//! });
//! let meter = Meter::new(1_000);
//! let teal = Pattern::text("teal")?;
//! let found = search(&memory, &Path::root(), &teal, &SearchOptions::default(), &meter)?;
//!
//! let hits: Vec<_> = found.hits.iter().map(|hit| (hit.path.to_string(), hit.range.clone())).collect();
//! assert_eq!(hits, [("/facts/release_color".to_owned(), 21..25), ("/notes/1".to_owned(), 15..19)]);
//! assert!(found.cut.is_none());
//!
//! let broken = Pattern::regex("tea(l").unwrap_err();
//! assert_eq!(broken.code(), "bad_pattern");
//! # Ok::<(), svit_query::QueryError>(())
//! ```
//!
//! # What is here
#![cfg_attr(
    feature = "search",
    doc = "- [`search`] (feature `search`, on by default): plain text and regular expressions over keys and texts;"
)]
#![cfg_attr(
    feature = "jq",
    doc = "- [`jq`](mod@jq) (feature `jq`, on by default): the jq language, metered;"
)]
#![cfg_attr(
    feature = "rank",
    doc = "- [`rank`] (feature `rank`): best matches first, over an index that follows its value;"
)]
//! - [`QueryError`]: all that can go wrong.
//!
//! # What it does not do
//! No I/O, no clock, no authority: it sees the value that it is given and nothing else. It opens no mount; a search
//! through mounts asks whoever has them attached, one node at a time. But for `rank` it keeps no index: a search
//! looks at every node below its path. And it has no table of Unicode: results, ticks and the texts of errors of
//! `search` and `jq` do not change with one, so that scripts may store them. `rank` is for hosts, and has.

#[cfg(feature = "jq")]
pub mod jq;
#[cfg(feature = "rank")]
pub mod rank;
#[cfg(feature = "search")]
pub mod search;

mod error;
#[cfg(any(feature = "search", feature = "jq"))]
mod linear;

#[cfg(feature = "jq")]
pub use error::FilterLimit;
#[cfg(any(feature = "search", feature = "jq"))]
pub use error::PatternLimit;
pub use error::QueryError;
