//! What users do with a store: create, resume and list processes.

use std::sync::Arc;

use futures_lite::future;
use svit_tree::{Address, IntoAddress};

use crate::store::{BoxFuture, Collected, ProcessStore, StoreResult};
use crate::{DurableProcess, Error, MemoryStore, Process};

/// `create`, `resume`, `list` and `collect_garbage` for any store in an `Arc`. The stores of svit have them as methods
/// of their own.
///
/// ```
/// use std::sync::Arc;
/// use svit_txn::{MemoryStore, Process, ProcessStore, ProcessStoreExt};
///
/// # async fn demo() -> Result<(), svit_txn::Error> {
/// let store: Arc<dyn ProcessStore> = Arc::new(MemoryStore::new());
/// let process = store.create(Process::builder("svit://local/demo")?.build()?).await?;
/// assert_eq!(store.list(None, 10).await?, [process.address().clone()]);
/// # Ok(()) }
/// ```
pub trait ProcessStoreExt {
    /// Puts a process into the store; see [`DurableProcess::create`].
    fn create(&self, process: Process) -> BoxFuture<'static, Result<DurableProcess, Error>>;

    /// Takes over a process of the store; see [`DurableProcess::resume`].
    fn resume(
        &self,
        address: impl IntoAddress,
    ) -> BoxFuture<'static, Result<DurableProcess, Error>>;

    /// Addresses in bytewise order, from behind `after`.
    fn list(
        &self,
        after: Option<&Address>,
        limit: usize,
    ) -> BoxFuture<'_, StoreResult<Vec<Address>>>;

    /// Removes the blocks that nothing reaches any more after cuts and deletions, and says how much
    /// that was. O(blocks), in pieces of about 1,000 blocks with a pause after each, in which others
    /// are served; dropping the future ends it.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use svit_txn::{MemoryStore, Process, ProcessStore, ProcessStoreExt};
    ///
    /// # futures_lite::future::block_on(async {
    /// let store: Arc<dyn ProcessStore> = Arc::new(MemoryStore::new());
    /// let process = store.create(Process::builder("svit://local/demo")?.build()?).await?;
    /// process.delete().await?;
    /// assert!(store.collect_garbage().await?.blocks > 0);
    /// # Ok::<(), svit_txn::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`StoreError::Corrupt`](crate::StoreError::Corrupt): what is damaged is not removed, and what
    /// is below it neither.
    fn collect_garbage(&self) -> BoxFuture<'_, StoreResult<Collected>>;
}

/// How many blocks a piece of garbage collection looks at.
const PIECE: u64 = 1_000;

async fn collect(store: &dyn ProcessStore) -> StoreResult<Collected> {
    let mut all = Collected::default();
    while !all.done {
        let piece = store.collect(PIECE).await?;
        all.blocks += piece.blocks;
        all.bytes += piece.bytes;
        all.done = piece.done;
        future::yield_now().await;
    }
    Ok(all)
}

impl ProcessStoreExt for Arc<dyn ProcessStore> {
    fn create(&self, process: Process) -> BoxFuture<'static, Result<DurableProcess, Error>> {
        Box::pin(DurableProcess::create(self.clone(), process))
    }

    fn resume(
        &self,
        address: impl IntoAddress,
    ) -> BoxFuture<'static, Result<DurableProcess, Error>> {
        let (store, address) = (self.clone(), address.into_address());
        Box::pin(async move { DurableProcess::resume(store, address?).await })
    }

    fn list(
        &self,
        after: Option<&Address>,
        limit: usize,
    ) -> BoxFuture<'_, StoreResult<Vec<Address>>> {
        self.addresses(after, limit)
    }

    fn collect_garbage(&self) -> BoxFuture<'_, StoreResult<Collected>> {
        Box::pin(collect(&**self))
    }
}

impl MemoryStore {
    fn shared(&self) -> Arc<dyn ProcessStore> {
        Arc::new(self.clone())
    }

    /// Puts a process into the store; see [`DurableProcess::create`].
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`](crate::StoreError::AlreadyExists).
    pub async fn create(&self, process: Process) -> Result<DurableProcess, Error> {
        DurableProcess::create(self.shared(), process).await
    }

    /// Takes over a process of the store; see [`DurableProcess::resume`].
    ///
    /// # Errors
    /// [`StoreError::NotFound`](crate::StoreError::NotFound).
    pub async fn resume(&self, address: impl IntoAddress) -> Result<DurableProcess, Error> {
        DurableProcess::resume(self.shared(), address).await
    }

    /// Addresses in bytewise order, from behind `after`.
    ///
    /// # Errors
    /// None; the signature is that of stores that can fail.
    pub async fn list(&self, after: Option<&Address>, limit: usize) -> StoreResult<Vec<Address>> {
        self.addresses(after, limit).await
    }

    /// Removes the blocks that nothing reaches any more; see
    /// [`ProcessStoreExt::collect_garbage`].
    ///
    /// # Errors
    /// A block that must be followed is not there, which cannot happen here.
    pub async fn collect_garbage(&self) -> StoreResult<Collected> {
        collect(self).await
    }
}
