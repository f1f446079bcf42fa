//! `@csv`, `@base64` and their like.

use std::fmt::Write as _;

use jaq_core::ValT as _;
use svit_value::Value;

use super::{Run, functions};
use crate::jq::value::{Val, ValR, fail, new_text};
use crate::jq::{gauge, json};

pub(super) fn functions() -> Vec<Run> {
    use jaq_core::native::{bome, v};
    functions! {
        "@csv" => csv, 0;
        "@tsv" => tsv, 0;
        "@html" => html, 0;
        "@uri" => uri, 0;
        "@urid" => uri_decoded, 0;
        "@sh" => sh, 0;
        "@base64" => base64, 0;
        "@base64d" => base64_decoded, 0;
        "@base32" => base32, 0;
        "@base32d" => base32_decoded, 0;
    }
}

/// Its text, or its JSON.
fn text_of(input: Val) -> String {
    match input.into_string() {
        Val::Plain(Value::Text(text)) => text.into(),
        _ => String::new(),
    }
}

/// The fields of a row, each written by `text` if it is one.
fn row(input: &Val, name: &str, separator: char, text: fn(&mut String, &str)) -> ValR {
    let Some(fields) = input.list() else {
        return fail(format!(
            "{} cannot be {name}-formatted, only an array can be",
            input.named()
        ));
    };
    let mut out = String::new();
    for (at, field) in fields.iter().enumerate() {
        gauge::charge(1);
        if at > 0 {
            out.push(separator);
        }
        match field {
            Value::Null => {}
            Value::Text(field) => {
                gauge::look(field.len());
                text(&mut out, field);
            }
            Value::Bool(_) | Value::Int(_) | Value::Float(_) => out.push_str(&json::to_text(field)),
            other => {
                let other = Val::Plain(other.clone());
                return fail(format!("{} is not valid in a {name} row", other.named()));
            }
        }
    }
    Ok(new_text(out))
}

fn csv(input: Val) -> ValR {
    row(&input, "csv", ',', |out, field| {
        out.push('"');
        out.push_str(&field.replace('"', "\"\""));
        out.push('"');
    })
}

fn tsv(input: Val) -> ValR {
    row(&input, "tsv", '\t', |out, field| {
        for c in field.chars() {
            match c {
                '\\' => out.push_str("\\\\"),
                '\t' => out.push_str("\\t"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                c => out.push(c),
            }
        }
    })
}

fn html(input: Val) -> ValR {
    let text = text_of(input);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\'' => out.push_str("&apos;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    Ok(new_text(out))
}

fn uri(input: Val) -> ValR {
    let mut out = String::new();
    for byte in text_of(input).bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    Ok(new_text(out))
}

fn uri_decoded(input: Val) -> ValR {
    let text = text_of(input);
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let code = (byte == b'%').then(|| after.get(..2)).flatten();
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        if let Some(byte) = code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            bytes.push(byte);
            rest = &after[2..];
        } else if byte == b'%' {
            return fail(format!(
                "{} is not a valid uri encoding",
                Val::from(text).named()
            ));
        } else {
            bytes.push(byte);
            rest = after;
        }
    }
    Ok(new_text(String::from_utf8_lossy(&bytes).into_owned()))
}

fn sh(input: Val) -> ValR {
    let words = match input {
        Val::Plain(Value::List(list)) => list.iter().cloned().collect(),
        other => vec![other.into_value()],
    };
    let mut out = String::new();
    for (at, word) in words.iter().enumerate() {
        gauge::charge(1);
        if at > 0 {
            out.push(' ');
        }
        match word {
            Value::Text(text) => {
                gauge::look(text.len());
                out.push('\'');
                out.push_str(&text.replace('\'', "'\\''"));
                out.push('\'');
            }
            Value::List(_) | Value::Map(_) | Value::Bytes(_) => {
                let word = Val::Plain(word.clone());
                return fail(format!("{} can not be escaped for shell", word.named()));
            }
            scalar => out.push_str(&json::to_text(scalar)),
        }
    }
    Ok(new_text(out))
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64(input: Val) -> ValR {
    let bytes = match input {
        Val::Plain(Value::Bytes(bytes)) => bytes.to_vec(),
        other => text_of(other).into_bytes(),
    };
    gauge::alloc(bytes.len());
    let mut out = String::with_capacity(bytes.len() * 4 / 3 + 4);
    for group in bytes.chunks(3) {
        let bits = group
            .iter()
            .fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte))
            << (8 * (3 - group.len()));
        for at in 0..4 {
            let place = (bits >> (18 - 6 * at) & 63) as usize;
            out.push(if at <= group.len() {
                char::from(ALPHABET[place])
            } else {
                '='
            });
        }
    }
    Ok(new_text(out))
}

fn base64_decoded(input: Val) -> ValR {
    let text = text_of(input);
    let mut bytes = Vec::with_capacity(text.len());
    let (mut bits, mut count) = (0_u32, 0);
    for byte in text.bytes().filter(|byte| *byte != b'=') {
        let Some(digit) = ALPHABET.iter().position(|digit| *digit == byte) else {
            return fail(format!(
                "{} is not valid base64 data",
                Val::from(text).named()
            ));
        };
        bits = bits << 6 | digit as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    if bytes.is_empty() && !text.trim_end_matches('=').is_empty() {
        return fail(format!(
            "{} is not valid base64 data",
            Val::from(text).named()
        ));
    }
    Ok(new_text(String::from_utf8_lossy(&bytes).into_owned()))
}

const ALPHABET_32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

fn base32(input: Val) -> ValR {
    let bytes = match input {
        Val::Plain(Value::Bytes(bytes)) => bytes.to_vec(),
        other => text_of(other).into_bytes(),
    };
    gauge::alloc(bytes.len());
    let mut out = String::with_capacity(bytes.len() * 8 / 5 + 8);
    for group in bytes.chunks(5) {
        let bits = group
            .iter()
            .fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte))
            << (8 * (5 - group.len()));
        // Eight digits for five bytes, of which a part of a group fills the first.
        let digits = (group.len() * 8).div_ceil(5);
        for at in 0..8 {
            let place = (bits >> (35 - 5 * at) & 31) as usize;
            out.push(if at < digits {
                char::from(ALPHABET_32[place])
            } else {
                '='
            });
        }
    }
    Ok(new_text(out))
}

fn base32_decoded(input: Val) -> ValR {
    let text = text_of(input);
    let mut bytes = Vec::with_capacity(text.len());
    let (mut bits, mut count) = (0_u32, 0);
    for byte in text.bytes().filter(|byte| *byte != b'=') {
        let Some(digit) = ALPHABET_32.iter().position(|digit| *digit == byte) else {
            return fail(format!(
                "{} is not valid base32 data",
                Val::from(text).named()
            ));
        };
        bits = bits << 5 | digit as u32;
        count += 5;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    Ok(new_text(String::from_utf8_lossy(&bytes).into_owned()))
}
