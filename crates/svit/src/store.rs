//! The store contract, for those who write a store of their own.
//!
//! A store moves bases, records, receipts, events and blocks, and knows nothing of what they mean:
//! all process logic is above it, in [`DurableProcess`](crate::DurableProcess). There are two ways to
//! write one:
//!
//! - Whoever has an ordered map from bytes to bytes with atomic writes (LMDB, RocksDB, sled, redb,
//!   FoundationDB) writes the three methods of [`KeyValue`]; [`KeyValueStore`] does the rest.
//! - Whoever has something else, a database with tables of its own for example, writes
//!   [`ProcessStore`] itself. [`check_batch`] helps.
//!
//! Either way `svit-testkit` has a suite that checks every promise: `conformance::store`, and
//! `conformance::durable_store`, which closes the store and opens it again between the steps.
//!
//! What is added to a map is there for every store in it:
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU64, Ordering};
//! use svit::ProcessStoreExt;
//! use svit::store::*;
//!
//! /// Counts the writes of the map inside.
//! struct Counted<K> {
//!     inside: K,
//!     writes: AtomicU64,
//! }
//!
//! impl<K: KeyValue> KeyValue for Counted<K> {
//!     fn get(&self, key: Vec<u8>) -> BoxFuture<'_, StoreResult<Option<Vec<u8>>>> {
//!         self.inside.get(key)
//!     }
//!
//!     fn scan(&self, scan: KeyScan) -> BoxFuture<'_, StoreResult<Vec<KeyPair>>> {
//!         self.inside.scan(scan)
//!     }
//!
//!     fn write(&self, changes: Vec<KeyChange>) -> BoxFuture<'_, StoreResult<()>> {
//!         self.writes.fetch_add(1, Ordering::Relaxed);
//!         self.inside.write(changes)
//!     }
//! }
//! # struct Map(std::sync::Mutex<std::collections::BTreeMap<Vec<u8>, Vec<u8>>>);
//! # impl KeyValue for Map {
//! #     fn get(&self, key: Vec<u8>) -> BoxFuture<'_, StoreResult<Option<Vec<u8>>>> {
//! #         Box::pin(std::future::ready(Ok(self.0.lock().unwrap().get(&key).cloned())))
//! #     }
//! #     fn scan(&self, scan: KeyScan) -> BoxFuture<'_, StoreResult<Vec<KeyPair>>> {
//! #         let map = self.0.lock().unwrap();
//! #         let found = map.range(scan.keys).map(|(key, value)| (key.clone(), value.clone()));
//! #         Box::pin(std::future::ready(Ok(match scan.reverse {
//! #             true => found.rev().take(scan.limit).collect(),
//! #             false => found.take(scan.limit).collect(),
//! #         })))
//! #     }
//! #     fn write(&self, changes: Vec<KeyChange>) -> BoxFuture<'_, StoreResult<()>> {
//! #         let mut map = self.0.lock().unwrap();
//! #         for (key, value) in changes {
//! #             match value {
//! #                 Some(value) => map.insert(key, value),
//! #                 None => map.remove(&key),
//! #             };
//! #         }
//! #         Box::pin(std::future::ready(Ok(())))
//! #     }
//! # }
//! # #[tokio::main]
//! # async fn main() -> svit::Result<()> {
//! # let my_map = Map(Default::default());
//!
//! let map = Arc::new(Counted { inside: my_map, writes: AtomicU64::new(0) });
//! let store: Arc<dyn ProcessStore> = Arc::new(KeyValueStore::new(map.clone()));
//! let process = store.create(svit::Process::builder("svit://local/counted")?.build()?).await?;
//! let before = map.writes.load(Ordering::Relaxed);
//! process.write("/memory/color", "teal").await?;
//! assert_eq!(map.writes.load(Ordering::Relaxed), before + 1);
//! # Ok(()) }
//! ```

pub use svit_txn::{
    Base, BaseKind, Batch, Block, BoxFuture, Checkpoint, CheckpointPart, CheckpointRef, Collected,
    EventQuery, ForkRef, Head, KeyChange, KeyPair, KeyScan, KeyValue, KeyValueStore, ProcessStore,
    Receipt, ReceiptKey, RecordQuery, SharedThread, StoreError, StoreResult, StoredRecord,
    ThreadEvent, check_batch,
};
