//! A reply in the format of Anthropic's Messages.

use serde_json::{Value, json};

use super::chat::call_id;
use super::reply::Reply;
use super::request::Request;
use super::wire::{Encoded, fragments, pieces, seal};

pub(super) fn encode(reply: &Reply, request: &Request) -> Encoded {
    let stop = match reply.finish.as_deref() {
        Some("length") => "max_tokens",
        Some("content_filter") => "refusal",
        Some(other) => other,
        None if reply.refusal.is_some() => "refusal",
        None if reply.calls.is_empty() => "end_turn",
        None => "tool_use",
    };
    let (input, output) = reply.usage.unwrap_or((1, 1));
    let document = json!({
        "id": format!("msg_{}_{}", request.turn, request.attempt), "type": "message", "role": "assistant",
        "model": request.model, "content": content(reply, request), "stop_reason": stop, "stop_sequence": null,
        "usage": {"input_tokens": input, "output_tokens": output},
    });
    let mut first = document.clone();
    first["content"] = json!([]);
    first["stop_reason"] = Value::Null;
    let mut events = vec![event(&json!({"type": "message_start", "message": first}))];
    for (index, block) in document["content"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
    {
        stream(index, block, reply, &mut events);
    }
    events.push(event(&json!({
        "type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null},
        "usage": {"output_tokens": output},
    })));
    events.push(event(&json!({"type": "message_stop"})));
    Encoded { events, document }
}

/// An event with its name.
pub(super) fn event(data: &Value) -> String {
    let name = data["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n")
}

/// The signature of a thinking block.
pub(super) fn signature(thinking: &Value) -> String {
    seal("thinking", &json!([{"text": thinking}]))
}

fn content(reply: &Reply, request: &Request) -> Vec<Value> {
    let mut content = Vec::new();
    if let Some(thinking) = &reply.reasoning {
        let signature = signature(&json!(thinking));
        content.push(json!({"type": "thinking", "thinking": thinking, "signature": signature}));
    }
    if let Some(text) = reply.text.as_ref().or(reply.refusal.as_ref()) {
        content.push(json!({"type": "text", "text": text}));
    }
    for (index, call) in reply.calls.iter().enumerate() {
        let input: Value = serde_json::from_str(&call.arguments).unwrap_or(json!({}));
        content.push(json!({
            "type": "tool_use", "id": call_id(reply, request, index), "name": call.name, "input": input,
        }));
    }
    content
}

fn stream(index: usize, block: &Value, reply: &Reply, events: &mut Vec<String>) {
    let mut first = block.clone();
    let mut deltas = Vec::new();
    match block["type"].as_str().unwrap_or_default() {
        "thinking" => {
            first["thinking"] = json!("");
            first["signature"] = json!("");
            for piece in pieces(block["thinking"].as_str().unwrap_or_default()) {
                deltas.push(json!({"type": "thinking_delta", "thinking": piece}));
            }
            for piece in fragments(block["signature"].as_str().unwrap_or_default()) {
                deltas.push(json!({"type": "signature_delta", "signature": piece}));
            }
        }
        "text" => {
            first["text"] = json!("");
            for piece in pieces(block["text"].as_str().unwrap_or_default()) {
                deltas.push(json!({"type": "text_delta", "text": piece}));
            }
        }
        _ => {
            first["input"] = json!({});
            // As the model wrote them: maybe no JSON.
            let before = usize::from(reply.reasoning.is_some()) + usize::from(reply.text.is_some());
            let call = index.checked_sub(before).and_then(|at| reply.calls.get(at));
            for piece in call.iter().flat_map(|call| fragments(&call.arguments)) {
                deltas.push(json!({"type": "input_json_delta", "partial_json": piece}));
            }
        }
    }
    events.push(event(
        &json!({"type": "content_block_start", "index": index, "content_block": first}),
    ));
    for delta in deltas {
        events.push(event(
            &json!({"type": "content_block_delta", "index": index, "delta": delta}),
        ));
    }
    events.push(event(
        &json!({"type": "content_block_stop", "index": index}),
    ));
    if index == 0 {
        events.push(event(&json!({"type": "ping"})));
    }
}
