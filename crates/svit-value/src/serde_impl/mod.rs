//! serde, both ways: values in any human-readable format, and Rust types as values.

mod from_value;
mod human;
mod to_value;

use crate::{Value, ValueError};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Wrappers (options, newtypes) and containers that conversions follow down, at most. More than
/// `MAX_DEPTH`, as a wrapper adds no depth to the value.
const MAX_STEPS: u32 = 2 * crate::MAX_DEPTH;

impl Value {
    /// The value that a Rust value serializes to: structs and maps become maps, sequences and tuples
    /// lists, `None` and `()` null, enum variants their name or `{name: content}`, as in JSON but
    /// with exact numbers and real bytes.
    ///
    /// # Errors
    /// [`ValueError::IntOutOfRange`], [`ValueError::NotFinite`], [`ValueError::LimitExceeded`] for
    /// what is too deep, [`ValueError::ReservedKey`] for a map whose only key is `/` and that is not
    /// bytes, and [`ValueError::Serde`] for what the type reports or a key that is no text.
    ///
    /// ```
    /// use svit_value::{value, Value};
    /// #[derive(serde::Serialize, serde::Deserialize, PartialEq, Debug)]
    /// struct Note { title: String, stars: Option<u8> }
    /// let note = Note { title: "colors".into(), stars: None };
    /// let stored = Value::from_serde(&note)?;
    /// assert_eq!(stored, value!({"title": "colors", "stars": null}));
    /// assert_eq!(stored.to::<Note>()?, note);
    /// # Ok::<(), svit_value::ValueError>(())
    /// ```
    pub fn from_serde<T: Serialize + ?Sized>(value: &T) -> Result<Value, ValueError> {
        value.serialize(to_value::ToValue::new())
    }

    /// The Rust value that it stands for; the reverse of [`Value::from_serde`].
    ///
    /// # Errors
    /// [`ValueError::Serde`] with what the type reports.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, ValueError> {
        T::deserialize(from_value::FromValue::new(self))
    }
}
