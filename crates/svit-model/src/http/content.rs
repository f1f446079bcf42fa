//! What of a request is the same in every format: its checks, and values as JSON.

use serde_json::{Value as Json, json};
use svit_value::Value;

use crate::error::ModelError;
use crate::message::{ContentPart, Message, Role};
use crate::provider::ModelRequest;
use crate::tool::{ToolCall, ToolResult, ToolSpec};

/// Whether a request can be sent to anybody.
pub(crate) fn check(request: &ModelRequest) -> Result<(), ModelError> {
    if request.model.is_empty() {
        return Err(ModelError::invalid("the model's name is empty"));
    }
    if request.messages.is_empty() {
        return Err(ModelError::invalid("there are no messages"));
    }
    request.messages.iter().try_for_each(check_message)?;
    request.tools.iter().try_for_each(ToolSpec::check)
}

/// Parts stand in messages of their role only: elsewhere they would be dropped without a word.
fn check_message(message: &Message) -> Result<(), ModelError> {
    for part in &message.parts {
        let right = match part {
            ContentPart::Text(_) => message.role != Role::Tool,
            ContentPart::ToolCall(_) | ContentPart::Opaque { .. } => {
                message.role == Role::Assistant
            }
            ContentPart::ToolResult(_) => message.role == Role::Tool,
        };
        if !right {
            let name = match part {
                ContentPart::Text(_) => "text",
                ContentPart::ToolCall(_) => "a tool call",
                ContentPart::ToolResult(_) => "a tool result",
                ContentPart::Opaque { .. } => "an opaque part",
            };
            return Err(ModelError::invalid(format!(
                "a message of role {} holds {name}",
                message.role
            )));
        }
    }
    Ok(())
}

/// A call's arguments for the history. Servers parse them, so malformed ones are wrapped, not repeated.
pub(crate) fn arguments(call: &ToolCall) -> Result<Json, ModelError> {
    match &call.arguments {
        Value::Map(_) => json(&call.arguments),
        other => Ok(json!({"malformed_arguments": json(other)?})),
    }
}

/// A tool's result as the model sees it, where the format has no place for errors.
pub(crate) fn shown(result: &ToolResult) -> String {
    if !result.is_error {
        return shown_content(&result.content);
    }
    match json(&result.content) {
        Ok(content) => json!({"error": content}).to_string(),
        Err(error) => format!("This error cannot be shown: {error}."),
    }
}

/// What a tool gave back as the model sees it: text as it is, everything else as JSON.
pub(crate) fn shown_content(content: &Value) -> String {
    match content {
        Value::Text(text) => text.as_str().to_owned(),
        content => content
            .to_json()
            .unwrap_or_else(|error| format!("This value cannot be shown: {error}.")),
    }
}

/// An item of the wire as a value. One that no value can hold is kept as its text.
pub(crate) fn sealed(item: &Json) -> Value {
    let text = item.to_string();
    Value::from_json(&text).unwrap_or_else(|_| Value::from(text))
}

pub(crate) fn unsealed(data: &Value) -> Result<Json, ModelError> {
    match data {
        Value::Text(text) => serde_json::from_str(text.as_str())
            .map_err(|error| ModelError::invalid(format!("an opaque part is not JSON: {error}"))),
        data => json(data),
    }
}

pub(crate) fn json(value: &Value) -> Result<Json, ModelError> {
    serde_json::to_value(value)
        .map_err(|error| ModelError::invalid(format!("a value has no JSON form: {error}")))
}
