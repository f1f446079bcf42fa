//! Tools: what a model may call, what it called, and what came back.

#[cfg(test)]
mod tests;

use svit_value::{Kind, Map, Value};

use crate::error::ModelError;

/// A tool as a model sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolSpec {
    /// The name: 1 to 64 of `A-Z a-z 0-9 _ -`.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON Schema of its arguments: an object, and objects all the way down.
    pub schema: Value,
}

impl ToolSpec {
    /// A tool.
    pub fn new(name: impl Into<String>, description: impl Into<String>, schema: Value) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            schema,
        }
    }

    /// Whether providers will take it.
    ///
    /// # Errors
    /// [`ModelError::Invalid`] for a name that they refuse, and for a schema that is not of type `object`
    /// or holds a schema that is not a map: one plain `true` makes some clients reject the whole list.
    pub fn check(&self) -> Result<(), ModelError> {
        let letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if !(1..=64).contains(&self.name.len()) || !self.name.bytes().all(letter) {
            return Err(ModelError::invalid(format!(
                "tool name {:?}: use 1 to 64 of A-Z a-z 0-9 _ -",
                self.name
            )));
        }
        if self.schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err(ModelError::invalid(format!(
                "tool {:?}: the schema's type must be \"object\"",
                self.name
            )));
        }
        schema_is_maps(&self.schema).map_err(|place| {
            ModelError::invalid(format!(
                "tool {:?}: the schema at {place:?} must be a map",
                self.name
            ))
        })
    }
}

/// The keyword below which something else than a map stands where a schema should.
fn schema_is_maps(schema: &Value) -> Result<(), String> {
    let map = schema.as_map().ok_or_else(String::new)?;
    let inside = |place: &str, schema: &Value| {
        schema_is_maps(schema)
            .map_err(|deeper| format!("{place}/{deeper}").trim_end_matches('/').to_owned())
    };
    for (keyword, value) in map.iter() {
        let keyword = keyword.as_str();
        match keyword {
            "properties" | "$defs" | "definitions" | "patternProperties" => {
                for (name, schema) in value.as_map().ok_or(keyword)?.iter() {
                    inside(&format!("{keyword}/{}", name.as_str()), schema)?;
                }
            }
            "items" | "not" | "contains" | "propertyNames" => inside(keyword, value)?,
            "additionalProperties" if value.kind() != Kind::Bool => inside(keyword, value)?,
            "anyOf" | "oneOf" | "allOf" | "prefixItems" => {
                for schema in value.as_list().ok_or(keyword)?.iter() {
                    inside(keyword, schema)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// A tool call of a model.
///
/// Models fail at JSON now and then. Then `arguments` is the text that the model wrote, not a map, and
/// [`input`](Self::input) is an error whose text lets the model mend its call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// The provider's id of the call. Providers reuse them: it names a call within its message only.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments: a map, or the text of what should have been one.
    pub arguments: Value,
}

impl ToolCall {
    /// A call with arguments.
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl Into<Value>,
    ) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            arguments: arguments.into(),
        }
    }

    /// A call with arguments as a model wrote them. Nothing at all means no arguments; what is not a JSON
    /// object is kept as text.
    ///
    /// ```
    /// use svit_model::ToolCall;
    ///
    /// let call = ToolCall::from_json("call_1", "write", r#"{"path": "/memory/x""#);
    /// assert_eq!(call.arguments.as_str(), Some(r#"{"path": "/memory/x""#));
    /// assert_eq!(call.input().unwrap_err().code(), "malformed_arguments");
    /// ```
    pub fn from_json(id: impl Into<String>, name: impl Into<String>, text: &str) -> Self {
        let text = if text.trim().is_empty() { "{}" } else { text };
        let arguments = match Value::from_json(text) {
            Ok(value) if value.kind() == Kind::Map => value,
            _ => Value::from(text),
        };
        Self {
            id: id.into(),
            name: name.into(),
            arguments,
        }
    }

    /// The arguments, if they are what they should be.
    ///
    /// # Errors
    /// [`ModelError::MalformedArguments`], to be given to the model as the tool's result.
    // THREAT[TM-MODEL-3]
    pub fn input(&self) -> Result<&Map, ModelError> {
        let problem = match &self.arguments {
            Value::Map(map) => return Ok(map),
            Value::Text(text) => match Value::from_json(text.as_str()) {
                Ok(value) => format!("they are of kind {}", value.kind()),
                Err(error) => error.to_string(),
            },
            other => format!("they are of kind {}", other.kind()),
        };
        Err(ModelError::MalformedArguments {
            tool: self.name.clone(),
            problem,
        })
    }
}

/// What a tool gave back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// The [`id`](ToolCall::id) of the call.
    pub call_id: String,
    /// The result: text is shown to the model as it is, everything else as JSON.
    pub content: Value,
    /// Whether the tool failed; then `content` says how.
    pub is_error: bool,
}

impl ToolResult {
    /// The result of a tool that worked.
    pub fn new(call_id: impl Into<String>, content: impl Into<Value>) -> Self {
        Self {
            call_id: call_id.into(),
            content: content.into(),
            is_error: false,
        }
    }

    /// The result of a tool that failed.
    pub fn error(call_id: impl Into<String>, content: impl Into<Value>) -> Self {
        Self {
            is_error: true,
            ..Self::new(call_id, content)
        }
    }
}
