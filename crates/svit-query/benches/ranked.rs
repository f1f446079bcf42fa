//! `cargo bench -p svit-query --bench ranked --features rank`: a ranked search over notes after one change, beside a
//! look at all of them.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    missing_docs,
    reason = "a bench"
)]

// Other benches use the rest.
#[allow(dead_code, reason = "shared with other benches")]
#[path = "../../svit-value/benches/values/harness.rs"]
mod harness;

use std::collections::HashMap;
use std::hint::black_box;

use harness::{Random, Report, Row, median, nanoseconds};
use svit_query::rank::{RankIndex, RankOptions};
use svit_tree::Path;
use svit_value::{List, Value, value};

fn main() {
    let report = Report::from_args(&std::env::args().collect::<Vec<_>>());
    if report.wants("search-text") {
        search_text(&report);
    }
}

fn notes(count: u64) -> List {
    let mut random = Random(7);
    let note = |_| {
        let words: Vec<_> = (0..20)
            .map(|_| format!("w{}", random.below(2_000)))
            .collect();
        words.join(" ")
    };
    List::from_values((0..count).map(note)).unwrap()
}

/// BM25 of one word, by looking at every text.
fn scan(notes: &List, word: &str) -> Vec<(f32, usize)> {
    let mut tokens = 0;
    let mut found = Vec::new();
    for (at, text) in notes.iter().filter_map(Value::as_str).enumerate() {
        let mut counts = HashMap::<&str, u32>::new();
        let mut len = 0;
        for token in text.split(|c: char| !c.is_alphanumeric()) {
            *counts.entry(token).or_default() += 1;
            len += 1;
        }
        tokens += len;
        if let Some(times) = counts.get(word) {
            found.push((*times as f32, len as f32, at));
        }
    }
    let (all, some) = (notes.len() as f32, found.len() as f32);
    let (idf, average) = (
        (1.0 + (all - some + 0.5) / (some + 0.5)).ln(),
        tokens as f32 / all,
    );
    let score =
        |times: f32, len: f32| idf * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * len / average));
    let mut ranked: Vec<_> = found
        .iter()
        .map(|(times, len, at)| (score(*times, *len), *at))
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    ranked.truncate(10);
    ranked
}

/// Medians: one change and one question, and the scan.
fn change_and_ask(count: u64) -> [f64; 3] {
    let mut list = notes(count);
    let mut index = RankIndex::new(&value!({"notes": list.clone()})).unwrap();
    let (mut update, mut ask, mut other) = (vec![], vec![], vec![]);
    for round in 0..25_usize {
        list.set(round * 31, format!("changed w7 in round {round}"))
            .unwrap();
        let value = value!({"notes": list.clone()});
        update.push(nanoseconds(|| {
            black_box(index.update(&value).unwrap());
        }));
        ask.push(nanoseconds(|| {
            black_box(
                index
                    .rank(&Path::root(), "w7", &RankOptions::default())
                    .unwrap(),
            );
        }));
        other.push(nanoseconds(|| {
            black_box(scan(&list, "w7"));
        }));
    }
    [median(&mut update), median(&mut ask), median(&mut other)]
}

fn search_text(report: &Report) {
    let build = nanoseconds(|| {
        black_box(RankIndex::new(&value!({"notes": notes(10_000)})).unwrap());
    });
    let [few, _, _] = change_and_ask(1_000);
    let [update, ask, other] = change_and_ask(10_000);
    let note = format!(
        "update {:.1} ms ({:.1} ms of 1,000 notes), question {:.0} us, a new index {:.0} ms",
        update / 1e6,
        few / 1e6,
        ask / 1e3,
        build / 1e6
    );
    // Ten times as many notes may not make a change ten times as dear.
    let row = Row::new(
        "search-text",
        "ns",
        update + ask,
        other,
        "update in O(changes)",
        update < 3.0 * few,
    );
    report.row(row.note(&note));
}
