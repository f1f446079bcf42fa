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
