//! The rows `step-*`: one call of each of the functions that scripts use most, by what a loop with the call
//! takes more than one without; and how `map-set` and `list-push` grow with what they change.

use svit_lisp::Lisp;
use svit_value::{List, Map, Value, value};

use super::harness::{Report, Row, median};
use super::{nanoseconds, world};

/// Calls in one run.
const CALLS: i64 = 5_000;
const ROUNDS: usize = 15;
/// Entries of the map and the list that are changed.
const SIZES: [i64; 4] = [100, 1_000, 10_000, 100_000];

pub(super) fn rows(report: &Report) {
    for (name, body, note) in [
        ("step-read", "(read \"/memory/count\")", "an integer"),
        (
            "step-read-large",
            "(read \"/memory/map\")",
            "a map of 100,000 entries",
        ),
        (
            "step-write",
            "(write \"/memory/count\" n)",
            "an integer; the bench's host, not a process",
        ),
        (
            "step-map-get",
            "(map-get kept \"key-000042\")",
            "of 100,000 entries",
        ),
        (
            "step-exec",
            "(exec \"/lib/same\" n)",
            "a script that gives back its input",
        ),
    ] {
        if report.wants(name) {
            let lisp = Lisp::new();
            let taken = per_call(&lisp, 100_000, body, false);
            report.row(Row::alone(name, "ns", taken).note(note));
        }
    }
    growth(report, "step-map-set", "(map-set kept \"key-000042\" n)");
    growth(report, "step-list-push", "(list-push kept n)");
}

/// The same call on four sizes; the row has the smallest and the largest, the note all.
fn growth(report: &Report, name: &'static str, body: &str) {
    if !report.wants(name) {
        return;
    }
    let lisp = Lisp::new();
    let list = body.starts_with("(list");
    let times = SIZES.map(|size| per_call(&lisp, size, body, list));
    let note: Vec<String> = SIZES
        .iter()
        .zip(times)
        .map(|(size, time)| format!("{size}: {time:.0}"))
        .collect();
    let row = Row::info(name, "ns", times[3], times[0]);
    report.row(row.note(&format!("by entries: {}", note.join(", "))));
}

/// What one call takes, in a tree with collections of `size` entries.
fn per_call(lisp: &Lisp, size: i64, body: &str, list: bool) -> f64 {
    let entries = (0..size).map(|i| (format!("key-{i:06}"), Value::from(i)));
    let map = Map::from_entries(entries).unwrap();
    let items = List::from_values((0..size).map(Value::from)).unwrap();
    let tree = value!({
        "memory": {"count": 6, "map": map, "list": items},
        "lib": {"same": {"source": "(define (main input) input)"}},
    });
    let kept = if list { "list" } else { "map" };
    let source = |body: &str| {
        format!(
            "(define (loop n kept) (if (= n 0) null (do {body} (loop (- n 1) kept)))) \
             (define (main n) (loop n (read \"/memory/{kept}\")))"
        )
    };
    let (with, without) = (source(body), source("null"));
    let input = Value::from(CALLS);
    let time = |source: &str| {
        let world = world(lisp, tree.clone());
        nanoseconds(|| drop(world.run(source, input.clone()).unwrap())) / CALLS as f64
    };
    time(&with);
    let mut more: Vec<f64> = (0..ROUNDS).map(|_| time(&with) - time(&without)).collect();
    median(&mut more)
}
