//! Immutable, hashed, canonical values.

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
