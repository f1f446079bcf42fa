//! JSON without loss, both ways: own number handling, bytes in the DAG-JSON form.

mod base64;
mod read;
mod write;

pub(crate) use base64::{decode as base64_decode, encode as base64_encode};
pub(crate) use read::bytes_of;

use crate::{Value, ValueError, ValueLimits};

impl Value {
    /// Its JSON form, compact, keys in order. Bytes are `{"/": {"bytes": "<base64, no padding>"}}`.
    /// Floats always have a `.` or an `e`, so that reading gives the same value back.
    ///
    /// # Errors
    /// [`ValueError::ReservedKey`] for a map whose only key is `/`.
    ///
    /// ```
    /// use svit_value::{value, Bytes, Value};
    /// let value = value!({"n": 1, "x": 1.0, "b": Bytes::from(b"hi")});
    /// let json = value.to_json()?;
    /// assert_eq!(json, r#"{"b":{"/":{"bytes":"aGk"}},"n":1,"x":1.0}"#);
    /// assert_eq!(Value::from_json(&json)?, value);
    /// # Ok::<(), svit_value::ValueError>(())
    /// ```
    pub fn to_json(&self) -> Result<String, ValueError> {
        let mut out = String::new();
        write::value(&mut out, self)?;
        Ok(out)
    }

    /// Reads JSON within the default limits; see [`Value::from_json_with`].
    ///
    /// # Errors
    /// As there.
    pub fn from_json(json: &str) -> Result<Value, ValueError> {
        Value::from_json_with(json, &ValueLimits::default())
    }

    /// Reads JSON. A number with a fraction or an exponent is a float (the nearest 64-bit one), any
    /// other an integer; the text may not be longer than `max_bytes`.
    ///
    /// # Errors
    /// [`ValueError::Json`] with the byte offset: not JSON, an integer outside `i64`, a float too
    /// large, a duplicate key, half a surrogate pair, an object whose only key is `/` and which is
    /// not bytes. [`ValueError::LimitExceeded`] when a limit is passed.
    ///
    /// ```
    /// use svit_value::Value;
    /// assert_eq!(Value::from_json("[1, 1.0]")?.to_string(), "[1, 1.0]");
    /// let error = Value::from_json("9223372036854775808").unwrap_err();
    /// assert_eq!(error.code(), "json_int_out_of_range");
    /// assert_eq!(Value::from_json(r#"{"a":1,"a":2}"#).unwrap_err().code(), "json_duplicate_key");
    /// # Ok::<(), svit_value::ValueError>(())
    /// ```
    pub fn from_json_with(json: &str, limits: &ValueLimits) -> Result<Value, ValueError> {
        let value = read::document(json, limits).map_err(|fail| *fail)?;
        limits.check(&value)?;
        Ok(value)
    }
}
