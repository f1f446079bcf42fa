//! An answer on the wire: a list of server-sent events with an end marker, or one JSON document.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Value, json};

use super::request::Wire;

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

/// An error, before it has a form.
pub(super) struct Failed<'a> {
    pub(super) status: u16,
    pub(super) kind: &'a str,
    pub(super) code: &'a str,
    pub(super) param: Option<&'a str>,
    pub(super) message: &'a str,
}

/// The error body of each service. Where it knows one name only, that is the code.
pub(super) fn error_body(wire: Wire, failed: &Failed<'_>) -> Value {
    let Failed {
        status,
        kind,
        code,
        param,
        message,
    } = failed;
    match wire {
        Wire::ChatCompletions | Wire::Responses => {
            json!({"error": {"message": message, "type": kind, "param": param, "code": code}})
        }
        Wire::Messages => json!({"type": "error", "error": {"type": code, "message": message}}),
        Wire::Gemini => json!({"error": {"code": status, "message": message, "status": code}}),
        Wire::Ollama => json!({"error": message}),
    }
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
