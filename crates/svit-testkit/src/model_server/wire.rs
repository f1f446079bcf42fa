//! An answer on the wire: a list of server-sent events with an end marker, or one JSON document.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Value, json};

/// The instant in every answer: the same, so that answers are.
pub(super) const CREATED: u64 = 1_750_000_000;

/// An encoded answer.
pub(super) struct Encoded {
    /// The events of the stream, each with its blank line; the last is the end marker.
    pub(super) events: Vec<String>,
    /// The answer when no stream was asked for.
    pub(super) document: Value,
}

/// Text in pieces as a model streams it: word by word.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(' ')
}

/// Arguments in pieces that cut through tokens, but not through characters.
pub(super) fn fragments(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters
        .chunks(7)
        .map(|chunk| chunk.iter().collect())
        .collect()
}

/// The error body of both services.
pub(super) fn error_body(kind: &str, code: &str, param: Option<&str>, message: &str) -> Value {
    json!({"error": {"message": message, "type": kind, "param": param, "code": code}})
}

/// A stand-in for encryption: reasoning that comes back with another id or summary does not match it.
pub(super) fn seal(id: &str, summary: &Value) -> String {
    let texts: Vec<Option<&str>> = summary
        .as_array()
        .into_iter()
        .flatten()
        .map(|part| part["text"].as_str())
        .collect();
    let mut hasher = DefaultHasher::new();
    (id, texts).hash(&mut hasher);
    format!("sealed:{:016x}", hasher.finish())
}
