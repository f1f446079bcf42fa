//! A reply in the format of Chat Completions.

use serde_json::{Value, json};

use super::reply::Reply;
use super::request::Request;
use super::wire::{CREATED, Encoded, fragments, pieces};

pub(super) fn encode(reply: &Reply, request: &Request) -> Encoded {
    let id = format!("chatcmpl-{}-{}", request.turn, request.attempt);
    let finish = reply.finish.clone().unwrap_or_else(|| {
        if reply.calls.is_empty() {
            "stop".into()
        } else {
            "tool_calls".into()
        }
    });
    let usage = reply.usage.map(|(input, output)| {
        json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output})
    });
    Encoded {
        events: events(reply, request, &id, &finish, usage.as_ref()),
        document: document(reply, request, &id, &finish, usage),
    }
}

fn events(
    reply: &Reply,
    request: &Request,
    id: &str,
    finish: &str,
    usage: Option<&Value>,
) -> Vec<String> {
    let chunk = |choices: Value, usage: Option<&Value>| {
        let mut chunk = json!({
            "id": id, "object": "chat.completion.chunk", "created": CREATED, "model": request.model,
            "choices": choices,
        });
        if let Some(usage) = usage {
            chunk["usage"] = usage.clone();
        }
        format!("data: {chunk}\n\n")
    };
    let delta = |delta: Value| {
        chunk(
            json!([{"index": 0, "delta": delta, "finish_reason": null}]),
            None,
        )
    };

    let mut events = vec![delta(json!({"role": "assistant", "content": ""}))];
    for piece in reply.reasoning.iter().flat_map(|text| pieces(text)) {
        events.push(delta(json!({"reasoning_content": piece})));
    }
    for piece in reply.text.iter().flat_map(|text| pieces(text)) {
        events.push(delta(json!({"content": piece})));
    }
    for piece in reply.refusal.iter().flat_map(|text| pieces(text)) {
        events.push(delta(json!({"refusal": piece})));
    }
    for (index, call) in reply.calls.iter().enumerate() {
        let id = call_id(reply, request, index);
        events.push(delta(json!({"tool_calls": [{
            "index": index, "id": id, "type": "function",
            "function": {"name": call.name, "arguments": ""},
        }]})));
        for fragment in fragments(&call.arguments) {
            events.push(delta(
                json!({"tool_calls": [{"index": index, "function": {"arguments": fragment}}]}),
            ));
        }
    }
    events.push(chunk(
        json!([{"index": 0, "delta": {}, "finish_reason": finish}]),
        None,
    ));
    if request.body["stream_options"]["include_usage"] == true && usage.is_some() {
        events.push(chunk(json!([]), usage));
    }
    events.push("data: [DONE]\n\n".into());
    events
}

fn document(
    reply: &Reply,
    request: &Request,
    id: &str,
    finish: &str,
    usage: Option<Value>,
) -> Value {
    let mut message = json!({"role": "assistant", "content": reply.text, "refusal": reply.refusal});
    if let Some(reasoning) = &reply.reasoning {
        message["reasoning_content"] = json!(reasoning);
    }
    let calls: Vec<Value> = (reply.calls.iter().enumerate())
        .map(|(index, call)| {
            json!({
                "id": call_id(reply, request, index), "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            })
        })
        .collect();
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    json!({
        "id": id, "object": "chat.completion", "created": CREATED, "model": request.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": usage,
    })
}

/// The call's own id, or one that no other call of the conversation has.
pub(super) fn call_id(reply: &Reply, request: &Request, index: usize) -> String {
    let own = reply.calls.get(index).and_then(|call| call.id.clone());
    own.unwrap_or_else(|| format!("call_{}_{index}", request.turn))
}
