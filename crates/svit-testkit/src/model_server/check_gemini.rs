//! Is this body right for Gemini's `generateContent`?

use serde_json::{Map, Value};

use super::check::{Checked, distinct, function_name, list, object, refuse, schema, text};
use super::gemini::{last_signature, signature};

const FIELDS: &[&str] = &[
    "contents",
    "systemInstruction",
    "tools",
    "toolConfig",
    "generationConfig",
    "safetySettings",
];

pub(super) fn check(body: &Value) -> Checked {
    let fields = object(body, "body", FIELDS)?;
    if let Some(system) = fields.get("systemInstruction") {
        let system = object(system, "systemInstruction", &["parts"])?;
        for part in list(system, "systemInstruction", "parts")? {
            text(
                object(part, "systemInstruction", &["text"])?,
                "systemInstruction",
                "text",
            )?;
        }
    }
    if let Some(config) = fields.get("generationConfig") {
        let known = ["maxOutputTokens", "temperature", "topP", "thinkingConfig"];
        let config = object(config, "generationConfig", &known)?;
        if let Some(thinking) = config.get("thinkingConfig") {
            let known = ["includeThoughts", "thinkingBudget", "thinkingLevel"];
            object(thinking, "thinkingConfig", &known)?;
        }
    }
    if fields.contains_key("tools") {
        let mut names = Vec::new();
        for tool in list(fields, "body", "tools")? {
            let tool = object(tool, "tools", &["functionDeclarations"])?;
            for function in list(tool, "tools", "functionDeclarations")? {
                let known = ["name", "description", "parametersJsonSchema"];
                let function = object(function, "tools", &known)?;
                let name = text(function, "tools", "name")?;
                function_name(name, "tools")?;
                names.push(name.to_owned());
                match function.get("parametersJsonSchema") {
                    Some(parameters) if parameters["type"] == "object" => {
                        schema(parameters, name, 0)?;
                    }
                    _ => return refuse(name, "parametersJsonSchema: must have type \"object\""),
                }
            }
        }
        distinct(names)?;
    }
    contents(list(fields, "body", "contents")?)
}

/// That each call is answered by its name, and its id if it has one, directly after it.
fn contents(contents: &[Value]) -> Checked {
    let mut open: Vec<Value> = Vec::new();
    let mut last = "";
    for (index, content) in contents.iter().enumerate() {
        let place = format!("contents[{index}]");
        let fields = object(content, &place, &["role", "parts"])?;
        last = text(fields, &place, "role")?;
        let mut calls = Vec::new();
        for (index, part) in list(fields, &place, "parts")?.iter().enumerate() {
            let place = format!("{place}.parts[{index}]");
            let known = [
                "text",
                "functionCall",
                "functionResponse",
                "thoughtSignature",
            ];
            let part = object(part, &place, &known)?;
            match last {
                "model" => calls.extend(said(part, &place)?),
                "user" => answered(part, &place, &mut open)?,
                _ => return refuse(&place, "Please use a valid role: user, model."),
            }
        }
        if !open.is_empty() {
            return refuse(
                &place,
                "the number of function response parts must be equal to the number of function call parts",
            );
        }
        open = calls;
    }
    if last == "user" {
        Ok(())
    } else {
        refuse("contents", "the last content must be the user's")
    }
}

/// A part of the model's: its call, if it is one.
fn said(part: &Map<String, Value>, place: &str) -> Checked<Option<Value>> {
    let signed = part.get("thoughtSignature");
    let Some(call) = part.get("functionCall") else {
        let said = text(part, place, "text")?;
        return match signed {
            Some(signature) if *signature != last_signature() || !said.is_empty() => {
                refuse(place, "Thought signature is not valid")
            }
            _ => Ok(None),
        };
    };
    let call = object(call, place, &["id", "name", "args"])?;
    let name = text(call, place, "name")?;
    function_name(name, place)?;
    let Some(arguments @ Value::Object(_)) = call.get("args") else {
        return refuse(place, "args: must be an object");
    };
    if signed.is_some_and(|signed| *signed != signature(name, arguments)) {
        return refuse(place, "Thought signature is not valid");
    }
    Ok(Some(
        serde_json::json!({"id": call.get("id"), "name": name}),
    ))
}

fn answered(part: &Map<String, Value>, place: &str, open: &mut Vec<Value>) -> Checked {
    let Some(response) = part.get("functionResponse") else {
        text(part, place, "text")?;
        return Ok(());
    };
    let response = object(response, place, &["id", "name", "response"])?;
    let call =
        serde_json::json!({"id": response.get("id"), "name": text(response, place, "name")?});
    if !response.get("response").is_some_and(Value::is_object) {
        return refuse(place, "response: must be an object");
    }
    match open.iter().position(|asked| *asked == call) {
        Some(found) => {
            open.remove(found);
            Ok(())
        }
        None => refuse(place, format!("no call for the function response {call}")),
    }
}
