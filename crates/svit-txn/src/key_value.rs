//! `KeyValueStore`: the whole store contract over an ordered map of bytes, for those who have one.

mod draft;
mod garbage;
mod history;
mod keys;
mod receipts;
mod rows;

use std::ops::Range;
use std::sync::Arc;

use async_lock::Mutex;
use svit_tree::Address;
use svit_value::Digest;

use crate::Base;
use crate::store::{
    Batch, Block, BoxFuture, Checkpoint, CheckpointPart, Collected, EventQuery, ForkRef, Head,
    ProcessStore, Receipt, ReceiptKey, RecordQuery, StoreResult, StoredRecord, ThreadEvent,
};
use draft::Draft;
use garbage::Collection;

/// A key, and its value.
pub type KeyPair = (Vec<u8>, Vec<u8>);

/// A change of one pair: a key, and its new value, or none to remove it.
pub type KeyChange = (Vec<u8>, Option<Vec<u8>>);

/// Which pairs to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyScan {
    /// Keys from the start of this range up to, not including, its end, which is greater.
    pub keys: Range<Vec<u8>>,
    /// At most so many pairs.
    pub limit: usize,
    /// From the end of the range down instead of from its start up.
    pub reverse: bool,
}

/// An ordered map from bytes to bytes whose changes are atomic and durable: LMDB, RocksDB, sled, redb,
/// FoundationDB, or a file of one's own. [`KeyValueStore`] makes a [`ProcessStore`] of it.
///
/// # What an implementation promises
/// - Keys are compared bytewise. A key has at most 1 KiB; a value has a few KiB as a rule, and as much
///   as the largest record, event or block.
/// - [`write`](Self::write) makes all changes or none, and when it returns `Ok`, they survive a crash.
///   It answers [`StoreError::Unknown`](crate::StoreError::Unknown) if it cannot say whether it did,
///   and any other error only if it did nothing.
/// - A read sees all writes that were answered before, none in part, and one state of the map.
/// - A write whose future is dropped lands, if it ever does, before any later call is answered.
/// - Nobody else writes to the map.
///
/// A value that comes back damaged is noticed above, and reported as
/// [`StoreError::Corrupt`](crate::StoreError::Corrupt); keys that vanish are noticed for records,
/// events and blocks, and not for heads and receipts.
pub trait KeyValue: Send + Sync {
    /// The value of a key, if it has one.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`](crate::StoreError::Unavailable).
    fn get(&self, key: Vec<u8>) -> BoxFuture<'_, StoreResult<Option<Vec<u8>>>>;

    /// Pairs in order of their keys, or against it. All that match, up to the limit.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`](crate::StoreError::Unavailable).
    fn scan(&self, scan: KeyScan) -> BoxFuture<'_, StoreResult<Vec<KeyPair>>>;

    /// Makes all changes, or none. No key stands in it twice.
    ///
    /// # Errors
    /// [`StoreError::Unknown`](crate::StoreError::Unknown) if they may have been made;
    /// [`StoreError::Unavailable`](crate::StoreError::Unavailable) if they were not.
    fn write(&self, changes: Vec<KeyChange>) -> BoxFuture<'_, StoreResult<()>>;
}

impl<K: KeyValue + ?Sized> KeyValue for Arc<K> {
    fn get(&self, key: Vec<u8>) -> BoxFuture<'_, StoreResult<Option<Vec<u8>>>> {
        (**self).get(key)
    }

    fn scan(&self, scan: KeyScan) -> BoxFuture<'_, StoreResult<Vec<KeyPair>>> {
        (**self).scan(scan)
    }

    fn write(&self, changes: Vec<KeyChange>) -> BoxFuture<'_, StoreResult<()>> {
        (**self).write(changes)
    }
}

/// Processes in a [`KeyValue`] map. Keeps every rule of [`ProcessStore`] if the map keeps its own.
///
/// Each operation is one [`KeyValue::write`]; they take turns, reads do not. So a cut or a deletion
/// is a write as large as the number of keys that it drops, at about 100 bytes each. Collecting
/// remembers 32 bytes for each block that is reached, and begins anew when the store is opened again.
///
/// ```
/// use std::collections::BTreeMap;
/// use std::future::ready;
/// use std::sync::{Arc, Mutex};
/// use svit_txn::*;
///
/// #[derive(Default)]
/// struct Map(Mutex<BTreeMap<Vec<u8>, Vec<u8>>>);
///
/// impl KeyValue for Map {
///     fn get(&self, key: Vec<u8>) -> BoxFuture<'_, StoreResult<Option<Vec<u8>>>> {
///         Box::pin(ready(Ok(self.0.lock().unwrap().get(&key).cloned())))
///     }
///
///     fn scan(&self, scan: KeyScan) -> BoxFuture<'_, StoreResult<Vec<KeyPair>>> {
///         let map = self.0.lock().unwrap();
///         let found = map.range(scan.keys).map(|(key, value)| (key.clone(), value.clone()));
///         Box::pin(ready(Ok(match scan.reverse {
///             true => found.rev().take(scan.limit).collect(),
///             false => found.take(scan.limit).collect(),
///         })))
///     }
///
///     fn write(&self, changes: Vec<KeyChange>) -> BoxFuture<'_, StoreResult<()>> {
///         let mut map = self.0.lock().unwrap();
///         for (key, value) in changes {
///             match value {
///                 Some(value) => map.insert(key, value),
///                 None => map.remove(&key),
///             };
///         }
///         Box::pin(ready(Ok(())))
///     }
/// }
///
/// # futures_lite::future::block_on(async {
/// let store: Arc<dyn ProcessStore> = Arc::new(KeyValueStore::new(Map::default()));
/// let process = store.create(Process::builder("svit://local/demo")?.build()?).await?;
/// process.write("/memory/color", "teal").await?;
/// drop(process);
/// let again = store.resume("svit://local/demo").await?;
/// assert_eq!(again.read("/memory/color")?, Some("teal".into()));
/// # Ok::<(), svit_txn::Error>(()) }).unwrap();
/// ```
pub struct KeyValueStore {
    map: Box<dyn KeyValue>,
    /// Whose turn it is to write, and the collection of garbage that is under way.
    turn: Mutex<Option<Collection>>,
}

impl std::fmt::Debug for KeyValueStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyValueStore").finish_non_exhaustive()
    }
}

impl KeyValueStore {
    /// A store in a map, which is empty or was written by another `KeyValueStore`.
    pub fn new(map: impl KeyValue + 'static) -> Self {
        Self {
            map: Box::new(map),
            turn: Mutex::new(None),
        }
    }

    fn draft(&self) -> Draft<'_> {
        Draft::new(&*self.map)
    }
}

/// Runs a change of the map when its turn comes: what the body says of the draft is one write.
macro_rules! change {
    ($store:ident, |$draft:ident| $body:expr) => {
        Box::pin(async move {
            let _turn = $store.turn.lock().await;
            let mut $draft = $store.draft();
            let result = $body.await?;
            $draft.write().await?;
            Ok(result)
        })
    };
}

/// The same for a change that brings blocks, which the collection under way has to know.
macro_rules! change_with_blocks {
    ($store:ident, $blocks:expr, |$draft:ident| $body:expr) => {
        Box::pin(async move {
            let mut turn = $store.turn.lock().await;
            if let Some(collection) = turn.as_mut() {
                collection.keep($blocks);
            }
            let mut $draft = $store.draft();
            let result = $body.await?;
            $draft.write().await?;
            Ok(result)
        })
    };
}

impl ProcessStore for KeyValueStore {
    fn insert_base(
        &self,
        base: Base,
        blocks: Vec<Block>,
        batch: Batch,
    ) -> BoxFuture<'_, StoreResult<u64>> {
        change_with_blocks!(self, &blocks, |draft| draft
            .insert_base(base, blocks, batch))
    }

    fn load(&self, address: &Address) -> BoxFuture<'_, StoreResult<Head>> {
        let address = address.clone();
        Box::pin(async move { Ok(self.draft().row(&address).await?.head) })
    }

    fn claim(&self, address: &Address) -> BoxFuture<'_, StoreResult<Head>> {
        let address = address.clone();
        change!(self, |draft| draft.claim(&address))
    }

    fn append(
        &self,
        address: &Address,
        expected: Digest,
        epoch: u64,
        batch: Batch,
    ) -> BoxFuture<'_, StoreResult<()>> {
        let address = address.clone();
        change!(self, |draft| draft.append(&address, expected, epoch, batch))
    }

    fn records(
        &self,
        address: &Address,
        query: RecordQuery,
    ) -> BoxFuture<'_, StoreResult<Vec<StoredRecord>>> {
        let address = address.clone();
        Box::pin(async move { self.draft().records(&address, query).await })
    }

    fn events(
        &self,
        address: &Address,
        query: EventQuery,
    ) -> BoxFuture<'_, StoreResult<Vec<ThreadEvent>>> {
        let address = address.clone();
        Box::pin(async move { self.draft().events(&address, query).await })
    }

    fn receipt(
        &self,
        address: &Address,
        key: &ReceiptKey,
    ) -> BoxFuture<'_, StoreResult<Option<Receipt>>> {
        let (address, key) = (address.clone(), key.clone());
        Box::pin(async move {
            let draft = self.draft();
            draft.row(&address).await?;
            Ok(draft.receipt(&address, &key).await?.map(|(it, _)| it))
        })
    }

    fn blocks(&self, digests: Vec<Digest>) -> BoxFuture<'_, StoreResult<Vec<Option<Vec<u8>>>>> {
        Box::pin(async move {
            let draft = self.draft();
            let mut found = Vec::with_capacity(digests.len());
            for digest in digests {
                found.push(draft.get(&keys::block(digest)).await?);
            }
            Ok(found)
        })
    }

    fn put_checkpoint(
        &self,
        address: &Address,
        part: CheckpointPart,
    ) -> BoxFuture<'_, StoreResult<()>> {
        let address = address.clone();
        change_with_blocks!(self, &part.blocks, |draft| draft
            .put_checkpoint(&address, part))
    }

    fn checkpoints(
        &self,
        address: &Address,
        at_or_before: u64,
        limit: usize,
    ) -> BoxFuture<'_, StoreResult<Vec<Checkpoint>>> {
        let address = address.clone();
        Box::pin(async move {
            self.draft()
                .checkpoints(&address, at_or_before, limit)
                .await
        })
    }

    fn cut(&self, address: &Address, epoch: u64, base: Base) -> BoxFuture<'_, StoreResult<()>> {
        let address = address.clone();
        change!(self, |draft| draft.cut(&address, epoch, base))
    }

    fn forks(
        &self,
        address: &Address,
        below: u64,
        limit: usize,
    ) -> BoxFuture<'_, StoreResult<Vec<ForkRef>>> {
        let address = address.clone();
        Box::pin(async move {
            let draft = self.draft();
            draft.row(&address).await?;
            draft.forks(&address, below, limit).await
        })
    }

    fn trim_events(
        &self,
        address: &Address,
        epoch: u64,
        before: u64,
    ) -> BoxFuture<'_, StoreResult<()>> {
        let address = address.clone();
        change!(self, |draft| draft.trim_events(&address, epoch, before))
    }

    fn delete(&self, address: &Address, epoch: u64) -> BoxFuture<'_, StoreResult<()>> {
        let address = address.clone();
        change!(self, |draft| draft.delete(&address, epoch))
    }

    fn collect(&self, steps: u64) -> BoxFuture<'_, StoreResult<Collected>> {
        Box::pin(async move {
            let mut turn = self.turn.lock().await;
            // Taken out: if it fails or is dropped, the next one begins anew.
            let mut collection = match turn.take() {
                Some(collection) => collection,
                None => Collection::begin(&self.draft()).await?,
            };
            let collected = collection.go_on(&*self.map, steps).await?;
            if !collected.done {
                *turn = Some(collection);
            }
            Ok(collected)
        })
    }

    fn addresses(
        &self,
        after: Option<&Address>,
        limit: usize,
    ) -> BoxFuture<'_, StoreResult<Vec<Address>>> {
        let after = after.cloned();
        Box::pin(async move { self.draft().addresses(after.as_ref(), limit).await })
    }
}
