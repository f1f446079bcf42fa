//! Processes as users drive and break them, on the reference store and on one with faults.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

mod children;
mod conformance;
#[cfg(feature = "lisp")]
mod control;
#[cfg(feature = "lisp")]
mod control_fixtures;
mod custom_store;
mod damage;
mod faults;
mod golden;
mod history;
mod hooks;
mod in_place;
mod keeping;
mod key_value;
mod limits;
mod matrix;
mod mounts;
mod observers;
mod outbox;
mod owners;
mod ports;
mod racing;
mod random;
mod rebase;
mod receipts;
mod snapshot;
mod starts;
mod steps;
mod surface;
mod tampered;
mod travel;
