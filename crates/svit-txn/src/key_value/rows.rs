//! The bodies of rows: maps in DAG-CBOR, read as strictly as records are.

use svit_tree::Address;
use svit_value::{Digest, Map, Text, Value, ValueError};

use super::draft::corrupt;
use crate::codec::{self, Fields, RecordError};
use crate::store::{
    Checkpoint, CheckpointRef, Head, Receipt, ReceiptKey, StoreError, StoreResult, ThreadEvent,
};
use crate::{Base, SharedThread};

/// The name of the form of keys and rows. It stands in the head of each process, so that a newer form
/// can be told apart, and read process by process.
const FORMAT: &str = "svit-key-value@1";

/// What a store keeps of a process in one row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) head: Head,
    /// How many receipts were ever added.
    pub(super) added: u64,
}

/// A checkpoint of which parts are still to come.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Open {
    pub(super) checkpoint: Checkpoint,
    pub(super) since: Option<CheckpointRef>,
    /// The number of the next part.
    pub(super) next: u64,
}

fn encode(entries: Vec<(&str, Value)>) -> Result<Vec<u8>, ValueError> {
    Ok(Value::Map(Map::from_entries(entries)?).encode())
}

/// Encodes a map of scalars, which is two levels deep, so that this cannot fail.
fn encode_flat(entries: Vec<(&str, Value)>) -> Vec<u8> {
    encode(entries).unwrap_or_default()
}

/// Reads a row, all of whose fields `read` must use.
fn decode<T>(
    key: &[u8],
    body: &[u8],
    read: impl FnOnce(&Fields<'_>) -> Result<(T, usize), RecordError>,
) -> StoreResult<T> {
    let decoded = || {
        let value = Value::decode(body, &codec::STORED)?;
        let fields = Fields::of("row", &value)?;
        let (row, count) = read(&fields)?;
        fields.exactly(count)?;
        Ok::<T, RecordError>(row)
    };
    decoded().map_err(|error| corrupt(key, error))
}

impl Row {
    pub(super) fn encode(&self) -> Vec<u8> {
        let head = &self.head;
        let mut entries = vec![
            ("format", Value::from(FORMAT)),
            ("version", codec::count(head.version)),
            ("digest", codec::digest(head.digest)),
            ("root", codec::digest(head.root)),
            ("epoch", codec::count(head.epoch)),
            ("base", Value::Bytes(head.base.to_bytes().into())),
            ("first_event", codec::count(head.first_event)),
            ("next_event", codec::count(head.next_event)),
            ("added", codec::count(self.added)),
        ];
        if let Some(shared) = &head.shared {
            entries.push(("parent", Value::from(shared.parent.as_str())));
            entries.push(("shared_events", codec::count(shared.events)));
        }
        encode_flat(entries)
    }

    pub(super) fn decode(key: &[u8], body: &[u8]) -> StoreResult<Self> {
        decode(key, body, |fields| {
            fields.format(FORMAT)?;
            let base = fields.get("base")?.as_bytes();
            let base = base.ok_or_else(|| fields.bad("base", "not octets"))?;
            let (shared, count) = match fields.has("parent") {
                true => (
                    Some(SharedThread {
                        parent: fields.address("parent")?,
                        events: fields.count("shared_events")?,
                    }),
                    11,
                ),
                false => (None, 9),
            };
            let head = Head {
                version: fields.count("version")?,
                digest: fields.digest("digest")?,
                root: fields.digest("root")?,
                epoch: fields.count("epoch")?,
                base: Base::from_bytes(base)?,
                first_event: fields.count("first_event")?,
                next_event: fields.count("next_event")?,
                shared,
            };
            let added = fields.count("added")?;
            Ok((Self { head, added }, count))
        })
    }
}

pub(super) fn encode_checkpoint(checkpoint: &Checkpoint) -> Vec<u8> {
    encode_flat(vec![
        ("version", codec::count(checkpoint.version)),
        ("record", codec::digest(checkpoint.record)),
        ("root", codec::digest(checkpoint.root)),
    ])
}

fn checkpoint(fields: &Fields<'_>) -> Result<Checkpoint, RecordError> {
    Ok(Checkpoint {
        version: fields.count("version")?,
        record: fields.digest("record")?,
        root: fields.digest("root")?,
    })
}

pub(super) fn decode_checkpoint(key: &[u8], body: &[u8]) -> StoreResult<Checkpoint> {
    decode(key, body, |fields| Ok((checkpoint(fields)?, 3)))
}

/// The root of a checkpoint, whole or not.
pub(super) fn checkpoint_root(key: &[u8], body: &[u8]) -> StoreResult<Digest> {
    let value = Value::decode(body, &codec::STORED).map_err(|error| corrupt(key, error))?;
    let root = Fields::of("row", &value).and_then(|fields| fields.digest("root"));
    root.map_err(|error| corrupt(key, error))
}

impl Open {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut entries = vec![
            ("version", codec::count(self.checkpoint.version)),
            ("record", codec::digest(self.checkpoint.record)),
            ("root", codec::digest(self.checkpoint.root)),
            ("next", codec::count(self.next)),
        ];
        if let Some(since) = &self.since {
            entries.push(("since", Value::from(since.address.as_str())));
            entries.push(("since_version", codec::count(since.version)));
            entries.push(("since_root", codec::digest(since.root)));
        }
        encode_flat(entries)
    }

    pub(super) fn decode(key: &[u8], body: &[u8]) -> StoreResult<Self> {
        decode(key, body, |fields| {
            let (since, count) = match fields.has("since") {
                true => {
                    let since = CheckpointRef {
                        address: fields.address("since")?,
                        version: fields.count("since_version")?,
                        root: fields.digest("since_root")?,
                    };
                    (Some(since), 7)
                }
                false => (None, 4),
            };
            let open = Self {
                checkpoint: checkpoint(fields)?,
                since,
                next: fields.count("next")?,
            };
            Ok((open, count))
        })
    }
}

pub(super) fn encode_event(address: &Address, event: &ThreadEvent) -> StoreResult<Vec<u8>> {
    let entries = vec![
        ("kind", Value::Text(event.kind.clone())),
        ("body", event.body.clone()),
    ];
    encode(entries).map_err(|error| too_deep(address, &error))
}

pub(super) fn decode_event(key: &[u8], body: &[u8], seq: u64) -> StoreResult<ThreadEvent> {
    decode(key, body, |fields| {
        let event = ThreadEvent {
            seq,
            kind: Text::from(fields.text("kind")?),
            body: fields.get("body")?.clone(),
        };
        Ok((event, 2))
    })
}

/// A receipt, and when it was added.
pub(super) fn encode_receipt(
    address: &Address,
    receipt: &Receipt,
    added: u64,
) -> StoreResult<Vec<u8>> {
    let mut entries = vec![
        ("content", codec::digest(receipt.content)),
        ("outcome", receipt.outcome.clone()),
        ("version", codec::count(receipt.version)),
        ("added", codec::count(added)),
    ];
    if let Some(message) = receipt.pinned_by {
        entries.push(("pinned_by", codec::count(message)));
    }
    encode(entries).map_err(|error| too_deep(address, &error))
}

pub(super) fn decode_receipt(
    key: &[u8],
    body: &[u8],
    name: &ReceiptKey,
) -> StoreResult<(Receipt, u64)> {
    decode(key, body, |fields| {
        let (pinned_by, count) = match fields.has("pinned_by") {
            true => (Some(fields.count("pinned_by")?), 5),
            false => (None, 4),
        };
        let receipt = Receipt {
            key: name.clone(),
            content: fields.digest("content")?,
            outcome: fields.get("outcome")?.clone(),
            version: fields.count("version")?,
            pinned_by,
        };
        Ok(((receipt, fields.count("added")?), count))
    })
}

pub(super) fn encode_key(key: &ReceiptKey) -> Vec<u8> {
    encode_flat(vec![
        ("client", Value::Text(key.client.clone())),
        ("request", Value::Text(key.request.clone())),
    ])
}

pub(super) fn decode_key(key: &[u8], body: &[u8]) -> StoreResult<ReceiptKey> {
    decode(key, body, |fields| {
        let name = ReceiptKey {
            client: Text::from(fields.text("client")?),
            request: Text::from(fields.text("request")?),
        };
        Ok((name, 2))
    })
}

pub(super) fn encode_count(count: u64) -> Vec<u8> {
    count.to_be_bytes().to_vec()
}

pub(super) fn decode_count(key: &[u8], body: &[u8]) -> StoreResult<u64> {
    let count = <[u8; 8]>::try_from(body).map(u64::from_be_bytes);
    count.map_err(|_| corrupt(key, "not a count"))
}

fn too_deep(address: &Address, error: &ValueError) -> StoreError {
    StoreError::BadBatch {
        address: address.clone(),
        why: error.to_string(),
    }
}
