//! What the fuzz targets generate, and what must hold of it. Each module has an `Input` and a
//! `check` that panics when something is wrong.

pub mod car;
pub mod decode;
pub mod edits;
pub mod filter;
pub mod lisp;
pub mod path;
pub mod pattern;
pub mod url;
