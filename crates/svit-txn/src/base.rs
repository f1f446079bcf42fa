//! `Base`: what a history starts from, `svit-base@1`.

use svit_tree::Address;
use svit_value::{Digest, Map, Value};

use crate::RecordError;
use crate::codec::{self, Fields, Format};

/// The name of the stored form.
pub const BASE_FORMAT: &str = "svit-base@1";

const FORMATS: &[Format<Base>] = &[(BASE_FORMAT, Base::read_1)];

/// The start of a history. Records follow it, the first with `previous` = [`Base::head`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// The process.
    pub address: Address,
    /// The version at the start.
    pub version: u64,
    /// The root digest at the start.
    pub root: Digest,
    /// Where the root comes from.
    pub kind: BaseKind,
}

/// Where the root of a base comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BaseKind {
    /// The process was created: the blocks of the whole root stand in the store with the base.
    Created,
    /// The process was forked: the root is its parent's at the same version.
    Forked {
        /// The parent.
        parent: Address,
        /// The digest of the parent's record, or base, of that version.
        record: Digest,
        /// How many of the parent's thread events are the child's too: those up to its last
        /// finished or failed turn. The child's own events are numbered from here.
        events: u64,
    },
    /// What was before has been dropped, or is in another store: the blocks of the whole root stand
    /// in the store with the base.
    Checkpoint {
        /// The digest of the record of that version, which the next record follows.
        record: Digest,
        /// Thread events that are shared with a parent, for a history that began as a fork.
        thread: Option<SharedThread>,
    },
}

/// Thread events of a parent that are a fork's too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedThread {
    /// The parent.
    pub parent: Address,
    /// The number of the first event that is not shared.
    pub events: u64,
}

impl Base {
    /// The stored form, DAG-CBOR.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut entries = vec![
            ("format", Value::from(BASE_FORMAT)),
            ("address", Value::from(self.address.as_str())),
            ("version", codec::count(self.version)),
            ("root", codec::digest(self.root)),
        ];
        match &self.kind {
            BaseKind::Created => entries.push(("kind", Value::from("created"))),
            BaseKind::Forked {
                parent,
                record,
                events,
            } => entries.extend([
                ("kind", Value::from("forked")),
                ("parent", Value::from(parent.as_str())),
                ("record", codec::digest(*record)),
                ("events", codec::count(*events)),
            ]),
            BaseKind::Checkpoint { record, thread } => {
                entries.extend([
                    ("kind", Value::from("checkpoint")),
                    ("record", codec::digest(*record)),
                ]);
                if let Some(SharedThread { parent, events }) = thread {
                    entries.extend([
                        ("parent", Value::from(parent.as_str())),
                        ("events", codec::count(*events)),
                    ]);
                }
            }
        }
        // A map of scalars is two levels deep, so this cannot fail.
        Value::Map(Map::from_entries(entries).unwrap_or_default()).encode()
    }

    /// Reads the stored form. Exactly what [`to_bytes`](Self::to_bytes) writes is accepted.
    ///
    /// # Errors
    /// [`RecordError`]; an unknown format or kind is refused.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, RecordError> {
        codec::read("base", bytes, FORMATS)
    }

    fn read_1(fields: &Fields<'_>) -> Result<Self, RecordError> {
        let (kind, count) = match fields.text("kind")? {
            "created" => (BaseKind::Created, 5),
            "forked" => (
                BaseKind::Forked {
                    parent: fields.address("parent")?,
                    record: fields.digest("record")?,
                    events: fields.count("events")?,
                },
                8,
            ),
            "checkpoint" => {
                let shared = fields.has("parent");
                let thread = match shared {
                    true => Some(SharedThread {
                        parent: fields.address("parent")?,
                        events: fields.count("events")?,
                    }),
                    false => None,
                };
                let record = fields.digest("record")?;
                let kind = BaseKind::Checkpoint { record, thread };
                (kind, if shared { 8 } else { 6 })
            }
            other => return Err(fields.bad("kind", &format!("unknown kind {other:?}"))),
        };
        fields.exactly(count)?;
        Ok(Self {
            address: fields.address("address")?,
            version: fields.count("version")?,
            root: fields.digest("root")?,
            kind,
        })
    }

    /// The number of the first thread event that is not shared with a parent.
    pub fn first_event(&self) -> u64 {
        self.shared().map_or(0, |shared| shared.events)
    }

    /// The thread events that are shared with a parent, as they were when the history began.
    pub fn shared(&self) -> Option<SharedThread> {
        match &self.kind {
            BaseKind::Created => None,
            BaseKind::Forked { parent, events, .. } => Some(SharedThread {
                parent: parent.clone(),
                events: *events,
            }),
            BaseKind::Checkpoint { thread, .. } => thread.clone(),
        }
    }

    /// BLAKE3 of the stored form.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.to_bytes())
    }

    /// What the first record has as `previous`, and the head's digest before there is one: the
    /// digest of the base, or of the record that a checkpoint stands for.
    pub fn head(&self) -> Digest {
        match &self.kind {
            BaseKind::Checkpoint { record, .. } => *record,
            BaseKind::Created | BaseKind::Forked { .. } => self.digest(),
        }
    }

    /// Whether the blocks of the root stand in the store with the base.
    pub const fn has_blocks(&self) -> bool {
        !matches!(self.kind, BaseKind::Forked { .. })
    }
}
