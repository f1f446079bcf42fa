//! What users call: put a process into the store, take it over again, list what is there.

use std::sync::Arc;

use svit_tree::{Address, IntoAddress};
use svit_txn::{
    Collected, DurableProcess, Error, Process, ProcessStore, ProcessStoreExt, StoreResult,
};

use crate::store::TursoProcessStore;

impl TursoProcessStore {
    /// Puts a process into the store and makes it durable. The result keeps the store open.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`](svit_txn::StoreError::AlreadyExists) and the other
    /// [`Error`]s of [`DurableProcess::create`].
    pub async fn create(&self, process: Process) -> Result<DurableProcess, Error> {
        DurableProcess::create(Arc::new(self.clone()), process).await
    }

    /// Takes over a process that is in the store; an earlier owner can no longer write to it.
    ///
    /// # Errors
    /// [`StoreError::NotFound`](svit_txn::StoreError::NotFound) and the other [`Error`]s of
    /// [`DurableProcess::resume`].
    pub async fn resume(&self, address: impl IntoAddress) -> Result<DurableProcess, Error> {
        DurableProcess::resume(Arc::new(self.clone()), address).await
    }

    /// All addresses in the store, in bytewise order. O(processes); for pages see
    /// [`ProcessStore::addresses`].
    ///
    /// # Errors
    /// [`StoreError::Unavailable`](svit_txn::StoreError::Unavailable),
    /// [`StoreError::Corrupt`](svit_txn::StoreError::Corrupt).
    pub async fn list(&self) -> StoreResult<Vec<Address>> {
        self.addresses(None, usize::MAX).await
    }

    /// Removes the blocks that nothing reaches any more, and says how much that was; see
    /// [`ProcessStoreExt::collect_garbage`].
    ///
    /// # Errors
    /// [`StoreError::Corrupt`](svit_txn::StoreError::Corrupt),
    /// [`StoreError::Unavailable`](svit_txn::StoreError::Unavailable).
    pub async fn collect_garbage(&self) -> StoreResult<Collected> {
        let store: Arc<dyn ProcessStore> = Arc::new(self.clone());
        store.collect_garbage().await
    }
}
