//! Is this body right for Anthropic's `POST /v1/messages`?

use serde_json::{Map, Value};

use super::check::{
    Checked, distinct, flag, full_text, function_name, list, object, refuse, schema, settings, text,
};
use super::messages::signature;

const FIELDS: &[&str] = &[
    "model",
    "max_tokens",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "stream",
    "thinking",
    "temperature",
    "top_p",
    "stop_sequences",
    "metadata",
];

pub(super) fn check(body: &Value) -> Checked {
    let fields = object(body, "body", FIELDS)?;
    full_text(fields, "body", "model")?;
    flag(fields, "stream")?;
    settings(fields)?;
    let Some(most) = fields.get("max_tokens").and_then(Value::as_u64) else {
        return refuse("max_tokens", "Field required");
    };
    if fields.contains_key("system") {
        full_text(fields, "body", "system")?;
    }
    if let Some(thinking) = fields.get("thinking") {
        let thinking = object(thinking, "thinking", &["type", "budget_tokens"])?;
        let budget = thinking.get("budget_tokens").and_then(Value::as_u64);
        match (text(thinking, "thinking", "type")?, budget) {
            ("adaptive", None) => {}
            ("enabled", Some(budget)) if budget >= 1024 && budget < most => {}
            _ => return refuse("thinking", "budget_tokens: from 1024 and below max_tokens"),
        }
    }
    if fields.contains_key("tools") {
        let mut names = Vec::new();
        for (index, tool) in list(fields, "body", "tools")?.iter().enumerate() {
            let place = format!("tools[{index}]");
            let tool = object(tool, &place, &["name", "description", "input_schema"])?;
            let name = text(tool, &place, "name")?;
            function_name(name, &place)?;
            names.push(name.to_owned());
            match tool.get("input_schema") {
                Some(input) if input["type"] == "object" => schema(input, &place, 0)?,
                _ => return refuse(&place, "input_schema: must have type \"object\""),
            }
        }
        distinct(names)?;
    }
    messages(list(fields, "body", "messages")?)
}

/// That each call is answered once, at the beginning of the user's message after it.
fn messages(messages: &[Value]) -> Checked {
    let mut open: Vec<String> = Vec::new();
    let mut last = "";
    for (index, message) in messages.iter().enumerate() {
        let place = format!("messages[{index}]");
        let fields = object(message, &place, &["role", "content"])?;
        let content = list(fields, &place, "content")?;
        last = text(fields, &place, "role")?;
        let mut calls = Vec::new();
        let mut spoke = false;
        for (index, block) in content.iter().enumerate() {
            let place = format!("{place}.content[{index}]");
            let kind = block["type"].as_str().unwrap_or_default();
            match (last, kind) {
                (_, "text") => {
                    spoke = true;
                    said(object(block, &place, &["type", "text"])?, &place)?;
                }
                ("user", "tool_result") => {
                    let known = ["type", "tool_use_id", "content", "is_error"];
                    let block = object(block, &place, &known)?;
                    flag(block, "is_error")?;
                    text(block, &place, "content")?;
                    let id = text(block, &place, "tool_use_id")?;
                    let found = open.iter().position(|call| call == id);
                    let Some(found) = found.filter(|_| !spoke) else {
                        return refuse(&place, "unexpected `tool_use_id` found in `tool_result`");
                    };
                    open.remove(found);
                }
                ("assistant", "thinking") => {
                    let block = object(block, &place, &["type", "thinking", "signature"])?;
                    let thinking = block.get("thinking").unwrap_or(&Value::Null);
                    if text(block, &place, "signature")? != signature(thinking) {
                        return refuse(&place, "Invalid `signature` in `thinking` block");
                    }
                }
                ("assistant", "tool_use") => calls.push(call(block, &place)?),
                _ => return refuse(&place, format!("unexpected block {kind:?} of role {last}")),
            }
        }
        if !open.is_empty() {
            return refuse(
                &place,
                format!("`tool_use` ids without `tool_result`: {open:?}"),
            );
        }
        open = calls;
    }
    if last == "user" {
        Ok(())
    } else {
        refuse("messages", "the last message must be the user's")
    }
}

fn said(block: &Map<String, Value>, place: &str) -> Checked {
    if text(block, place, "text")?.trim().is_empty() {
        return refuse(
            place,
            "text content blocks must contain non-whitespace text",
        );
    }
    Ok(())
}

fn call(block: &Value, place: &str) -> Checked<String> {
    let block = object(block, place, &["type", "id", "name", "input"])?;
    let id = text(block, place, "id")?;
    function_name(id, place)?;
    function_name(text(block, place, "name")?, place)?;
    match block.get("input") {
        Some(Value::Object(_)) => Ok(id.to_owned()),
        _ => refuse(place, "input: must be an object"),
    }
}
