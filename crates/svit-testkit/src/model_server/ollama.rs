//! A reply in the format of Ollama: lines of JSON.

use serde_json::{Value, json};

use super::reply::Reply;
use super::request::Request;
use super::wire::{Encoded, pieces};

pub(super) fn encode(reply: &Reply, request: &Request) -> Encoded {
    let line = |message: Value| json!({"model": request.model, "created_at": "2025-06-15T15:06:40Z", "message": message, "done": false});
    let (input, output) = reply.usage.unwrap_or((1, 1));
    let end = |message: Value| {
        let mut line = line(message);
        line["done"] = json!(true);
        line["done_reason"] = json!(reply.finish.as_deref().unwrap_or("stop"));
        line["prompt_eval_count"] = json!(input);
        line["eval_count"] = json!(output);
        line
    };
    let calls: Vec<Value> = (reply.calls.iter())
        .map(|call| {
            let arguments: Value =
                serde_json::from_str(&call.arguments).unwrap_or(json!(call.arguments));
            json!({"function": {"name": call.name, "arguments": arguments}})
        })
        .collect();
    let text = reply.text.as_ref().or(reply.refusal.as_ref());
    let mut whole = json!({"role": "assistant", "content": text.map_or("", String::as_str)});
    if let Some(thinking) = &reply.reasoning {
        whole["thinking"] = json!(thinking);
    }
    if !calls.is_empty() {
        whole["tool_calls"] = json!(calls);
    }
    let mut lines = Vec::new();
    for piece in reply.reasoning.iter().flat_map(|text| pieces(text)) {
        lines.push(line(
            json!({"role": "assistant", "content": "", "thinking": piece}),
        ));
    }
    for piece in text.iter().flat_map(|text| pieces(text)) {
        lines.push(line(json!({"role": "assistant", "content": piece})));
    }
    for call in calls {
        lines.push(line(
            json!({"role": "assistant", "content": "", "tool_calls": [call]}),
        ));
    }
    lines.push(end(json!({"role": "assistant", "content": ""})));
    Encoded {
        events: lines.iter().map(|line| format!("{line}\n")).collect(),
        document: end(whole),
    }
}
