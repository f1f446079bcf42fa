//! Immutable, hashed, canonical values: JSON-like data that is cheap to copy, cheap to compare, and
//! has one digest that anybody can check.
//!
//! ```
//! use svit_value::{Value, ValueLimits, value};
//!
//! let state = value!({
//!     "name": "ada",
//!     "scores": [1, 2.5, null],
//!     "notes": {"a": "short", "b": "x".repeat(500)},
//! });
//!
//! // A copy costs nothing, and an edit of it leaves the original alone.
//! let mut copy = state.as_map().cloned().unwrap_or_default();
//! copy.insert("name", "grace")?;
//! let changed = Value::from(copy);
//! assert_eq!(state.get("name").and_then(Value::as_str), Some("ada"));
//!
//! // One value, one encoding, one digest.
//! let bytes = changed.encode();
//! let read = Value::decode(&bytes, &ValueLimits::default())?;
//! assert_eq!(read, changed);
//! assert_eq!(read.digest(), changed.digest());
//!
//! // What a store that has the first needs for the second: the changed block only.
//! assert_eq!(state.blocks().count(), 3);
//! assert_eq!(changed.new_blocks(&state).count(), 1);
//! # Ok::<(), svit_value::ValueError>(())
//! ```
//!
//! # What it does
//!
//! - [`Value`] is null, a bool, a 64-bit integer, a finite float, a [`Text`], [`Bytes`], a [`List`] or
//!   a [`Map`] with text keys in order. `1` and `1.0` are different values.
//! - Lists and maps are persistent: a clone costs O(1), an edit O(log n), and what does not change is
//!   shared. They are Merkle trees as well: each node caches its size and, once asked for, its digest,
//!   so that after an edit only the nodes on its path are measured and hashed again.
//! - Their shape depends on their contents alone. Whatever edits led to a value, it has the same
//!   blocks and the same [`Digest`], and so equality is a comparison of digests.
//! - [`Map::diff`] and [`List::diff`] walk only what two versions do not share.
//!
//! # What it does not do
//!
//! No input or output, no clock, no randomness, no global state, no `unsafe`. It knows nothing of
//! paths, processes or stores. It keeps no history: a value is what it is, older versions are clones
//! that somebody holds.
//!
//! # Making and reading values
//!
//! [`value!`] writes one as it looks; `Value::from`, [`List::from_values`], [`Map::from_entries`] and
//! [`Value::from_serde`] make them from Rust data; [`Value::get`], [`Value::at`], the `as_` functions
//! and [`Value::to`] read them. `match` on the enum works as well.
//!
//! ```
//! # use svit_value::{List, Map, Value, value};
//! let mut queue = Map::new();
//! for n in 0..1000 {
//!     queue.insert(format!("{n:06}"), value!({"n": n}))?;
//! }
//! // Ordered, so a page of it is a range.
//! use std::ops::Bound::{Excluded, Unbounded};
//! let page: Vec<_> = queue.range(Excluded("000497"), Unbounded).take(3).collect();
//! assert_eq!(page[0].0, "000498");
//!
//! fn total(value: &Value) -> i64 {
//!     match value {
//!         Value::Int(n) => *n,
//!         Value::List(list) => list.iter().map(total).sum(),
//!         Value::Map(map) => map.values().map(total).sum(),
//!         _ => 0,
//!     }
//! }
//! assert_eq!(total(&Value::from(queue)), 499_500);
//! # Ok::<(), svit_value::ValueError>(())
//! ```
//!
//! # Forms
//!
//! | form | write | read |
//! |---|---|---|
//! | plain encoding: strict DAG-CBOR | [`Value::encode`], [`Value::encode_to`] | [`Value::decode`] |
//! | blocks, each named by its digest | [`Value::blocks`], [`Value::new_blocks`], [`Value::block`] | [`Value::from_blocks`], [`links`] |
//! | a CAR file of blocks | [`car::write`] | [`car::read`] |
//! | JSON, without loss | [`Value::to_json`] | [`Value::from_json`] |
//! | any serde format | `Serialize` | `Deserialize` |
//! | Rust types | [`Value::to`] | [`Value::from_serde`] |
//! | for people, cut short | `Display`, `Debug` | |
//!
//! The decoder accepts exactly what the encoder writes. A length in the input never drives an
//! allocation larger than the bytes that are left, so what comes from outside can be decoded as it is,
//! with [`ValueLimits`]. `from_blocks` takes nothing on trust either.
//!
//! ## Blocks and digests
//!
//! The digest of a value is the BLAKE3 digest of its block. A block is the plain encoding, except
//! that a child of more than 128 encoded bytes is a link to its own block (tag 42, a CID of version 1),
//! and that containers of more than 64 entries are cut into leaves, with index blocks above. Lists are
//! cut at every 64th element. Maps are cut where BLAKE3 of a key begins with five zero bits, so that an
//! insert or a removal moves no other cut: leaves have 32 entries on average, index nodes 8 children.
//! Every block is valid DAG-CBOR, and any IPLD tool can walk a stored value.
//!
//! # Limits
//!
//! [`Measure`] says how large a value is, in O(1); [`ValueLimits::check`] compares. Nothing nests
//! deeper than [`MAX_DEPTH`]: that is refused where a container gets a child, so no function recurses
//! deeper, dropping included.
//!
//! # What it costs
//!
//! Against `imbl::OrdMap` with 100,000 entries, a lookup takes about 0.9 and an insert 1.2 times as
//! long, and an entry takes 0.8 times the memory; an insert and the new digest of the whole take
//! some 8 microseconds. `cargo bench -p svit-value` measures it on your machine.
//!
//! # Limitations
//!
//! - [`List::remove`] moves all elements behind the one removed. A queue is better a map whose keys
//!   are numbers of a fixed width.
//! - Keys can be chosen so that they never start a leaf. Such a map is correct, but its leaf is long:
//!   with 10,000 such entries an insert and digest take ten times as long.
//! - Long keys with a long common prefix compare slowly; up to 22 bytes are compared as three words.
//! - A change inside a text or bytes is a new text: cut large ones into a list.
//!
//! # Errors
//!
//! All are [`ValueError`], with the place or the numbers as fields and a stable
//! [`code`](ValueError::code). The crate does not panic, but for [`value!`] as documented there.

mod blocks;
mod bytes;
pub mod car;
mod cbor;
mod convert;
mod digest;
mod equal;
mod error;
mod flat;
mod float;
mod json;
mod list;
mod macros;
mod map;
mod measure;
mod runs;
mod serde_impl;
mod show;
mod text;
mod value;

#[doc(hidden)]
pub use macros::private as __private;

pub use blocks::{Blocks, links};
pub use bytes::Bytes;
pub use digest::Digest;
pub use error::{CborProblem, JsonProblem, Limit, ValueError};
pub use float::Float;
pub use list::{List, ListChange, ListDiff, ListIter};
pub use map::{Map, MapChange, MapDiff, MapIter};
pub use measure::{MAX_DEPTH, Measure, ValueLimits};
pub use text::Text;
pub use value::{Kind, Value};
