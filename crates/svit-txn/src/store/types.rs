//! What a store moves: heads, batches, records, receipts, events and queries.

use svit_tree::{Path, touched};
use svit_value::{Digest, Text, Value};

use super::{StoreError, StoreResult};
use crate::{Base, LimitKind, ProcessTransaction, RecordError, SharedThread};

/// Where the history of a process stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// The newest version.
    pub version: u64,
    /// The digest of the newest record, or of the base if there is none.
    pub digest: Digest,
    /// The root digest at that version.
    pub root: Digest,
    /// The current owner's epoch.
    pub epoch: u64,
    /// The start of the history.
    pub base: Base,
    /// The number of the oldest event that the store keeps under this address; `next_event` if there
    /// is none.
    pub first_event: u64,
    /// The sequence number that the next thread event takes.
    pub next_event: u64,
    /// Whose thread has the events before this process's own: what the base says, until that process
    /// is deleted, which makes them this one's (the newest first, if a store does it in steps), and
    /// those of its own parent shared.
    pub shared: Option<SharedThread>,
}

/// A block of a value: its bytes, which have this digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// BLAKE3 of `data`.
    pub digest: Digest,
    /// The block.
    pub data: Vec<u8>,
}

/// What one append adds.
///
/// ```
/// let nothing = svit_txn::Batch::default();
/// assert!(nothing.is_empty());
/// assert_eq!(nothing.max_receipts, 1_024);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// Records behind the head, in order of version, without a gap.
    pub records: Vec<StoredRecord>,
    /// Receipts that belong to them, or of rejections.
    pub receipts: Vec<Receipt>,
    /// Thread events, in order of sequence number, without a gap.
    pub events: Vec<ThreadEvent>,
    /// Messages that are done with: receipts that they pinned may be evicted from now on.
    pub unpin: Vec<u64>,
    /// How many receipts that are not pinned are kept of each client that this batch touches, once it
    /// has landed.
    pub max_receipts: u64,
}

impl Default for Batch {
    /// Adds nothing, and keeps as many receipts as a process does by default.
    fn default() -> Self {
        Self {
            records: Vec::new(),
            receipts: Vec::new(),
            events: Vec::new(),
            unpin: Vec::new(),
            max_receipts: LimitKind::Receipts.default_value(),
        }
    }
}

impl Batch {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        let adds = self.records.len() + self.receipts.len() + self.events.len();
        adds == 0 && self.unpin.is_empty()
    }
}

/// Checks that a batch continues a history without a gap. For stores to call before they write.
///
/// # Errors
/// [`StoreError::BadBatch`].
pub fn check_batch(head: &Head, batch: &Batch) -> StoreResult<()> {
    let bad = |why: String| StoreError::BadBatch {
        address: head.base.address.clone(),
        why,
    };
    let (mut version, mut digest) = (head.version, head.digest);
    for record in &batch.records {
        if record.version != version + 1 || record.previous != digest {
            return Err(bad(format!(
                "record {} does not follow version {version}",
                record.version
            )));
        }
        if Digest::of(&record.body) != record.digest {
            return Err(bad(format!(
                "record {} does not have its digest",
                record.version
            )));
        }
        (version, digest) = (record.version, record.digest);
    }
    for (event, expected) in batch.events.iter().zip(head.next_event..) {
        if event.seq != expected {
            return Err(bad(format!("event {} where {expected} is next", event.seq)));
        }
    }
    Ok(())
}

/// A transaction record as a store keeps it. `body` is the truth; the rest is derived from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRecord {
    /// The version after the transition.
    pub version: u64,
    /// The digest of the record, or base, before.
    pub previous: Digest,
    /// BLAKE3 of `body`.
    pub digest: Digest,
    /// The root digest after the transition.
    pub root: Digest,
    /// The changed paths, for an index.
    pub paths: Vec<Path>,
    /// The encoded `svit-transaction@1`.
    pub body: Vec<u8>,
}

impl StoredRecord {
    /// A record of which only the body was kept. O(body).
    ///
    /// ```
    /// assert!(svit_txn::StoredRecord::from_body(b"not a record".to_vec()).is_err());
    /// ```
    ///
    /// # Errors
    /// [`RecordError`]; an unknown format, source or operation is refused.
    pub fn from_body(body: Vec<u8>) -> Result<Self, RecordError> {
        let record = ProcessTransaction::from_bytes(&body)?;
        Ok(Self {
            version: record.version,
            previous: record.previous,
            digest: Digest::of(&body),
            root: record.root,
            paths: touched(&record.mutations),
            body,
        })
    }
}

/// What identifies a request of a client.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReceiptKey {
    /// The client, at most 128 bytes.
    pub client: Text,
    /// The client's own id for the request, at most 128 bytes.
    pub request: Text,
}

/// The remembered outcome of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Receipt {
    /// Whose, and which.
    pub key: ReceiptKey,
    /// The digest of what was asked, so that another request under the same key is noticed.
    pub content: Digest,
    /// What came of it.
    pub outcome: Value,
    /// The version at which it was recorded.
    pub version: u64,
    /// The sequence number of the inbox message whose turn needs it: it is not evicted before a
    /// batch unpins that message.
    pub pinned_by: Option<u64>,
}

/// One canonical event of a thread, `svit-thread@1`.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadEvent {
    /// Its number, from 0, without gaps within a process.
    pub seq: u64,
    /// Such as `turn.started`.
    pub kind: Text,
    /// What belongs to it.
    pub body: Value,
}

/// Which records to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordQuery {
    /// The first version wanted.
    pub from: u64,
    /// The last version wanted.
    pub to: u64,
    /// At most so many.
    pub limit: usize,
}

/// Which events to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventQuery {
    /// The first sequence number wanted; with `newest_first`, the last.
    pub from: u64,
    /// At most so many.
    pub limit: usize,
    /// From `from` down instead of up.
    pub newest_first: bool,
}
