//! Streams of servers that take liberties.

use secrecy::SecretString;
use serde_json::json;

use super::*;
use crate::http::endpoint::Endpoint;
use crate::openai::FORM;

fn read(chunks: &[Json]) -> Result<Vec<ModelEvent>, ModelError> {
    let redact = Redact::new(Some(&SecretString::from("key")), &Endpoint::standard(&FORM));
    let mut reader = ChatReader::default();
    let mut out = VecDeque::new();
    for chunk in chunks {
        reader.frame(&chunk.to_string(), &redact, &mut out)?;
    }
    reader.frame("[DONE]", &redact, &mut out)?;
    Ok(out.into())
}

fn calls(deltas: &[Json]) -> Vec<(String, String, String)> {
    let mut chunks: Vec<Json> = deltas
        .iter()
        .map(|calls| json!({"choices": [{"delta": {"tool_calls": calls}}]}))
        .collect();
    chunks.push(json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}));
    let events = read(&chunks).unwrap();
    events
        .into_iter()
        .filter_map(|event| match event {
            ModelEvent::ToolCall(call) => {
                Some((call.id, call.name, call.arguments.to_json().unwrap()))
            }
            _ => None,
        })
        .collect()
}

fn check(deltas: &[Json], expected: &[(&str, &str, &str)]) {
    let found = calls(deltas);
    let found: Vec<_> = found
        .iter()
        .map(|(id, name, text)| (id.as_str(), name.as_str(), text.as_str()))
        .collect();
    assert_eq!(found, expected, "{deltas:?}");
}

#[test]
fn calls_are_put_together_from_their_pieces() {
    let piece = |index: u64, text: &str| json!([{"index": index, "function": {"arguments": text}}]);
    let begin = |index: u64, id: &str| json!([{"index": index, "id": id, "function": {"name": "t", "arguments": ""}}]);
    check(
        &[
            begin(0, "a"),
            piece(0, "{\"x\""),
            piece(0, ":1}"),
            begin(1, "b"),
            piece(1, "{}"),
        ],
        &[("a", "t", "{\"x\":1}"), ("b", "t", "{}")],
    );
    // Mixed up.
    check(
        &[
            begin(0, "a"),
            begin(1, "b"),
            piece(1, "{\"y\":"),
            piece(0, "{}"),
            piece(1, "2}"),
        ],
        &[("a", "t", "{}"), ("b", "t", "{\"y\":2}")],
    );
    // Numbered from 3: no call is doubled, none is made up.
    check(&[begin(3, "a"), piece(3, "{}")], &[("a", "t", "{}")]);
    // No index at all.
    let whole = |id: &str| json!([{"id": id, "function": {"name": "t", "arguments": "{}"}}]);
    check(
        &[whole("a"), whole("b")],
        &[("a", "t", "{}"), ("b", "t", "{}")],
    );
    let rest = json!([{"function": {"arguments": "}"}}]);
    let open = json!([{"id": "a", "function": {"name": "t", "arguments": "{"}}]);
    check(&[open, rest], &[("a", "t", "{}")]);
    // The same index for all.
    let same =
        |id: &str| json!([{"index": 0, "id": id, "function": {"name": "t", "arguments": "{}"}}]);
    check(
        &[same("a"), same("b")],
        &[("a", "t", "{}"), ("b", "t", "{}")],
    );
    // The same index for all, in pieces: those without an id go on with the last.
    check(
        &[
            begin(0, "a"),
            piece(0, "{}"),
            begin(0, "b"),
            piece(0, "{\"y\":1}"),
        ],
        &[("a", "t", "{}"), ("b", "t", "{\"y\":1}")],
    );
    // The id in every piece.
    let repeated =
        |text: &str| json!([{"index": 0, "id": "a", "function": {"name": "t", "arguments": text}}]);
    check(&[repeated("{"), repeated("}")], &[("a", "t", "{}")]);
    // No id: made up, and distinct.
    let nameless =
        |index: u64| json!([{"index": index, "function": {"name": "t", "arguments": "{}"}}]);
    check(
        &[nameless(0), nameless(1)],
        &[("call_0", "t", "{}"), ("call_1", "t", "{}")],
    );
    // Arguments as an object.
    check(
        &[json!([{"index": 0, "id": "a", "function": {"name": "t", "arguments": {"x": 1}}}])],
        &[("a", "t", "{\"x\":1}")],
    );
}

#[test]
fn an_end_without_a_reason_is_no_end() {
    let said = json!({"choices": [{"delta": {"content": "Hello"}}]});
    assert_eq!(read(&[said]).unwrap_err().code(), "transient");
    let none = json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]});
    assert_eq!(read(&[none]).unwrap_err().code(), "transient");
}

#[test]
fn errors_come_as_objects_and_as_text() {
    for error in [
        json!({"error": "overloaded"}),
        json!({"error": {"message": "overloaded", "code": 503}}),
    ] {
        let error = read(&[error]).unwrap_err();
        assert!(
            error.is_retryable() && error.to_string().contains("overloaded"),
            "{error}"
        );
    }
    let odd =
        json!({"choices": [{"delta": {"content": "x"}, "finish_reason": "eos"}], "error": null});
    assert!(
        read(&[odd])
            .unwrap()
            .contains(&ModelEvent::Finish(FinishReason::Other("eos".into())))
    );
}
