//! The stored form of messages. Reading is strict: what it does not know, it does not drop.
//!
//! ```text
//! {"role": "user" | "assistant" | "tool", "parts": [PART..], "id"?: int, "in_reply_to"?: int}
//! PART = {"kind": "text", "text": text}
//!      | {"kind": "tool_call", "id": text, "name": text, "arguments": value}
//!      | {"kind": "tool_result", "call_id": text, "content": value, "is_error": bool}
//!      | {"kind": "opaque", "of": text, "data": value}
//! ```

use svit_value::{List, Map, Value};

use super::{ContentPart, Message, MessageId, Role};
use crate::error::ModelError;
use crate::tool::{ToolCall, ToolResult};

impl Message {
    /// The stored form, lossless.
    ///
    /// # Errors
    /// [`ModelError::Value`] if a part is nested too deep to be held, or an id is past `i64::MAX`.
    pub fn to_value(&self) -> Result<Value, ModelError> {
        let mut parts = List::new();
        for part in &self.parts {
            parts.push(part.to_value()?)?;
        }
        let mut map = Map::new();
        map.insert("role", self.role.as_str())?;
        map.insert("parts", parts)?;
        for (field, id) in [("id", self.id), ("in_reply_to", self.in_reply_to)] {
            if let Some(id) = id {
                map.insert(field, Value::try_from(id.get())?)?;
            }
        }
        Ok(map.into())
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// [`ModelError::InvalidMessage`] with the place, for anything else than what
    /// [`to_value`](Self::to_value) writes: unknown roles, kinds and fields too.
    pub fn from_value(value: &Value) -> Result<Self, ModelError> {
        let fields = Fields::read(value, "message", &["role", "parts", "id", "in_reply_to"])?;
        let role = match fields.text("role")? {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "tool" => Role::Tool,
            other => return Err(fields.wrong("role", format!("unknown role {other:?}"))),
        };
        let list = fields
            .get("parts")?
            .as_list()
            .ok_or_else(|| fields.wrong("parts", "must be a list"))?;
        let mut parts = Vec::with_capacity(list.len());
        for (index, part) in list.iter().enumerate() {
            parts.push(ContentPart::read(part, &format!("parts/{index}"))?);
        }
        Ok(Self {
            role,
            parts,
            id: fields.id("id")?,
            in_reply_to: fields.id("in_reply_to")?,
        })
    }
}

impl ContentPart {
    fn to_value(&self) -> Result<Value, ModelError> {
        let mut map = Map::new();
        match self {
            Self::Text(text) => {
                map.insert("kind", "text")?;
                map.insert("text", text.as_str())?;
            }
            Self::ToolCall(call) => {
                map.insert("kind", "tool_call")?;
                map.insert("id", call.id.as_str())?;
                map.insert("name", call.name.as_str())?;
                map.insert("arguments", call.arguments.clone())?;
            }
            Self::ToolResult(result) => {
                map.insert("kind", "tool_result")?;
                map.insert("call_id", result.call_id.as_str())?;
                map.insert("content", result.content.clone())?;
                map.insert("is_error", result.is_error)?;
            }
            Self::Opaque { kind, data } => {
                map.insert("kind", "opaque")?;
                map.insert("of", kind.as_str())?;
                map.insert("data", data.clone())?;
            }
        }
        Ok(map.into())
    }

    fn read(value: &Value, place: &str) -> Result<Self, ModelError> {
        let kind = value
            .get("kind")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let known: &[&str] = match kind {
            "text" => &["kind", "text"],
            "tool_call" => &["kind", "id", "name", "arguments"],
            "tool_result" => &["kind", "call_id", "content", "is_error"],
            "opaque" => &["kind", "of", "data"],
            other => {
                return Err(invalid(
                    format!("{place}/kind"),
                    format!("unknown kind {other:?}"),
                ));
            }
        };
        let fields = Fields::read(value, place, known)?;
        Ok(match kind {
            "text" => Self::Text(fields.text("text")?.to_owned()),
            "tool_call" => Self::ToolCall(ToolCall {
                id: fields.text("id")?.to_owned(),
                name: fields.text("name")?.to_owned(),
                arguments: fields.get("arguments")?.clone(),
            }),
            "tool_result" => Self::ToolResult(ToolResult {
                call_id: fields.text("call_id")?.to_owned(),
                content: fields.get("content")?.clone(),
                is_error: fields
                    .get("is_error")?
                    .as_bool()
                    .ok_or_else(|| fields.wrong("is_error", "must be true or false"))?,
            }),
            _ => Self::Opaque {
                kind: fields.text("of")?.to_owned(),
                data: fields.get("data")?.clone(),
            },
        })
    }
}

/// A map with known fields, and its place for errors.
struct Fields<'a> {
    map: &'a Map,
    place: &'a str,
}

impl<'a> Fields<'a> {
    fn read(value: &'a Value, place: &'a str, known: &[&str]) -> Result<Self, ModelError> {
        let map = value
            .as_map()
            .ok_or_else(|| invalid(place, "must be a map"))?;
        match map.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(invalid(
                format!("{place}/{}", key.as_str()),
                "unknown field",
            )),
            None => Ok(Self { map, place }),
        }
    }

    fn wrong(&self, field: &str, problem: impl Into<String>) -> ModelError {
        invalid(format!("{}/{field}", self.place), problem)
    }

    fn get(&self, field: &str) -> Result<&'a Value, ModelError> {
        self.map
            .get(field)
            .ok_or_else(|| self.wrong(field, "missing"))
    }

    fn text(&self, field: &str) -> Result<&'a str, ModelError> {
        self.get(field)?
            .as_str()
            .ok_or_else(|| self.wrong(field, "must be text"))
    }

    fn id(&self, field: &str) -> Result<Option<MessageId>, ModelError> {
        let Some(value) = self.map.get(field) else {
            return Ok(None);
        };
        match value.as_int().and_then(|number| u64::try_from(number).ok()) {
            Some(number) => Ok(Some(MessageId::new(number))),
            None => Err(self.wrong(field, "must be a whole number from 0")),
        }
    }
}

fn invalid(place: impl Into<String>, problem: impl Into<String>) -> ModelError {
    ModelError::InvalidMessage {
        place: place.into(),
        problem: problem.into(),
    }
}
