//! `Val`: a value as filters see it. It is a [`Value`], or one of the numbers that no value can be.

use std::fmt;

use svit_value::{List, Map, Text, Value};

use super::gauge::{self, Stop};
use super::number::{self, Number};

/// What the interpreter calculates with.
///
/// NaN and the infinities exist only while a filter runs: inside a list or a map, and as a result, NaN is
/// null and an infinity the largest float, which is how jq prints them.
#[derive(Clone, Debug)]
pub(crate) enum Val {
    Plain(Value),
    Wild(f64),
}

/// Bytes that one element of a list takes.
pub(crate) const ELEMENT: usize = 32;
/// Bytes that one entry of a map takes.
pub(crate) const ENTRY: usize = 56;

pub(crate) type Error = jaq_core::Error<Val>;
pub(crate) type ValR<T = Val> = Result<T, Error>;

pub(crate) fn fail<T>(message: impl Into<String>) -> ValR<T> {
    Err(Error::new(Val::from(message.into())))
}

impl Val {
    pub(crate) const NULL: Self = Self::Plain(Value::Null);

    /// The value that this is outside of a filter.
    pub(crate) fn into_value(self) -> Value {
        match self {
            Self::Plain(value) => value,
            Self::Wild(float) => number::tame(float),
        }
    }

    pub(crate) fn number(&self) -> Option<Number> {
        match self {
            Self::Plain(Value::Int(int)) => Some(Number::Int(*int)),
            Self::Plain(Value::Float(float)) => Some(Number::Float(float.get())),
            Self::Wild(float) => Some(Number::Float(*float)),
            Self::Plain(_) => None,
        }
    }

    pub(crate) fn text(&self) -> Option<&Text> {
        match self {
            Self::Plain(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn list(&self) -> Option<&List> {
        match self {
            Self::Plain(Value::List(list)) => Some(list),
            _ => None,
        }
    }

    pub(crate) fn map(&self) -> Option<&Map> {
        match self {
            Self::Plain(Value::Map(map)) => Some(map),
            _ => None,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Plain(Value::Null))
    }

    /// jq's name of its type.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Wild(_) => "number",
            Self::Plain(value) => match value {
                Value::Null => "null",
                Value::Bool(_) => "boolean",
                Value::Int(_) | Value::Float(_) => "number",
                Value::Text(_) => "string",
                Value::Bytes(_) => "bytes",
                Value::List(_) => "array",
                Value::Map(_) => "object",
            },
        }
    }

    /// Type and a short piece of the value, as errors name it: `number (1)`.
    pub(crate) fn named(&self) -> String {
        const SHOWN: usize = 40;
        let mut text = match self {
            Self::Plain(Value::Text(text)) => {
                let start = &text[..text.floor_char_boundary(SHOWN)];
                let mut out = String::new();
                super::json::write_text(&mut out, start);
                if start.len() < text.len() {
                    out.pop();
                    out.push_str("...");
                }
                out
            }
            // Not the whole text of a large value for one line of an error.
            Self::Plain(value @ (Value::List(_) | Value::Map(_)))
                if value.measure().cbor_len > 4_096 =>
            {
                "...".to_owned()
            }
            _ => super::json::to_text(&self.clone().into_value()),
        };
        if text.len() > SHOWN + 8 {
            text.truncate(text.floor_char_boundary(SHOWN));
            text.push_str("...");
        }
        format!("{} ({text})", self.type_name())
    }

    /// The text of a value that must be one.
    pub(crate) fn need_text(&self, what: &str) -> ValR<&Text> {
        match self.text() {
            Some(text) => Ok(text),
            None => fail(format!("{} {what}", self.named())),
        }
    }
}

/// A list, which is refused only when it is too deep for any value: a limit, not an error to catch.
pub(crate) fn list(values: Vec<Value>) -> Val {
    match List::from_values(values) {
        Ok(list) => Val::Plain(Value::List(list)),
        Err(_) => gauge::stop(Stop::Depth),
    }
}

/// A map of entries, of which a later one wins.
pub(crate) fn map(entries: Vec<(Text, Value)>) -> Val {
    match Map::from_entries(entries) {
        Ok(map) => Val::Plain(Value::Map(map)),
        Err(_) => gauge::stop(Stop::Depth),
    }
}

/// The same, charged.
pub(crate) fn new_list(values: Vec<Value>) -> Val {
    gauge::alloc(ELEMENT.saturating_mul(values.len() + 1));
    list(values)
}

/// A text, charged.
pub(crate) fn new_text(text: String) -> Val {
    gauge::alloc(text.len() + ELEMENT);
    Val::Plain(Value::Text(text.into()))
}

/// Sets a key, charged: a small map is copied, a large one shares all but a path.
pub(crate) fn insert(map: &mut Map, key: Text, value: Value) {
    gauge::alloc(ENTRY + 12 * map.len().min(64));
    if map.insert(key, value).is_err() {
        gauge::stop(Stop::Depth);
    }
}

impl From<Value> for Val {
    fn from(value: Value) -> Self {
        Self::Plain(value)
    }
}

impl From<bool> for Val {
    fn from(yes: bool) -> Self {
        Self::Plain(Value::Bool(yes))
    }
}

impl From<isize> for Val {
    fn from(int: isize) -> Self {
        Self::Plain(Value::Int(int as i64))
    }
}

impl From<i64> for Val {
    fn from(int: i64) -> Self {
        Self::Plain(Value::Int(int))
    }
}

impl From<String> for Val {
    fn from(text: String) -> Self {
        new_text(text)
    }
}

impl From<&str> for Val {
    fn from(text: &str) -> Self {
        gauge::alloc(text.len() + ELEMENT);
        Self::Plain(Value::Text(text.into()))
    }
}

impl From<f64> for Val {
    fn from(float: f64) -> Self {
        Value::float(float).map_or(Self::Wild(float), Self::Plain)
    }
}

impl From<jaq_core::val::Range<Val>> for Val {
    fn from(range: jaq_core::val::Range<Val>) -> Self {
        let bound = |bound: Option<Val>| bound.map_or(Value::Null, Val::into_value);
        gauge::alloc(2 * ENTRY);
        map(vec![
            ("start".into(), bound(range.start)),
            ("end".into(), bound(range.end)),
        ])
    }
}

impl FromIterator<Val> for Val {
    fn from_iter<I: IntoIterator<Item = Val>>(values: I) -> Self {
        gauge::alloc(ELEMENT);
        let mut all = Vec::new();
        for value in values {
            gauge::alloc(ELEMENT);
            all.push(value.into_value());
        }
        list(all)
    }
}

impl fmt::Display for Val {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Used by the interpreter for the texts of its own errors.
        match self {
            Self::Plain(Value::Text(text)) => f.write_str(text),
            _ => f.write_str(&self.named()),
        }
    }
}
