//! Providers over real HTTP, against the loopback server of the test kit.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

#[cfg(feature = "providers")]
mod ask;
#[cfg(feature = "providers")]
mod faults;
#[cfg(feature = "providers")]
mod foreign;
#[cfg(feature = "providers")]
mod openai;
#[cfg(feature = "providers")]
mod retry;
#[cfg(feature = "providers")]
mod secrets;
#[cfg(feature = "providers")]
mod wires;
