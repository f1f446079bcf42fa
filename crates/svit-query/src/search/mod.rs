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
//! # Mounts
//! In the committed tree a mount is its descriptor. [`search_mounted`] looks at what is in it instead, through a
//! [`MountSource`]: one node at a time, under the same bounds, and in the same order. A node that cannot be looked
//! at is told in [`Found::failures`] and does not end the search. Mounts may contain themselves: no path is longer
//! than 64 segments, and `max_nodes` counts all the same. A mount may change while it is searched; the answer is then
//! of no one moment.
//!
//! # Price
//! 1 tick for each node, and for each look into a key or text (one for each match, and the last that finds none)
//! `1 + n * cost / 64` ticks, where `n` is the number of bytes that are read until it is known where the match ends
//! or that there is none, and `cost` is [`Pattern::cost`]. The time of a look is linear in `n * cost`, whatever
//! the pattern and the text. A node of a mount costs [`MOUNT_TICKS`] more, and 1 for each 64 bytes that are read
//! and each name that is listed.

mod excerpt;
mod hit;
mod mounts;
mod pattern;
mod walk;

pub use hit::{Bound, Cut, Failure, Found, Hit, MAX_FAILURES, Part};
pub use mounts::{AttachedMounts, HostMounts, MountLimits, MountNode, MountSource};
pub use pattern::{
    MAX_PATTERN_BYTES, MAX_PATTERN_CLASSES, MAX_PATTERN_COMPILED_BYTES, MAX_PATTERN_POSITIONS,
    Pattern,
};
pub use walk::{MOUNT_TICKS, SearchOptions, search, search_mounted};
