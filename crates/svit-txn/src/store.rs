//! The store contract: a store moves records, and knows nothing of what they mean.
//!
//! All process logic lives once, in `DurableProcess`, on top of any [`ProcessStore`].

mod checkpoint;
mod error;
mod types;

use std::future::Future;
use std::pin::Pin;

use svit_tree::Address;
use svit_value::Digest;

use crate::Base;

pub use checkpoint::{Checkpoint, CheckpointPart, CheckpointRef, Collected, ForkRef};
pub use error::StoreError;
pub use types::{
    Batch, Block, EventQuery, Head, Receipt, ReceiptKey, RecordQuery, StoredRecord, ThreadEvent,
    check_batch,
};

/// A boxed future, so that a store can be used as `Arc<dyn ProcessStore>`.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The result of a store's method.
pub type StoreResult<T> = Result<T, StoreError>;

/// Durable records of many processes.
///
/// # What an implementation promises
/// - Each method is atomic: all of it happens, or nothing.
/// - When a method that changes something returns `Ok`, what it did survives a crash.
/// - When one of them returns any error but [`StoreError::Unknown`], it did nothing.
/// - A future that is dropped may still take effect; the next caller sees either state, whole.
/// - Nothing damaged is ever returned: a body that does not have its digest is
///   [`StoreError::Corrupt`].
/// - A reader gets all that it asks for, up to its limit: fewer mean that there are no more.
/// - After a batch, each client whose receipts it adds or unpins has at most [`Batch::max_receipts`]
///   receipts that are not pinned: the oldest are evicted, by the order in which they were added. A
///   receipt under a key that is there replaces the one before.
/// - What a checkpoint, a base or a fork reaches is never collected.
///
/// `svit-testkit` holds the conformance suite that checks this.
pub trait ProcessStore: Send + Sync {
    /// Starts the history of a process: the base, the blocks of its root (none for a fork, whose
    /// blocks are its parent's), and the first records, if any. A base of the kind checkpoint is an
    /// import, and comes with its blocks as a created one does. Returns the owner's epoch, which is
    /// higher than every epoch that a deleted process of this address had. O(batch).
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

    /// [`append`](Self::append) on the calling thread, which may wait for a disk. None if the store
    /// has no such way, or not at this moment: nothing was done then, and the caller uses `append`.
    ///
    /// A store that hands its work to a thread spares the caller two wake-ups by this.
    fn append_in_place(
        &self,
        address: &Address,
        expected: Digest,
        epoch: u64,
        batch: &Batch,
    ) -> Option<StoreResult<()>> {
        let _ = (address, expected, epoch, batch);
        None
    }

    /// Whether [`append_in_place`](Self::append_in_place) would be carried out if it were called now: asked
    /// before a batch for it is made. Others may come first, so the answer is a hint. Must not wait.
    fn can_append_in_place(&self) -> bool {
        false
    }

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

    /// Blocks by digest, in that order, each checked against it; none for one that the store lacks.
    /// O(blocks).
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if any of them is damaged.
    fn blocks(&self, digests: Vec<Digest>) -> BoxFuture<'_, StoreResult<Vec<Option<Vec<u8>>>>>;

    /// Adds a part of a checkpoint: blocks of its root that `since` does not reach. The last part
    /// makes the checkpoint whole, and only then is it used; a checkpoint that is whole already is
    /// left as it is. Needs no epoch: a checkpoint says only what the history says. O(part).
    ///
    /// Parts are numbered; part 0 begins anew. Blocks of an unfinished checkpoint are safe from
    /// [`collect`](Self::collect) while the store is open; a crash, or another checkpoint of the
    /// same process that becomes whole, may forget the unfinished one.
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; [`StoreError::BadBatch`] if the record, or base, of that version
    /// has another digest or root or is not kept, if `since` is no whole checkpoint or base with
    /// blocks of that root (any more), if a block does not have its digest, or if the part is not the
    /// next one of this checkpoint.
    fn put_checkpoint(
        &self,
        address: &Address,
        part: CheckpointPart,
    ) -> BoxFuture<'_, StoreResult<()>>;

    /// Whole checkpoints of a process at a version or before it, newest first. O(result).
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; [`StoreError::Corrupt`].
    fn checkpoints(
        &self,
        address: &Address,
        at_or_before: u64,
        limit: usize,
    ) -> BoxFuture<'_, StoreResult<Vec<Checkpoint>>>;

    /// Forgets the history before a version: `base`, of the kind checkpoint, becomes the base; the
    /// records up to and including its version go, and so do older checkpoints. Receipts and events
    /// stay. O(what is dropped).
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; [`StoreError::Fenced`]; [`StoreError::BadBatch`] if there is no
    /// whole checkpoint of that version, record and root; [`StoreError::Forked`] while a fork
    /// depends on what would go, see [`forks`](Self::forks).
    fn cut(&self, address: &Address, epoch: u64, base: Base) -> BoxFuture<'_, StoreResult<()>>;

    /// Forks of a process that depend on its history: those whose base has a version below `below`
    /// and no whole checkpoint of its own, by version and then by address. O(result).
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    fn forks(
        &self,
        address: &Address,
        below: u64,
        limit: usize,
    ) -> BoxFuture<'_, StoreResult<Vec<ForkRef>>>;

    /// Forgets thread events with a number below `before`. Events that have been forgotten are gone
    /// for the forks that share them too. O(what is dropped).
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; [`StoreError::Fenced`].
    fn trim_events(
        &self,
        address: &Address,
        epoch: u64,
        before: u64,
    ) -> BoxFuture<'_, StoreResult<()>>;

    /// Forgets a process: base, records, checkpoints, receipts and events. Events that a fork shares
    /// with it become the fork's own by then: in the same step, or some at a time in steps before it,
    /// each of which is whole and stays if the deletion is refused after all. A process that is made
    /// under the address afterwards has nothing of this one, and its owner has a higher epoch. Blocks
    /// go with the next [`collect`](Self::collect). O(what is dropped).
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; [`StoreError::Fenced`]; [`StoreError::Forked`] while a fork depends
    /// on its history, see [`forks`](Self::forks).
    fn delete(&self, address: &Address, epoch: u64) -> BoxFuture<'_, StoreResult<()>>;

    /// Removes blocks that no base and no checkpoint reaches, in a piece that looks at about `steps`
    /// blocks. Call it again until it is done; it can be given up at any point.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if a block that must be followed is damaged or not there: nothing more
    /// is removed then.
    fn collect(&self, steps: u64) -> BoxFuture<'_, StoreResult<Collected>>;

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
