//! What a run costs against the bare engine: one activation, loops with and without ticks, and one call of
//! each of the functions that scripts use most.
//!
//! `cargo bench -p svit-lisp` prints one line a row for people, `-- --only NAME` measures one,
//! `-- --rows` prints them for `cargo xtask bench`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a program to be read by people"
)]

mod activation;
#[path = "../../../svit-value/benches/values/harness.rs"]
#[allow(
    dead_code,
    reason = "shared with another bench, which uses other parts"
)]
mod harness;
#[path = "../../tests/it/host.rs"]
#[allow(dead_code, reason = "shared with the tests")]
mod host;
mod steps;
mod ticks;

use std::sync::Arc;

use harness::{Report, nanoseconds};
use host::{World, limits};
use ketos::{Builder, Interpreter, RestrictConfig};
use svit_lisp::Lisp;
use svit_tree::guest::GuestLimits;
use svit_value::{Value, value};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let report = Report::from_args(&args);
    activation::rows(&report);
    ticks::rows(&report);
    steps::rows(&report);
}

fn world(lisp: &Lisp, tree: Value) -> Arc<World> {
    let limits = GuestLimits {
        max_memory: 64 << 20,
        ..limits()
    };
    World::with_ticks(lisp, tree, limits, 1 << 40)
}

fn small_tree() -> Value {
    value!({"memory": {"count": 6}})
}

/// One run in a tree of its own.
fn ours(lisp: &Lisp, tree: &Value, source: &str, input: &Value) -> f64 {
    let world = world(lisp, tree.clone());
    nanoseconds(|| drop(world.run(source, input.clone()).unwrap()))
}

/// The engine as it comes, restricted.
fn bare() -> Interpreter {
    Builder::new()
        .restrict(RestrictConfig {
            execution_time: None,
            memory_limit: usize::MAX,
            ..RestrictConfig::permissive()
        })
        .finish()
}
