//! A reply in the format of the Responses API.

use serde_json::{Value, json};

use super::chat::call_id;
use super::reply::Reply;
use super::request::Request;
use super::wire::{CREATED, Encoded, fragments, pieces, seal};

/// One item of the output: as announced, its deltas, and as finished.
struct Item {
    announced: Value,
    deltas: Vec<Value>,
    finished: Value,
}

pub(super) fn encode(reply: &Reply, request: &Request) -> Encoded {
    let items = items(reply, request);
    let output: Vec<&Value> = items.iter().map(|item| &item.finished).collect();
    let (status, incomplete) = match reply.finish.as_deref() {
        Some("length") => ("incomplete", json!({"reason": "max_output_tokens"})),
        Some("content_filter") => ("incomplete", json!({"reason": "content_filter"})),
        _ => ("completed", Value::Null),
    };
    let usage = reply.usage.map(|(input, output)| {
        json!({
            "input_tokens": input, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": output, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": input + output,
        })
    });
    let document = response(request, status, &json!(output), &incomplete, usage);

    let begun = response(request, "in_progress", &json!([]), &Value::Null, None);
    let mut events = vec![
        json!({"type": "response.created", "response": begun}),
        json!({"type": "response.in_progress", "response": begun}),
    ];
    for (index, item) in items.into_iter().enumerate() {
        events.push(json!({"type": "response.output_item.added", "output_index": index, "item": item.announced}));
        for mut delta in item.deltas {
            delta["output_index"] = json!(index);
            events.push(delta);
        }
        events.push(json!({"type": "response.output_item.done", "output_index": index, "item": item.finished}));
    }
    events.push(json!({"type": format!("response.{status}"), "response": document}));
    let events = (events.into_iter().enumerate())
        .map(|(number, event)| event_text(event, number))
        .collect();
    Encoded { events, document }
}

/// An event of the stream as text.
pub(super) fn event_text(mut event: Value, number: usize) -> String {
    event["sequence_number"] = json!(number);
    format!(
        "event: {}\ndata: {event}\n\n",
        event["type"].as_str().unwrap_or_default()
    )
}

/// The response that ends a stream with an error.
pub(super) fn failed(request: &Request, code: &str, message: &str) -> Value {
    let mut response = response(request, "failed", &json!([]), &Value::Null, None);
    response["error"] = json!({"code": code, "message": message});
    json!({"type": "response.failed", "response": response})
}

fn response(
    request: &Request,
    status: &str,
    output: &Value,
    incomplete: &Value,
    usage: Option<Value>,
) -> Value {
    json!({
        "id": format!("resp_{}_{}", request.turn, request.attempt), "object": "response",
        "created_at": CREATED, "status": status, "error": null, "incomplete_details": incomplete,
        "model": request.model, "output": output, "usage": usage,
    })
}

fn items(reply: &Reply, request: &Request) -> Vec<Item> {
    let mut items = Vec::new();
    if let Some(text) = &reply.reasoning {
        items.push(reasoning(text, request));
    }
    if reply.text.is_some() || reply.refusal.is_some() {
        items.push(message(reply, request));
    }
    for (index, call) in reply.calls.iter().enumerate() {
        let item = |arguments: &str, status: &str| {
            json!({
                "id": format!("fc_{}_{index}", request.turn), "type": "function_call", "status": status,
                "call_id": call_id(reply, request, index), "name": call.name, "arguments": arguments,
            })
        };
        let mut deltas: Vec<Value> = (fragments(&call.arguments).into_iter())
            .map(|delta| json!({"type": "response.function_call_arguments.delta", "delta": delta}))
            .collect();
        deltas.push(
            json!({"type": "response.function_call_arguments.done", "arguments": call.arguments}),
        );
        items.push(Item {
            announced: item("", "in_progress"),
            deltas,
            finished: item(&call.arguments, "completed"),
        });
    }
    items
}

fn reasoning(text: &str, request: &Request) -> Item {
    let id = format!("rs_{}", request.turn);
    let summary = json!([{"type": "summary_text", "text": text}]);
    let deltas = pieces(text)
        .map(|delta| json!({"type": "response.reasoning_summary_text.delta", "summary_index": 0, "delta": delta}))
        .collect();
    let mut finished = json!({"id": id, "type": "reasoning", "summary": summary});
    let asked = request.body["include"]
        .as_array()
        .is_some_and(|list| !list.is_empty());
    if asked {
        finished["encrypted_content"] = json!(seal(&id, &summary));
    }
    Item {
        announced: json!({"id": id, "type": "reasoning", "summary": []}),
        deltas,
        finished,
    }
}

fn message(reply: &Reply, request: &Request) -> Item {
    let mut content = Vec::new();
    let mut deltas = Vec::new();
    for (kind, field, text) in [
        ("output_text", "text", &reply.text),
        ("refusal", "refusal", &reply.refusal),
    ] {
        let Some(text) = text else { continue };
        let place = content.len();
        let part = |text: &str| {
            let mut part = json!({"type": kind});
            part[field] = json!(text);
            if kind == "output_text" {
                part["annotations"] = json!([]);
            }
            part
        };
        deltas.push(json!({"type": "response.content_part.added", "content_index": place, "part": part("")}));
        for delta in pieces(text) {
            deltas.push(json!({"type": format!("response.{kind}.delta"), "content_index": place, "delta": delta}));
        }
        let mut done = json!({"type": format!("response.{kind}.done"), "content_index": place});
        done[field] = json!(text);
        deltas.push(done);
        deltas.push(json!({"type": "response.content_part.done", "content_index": place, "part": part(text)}));
        content.push(part(text));
    }
    let item = |status: &str, content: Value| {
        json!({
            "id": format!("msg_{}", request.turn), "type": "message", "role": "assistant",
            "status": status, "content": content,
        })
    };
    Item {
        announced: item("in_progress", json!([])),
        deltas,
        finished: item("completed", json!(content)),
    }
}
