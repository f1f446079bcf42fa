//! `Stat`: facts about one path, without its value.

use svit_value::{Digest, Kind, Map, Value};

use crate::{Access, Caller, Path, Tree};

/// Facts about one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// What kind of value is there.
    pub kind: Kind,
    /// What the caller may do there.
    pub access: Access,
    /// How many children it has; 0 for a scalar.
    pub entries: u64,
    /// The value and everything below it, counted.
    pub nodes: u64,
    /// Bytes of its plain encoding.
    pub bytes: u64,
    /// Its digest.
    pub digest: Digest,
}

impl Stat {
    /// The facts about `path` in `tree` for `caller`; none where nothing is. O(depth * log n).
    pub fn of(tree: &Tree, path: &Path, caller: Caller) -> Option<Self> {
        let value = tree.get(path)?;
        let measure = value.measure();
        Some(Self {
            kind: value.kind(),
            access: Access::of(path, caller),
            entries: match value {
                Value::Map(map) => map.len() as u64,
                Value::List(list) => list.len() as u64,
                _ => 0,
            },
            nodes: measure.nodes,
            bytes: measure.cbor_len,
            digest: value.digest(),
        })
    }

    /// The facts as a map: `kind`, `access`, `entries`, `nodes`, `bytes`, `digest` (64 hex digits).
    pub fn to_value(&self) -> Value {
        let count = |n: u64| Value::Int(i64::try_from(n).unwrap_or(i64::MAX));
        let entries = [
            ("kind", Value::from(self.kind.to_string())),
            ("access", Value::from(self.access.as_str())),
            ("entries", count(self.entries)),
            ("nodes", count(self.nodes)),
            ("bytes", count(self.bytes)),
            ("digest", Value::from(self.digest.to_string())),
        ];
        // Six scalars in a map are two levels deep, so this cannot fail.
        Value::Map(Map::from_entries(entries).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests;
