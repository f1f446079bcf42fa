//! Conversions between values and Rust's own types that cannot lose anything.

use crate::{Bytes, Float, List, Map, Text, Value, ValueError};
use std::borrow::Cow;

macro_rules! from {
    ($($from:ty => |$name:ident| $value:expr;)*) => {
        $(impl From<$from> for Value {
            fn from($name: $from) -> Value {
                $value
            }
        })*
    };
}

from! {
    bool => |bool| Value::Bool(bool);
    i64 => |int| Value::Int(int);
    i32 => |int| Value::Int(int.into());
    i16 => |int| Value::Int(int.into());
    i8 => |int| Value::Int(int.into());
    u32 => |int| Value::Int(int.into());
    u16 => |int| Value::Int(int.into());
    u8 => |int| Value::Int(int.into());
    Float => |float| Value::Float(float);
    &str => |text| Value::Text(text.into());
    String => |text| Value::Text(text.into());
    &String => |text| Value::Text(text.into());
    Cow<'_, str> => |text| Value::Text(text.into());
    Text => |text| Value::Text(text);
    &Text => |text| Value::Text(text.clone());
    Bytes => |bytes| Value::Bytes(bytes);
    List => |list| Value::List(list);
    Map => |map| Value::Map(map);
    &Value => |value| value.clone();
}

impl<T: Into<Value>> From<Option<T>> for Value {
    /// `None` is null.
    fn from(option: Option<T>) -> Value {
        option.map_or(Value::Null, Into::into)
    }
}

macro_rules! try_from_int {
    ($($from:ty)*) => {
        $(impl TryFrom<$from> for Value {
            type Error = ValueError;

            /// Fails with [`ValueError::IntOutOfRange`] when it does not fit 64 signed bits.
            fn try_from(int: $from) -> Result<Value, ValueError> {
                i64::try_from(int).map(Value::Int).map_err(|_| ValueError::IntOutOfRange {
                    number: int.to_string(),
                })
            }
        })*
    };
}

try_from_int!(u64 usize isize u128 i128);

impl TryFrom<f64> for Value {
    type Error = ValueError;

    /// As [`Value::float`].
    fn try_from(float: f64) -> Result<Value, ValueError> {
        Value::float(float)
    }
}

impl TryFrom<f32> for Value {
    type Error = ValueError;

    /// As [`Value::float`].
    fn try_from(float: f32) -> Result<Value, ValueError> {
        Value::float(float.into())
    }
}
