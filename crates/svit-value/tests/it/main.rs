//! Tests of the crate as its users see it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

mod blocks;
mod car;
mod decode;
mod diff;
mod json;
mod limits;
mod rust_types;
mod show;
mod values;
mod vectors;
