//! JSON inside of filters (`tojson`, `fromjson`, `tostring`), charged, with the numbers of jq.

use std::fmt::Write as _;

use svit_value::{Text, Value};

use super::gauge;
use super::number;
use super::value::{ELEMENT, ENTRY, Val, ValR, fail};

/// The nesting that is read and written; all values are below it.
const MAX_DEPTH: u32 = svit_value::MAX_DEPTH;

pub(crate) fn to_text(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value);
    out
}

fn write(out: &mut String, value: &Value) {
    let before = out.len();
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(yes) => out.push_str(if *yes { "true" } else { "false" }),
        // Writing to a string cannot fail.
        Value::Int(int) => {
            let _ = write!(out, "{int}");
        }
        Value::Float(float) => number::write_float(out, float.get()),
        Value::Text(text) => write_text(out, text),
        Value::Bytes(_) => out.push_str(&value.to_json().unwrap_or_default()),
        Value::List(list) => {
            out.push('[');
            for (at, value) in list.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                gauge::charge(1);
                write(out, value);
            }
            out.push(']');
            gauge::alloc(list.len() + 2);
            return;
        }
        Value::Map(map) => {
            out.push('{');
            for (at, (key, value)) in map.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                gauge::charge(1);
                gauge::alloc(key.len() + 4);
                write_text(out, key);
                out.push(':');
                write(out, value);
            }
            out.push('}');
            return;
        }
    }
    gauge::alloc(out.len() - before);
}

pub(crate) fn write_text(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\0'..' ' | '\u{7f}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}

/// Reads one JSON text. Of a key that is there twice the last wins, an integer that does not fit is a float,
/// and `NaN` is null: as jq, and unlike [`Value::from_json`].
pub(crate) fn parse(text: &str) -> ValR {
    gauge::alloc(text.len());
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    reader.space();
    if reader.at < text.len() {
        return reader.bad("unexpected text after the value");
    }
    Ok(value)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn bad<T>(&self, why: &str) -> ValR<T> {
        let start = &self.text[..self.text.floor_char_boundary(40)];
        fail(format!(
            "{why} at byte {} (while parsing '{start}')",
            self.at
        ))
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn value(&mut self, depth: u32) -> ValR {
        if depth > MAX_DEPTH {
            return self.bad("nested too deeply");
        }
        gauge::charge(1);
        self.space();
        match self.peek() {
            Some(b'[') => self.list(depth),
            Some(b'{') => self.map(depth),
            Some(b'"') => Ok(Val::Plain(Value::Text(self.string()?))),
            _ => {
                for (word, value) in [
                    ("null", Value::Null),
                    ("true", Value::Bool(true)),
                    ("false", Value::Bool(false)),
                ] {
                    if self.eat(word) {
                        return Ok(Val::Plain(value));
                    }
                }
                if self.eat("nan") || self.eat("NaN") {
                    return Ok(Val::Wild(f64::NAN));
                }
                let len = self
                    .rest()
                    .find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)))
                    .unwrap_or(self.rest().len());
                let Some(number) = number::parse(&self.rest()[..len]) else {
                    return self.bad("invalid literal");
                };
                self.at += len;
                Ok(number)
            }
        }
    }

    fn list(&mut self, depth: u32) -> ValR {
        self.at += 1;
        let mut values = Vec::new();
        self.space();
        if self.eat("]") {
            return Ok(super::value::list(values));
        }
        loop {
            gauge::alloc(ELEMENT);
            values.push(self.value(depth + 1)?.into_value());
            self.space();
            if self.eat("]") {
                return Ok(super::value::list(values));
            }
            if !self.eat(",") {
                return self.bad("expected , or ]");
            }
        }
    }

    fn map(&mut self, depth: u32) -> ValR {
        self.at += 1;
        let mut entries = Vec::new();
        self.space();
        if self.eat("}") {
            return Ok(super::value::map(entries));
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return self.bad("expected a key");
            }
            let key = self.string()?;
            self.space();
            if !self.eat(":") {
                return self.bad("expected :");
            }
            gauge::alloc(ENTRY);
            entries.push((key, self.value(depth + 1)?.into_value()));
            self.space();
            if self.eat("}") {
                return Ok(super::value::map(entries));
            }
            if !self.eat(",") {
                return self.bad("expected , or }");
            }
        }
    }

    fn string(&mut self) -> ValR<Text> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let plain = self.rest().find(['"', '\\']);
            let Some(plain) = plain else {
                self.at = self.text.len();
                return self.bad("unfinished string");
            };
            out.push_str(&self.rest()[..plain]);
            self.at += plain + 1;
            if self.text.as_bytes()[self.at - 1] == b'"' {
                return Ok(out.into());
            }
            let escape = self.rest().chars().next();
            self.at += escape.map_or(0, char::len_utf8);
            match escape {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('r') => out.push('\r'),
                Some('b') => out.push('\u{8}'),
                Some('f') => out.push('\u{c}'),
                Some(c @ ('"' | '\\' | '/')) => out.push(c),
                Some('u') => out.push(self.unicode()?),
                _ => return self.bad("invalid escape"),
            }
        }
    }

    fn unicode(&mut self) -> ValR<char> {
        let Some(first) = self.hex() else {
            return self.bad("invalid escape");
        };
        if (0xd800..0xdc00).contains(&first) && self.rest().starts_with("\\u") {
            let back = self.at;
            self.at += 2;
            if let Some(second @ 0xdc00..=0xdfff) = self.hex() {
                let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = back;
        }
        // Half a pair is no character.
        Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.rest().get(..4)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }
}
