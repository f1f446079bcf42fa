//! Our request as the body of `/api/chat`.

use serde_json::{Value as Json, json};
use svit_value::Value;

use crate::error::ModelError;
use crate::http::content::{arguments, check, json, shown};
use crate::message::{ContentPart, Message, Role};
use crate::provider::ModelRequest;

/// What a model thought, as text.
pub(super) const THINKING: &str = "ollama.thinking";

pub(super) fn body(
    request: &ModelRequest,
    window: u64,
    think: Option<bool>,
    streaming: bool,
) -> Result<Json, ModelError> {
    check(request)?;
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    if let Some(system) = request
        .system
        .as_deref()
        .filter(|system| !system.is_empty())
    {
        messages.push(json!({"role": "system", "content": system}));
    }
    for (at, message) in request.messages.iter().enumerate() {
        match message.role {
            Role::User => {
                let text: Vec<&str> = message.texts().collect();
                messages.push(json!({"role": "user", "content": text.join("\n\n")}));
            }
            Role::Assistant => messages.push(said(message)?),
            Role::Tool => results(message, &request.messages[..at], &mut messages),
        }
    }
    let mut options = json!({"num_ctx": window});
    if let Some(most) = request.max_output_tokens {
        options["num_predict"] = json!(most);
    }
    let mut body = json!({
        "model": request.model, "messages": messages, "stream": streaming, "options": options,
        // Say so when it does not fit, instead of leaving something out.
        "truncate": false, "shift": false,
    });
    if !request.tools.is_empty() {
        let mut tools = Vec::with_capacity(request.tools.len());
        for tool in &request.tools {
            tools.push(json!({"type": "function", "function": {
                "name": tool.name, "description": tool.description, "parameters": json(&tool.schema)?,
            }}));
        }
        body["tools"] = json!(tools);
    }
    if let Some(think) = think {
        body["think"] = json!(think);
    }
    Ok(body)
}

fn said(message: &Message) -> Result<Json, ModelError> {
    let text: Vec<&str> = message.texts().collect();
    let mut said = json!({"role": "assistant", "content": text.concat()});
    let mut thinking = String::new();
    let mut calls = Vec::new();
    for part in &message.parts {
        match part {
            ContentPart::ToolCall(call) => {
                calls.push(json!({"function": {"name": call.name, "arguments": arguments(call)?}}))
            }
            ContentPart::Opaque {
                kind,
                data: Value::Text(text),
            } if kind == THINKING => thinking.push_str(text.as_str()),
            _ => {}
        }
    }
    if !thinking.is_empty() {
        said["thinking"] = json!(thinking);
    }
    if !calls.is_empty() {
        said["tool_calls"] = json!(calls);
    }
    Ok(said)
}

/// Results go back in order, each under the name of its tool.
fn results(message: &Message, before: &[Message], messages: &mut Vec<Json>) {
    for result in message.tool_results() {
        let mut called = before.iter().rev().flat_map(Message::tool_calls);
        let mut made = json!({"role": "tool", "content": shown(result)});
        if let Some(call) = called.find(|call| call.id == result.call_id) {
            made["tool_name"] = json!(call.name);
        }
        messages.push(made);
    }
}
