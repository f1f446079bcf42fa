//! `Serialize` and `Deserialize` of values: the lossless JSON form in human-readable formats.

use crate::json::{base64_encode, bytes_of};
use crate::measure::MAX_DEPTH;
use crate::{Bytes, List, Map, Text, Value};
use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{Error as _, SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// The name by which this crate's own serializer and deserializer know that a value goes to or comes
/// from a value, so that nothing has to be wrapped. Any other format sees a newtype, and looks through.
pub(super) const AS_IT_IS: &str = "$svit_value::Value";

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(bool) => serializer.serialize_bool(*bool),
            Value::Int(int) => serializer.serialize_i64(*int),
            Value::Float(float) => serializer.serialize_f64(float.get()),
            Value::Text(text) => serializer.serialize_str(text),
            Value::Bytes(bytes) => bytes.serialize(serializer),
            Value::List(list) => list.serialize(serializer),
            Value::Map(map) => map.serialize(serializer),
        }
    }
}

impl Serialize for List {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_seq(Some(self.len()))?;
        for value in self {
            out.serialize_element(value)?;
        }
        out.end()
    }
}

impl Serialize for Map {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.len() == 1 && self.contains_key("/") {
            return serializer.serialize_newtype_struct(AS_IT_IS, &Entries(self));
        }
        Entries(self).serialize(serializer)
    }
}

/// The entries of a map; an error where a reader would take them for bytes.
struct Entries<'a>(&'a Map);

impl Serialize for Entries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let map = self.0;
        if serializer.is_human_readable() && map.len() == 1 && map.contains_key("/") {
            return Err(S::Error::custom(crate::ValueError::ReservedKey));
        }
        let mut out = serializer.serialize_map(Some(map.len()))?;
        for (key, value) in map {
            out.serialize_entry(key, value)?;
        }
        out.end()
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Inner<'a>(&'a Bytes);
        impl Serialize for Inner<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut out = serializer.serialize_map(Some(1))?;
                out.serialize_entry("bytes", &base64_encode(self.0))?;
                out.end()
            }
        }
        if !serializer.is_human_readable() {
            return serializer.serialize_bytes(self);
        }
        let mut out = serializer.serialize_map(Some(1))?;
        out.serialize_entry("/", &Inner(self))?;
        out.end()
    }
}

/// Reads a value, the outermost at depth 1.
struct AtDepth(u32);

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        AtDepth(1).deserialize(deserializer)
    }
}

impl<'de> DeserializeSeed<'de> for AtDepth {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let visitor = ValueVisitor {
            depth: self.0,
            human: deserializer.is_human_readable(),
            opened: false,
        };
        deserializer.deserialize_newtype_struct(AS_IT_IS, visitor)
    }
}

struct ValueVisitor {
    depth: u32,
    human: bool,
    /// Whether the newtype that was asked for has been seen; any other is one of the format's.
    opened: bool,
}

impl ValueVisitor {
    /// Bounds the recursion. The wrapper of octets looks two levels deeper than it is, so two more
    /// are allowed here; containers check for themselves how deep they really are.
    fn below<E: serde::de::Error>(&self) -> Result<u32, E> {
        if self.depth >= MAX_DEPTH + 2 {
            return Err(E::custom(format_args!("nested more than {MAX_DEPTH} deep")));
        }
        Ok(self.depth + 1)
    }
}

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        AtDepth(self.below()?).deserialize(deserializer)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<Value, D::Error> {
        let visitor = ValueVisitor {
            depth: if self.opened {
                self.below()?
            } else {
                self.depth
            },
            human: inner.is_human_readable(),
            opened: true,
        };
        inner.deserialize_any(visitor)
    }

    fn visit_bool<E>(self, bool: bool) -> Result<Value, E> {
        Ok(Value::Bool(bool))
    }

    fn visit_i64<E>(self, int: i64) -> Result<Value, E> {
        Ok(Value::Int(int))
    }

    fn visit_i128<E: serde::de::Error>(self, int: i128) -> Result<Value, E> {
        Value::try_from(int).map_err(E::custom)
    }

    fn visit_u64<E: serde::de::Error>(self, int: u64) -> Result<Value, E> {
        Value::try_from(int).map_err(E::custom)
    }

    fn visit_u128<E: serde::de::Error>(self, int: u128) -> Result<Value, E> {
        Value::try_from(int).map_err(E::custom)
    }

    fn visit_f64<E: serde::de::Error>(self, float: f64) -> Result<Value, E> {
        Value::float(float).map_err(E::custom)
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.into()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::Text(text.into()))
    }

    fn visit_bytes<E>(self, octets: &[u8]) -> Result<Value, E> {
        Ok(Value::Bytes(octets.into()))
    }

    fn visit_byte_buf<E>(self, octets: Vec<u8>) -> Result<Value, E> {
        Ok(Value::Bytes(octets.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let depth = self.below()?;
        let mut values = Vec::new();
        while let Some(value) = seq.next_element_seed(AtDepth(depth))? {
            values.push(value);
        }
        List::from_vec(values)
            .map(Value::List)
            .map_err(A::Error::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let depth = self.below()?;
        let mut entries: Vec<(Text, Value)> = Vec::new();
        while let Some(key) = access.next_key::<Text>()? {
            entries.push((key, access.next_value_seed(AtDepth(depth))?));
        }
        if let [(key, inner)] = &entries[..]
            && self.human
            && key == "/"
        {
            return bytes_of(inner)
                .map(Value::Bytes)
                .ok_or(A::Error::custom(crate::error::JsonProblem::ReservedKey));
        }
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        if let Some(pair) = entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(A::Error::custom(format_args!(
                "the key {:?} comes twice",
                pair[0].0
            )));
        }
        Map::from_sorted(entries)
            .map(Value::Map)
            .map_err(A::Error::custom)
    }
}

impl<'de> Deserialize<'de> for List {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<List, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::List(list) => Ok(list),
            other => Err(expected("a list", &other)),
        }
    }
}

impl<'de> Deserialize<'de> for Map {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Map, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Map(map) => Ok(map),
            other => Err(expected("a map", &other)),
        }
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Bytes(bytes) => Ok(bytes),
            other => Err(expected("bytes", &other)),
        }
    }
}

fn expected<E: serde::de::Error>(what: &str, found: &Value) -> E {
    E::custom(format_args!("expected {what}, found {}", found.kind()))
}
