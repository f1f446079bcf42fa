//! The store contract, for those who write a store of their own.
//!
//! A store moves bases, records, receipts, events and blocks, and knows nothing of what they mean:
//! all process logic is above it, in [`DurableProcess`](crate::DurableProcess). What it promises is
//! said at [`ProcessStore`]; `svit-testkit` has a suite that checks it. A store that adds something
//! to another one passes the rest on:
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU64, Ordering};
//! use svit::store::*;
//! use svit::{Address, Digest, DurableProcess, MemoryStore, Process};
//!
//! /// Counts the appends of the store inside.
//! struct Counted<S> {
//!     inside: S,
//!     appends: AtomicU64,
//! }
//!
//! impl<S: ProcessStore> ProcessStore for Counted<S> {
//!     fn append(
//!         &self,
//!         address: &Address,
//!         expected: Digest,
//!         epoch: u64,
//!         batch: Batch,
//!     ) -> BoxFuture<'_, StoreResult<()>> {
//!         self.appends.fetch_add(1, Ordering::Relaxed);
//!         self.inside.append(address, expected, epoch, batch)
//!     }
//!
//!     fn insert_base(
//!         &self,
//!         base: Base,
//!         blocks: Vec<Block>,
//!         batch: Batch,
//!     ) -> BoxFuture<'_, StoreResult<u64>> {
//!         self.inside.insert_base(base, blocks, batch)
//!     }
//!
//!     fn load(&self, address: &Address) -> BoxFuture<'_, StoreResult<Head>> {
//!         self.inside.load(address)
//!     }
//!
//!     fn claim(&self, address: &Address) -> BoxFuture<'_, StoreResult<Head>> {
//!         self.inside.claim(address)
//!     }
//!
//!     fn records(
//!         &self,
//!         address: &Address,
//!         query: RecordQuery,
//!     ) -> BoxFuture<'_, StoreResult<Vec<StoredRecord>>> {
//!         self.inside.records(address, query)
//!     }
//!
//!     fn events(
//!         &self,
//!         address: &Address,
//!         query: EventQuery,
//!     ) -> BoxFuture<'_, StoreResult<Vec<ThreadEvent>>> {
//!         self.inside.events(address, query)
//!     }
//!
//!     fn receipt(
//!         &self,
//!         address: &Address,
//!         key: &ReceiptKey,
//!     ) -> BoxFuture<'_, StoreResult<Option<Receipt>>> {
//!         self.inside.receipt(address, key)
//!     }
//!
//!     fn blocks(&self, digests: Vec<Digest>) -> BoxFuture<'_, StoreResult<Vec<Option<Vec<u8>>>>> {
//!         self.inside.blocks(digests)
//!     }
//!
//!     fn put_checkpoint(
//!         &self,
//!         address: &Address,
//!         part: CheckpointPart,
//!     ) -> BoxFuture<'_, StoreResult<()>> {
//!         self.inside.put_checkpoint(address, part)
//!     }
//!
//!     fn checkpoints(
//!         &self,
//!         address: &Address,
//!         at_or_before: u64,
//!         limit: usize,
//!     ) -> BoxFuture<'_, StoreResult<Vec<Checkpoint>>> {
//!         self.inside.checkpoints(address, at_or_before, limit)
//!     }
//!
//!     fn cut(&self, address: &Address, epoch: u64, base: Base) -> BoxFuture<'_, StoreResult<()>> {
//!         self.inside.cut(address, epoch, base)
//!     }
//!
//!     fn forks(
//!         &self,
//!         address: &Address,
//!         below: u64,
//!         limit: usize,
//!     ) -> BoxFuture<'_, StoreResult<Vec<ForkRef>>> {
//!         self.inside.forks(address, below, limit)
//!     }
//!
//!     fn trim_events(
//!         &self,
//!         address: &Address,
//!         epoch: u64,
//!         before: u64,
//!     ) -> BoxFuture<'_, StoreResult<()>> {
//!         self.inside.trim_events(address, epoch, before)
//!     }
//!
//!     fn delete(&self, address: &Address, epoch: u64) -> BoxFuture<'_, StoreResult<()>> {
//!         self.inside.delete(address, epoch)
//!     }
//!
//!     fn collect(&self, steps: u64) -> BoxFuture<'_, StoreResult<Collected>> {
//!         self.inside.collect(steps)
//!     }
//!
//!     fn addresses(
//!         &self,
//!         after: Option<&Address>,
//!         limit: usize,
//!     ) -> BoxFuture<'_, StoreResult<Vec<Address>>> {
//!         self.inside.addresses(after, limit)
//!     }
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> svit::Result<()> {
//! let store = Arc::new(Counted { inside: MemoryStore::new(), appends: AtomicU64::new(0) });
//! let process = Process::builder("svit://local/counted")?.build()?;
//! let process = DurableProcess::create(store.clone(), process).await?;
//! process.write("/memory/color", "teal").await?;
//! assert_eq!(store.appends.load(Ordering::Relaxed), 1);
//! # Ok(()) }
//! ```

pub use svit_txn::{
    Base, BaseKind, Batch, Block, BoxFuture, EventQuery, Head, ProcessStore, Receipt, ReceiptKey,
    RecordQuery, StoreError, StoreResult, StoredRecord, ThreadEvent, check_batch,
};
