//! `Stat`: facts about one path, without its value.

use svit_value::{Digest, Kind, Map, Text, Value};

use crate::mount::{Grant, Locality, MountDescriptor, MountStat};
use crate::{Access, Caller, Path, Tree};

/// Facts about one path.
///
/// All sizes of a committed value are known. Of what is below a mount, only what its provider knows
/// without reading it, and never a digest, since contents of mounts reach none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// What kind of value is there.
    pub kind: Kind,
    /// What the caller may do there.
    pub access: Access,
    /// How many children it has; 0 for a scalar.
    pub entries: Option<u64>,
    /// The value and everything below it, counted.
    pub nodes: Option<u64>,
    /// Bytes of its plain encoding; below a mount, bytes as the resource counts them.
    pub bytes: Option<u64>,
    /// Its digest.
    pub digest: Option<Digest>,
    /// Where it comes from, if it is below a mount.
    pub mount: Option<Mounted>,
}

/// Where something below `/mounts` comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mounted {
    /// Which resource, in words.
    pub source: Text,
    /// Where the resource is.
    pub locality: Locality,
    /// Whether it is attached. If it is not, nothing below the mount can be read.
    pub attached: bool,
}

impl Stat {
    /// The facts about `path` in `tree` for `caller`; none where nothing is. O(depth * log n).
    pub fn of(tree: &Tree, path: &Path, caller: Caller) -> Option<Self> {
        let value = tree.get(path)?;
        let measure = value.measure();
        Some(Self {
            kind: value.kind(),
            access: Access::of(path, caller),
            entries: Some(match value {
                Value::Map(map) => map.len() as u64,
                Value::List(list) => list.len() as u64,
                _ => 0,
            }),
            nodes: Some(measure.nodes),
            bytes: Some(measure.cbor_len),
            digest: Some(value.digest()),
            mount: None,
        })
    }

    /// The facts about a node of an attached mount.
    pub fn of_mount(descriptor: &MountDescriptor, node: &MountStat) -> Self {
        Self {
            kind: node.kind,
            access: match descriptor.grant {
                Grant::Read => Access::Read,
                Grant::ReadWrite => Access::ReadWrite,
            },
            entries: node.entries,
            nodes: None,
            bytes: node.bytes,
            digest: None,
            mount: Some(Mounted::of(descriptor, true)),
        }
    }

    /// The facts about a mount that is described and not attached: a map that cannot be looked into.
    pub fn of_detached(descriptor: &MountDescriptor) -> Self {
        Self {
            kind: Kind::Map,
            access: Access::Read,
            entries: None,
            nodes: None,
            bytes: None,
            digest: None,
            mount: Some(Mounted::of(descriptor, false)),
        }
    }

    /// The facts as a map: `kind`, `access`, and of these what is known: `entries`, `nodes`, `bytes`,
    /// `digest` (64 hex digits), and below a mount `source`, `locality`, `attached`.
    pub fn to_value(&self) -> Value {
        let count = |n: u64| Value::Int(i64::try_from(n).unwrap_or(i64::MAX));
        let digest = self.digest.map(|digest| Value::from(digest.to_string()));
        let mount = self.mount.as_ref();
        let entries = [
            ("kind", Some(Value::from(self.kind.to_string()))),
            ("access", Some(Value::from(self.access.as_str()))),
            ("entries", self.entries.map(count)),
            ("nodes", self.nodes.map(count)),
            ("bytes", self.bytes.map(count)),
            ("digest", digest),
            ("source", mount.map(|m| Value::from(m.source.clone()))),
            ("locality", mount.map(|m| Value::from(m.locality.as_str()))),
            ("attached", mount.map(|m| Value::Bool(m.attached))),
        ];
        let known = entries
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)));
        // Scalars in a map are two levels deep, so this cannot fail.
        Value::Map(Map::from_entries(known).unwrap_or_default())
    }
}

impl Mounted {
    fn of(descriptor: &MountDescriptor, attached: bool) -> Self {
        Self {
            source: descriptor.source.clone(),
            locality: descriptor.locality,
            attached,
        }
    }
}

#[cfg(test)]
mod tests;
