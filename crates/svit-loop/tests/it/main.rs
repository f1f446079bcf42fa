//! The loop as its users and their accidents see it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod anywhere;
mod approvals;
mod budgets;
mod children;
mod common;
mod compaction;
mod crash;
mod grants;
mod guests;
mod handles;
mod hooks;
mod http;
mod owners;
mod receipts;
mod recorded;
mod small_store;
mod turns;
