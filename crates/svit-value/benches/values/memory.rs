//! What values hold, measured by processes of their own: freed memory of other work would hide it.

use crate::harness::{self, Random, Report, Row};
use crate::{Imbl, document, key};
use std::hint::black_box;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use svit_value::{Map, Value, ValueLimits};

pub(crate) fn rows(report: &Report) {
    if !report.wants_any(&["value-memory", "value-decode-memory"]) {
        return;
    }
    let (a, b) = (run_child("map-ours"), run_child("map-imbl"));
    let row = Row::new("value-memory", "B", a, b, "<= 1.0", a / b <= 1.0);
    report.row(row.note("an entry, 1,000,000 inserted at random: resident memory of a process"));
    let value = Value::from_json(&document().to_string()).unwrap();
    let decode = run_child_with("decode", &value.encode());
    let row = Row::new(
        "value-decode-memory",
        "times",
        decode,
        1.0,
        "a small multiple",
        decode < 8.0,
    );
    report.row(row.note("peak memory of decoding the 5 MB document, against its bytes"));
}

pub(crate) fn run_child(what: &str) -> f64 {
    run_child_with(what, &[])
}

fn run_child_with(what: &str, input: &[u8]) -> f64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--child", what])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Dropped at the end of the statement, which closes it.
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    String::from_utf8(output.stdout)
        .unwrap()
        .trim()
        .parse()
        .unwrap()
}

/// Measures its own memory, and prints it.
pub(crate) fn child(what: &str) {
    const FORKS: u64 = 20_000;
    let n = if what.starts_with("map") {
        1_000_000
    } else {
        100_000
    };
    let keys: Vec<String> = (0..n).map(key).collect();
    let result = match what {
        "map-ours" => {
            let before = harness::resident();
            let mut map = Map::new();
            for (i, key) in keys.iter().enumerate() {
                map.insert(key, i as i64).unwrap();
            }
            let after = harness::resident();
            black_box(&map);
            (after - before) / n as f64
        }
        "map-imbl" => {
            let before = harness::resident();
            let mut map = Imbl::new();
            for (i, key) in keys.iter().enumerate() {
                map.insert(Arc::from(key.as_str()), Value::from(i as i64));
            }
            let after = harness::resident();
            black_box(&map);
            (after - before) / n as f64
        }
        "forks-ours" => {
            let map = Map::from_entries(keys.iter().map(|key| (key, 1))).unwrap();
            let mut random = Random(5);
            let mut forks = Vec::with_capacity(FORKS as usize);
            let before = harness::resident();
            for _ in 0..FORKS {
                let mut fork = map.clone();
                fork.insert(&keys[random.below(n) as usize], -1).unwrap();
                forks.push(fork);
            }
            (harness::resident() - before) / FORKS as f64
        }
        "forks-imbl" => {
            let map: Imbl = keys
                .iter()
                .map(|key| (Arc::from(key.as_str()), Value::from(1)))
                .collect();
            let mut random = Random(5);
            let mut forks = Vec::with_capacity(FORKS as usize);
            let before = harness::resident();
            for _ in 0..FORKS {
                let mut fork = map.clone();
                let key = &keys[random.below(n) as usize];
                fork.insert(Arc::from(key.as_str()), Value::from(-1));
                forks.push(fork);
            }
            (harness::resident() - before) / FORKS as f64
        }
        "decode" => {
            // Made by the parent, so that no freed memory hides what decoding takes.
            let mut bytes = vec![];
            std::io::stdin().read_to_end(&mut bytes).unwrap();
            let before = harness::resident();
            let value = Value::decode(&bytes, &ValueLimits::default()).unwrap();
            let peak = harness::peak().max(harness::resident());
            black_box(&value);
            (peak - before) / bytes.len() as f64
        }
        _ => f64::NAN,
    };
    println!("{result}");
}
