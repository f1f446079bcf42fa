//! Reading and writing the fields of stored records, strictly.

use svit_tree::{Address, Mutation, TreeError};
use svit_value::{Digest, MAX_DEPTH, Map, Value, ValueError, ValueLimits};

/// Why stored bytes are not a record that this version reads.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The bytes are not canonical.
    #[error("not canonical: {0}")]
    Encoding(#[from] ValueError),
    /// The format is one that this version does not know.
    #[error("{what} of unknown format {found:?}; this version reads {expected:?}")]
    Format {
        /// What was read: `record` or `base`.
        what: &'static str,
        /// The newest format that this version reads.
        expected: &'static str,
        /// The format found.
        found: String,
    },
    /// A field is missing, of another kind, or unknown.
    #[error("{what}: field `{field}`: {why}")]
    Field {
        /// What was read.
        what: &'static str,
        /// The field.
        field: String,
        /// What is wrong with it.
        why: String,
    },
    /// A path, an address or an edit is wrong.
    #[error(transparent)]
    Tree(#[from] TreeError),
}

impl RecordError {
    /// A stable name for the sort of failure, in snake case.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Encoding(_) => "not_canonical",
            Self::Format { .. } => "unknown_format",
            Self::Field { .. } => "bad_field",
            Self::Tree(_) => "bad_edit",
        }
    }
}

/// A released format of a stored form, by name, and what reads it.
pub(crate) type Format<T> = (&'static str, fn(&Fields<'_>) -> Result<T, RecordError>);

/// Reads stored bytes by the format that they name. The newest of the formats stands last; to release
/// another one is to add it there, with golden bytes of it in `tests/it/golden.rs`.
pub(crate) fn read<T>(
    what: &'static str,
    bytes: &[u8],
    formats: &[Format<T>],
) -> Result<T, RecordError> {
    let value = Value::decode(bytes, &STORED)?;
    let fields = Fields::of(what, &value)?;
    let found = fields.text("format")?;
    match formats.iter().find(|(name, _)| *name == found) {
        Some((_, read)) => read(&fields),
        None => Err(RecordError::Format {
            what,
            expected: formats.last().map_or("", |(newest, _)| newest),
            found: found.chars().take(64).collect(),
        }),
    }
}

/// What stored bytes may hold: a record nests a written value a little deeper than it stood.
pub(crate) const STORED: ValueLimits = ValueLimits {
    max_depth: MAX_DEPTH,
    max_nodes: 100_000_000,
    max_text_bytes: 64 << 20,
    max_bytes: 64 << 20,
};

/// A version or a count; past `i64` it would be refused on reading.
pub(crate) fn count(n: u64) -> Value {
    Value::Int(i64::try_from(n).unwrap_or(i64::MAX))
}

/// A digest as 32 octets.
pub(crate) fn digest(digest: Digest) -> Value {
    Value::Bytes(svit_value::Bytes::from(&digest.as_bytes()[..]))
}

/// The fields of a stored map.
pub(crate) struct Fields<'a> {
    what: &'static str,
    map: &'a Map,
}

impl<'a> Fields<'a> {
    pub(crate) fn of(what: &'static str, value: &'a Value) -> Result<Self, RecordError> {
        match value {
            Value::Map(map) => Ok(Self { what, map }),
            other => Err(RecordError::Field {
                what,
                field: String::new(),
                why: format!("expected a map, found {}", other.kind()),
            }),
        }
    }

    pub(crate) fn bad(&self, field: &str, why: &str) -> RecordError {
        RecordError::Field {
            what: self.what,
            field: field.to_owned(),
            why: why.to_owned(),
        }
    }

    pub(crate) fn format(&self, expected: &'static str) -> Result<(), RecordError> {
        let found = self.text("format")?;
        if found == expected {
            return Ok(());
        }
        Err(RecordError::Format {
            what: self.what,
            expected,
            found: found.chars().take(64).collect(),
        })
    }

    pub(crate) fn exactly(&self, count: usize) -> Result<(), RecordError> {
        if self.map.len() == count {
            return Ok(());
        }
        Err(self.bad("", &format!("{} fields, expected {count}", self.map.len())))
    }

    pub(crate) fn has(&self, field: &str) -> bool {
        self.map.contains_key(field)
    }

    pub(crate) fn get(&self, field: &str) -> Result<&'a Value, RecordError> {
        self.map
            .get(field)
            .ok_or_else(|| self.bad(field, "missing"))
    }

    pub(crate) fn text(&self, field: &str) -> Result<&'a str, RecordError> {
        let value = self.get(field)?;
        value.as_str().ok_or_else(|| self.bad(field, "not text"))
    }

    pub(crate) fn count(&self, field: &str) -> Result<u64, RecordError> {
        let value = self.get(field)?.as_int();
        value
            .and_then(|n| u64::try_from(n).ok())
            .ok_or_else(|| self.bad(field, "not a count"))
    }

    pub(crate) fn digest(&self, field: &str) -> Result<Digest, RecordError> {
        Ok(Digest::from_bytes(
            self.octets(field, "a digest of 32 octets")?,
        ))
    }

    pub(crate) fn octets<const N: usize>(
        &self,
        field: &str,
        what: &str,
    ) -> Result<[u8; N], RecordError> {
        let octets = self.get(field)?.as_bytes();
        octets
            .and_then(|octets| octets.try_into().ok())
            .ok_or_else(|| self.bad(field, &format!("not {what}")))
    }

    pub(crate) fn address(&self, field: &str) -> Result<Address, RecordError> {
        Ok(Address::parse(self.text(field)?)?)
    }

    pub(crate) fn mutations(&self, field: &str) -> Result<Vec<Mutation>, RecordError> {
        let list = self.get(field)?.as_list();
        let list = list.ok_or_else(|| self.bad(field, "not a list"))?;
        Ok(list
            .iter()
            .map(Mutation::from_value)
            .collect::<Result<_, _>>()?)
    }
}
