//! The page that people and models learn the language from: every example on it runs and gives what the
//! page says, and no built-in is missing.

use svit_lisp::Lisp;
use svit_value::{Value, value};

use crate::host::{World, limits, whole};

const PAGE: &str = include_str!("../../../../knowledge/runtimes/lisp-runtime.md");

/// One example: what to run, its input as JSON, and what the page says comes of it.
struct Example {
    line: usize,
    source: String,
    input: String,
    said: Said,
}

enum Said {
    Output(String),
    /// The code and the start of the text, without the place.
    Error(String),
}

fn said(line: &str) -> Option<(&str, Said)> {
    if let Some((code, json)) = line.rsplit_once("; => ") {
        return Some((code, Said::Output(json.trim().to_owned())));
    }
    let (code, text) = line.rsplit_once("; error ")?;
    Some((code, Said::Error(text.trim().to_owned())))
}

fn examples() -> Vec<Example> {
    let mut found = Vec::new();
    let mut inside = false;
    let (mut source, mut input) = (String::new(), "null".to_owned());
    for (number, line) in PAGE.lines().enumerate() {
        if line.starts_with("```") {
            assert!(
                source.trim().is_empty(),
                "line {number}: not said what comes of {source}"
            );
            inside = line == "```lisp";
            continue;
        }
        if !inside {
            continue;
        }
        if let Some(json) = line.strip_prefix("; input ") {
            input = json.to_owned();
            continue;
        }
        let Some((code, said)) = said(line) else {
            source.push_str(line);
            source.push('\n');
            continue;
        };
        source.push_str(code);
        found.push(Example {
            line: number + 1,
            source: std::mem::take(&mut source),
            input: std::mem::replace(&mut input, "null".to_owned()),
            said,
        });
    }
    found
}

fn tree() -> Value {
    value!({
        "memory": {
            "count": 6,
            "notes": {
                "n1": {"title": "Food", "body": "Lunch is at noon."},
                "n2": {"title": "Door", "body": "Paint it teal."},
            },
        },
        "lib": {"double": {"source": "(define (main input) (* 2 input))"}},
    })
}

/// What an example gives, and whether that is what the page says.
fn outcome(example: &Example) -> (bool, String) {
    let world = World::new(&Lisp::new(), tree(), limits());
    let source = whole(&example.source);
    let input = Value::from_json(&example.input).unwrap();
    match (world.run(&source, input), &example.said) {
        (Ok(output), said) => {
            let same =
                matches!(said, Said::Output(json) if Value::from_json(json).unwrap() == output);
            (same, output.to_json().unwrap())
        }
        (Err(error), said) => {
            // The place depends on what the example is wrapped in.
            let text = error
                .message
                .split(": ")
                .skip(1)
                .collect::<Vec<_>>()
                .join(": ");
            let found = format!("{}: {text}", error.code);
            (
                matches!(said, Said::Error(start) if found.starts_with(start)),
                found,
            )
        }
    }
}

#[test]
fn every_example_gives_what_the_page_says() {
    let examples = examples();
    assert!(examples.len() > 100, "only {} examples", examples.len());
    let mut wrong = Vec::new();
    for example in &examples {
        let off = |on: bool, call: &str| !on && example.source.contains(call);
        if off(cfg!(feature = "search"), "(search ") || off(cfg!(feature = "jq"), "(jq ") {
            continue;
        }
        let (same, found) = outcome(example);
        if !same {
            wrong.push(format!(
                "line {}: {}\n  found {found}",
                example.line, example.source
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_built_in_stands_in_an_example() {
    let world = World::new(&Lisp::new(), tree(), limits());
    let names = "(define (main input) (map (lambda (b) (map-get b \"name\")) (runtime-builtins)))";
    let names = world.run(names, Value::Null).unwrap();
    let code: String = examples()
        .into_iter()
        .map(|example| example.source)
        .collect();
    let words: Vec<&str> = code
        .split(|c: char| c.is_whitespace() || "()'`,\"".contains(c))
        .collect();
    let list = names.as_list().unwrap();
    let missing: Vec<&str> = list
        .iter()
        .filter_map(Value::as_str)
        .filter(|name| !words.contains(name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
