//! A deserializer that reads values.

use super::MAX_STEPS;
use super::human::AS_IT_IS;
use crate::error::Limit;
use crate::measure::within;
use crate::{List, ListIter, MapIter, Text, Value, ValueError};
use serde::de::value::{StrDeserializer, StringDeserializer};
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

/// A value and the steps that led to it: a type of nothing but wrappers would recurse without end.
#[derive(Clone, Copy)]
pub(super) struct FromValue<'v> {
    value: &'v Value,
    steps: u32,
    /// Whether it is read as a value, and so as it is.
    as_it_is: bool,
}

impl<'v> FromValue<'v> {
    pub(super) fn new(value: &'v Value) -> FromValue<'v> {
        FromValue {
            value,
            steps: 0,
            as_it_is: false,
        }
    }

    fn below(self, value: &'v Value) -> Result<FromValue<'v>, ValueError> {
        let steps = self.steps + 1;
        within(Limit::Depth, MAX_STEPS.into(), steps.into())?;
        Ok(FromValue {
            value,
            steps,
            as_it_is: false,
        })
    }

    fn list<'de, V: Visitor<'de>>(
        self,
        list: &'v List,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        let mut elements = Elements {
            from: self,
            iter: list.iter(),
        };
        let made = visitor.visit_seq(&mut elements)?;
        let left = elements.iter.len();
        if left == 0 {
            return Ok(made);
        }
        let expected = format!("a list of {}", list.len() - left);
        Err(de::Error::invalid_length(list.len(), &expected.as_str()))
    }

    fn bytes_or_any<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.value {
            // Types that ask for bytes also take a list of octets.
            Value::List(list) => {
                let octets: Option<Vec<u8>> = list
                    .iter()
                    .map(|octet| octet.as_int().and_then(|int| u8::try_from(int).ok()))
                    .collect();
                match octets {
                    Some(octets) => visitor.visit_byte_buf(octets),
                    None => Err(de::Error::invalid_type(Unexpected::Seq, &visitor)),
                }
            }
            _ => self.deserialize_any(visitor),
        }
    }
}

impl<'de> Deserializer<'de> for FromValue<'_> {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(bool) => visitor.visit_bool(*bool),
            Value::Int(int) => visitor.visit_i64(*int),
            Value::Float(float) => visitor.visit_f64(float.get()),
            Value::Text(text) => visitor.visit_str(text),
            Value::Bytes(bytes) => visitor.visit_bytes(bytes),
            Value::List(list) => self.list(list, visitor),
            Value::Map(map) => visitor.visit_map(Entries {
                from: self,
                iter: map.iter(),
                value: None,
            }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.value {
            Value::Null => visitor.visit_none(),
            value => visitor.visit_some(self.below(value)?),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        if name == AS_IT_IS {
            return visitor.visit_newtype_struct(FromValue {
                as_it_is: true,
                ..self
            });
        }
        visitor.visit_newtype_struct(self.below(self.value)?)
    }

    fn is_human_readable(&self) -> bool {
        !self.as_it_is
    }

    /// A variant is its name, or a map from its name to its content.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        let (name, content) = match self.value {
            Value::Text(name) => (name, None),
            Value::Map(map) if map.len() == 1 => match map.iter().next() {
                Some((name, content)) => (name, Some(self.below(content)?)),
                None => return self.deserialize_any(visitor),
            },
            _ => return self.deserialize_any(visitor),
        };
        visitor.visit_enum(Variant { name, content })
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        self.bytes_or_any(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        self.bytes_or_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string unit unit_struct seq
        tuple tuple_struct map struct identifier ignored_any
    }
}

struct Elements<'v> {
    from: FromValue<'v>,
    iter: ListIter<'v>,
}

impl<'de> SeqAccess<'de> for &mut Elements<'_> {
    type Error = ValueError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ValueError> {
        match self.iter.next() {
            Some(value) => seed.deserialize(self.from.below(value)?).map(Some),
            None => Ok(None),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.iter.len())
    }
}

struct Entries<'v> {
    from: FromValue<'v>,
    iter: MapIter<'v>,
    value: Option<&'v Value>,
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = ValueError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ValueError> {
        let Some((key, value)) = self.iter.next() else {
            return Ok(None);
        };
        self.value = Some(value);
        seed.deserialize(Key(key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, ValueError> {
        match self.value.take() {
            Some(value) => seed.deserialize(self.from.below(value)?),
            None => Err(de::Error::custom("a value was asked for before its key")),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.iter.len())
    }
}

/// A key, which is a text, but reads as the number or truth value that a type asks for.
struct Key<'v>(&'v Text);

macro_rules! parsed {
    ($($method:ident => $visit:ident($type:ty))*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
            match self.0.parse::<$type>() {
                // Only the form in which the number was written counts as it.
                Ok(number) if number.to_string() == self.0.as_str() => visitor.$visit(number),
                _ => visitor.visit_str(self.0),
            }
        })*
    };
}

impl<'de> Deserializer<'de> for Key<'_> {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_str(self.0)
    }

    parsed! {
        deserialize_i8 => visit_i8(i8)
        deserialize_i16 => visit_i16(i16)
        deserialize_i32 => visit_i32(i32)
        deserialize_i64 => visit_i64(i64)
        deserialize_u8 => visit_u8(u8)
        deserialize_u16 => visit_u16(u16)
        deserialize_u32 => visit_u32(u32)
        deserialize_u64 => visit_u64(u64)
        deserialize_bool => visit_bool(bool)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        let key: StrDeserializer<'_, ValueError> = self.0.as_str().into_deserializer();
        visitor.visit_some(key)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        let key: StringDeserializer<ValueError> = self.0.to_string().into_deserializer();
        key.deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        i128 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

struct Variant<'v> {
    name: &'v Text,
    content: Option<FromValue<'v>>,
}

impl<'de, 'v> EnumAccess<'de> for Variant<'v> {
    type Error = ValueError;
    type Variant = Content<'v>;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Content<'v>), ValueError> {
        let name: StrDeserializer<'_, ValueError> = self.name.as_str().into_deserializer();
        Ok((seed.deserialize(name)?, Content(self.content)))
    }
}

struct Content<'v>(Option<FromValue<'v>>);

impl<'v> Content<'v> {
    fn need(self, kind: &str) -> Result<FromValue<'v>, ValueError> {
        self.0.ok_or_else(|| {
            de::Error::custom(format_args!("expected the content of a {kind} variant"))
        })
    }
}

impl<'de> VariantAccess<'de> for Content<'_> {
    type Error = ValueError;

    fn unit_variant(self) -> Result<(), ValueError> {
        match self.0.map(|content| content.value) {
            None | Some(Value::Null) => Ok(()),
            Some(other) => Err(de::Error::custom(format_args!(
                "expected a variant without content, found {}",
                other.kind()
            ))),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<T::Value, ValueError> {
        seed.deserialize(self.need("newtype")?)
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        _len: usize,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        self.need("tuple")?.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        self.need("struct")?.deserialize_any(visitor)
    }
}
