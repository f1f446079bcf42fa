//! Hostile filters: each stops, after the same ticks and with the same answer on every machine and build.
//!
//! `tests/jq/hostile.json` is the list with what each must give. Write it anew with
//! `cargo test -p svit-query --features jq -- --ignored write_hostile` and look at the difference.

use serde_json::{Value as Json, json};
use svit_query::jq::{Interrupt, JqOptions, jq};
use svit_tree::guest::Meter;
use svit_value::{Value, value};

const TICKS: u64 = 200_000;

fn input() -> Value {
    value!({"a": [1, 2, 3], "b": {"c": "x", "d": [{"k": 1}, {"k": 2}]}})
}

fn cases() -> Vec<Json> {
    serde_json::from_str(include_str!("../../jq/hostile.json")).unwrap()
}

/// The filter: a text, or `[n, before, middle, after]` for one with `n` times what is before and after.
fn text(case: &Json) -> String {
    match &case["filter"] {
        Json::String(text) => text.clone(),
        repeated => {
            let part = |at: usize| repeated[at].as_str().unwrap();
            let times = repeated[0].as_u64().unwrap() as usize;
            [
                part(1).repeat(times),
                part(2).to_owned(),
                part(3).repeat(times),
            ]
            .concat()
        }
    }
}

fn run(case: &Json) -> (u64, String) {
    let meter = Meter::new(TICKS);
    let ended = jq(&text(case), &input(), &JqOptions::default(), &meter);
    let end = match ended {
        Ok(results) => format!("{} results", results.len()),
        Err(error) if error.code() == "filter_limit" => error.to_string(),
        Err(error) => error.code().to_owned(),
    };
    (meter.used(), end)
}

#[test]
fn each_stops_at_the_same_count() {
    let cases = cases();
    assert!(cases.len() >= 60);
    let wrong: Vec<_> = cases
        .iter()
        .filter_map(|case| {
            let (ticks, end) = run(case);
            (json!(ticks) != case["ticks"] || json!(end) != case["end"]).then(|| {
                format!(
                    "{}: {ticks} {end}, not {} {}",
                    case["filter"], case["ticks"], case["end"]
                )
            })
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Another stack, other work before: the same.
#[test]
fn a_small_stack_changes_nothing() {
    let small = std::thread::Builder::new().stack_size(256 << 10);
    let thread = small.spawn(|| {
        for case in cases().iter().step_by(3) {
            let (ticks, end) = run(case);
            assert_eq!(
                (json!(ticks), json!(end)),
                (case["ticks"].clone(), case["end"].clone())
            );
        }
    });
    thread.unwrap().join().unwrap();
}

#[test]
fn a_budget_is_used_up_to_the_last_tick_wherever_it_ends() {
    let filter = "[.. | numbers] | sort_by(-.) | map(tostring) | join(\",\") | test(\"3\")";
    let all = Meter::new(TICKS);
    jq(filter, &input(), &JqOptions::default(), &all).unwrap();
    for budget in 0..all.used() {
        let meter = Meter::new(budget);
        let stopped = jq(filter, &input(), &JqOptions::default(), &meter).unwrap_err();
        assert!(
            stopped.is_hard() && meter.left() == 0,
            "{budget}: {stopped}"
        );
    }
    let just = Meter::new(all.used());
    assert!(jq(filter, &input(), &JqOptions::default(), &just).is_ok());
}

#[test]
fn bytes_are_bounded_by_what_the_caller_says() {
    let options = JqOptions {
        max_bytes: 10_000,
        ..JqOptions::default()
    };
    for filter in [
        "\"x\" * 20000",
        "[range(1000)]",
        "[range(200)] | tojson | . + . + . + . + . + . + . + . + . + . + . + . + .",
        "{a: 1} | [limit(500; repeat(.))]",
        "\"a\" * 900 | explode",
    ] {
        let meter = Meter::new(TICKS);
        let error = jq(filter, &input(), &options, &meter).unwrap_err();
        assert_eq!(error.code(), "filter_limit", "{filter}: {error}");
        assert!(!error.is_hard());
    }
}

#[test]
fn a_run_ends_when_its_caller_wants_it_to() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    let asked = Arc::new(AtomicU32::new(0));
    let counter = asked.clone();
    let third = Interrupt::new(move || counter.fetch_add(1, Ordering::Relaxed) == 2);
    let options = JqOptions {
        interrupt: Some(third),
        ..JqOptions::default()
    };
    for filter in ["last(repeat(1))", "try last(range(1000000000)) catch 1"] {
        asked.store(0, Ordering::Relaxed);
        let meter = Meter::new(u64::MAX);
        let error = jq(filter, &input(), &options, &meter).unwrap_err();
        assert_eq!((error.code(), error.is_hard()), ("interrupted", true));
        assert_eq!(asked.load(Ordering::Relaxed), 3, "{filter}");
        assert!((40_000..60_000).contains(&meter.used()), "{}", meter.used());
    }
    // A small run does not ask at all, and one that may go on costs what it costs without.
    asked.store(100, Ordering::Relaxed);
    for (filter, asks) in [("[range(100)]", 0), ("last(range(100000))", 6)] {
        let (with, without) = (Meter::new(TICKS), Meter::new(TICKS));
        jq(filter, &input(), &options, &with).unwrap();
        jq(filter, &input(), &JqOptions::default(), &without).unwrap();
        assert_eq!(with.used(), without.used());
        assert!(asked.swap(100, Ordering::Relaxed) - 100 >= asks, "{filter}");
    }
}

#[test]
#[ignore = "writes the file that the others read"]
fn write_hostile() {
    let lines: Vec<_> = cases()
        .iter()
        .map(|case| {
            let (ticks, end) = run(case);
            format!(
                "  {}",
                json!({"filter": case["filter"], "ticks": ticks, "end": end})
            )
        })
        .collect();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/jq/hostile.json");
    std::fs::write(file, format!("[\n{}\n]\n", lines.join(",\n"))).unwrap();
}

#[test]
fn matching_everywhere_costs_what_the_text_does() {
    for filter in [
        r#"gsub("\\w+"; "x") | length"#,
        r#"[match("\\w+"; "g")] | length"#,
        r#"[scan("[^ ]+ ")] | length"#,
        r#"[splits(" +")] | length"#,
    ] {
        let ticks = |times: u32| {
            let meter = Meter::new(10_000_000);
            let text = Value::from("ab ".repeat(times as usize));
            jq(filter, &text, &JqOptions::default(), &meter).unwrap();
            meter.used()
        };
        let (some, more) = (ticks(1_000), ticks(4_000));
        assert!(more <= 4 * some + 1_000, "{filter}: {some}, {more}");
    }
}
