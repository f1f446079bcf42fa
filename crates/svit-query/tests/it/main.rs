//! What the crate promises, seen from outside.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[cfg(feature = "jq")]
mod jq;
