//! `Reopened`: a store that is closed and opened again before whatever is read from it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_lock::RwLock;
use svit_tree::Address;
use svit_txn::{
    Base, Batch, Block, BoxFuture, Checkpoint, CheckpointPart, Collected, EventQuery, ForkRef,
    Head, ProcessStore, Receipt, ReceiptKey, RecordQuery, StoreError, StoreResult, StoredRecord,
    ThreadEvent,
};
use svit_value::Digest;

pub(super) struct Reopened<S, R> {
    /// None only while it is being opened, or if that was given up.
    store: RwLock<Option<Arc<S>>>,
    reopen: Arc<R>,
    /// Whether anything was written since it was opened.
    dirty: AtomicBool,
    /// Whether there is an unfinished checkpoint, which a store may forget when it is closed.
    unfinished: AtomicBool,
}

impl<S, R> Reopened<S, R>
where
    S: ProcessStore + 'static,
    R: Fn(Arc<S>) -> BoxFuture<'static, Arc<S>> + Send + Sync + 'static,
{
    pub(super) fn new(store: Arc<S>, reopen: Arc<R>) -> Self {
        Self {
            store: RwLock::new(Some(store)),
            reopen,
            dirty: AtomicBool::new(false),
            unfinished: AtomicBool::new(false),
        }
    }

    fn read<'a, T: Send + 'a>(
        &'a self,
        call: impl for<'s> FnOnce(&'s S) -> BoxFuture<'s, StoreResult<T>> + Send + 'a,
    ) -> BoxFuture<'a, StoreResult<T>> {
        Box::pin(async move {
            if !self.unfinished.load(Ordering::SeqCst) && self.dirty.swap(false, Ordering::SeqCst) {
                let mut slot = self.store.write().await;
                if let Some(store) = slot.take() {
                    *slot = Some((self.reopen)(store).await);
                }
            }
            let store = self.store.read().await;
            let store = store.as_ref().ok_or_else(not_open)?;
            call(store).await
        })
    }

    fn write<'a, T: Send + 'a>(
        &'a self,
        call: impl for<'s> FnOnce(&'s S) -> BoxFuture<'s, StoreResult<T>> + Send + 'a,
    ) -> BoxFuture<'a, StoreResult<T>> {
        Box::pin(async move {
            self.dirty.store(true, Ordering::SeqCst);
            let store = self.store.read().await;
            let store = store.as_ref().ok_or_else(not_open)?;
            call(store).await
        })
    }
}

fn not_open() -> StoreError {
    StoreError::Unavailable {
        why: "it was not opened again".to_owned(),
    }
}

impl<S, R> ProcessStore for Reopened<S, R>
where
    S: ProcessStore + 'static,
    R: Fn(Arc<S>) -> BoxFuture<'static, Arc<S>> + Send + Sync + 'static,
{
    fn insert_base(
        &self,
        base: Base,
        blocks: Vec<Block>,
        batch: Batch,
    ) -> BoxFuture<'_, StoreResult<u64>> {
        self.write(|store| store.insert_base(base, blocks, batch))
    }

    fn load(&self, address: &Address) -> BoxFuture<'_, StoreResult<Head>> {
        let address = address.clone();
        self.read(move |store| store.load(&address))
    }

    fn claim(&self, address: &Address) -> BoxFuture<'_, StoreResult<Head>> {
        let address = address.clone();
        self.write(move |store| store.claim(&address))
    }

    fn append(
        &self,
        address: &Address,
        expected: Digest,
        epoch: u64,
        batch: Batch,
    ) -> BoxFuture<'_, StoreResult<()>> {
        let address = address.clone();
        self.write(move |store| store.append(&address, expected, epoch, batch))
    }

    fn records(
        &self,
        address: &Address,
        query: RecordQuery,
    ) -> BoxFuture<'_, StoreResult<Vec<StoredRecord>>> {
        let address = address.clone();
        self.read(move |store| store.records(&address, query))
    }

    fn events(
        &self,
        address: &Address,
        query: EventQuery,
    ) -> BoxFuture<'_, StoreResult<Vec<ThreadEvent>>> {
        let address = address.clone();
        self.read(move |store| store.events(&address, query))
    }

    fn receipt(
        &self,
        address: &Address,
        key: &ReceiptKey,
    ) -> BoxFuture<'_, StoreResult<Option<Receipt>>> {
        let (address, key) = (address.clone(), key.clone());
        self.read(move |store| store.receipt(&address, &key))
    }

    fn blocks(&self, digests: Vec<Digest>) -> BoxFuture<'_, StoreResult<Vec<Option<Vec<u8>>>>> {
        self.read(|store| store.blocks(digests))
    }

    fn put_checkpoint(
        &self,
        address: &Address,
        part: CheckpointPart,
    ) -> BoxFuture<'_, StoreResult<()>> {
        let address = address.clone();
        Box::pin(async move {
            let unfinished = !part.last;
            let put = self.write(move |store| store.put_checkpoint(&address, part));
            put.await?;
            self.unfinished.store(unfinished, Ordering::SeqCst);
            Ok(())
        })
    }

    fn checkpoints(
        &self,
        address: &Address,
        at_or_before: u64,
        limit: usize,
    ) -> BoxFuture<'_, StoreResult<Vec<Checkpoint>>> {
        let address = address.clone();
        self.read(move |store| store.checkpoints(&address, at_or_before, limit))
    }

    fn cut(&self, address: &Address, epoch: u64, base: Base) -> BoxFuture<'_, StoreResult<()>> {
        let address = address.clone();
        self.write(move |store| store.cut(&address, epoch, base))
    }

    fn forks(
        &self,
        address: &Address,
        below: u64,
        limit: usize,
    ) -> BoxFuture<'_, StoreResult<Vec<ForkRef>>> {
        let address = address.clone();
        self.read(move |store| store.forks(&address, below, limit))
    }

    fn trim_events(
        &self,
        address: &Address,
        epoch: u64,
        before: u64,
    ) -> BoxFuture<'_, StoreResult<()>> {
        let address = address.clone();
        self.write(move |store| store.trim_events(&address, epoch, before))
    }

    fn delete(&self, address: &Address, epoch: u64) -> BoxFuture<'_, StoreResult<()>> {
        let address = address.clone();
        self.write(move |store| store.delete(&address, epoch))
    }

    fn collect(&self, steps: u64) -> BoxFuture<'_, StoreResult<Collected>> {
        self.write(move |store| store.collect(steps))
    }

    fn addresses(
        &self,
        after: Option<&Address>,
        limit: usize,
    ) -> BoxFuture<'_, StoreResult<Vec<Address>>> {
        let after = after.cloned();
        self.read(move |store| store.addresses(after.as_ref(), limit))
    }
}
