//! The test kit's programs, from outside.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::panic,
    reason = "tests"
)]

#[cfg(feature = "model-server")]
mod model_server;
