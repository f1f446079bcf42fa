//! What a program may do, what it costs, and what it may not do.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

mod alone;
mod conformance;
mod corpus;
mod engine;
mod fuzz;
mod host;
mod hostile;
mod language;
mod limits;
mod page;
mod query;
