//! Is this body right for `POST /v1/responses`?

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use super::check::{
    Checked, arguments, content, distinct, flag, full_text, function, function_name, list, object,
    refuse, settings, text,
};
use super::wire::seal;

const FIELDS: &[&str] = &[
    "model",
    "input",
    "instructions",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "stream",
    "store",
    "include",
    "reasoning",
    "text",
    "max_output_tokens",
    "temperature",
    "top_p",
    "truncation",
    "metadata",
    "service_tier",
    "prompt_cache_key",
];

pub(super) fn check(body: &Value) -> Checked {
    let fields = object(body, "body", FIELDS)?;
    full_text(fields, "body", "model")?;
    flag(fields, "stream")?;
    flag(fields, "store")?;
    settings(fields)?;
    if fields.contains_key("instructions") {
        text(fields, "body", "instructions")?;
    }
    if fields.contains_key("include") {
        for included in list(fields, "body", "include")? {
            if included != "reasoning.encrypted_content" {
                return refuse("include", format!("Invalid value: {included}."));
            }
        }
    }
    if let Some(reasoning) = fields.get("reasoning") {
        object(reasoning, "reasoning", &["effort", "summary"])?;
    }
    if fields.contains_key("tools") {
        let mut names = Vec::new();
        for (index, tool) in list(fields, "body", "tools")?.iter().enumerate() {
            let place = format!("tools[{index}]");
            let tool = object(
                tool,
                &place,
                &["type", "name", "description", "parameters", "strict"],
            )?;
            if text(tool, &place, "type")? != "function" {
                return refuse(&place, "Unsupported tool type.");
            }
            names.push(function(tool, &place)?);
        }
        distinct(names)?;
    }
    match fields.get("input") {
        Some(Value::String(_)) => Ok(()),
        _ => input(list(fields, "body", "input")?),
    }
}

/// Items, and that each call is answered once, before the conversation goes on.
fn input(items: &[Value]) -> Checked {
    let mut open: Vec<&str> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let place = format!("input[{index}]");
        let kind = match (&item["type"], &item["role"]) {
            (Value::String(kind), _) => kind.as_str(),
            (Value::Null, Value::String(_)) => "message",
            _ => return refuse(&place, "must have a type or a role"),
        };
        match kind {
            "message" => {
                message(item, &place)?;
                if item["role"] != "assistant" && !open.is_empty() {
                    return unanswered(&open);
                }
            }
            "function_call" => {
                let fields = object(
                    item,
                    &place,
                    &["type", "id", "call_id", "name", "arguments", "status"],
                )?;
                let id = full_text(fields, &place, "call_id")?;
                function_name(text(fields, &place, "name")?, &place)?;
                arguments(text(fields, &place, "arguments")?, &place)?;
                if open.contains(&id) {
                    return refuse(&place, format!("Duplicate call_id '{id}'."));
                }
                open.push(id);
            }
            "function_call_output" => {
                let fields = object(item, &place, &["type", "id", "call_id", "output", "status"])?;
                let id = text(fields, &place, "call_id")?;
                content(
                    fields.get("output"),
                    &format!("{place}.output"),
                    &["input_text"],
                )?;
                let Some(found) = open.iter().position(|call| *call == id) else {
                    return refuse(
                        &place,
                        format!("No tool call found for function call output with call_id {id}."),
                    );
                };
                open.remove(found);
            }
            "reasoning" => reasoning(item, &place)?,
            other => return refuse(&place, format!("Invalid item type {other:?}.")),
        }
    }
    if !open.is_empty() {
        return unanswered(&open);
    }
    match items.last() {
        Some(last) if last["role"] == "user" || last["type"] == "function_call_output" => Ok(()),
        _ => refuse(
            "input",
            "the last item must be the user's message or a call's output",
        ),
    }
}

fn unanswered<T>(open: &[&str]) -> Checked<T> {
    refuse(
        "input",
        format!(
            "No tool output found for function call {}.",
            open.join(", ")
        ),
    )
}

fn message(item: &Value, place: &str) -> Checked {
    let fields = object(item, place, &["type", "id", "role", "content", "status"])?;
    let types: &[&str] = match text(fields, place, "role")? {
        "user" | "system" | "developer" => &["input_text"],
        "assistant" => &["output_text", "refusal"],
        other => {
            return refuse(
                &format!("{place}.role"),
                format!("Invalid role: {other:?}."),
            );
        }
    };
    content(fields.get("content"), &format!("{place}.content"), types)
}

/// Reasoning must be what this server gave out, word for word: its seal covers the id and the summary.
fn reasoning(item: &Value, place: &str) -> Checked {
    let fields: &Map<String, Value> = object(
        item,
        place,
        &[
            "type",
            "id",
            "summary",
            "encrypted_content",
            "content",
            "status",
        ],
    )?;
    let id = full_text(fields, place, "id")?;
    let Some(Value::String(sealed)) = fields.get("encrypted_content") else {
        return refuse(
            place,
            format!(
                "Item with id '{id}' not found. Items are not persisted when `store` is set to false."
            ),
        );
    };
    let summary = fields.get("summary").unwrap_or(&Value::Null);
    if !summary.is_array() {
        return refuse(&format!("{place}.summary"), "must be an array");
    }
    if *sealed != seal(id, summary) {
        return refuse(
            place,
            format!("The encrypted content for item {id} could not be verified."),
        );
    }
    Ok(())
}
