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

fn outcome(source: &str, input: &str) -> String {
    let world = World::new(&Lisp::new(), tree(), limits());
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

#[test]
fn every_entry_gives_what_its_file_says() {
    let update = std::env::var_os("UPDATE_CORPUS").is_some();
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut entries = 0;
    let mut wrong = Vec::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let mut written = String::new();
        for entry in text.split("=== ").skip(1) {
            let mut parts = entry.split("\n---\n");
            let head = parts.next().unwrap();
            let (name, input) = head.split_once('\n').unwrap_or((head, "null"));
            let source = parts.next().unwrap();
            let expected = parts.next().unwrap_or_default().trim();
            let found = outcome(source, input.trim());
            if found.trim() != expected {
                wrong.push(format!("{name}\nexpected\n{expected}\nfound\n{found}"));
            }
            let source = source.trim_end();
            writeln!(
                written,
                "=== {name}\n{}\n---\n{source}\n---\n{found}",
                input.trim()
            )
            .unwrap();
            entries += 1;
        }
        if update {
            std::fs::write(&path, written.trim_end().to_owned() + "\n").unwrap();
        }
    }
    assert!(entries >= 60, "only {entries} entries");
    assert!(wrong.is_empty() || update, "{}", wrong.join("\n"));
}
