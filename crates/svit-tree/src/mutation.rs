//! `Mutation`: one edit of a tree, and its stored form.

use svit_value::{List, Map, Value};

use crate::{Path, TreeError};

/// One edit at one path.
#[derive(Clone, Debug, PartialEq)]
pub struct Mutation {
    /// Where.
    pub path: Path,
    /// What.
    pub op: Op,
}

/// What an edit does.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// The path holds this value afterwards. Its parent must exist; a list index must be in range.
    Set(Value),
    /// The path holds nothing afterwards. Removing a list element shifts those behind it.
    Remove,
    /// The list at the path ends with these values afterwards.
    Append(List),
    /// The list at the path has this length afterwards; it was longer before.
    Truncate(u64),
}

impl Mutation {
    /// Sets `path` to `value`.
    pub fn set(path: Path, value: impl Into<Value>) -> Self {
        Self {
            path,
            op: Op::Set(value.into()),
        }
    }

    /// Removes what is at `path`.
    pub fn remove(path: Path) -> Self {
        Self {
            path,
            op: Op::Remove,
        }
    }

    /// The stored form: a map with `op`, `path` and, by the sort of edit, `value`, `values` or
    /// `length`.
    ///
    /// # Errors
    /// [`TreeError::Value`] if the value is as deep as values may be and cannot be nested further.
    pub fn to_value(&self) -> Result<Value, TreeError> {
        let mut entries: Vec<(&str, Value)> = vec![
            ("op", Value::from(self.op.name())),
            ("path", Value::from(self.path.to_string())),
        ];
        match &self.op {
            Op::Set(value) => entries.push(("value", value.clone())),
            Op::Remove => {}
            Op::Append(values) => entries.push(("values", Value::List(values.clone()))),
            Op::Truncate(length) => entries.push((
                "length",
                Value::Int(i64::try_from(*length).unwrap_or(i64::MAX)),
            )),
        }
        match Map::from_entries(entries) {
            Ok(map) => Ok(Value::Map(map)),
            Err(source) => Err(TreeError::Value {
                path: self.path.clone(),
                source,
            }),
        }
    }

    /// Reads the stored form. Exactly what [`to_value`](Self::to_value) writes is accepted.
    ///
    /// # Errors
    /// [`TreeError::BadMutation`].
    pub fn from_value(value: &Value) -> Result<Self, TreeError> {
        let bad = |why: &str| TreeError::BadMutation {
            why: why.to_owned(),
        };
        let map = value.as_map().ok_or_else(|| bad("not a map"))?;
        let text = |key: &str| {
            map.get(key)
                .and_then(Value::as_str)
                .ok_or_else(|| bad(&format!("no text `{key}`")))
        };
        let given = |key: &str| map.get(key).ok_or_else(|| bad(&format!("no `{key}`")));
        let path = Path::parse(text("path")?)?;
        let (op, fields) = match text("op")? {
            "set" => (Op::Set(given("value")?.clone()), 3),
            "remove" => (Op::Remove, 2),
            "append" => {
                let values = given("values")?.as_list();
                (
                    Op::Append(values.ok_or_else(|| bad("`values` is no list"))?.clone()),
                    3,
                )
            }
            "truncate" => {
                let length = given("length")?
                    .as_int()
                    .and_then(|n| u64::try_from(n).ok());
                (
                    Op::Truncate(length.ok_or_else(|| bad("`length` is no length"))?),
                    3,
                )
            }
            other => {
                return Err(bad(&format!(
                    "unknown operation {:?}",
                    crate::error::quote(other)
                )));
            }
        };
        if map.len() != fields {
            return Err(bad("unknown fields"));
        }
        Ok(Self { path, op })
    }

    /// Bytes of the stored form, without making it.
    pub(crate) fn stored_len(&self) -> u64 {
        let map = 1;
        let op = text_len("op") + text_len(self.op.name());
        let path = text_len("path") + head_len(self.path.text_len()) + self.path.text_len();
        let operand = match &self.op {
            Op::Set(value) => text_len("value") + value.measure().cbor_len,
            Op::Remove => 0,
            Op::Append(values) => text_len("values") + values.measure().cbor_len,
            Op::Truncate(length) => text_len("length") + head_len(*length),
        };
        map + op + path + operand
    }
}

fn text_len(text: &str) -> u64 {
    head_len(text.len() as u64) + text.len() as u64
}

/// Bytes that CBOR takes for a non-negative number, or for a length.
const fn head_len(n: u64) -> u64 {
    match n {
        0..24 => 1,
        24..0x100 => 2,
        0x100..0x1_0000 => 3,
        0x1_0000..0x1_0000_0000 => 5,
        _ => 9,
    }
}

impl Op {
    /// `set`, `remove`, `append` or `truncate`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Set(_) => "set",
            Self::Remove => "remove",
            Self::Append(_) => "append",
            Self::Truncate(_) => "truncate",
        }
    }
}

#[cfg(test)]
mod tests;
