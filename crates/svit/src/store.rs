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
//!     fn block(&self, digest: Digest) -> BoxFuture<'_, StoreResult<Option<Vec<u8>>>> {
//!         self.inside.block(digest)
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
