//! Ranked search: best matches first, over an index in memory that follows its value.
//!
//! For hosts and models, not for scripts: nothing ranked may decide what is committed. [`RankIndex::new`]
//! looks at every text once; [`RankIndex::update`] brings the index to a newer value in the time that the
//! change takes, and it then answers as a fresh one would. A [`Ranker`] does both when it is asked a question.
//!
//! # Score
//! BM25 with k1 = 1.2 and b = 0.75 over the texts that are there now, those elsewhere in the tree too: of a word,
//! `ln(1 + (N - n + 0.5) / (n + 0.5)) * f * 2.2 / (f + 1.2 * (0.25 + 0.75 * len / average))`, where `n` of `N` texts
//! have the word and this one has it `f` times; a phrase counts as one word whose logarithms are added up; the parts
//! of a query are added up, the same part once. Texts of more than 40 words count as the next shorter length of a table of tantivy's.
//! Words are runs of letters and digits, in lower case, of less than 40 bytes.

mod index;
mod query;
mod ranker;
mod statistics;

pub use index::{RankIndex, RankOptions, Ranked, Updated};
pub use ranker::Ranker;
