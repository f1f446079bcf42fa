//! Ranked search: best matches first, over an index in memory that follows its value.
//!
//! For hosts and models, not for scripts: nothing ranked may decide what is committed. [`RankIndex::new`]
//! looks at every text once; [`RankIndex::update`] brings the index to a newer value in the time that the
//! change takes, and it then answers as a fresh one would.

mod index;
mod statistics;

pub use index::{RankIndex, RankOptions, Ranked};
