//! A store whose answers pass through the test's hands.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use svit_tree::Address;
use svit_txn::{
    Batch, BoxFuture, Checkpoint, CheckpointPart, Head, MemoryStore, ProcessStore, RecordQuery,
    StoreResult, StoredRecord,
};
use svit_value::Digest;

type Appended = (Address, Digest, u64, Batch);
type BlockChange = Box<dyn Fn(Digest, &mut Option<Vec<u8>>) + Send + Sync>;
pub(crate) type RecordsChange = Box<dyn Fn(&mut Vec<StoredRecord>) + Send + Sync>;
pub(crate) type HeadChange = Box<dyn Fn(&mut Head) + Send + Sync>;
type Change<T> = Mutex<Option<Box<dyn Fn(&Address, &mut T) + Send + Sync>>>;

/// A store whose answers pass through the test's hands.
#[derive(Default)]
pub(crate) struct Tampered {
    pub(crate) inner: MemoryStore,
    records: Change<Vec<StoredRecord>>,
    heads: Change<Head>,
    checkpoints: Change<Vec<Checkpoint>>,
    blocks: Mutex<Option<BlockChange>>,
    /// How many records were read.
    served: AtomicUsize,
    /// The parts of checkpoints that were taken.
    parts: Mutex<Vec<CheckpointPart>>,
    late: Mutex<Option<Option<Appended>>>,
}

impl Tampered {
    pub(crate) fn records(
        &self,
        change: impl Fn(&Address, &mut Vec<StoredRecord>) + Send + Sync + 'static,
    ) {
        *self.records.lock().unwrap() = Some(Box::new(change));
    }

    pub(crate) fn heads(&self, change: impl Fn(&Address, &mut Head) + Send + Sync + 'static) {
        *self.heads.lock().unwrap() = Some(Box::new(change));
    }

    pub(crate) fn blocks(
        &self,
        change: impl Fn(Digest, &mut Option<Vec<u8>>) + Send + Sync + 'static,
    ) {
        *self.blocks.lock().unwrap() = Some(Box::new(change));
    }

    pub(crate) fn checkpoints(
        &self,
        change: impl Fn(&Address, &mut Vec<Checkpoint>) + Send + Sync + 'static,
    ) {
        *self.checkpoints.lock().unwrap() = Some(Box::new(change));
    }

    /// How many records were read since this was last asked.
    pub(crate) fn served(&self) -> usize {
        self.served.swap(0, Ordering::SeqCst)
    }

    /// The parts of checkpoints that were taken since this was last asked.
    pub(crate) fn parts(&self) -> Vec<CheckpointPart> {
        std::mem::take(&mut self.parts.lock().unwrap())
    }

    pub(crate) fn honest(&self) {
        *self.checkpoints.lock().unwrap() = None;
        *self.records.lock().unwrap() = None;
        *self.heads.lock().unwrap() = None;
        *self.blocks.lock().unwrap() = None;
    }

    /// The next append hangs, and lands just before the one after it.
    pub(crate) fn hang_and_land_late(&self) {
        *self.late.lock().unwrap() = Some(None);
    }

    /// Whether it has come to that.
    pub(crate) fn hangs(&self) -> bool {
        matches!(*self.late.lock().unwrap(), Some(Some(_)))
    }

    fn head(&self, address: &Address, mut head: Head) -> Head {
        if let Some(change) = &*self.heads.lock().unwrap() {
            change(address, &mut head);
        }
        head
    }
}

impl ProcessStore for Tampered {
    fn load(&self, address: &Address) -> BoxFuture<'_, StoreResult<Head>> {
        let address = address.clone();
        Box::pin(async move { Ok(self.head(&address, self.inner.load(&address).await?)) })
    }

    fn claim(&self, address: &Address) -> BoxFuture<'_, StoreResult<Head>> {
        let address = address.clone();
        Box::pin(async move { Ok(self.head(&address, self.inner.claim(&address).await?)) })
    }

    fn append(
        &self,
        address: &Address,
        expected: Digest,
        epoch: u64,
        batch: Batch,
    ) -> BoxFuture<'_, StoreResult<()>> {
        let appended = (address.clone(), expected, epoch, batch);
        Box::pin(async move {
            let planned = self.late.lock().unwrap().take();
            match planned {
                Some(None) => {
                    *self.late.lock().unwrap() = Some(Some(appended));
                    return std::future::pending().await;
                }
                Some(Some((address, expected, epoch, batch))) => {
                    let late = self.inner.append(&address, expected, epoch, batch);
                    late.await.unwrap();
                }
                None => {}
            }
            let (address, expected, epoch, batch) = appended;
            self.inner.append(&address, expected, epoch, batch).await
        })
    }

    fn records(
        &self,
        address: &Address,
        query: RecordQuery,
    ) -> BoxFuture<'_, StoreResult<Vec<StoredRecord>>> {
        let address = address.clone();
        Box::pin(async move {
            let mut records = self.inner.records(&address, query).await?;
            if let Some(change) = &*self.records.lock().unwrap() {
                change(&address, &mut records);
            }
            self.served.fetch_add(records.len(), Ordering::SeqCst);
            Ok(records)
        })
    }

    fn blocks(&self, digests: Vec<Digest>) -> BoxFuture<'_, StoreResult<Vec<Option<Vec<u8>>>>> {
        Box::pin(async move {
            let mut blocks = self.inner.blocks(digests.clone()).await?;
            if let Some(change) = &*self.blocks.lock().unwrap() {
                for (digest, block) in digests.into_iter().zip(&mut blocks) {
                    change(digest, block);
                }
            }
            Ok(blocks)
        })
    }

    fn put_checkpoint(
        &self,
        address: &Address,
        part: CheckpointPart,
    ) -> BoxFuture<'_, StoreResult<()>> {
        let address = address.clone();
        Box::pin(async move {
            self.inner.put_checkpoint(&address, part.clone()).await?;
            self.parts.lock().unwrap().push(part);
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
        Box::pin(async move {
            let known = self.inner.checkpoints(&address, at_or_before, usize::MAX);
            let mut known = known.await?;
            if let Some(change) = &*self.checkpoints.lock().unwrap() {
                change(&address, &mut known);
            }
            known.truncate(limit);
            Ok(known)
        })
    }

    svit_testkit::forward_to_store!(inner: insert_base events receipt cut forks trim_events delete collect addresses);
}
