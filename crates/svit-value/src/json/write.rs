//! Writing JSON.

use super::base64_encode;
use crate::{Map, Value, ValueError};
use std::fmt::Write;

pub(super) fn value(out: &mut String, value: &Value) -> Result<(), ValueError> {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        // Writing to a string cannot fail.
        Value::Int(int) => {
            let _ = write!(out, "{int}");
        }
        Value::Float(float) => {
            let _ = write!(out, "{float}");
        }
        Value::Text(text) => string(out, text),
        Value::Bytes(bytes) => {
            out.push_str(r#"{"/":{"bytes":""#);
            out.push_str(&base64_encode(bytes));
            out.push_str(r#""}}"#);
        }
        Value::List(list) => {
            out.push('[');
            for (i, element) in list.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                self::value(out, element)?;
            }
            out.push(']');
        }
        Value::Map(map) => object(out, map)?,
    }
    Ok(())
}

fn object(out: &mut String, map: &Map) -> Result<(), ValueError> {
    if map.len() == 1 && map.contains_key("/") {
        return Err(ValueError::ReservedKey);
    }
    out.push('{');
    for (i, (key, element)) in map.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        string(out, key);
        out.push(':');
        value(out, element)?;
    }
    out.push('}');
    Ok(())
}

fn string(out: &mut String, text: &str) {
    out.push('"');
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x08 => "\\b",
            0x0c => "\\f",
            0..0x20 => "",
            _ => continue,
        };
        out.push_str(&text[plain..at]);
        plain = at + 1;
        if escape.is_empty() {
            let _ = write!(out, "\\u{byte:04x}");
        } else {
            out.push_str(escape);
        }
    }
    out.push_str(&text[plain..]);
    out.push('"');
}
