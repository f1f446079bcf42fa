//! Writes a value as a CAR file, and reads one: the other side of `tests/car/check.mjs`.
//!
//! `cargo run -p svit-value --example car -- write FILE` writes a document that has every kind of
//! block, and prints its JSON. `.. -- read FILE` prints the JSON of what a file holds, or fails.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program")]

use std::process::ExitCode;

use svit_value::{Bytes, List, Map, Value, ValueLimits, car, value};

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let json = match arguments.as_slice() {
        ["write", file] => write(file),
        ["read", file] => read(file),
        _ => Err("usage: car write FILE | car read FILE".into()),
    };
    match json {
        Ok(json) => {
            println!("{json}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn write(file: &str) -> Result<String, Failure> {
    let document = document()?;
    let mut bytes = Vec::new();
    car::write(document.digest(), document.blocks(), &mut bytes)?;
    std::fs::write(file, bytes)?;
    Ok(document.to_json()?)
}

fn read(file: &str) -> Result<String, Failure> {
    let bytes = std::fs::read(file)?;
    let document = car::read(&bytes)?.value(&ValueLimits::default())?;
    Ok(document.to_json()?)
}

/// Scalars, long texts and bytes, containers in place and linked, long maps of two index levels and
/// a long list. Floats have a fraction, since JavaScript cannot tell 1.0 from 1.
fn document() -> Result<Value, Failure> {
    let notes = (0..3_000).map(|i| {
        let body = "lorem ipsum ".repeat(i % 30);
        (
            format!("note/{i}"),
            value!({"body": body, "number": i as i64}),
        )
    });
    let numbers = List::from_values((0..5_000_i64).map(|i| i * 1_000_003 - 7))?;
    Ok(value!({
        "scalars": [null, true, false, 0, -1, 1.5, -0.1, i64::MAX, i64::MIN, "", "水", "\u{10151}"],
        "bytes": [Bytes::from(vec![0, 255]), Bytes::from(vec![7; 300])],
        "long text": "x".repeat(1_000),
        "nested": {"a": {"b": {"c": [[], {}]}}},
        "notes": Map::from_entries(notes)?,
        "numbers": numbers,
    }))
}
