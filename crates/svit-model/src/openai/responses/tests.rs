//! Streams of servers that take liberties.

use secrecy::SecretString;
use serde_json::json;

use super::*;
use crate::http::endpoint::Endpoint;
use crate::openai::FORM;

fn read(events: &[Json]) -> Result<Vec<ModelEvent>, ModelError> {
    let redact = Redact::new(Some(&SecretString::from("key")), &Endpoint::standard(&FORM));
    let mut reader = ResponsesReader::default();
    let mut out = VecDeque::new();
    for event in events {
        reader.frame(&event.to_string(), &redact, &mut out)?;
    }
    Ok(out.into())
}

fn texts(events: &[ModelEvent]) -> String {
    let text = events.iter().filter_map(|event| match event {
        ModelEvent::TextDelta(text) => Some(text.as_str()),
        _ => None,
    });
    text.collect()
}

fn message(text: &str) -> Json {
    json!({"type": "message", "content": [{"type": "output_text", "text": text}]})
}

#[test]
fn items_that_come_at_the_end_only_are_read_there() {
    let call = json!({"type": "function_call", "call_id": "a", "name": "t", "arguments": "{}"});
    let response = json!({"status": "completed", "output": [message("Hi."), call]});
    let events = read(&[json!({"type": "response.completed", "response": response})]).unwrap();
    assert_eq!(texts(&events), "Hi.");
    assert_eq!(
        events.last(),
        Some(&ModelEvent::Finish(FinishReason::ToolCalls))
    );
    assert_eq!(
        events
            .iter()
            .filter(|event| matches!(event, ModelEvent::ToolCall(_)))
            .count(),
        1
    );
}

#[test]
fn nothing_is_said_twice() {
    let delta = |index: u64, text: &str| json!({"type": "response.output_text.delta", "output_index": index, "delta": text});
    let done = |index: u64, item: Json| json!({"type": "response.output_item.done", "output_index": index, "item": item});
    let end = json!({"type": "response.completed", "response": {"status": "completed", "output": [message("One."), message("Two.")]}});
    let events = read(&[
        delta(0, "One"),
        delta(0, "."),
        done(0, message("One.")),
        done(1, message("Two.")),
        end,
    ])
    .unwrap();
    assert_eq!(
        texts(&events),
        "One.\n\nTwo.",
        "items are paragraphs; one came in deltas, one whole"
    );
}

#[test]
fn every_call_has_an_id_of_its_own() {
    let item =
        |id: &str| json!({"type": "function_call", "call_id": id, "name": "t", "arguments": "{}"});
    let output = json!([item("a"), item("a"), item("")]);
    let end = json!({"type": "response.completed", "response": {"status": "completed", "output": output}});
    let events = read(&[end]).unwrap();
    let ids: Vec<_> = (events.iter())
        .filter_map(|event| match event {
            ModelEvent::ToolCall(call) => Some(call.id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["a", "call_1", "call_2"]);
}

#[test]
fn failures_keep_their_code() {
    let failed = |code: &str| json!({"type": "response.failed", "response": {"status": "failed", "error": {"code": code, "message": "m"}}});
    for (event, code) in [
        (failed("server_error"), "transient"),
        (failed("rate_limit_exceeded"), "rate_limited"),
        (
            json!({"type": "error", "code": "context_length_exceeded", "message": "m"}),
            "context_too_long",
        ),
        (
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": "m"}}),
            "invalid",
        ),
        (
            json!({"type": "response.completed", "response": {"status": "cancelled"}}),
            "transient",
        ),
        (
            json!({"error": {"code": "insufficient_quota", "message": "m"}}),
            "quota_exhausted",
        ),
    ] {
        assert_eq!(
            read(std::slice::from_ref(&event)).unwrap_err().code(),
            code,
            "{event}"
        );
    }
}

#[test]
fn only_what_can_be_given_back_is_kept() {
    let done =
        |item: Json| json!({"type": "response.output_item.done", "output_index": 0, "item": item});
    let sealed = json!({"type": "reasoning", "id": "rs", "encrypted_content": "x", "summary": []});
    let open = json!({"type": "reasoning", "id": "rs", "summary": []});
    let events = read(&[done(open), done(sealed.clone())]).unwrap();
    let [ModelEvent::Opaque(ContentPart::Opaque { data, .. })] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(serde_json::to_value(data).unwrap(), sealed);
}
