//! Is this body right for Ollama's `POST /api/chat`? The real one lets most things pass; this one does not.

use serde_json::Value;

use super::check::{
    Checked, distinct, flag, full_text, function, function_name, list, object, refuse, text,
};

const FIELDS: &[&str] = &[
    "model",
    "messages",
    "tools",
    "stream",
    "think",
    "options",
    "truncate",
    "shift",
    "format",
    "keep_alive",
];

pub(super) fn check(body: &Value) -> Checked {
    let fields = object(body, "body", FIELDS)?;
    full_text(fields, "body", "model")?;
    for field in ["stream", "think", "truncate", "shift"] {
        flag(fields, field)?;
    }
    if let Some(options) = fields.get("options") {
        object(
            options,
            "options",
            &["num_ctx", "num_predict", "temperature"],
        )?;
    }
    if fields.contains_key("tools") {
        let mut names = Vec::new();
        for tool in list(fields, "body", "tools")? {
            let tool = object(tool, "tools", &["type", "function"])?;
            let inside = tool.get("function").unwrap_or(&Value::Null);
            let inside = object(inside, "tools", &["name", "description", "parameters"])?;
            names.push(function(inside, "tools")?);
        }
        distinct(names)?;
    }
    let mut open: Vec<&str> = Vec::new();
    let mut last = "";
    for (index, message) in list(fields, "body", "messages")?.iter().enumerate() {
        let place = format!("messages[{index}]");
        let known = ["role", "content", "thinking", "tool_calls", "tool_name"];
        let message = object(message, &place, &known)?;
        last = text(message, &place, "role")?;
        text(message, &place, "content")?;
        if last != "tool" && !open.is_empty() {
            return refuse(&place, format!("calls without a result: {open:?}"));
        }
        match last {
            "system" | "user" => {}
            "tool" => {
                let name = text(message, &place, "tool_name")?;
                match open.iter().position(|call| *call == name) {
                    Some(found) => drop(open.remove(found)),
                    None => return refuse(&place, "a result without a call"),
                }
            }
            "assistant" if message.contains_key("tool_calls") => {
                for call in list(message, &place, "tool_calls")? {
                    let call = object(call, &place, &["function"])?;
                    let inside = call.get("function").unwrap_or(&Value::Null);
                    let call = object(inside, &place, &["name", "arguments"])?;
                    let name = text(call, &place, "name")?;
                    function_name(name, &place)?;
                    if !call.get("arguments").is_some_and(Value::is_object) {
                        return refuse(&place, "arguments: must be an object");
                    }
                    open.push(name);
                }
            }
            "assistant" => {}
            other => return refuse(&place, format!("invalid role {other:?}")),
        }
    }
    if open.is_empty() && matches!(last, "user" | "tool") {
        Ok(())
    } else {
        refuse(
            "messages",
            "the last message must be the user's or a tool's",
        )
    }
}
