//! The store as its users see it: contract, opening, damage, crashes, and many callers at once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tests"
)]

mod backup;
mod callers;
mod checkpoints;
mod child;
mod common;
mod conformance;
mod contract;
mod damage;
mod garbage;
mod golden;
mod grown;
mod in_place;
mod kill;
mod lives;
mod many;
mod open;
mod process;
#[cfg(feature = "turso-mount")]
mod query;
mod under;
