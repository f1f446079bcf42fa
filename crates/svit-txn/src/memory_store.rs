//! `MemoryStore`: the reference store. Durable for as long as it lives.

use std::collections::{BTreeMap, HashMap};
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use svit_tree::Address;
use svit_value::Digest;

use crate::store::{
    Batch, Block, BoxFuture, EventQuery, Head, ProcessStore, Receipt, ReceiptKey, RecordQuery,
    StoreError, StoreResult, StoredRecord, ThreadEvent,
};
use crate::{Base, BaseKind};

/// A store in memory, for tests and for processes that need not outlive the program. Clones are the
/// same store.
///
/// ```
/// use svit_txn::{MemoryStore, ProcessStore, StoreError};
/// # async_io_free(async {
/// let store = MemoryStore::new();
/// let missing = store.load(&"svit://local/nobody".parse()?).await;
/// assert!(matches!(missing, Err(StoreError::NotFound { .. })));
/// # Ok::<(), svit_tree::TreeError>(()) });
/// # fn async_io_free(f: impl Future<Output = Result<(), svit_tree::TreeError>>) {
/// #     let mut f = std::pin::pin!(f);
/// #     let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
/// #     assert!(f.as_mut().poll(&mut cx).is_ready());
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    tables: Arc<Mutex<Tables>>,
}

#[derive(Debug, Default)]
struct Tables {
    processes: BTreeMap<Address, History>,
    blocks: HashMap<Digest, Vec<u8>>,
}

#[derive(Debug)]
struct History {
    base: Base,
    epoch: u64,
    records: Vec<StoredRecord>,
    receipts: BTreeMap<ReceiptKey, Receipt>,
    events: Vec<ThreadEvent>,
}

impl MemoryStore {
    /// A store with nothing in it.
    pub fn new() -> Self {
        Self::default()
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tables {
    fn history(&self, address: &Address) -> StoreResult<&History> {
        self.processes
            .get(address)
            .ok_or_else(|| StoreError::NotFound {
                address: address.clone(),
            })
    }

    fn history_mut(&mut self, address: &Address) -> StoreResult<&mut History> {
        self.processes
            .get_mut(address)
            .ok_or_else(|| StoreError::NotFound {
                address: address.clone(),
            })
    }

    fn insert_base(&mut self, base: Base, blocks: Vec<Block>, batch: Batch) -> StoreResult<u64> {
        let address = base.address.clone();
        if self.processes.contains_key(&address) {
            return Err(StoreError::AlreadyExists { address });
        }
        if let BaseKind::Forked { parent, .. } = &base.kind {
            self.history(parent)?;
        }
        let mut history = History {
            base,
            epoch: 1,
            records: Vec::new(),
            receipts: BTreeMap::new(),
            events: Vec::new(),
        };
        history.append(batch)?;
        let blocks = blocks.into_iter().map(|block| (block.digest, block.data));
        self.blocks.extend(blocks);
        self.processes.insert(address, history);
        Ok(1)
    }

    fn append(
        &mut self,
        address: &Address,
        expected: Digest,
        epoch: u64,
        batch: Batch,
    ) -> StoreResult<()> {
        let history = self.history_mut(address)?;
        if history.epoch != epoch {
            return Err(StoreError::Fenced {
                address: address.clone(),
                epoch,
                actual: history.epoch,
            });
        }
        let head = history.head();
        if head.digest != expected {
            return Err(StoreError::Conflict {
                address: address.clone(),
                expected,
                actual: head.digest,
                version: head.version,
            });
        }
        history.append(batch)
    }
}

impl History {
    fn head(&self) -> Head {
        let newest = self.records.last();
        Head {
            version: newest.map_or(self.base.version, |record| record.version),
            digest: newest.map_or_else(|| self.base.digest(), |record| record.digest),
            root: newest.map_or(self.base.root, |record| record.root),
            epoch: self.epoch,
            base: self.base.clone(),
            next_event: self.base.first_event() + self.events.len() as u64,
        }
    }

    /// Adds a batch, all of it or nothing.
    fn append(&mut self, batch: Batch) -> StoreResult<()> {
        let head = self.head();
        check_batch(&head, &batch)?;
        self.records.extend(batch.records);
        self.events.extend(batch.events);
        for receipt in batch.receipts {
            self.receipts.insert(receipt.key.clone(), receipt);
        }
        Ok(())
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

fn done<'a, T: Send + 'a>(result: StoreResult<T>) -> BoxFuture<'a, StoreResult<T>> {
    Box::pin(ready(result))
}

impl ProcessStore for MemoryStore {
    fn insert_base(
        &self,
        base: Base,
        blocks: Vec<Block>,
        batch: Batch,
    ) -> BoxFuture<'_, StoreResult<u64>> {
        done(self.tables().insert_base(base, blocks, batch))
    }

    fn load(&self, address: &Address) -> BoxFuture<'_, StoreResult<Head>> {
        done(self.tables().history(address).map(History::head))
    }

    fn claim(&self, address: &Address) -> BoxFuture<'_, StoreResult<Head>> {
        done(self.tables().history_mut(address).map(|history| {
            history.epoch += 1;
            history.head()
        }))
    }

    fn append(
        &self,
        address: &Address,
        expected: Digest,
        epoch: u64,
        batch: Batch,
    ) -> BoxFuture<'_, StoreResult<()>> {
        done(self.tables().append(address, expected, epoch, batch))
    }

    fn records(
        &self,
        address: &Address,
        query: RecordQuery,
    ) -> BoxFuture<'_, StoreResult<Vec<StoredRecord>>> {
        done(self.tables().history(address).map(|history| {
            let wanted = |record: &&StoredRecord| (query.from..=query.to).contains(&record.version);
            let records = history.records.iter().filter(wanted);
            records.take(query.limit).cloned().collect()
        }))
    }

    fn events(
        &self,
        address: &Address,
        query: EventQuery,
    ) -> BoxFuture<'_, StoreResult<Vec<ThreadEvent>>> {
        done(self.tables().history(address).map(|history| {
            let events = history.events.iter();
            if query.newest_first {
                let wanted = events.rev().filter(|event| event.seq <= query.from);
                wanted.take(query.limit).cloned().collect()
            } else {
                let wanted = events.filter(|event| event.seq >= query.from);
                wanted.take(query.limit).cloned().collect()
            }
        }))
    }

    fn receipt(
        &self,
        address: &Address,
        key: &ReceiptKey,
    ) -> BoxFuture<'_, StoreResult<Option<Receipt>>> {
        let tables = self.tables();
        let history = tables.history(address);
        done(history.map(|history| history.receipts.get(key).cloned()))
    }

    fn block(&self, digest: Digest) -> BoxFuture<'_, StoreResult<Option<Vec<u8>>>> {
        done(Ok(self.tables().blocks.get(&digest).cloned()))
    }

    fn addresses(
        &self,
        after: Option<&Address>,
        limit: usize,
    ) -> BoxFuture<'_, StoreResult<Vec<Address>>> {
        let tables = self.tables();
        let addresses = tables.processes.keys();
        let behind = addresses.filter(|address| after.is_none_or(|after| *address > after));
        done(Ok(behind.take(limit).cloned().collect()))
    }
}
