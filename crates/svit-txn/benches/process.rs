//! What processes cost in memory: forks, commits, activations, snapshots.
//!
//! `cargo bench -p svit-txn` prints one line a row for people, `-- --only NAME` measures one,
//! `-- --rows` prints them for `cargo xtask bench`.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program to be read by people"
)]

#[path = "../../svit-value/benches/values/harness.rs"]
#[allow(
    dead_code,
    reason = "shared with another bench, which uses other parts"
)]
mod harness;

use std::hint::black_box;

use futures_lite::future::block_on;
use harness::{Report, Row, median, nanoseconds, race, resident};
use svit_txn::{CheckpointPolicy, Limits, MemoryStore, Process};
use svit_value::{Map, Value, value};

const COUNTER: &str = r#"
(define (main input)
  (let ((count (+ (read "/memory/count") (value-get input "/by"))))
    (do (write "/memory/count" count)
        (value-map "count" count))))
"#;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let report = Report::from_args(&args);
    fork(&report);
    commit_memory(&report);
    activation(&report);
    snapshot(&report);
    resume(&report);
}

/// A process with about so many nodes of application values, in maps of a hundred texts.
fn process(nodes: u64) -> Process {
    let limits = Limits {
        max_tree_nodes: 100_000_000,
        max_value_nodes: 10_000_000,
        max_text_bytes: 64 << 20,
        ..Limits::default()
    };
    let groups = (0..nodes.div_ceil(100)).map(|group| {
        let notes = (0..99).map(|i| {
            (
                format!("note-{i}"),
                Value::from(format!("note {group}.{i}")),
            )
        });
        (format!("group-{group}"), Map::from_entries(notes).unwrap())
    });
    Process::builder("svit://local/bench")
        .unwrap()
        .limits(limits)
        .memory("notes", Map::from_entries(groups).unwrap())
        .memory("count", 0)
        .library("counter", COUNTER)
        .build()
        .unwrap()
}

/// The same value with nothing shared.
fn deep_clone(value: &Value) -> Value {
    match value {
        Value::Map(map) => {
            let entries = map
                .iter()
                .map(|(key, value)| (key.as_str(), deep_clone(value)));
            Map::from_entries(entries).unwrap().into()
        }
        other => other.clone(),
    }
}

fn fork(report: &Report) {
    if !report.wants("fork") {
        return;
    }
    const FORKS: usize = 1_000;
    let parent = process(100_000);
    let root = parent.read("/").unwrap().unwrap();
    let addresses: Vec<String> = (0..FORKS)
        .map(|i| format!("svit://local/child-{i}"))
        .collect();
    let all = || {
        addresses
            .iter()
            .map(|a| parent.fork(a).unwrap())
            .collect::<Vec<_>>()
    };
    // Before anything was freed that they could take again.
    let before = resident();
    let children: Vec<_> = (0..20).map(|_| all()).collect();
    let each = (resident() - before) / (20 * FORKS) as f64;
    drop(children);
    let [ours, other] = race(
        7,
        || nanoseconds(|| drop(black_box(all()))) / FORKS as f64,
        || nanoseconds(|| drop(black_box(deep_clone(&root)))),
    );
    report.row(
        Row::new(
            "fork",
            "ns",
            ours,
            other,
            "<= 2 us, <= 2 KiB",
            ours <= 2_000.0 && each <= 2_048.0,
        )
        .note(&format!("{each:.0} bytes of memory each")),
    );
}

fn commit_memory(report: &Report) {
    if !report.wants("commit-memory") {
        return;
    }
    const WRITES: i64 = 200;
    let write = |process: &Process| {
        nanoseconds(|| {
            for i in 0..WRITES {
                let group = format!("/memory/notes/group-{}/note-7", i % 10);
                black_box(process.write(group, i).unwrap());
            }
        }) / WRITES as f64
    };
    let (small, large) = (process(1_000), process(1_000_000));
    let [a, b] = race(9, || write(&large), || write(&small));
    report.row(
        Row::new("commit-memory", "ns", a, b, "<= 3", a / b <= 3.0)
            .note("a write of one leaf with 1,000,000 and with 1,000 nodes"),
    );
}

fn activation(report: &Report) {
    if !report.wants("activation-whole") {
        return;
    }
    const RUNS: usize = 200;
    let process = process(1_000);
    let mut times: Vec<f64> = (0..9)
        .map(|_| {
            nanoseconds(|| {
                for _ in 0..RUNS {
                    black_box(process.exec("/lib/counter", value!({"by": 1})).unwrap());
                }
            }) / RUNS as f64
        })
        .collect();
    let ours = median(&mut times);
    report.row(
        Row::alone("activation-whole", "ns", ours).note("counter script, committed in memory"),
    );
}

fn snapshot(report: &Report) {
    if !report.wants("snapshot") && !report.wants("restore") {
        return;
    }
    let process = process(100_000);
    let file = process.snapshot();
    let megabytes = file.as_bytes().len() as f64 / 1e6;
    let speed = |time: f64| megabytes / (time / 1e9);
    let mut out: Vec<f64> = (0..9)
        .map(|_| nanoseconds(|| drop(black_box(process.snapshot()))))
        .collect();
    let mut back: Vec<f64> = (0..9)
        .map(|_| nanoseconds(|| drop(black_box(Process::restore(file.as_bytes()).unwrap()))))
        .collect();
    let (out, back) = (speed(median(&mut out)), speed(median(&mut back)));
    if report.wants("snapshot") {
        report.row(Row::new(
            "snapshot",
            "MB/s",
            out,
            f64::NAN,
            ">= 100",
            out >= 100.0,
        ));
    }
    if report.wants("restore") {
        report.row(Row::new(
            "restore",
            "MB/s",
            back,
            f64::NAN,
            ">= 50",
            back >= 50.0,
        ));
    }
}

/// A store with a process of 10,000 entries and so many transactions, with a checkpoint after every
/// thousandth.
fn history(transactions: i64) -> MemoryStore {
    let store = MemoryStore::new();
    block_on(async {
        let process = store.create(process(10_000)).await.unwrap();
        process.set_checkpoint_policy(CheckpointPolicy::NEVER);
        for n in 1..=transactions {
            let note = format!("/memory/notes/group-{}/note-7", n % 90);
            process.write(note, n).await.unwrap();
            if n % 1_000 == 0 {
                process.checkpoint().await.unwrap();
            }
        }
    });
    store
}

fn resume(report: &Report) {
    if !report.wants("resume-memory") {
        return;
    }
    let again = |store: &MemoryStore| {
        nanoseconds(|| {
            drop(black_box(
                block_on(store.resume("svit://local/bench")).unwrap(),
            ))
        }) / 1e6
    };
    let (long, short) = (history(10_500), history(1_500));
    let [long, short] = race(9, || again(&long), || again(&short));
    report.row(
        Row::new(
            "resume-memory",
            "ms",
            long,
            short,
            "<= 100 ms, growth <= 1.2",
            long <= 100.0 && long / short <= 1.2,
        )
        .note("10,500 and 1,500 transactions, the last 500 without a checkpoint"),
    );
}
