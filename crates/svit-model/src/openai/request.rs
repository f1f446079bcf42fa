//! Our request in `genai`'s terms, and the fields that must be said in our own words.

use genai::chat::{
    ChatMessage, ChatOptions, ChatRequest, ContentPart as GenaiPart, ReasoningEffort, Tool,
    ToolCall as GenaiCall, ToolResponse,
};
use serde_json::{Map, Value as Json, json};
use svit_value::Value;

use super::Wire;
use crate::error::ModelError;
use crate::http::content::{arguments, check, json, shown, unsealed};
use crate::message::{ContentPart, Message, Role};
use crate::provider::ModelRequest;

/// An output item of the Responses API, kept whole.
pub(super) const RESPONSES_ITEM: &str = "openai.responses.item";
/// The `reasoning_content` of Chat Completions, which some servers need back.
pub(super) const CHAT_REASONING: &str = "openai.chat.reasoning_content";

/// Whether a model can be asked for sealed reasoning, by its name.
pub(super) fn is_reasoning_model(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let digit_after = |prefix: &str| {
        name.strip_prefix(prefix)
            .and_then(|rest| rest.chars().next())
            .is_some_and(|next| next.is_ascii_digit())
    };
    let later = name
        .strip_prefix("gpt-")
        .and_then(|rest| rest.chars().next())
        .is_some_and(|next| ('5'..='9').contains(&next));
    (digit_after("o") || later || name.starts_with("codex")) && !name.contains("-chat")
}

/// The request for `genai`.
pub(super) fn build(
    request: &ModelRequest,
    wire: Wire,
    sealed_reasoning: bool,
) -> Result<(ChatRequest, ChatOptions), ModelError> {
    check(request)?;

    let mut chat = ChatRequest {
        system: request.system.clone(),
        ..ChatRequest::default()
    };
    let mut extra = Map::new();
    // genai takes a namespace and an effort off the name; the name goes out as it was given.
    extra.insert("model".into(), json!(request.model));
    match wire {
        Wire::Chat => {
            for message in &request.messages {
                chat.messages.push(chat_message(message)?);
            }
        }
        // genai would drop the ids of reasoning items, and put all of them before everything else.
        Wire::Responses => {
            let mut input = Vec::new();
            for message in &request.messages {
                responses_items(message, &mut input)?;
            }
            extra.insert("input".into(), json!(input));
            if sealed_reasoning {
                extra.insert("include".into(), json!(["reasoning.encrypted_content"]));
            }
        }
    }
    if !request.tools.is_empty() {
        let mut tools = Vec::with_capacity(request.tools.len());
        for tool in &request.tools {
            tools.push(
                Tool::new(tool.name.as_str())
                    .with_description(tool.description.as_str())
                    .with_schema(json(&tool.schema)?)
                    // Strict mode rewrites schemas: it would make every optional property required.
                    .with_strict(false),
            );
        }
        chat.tools = Some(tools);
    }

    let mut options = ChatOptions::default()
        .with_capture_usage(true)
        .with_extra_body(Json::Object(extra))
        // Not an effort but the absence of one: it keeps genai from finding one in the model's name.
        .with_reasoning_effort(ReasoningEffort::Budget(0));
    if let Some(most) = request.max_output_tokens {
        options = options.with_max_tokens(most);
    }
    Ok((chat, options))
}

fn chat_message(message: &Message) -> Result<ChatMessage, ModelError> {
    let mut parts = Vec::with_capacity(message.parts.len());
    for part in &message.parts {
        match part {
            ContentPart::Text(text) => parts.push(GenaiPart::Text(text.clone())),
            ContentPart::ToolCall(call) => parts.push(GenaiPart::ToolCall(GenaiCall {
                call_id: call.id.clone(),
                fn_name: call.name.clone(),
                fn_arguments: arguments(call)?,
                thought_signatures: None,
            })),
            ContentPart::ToolResult(result) => {
                parts.push(GenaiPart::ToolResponse(ToolResponse::new(
                    result.call_id.as_str(),
                    shown(result),
                )));
            }
            ContentPart::Opaque {
                kind,
                data: Value::Text(text),
            } if kind == CHAT_REASONING => {
                parts.push(GenaiPart::ReasoningContent(text.as_str().to_owned()));
            }
            ContentPart::Opaque { .. } => {}
        }
    }
    Ok(match message.role {
        Role::User => ChatMessage::user(parts),
        Role::Assistant => ChatMessage::assistant(parts),
        Role::Tool => ChatMessage::tool(parts),
    })
}

fn responses_items(message: &Message, input: &mut Vec<Json>) -> Result<(), ModelError> {
    if message.role == Role::User {
        let text = message.texts().collect::<Vec<_>>().join("\n\n");
        input.push(json!({"role": "user", "content": text}));
        return Ok(());
    }
    for part in &message.parts {
        match part {
            ContentPart::Text(text) => input.push(json!({
                "type": "message", "role": "assistant",
                "content": [{"type": "output_text", "text": text}],
            })),
            ContentPart::ToolCall(call) => input.push(json!({
                "type": "function_call", "call_id": call.id, "name": call.name,
                "arguments": arguments(call)?.to_string(),
            })),
            ContentPart::ToolResult(result) => input.push(json!({
                "type": "function_call_output", "call_id": result.call_id, "output": shown(result),
            })),
            ContentPart::Opaque { kind, data } if kind == RESPONSES_ITEM => {
                input.push(unsealed(data)?)
            }
            ContentPart::Opaque { .. } => {}
        }
    }
    Ok(())
}
