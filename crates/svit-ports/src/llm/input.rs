//! What a guest says, as a request of a model; and the manual that tells it how.

use svit_model::{Message, ModelRequest};
use svit_value::{Map, Value, value};

use super::{LlmError, LlmLimits};
use crate::error::cut;

const FIELDS: [&str; 3] = ["prompt", "system", "max_output_tokens"];

fn bad_input(field: &'static str, why: impl Into<String>) -> LlmError {
    let why = why.into();
    LlmError::BadInput { field, why }
}

/// The request that an input asks for.
pub(super) fn request(input: &Value, limits: &LlmLimits) -> Result<ModelRequest, LlmError> {
    let fields = FIELDS.join(", ");
    let Some(input) = input.as_map() else {
        let why = format!("give a map with prompt, and if need be others of {fields}");
        return Err(bad_input("input", why));
    };
    if let Some(key) = input.keys().find(|key| !FIELDS.contains(&key.as_str())) {
        let why = format!("there is no field {:?}; there are {fields}", cut(key, 60));
        return Err(bad_input("input", why));
    }
    let prompt = text(input, "prompt")?.filter(|prompt| !prompt.trim().is_empty());
    let prompt = prompt.ok_or_else(|| bad_input("prompt", "it is missing or empty"))?;
    let system = text(input, "system")?;
    let actual = (prompt.len() + system.map_or(0, str::len)) as u64;
    let allowed = limits.max_prompt_bytes;
    if actual > allowed {
        return Err(LlmError::PromptTooLarge { allowed, actual });
    }
    Ok(ModelRequest {
        system: system.map(str::to_owned),
        messages: vec![Message::user(prompt)],
        max_output_tokens: Some(max_output_tokens(input, limits)?),
        ..ModelRequest::default()
    })
}

fn text<'a>(input: &'a Map, field: &'static str) -> Result<Option<&'a str>, LlmError> {
    match input.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Text(text)) => Ok(Some(text.as_str())),
        Some(other) => {
            let why = format!("it is a text, not {}", other.kind());
            Err(bad_input(field, why))
        }
    }
}

fn max_output_tokens(input: &Map, limits: &LlmLimits) -> Result<u32, LlmError> {
    let most = limits.max_output_tokens;
    let asked = match input.get("max_output_tokens") {
        None | Some(Value::Null) => return Ok(most),
        Some(value) => value.as_int(),
    };
    match asked {
        Some(tokens @ 1..) => Ok(u32::try_from(tokens).unwrap_or(most).min(most)),
        _ => Err(bad_input("max_output_tokens", "it is a positive integer")),
    }
}

pub(super) fn input_schema(limits: &LlmLimits) -> Value {
    value!({
        "type": "object",
        "required": ["prompt"],
        "additionalProperties": false,
        "properties": {
            "prompt": {"type": "string", "description": "what the model is asked; it sees nothing else"},
            "system": {"type": "string", "description": "instructions that stand above it"},
            "max_output_tokens": {
                "type": "integer",
                "minimum": 1,
                "description": (format!("{} if left out, and at most", limits.max_output_tokens))
            }
        }
    })
}

pub(super) fn output_schema() -> Value {
    value!({
        "type": "object",
        "required": ["text", "finish", "model", "input_tokens", "output_tokens"],
        "properties": {
            "text": {"type": "string"},
            "finish": {
                "type": "string",
                "description": "stop; length if the bound on tokens cut the text; or the provider's word"
            },
            "model": {"type": "string"},
            "input_tokens": {"type": "integer", "description": "0 if the provider did not say"},
            "output_tokens": {"type": "integer", "description": "0 if the provider did not say"}
        }
    })
}
