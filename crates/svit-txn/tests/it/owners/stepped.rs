//! A store whose every call that matters can be interrupted by another task, and whose appends may end badly.

use std::sync::{Arc, Mutex};

use svit_tree::Address;
use svit_txn::{
    Batch, BoxFuture, Head, MemoryStore, ProcessStore, Receipt, ReceiptKey, RecordQuery,
    StoreError, StoreResult, StoredRecord,
};
use svit_value::Digest;

use super::explore::{Shared, pause};

/// What is wrong with the store, for the test that the checks would notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    Nothing,
    /// Every append is taken as the current owner's.
    NoFence,
    /// An append says that it landed, and did not.
    Forgets,
}

/// Around a [`MemoryStore`], which is used without pauses by the checks.
pub(super) struct Stepped {
    inner: MemoryStore,
    choices: Shared,
    wrong: Wrong,
    faults: Mutex<usize>,
    /// Who claimed, or appended what: epoch, and versions of the records that landed.
    landed: Mutex<Vec<(u64, Vec<u64>)>>,
}

impl Stepped {
    /// At most so many appends end with an unknown outcome.
    pub(super) fn new(
        inner: MemoryStore,
        choices: &Shared,
        faults: usize,
        wrong: Wrong,
    ) -> Arc<Self> {
        Arc::new(Self {
            inner,
            choices: choices.clone(),
            wrong,
            faults: Mutex::new(faults),
            landed: Mutex::default(),
        })
    }

    /// Epochs and versions of what landed, in order.
    pub(super) fn landed(&self) -> Vec<(u64, Vec<u64>)> {
        self.landed.lock().unwrap().clone()
    }

    /// From here on every append ends well.
    pub(super) fn no_more_faults(&self) {
        *self.faults.lock().unwrap() = 0;
    }

    /// How an append ends: well, or with an unknown outcome, lost or landed.
    fn fate(&self) -> usize {
        let mut faults = self.faults.lock().unwrap();
        if *faults == 0 {
            return 0;
        }
        let fate = self.choices.lock().unwrap().choose(3);
        *faults -= usize::from(fate > 0);
        fate
    }
}

impl ProcessStore for Stepped {
    fn claim(&self, address: &Address) -> BoxFuture<'_, StoreResult<Head>> {
        let address = address.clone();
        Box::pin(async move {
            // Nothing of this task comes before, so that no pause is needed here.
            let head = self.inner.claim(&address).await;
            if let Ok(head) = &head {
                self.landed.lock().unwrap().push((head.epoch, Vec::new()));
            }
            pause().await;
            head
        })
    }

    fn append(
        &self,
        address: &Address,
        expected: Digest,
        epoch: u64,
        batch: Batch,
    ) -> BoxFuture<'_, StoreResult<()>> {
        let address = address.clone();
        Box::pin(async move {
            pause().await;
            let fate = self.fate();
            let unknown = || {
                Err(StoreError::Unknown {
                    why: "as the test wants".to_owned(),
                })
            };
            if fate == 1 {
                pause().await;
                return unknown();
            }
            if self.wrong == Wrong::Forgets {
                return Ok(());
            }
            let versions = batch.records.iter().map(|record| record.version).collect();
            let as_whom = match self.wrong {
                Wrong::NoFence => self.inner.load(&address).await?.epoch,
                _ => epoch,
            };
            let result = self.inner.append(&address, expected, as_whom, batch).await;
            if result.is_ok() {
                self.landed.lock().unwrap().push((epoch, versions));
            }
            pause().await;
            if fate == 2 && result.is_ok() {
                return unknown();
            }
            result
        })
    }

    fn records(
        &self,
        address: &Address,
        query: RecordQuery,
    ) -> BoxFuture<'_, StoreResult<Vec<StoredRecord>>> {
        let address = address.clone();
        Box::pin(async move {
            pause().await;
            self.inner.records(&address, query).await
        })
    }

    fn receipt(
        &self,
        address: &Address,
        key: &ReceiptKey,
    ) -> BoxFuture<'_, StoreResult<Option<Receipt>>> {
        let (address, key) = (address.clone(), key.clone());
        Box::pin(async move {
            pause().await;
            self.inner.receipt(&address, &key).await
        })
    }

    svit_testkit::forward_to_store!(inner: insert_base load events blocks put_checkpoint checkpoints cut forks
        trim_events delete collect addresses);
}
