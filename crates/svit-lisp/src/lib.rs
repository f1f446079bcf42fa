//! Run one Svit Lisp script within limits.

mod builtins;
mod cache;
mod engine;
mod error;
mod front;
mod lisp;
mod script;
mod table;
#[cfg(test)]
mod tests;
mod worker;

pub use error::LispError;
pub use lisp::{Lisp, check_source, standard_limits};
pub use script::Script;

/// The language and its version, as stored with scripts.
pub const LANGUAGE: &str = "svit-lisp@2";
