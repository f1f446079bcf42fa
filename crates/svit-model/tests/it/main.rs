//! Providers over real HTTP, against the loopback server of the test kit.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

#[cfg(feature = "providers")]
mod foreign;
#[cfg(feature = "providers")]
mod openai;
#[cfg(feature = "providers")]
mod retry;
#[cfg(feature = "providers")]
mod secrets;
