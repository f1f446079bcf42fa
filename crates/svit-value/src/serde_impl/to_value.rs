//! A serializer that makes values.

use super::MAX_STEPS;
use super::human::AS_IT_IS;
use crate::error::{JsonProblem, Limit};
use crate::json::bytes_of;
use crate::map::Entry;
use crate::measure::within;
use crate::{Bytes, List, Map, Text, Value, ValueError};
use serde::ser::{self, Serialize};

/// Counts the steps down, so that no type can recurse past the stack.
#[derive(Clone, Copy)]
pub(super) struct ToValue {
    steps: u32,
    /// Whether a map is a value already, and so stays as it is.
    as_it_is: bool,
}

impl ToValue {
    pub(super) fn new() -> ToValue {
        ToValue {
            steps: 0,
            as_it_is: false,
        }
    }

    fn below(self) -> Result<ToValue, ValueError> {
        let steps = self.steps + 1;
        within(Limit::Depth, MAX_STEPS.into(), steps.into())?;
        Ok(ToValue {
            steps,
            as_it_is: false,
        })
    }
}

/// The map that an object with these entries is, or the bytes that it stands for, as in JSON.
fn object(entries: Vec<Entry>) -> Result<Value, ValueError> {
    if let [(key, inner)] = &entries[..]
        && key == "/"
    {
        return bytes_of(inner)
            .map(Value::Bytes)
            .ok_or(ValueError::ReservedKey);
    }
    Map::from_entries(entries).map(Value::Map)
}

fn variant(name: &'static str, content: Value) -> Result<Value, ValueError> {
    object(vec![(name.into(), content)])
}

pub(super) struct Elements {
    down: ToValue,
    variant: Option<&'static str>,
    values: Vec<Value>,
}

pub(super) struct Fields {
    down: ToValue,
    variant: Option<&'static str>,
    as_it_is: bool,
    key: Option<Text>,
    entries: Vec<Entry>,
}

impl ToValue {
    fn elements(self, variant: Option<&'static str>, len: usize) -> Result<Elements, ValueError> {
        Ok(Elements {
            down: self.below()?,
            variant,
            values: Vec::with_capacity(len.min(64)),
        })
    }

    fn fields(self, variant: Option<&'static str>, len: usize) -> Result<Fields, ValueError> {
        Ok(Fields {
            down: self.below()?,
            variant,
            as_it_is: self.as_it_is,
            key: None,
            entries: Vec::with_capacity(len.min(64)),
        })
    }
}

impl Elements {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ValueError> {
        self.values.push(value.serialize(self.down)?);
        Ok(())
    }

    fn finish(self) -> Result<Value, ValueError> {
        let list = List::from_vec(self.values).map(Value::List)?;
        match self.variant {
            Some(name) => variant(name, list),
            None => Ok(list),
        }
    }
}

impl Fields {
    fn push<T: Serialize + ?Sized>(&mut self, key: Text, value: &T) -> Result<(), ValueError> {
        self.entries.push((key, value.serialize(self.down)?));
        Ok(())
    }

    fn finish(self) -> Result<Value, ValueError> {
        let map = if self.as_it_is {
            Map::from_entries(self.entries).map(Value::Map)?
        } else {
            object(self.entries)?
        };
        match self.variant {
            Some(name) => variant(name, map),
            None => Ok(map),
        }
    }
}

macro_rules! scalars {
    ($($method:ident($type:ty))*) => {
        $(fn $method(self, value: $type) -> Result<Value, ValueError> {
            Ok(Value::from(value))
        })*
    };
    (try $($method:ident($type:ty))*) => {
        $(fn $method(self, value: $type) -> Result<Value, ValueError> {
            Value::try_from(value)
        })*
    };
}

impl ser::Serializer for ToValue {
    type Ok = Value;
    type Error = ValueError;
    type SerializeSeq = Elements;
    type SerializeTuple = Elements;
    type SerializeTupleStruct = Elements;
    type SerializeTupleVariant = Elements;
    type SerializeMap = Fields;
    type SerializeStruct = Fields;
    type SerializeStructVariant = Fields;

    scalars! {
        serialize_bool(bool) serialize_i8(i8) serialize_i16(i16) serialize_i32(i32)
        serialize_i64(i64) serialize_u8(u8) serialize_u16(u16) serialize_u32(u32)
        serialize_str(&str)
    }
    scalars! {
        try serialize_u64(u64) serialize_i128(i128) serialize_u128(u128) serialize_f32(f32)
        serialize_f64(f64)
    }

    fn serialize_char(self, letter: char) -> Result<Value, ValueError> {
        Ok(Value::Text(letter.into()))
    }

    fn serialize_bytes(self, octets: &[u8]) -> Result<Value, ValueError> {
        Ok(Value::Bytes(Bytes::from(octets)))
    }

    fn serialize_none(self) -> Result<Value, ValueError> {
        Ok(Value::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value, ValueError> {
        value.serialize(self.below()?)
    }

    fn serialize_unit(self) -> Result<Value, ValueError> {
        Ok(Value::Null)
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<Value, ValueError> {
        Ok(Value::Null)
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<Value, ValueError> {
        Ok(Value::Text(variant.into()))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<Value, ValueError> {
        if name == AS_IT_IS {
            return value.serialize(ToValue {
                as_it_is: true,
                ..self
            });
        }
        value.serialize(self.below()?)
    }

    fn is_human_readable(&self) -> bool {
        !self.as_it_is
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Value, ValueError> {
        self::variant(variant, value.serialize(self.below()?)?)
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<Elements, ValueError> {
        self.elements(None, len.unwrap_or(0))
    }

    fn serialize_tuple(self, len: usize) -> Result<Elements, ValueError> {
        self.elements(None, len)
    }

    fn serialize_tuple_struct(
        self,
        _name: &'static str,
        len: usize,
    ) -> Result<Elements, ValueError> {
        self.elements(None, len)
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Elements, ValueError> {
        self.elements(Some(variant), len)
    }

    fn serialize_map(self, len: Option<usize>) -> Result<Fields, ValueError> {
        self.fields(None, len.unwrap_or(0))
    }

    fn serialize_struct(self, _name: &'static str, len: usize) -> Result<Fields, ValueError> {
        self.fields(None, len)
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Fields, ValueError> {
        self.fields(Some(variant), len)
    }
}

macro_rules! sequences {
    ($($trait:ident::$method:ident)*) => {
        $(impl ser::$trait for Elements {
            type Ok = Value;
            type Error = ValueError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ValueError> {
                self.push(value)
            }

            fn end(self) -> Result<Value, ValueError> {
                self.finish()
            }
        })*
    };
}

sequences! {
    SerializeSeq::serialize_element
    SerializeTuple::serialize_element
    SerializeTupleStruct::serialize_field
    SerializeTupleVariant::serialize_field
}

macro_rules! structs {
    ($($trait:ident)*) => {
        $(impl ser::$trait for Fields {
            type Ok = Value;
            type Error = ValueError;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), ValueError> {
                self.push(key.into(), value)
            }

            fn end(self) -> Result<Value, ValueError> {
                self.finish()
            }
        })*
    };
}

structs!(SerializeStruct SerializeStructVariant);

impl ser::SerializeMap for Fields {
    type Ok = Value;
    type Error = ValueError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), ValueError> {
        // As in JSON, numbers and truth values can be keys.
        let key = match key.serialize(self.down)? {
            Value::Text(text) => text,
            Value::Int(int) => int.to_string().into(),
            Value::Bool(bool) => bool.to_string().into(),
            other => {
                return Err(ser::Error::custom(format_args!(
                    "a key must be a text, not {}",
                    other.kind()
                )));
            }
        };
        self.key = Some(key);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ValueError> {
        let key = self.key.take().unwrap_or_default();
        self.push(key, value)
    }

    fn end(self) -> Result<Value, ValueError> {
        self.finish_unique()
    }
}

impl Fields {
    /// A map type that gives one key twice would lose an entry silently.
    fn finish_unique(self) -> Result<Value, ValueError> {
        let given = self.entries.len();
        let value = self.finish()?;
        match &value {
            Value::Map(map) if map.len() < given => {
                Err(ser::Error::custom(JsonProblem::DuplicateKey))
            }
            _ => Ok(value),
        }
    }
}
