//! `Value`: the one type of all data, and what can be asked of it.

use crate::cbor::{INLINE_MAX, Pool, Reader, Writer, head_len};
use crate::{Bytes, Digest, Float, List, Map, Measure, Text, ValueError, ValueLimits};
use std::fmt;
use std::io;

/// An immutable value: null, a bool, an integer, a float, a text, octets, a list or a map.
///
/// 24 bytes; a clone costs O(1). `1` and `1.0` are different values. Two values are equal exactly
/// when their digests are; equality looks at pointers, sizes and known digests before anything else.
///
/// ```
/// use svit_value::{value, Value, ValueLimits};
/// let note = value!({"title": "colors", "tags": ["a", "b"], "done": false});
/// assert_eq!(note.get("title").and_then(Value::as_str), Some("colors"));
/// let bytes = note.encode();
/// assert_eq!(Value::decode(&bytes, &ValueLimits::default())?, note);
/// assert_eq!(note.to_json()?, r#"{"done":false,"tags":["a","b"],"title":"colors"}"#);
/// # Ok::<(), svit_value::ValueError>(())
/// ```
#[derive(Clone, Default)]
pub enum Value {
    /// Nothing.
    #[default]
    Null,
    /// A truth value.
    Bool(bool),
    /// A signed 64-bit integer.
    Int(i64),
    /// A finite 64-bit float.
    Float(Float),
    /// UTF-8 text.
    Text(Text),
    /// Octets.
    Bytes(Bytes),
    /// Values in order.
    List(List),
    /// Values by text key.
    Map(Map),
}

const _: () = assert!(size_of::<Value>() == 24, "a value is three words");

/// What a value is, without its contents. Prints as a lower-case name.
///
/// ```
/// use svit_value::{Kind, Value};
/// assert_eq!(Value::from(1).kind(), Kind::Int);
/// assert_eq!(Kind::List.to_string(), "list");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Nothing.
    Null,
    /// A truth value.
    Bool,
    /// An integer.
    Int,
    /// A float.
    Float,
    /// A text.
    Text,
    /// Octets.
    Bytes,
    /// A list.
    List,
    /// A map.
    Map,
}

impl Kind {
    /// The name, as `Display` prints it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::Bool => "bool",
            Kind::Int => "int",
            Kind::Float => "float",
            Kind::Text => "text",
            Kind::Bytes => "bytes",
            Kind::List => "list",
            Kind::Map => "map",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Value {
    /// A float value; `-0.0` becomes `0.0`.
    ///
    /// # Errors
    /// [`ValueError::NotFinite`] for NaN and the infinities.
    pub fn float(float: f64) -> Result<Value, ValueError> {
        Float::new(float).map(Value::Float)
    }

    /// What it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Value::Null => Kind::Null,
            Value::Bool(_) => Kind::Bool,
            Value::Int(_) => Kind::Int,
            Value::Float(_) => Kind::Float,
            Value::Text(_) => Kind::Text,
            Value::Bytes(_) => Kind::Bytes,
            Value::List(_) => Kind::List,
            Value::Map(_) => Kind::Map,
        }
    }

    /// Whether it is null.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The truth value, if it is one.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(bool) => Some(*bool),
            _ => None,
        }
    }

    /// The integer, if it is one.
    #[must_use]
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(int) => Some(*int),
            _ => None,
        }
    }

    /// The float, if it is one; an integer is none.
    #[must_use]
    pub fn as_float(&self) -> Option<f64> {
        match self {
            Value::Float(float) => Some(float.get()),
            _ => None,
        }
    }

    /// The text, if it is one.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        self.as_text().map(Text::as_str)
    }

    /// The text, if it is one, to be shared.
    #[must_use]
    pub fn as_text(&self) -> Option<&Text> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The octets, if it is bytes.
    #[must_use]
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The list, if it is one.
    #[must_use]
    pub fn as_list(&self) -> Option<&List> {
        match self {
            Value::List(list) => Some(list),
            _ => None,
        }
    }

    /// The map, if it is one.
    #[must_use]
    pub fn as_map(&self) -> Option<&Map> {
        match self {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The child of a map under a key. O(log n).
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_map()?.get(key)
    }

    /// The element of a list at an index. O(log n).
    #[must_use]
    pub fn at(&self, index: usize) -> Option<&Value> {
        self.as_list()?.get(index)
    }

    /// Its size. O(1).
    #[inline]
    #[must_use]
    pub fn measure(&self) -> Measure {
        let scalar = |text_bytes: usize, cbor_len: u64| Measure {
            nodes: 1,
            text_bytes: text_bytes as u64,
            depth: 1,
            cbor_len,
        };
        let string = |len: usize| scalar(len, head_len(len as u64) + len as u64);
        match self {
            Value::Null | Value::Bool(_) => scalar(0, 1),
            // The complement of a negative number is what its head holds.
            Value::Int(int) => scalar(0, head_len((int ^ (int >> 63)) as u64)),
            Value::Float(_) => scalar(0, 9),
            Value::Text(text) => string(text.len()),
            Value::Bytes(bytes) => string(bytes.len()),
            Value::List(list) => list.measure(),
            Value::Map(map) => map.measure(),
        }
    }

    /// The BLAKE3 digest of [`Value::block`]. Containers, long texts and long bytes cache it; after
    /// an edit only what changed is hashed again.
    #[must_use]
    pub fn digest(&self) -> Digest {
        match self {
            Value::List(list) => list.digest(),
            Value::Map(map) => map.digest(),
            scalar => scalar.digest_in(&mut Pool::default()),
        }
    }

    pub(crate) fn digest_in(&self, pool: &mut Pool) -> Digest {
        let cell = match self {
            Value::List(list) => return list.digest_in(pool),
            Value::Map(map) => return map.digest_in(pool),
            Value::Text(text) => text.digest_cell(),
            Value::Bytes(bytes) => Some(bytes.digest_cell()),
            _ => None,
        };
        if let Some(digest) = cell.and_then(|cell| cell.get()) {
            return *digest;
        }
        let digest = pool.digest(|writer, _| self.write(writer));
        cell.map_or(digest, |cell| *cell.get_or_init(|| digest))
    }

    /// The block that stands for it in a store: its plain encoding, with every child of more than
    /// 128 encoded bytes replaced by a link to that child's block, and long containers cut into
    /// nodes. Valid DAG-CBOR.
    #[must_use]
    pub fn block(&self) -> Vec<u8> {
        let mut writer = Writer::with_capacity(256);
        self.write_block(&mut writer, &mut Pool::default());
        writer.into_bytes()
    }

    pub(crate) fn write_block(&self, writer: &mut Writer<'_>, pool: &mut Pool) {
        match self {
            Value::List(list) => list.write_block(writer, pool),
            Value::Map(map) => map.write_block(writer, pool),
            scalar => scalar.write(writer),
        }
    }

    /// Writes it as a child: in place when it is short, else as a link.
    #[inline]
    pub(crate) fn write_ref(&self, writer: &mut Writer<'_>, pool: &mut Pool) {
        if self.is_linked() {
            let digest = self.digest_in(pool);
            writer.link(&digest);
        } else {
            self.write(writer);
        }
    }

    /// Whether it is a block of its own inside a container.
    #[inline]
    pub(crate) fn is_linked(&self) -> bool {
        match self {
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => false,
            Value::Text(text) => text.len() as u64 > INLINE_MAX - 2,
            other => other.measure().cbor_len > INLINE_MAX,
        }
    }

    /// Its plain encoding: strict DAG-CBOR, all in one piece. O(n).
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        // The writer copies short texts at a fixed size, hence the slack.
        let len = usize::try_from(self.measure().cbor_len).unwrap_or(0);
        let mut writer = Writer::with_capacity(len.saturating_add(32));
        self.write(&mut writer);
        writer.into_bytes()
    }

    /// Writes its plain encoding in pieces of some 64 KiB.
    ///
    /// # Errors
    /// What the writer reports.
    pub fn encode_to(&self, out: &mut impl io::Write) -> io::Result<()> {
        let mut writer = Writer::to_stream(out, self.measure().cbor_len);
        self.write(&mut writer);
        writer.finish()
    }

    #[inline]
    pub(crate) fn write(&self, writer: &mut Writer<'_>) {
        match self {
            Value::Null => writer.byte(0xf6),
            Value::Bool(bool) => writer.byte(0xf4 | u8::from(*bool)),
            Value::Int(int) => writer.int(*int),
            Value::Float(float) => writer.float(float.get()),
            Value::Text(text) => writer.text(text),
            Value::Bytes(bytes) => writer.octets(bytes),
            Value::List(list) => list.write(writer),
            Value::Map(map) => map.write(writer),
        }
    }

    /// Reads a plain encoding, and nothing but one: every other sequence of bytes than what
    /// [`Value::encode`] writes is an error. Memory stays within a small multiple of the input.
    ///
    /// # Errors
    /// [`ValueError::Cbor`] with the byte offset and what is wrong there, or
    /// [`ValueError::LimitExceeded`].
    pub fn decode(bytes: &[u8], limits: &ValueLimits) -> Result<Value, ValueError> {
        Reader::new(bytes, limits).whole().map_err(|fail| *fail)
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        crate::equal::values(self, other)
    }
}

impl Eq for Value {}

impl std::hash::Hash for Value {
    /// Containers hash their digest, so this costs no more than that.
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.kind().hash(state);
        match self {
            Value::Null => {}
            Value::Bool(bool) => bool.hash(state),
            Value::Int(int) => int.hash(state),
            Value::Float(float) => float.hash(state),
            Value::Text(text) => text.hash(state),
            Value::Bytes(bytes) => bytes.hash(state),
            Value::List(list) => list.hash(state),
            Value::Map(map) => map.hash(state),
        }
    }
}
