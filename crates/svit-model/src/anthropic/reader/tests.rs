//! Streams as the service sends them, and as it should not.

use proptest::prelude::*;
use secrecy::SecretString;
use svit_value::value;

use super::*;
use crate::anthropic::FORM;
use crate::http::endpoint::Endpoint;

fn redact() -> Redact {
    Redact::new(
        Some(&SecretString::from("key-12345")),
        &Endpoint::standard(&FORM),
    )
}

fn read(frames: &[Json]) -> Result<Vec<ModelEvent>, ModelError> {
    let mut reader = MessagesReader::default();
    let mut out = VecDeque::new();
    for frame in frames {
        reader.frame(&frame.to_string(), &redact(), &mut out)?;
    }
    Ok(out.into())
}

fn start(index: u64, block: Json) -> Json {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: Json) -> Json {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn stop(index: u64) -> Json {
    json!({"type": "content_block_stop", "index": index})
}

fn begun() -> Json {
    json!({"type": "message_start", "message": {"usage": {
        "input_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens": 1,
    }}})
}

fn ended(reason: &str) -> [Json; 2] {
    [
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ]
}

fn good() -> Vec<Json> {
    let mut frames = vec![
        begun(),
        start(
            0,
            json!({"type": "thinking", "thinking": "", "signature": ""}),
        ),
        delta(0, json!({"type": "thinking_delta", "thinking": "Hm"})),
        json!({"type": "ping"}),
        delta(0, json!({"type": "thinking_delta", "thinking": "."})),
        delta(0, json!({"type": "signature_delta", "signature": "c2"})),
        delta(0, json!({"type": "signature_delta", "signature": "ln"})),
        stop(0),
        start(1, json!({"type": "redacted_thinking", "data": "eA=="})),
        stop(1),
        start(2, json!({"type": "text", "text": ""})),
        delta(2, json!({"type": "text_delta", "text": "Grün"})),
        stop(2),
        start(
            3,
            json!({"type": "tool_use", "id": "toolu_1", "name": "write", "input": {}}),
        ),
        delta(3, json!({"type": "input_json_delta", "partial_json": ""})),
        delta(
            3,
            json!({"type": "input_json_delta", "partial_json": "{\"a\":"}),
        ),
        delta(
            3,
            json!({"type": "input_json_delta", "partial_json": " 1}"}),
        ),
        stop(3),
        start(
            4,
            json!({"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}}),
        ),
        stop(4),
    ];
    frames.extend(ended("tool_use"));
    frames
}

fn opaque(data: svit_value::Value) -> ModelEvent {
    ModelEvent::Opaque(ContentPart::Opaque {
        kind: BLOCK.into(),
        data,
    })
}

#[test]
fn a_stream_becomes_events_in_the_order_of_its_blocks() {
    assert_eq!(
        read(&good()).unwrap(),
        [
            ModelEvent::ReasoningDelta("Hm".into()),
            ModelEvent::ReasoningDelta(".".into()),
            opaque(value!({"type": "thinking", "thinking": "Hm.", "signature": "c2ln"})),
            opaque(value!({"type": "redacted_thinking", "data": "eA=="})),
            ModelEvent::TextDelta("Grün".into()),
            ModelEvent::ToolCall(ToolCall::new("toolu_1", "write", value!({"a": 1}))),
            ModelEvent::ToolCall(ToolCall::new("call_1", "read", value!({}))),
            ModelEvent::Usage(Usage {
                input_tokens: 125,
                output_tokens: 9
            }),
            ModelEvent::Finish(FinishReason::ToolCalls),
        ]
    );
}

#[test]
fn no_beginning_of_a_stream_is_an_answer() {
    let frames = good();
    for end in 0..frames.len() {
        let finished = |event: &ModelEvent| matches!(event, ModelEvent::Finish(_));
        assert!(!read(&frames[..end]).unwrap().iter().any(finished), "{end}");
    }
}

#[test]
fn events_out_of_order_are_a_broken_stream() {
    let text = || start(0, json!({"type": "text", "text": ""}));
    let said = || delta(0, json!({"type": "text_delta", "text": "x"}));
    let [reason, end] = ended("end_turn");
    for frames in [
        vec![text()],
        vec![said()],
        vec![stop(0)],
        vec![end.clone()],
        vec![begun(), begun()],
        vec![begun(), end.clone()],
        vec![begun(), said()],
        vec![begun(), stop(0)],
        vec![begun(), text(), text()],
        vec![begun(), text(), stop(0), said()],
        vec![begun(), text(), stop(0), text()],
        vec![begun(), text(), reason.clone(), end.clone()],
        vec![begun(), reason.clone(), text()],
        vec![
            begun(),
            text(),
            delta(0, json!({"type": "thinking_delta", "thinking": "x"})),
        ],
        vec![
            begun(),
            json!({"type": "content_block_start", "content_block": {"type": "text"}}),
        ],
        [begun()].into_iter().chain(ended("tool_use")).collect(),
        vec![reason, end],
    ] {
        let error = read(&frames).unwrap_err();
        assert_eq!(error.code(), "transient", "{frames:?}: {error}");
    }
}

#[test]
fn reasons_become_ours() {
    for (reason, expected) in [
        ("end_turn", Ok(FinishReason::Stop)),
        ("stop_sequence", Ok(FinishReason::Stop)),
        ("max_tokens", Ok(FinishReason::Length)),
        ("model_context_window_exceeded", Ok(FinishReason::Length)),
        ("pause_turn", Ok(FinishReason::Other("pause_turn".into()))),
        ("refusal", Err("refused")),
    ] {
        let frames: Vec<Json> = [begun()].into_iter().chain(ended(reason)).collect();
        let last = read(&frames).map(|mut events| events.pop().unwrap());
        let expected = expected.map(ModelEvent::Finish);
        assert_eq!(last.map_err(|error| error.code()), expected, "{reason}");
    }
}

#[test]
fn a_call_that_was_cut_is_malformed_and_thinking_that_was_cut_is_dropped() {
    let mut frames = vec![
        begun(),
        start(
            0,
            json!({"type": "thinking", "thinking": "Hm", "signature": ""}),
        ),
        stop(0),
        start(
            1,
            json!({"type": "tool_use", "id": "t", "name": "write", "input": {}}),
        ),
        delta(
            1,
            json!({"type": "input_json_delta", "partial_json": "{\"a\":"}),
        ),
    ];
    frames.extend(ended("max_tokens"));
    let events = read(&frames).unwrap();
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, ModelEvent::Opaque(_)))
    );
    let call = events.iter().find_map(|event| match event {
        ModelEvent::ToolCall(call) => Some(call),
        _ => None,
    });
    assert_eq!(
        call.unwrap().input().unwrap_err().code(),
        "malformed_arguments"
    );
    assert_eq!(
        events.last(),
        Some(&ModelEvent::Finish(FinishReason::Length))
    );
}

#[test]
fn errors_in_a_stream_keep_their_kind() {
    for (kind, message, code) in [
        ("overloaded_error", "Overloaded", "transient"),
        ("api_error", "Internal server error", "transient"),
        ("rate_limit_error", "Slow down", "rate_limited"),
        (
            "authentication_error",
            "invalid x-api-key: key-12345",
            "authentication",
        ),
        (
            "invalid_request_error",
            "prompt is too long: 210000 tokens > 200000 maximum",
            "context_too_long",
        ),
        ("invalid_request_error", "tools.0: wrong", "invalid"),
        (
            "request_too_large",
            "Request exceeds the maximum size",
            "context_too_long",
        ),
        ("billing_error", "Pay.", "quota_exhausted"),
    ] {
        let frame = json!({"type": "error", "error": {"type": kind, "message": message}});
        let error = read(&[begun(), frame]).unwrap_err();
        assert_eq!(error.code(), code, "{kind}");
        assert!(!error.to_string().contains("key-12345"));
    }
}

#[test]
fn a_document_reads_as_its_stream_does() {
    let body = json!({
        "type": "message", "role": "assistant", "stop_reason": "tool_use",
        "usage": {"input_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens": 9},
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "eA=="},
            {"type": "text", "text": "Grün"},
            {"type": "tool_use", "id": "toolu_1", "name": "write", "input": {"a": 1}},
            {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}},
        ],
    });
    let mut out = VecDeque::new();
    let mut reader = MessagesReader::default();
    reader.document(&body, &redact(), &mut out).unwrap();
    let streamed = read(&good()).unwrap();
    assert_eq!(Vec::from(out)[1..], streamed[2..]);
    for wrong in [
        json!({}),
        json!({"content": []}),
        json!({"stop_reason": "end_turn"}),
    ] {
        let mut reader = MessagesReader::default();
        let error = reader.document(&wrong, &redact(), &mut VecDeque::new());
        assert_eq!(error.unwrap_err().code(), "transient");
    }
}

proptest! {
    /// Whatever comes in whatever order: no panic, and nothing after the end.
    #[test]
    fn any_order_of_events_is_an_answer_or_an_error(picks in proptest::collection::vec(0_usize..22, 0..30)) {
        let frames = good();
        let picked: Vec<Json> = picks.iter().map(|at| frames[*at].clone()).collect();
        let _ = read(&picked);
    }

    #[test]
    fn any_text_is_an_error_or_nothing(text in "\\PC{0,40}") {
        let mut out = VecDeque::new();
        let _ = MessagesReader::default().frame(&text, &redact(), &mut out);
        prop_assert!(out.is_empty());
    }
}
