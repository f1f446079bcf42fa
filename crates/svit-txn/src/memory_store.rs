//! `MemoryStore`: the reference store. Durable for as long as it lives.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use svit_tree::Address;
use svit_value::{Digest, Text};

use crate::store::{
    Batch, Block, BoxFuture, EventQuery, Head, ProcessStore, Receipt, ReceiptKey, RecordQuery,
    StoreError, StoreResult, StoredRecord, ThreadEvent, check_batch,
};
use crate::{Base, BaseKind};

/// A store in memory, for tests and for processes that need not outlive the program. Clones are the
/// same store.
///
/// Of each client of a process the newest 1,024 receipts are kept. Clones are the same store.
///
/// ```
/// use svit_txn::{MemoryStore, ProcessStore, StoreError};
///
/// # futures_lite::future::block_on(async {
/// let store = MemoryStore::new();
/// let missing = store.load(&"svit://local/nobody".parse()?).await;
/// assert!(matches!(missing, Err(StoreError::NotFound { .. })));
/// # Ok::<(), svit_tree::TreeError>(()) }).unwrap();
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
    receipts: BTreeMap<Text, ClientReceipts>,
    events: Vec<ThreadEvent>,
}

/// How many receipts are kept of each client.
const RECEIPTS_PER_CLIENT: usize = 1_024;

/// The newest receipts of one client.
#[derive(Debug, Default)]
struct ClientReceipts {
    by_request: BTreeMap<Text, Receipt>,
    oldest_first: VecDeque<Text>,
}

impl ClientReceipts {
    fn add(&mut self, receipt: Receipt) {
        let request = receipt.key.request.clone();
        if self.by_request.insert(request.clone(), receipt).is_some() {
            self.oldest_first.retain(|known| *known != request);
        }
        self.oldest_first.push_back(request);
        if self.oldest_first.len() > RECEIPTS_PER_CLIENT
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.by_request.remove(&oldest);
        }
    }
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
        let bad = |why: &str| StoreError::BadBatch {
            address: base.address.clone(),
            why: why.to_owned(),
        };
        if let BaseKind::Forked { parent, record, .. } = &base.kind
            && self.history(parent)?.point(base.version) != Some((*record, base.root))
        {
            return Err(bad("the parent has another record or root at that version"));
        }
        if let Some(block) = blocks.iter().find(|b| Digest::of(&b.data) != b.digest) {
            return Err(bad(&format!("block {} has other bytes", block.digest)));
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

    /// The digest of the record, or base, of a version, and its root.
    fn point(&self, version: u64) -> Option<(Digest, Digest)> {
        if version == self.base.version {
            return Some((self.base.digest(), self.base.root));
        }
        let index = version.checked_sub(self.base.version + 1)?;
        let record = self.records.get(usize::try_from(index).ok()?)?;
        Some((record.digest, record.root))
    }

    /// Adds a batch, all of it or nothing.
    fn append(&mut self, batch: Batch) -> StoreResult<()> {
        let head = self.head();
        check_batch(&head, &batch)?;
        self.records.extend(batch.records);
        self.events.extend(batch.events);
        for receipt in batch.receipts {
            let client = self.receipts.entry(receipt.key.client.clone());
            client.or_default().add(receipt);
        }
        Ok(())
    }
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
        done(history.map(|history| {
            let client = history.receipts.get(&key.client)?;
            client.by_request.get(&key.request).cloned()
        }))
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
