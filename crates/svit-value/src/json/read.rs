//! Reading JSON (RFC 8259), with numbers lexed here so that none is rounded silently.

use super::base64_decode;
use crate::cbor::Fail;
use crate::error::{JsonProblem, Limit};
use crate::map::Entry;
use crate::measure::within;
use crate::{Bytes, List, Map, Text, Value, ValueError, ValueLimits};
use std::collections::BTreeSet;

pub(super) fn document(json: &str, limits: &ValueLimits) -> Result<Value, Fail> {
    within(Limit::EncodedBytes, limits.max_bytes, json.len() as u64)?;
    let mut reader = Reader {
        json,
        at: 0,
        limits,
        nodes: 0,
    };
    reader.space();
    let value = reader.value(1)?;
    reader.space();
    if reader.at < json.len() {
        return reader.fail(JsonProblem::Trailing);
    }
    Ok(value)
}

#[cold]
fn bad(offset: usize, problem: JsonProblem) -> Fail {
    Box::new(ValueError::json(offset, problem))
}

struct Reader<'a> {
    json: &'a str,
    at: usize,
    limits: &'a ValueLimits,
    nodes: u64,
}

impl Reader<'_> {
    #[cold]
    fn fail<T>(&self, problem: JsonProblem) -> Result<T, Fail> {
        Err(bad(self.at, problem))
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.json.as_bytes().get(self.at).copied()
    }

    /// The next byte, which must be there.
    #[inline]
    fn need(&self) -> Result<u8, Fail> {
        match self.peek() {
            Some(byte) => Ok(byte),
            None => self.fail(JsonProblem::Truncated),
        }
    }

    #[inline]
    fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), Fail> {
        if self.need()? != byte {
            return self.fail(JsonProblem::Unexpected);
        }
        self.at += 1;
        Ok(())
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, Fail> {
        for byte in word.bytes() {
            self.expect(byte)?;
        }
        Ok(value)
    }

    fn value(&mut self, depth: u32) -> Result<Value, Fail> {
        self.nodes += 1;
        if self.nodes > self.limits.max_nodes || depth > self.limits.depth() {
            within(Limit::Nodes, self.limits.max_nodes, self.nodes)?;
            within(Limit::Depth, self.limits.depth().into(), depth.into())?;
        }
        match self.need()? {
            b'n' => self.word("null", Value::Null),
            b't' => self.word("true", Value::Bool(true)),
            b'f' => self.word("false", Value::Bool(false)),
            b'"' => Ok(Value::Text(self.string()?)),
            b'[' => self.list(depth),
            b'{' => self.object(depth),
            b'-' | b'0'..=b'9' => self.number(),
            _ => self.fail(JsonProblem::Unexpected),
        }
    }

    /// After an element: whether another follows.
    fn more(&mut self, close: u8) -> Result<bool, Fail> {
        self.space();
        let byte = self.need()?;
        if byte != b',' && byte != close {
            return self.fail(JsonProblem::Unexpected);
        }
        self.at += 1;
        self.space();
        Ok(byte == b',')
    }

    /// Consumes an opening bracket, and the closing one if nothing is between.
    fn open(&mut self, close: u8) -> Result<bool, Fail> {
        self.at += 1;
        self.space();
        let empty = self.need()? == close;
        self.at += usize::from(empty);
        Ok(!empty)
    }

    fn list(&mut self, depth: u32) -> Result<Value, Fail> {
        let mut values = Vec::new();
        let mut more = self.open(b']')?;
        while more {
            values.push(self.value(depth + 1)?);
            more = self.more(b']')?;
        }
        Ok(Value::List(List::from_vec(values)?))
    }

    /// A key and the colon behind it.
    fn key(&mut self) -> Result<Text, Fail> {
        if self.need()? != b'"' {
            return self.fail(JsonProblem::Unexpected);
        }
        let key = self.string()?;
        self.space();
        self.expect(b':')?;
        self.space();
        Ok(key)
    }

    /// The octets of `{"/": {"bytes": ".."}}`, which is one node at its place and not three below
    /// each other. Nothing is consumed if something else stands here.
    fn octets(&mut self) -> Option<Bytes> {
        let start = self.at;
        let found = self.wrapped().ok().flatten();
        if found.is_none() {
            self.at = start;
        }
        found
    }

    fn wrapped(&mut self) -> Result<Option<Bytes>, Fail> {
        // Only a key that begins like this can be "/", so that other objects are read once.
        let begins = |json: &str| json.starts_with("\"/") || json.starts_with("\"\\");
        if !self.open(b'}')? || !begins(&self.json[self.at..]) || self.key()? != "/" {
            return Ok(None);
        }
        if self.need()? != b'{' || !self.open(b'}')? || self.key()? != "bytes" {
            return Ok(None);
        }
        if self.need()? != b'"' {
            return Ok(None);
        }
        let text = self.string()?;
        let closed = !self.more(b'}')? && !self.more(b'}')?;
        Ok(closed
            .then(|| base64_decode(&text))
            .flatten()
            .map(Bytes::from))
    }

    fn object(&mut self, depth: u32) -> Result<Value, Fail> {
        if let Some(octets) = self.octets() {
            return Ok(Value::Bytes(octets));
        }
        let start = self.at;
        let mut entries: Vec<Entry> = Vec::with_capacity(8);
        let mut more = self.open(b'}')?;
        while more {
            let key = self.key()?;
            entries.push((key, self.value(depth + 1)?));
            more = self.more(b'}')?;
        }
        if let [(key, _)] = &entries[..]
            && key == "/"
        {
            return Err(bad(start, JsonProblem::ReservedKey));
        }
        if !entries.is_sorted_by(|a, b| a.0 < b.0) {
            entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));
            if entries.windows(2).any(|pair| pair[0].0 == pair[1].0) {
                self.at = start;
                return Err(self.duplicate(depth));
            }
        }
        Ok(Value::Map(Map::from_sorted(entries)?))
    }

    /// Reads the object again, to say where its first repeated key is.
    #[cold]
    fn duplicate(&mut self, depth: u32) -> Fail {
        let mut keys = BTreeSet::new();
        let mut find = || {
            let mut more = self.open(b'}')?;
            while more {
                let at = self.at;
                if !keys.insert(self.key()?) {
                    return Err(bad(at, JsonProblem::DuplicateKey));
                }
                self.value(depth + 1)?;
                more = self.more(b'}')?;
            }
            Ok(())
        };
        match find() {
            Err(error) => error,
            Ok(()) => bad(self.at, JsonProblem::DuplicateKey),
        }
    }

    fn digits(&mut self) -> Result<(), Fail> {
        if !self.need()?.is_ascii_digit() {
            return self.fail(JsonProblem::Number);
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Value, Fail> {
        let start = self.at;
        self.at += usize::from(self.need()? == b'-');
        let leading = self.at;
        self.digits()?;
        if self.json.as_bytes()[leading] == b'0' && self.at > leading + 1 {
            return Err(bad(leading, JsonProblem::Number));
        }
        let mut exact = true;
        if self.peek() == Some(b'.') {
            exact = false;
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            exact = false;
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        let number = &self.json[start..self.at];
        if exact {
            return number
                .parse()
                .map(Value::Int)
                .or(Err(bad(start, JsonProblem::IntOutOfRange)));
        }
        // The standard parser gives the nearest float; what is too large becomes infinite.
        let float = number.parse().map_or(f64::INFINITY, |float: f64| float);
        Value::float(float).or(Err(bad(start, JsonProblem::FloatOutOfRange)))
    }

    fn string(&mut self) -> Result<Text, Fail> {
        self.at += 1;
        let start = self.at;
        let mut owned: Option<String> = None;
        let mut plain = start;
        loop {
            let rest = &self.json.as_bytes()[self.at..];
            let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
            self.at += rest.iter().position(special).unwrap_or(rest.len());
            match self.need()? {
                b'"' => {
                    let rest = &self.json[plain..self.at];
                    self.at += 1;
                    return Ok(match owned {
                        None => Text::from(rest),
                        Some(mut text) => {
                            text.push_str(rest);
                            Text::from(text)
                        }
                    });
                }
                b'\\' => {
                    let text = owned.get_or_insert_default();
                    text.push_str(&self.json[plain..self.at]);
                    let letter = self.escape()?;
                    owned.get_or_insert_default().push(letter);
                    plain = self.at;
                }
                _ => return self.fail(JsonProblem::Escape),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Fail> {
        let start = self.at;
        self.at += 1;
        let byte = self.need()?;
        self.at += 1;
        let letter = match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let mut code = self.hex()?;
                if (0xd800..0xdc00).contains(&code) {
                    let low = match self.json.as_bytes().get(self.at..self.at + 2) {
                        Some(b"\\u") => {
                            self.at += 2;
                            self.hex()?
                        }
                        _ => 0,
                    };
                    if !(0xdc00..0xe000).contains(&low) {
                        return Err(bad(start, JsonProblem::Escape));
                    }
                    code = 0x1_0000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                }
                match char::from_u32(code) {
                    Some(letter) => letter,
                    None => return Err(bad(start, JsonProblem::Escape)),
                }
            }
            _ => return Err(bad(start, JsonProblem::Escape)),
        };
        Ok(letter)
    }

    fn hex(&mut self) -> Result<u32, Fail> {
        let mut code = 0;
        for _ in 0..4 {
            let Some(digit) = char::from(self.need()?).to_digit(16) else {
                return self.fail(JsonProblem::Escape);
            };
            code = code << 4 | digit;
            self.at += 1;
        }
        Ok(code)
    }
}

/// The octets that `{"bytes": base64}` stands for.
pub(crate) fn bytes_of(inner: &Value) -> Option<Bytes> {
    let map = inner.as_map()?;
    let text = map.get("bytes").filter(|_| map.len() == 1)?.as_str()?;
    base64_decode(text).map(Bytes::from)
}
