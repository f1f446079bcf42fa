//! Scripts of the kind that agents write, with their results and tick counts pinned in data files.
//!
//! A file holds entries `=== name`, an input, the script after `---`, and after another `---` what came of
//! it. `UPDATE_CORPUS=1 cargo test` writes the last part anew; read the difference before keeping it.

use std::fmt::Write as _;
use std::path::PathBuf;

use svit_lisp::Lisp;
use svit_value::{Value, value};

use crate::host::{World, limits};

fn tree() -> Value {
    value!({
        "memory": {
            "count": 6,
            "notes": {
                "n1": {"title": "Release", "body": "The release colour is teal.", "tags": ["release", "colour"]},
                "n2": {"title": "Food", "body": "Lunch is at noon.", "tags": ["food"]},
                "n3": {"title": "Colours", "body": "Teal and amber are allowed.", "tags": ["colour"]},
            },
            "orders": [
                {"id": 1, "customer": "ada", "total": 120, "state": "paid"},
                {"id": 2, "customer": "bob", "total": 80, "state": "open"},
                {"id": 3, "customer": "ada", "total": 45, "state": "open"},
                {"id": 4, "customer": "cyd", "total": 300, "state": "paid"},
            ],
        },
        "lib": {"double": {"source": "(define (main input) (* 2 input))"}},
    })
}

/// All that came of a run, as text: output or error, changes, logs, messages, ticks.
fn outcome(source: &str, input: &str) -> String {
    outcome_with(&Lisp::new(), source, input, 1_000_000)
}

fn outcome_with(lisp: &Lisp, source: &str, input: &str, ticks: u64) -> String {
    let world = World::with_ticks(lisp, tree(), limits(), ticks);
    let before = world.tree.lock().unwrap().clone();
    let result = world.run(source, Value::from_json(input).unwrap());
    let mut text = String::new();
    match result {
        Ok(output) => writeln!(text, "output {}", output.to_json().unwrap()).unwrap(),
        Err(error) => writeln!(text, "error {} {}", error.code, error.message).unwrap(),
    }
    let after = world.tree.lock().unwrap().clone();
    for mutation in svit_tree::diff(&before, &after) {
        let set = svit_tree::lookup(&after, &mutation.path).map(|v| v.to_json().unwrap());
        let set = set.unwrap_or_else(|| "removed".into());
        writeln!(text, "change {} {set}", mutation.path).unwrap();
    }
    for line in world.logs.lock().unwrap().iter() {
        writeln!(text, "log {line}").unwrap();
    }
    for message in world.sent.lock().unwrap().iter() {
        writeln!(text, "sent {}", message.to_json().unwrap()).unwrap();
    }
    writeln!(text, "ticks {}", world.ticks()).unwrap();
    text
}

struct Entry {
    name: String,
    input: String,
    source: String,
    expected: String,
}

fn entries(text: &str) -> Vec<Entry> {
    let entries = text.split("=== ").skip(1).map(|entry| {
        let mut parts = entry.split("\n---\n");
        let head = parts.next().unwrap();
        let (name, input) = head.split_once('\n').unwrap_or((head, "null"));
        Entry {
            name: name.to_owned(),
            input: input.trim().to_owned(),
            source: parts.next().unwrap().to_owned(),
            expected: parts.next().unwrap_or_default().trim().to_owned(),
        }
    });
    entries.collect()
}

fn useful() -> Vec<Entry> {
    entries(include_str!("../corpus/useful.txt"))
}

#[test]
fn every_entry_gives_what_its_file_says() {
    let update = std::env::var_os("UPDATE_CORPUS").is_some();
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut count = 0;
    let mut wrong = Vec::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let mut written = String::new();
        for entry in entries(&text) {
            let Entry {
                name,
                input,
                source,
                expected,
            } = &entry;
            let found = outcome(source, input);
            if found.trim() != expected {
                wrong.push(format!("{name}\nexpected\n{expected}\nfound\n{found}"));
            }
            let source = source.trim_end();
            writeln!(written, "=== {name}\n{input}\n---\n{source}\n---\n{found}").unwrap();
            count += 1;
        }
        if update {
            std::fs::write(&path, written.trim_end().to_owned() + "\n").unwrap();
        }
    }
    assert!(count >= 60, "only {count} entries");
    assert!(wrong.is_empty() || update, "{}", wrong.join("\n"));
}

/// The pinned outcomes hold for any build; here, for any thread, with other programs at the same time in the
/// same cache.
#[test]
fn every_entry_gives_the_same_on_several_threads_at_once() {
    let lisp = Lisp::new();
    let entries = useful();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (lisp, entries) = (&lisp, &entries);
            scope.spawn(move || {
                for number in 0..entries.len() {
                    let entry = &entries[(number * 7 + thread * 13) % entries.len()];
                    let found = outcome_with(lisp, &entry.source, &entry.input, 1_000_000);
                    assert_eq!(found.trim(), entry.expected, "{}", entry.name);
                }
            });
        }
    });
}

#[test]
fn every_entry_passes_with_its_ticks_and_fails_with_one_less() {
    let lisp = Lisp::new();
    for entry in useful() {
        let last = entry.expected.lines().last().unwrap();
        let ticks: u64 = last.strip_prefix("ticks ").unwrap().parse().unwrap();
        let run = |ticks| outcome_with(&lisp, &entry.source, &entry.input, ticks);
        // What asks for the ticks that are left gets another answer.
        if entry.source.contains("ticks-left") || ticks == 0 {
            continue;
        }
        assert_eq!(run(ticks).trim(), entry.expected, "{}", entry.name);
        let short = run(ticks - 1);
        assert!(
            short.starts_with("error out_of_ticks "),
            "{}: {short}",
            entry.name
        );
    }
}

/// More programs than the cache and the threads keep, on several threads at once.
#[test]
fn programs_are_not_mistaken_for_one_another() {
    let lisp = Lisp::new();
    std::thread::scope(|scope| {
        for thread in 0..4_i64 {
            let lisp = &lisp;
            scope.spawn(move || {
                for round in 0..2 {
                    for number in 0..150 {
                        let n = number * 4 + (thread + round) % 4;
                        let source = format!(
                            "(define (f x) (lambda (y) (+ x y {n}))) (define (main input) ((f input) {thread}))"
                        );
                        let world = World::new(lisp, value!({"memory": {}}), limits());
                        let found = world.run(&source, Value::from(1_000_000)).unwrap();
                        assert_eq!(found, Value::from(1_000_000 + n + thread));
                    }
                }
            });
        }
    });
}
