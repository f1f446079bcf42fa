//! What both wire formats check in the same way. Every refusal has the text that a client's author needs.

use serde_json::{Map, Value};

/// Why a request is refused: becomes a 400 with `invalid_request_error`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The place in the body, such as `messages[1].content`.
    pub(super) param: String,
    /// What is wrong.
    pub(super) message: String,
}

pub(super) type Checked<T = ()> = Result<T, Refusal>;

pub(super) fn refuse<T>(param: &str, message: impl Into<String>) -> Checked<T> {
    Err(Refusal {
        param: param.into(),
        message: message.into(),
    })
}

/// An object with no other fields than these.
pub(super) fn object<'a>(
    value: &'a Value,
    place: &str,
    fields: &[&str],
) -> Checked<&'a Map<String, Value>> {
    let Some(object) = value.as_object() else {
        return refuse(place, "must be an object");
    };
    match object.keys().find(|key| !fields.contains(&key.as_str())) {
        Some(key) => refuse(
            &format!("{place}.{key}"),
            format!("Unknown parameter: '{key}'."),
        ),
        None => Ok(object),
    }
}

pub(super) fn text<'a>(
    object: &'a Map<String, Value>,
    place: &str,
    field: &str,
) -> Checked<&'a str> {
    match object.get(field) {
        Some(Value::String(text)) => Ok(text),
        Some(_) => refuse(&format!("{place}.{field}"), "must be a string"),
        None => refuse(
            &format!("{place}.{field}"),
            format!("Missing required parameter: '{field}'."),
        ),
    }
}

pub(super) fn full_text<'a>(
    object: &'a Map<String, Value>,
    place: &str,
    field: &str,
) -> Checked<&'a str> {
    match text(object, place, field)? {
        "" => refuse(&format!("{place}.{field}"), "must not be empty"),
        text => Ok(text),
    }
}

pub(super) fn list<'a>(
    object: &'a Map<String, Value>,
    place: &str,
    field: &str,
) -> Checked<&'a [Value]> {
    match object.get(field) {
        Some(Value::Array(items)) if !items.is_empty() => Ok(items),
        Some(Value::Array(_)) => refuse(&format!("{place}.{field}"), "must not be an empty array"),
        Some(_) => refuse(&format!("{place}.{field}"), "must be an array"),
        None => refuse(
            &format!("{place}.{field}"),
            format!("Missing required parameter: '{field}'."),
        ),
    }
}

pub(super) fn flag(object: &Map<String, Value>, field: &str) -> Checked<bool> {
    match object.get(field) {
        None => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => refuse(field, "must be a boolean"),
    }
}

/// Content that is a string, or an array of typed texts.
pub(super) fn content(value: Option<&Value>, place: &str, types: &[&str]) -> Checked {
    match value {
        Some(Value::String(_)) => Ok(()),
        Some(Value::Array(parts)) if !parts.is_empty() => {
            for (index, part) in parts.iter().enumerate() {
                let place = format!("{place}[{index}]");
                let part = object(part, &place, &["type", "text", "annotations", "refusal"])?;
                let kind = text(part, &place, "type")?;
                if !types.contains(&kind) {
                    return refuse(
                        &place,
                        format!("Invalid content type '{kind}'; expected one of {types:?}."),
                    );
                }
                text(
                    part,
                    &place,
                    if kind == "refusal" { "refusal" } else { "text" },
                )?;
            }
            Ok(())
        }
        Some(_) => refuse(place, "must be a string or a non-empty array of parts"),
        None => refuse(place, "Missing required parameter: 'content'."),
    }
}

/// A function's name as the services take it.
pub(super) fn function_name(name: &str, place: &str) -> Checked {
    let right = (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    if right {
        Ok(())
    } else {
        refuse(
            place,
            format!("Invalid function name {name:?}: expected ^[a-zA-Z0-9_-]{{1,64}}$."),
        )
    }
}

/// The fields of a function tool that both formats share.
pub(super) fn function(function: &Map<String, Value>, place: &str) -> Checked<String> {
    let name = text(function, place, "name")?;
    function_name(name, &format!("{place}.name"))?;
    if function.contains_key("description") {
        text(function, place, "description")?;
    }
    if let Some(strict) = function.get("strict")
        && !strict.is_boolean()
    {
        return refuse(&format!("{place}.strict"), "must be a boolean");
    }
    let place = format!("{place}.parameters");
    match function.get("parameters") {
        Some(parameters) if parameters["type"] == "object" => schema(parameters, &place, 0)?,
        Some(_) => {
            return refuse(
                &place,
                format!("Invalid schema for function '{name}': must have type \"object\"."),
            );
        }
        None => return refuse(&place, "Missing required parameter: 'parameters'."),
    }
    Ok(name.to_owned())
}

/// A schema is an object all the way down: some clients reject a whole tool list for one plain `true`.
pub(super) fn schema(value: &Value, place: &str, depth: usize) -> Checked {
    if depth > 32 {
        return refuse(place, "schema nested too deep");
    }
    let Some(object) = value.as_object() else {
        return refuse(
            place,
            format!("Invalid schema: {value} is not of type 'object'."),
        );
    };
    for (keyword, inside) in object {
        let place = format!("{place}.{keyword}");
        match keyword.as_str() {
            "properties" | "$defs" | "definitions" | "patternProperties" => {
                let Some(inside) = inside.as_object() else {
                    return refuse(&place, "must be an object");
                };
                for (name, inside) in inside {
                    schema(inside, &format!("{place}.{name}"), depth + 1)?;
                }
            }
            "items" | "not" | "contains" | "propertyNames" => schema(inside, &place, depth + 1)?,
            "additionalProperties" if !inside.is_boolean() => schema(inside, &place, depth + 1)?,
            "anyOf" | "oneOf" | "allOf" | "prefixItems" => {
                let Some(inside) = inside.as_array() else {
                    return refuse(&place, "must be an array");
                };
                for inside in inside {
                    schema(inside, &place, depth + 1)?;
                }
            }
            "required"
                if !inside
                    .as_array()
                    .is_some_and(|names| names.iter().all(Value::is_string)) =>
            {
                return refuse(&place, "must be an array of strings");
            }
            _ => {}
        }
    }
    Ok(())
}

/// No two tools of one name.
pub(super) fn distinct(mut names: Vec<String>) -> Checked {
    names.sort();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => refuse("tools", format!("Duplicate function name '{}'.", pair[0])),
        None => Ok(()),
    }
}

/// Sampling settings and the like: numbers in their range.
pub(super) fn settings(body: &Map<String, Value>) -> Checked {
    for field in [
        "max_tokens",
        "max_completion_tokens",
        "max_output_tokens",
        "seed",
    ] {
        if body
            .get(field)
            .is_some_and(|value| value.as_u64().is_none_or(|number| number == 0))
        {
            return refuse(field, "must be a whole number above 0");
        }
    }
    for (field, highest) in [("temperature", 2.0), ("top_p", 1.0)] {
        let outside = |value: &Value| {
            value
                .as_f64()
                .is_none_or(|number| !(0.0..=highest).contains(&number))
        };
        if body.get(field).is_some_and(outside) {
            return refuse(field, format!("must be a number from 0 to {highest}"));
        }
    }
    Ok(())
}

/// A call's arguments in the history. Some servers parse them, and fail on anything else than an object.
pub(super) fn arguments(text: &str, place: &str) -> Checked {
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(_)) => Ok(()),
        _ => refuse(
            &format!("{place}.arguments"),
            "must be the text of a JSON object",
        ),
    }
}
