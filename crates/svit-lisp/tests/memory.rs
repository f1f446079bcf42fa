//! Counted memory against resident memory, in a process of its own, since other tests would be measured too.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

#[path = "it/host.rs"]
#[allow(dead_code, reason = "shared with the other tests")]
mod host;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use svit_lisp::Lisp;
use svit_tree::guest::GuestLimits;
use svit_value::{Value, ValueLimits, value};

use host::{World, limits};

/// The limit in the test: large, so that what is measured stands out.
const LIMIT: u64 = 32 << 20;
/// What the crate's page promises: resident memory is at most this many times the limit.
const FACTOR: f64 = 2.5;

fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4_096
}

fn large() -> GuestLimits {
    GuestLimits {
        max_memory: LIMIT,
        value: ValueLimits::default(),
        ..limits()
    }
}

/// Programs that hold more and more until the limit stops them, each in a shape of its own.
const SHAPES: &[(&str, &str)] = &[
    (
        "a list of numbers",
        "(define (f x n) (f (list-push x n) (+ n 1)))",
    ),
    (
        "a list of short texts",
        "(define (f x n) (f (list-push x (to-string n)) (+ n 1)))",
    ),
    (
        "a list of long texts",
        "(define (f x n) (f (list-push x (concat (to-string n) \"0123456789012345678901234567890123456789012345678901234567890123456789\")) (+ n 1)))",
    ),
    (
        "a list of lists",
        "(define (f x n) (f (list-push x (list n)) (+ n 1)))",
    ),
    (
        "a map",
        "(define (f x n) (f (map-set (if (list? x) (value-map) x) (to-string n) n) (+ n 1)))",
    ),
    (
        "a list of maps",
        "(define (f x n) (f (list-push x (value-map \"a\" n \"b\" n)) (+ n 1)))",
    ),
    (
        "lists inside lists",
        "(define (f x n) (f (list x x n) (+ n 1)))",
    ),
    (
        "closures in lists",
        "(define (f x n) (f (list-push x (lambda () n)) (+ n 1)))",
    ),
    #[cfg(feature = "jq")]
    (
        "numbers collected by jq",
        "(define (f x n) (f (list-push x (jq \"[range(300000)]\" null)) n))",
    ),
    #[cfg(feature = "jq")]
    (
        "a text doubled by jq",
        "(define (f x n) (f (list-push x (jq \"reduce range(22) as $i (\\\"xy\\\"; . + .)\" null)) n))",
    ),
    (
        "one text, doubled",
        "(define (f x n) (f (if (list? x) \"ab\" (concat x x)) (+ n 1)))",
    ),
];

/// The most resident memory while `work` runs.
fn peak(work: impl FnOnce()) -> u64 {
    let peak = AtomicU64::new(0);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Relaxed) {
                peak.fetch_max(resident(), Relaxed);
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        work();
        done.store(true, Relaxed);
    });
    peak.into_inner()
}

fn world(limits: GuestLimits) -> Arc<World> {
    let tree = value!({"memory": {}, "lib": {}});
    World::with_ticks(&Lisp::new(), tree, limits, 10_000_000)
}

// THREAT[TM-LISP-5]
#[test]
fn resident_memory_stays_within_a_factor_of_the_limit() {
    // Threads, code and the allocator's first blocks.
    let warm = "(define (main input) (fold list-push () (range 1000)))";
    world(limits()).run(warm, Value::Null).unwrap();
    let before = resident();
    let mut report = Vec::new();
    for (name, source) in SHAPES {
        let source = format!("{source} (define (main input) (f () 0))");
        let grown = peak(|| {
            let error = world(large()).run(&source, Value::Null).unwrap_err();
            let stopped = error.is_hard() || error.code.as_str() == "filter_limit";
            assert!(stopped, "{name}: {error}");
        });
        // Blocks that the allocator kept from the shapes before count here too.
        let factor = grown.saturating_sub(before) as f64 / LIMIT as f64;
        report.push((*name, factor));
    }
    println!("{report:.2?}");
    let largest = report.iter().map(|(_, factor)| *factor).fold(0.0, f64::max);
    assert!(largest < FACTOR, "{report:.2?}");
    assert!(largest > 0.3, "nothing was measured: {report:.2?}");
}
