//! A reply in the format of Gemini.

use serde_json::{Value, json};

use super::reply::{Call, Reply};
use super::request::Request;
use super::wire::{Encoded, pieces, seal};

const CALL: &str = ":generateContent";
const STREAM: &str = ":streamGenerateContent";

/// Whether a path and query are a call of a model.
pub(super) fn is_call(path: &str, query: Option<&str>) -> bool {
    match query {
        None => path.ends_with(CALL) && !model(path).is_empty(),
        Some("alt=sse") => is_streaming(path) && !model(path).is_empty(),
        Some(_) => false,
    }
}

pub(super) fn is_streaming(path: &str) -> bool {
    path.ends_with(STREAM)
}

pub(super) fn model(path: &str) -> &str {
    let named = path.strip_prefix("/v1beta/models/").unwrap_or_default();
    let model = named.split(':').next().unwrap_or_default();
    if model.contains('/') { "" } else { model }
}

/// The signature that a call comes with.
pub(super) fn signature(name: &str, arguments: &Value) -> String {
    seal(name, &json!([{"text": arguments.to_string()}]))
}

/// The signature of an answer without calls.
pub(super) fn last_signature() -> String {
    seal("answer", &json!([]))
}

pub(super) fn encode(reply: &Reply, request: &Request) -> Encoded {
    let finish = match reply.finish.as_deref() {
        Some("length") => "MAX_TOKENS",
        Some("content_filter") => "SAFETY",
        Some(other) => other,
        None if reply.refusal.is_some() => "SAFETY",
        None => "STOP",
    };
    let (input, output) = reply.usage.unwrap_or((1, 1));
    let usage = json!({
        "promptTokenCount": input, "candidatesTokenCount": output, "totalTokenCount": input + output,
    });
    let chunk = |parts: Value, finish: Option<&str>| {
        let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": parts}});
        if let Some(finish) = finish {
            candidate["finishReason"] = json!(finish);
        }
        json!({"candidates": [candidate], "usageMetadata": usage, "modelVersion": request.model})
    };
    let text = |text: &Option<String>| -> Vec<Value> {
        let pieces = text.iter().flat_map(|text| pieces(text));
        pieces.map(|piece| json!({"text": piece})).collect()
    };
    let mut parts = text(&reply.reasoning);
    for thought in &mut parts {
        thought["thought"] = json!(true);
    }
    parts.extend(text(&reply.text));
    parts.extend(text(&reply.refusal));
    parts.extend(calls(reply, request));
    if reply.reasoning.is_some() && reply.calls.is_empty() {
        parts.push(json!({"text": "", "thoughtSignature": last_signature()}));
    }
    let document = chunk(json!(parts), Some(finish));
    let data = |chunk: Value| format!("data: {chunk}\r\n\r\n");
    let mut events: Vec<String> = parts
        .into_iter()
        .map(|part| data(chunk(json!([part]), None)))
        .collect();
    events.push(data(chunk(json!([]), Some(finish))));
    Encoded { events, document }
}

/// The calls; the first has a signature if the model thought.
fn calls(reply: &Reply, request: &Request) -> Vec<Value> {
    let part = |(index, call): (usize, &Call)| {
        let arguments: Value =
            serde_json::from_str(&call.arguments).unwrap_or(json!(call.arguments));
        let mut part = json!({"functionCall": {"name": call.name, "args": arguments}});
        let id = call.id.clone();
        // Older models give no ids.
        if let Some(id) =
            id.or((request.turn.is_multiple_of(2)).then(|| format!("fc-{}-{index}", request.turn)))
        {
            part["functionCall"]["id"] = json!(id);
        }
        if index == 0 && reply.reasoning.is_some() {
            part["thoughtSignature"] = json!(signature(&call.name, &arguments));
        }
        part
    };
    reply.calls.iter().enumerate().map(part).collect()
}
