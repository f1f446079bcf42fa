//! Is this body right for `POST /v1/chat/completions`?

#[cfg(test)]
mod tests;

use serde_json::Value;

use super::check::{
    Checked, arguments, content, distinct, flag, full_text, function, function_name, list, object,
    refuse, settings, text,
};

const FIELDS: &[&str] = &[
    "model",
    "messages",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "stream",
    "stream_options",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "top_p",
    "seed",
    "stop",
    "response_format",
    "reasoning_effort",
    "verbosity",
    "service_tier",
    "store",
    "metadata",
    "user",
    "prompt_cache_key",
];

pub(super) fn check(body: &Value) -> Checked {
    let fields = object(body, "body", FIELDS)?;
    full_text(fields, "body", "model")?;
    let streaming = flag(fields, "stream")?;
    if let Some(options) = fields.get("stream_options") {
        if !streaming {
            return refuse(
                "stream_options",
                "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
            );
        }
        object(options, "stream_options", &["include_usage"])?;
    }
    settings(fields)?;
    if fields.contains_key("tools") {
        let mut names = Vec::new();
        for (index, tool) in list(fields, "body", "tools")?.iter().enumerate() {
            let place = format!("tools[{index}]");
            let tool = object(tool, &place, &["type", "function"])?;
            if text(tool, &place, "type")? != "function" {
                return refuse(&place, "Unsupported tool type.");
            }
            let place = format!("{place}.function");
            let inside = tool.get("function").unwrap_or(&Value::Null);
            let inside = object(
                inside,
                &place,
                &["name", "description", "parameters", "strict"],
            )?;
            names.push(function(inside, &place)?);
        }
        distinct(names)?;
    }
    messages(list(fields, "body", "messages")?)
}

/// Roles, contents, and that each call is answered once, directly after the message that made it.
fn messages(messages: &[Value]) -> Checked {
    let mut open: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let place = format!("messages[{index}]");
        let role = message["role"].as_str().unwrap_or_default();
        if role != "tool" && !open.is_empty() {
            return unanswered(&place, &open);
        }
        match role {
            "system" | "developer" | "user" => {
                let fields = object(message, &place, &["role", "content", "name"])?;
                content(
                    fields.get("content"),
                    &format!("{place}.content"),
                    &["text"],
                )?;
            }
            "assistant" => open = assistant(message, &place)?,
            "tool" => {
                let fields = object(message, &place, &["role", "content", "tool_call_id"])?;
                content(
                    fields.get("content"),
                    &format!("{place}.content"),
                    &["text"],
                )?;
                let id = text(fields, &place, "tool_call_id")?;
                let Some(found) = open.iter().position(|call| *call == id) else {
                    return refuse(
                        &place,
                        "messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
                    );
                };
                open.remove(found);
            }
            other => {
                return refuse(
                    &format!("{place}.role"),
                    format!("Invalid role: {other:?}."),
                );
            }
        }
    }
    if !open.is_empty() {
        return unanswered("messages", &open);
    }
    match messages.last() {
        Some(last) if last["role"] == "user" || last["role"] == "tool" => Ok(()),
        _ => refuse(
            "messages",
            "the last message must be the user's or a tool's",
        ),
    }
}

fn unanswered<T>(place: &str, open: &[&str]) -> Checked<T> {
    refuse(
        place,
        format!(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
             'tool_call_id'. The following tool_call_ids did not have response messages: {}",
            open.join(", ")
        ),
    )
}

/// The ids of the calls that the message makes.
fn assistant<'a>(message: &'a Value, place: &str) -> Checked<Vec<&'a str>> {
    let fields = object(
        message,
        place,
        &[
            "role",
            "content",
            "refusal",
            "name",
            "tool_calls",
            "reasoning_content",
        ],
    )?;
    let mut ids = Vec::new();
    if fields.contains_key("tool_calls") {
        for (index, call) in list(fields, place, "tool_calls")?.iter().enumerate() {
            let place = format!("{place}.tool_calls[{index}]");
            let call = object(call, &place, &["id", "type", "function"])?;
            let id = full_text(call, &place, "id")?;
            if text(call, &place, "type")? != "function" {
                return refuse(&place, "Unsupported tool call type.");
            }
            let inside = object(
                call.get("function").unwrap_or(&Value::Null),
                &format!("{place}.function"),
                &["name", "arguments"],
            )?;
            function_name(text(inside, &place, "name")?, &place)?;
            arguments(text(inside, &place, "arguments")?, &place)?;
            if ids.contains(&id) {
                return refuse(&place, format!("Duplicate tool call id '{id}'."));
            }
            ids.push(id);
        }
    }
    let silent = fields.get("content").is_none_or(Value::is_null);
    if !silent || ids.is_empty() {
        content(
            fields.get("content"),
            &format!("{place}.content"),
            &["text", "refusal"],
        )?;
    }
    Ok(ids)
}
