//! Our request as the body of `generateContent`.

use serde_json::{Value as Json, json};
use svit_value::Value;

use crate::error::ModelError;
use crate::http::content::{arguments, check, json, shown_content, unsealed};
use crate::message::{ContentPart, Message, Role};
use crate::provider::ModelRequest;
use crate::tool::ToolResult;

/// A thought signature: `{"on": "call" | "text" | "nothing", "signature": text}`, before what it stands on.
pub(super) const SIGNATURE: &str = "gemini.thought_signature";
/// A part kept whole.
pub(super) const PART: &str = "gemini.part";
/// Ids that begin like this were made here: the provider knows them not.
pub(super) const OWN_ID: &str = "svit_call_";

/// `models/NAME`, or a name that says itself what it is: `tunedModels/NAME`.
pub(super) fn model_path(model: &str) -> Result<String, ModelError> {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.@/".contains(&byte);
    let is_step = |step: &str| matches!(step, "" | "." | "..");
    if !model.bytes().all(letter) || model.split('/').any(is_step) {
        return Err(ModelError::invalid(format!(
            "the model's name {model:?} does not fit a URL"
        )));
    }
    if model.contains('/') {
        Ok(model.to_owned())
    } else {
        Ok(format!("models/{model}"))
    }
}

pub(super) fn body(request: &ModelRequest, thoughts: bool) -> Result<Json, ModelError> {
    check(request)?;
    let mut contents = Vec::with_capacity(request.messages.len());
    for (at, message) in request.messages.iter().enumerate() {
        let parts = parts(message, &request.messages[..at])?;
        if !parts.is_empty() {
            let role = match message.role {
                Role::Assistant => "model",
                Role::User | Role::Tool => "user",
            };
            contents.push(json!({"role": role, "parts": parts}));
        }
    }
    if contents.is_empty() {
        return Err(ModelError::invalid("there is no text in the messages"));
    }
    let mut body = json!({"contents": contents});
    if let Some(system) = request
        .system
        .as_deref()
        .filter(|system| !system.is_empty())
    {
        body["systemInstruction"] = json!({"parts": [{"text": system}]});
    }
    if !request.tools.is_empty() {
        let mut functions = Vec::with_capacity(request.tools.len());
        for tool in &request.tools {
            functions.push(json!({
                "name": tool.name, "description": tool.description,
                // The whole of JSON Schema; `parameters` takes less, and refuses the rest.
                "parametersJsonSchema": json(&tool.schema)?,
            }));
        }
        body["tools"] = json!([{"functionDeclarations": functions}]);
    }
    if let Some(most) = request.max_output_tokens {
        body["generationConfig"]["maxOutputTokens"] = json!(most);
    }
    if thoughts {
        body["generationConfig"]["thinkingConfig"] = json!({"includeThoughts": true});
    }
    Ok(body)
}

fn parts(message: &Message, before: &[Message]) -> Result<Vec<Json>, ModelError> {
    let mut parts = Vec::with_capacity(message.parts.len());
    // The signature that waits for what it stands on.
    let mut waiting: Option<(&str, Json)> = None;
    for part in &message.parts {
        let (on, mut made) = match part {
            ContentPart::Text(text) if text.is_empty() => continue,
            ContentPart::Text(text) => ("text", json!({"text": text})),
            ContentPart::ToolCall(call) => {
                let mut made =
                    json!({"functionCall": {"name": call.name, "args": arguments(call)?}});
                name_id(&mut made["functionCall"], &call.id);
                ("call", made)
            }
            ContentPart::ToolResult(result) => ("result", response(result, before)?),
            ContentPart::Opaque { kind, data } if kind == PART => ("part", unsealed(data)?),
            ContentPart::Opaque { kind, data } if kind == SIGNATURE => {
                parts.extend(waiting.take().map(|(_, signature)| alone(signature)));
                let text = |field: &str| data.get(field).and_then(Value::as_str);
                let signature = json!(text("signature").unwrap_or_default());
                match text("on") {
                    Some(on @ ("call" | "text")) => waiting = Some((on, signature)),
                    _ => parts.push(alone(signature)),
                }
                continue;
            }
            ContentPart::Opaque { .. } => continue,
        };
        match waiting.take() {
            Some((of, signature)) if of == on => made["thoughtSignature"] = signature,
            Some((_, signature)) => parts.push(alone(signature)),
            None => {}
        }
        parts.push(made);
    }
    parts.extend(waiting.take().map(|(_, signature)| alone(signature)));
    Ok(parts)
}

fn alone(signature: Json) -> Json {
    json!({"text": "", "thoughtSignature": signature})
}

fn name_id(part: &mut Json, id: &str) {
    if !id.is_empty() && !id.starts_with(OWN_ID) {
        part["id"] = json!(id);
    }
}

/// A result is given under the name of what was called, which stands in the message before it.
fn response(result: &ToolResult, before: &[Message]) -> Result<Json, ModelError> {
    let called = before.iter().rev().flat_map(Message::tool_calls);
    let Some(call) = called.into_iter().find(|call| call.id == result.call_id) else {
        return Err(ModelError::invalid(format!(
            "a tool result is for the call {:?}, which is not there",
            result.call_id
        )));
    };
    let field = if result.is_error { "error" } else { "output" };
    let mut response = json!({
        "name": call.name, "response": {field: shown_content(&result.content)},
    });
    name_id(&mut response, &call.id);
    Ok(json!({"functionResponse": response}))
}
