//! `cargo bench -p svit-query`: what a metered filter over our values costs beside the same
//! interpreter with its own values, into which a value must be converted first, and back.
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

use std::hint::black_box;

use harness::{Report, Row, nanoseconds, race};
use jaq_core::data::JustLut;
use jaq_core::load::{Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Vars, unwrap_valr};
use svit_query::jq::{Filter, JqOptions};
use svit_tree::guest::Meter;
use svit_value::{List, Map, Value};

const FILTERS: &[&str] = &[
    "map(select(.k % 3 == 0) | .k) | add",
    "group_by(.s) | map(length)",
    "[.[] | .s | ascii_downcase] | length",
    "reduce .[] as $x (0; . + $x.k)",
    "[.[] | {s, k: (.k + 1)}] | length",
    "map(.s) | unique | join(\",\")",
    ".[10:20] | map(.s)",
    "[.[] | select(.s == \"abc3\")] | length",
];

fn input(items: i64) -> Value {
    let item = |k: i64| {
        let entries = [
            ("k", Value::from(k)),
            ("s", Value::from(format!("abc{}", k % 17))),
        ];
        Map::from_entries(entries).unwrap()
    };
    Value::List(List::from_values((0..items).map(item)).unwrap())
}

fn jaq(text: &str) -> jaq_core::Filter<JustLut<jaq_json::Val>> {
    let defs = jaq_core::defs()
        .chain(jaq_std::defs())
        .chain(jaq_json::defs());
    // What needs the clock and the terminal is not there without features, and not used.
    let wanted = |name: &str| {
        [
            "map",
            "select",
            "add",
            "reduce",
            "unique",
            "unique_by",
            "join",
            "empty",
            "tostring",
            "null",
        ]
        .contains(&name)
    };
    let funs = jaq_core::funs()
        .chain(jaq_std::base_funs())
        .chain(jaq_json::funs());
    let arena = Arena::default();
    let file = File {
        code: text,
        path: (),
    };
    let modules = Loader::new(defs.filter(|def| wanted(def.name)))
        .load(&arena, file)
        .ok()
        .unwrap();
    Compiler::default()
        .with_funs(funs)
        .compile(modules)
        .map_err(|errors| {
            format!(
                "{:?}",
                errors.into_iter().map(|(_, e)| e).collect::<Vec<_>>()
            )
        })
        .unwrap()
}

fn main() {
    let report = Report::from_args(&std::env::args().collect::<Vec<_>>());
    if report.wants_any(&["jq", "jq-compile"]) {
        jq(&report);
    }
    #[cfg(feature = "rank")]
    if report.wants("search-text") {
        ranked::search_text(&report);
    }
}

fn jq(report: &Report) {
    let value = input(10_000);
    let (mut ours_total, mut other_total) = (0.0, 0.0);
    let mut notes = Vec::new();
    for text in FILTERS {
        let filter = Filter::new(text).unwrap();
        let theirs = jaq(text);
        let ours = || {
            nanoseconds(|| {
                let meter = Meter::new(u64::MAX / 2);
                black_box(filter.run(&value, &JqOptions::default(), &meter).unwrap());
            })
        };
        let other = || {
            nanoseconds(|| {
                let json = value.to_json().unwrap();
                let input = jaq_json::read::parse_single(json.as_bytes()).unwrap();
                let context = Ctx::<JustLut<jaq_json::Val>>::new(&theirs.lut, Vars::new([]));
                let results = theirs.id.run((context, input)).map(unwrap_valr);
                let results =
                    results.map(|value| Value::from_json(&value.unwrap().to_string()).unwrap());
                black_box(List::from_values(results).unwrap());
            })
        };
        let [a, b] = race(15, ours, other);
        notes.push(format!("{text}: {:.2}", a / b));
        ours_total += a;
        other_total += b;
    }
    let ratio = ours_total / other_total;
    let note = format!("10,000 items; each filter: {}", notes.join("; "));
    report.row(Row::new("jq", "ns", ours_total, other_total, "<= 1.0", ratio <= 1.0).note(&note));
    let compile = nanoseconds(|| {
        for n in 0..200 {
            black_box(Filter::new(&format!(".items | map(select(.k > {n})) | length")).unwrap());
        }
    });
    report.row(Row::alone("jq-compile", "ns", compile / 200.0));
}

#[cfg(feature = "rank")]
mod ranked {
    //! The row `search-text`, with `--features rank`.

    use super::harness::{Random, Report, Row, median, nanoseconds};
    use std::collections::HashMap;
    use std::hint::black_box;
    use svit_query::rank::{RankIndex, RankOptions};
    use svit_tree::Path;
    use svit_value::{List, Value, value};

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
        let score = |times: f32, len: f32| {
            idf * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * len / average))
        };
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
            update.push(nanoseconds(|| index.update(&value).unwrap()));
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

    pub(super) fn search_text(report: &Report) {
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
}
