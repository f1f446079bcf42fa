//! Text search: plain text and regular expressions over the keys and texts below a path.
//!
//! [`search`] walks the tree in its own order and gives the matches in that order: a node's key
//! before its text, a map's entries in key order, a list's elements by index, a parent before its
//! children. Looked at are keys of maps and values of kind text; numbers, bools and bytes are not.
//!
//! # Bounds
//! [`SearchOptions`] bounds the nodes looked at, the hits and the bytes shown of each. A search that
//! one of them ended early says so in [`Found::cut`], with the first place that it did not finish.
//! Ticks are no such bound: a search that has no more of them is an error, and its hits are lost.
//!
//! # Price
//! 1 tick for each node, and for each look into a key or text of `n` bytes (one for each match, and
//! the last that finds none) `1 + n * cost / 64` ticks, where `n` counts from the end of the match
//! before, and `cost` is [`Pattern::cost`]. It is charged before the look. The time of a look is
//! linear in `n * cost`, whatever the pattern and the text.

mod excerpt;
mod hit;
mod pattern;
mod walk;

pub use hit::{Bound, Cut, Found, Hit, Part};
pub use pattern::{
    MAX_PATTERN_BYTES, MAX_PATTERN_CLASSES, MAX_PATTERN_COMPILED_BYTES, MAX_PATTERN_POSITIONS,
    Pattern,
};
pub use walk::{SearchOptions, search};
