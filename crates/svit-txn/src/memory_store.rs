//! `MemoryStore`: the reference store. Durable for as long as it lives.

mod garbage;
mod history;
mod receipts;

use std::collections::{BTreeMap, HashMap};
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use svit_tree::Address;
use svit_value::Digest;

use crate::store::{
    Batch, Block, BoxFuture, Checkpoint, CheckpointPart, CheckpointRef, Collected, EventQuery,
    ForkRef, Head, ProcessStore, Receipt, ReceiptKey, RecordQuery, StoreError, StoreResult,
    StoredRecord, ThreadEvent,
};
use crate::{Base, BaseKind};
use history::{Growing, History};

/// A store in memory, for tests and for processes that need not outlive the program. Clones are the
/// same store.
///
/// Each method holds one lock for as long as it works; [`collect`](ProcessStore::collect) does all
/// its work in one piece.
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
    /// The highest epoch that a process had that is gone. Epochs of new ones begin behind it, so that
    /// nobody who owned one of the same address owns the new one.
    past_epochs: u64,
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

    /// The history of a process, for its owner.
    // THREAT[TM-TXN-2]
    fn owned(&mut self, address: &Address, epoch: u64) -> StoreResult<&mut History> {
        let history = self.history_mut(address)?;
        if history.epoch != epoch {
            return Err(StoreError::Fenced {
                address: address.clone(),
                epoch,
                actual: history.epoch,
            });
        }
        Ok(history)
    }

    fn insert_base(&mut self, base: Base, blocks: Vec<Block>, batch: Batch) -> StoreResult<u64> {
        let address = base.address.clone();
        if self.processes.contains_key(&address) {
            return Err(StoreError::AlreadyExists { address });
        }
        if let BaseKind::Forked { parent, record, .. } = &base.kind
            && self.history(parent)?.point(base.version) != Some((*record, base.root))
        {
            let why = "the parent has another record or root at that version";
            return Err(bad(&address, why));
        }
        check_blocks(&address, &blocks)?;
        let epoch = self.past_epochs + 1;
        let mut history = History::new(base, epoch);
        history.append(batch)?;
        self.put_blocks(blocks);
        self.processes.insert(address, history);
        Ok(epoch)
    }

    fn put_blocks(&mut self, blocks: Vec<Block>) {
        let blocks = blocks.into_iter().map(|block| (block.digest, block.data));
        self.blocks.extend(blocks);
    }

    fn append(
        &mut self,
        address: &Address,
        expected: Digest,
        epoch: u64,
        batch: Batch,
    ) -> StoreResult<()> {
        let history = self.owned(address, epoch)?;
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

    fn put_checkpoint(&mut self, address: &Address, part: CheckpointPart) -> StoreResult<()> {
        let checkpoint = part.checkpoint;
        let history = self.history(address)?;
        if history.is_whole(&checkpoint) {
            return Ok(());
        }
        if history.point(checkpoint.version) != Some((checkpoint.record, checkpoint.root)) {
            let why = "a checkpoint of another record or root than that version has";
            return Err(bad(address, why));
        }
        if let Some(since) = &part.since
            && !self.has_blocks_of(since)
        {
            return Err(bad(address, "what the checkpoint builds on is not there"));
        }
        check_blocks(address, &part.blocks)?;
        let known = |digest| self.blocks.contains_key(&digest);
        let brings_root = part
            .blocks
            .iter()
            .any(|block| block.digest == checkpoint.root);
        if part.last && !brings_root && !known(checkpoint.root) {
            return Err(bad(address, "the root of the checkpoint is not there"));
        }
        let growing = Growing {
            checkpoint,
            since: part.since,
        };
        self.history_mut(address)?
            .next_part(growing, part.index, part.last)?;
        self.put_blocks(part.blocks);
        Ok(())
    }

    fn has_blocks_of(&self, of: &CheckpointRef) -> bool {
        let history = self.processes.get(&of.address);
        history.and_then(|it| it.root_of(of.version)) == Some(of.root)
    }

    fn forks(&self, address: &Address, below: u64) -> StoreResult<Vec<ForkRef>> {
        self.history(address)?;
        let forks = self.processes.values().filter_map(|history| {
            let fork = history.dependence_on(address)?;
            (fork.version < below).then_some(fork)
        });
        let mut forks: Vec<ForkRef> = forks.collect();
        forks.sort_by(|a, b| (a.version, &a.child).cmp(&(b.version, &b.child)));
        Ok(forks)
    }

    fn refuse_forks(&self, address: &Address, below: u64) -> StoreResult<()> {
        match self.forks(address, below)?.into_iter().next() {
            None => Ok(()),
            Some(ForkRef { child, version }) => Err(StoreError::Forked {
                address: address.clone(),
                child,
                version,
            }),
        }
    }

    fn cut(&mut self, address: &Address, epoch: u64, base: Base) -> StoreResult<()> {
        self.owned(address, epoch)?.check_cut(&base)?;
        self.refuse_forks(address, base.version)?;
        self.history_mut(address)?.cut(base);
        Ok(())
    }

    fn delete(&mut self, address: &Address, epoch: u64) -> StoreResult<()> {
        self.owned(address, epoch)?;
        self.refuse_forks(address, u64::MAX)?;
        let Some(gone) = self.processes.remove(address) else {
            return Ok(());
        };
        self.past_epochs = self.past_epochs.max(gone.epoch);
        for history in self.processes.values_mut() {
            history.inherit_events(&gone);
        }
        Ok(())
    }
}

fn bad(address: &Address, why: &str) -> StoreError {
    StoreError::BadBatch {
        address: address.clone(),
        why: why.to_owned(),
    }
}

fn check_blocks(address: &Address, blocks: &[Block]) -> StoreResult<()> {
    let wrong = blocks
        .iter()
        .find(|block| Digest::of(&block.data) != block.digest);
    match wrong {
        None => Ok(()),
        Some(block) => Err(bad(
            address,
            &format!("block {} has other bytes", block.digest),
        )),
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

    fn append_in_place(
        &self,
        address: &Address,
        expected: Digest,
        epoch: u64,
        batch: &Batch,
    ) -> Option<StoreResult<()>> {
        let batch = batch.clone();
        Some(self.tables().append(address, expected, epoch, batch))
    }

    fn can_append_in_place(&self) -> bool {
        true
    }

    fn records(
        &self,
        address: &Address,
        query: RecordQuery,
    ) -> BoxFuture<'_, StoreResult<Vec<StoredRecord>>> {
        done(self.tables().history(address).map(|it| it.records(query)))
    }

    fn events(
        &self,
        address: &Address,
        query: EventQuery,
    ) -> BoxFuture<'_, StoreResult<Vec<ThreadEvent>>> {
        done(self.tables().history(address).map(|it| it.events(query)))
    }

    fn receipt(
        &self,
        address: &Address,
        key: &ReceiptKey,
    ) -> BoxFuture<'_, StoreResult<Option<Receipt>>> {
        done(self.tables().history(address).map(|it| it.receipt(key)))
    }

    fn blocks(&self, digests: Vec<Digest>) -> BoxFuture<'_, StoreResult<Vec<Option<Vec<u8>>>>> {
        let tables = self.tables();
        let blocks = digests.iter().map(|digest| tables.blocks.get(digest));
        done(Ok(blocks.map(Option::<&Vec<u8>>::cloned).collect()))
    }

    fn put_checkpoint(
        &self,
        address: &Address,
        part: CheckpointPart,
    ) -> BoxFuture<'_, StoreResult<()>> {
        done(self.tables().put_checkpoint(address, part))
    }

    fn checkpoints(
        &self,
        address: &Address,
        at_or_before: u64,
        limit: usize,
    ) -> BoxFuture<'_, StoreResult<Vec<Checkpoint>>> {
        done(
            self.tables()
                .history(address)
                .map(|it| it.checkpoints(at_or_before, limit)),
        )
    }

    fn cut(&self, address: &Address, epoch: u64, base: Base) -> BoxFuture<'_, StoreResult<()>> {
        done(self.tables().cut(address, epoch, base))
    }

    fn forks(
        &self,
        address: &Address,
        below: u64,
        limit: usize,
    ) -> BoxFuture<'_, StoreResult<Vec<ForkRef>>> {
        done(self.tables().forks(address, below).map(|mut forks| {
            forks.truncate(limit);
            forks
        }))
    }

    fn trim_events(
        &self,
        address: &Address,
        epoch: u64,
        before: u64,
    ) -> BoxFuture<'_, StoreResult<()>> {
        let mut tables = self.tables();
        done(tables.owned(address, epoch).map(|it| it.trim(before)))
    }

    fn delete(&self, address: &Address, epoch: u64) -> BoxFuture<'_, StoreResult<()>> {
        done(self.tables().delete(address, epoch))
    }

    fn collect(&self, _steps: u64) -> BoxFuture<'_, StoreResult<Collected>> {
        done(self.tables().collect())
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
