//! The store contract: a store moves records, and knows nothing of what they mean.
//!
//! All process logic lives once, in `DurableProcess`, on top of any [`ProcessStore`].

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use svit_tree::{Address, Path};
use svit_value::{Digest, Text, Value};

use crate::Base;

/// A boxed future, so that a store can be used as `Arc<dyn ProcessStore>`.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The result of a store's method.
pub type StoreResult<T> = Result<T, StoreError>;

/// Durable records of many processes.
///
/// # What an implementation promises
/// - Each method is atomic: all of it happens, or nothing.
/// - When `insert_base`, `claim` or `append` returns `Ok`, what it did survives a crash.
/// - When one of them returns any error but [`StoreError::Unknown`], it did nothing.
/// - A future that is dropped may still take effect; the next caller sees either state, whole.
/// - Nothing damaged is ever returned: a body that does not have its digest is
///   [`StoreError::Corrupt`].
/// - A reader gets all that it asks for, up to its limit: fewer mean that there are no more.
/// - Of each client of a process at least the newest 1,024 receipts are kept; older ones may be
///   forgotten. A receipt under a key that is there replaces the one before.
///
/// `svit-testkit` holds the conformance suite that checks this.
pub trait ProcessStore: Send + Sync {
    /// Starts the history of a process: the base, the blocks of its root (none for a fork, whose
    /// blocks are its parent's), and the first records, if any. Returns the owner's epoch. O(batch).
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`]; [`StoreError::NotFound`] if the parent of a fork is not there;
    /// [`StoreError::BadBatch`] if it has another record or root at that version, if a block does
    /// not have its digest, or if the batch does not follow the base.
    fn insert_base(
        &self,
        base: Base,
        blocks: Vec<Block>,
        batch: Batch,
    ) -> BoxFuture<'_, StoreResult<u64>>;

    /// Where the history of a process stands. O(1).
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    fn load(&self, address: &Address) -> BoxFuture<'_, StoreResult<Head>>;

    /// Makes the caller the owner: raises the epoch, so that appends of every earlier owner are
    /// refused, and returns the head with the new epoch. O(1).
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    fn claim(&self, address: &Address) -> BoxFuture<'_, StoreResult<Head>>;

    /// Adds a batch behind the head whose digest is `expected`. Records, receipts and events land
    /// together or not at all. A batch without records is allowed. O(batch).
    ///
    /// # Errors
    /// [`StoreError::Fenced`] if `epoch` is not the current one (checked first, also for a batch of
    /// events only), [`StoreError::Conflict`] if the head is another one, [`StoreError::BadBatch`]
    /// if records or events leave a gap, [`StoreError::Unknown`] if the store cannot say whether it
    /// landed.
    fn append(
        &self,
        address: &Address,
        expected: Digest,
        epoch: u64,
        batch: Batch,
    ) -> BoxFuture<'_, StoreResult<()>>;

    /// Records of a process by version, oldest first. O(result).
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; [`StoreError::Corrupt`].
    fn records(
        &self,
        address: &Address,
        query: RecordQuery,
    ) -> BoxFuture<'_, StoreResult<Vec<StoredRecord>>>;

    /// Thread events by sequence number. O(result).
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; [`StoreError::Corrupt`].
    fn events(
        &self,
        address: &Address,
        query: EventQuery,
    ) -> BoxFuture<'_, StoreResult<Vec<ThreadEvent>>>;

    /// The outcome that was recorded under a client's key, if it is still kept. O(1).
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if there is no such process.
    fn receipt(
        &self,
        address: &Address,
        key: &ReceiptKey,
    ) -> BoxFuture<'_, StoreResult<Option<Receipt>>>;

    /// One block, checked against its digest; none if the store lacks it. O(block).
    ///
    /// # Errors
    /// [`StoreError::Corrupt`].
    fn block(&self, digest: Digest) -> BoxFuture<'_, StoreResult<Option<Vec<u8>>>>;

    /// Addresses in bytewise order, from behind `after`. O(result).
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    fn addresses(
        &self,
        after: Option<&Address>,
        limit: usize,
    ) -> BoxFuture<'_, StoreResult<Vec<Address>>>;
}

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
    /// The sequence number that the next thread event takes.
    pub next_event: u64,
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
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// Records behind the head, in order of version, without a gap.
    pub records: Vec<StoredRecord>,
    /// Receipts that belong to them, or of rejections.
    pub receipts: Vec<Receipt>,
    /// Thread events, in order of sequence number, without a gap.
    pub events: Vec<ThreadEvent>,
}

impl Batch {
    /// Whether it adds nothing.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.receipts.is_empty() && self.events.is_empty()
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

/// Why a store refused or failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A process of this address is there already.
    #[error("{address} exists already")]
    AlreadyExists {
        /// The address.
        address: Address,
    },
    /// There is no process of this address.
    #[error("{address} is not in this store")]
    NotFound {
        /// The address.
        address: Address,
    },
    /// The head is another one than the caller expected.
    #[error("{address} stands at version {version}, record {actual}, not at record {expected}")]
    Conflict {
        /// The address.
        address: Address,
        /// The digest the caller expected.
        expected: Digest,
        /// The digest of the head.
        actual: Digest,
        /// The version of the head.
        version: u64,
    },
    /// Another owner has claimed the process since.
    #[error("{address} is owned by epoch {actual}; epoch {epoch} may no longer write")]
    Fenced {
        /// The address.
        address: Address,
        /// The caller's epoch.
        epoch: u64,
        /// The current epoch.
        actual: u64,
    },
    /// A batch that no history can take.
    #[error("{address}: bad batch: {why}")]
    BadBatch {
        /// The address.
        address: Address,
        /// What is wrong with it.
        why: String,
    },
    /// Something is larger than the store takes.
    #[error("{what} has {actual} bytes; at most {allowed} are allowed")]
    TooLarge {
        /// What it is.
        what: String,
        /// The limit, in bytes.
        allowed: u64,
        /// The size, in bytes.
        actual: u64,
    },
    /// Stored data is damaged.
    #[error("the store is damaged: {what} at {place}")]
    Corrupt {
        /// What is wrong.
        what: String,
        /// Where: a file, a table and key, or a record.
        place: String,
    },
    /// The store cannot say whether the operation took effect.
    #[error("it is not known whether the operation took effect: {why}")]
    Unknown {
        /// What happened.
        why: String,
    },
    /// The store cannot serve now. Nothing was done.
    #[error("the store is not available: {why}")]
    Unavailable {
        /// What happened.
        why: String,
    },
    /// Another program has the store open.
    #[error("{path} is in use by {}", Owner(*.pid))]
    InUse {
        /// The file.
        path: std::path::PathBuf,
        /// The other program, if its process id could be read.
        pid: Option<u32>,
    },
    /// The file is not a store of svit.
    #[error("{path} is not a svit store: {why}")]
    NotAStore {
        /// The file.
        path: std::path::PathBuf,
        /// How that was seen.
        why: String,
    },
    /// The file was written by a newer version of svit.
    #[error("{path} has format {found}; this version reads up to {supported}")]
    NewerFormat {
        /// The file.
        path: std::path::PathBuf,
        /// Its format number.
        found: i64,
        /// The newest format number that this version reads.
        supported: i64,
    },
}

struct Owner(Option<u32>);

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(pid) => write!(f, "process {pid}"),
            None => f.write_str("another process"),
        }
    }
}

impl StoreError {
    /// A stable name for the sort of failure, in snake case.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::AlreadyExists { .. } => "already_exists",
            Self::NotFound { .. } => "not_found",
            Self::Conflict { .. } => "conflict",
            Self::Fenced { .. } => "fenced",
            Self::BadBatch { .. } => "bad_batch",
            Self::TooLarge { .. } => "too_large",
            Self::Corrupt { .. } => "corrupt",
            Self::Unknown { .. } => "unknown",
            Self::Unavailable { .. } => "unavailable",
            Self::InUse { .. } => "in_use",
            Self::NotAStore { .. } => "not_a_store",
            Self::NewerFormat { .. } => "newer_format",
        }
    }
}
