//! Our request as the body of a Messages call.

use serde_json::{Value as Json, json};

use crate::error::ModelError;
use crate::http::content::{arguments, check, json, shown_content, unsealed};
use crate::message::{ContentPart, Message, Role};
use crate::provider::ModelRequest;

/// A content block kept whole: thinking, redacted thinking, and what later versions bring.
pub(super) const BLOCK: &str = "anthropic.block";

/// How a model is asked to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thinking {
    Tokens(u32),
    Adaptive,
}

pub(super) fn body(
    request: &ModelRequest,
    bound: Option<u32>,
    thinking: Option<Thinking>,
    streaming: bool,
) -> Result<Json, ModelError> {
    check(request)?;
    let mut most = bound.unwrap_or_else(|| most_output(&request.model));
    if let Some(Thinking::Tokens(budget)) = thinking
        && most <= budget
    {
        most = budget.saturating_add(4096);
    }
    let mut messages = Vec::with_capacity(request.messages.len());
    for message in &request.messages {
        let content = blocks(message)?;
        // An empty message is refused; two in a row of one role are taken as one.
        if !content.is_empty() {
            let role = match message.role {
                Role::Assistant => "assistant",
                Role::User | Role::Tool => "user",
            };
            messages.push(json!({"role": role, "content": content}));
        }
    }
    if messages.is_empty() {
        return Err(ModelError::invalid("there is no text in the messages"));
    }
    let mut body = json!({
        "model": request.model, "max_tokens": most, "messages": messages, "stream": streaming,
    });
    if let Some(system) = request.system.as_deref().filter(|system| is_said(system)) {
        body["system"] = json!(system);
    }
    if !request.tools.is_empty() {
        let mut tools = Vec::with_capacity(request.tools.len());
        for tool in &request.tools {
            tools.push(json!({
                "name": tool.name, "description": tool.description, "input_schema": json(&tool.schema)?,
            }));
        }
        body["tools"] = json!(tools);
    }
    match thinking {
        Some(Thinking::Tokens(budget)) => {
            body["thinking"] = json!({"type": "enabled", "budget_tokens": budget});
        }
        Some(Thinking::Adaptive) => body["thinking"] = json!({"type": "adaptive"}),
        None => {}
    }
    Ok(body)
}

fn blocks(message: &Message) -> Result<Vec<Json>, ModelError> {
    let mut blocks = Vec::with_capacity(message.parts.len());
    for part in &message.parts {
        match part {
            ContentPart::Text(text) if is_said(text) => {
                blocks.push(json!({"type": "text", "text": text}));
            }
            ContentPart::Text(_) => {}
            ContentPart::ToolCall(call) => blocks.push(json!({
                "type": "tool_use", "id": id(&call.id), "name": call.name, "input": arguments(call)?,
            })),
            ContentPart::ToolResult(result) => {
                let mut block = json!({
                    "type": "tool_result", "tool_use_id": id(&result.call_id),
                    "content": shown_content(&result.content),
                });
                if result.is_error {
                    block["is_error"] = json!(true);
                }
                blocks.push(block);
            }
            ContentPart::Opaque { kind, data } if kind == BLOCK => blocks.push(unsealed(data)?),
            ContentPart::Opaque { .. } => {}
        }
    }
    Ok(blocks)
}

/// Blocks of white space are refused.
fn is_said(text: &str) -> bool {
    !text.trim().is_empty()
}

/// Ids of other providers, in a conversation that began with them, may hold what is refused here.
fn id(id: &str) -> String {
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if id.is_empty() {
        return "call".into();
    }
    id.chars()
        .map(|c| if letter(c) { c } else { '_' })
        .collect()
}

fn most_output(model: &str) -> u32 {
    let name = model.rsplit('/').next().unwrap_or(model);
    if name.contains("claude-3-5") {
        8192
    } else if name.contains("claude-3-") && !name.contains("claude-3-7") {
        4096
    } else {
        32_000
    }
}
