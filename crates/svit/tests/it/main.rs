//! What users see of svit as a whole: its examples as programs, and bad input at the edge.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

mod edges;
mod example;
mod grants;
mod hostile;
mod http;
mod llm;
mod own_store;
mod quickstart;
