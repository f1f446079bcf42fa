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

/// Notes, and the index that follows them.
struct Follower {
    notes: List,
    index: RankIndex,
    update: Vec<f64>,
    touched: u64,
}

impl Follower {
    fn new(count: u64) -> Self {
        let notes = notes(count);
        Self {
            index: RankIndex::new(&value!({"notes": notes.clone()})).unwrap(),
            notes,
            update: Vec::new(),
            touched: 0,
        }
    }

    /// One note is changed, and the index brought up to date.
    fn change(&mut self, round: usize) {
        let at = round * 31 % self.notes.len();
        let text = format!("changed w7 in round {round}");
        self.notes.set(at, text).unwrap();
        let value = value!({"notes": self.notes.clone()});
        self.update.push(nanoseconds(|| {
            let updated = self.index.update(&value).unwrap();
            self.touched += updated.added + updated.removed;
        }));
    }
}

fn search_text(report: &Report) {
    let build = nanoseconds(|| {
        black_box(RankIndex::new(&value!({"notes": notes(10_000)})).unwrap());
    });
    // In turn, so that what else the machine does meets all of them.
    let mut followers = [100, 1_000, 10_000].map(Follower::new);
    let (mut ask, mut other) = (vec![], vec![]);
    for round in 0..41 {
        for follower in &mut followers {
            follower.change(round);
        }
        let many = &followers[2];
        ask.push(nanoseconds(|| {
            let found = many
                .index
                .rank(&Path::root(), "w7", &RankOptions::default());
            black_box(found.unwrap());
        }));
        other.push(nanoseconds(|| {
            black_box(scan(&many.notes, "w7"));
        }));
    }
    let touched = followers.each_ref().map(|follower| follower.touched);
    let [few, some, many] = followers.each_mut().map(|one| median(&mut one.update));
    let (ask, other) = (median(&mut ask), median(&mut other));
    let note = format!(
        "update {:.1} ms ({:.1} ms of 1,000 notes, {:.1} ms of 100; {touched:?} texts touched in 41 updates of 100, \
         1,000, 10,000), question {:.0} us, a new index {:.0} ms",
        many / 1e6,
        some / 1e6,
        few / 1e6,
        ask / 1e3,
        build / 1e6
    );
    // The same texts touched, and a hundred times as many notes may not make a change five times as dear.
    let same = touched.iter().all(|count| *count == touched[0]);
    let row = Row::new(
        "search-text",
        "ns",
        many + ask,
        other,
        "update in O(changes)",
        same && many <= 5.0 * few,
    );
    report.row(row.note(&note));
}
