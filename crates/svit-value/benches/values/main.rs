//! What values cost, beside `imbl::OrdMap` and `serde_json`.
//!
//! `cargo bench -p svit-value` prints one line for each row of the specification's table and some for
//! information; `-- --only NAME` measures one, `-- --rows` prints them for `cargo xtask bench`. Both
//! sides run in turn in one process, and medians are compared. Memory is what the operating system
//! gives to a process of its own that builds the structure.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program to be read by people"
)]

mod harness;
mod memory;

use harness::{Random, Report, Row, median, nanoseconds, race};
use std::hint::black_box;
use std::sync::Arc;
use svit_value::{Bytes, List, Map, Text, Value, ValueLimits, value};

type Imbl = imbl::OrdMap<Arc<str>, Value>;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let Some(at) = args.iter().position(|arg| arg == "--child") {
        memory::child(&args[at + 1]);
        return;
    }
    let report = Report::from_args(&args);
    get_and_insert(&report);
    insert_hashed(&report);
    memory::rows(&report);
    encode_and_decode(&report);
    diff(&report);
    fork(&report);
    lists(&report);
    build(&report);
    chosen_keys(&report);
}

/// Keeps the optimizer from seeing that something is not used.
fn keep<T>(made: T) {
    black_box(made);
}

/// 16 hexadecimal digits, as far apart as chance puts them.
fn key(i: u64) -> String {
    format!(
        "{:016x}",
        Random(i.wrapping_mul(7919).wrapping_add(13)).next()
    )
}

fn entries(n: u64) -> Vec<(String, i64)> {
    (0..n).map(|i| (key(i), i as i64)).collect()
}

/// Filled in random order, as maps really come to be.
fn ours(entries: &[(String, i64)]) -> Map {
    let mut map = Map::new();
    for (key, value) in entries {
        map.insert(key.as_str(), *value).unwrap();
    }
    map
}

fn theirs(entries: &[(String, i64)]) -> Imbl {
    let mut map = Imbl::new();
    for (key, value) in entries {
        map.insert(Arc::from(key.as_str()), Value::from(*value));
    }
    map
}

fn get_and_insert(report: &Report) {
    if !report.wants_any(&["value-get", "value-insert", "value-remove"]) {
        return;
    }
    let n = 100_000;
    let base = entries(n);
    let (map, imbl) = (ours(&base), theirs(&base));
    let mut order: Vec<&str> = base.iter().map(|entry| entry.0.as_str()).collect();
    Random(9).shuffle(&mut order);
    let [a, b] = race(
        15,
        || nanoseconds(|| order.iter().for_each(|key| keep(map.get(key)))) / n as f64,
        || nanoseconds(|| order.iter().for_each(|key| keep(imbl.get(*key)))) / n as f64,
    );
    report.row(Row::new("value-get", "ns", a, b, "<= 1.5", a / b <= 1.5));
    let fresh: Vec<String> = (0..10_000).map(|i| key(n + i)).collect();
    let [a, b] = race(
        9,
        || {
            let mut map = ours(&base);
            let keys: Vec<Text> = fresh.iter().map(Text::from).collect();
            nanoseconds(|| {
                for key in keys {
                    black_box(map.insert(key, 1).unwrap());
                }
            }) / 10_000.0
        },
        || {
            let mut map = theirs(&base);
            let keys: Vec<Arc<str>> = fresh.iter().map(|key| Arc::from(key.as_str())).collect();
            nanoseconds(|| {
                for key in keys {
                    black_box(map.insert(key, Value::from(1)));
                }
            }) / 10_000.0
        },
    );
    report.row(Row::new("value-insert", "ns", a, b, "<= 1.5", a / b <= 1.5));
    let [a, b] = race(
        9,
        || {
            let mut map = ours(&base);
            nanoseconds(|| {
                for key in &order[..10_000] {
                    black_box(map.remove(key));
                }
            }) / 10_000.0
        },
        || {
            let mut map = theirs(&base);
            nanoseconds(|| {
                for key in &order[..10_000] {
                    black_box(map.remove(*key));
                }
            }) / 10_000.0
        },
    );
    report.row(Row::info("value-remove", "ns", a, b));
}

fn built(entries: &[(String, i64)]) -> Map {
    let map = Map::from_entries(entries.iter().map(|(key, value)| (key, *value))).unwrap();
    keep(map.digest());
    map
}

/// Inserts so many keys that are new, each with the digest of the whole after it: the time of one.
fn insert_and_digest(map: &mut Map, keys: std::ops::Range<u64>) -> f64 {
    let count = keys.end - keys.start;
    let keys: Vec<Text> = keys.map(|n| key(n).into()).collect();
    let time = nanoseconds(|| {
        for key in keys {
            map.insert(key, 1).unwrap();
            black_box(map.digest());
        }
    });
    time / count as f64
}

fn insert_hashed(report: &Report) {
    if report.wants("value-insert-hashed") {
        let n = 100_000;
        let base = entries(n);
        let mut map = built(&base);
        let mut next = n;
        let [insert, all] = race(
            15,
            || {
                next += 1000;
                insert_and_digest(&mut map, next - 1000..next)
            },
            || {
                let map = Map::from_entries(base.iter().map(|(key, value)| (key, *value))).unwrap();
                nanoseconds(|| keep(map.digest()))
            },
        );
        let faster = all / insert;
        let target = ">= 500 times faster";
        let row = Row::new(
            "value-insert-hashed",
            "ns",
            insert,
            all,
            target,
            faster >= 500.0,
        );
        report.row(row.ratio(faster));
    }
    if report.wants("value-insert-growth") {
        let small = built(&entries(1_000));
        let mut large = built(&entries(1_000_000));
        let (mut first, mut next) = (1_000, 1_000_000);
        let [large, small] = race(
            15,
            || {
                next += 200;
                insert_and_digest(&mut large, next - 200..next)
            },
            || {
                first += 200;
                // A small map would have grown a lot by the end.
                insert_and_digest(&mut small.clone(), first - 200..first)
            },
        );
        let growth = large / small;
        let row = Row::new(
            "value-insert-growth",
            "ns",
            large,
            small,
            "<= 4",
            growth <= 4.0,
        );
        report.row(row.note("1,000,000 entries against 1,000"));
    }
}

fn encode_and_decode(report: &Report) {
    if !report.wants_any(&[
        "value-encode",
        "value-decode",
        "value-from-json",
        "value-to-json",
    ]) {
        return;
    }
    let json = document();
    let text = serde_json::to_string(&json).unwrap();
    let value = Value::from_json(&text).unwrap();
    let bytes = value.encode();
    let limits = ValueLimits::default();
    let note = format!("{} bytes of JSON, {} of CBOR", text.len(), bytes.len());
    let [a, b] = race(
        21,
        || warm(|| value.encode()),
        || warm(|| serde_json::to_vec(&json).unwrap()),
    );
    let row = Row::new("value-encode", "us", a, b, "<= 0.5", a / b <= 0.5);
    report.row(row.note(&note));
    let [a, b] = race(
        11,
        || warm(|| Value::decode(&bytes, &limits).unwrap()),
        || warm(|| serde_json::from_slice::<serde_json::Value>(text.as_bytes()).unwrap()),
    );
    let row = Row::new("value-decode", "us", a, b, "<= 1.0", a / b <= 1.0);
    report.row(row.note(&note));
    let [a, b] = race(
        7,
        || warm(|| Value::from_json(&text).unwrap()),
        || warm(|| serde_json::from_str::<serde_json::Value>(&text).unwrap()),
    );
    report.row(Row::info("value-from-json", "us", a, b));
    let [a, b] = race(
        7,
        || warm(|| value.to_json().unwrap()),
        || warm(|| serde_json::to_string(&json).unwrap()),
    );
    report.row(Row::info("value-to-json", "us", a, b));
}

/// Microseconds of the last of three runs, two of which warm the allocator; what was made is dropped
/// outside of the time.
fn warm<T>(make: impl Fn() -> T) -> f64 {
    let mut time = 0.0;
    for _ in 0..3 {
        let mut made = None;
        time = nanoseconds(|| made = Some(make())) / 1e3;
        black_box(&made);
    }
    time
}

/// Some 5 MB of notes with nested fields of every kind.
fn document() -> serde_json::Value {
    const WORDS: [&str; 10] = [
        "lorem",
        "ipsum",
        "dolor",
        "sit",
        "amet",
        "consectetur",
        "adipiscing",
        "elit",
        "sed",
        "tempor",
    ];
    let mut random = Random(11);
    let mut words = |n: u64| {
        let words: Vec<_> = (0..n).map(|_| WORDS[random.below(10) as usize]).collect();
        words.join(" ")
    };
    let mut random = Random(12);
    let mut notes = serde_json::Map::new();
    let mut size = 0;
    while size < 5_000_000 {
        let body = words(5 + random.below(60));
        let tags: Vec<String> = (0..random.below(5)).map(|_| words(1)).collect();
        let note = serde_json::json!({
            "id": notes.len(),
            "title": words(4),
            "body": body,
            "tags": tags,
            "score": random.below(100_000) as f64 / 7.0,
            "done": random.below(2) == 0,
            "parent": null,
            "meta": {
                "created": 1_700_000_000 + random.below(10_000_000),
                "author": {"name": words(2), "id": random.below(1000)},
                "counts": [random.below(10), random.below(1000), random.below(100_000)],
            },
        });
        size += note.to_string().len() + 14;
        notes.insert(format!("note/{}", notes.len()), note);
    }
    notes.into()
}

fn diff(report: &Report) {
    if !report.wants("value-diff") {
        return;
    }
    let n = 1_000_000;
    let base = entries(n);
    let map = Map::from_entries(base.iter().map(|(k, v)| (k, *v))).unwrap();
    let _ = map.digest();
    let mut random = Random(3);
    let mut times = vec![];
    let mut changed = map.clone();
    for _ in 0..51 {
        changed = map.clone();
        for change in 0..10 {
            let old = &base[random.below(n) as usize].0;
            match change % 3 {
                0 => drop(changed.insert(old, -1).unwrap()),
                1 => drop(changed.remove(old)),
                _ => drop(changed.insert(key(n + random.below(n)), 1).unwrap()),
            }
        }
        times.push(nanoseconds(|| keep(map.diff(&changed).count())));
    }
    let other = Map::from_entries(changed.iter().map(|(k, v)| (k.clone(), v.clone()))).unwrap();
    let mut all = vec![];
    for _ in 0..3 {
        all.push(nanoseconds(|| {
            let (mut a, mut b) = (map.iter().peekable(), other.iter().peekable());
            let mut differ = 0;
            while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
                match x.0.cmp(y.0) {
                    std::cmp::Ordering::Less => drop(a.next()),
                    std::cmp::Ordering::Greater => drop(b.next()),
                    std::cmp::Ordering::Equal => {
                        differ += usize::from(x.1 != y.1);
                        a.next();
                        b.next();
                    }
                }
            }
            black_box(differ);
        }));
    }
    let (ours, all) = (median(&mut times) / 1e3, median(&mut all) / 1e3);
    let ok = ours <= 100.0 && all / ours >= 500.0;
    let row = Row::new(
        "value-diff",
        "us",
        ours,
        all,
        "<= 100 us, >= 500 times faster",
        ok,
    );
    report.row(
        row.ratio(all / ours)
            .note("10 changes in 1,000,000 entries against comparing every entry"),
    );
}

/// A fork with one change, its digest, and what it costs to hold.
fn fork(report: &Report) {
    if !report.wants("value-fork") {
        return;
    }
    let base = entries(100_000);
    let (map, imbl) = (ours(&base), theirs(&base));
    let _ = map.digest();
    let mut random = Random(5);
    let keys: Vec<Text> = (0..1000)
        .map(|_| Text::from(&base[random.below(100_000) as usize].0))
        .collect();
    let shared: Vec<Arc<str>> = keys.iter().map(|key| Arc::from(key.as_str())).collect();
    let [a, b] = race(
        11,
        || {
            nanoseconds(|| {
                for key in &keys {
                    let mut fork = map.clone();
                    fork.insert(key, -1).unwrap();
                    black_box(fork);
                }
            }) / 1e3
        },
        || {
            nanoseconds(|| {
                for key in &shared {
                    let mut fork = imbl.clone();
                    fork.insert(Arc::clone(key), Value::from(-1));
                    black_box(fork);
                }
            }) / 1e3
        },
    );
    let (own, other) = (
        memory::run_child("forks-ours"),
        memory::run_child("forks-imbl"),
    );
    let note = format!(
        "bytes held by each: {own:.0}, imbl {other:.0}; one replaced entry each, of 100,000"
    );
    let row = Row::new(
        "value-fork",
        "ns",
        a,
        b,
        "<= 2 us, <= 2 KiB",
        a <= 2000.0 && own <= 2048.0,
    );
    report.row(row.note(&note));
}

fn lists(report: &Report) {
    if !report.wants_any(&["value-list-set", "value-list-push"]) {
        return;
    }
    let n = 100_000;
    let list = List::from_values(0..n).unwrap();
    let imbl: imbl::Vector<Value> = (0..n).map(Value::from).collect();
    let mut random = Random(2);
    let indexes: Vec<usize> = (0..10_000)
        .map(|_| random.below(n as u64) as usize)
        .collect();
    let [a, b] = race(
        11,
        || {
            nanoseconds(|| {
                for i in &indexes {
                    let mut fork = list.clone();
                    black_box(fork.set(*i, 1).unwrap());
                }
            }) / 1e4
        },
        || {
            nanoseconds(|| {
                for i in &indexes {
                    let mut fork = imbl.clone();
                    black_box(fork.set(*i, Value::from(1)));
                }
            }) / 1e4
        },
    );
    report.row(Row::info("value-list-set", "ns", a, b).note("a fork and one set, of 100,000"));
    let [a, b] = race(
        11,
        || {
            let mut list = List::from_values(0..n).unwrap();
            nanoseconds(|| (0..10_000).for_each(|i| list.push(i).unwrap())) / 1e4
        },
        || {
            let mut list: imbl::Vector<Value> = (0..n).map(Value::from).collect();
            nanoseconds(|| (0..10_000).for_each(|i| list.push_back(Value::from(i)))) / 1e4
        },
    );
    report.row(Row::info("value-list-push", "ns", a, b));
}

fn build(report: &Report) {
    if !report.wants_any(&["value-build", "value-small-map", "value-hash-1mib"]) {
        return;
    }
    let mut base = entries(100_000);
    base.sort();
    let [a, b] = race(
        7,
        || {
            let entries: Vec<(Text, i64)> = base.iter().map(|(k, v)| (Text::from(k), *v)).collect();
            nanoseconds(|| keep(Map::from_entries(entries).unwrap())) / 1e5
        },
        || {
            let entries: Vec<(Arc<str>, Value)> = base
                .iter()
                .map(|(k, v)| (Arc::from(k.as_str()), Value::from(*v)))
                .collect();
            nanoseconds(|| keep(entries.into_iter().collect::<Imbl>())) / 1e5
        },
    );
    report.row(
        Row::info("value-build", "ns", a, b).note("an entry, sorted, 100,000; build and drop"),
    );
    let mut small = vec![];
    for _ in 0..9 {
        small.push(
            nanoseconds(|| {
                for i in 0..1000i64 {
                    black_box(
                        value!({"id": i, "name": "x", "done": false, "score": 1.5, "tags": []}),
                    );
                }
            }) / 1e3,
        );
    }
    let octets = Bytes::from(vec![7; 1 << 20]);
    let mut hash = vec![];
    for _ in 0..9 {
        let value = Value::from(Bytes::from(octets.to_vec()));
        hash.push(nanoseconds(|| keep(value.digest())) / 1e3);
    }
    report.row(
        Row::alone("value-small-map", "ns", median(&mut small))
            .note("a record of 5 fields by value!"),
    );
    report.row(Row::alone("value-hash-1mib", "us", median(&mut hash)));
}

/// Keys that somebody looked for so that no leaf ever starts: one leaf of 10,000 entries.
fn chosen_keys(report: &Report) {
    if !report.wants("value-chosen-keys") {
        return;
    }
    let starts_no_leaf = |key: &String| blake3::hash(key.as_bytes()).as_bytes()[0] >> 3 != 0;
    let keys: Vec<String> = (0..).map(key).filter(starts_no_leaf).take(11_000).collect();
    let map = Map::from_entries(keys[..10_000].iter().map(|key| (key, 1))).unwrap();
    let plain = ours(&entries(10_000));
    let _ = (map.digest(), plain.digest());
    let run = |map: &Map| {
        let mut times = vec![];
        for round in 0..9 {
            let mut map = map.clone();
            times.push(
                nanoseconds(|| {
                    for key in &keys[10_000 + round * 20..][..20] {
                        map.insert(key, 2).unwrap();
                        black_box(map.digest());
                    }
                }) / 20.0,
            );
        }
        median(&mut times) / 1e3
    };
    let (chosen, plain) = (run(&map), run(&plain));
    let row = Row::info("value-chosen-keys", "us", chosen, plain);
    report.row(
        row.note("insert + digest, 10,000 entries, no key starts a leaf, against common keys"),
    );
}
