//! The suite against stores that are wrong in one way each: every one is found out.

use std::sync::Arc;

use futures_lite::future::block_on;
use svit_tree::Address;
use svit_txn::{
    Base, Batch, Block, BoxFuture, Checkpoint, CheckpointPart, Collected, EventQuery, ForkRef,
    Head, MemoryStore, ProcessStore, Receipt, ReceiptKey, RecordQuery, StoreError, StoreResult,
    StoredRecord, ThreadEvent,
};
use svit_value::Digest;

/// What a store does wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Flaw {
    TakesAnyEpoch,
    TakesAnyHead,
    KeepsTheEpoch,
    LosesReceipts,
    LosesEvents,
    LandsInParts,
    LosesBlocks,
    InsertsTwice,
    StopsBeforeTo,
    IgnoresLimits,
    IgnoresDirection,
    ListsBackwards,
    MixesClients,
    MixesProcesses,
    ForgetsOldReceipts,
    NumbersFromZero,
    Panics,
}

struct Flawed {
    inner: MemoryStore,
    flaw: Flaw,
}

impl Flawed {
    fn key(&self, key: &ReceiptKey) -> ReceiptKey {
        let mut key = key.clone();
        if self.flaw == Flaw::MixesClients {
            key.client = "anybody".into();
        }
        key
    }

    fn changed(&self, mut batch: Batch) -> Batch {
        match self.flaw {
            Flaw::LosesReceipts => batch.receipts.clear(),
            Flaw::LosesEvents => batch.events.clear(),
            _ => {}
        }
        for receipt in &mut batch.receipts {
            receipt.key = self.key(&receipt.key);
        }
        batch
    }

    async fn add(
        &self,
        address: &Address,
        mut expected: Digest,
        mut epoch: u64,
        batch: Batch,
    ) -> StoreResult<()> {
        let head = self.inner.load(address).await?;
        if self.flaw == Flaw::TakesAnyEpoch {
            epoch = head.epoch;
        }
        if self.flaw == Flaw::TakesAnyHead {
            expected = head.digest;
        }
        let mut batch = self.changed(batch);
        if self.flaw == Flaw::LandsInParts {
            let receipts = Batch {
                receipts: std::mem::take(&mut batch.receipts),
                ..Batch::default()
            };
            self.inner
                .append(address, expected, epoch, receipts)
                .await?;
        }
        self.inner.append(address, expected, epoch, batch).await
    }
}

impl ProcessStore for Flawed {
    fn insert_base(
        &self,
        base: Base,
        blocks: Vec<Block>,
        batch: Batch,
    ) -> BoxFuture<'_, StoreResult<u64>> {
        Box::pin(async move {
            let blocks = match self.flaw {
                Flaw::LosesBlocks => Vec::new(),
                _ => blocks,
            };
            let inserted = self
                .inner
                .insert_base(base, blocks, self.changed(batch))
                .await;
            match inserted {
                Err(StoreError::AlreadyExists { .. }) if self.flaw == Flaw::InsertsTwice => Ok(1),
                inserted => inserted,
            }
        })
    }

    fn load(&self, address: &Address) -> BoxFuture<'_, StoreResult<Head>> {
        let address = address.clone();
        Box::pin(async move {
            let mut head = self.inner.load(&address).await?;
            if self.flaw == Flaw::NumbersFromZero {
                head.next_event -= head.base.first_event();
            }
            Ok(head)
        })
    }

    fn claim(&self, address: &Address) -> BoxFuture<'_, StoreResult<Head>> {
        match self.flaw {
            Flaw::KeepsTheEpoch => self.inner.load(address),
            _ => self.inner.claim(address),
        }
    }

    fn append(
        &self,
        address: &Address,
        expected: Digest,
        epoch: u64,
        batch: Batch,
    ) -> BoxFuture<'_, StoreResult<()>> {
        let address = address.clone();
        Box::pin(async move { self.add(&address, expected, epoch, batch).await })
    }

    fn records(
        &self,
        address: &Address,
        mut query: RecordQuery,
    ) -> BoxFuture<'_, StoreResult<Vec<StoredRecord>>> {
        match self.flaw {
            Flaw::StopsBeforeTo => query.to -= 1,
            Flaw::IgnoresLimits => query.limit = usize::MAX,
            _ => {}
        }
        self.inner.records(address, query)
    }

    fn events(
        &self,
        address: &Address,
        mut query: EventQuery,
    ) -> BoxFuture<'_, StoreResult<Vec<ThreadEvent>>> {
        if self.flaw == Flaw::IgnoresDirection {
            query.newest_first = false;
        }
        self.inner.events(address, query)
    }

    fn receipt(
        &self,
        address: &Address,
        key: &ReceiptKey,
    ) -> BoxFuture<'_, StoreResult<Option<Receipt>>> {
        assert!(self.flaw != Flaw::Panics, "a store that panics");
        let (mut address, asked) = (address.clone(), key.clone());
        Box::pin(async move {
            if self.flaw == Flaw::MixesProcesses
                && let Some(first) = self.inner.addresses(None, 1).await?.pop()
            {
                address = first;
            }
            if self.flaw == Flaw::ForgetsOldReceipts && &*asked.request == "r500" {
                return Ok(None);
            }
            let found = self.inner.receipt(&address, &self.key(&asked)).await?;
            Ok(found.map(|receipt| Receipt {
                key: asked,
                ..receipt
            }))
        })
    }

    fn blocks(&self, digests: Vec<Digest>) -> BoxFuture<'_, StoreResult<Vec<Option<Vec<u8>>>>> {
        self.inner.blocks(digests)
    }

    fn put_checkpoint(
        &self,
        address: &Address,
        part: CheckpointPart,
    ) -> BoxFuture<'_, StoreResult<()>> {
        self.inner.put_checkpoint(address, part)
    }

    fn checkpoints(
        &self,
        address: &Address,
        at_or_before: u64,
        limit: usize,
    ) -> BoxFuture<'_, StoreResult<Vec<Checkpoint>>> {
        self.inner.checkpoints(address, at_or_before, limit)
    }

    fn cut(&self, address: &Address, epoch: u64, base: Base) -> BoxFuture<'_, StoreResult<()>> {
        self.inner.cut(address, epoch, base)
    }

    fn forks(
        &self,
        address: &Address,
        below: u64,
        limit: usize,
    ) -> BoxFuture<'_, StoreResult<Vec<ForkRef>>> {
        self.inner.forks(address, below, limit)
    }

    fn trim_events(
        &self,
        address: &Address,
        epoch: u64,
        before: u64,
    ) -> BoxFuture<'_, StoreResult<()>> {
        self.inner.trim_events(address, epoch, before)
    }

    fn delete(&self, address: &Address, epoch: u64) -> BoxFuture<'_, StoreResult<()>> {
        self.inner.delete(address, epoch)
    }

    fn collect(&self, steps: u64) -> BoxFuture<'_, StoreResult<Collected>> {
        self.inner.collect(steps)
    }

    fn addresses(
        &self,
        after: Option<&Address>,
        limit: usize,
    ) -> BoxFuture<'_, StoreResult<Vec<Address>>> {
        let addresses = self.inner.addresses(after, limit);
        Box::pin(async move {
            let mut addresses = addresses.await?;
            if self.flaw == Flaw::ListsBackwards {
                addresses.reverse();
            }
            Ok(addresses)
        })
    }
}

#[test]
fn every_flaw_is_found_out_by_the_rule_that_it_breaks() {
    let rows = [
        (
            Flaw::TakesAnyEpoch,
            "an_earlier_owner_is_fenced_whatever_it_appends",
        ),
        (
            Flaw::TakesAnyHead,
            "a_stale_head_is_a_conflict_that_names_the_actual_one",
        ),
        (
            Flaw::KeepsTheEpoch,
            "a_claim_raises_the_epoch_and_changes_nothing_else",
        ),
        (Flaw::LosesReceipts, "an_append_lands_as_a_whole"),
        (Flaw::LosesEvents, "a_batch_may_lack_anything"),
        (
            Flaw::LandsInParts,
            "records_that_do_not_follow_are_refused_with_their_batch",
        ),
        (Flaw::LosesBlocks, "a_block_is_kept_as_it_was_given"),
        (
            Flaw::InsertsTwice,
            "a_second_base_is_refused_and_changes_nothing",
        ),
        (Flaw::StopsBeforeTo, "records_are_read_by_version_in_pages"),
        (Flaw::IgnoresLimits, "records_are_read_by_version_in_pages"),
        (
            Flaw::IgnoresDirection,
            "events_are_read_up_and_down_in_pages",
        ),
        (
            Flaw::ListsBackwards,
            "addresses_are_listed_bytewise_in_pages",
        ),
        (Flaw::MixesClients, "receipts_are_found_by_their_exact_key"),
        (Flaw::MixesProcesses, "processes_do_not_touch_each_other"),
        (
            Flaw::ForgetsOldReceipts,
            "the_newest_receipts_of_each_client_are_kept",
        ),
        (
            Flaw::NumbersFromZero,
            "a_fork_numbers_events_behind_those_it_shares",
        ),
        (Flaw::Panics, "receipts_are_found_by_their_exact_key"),
    ];
    for (flaw, rule) in rows {
        let make = async || {
            Arc::new(Flawed {
                inner: MemoryStore::new(),
                flaw,
            })
        };
        let broken = block_on(super::store(make)).unwrap_err();
        let found = broken.rules().iter().any(|(name, _)| *name == rule);
        assert!(found, "{flaw:?} did not break {rule}, but {broken}");
    }
}

#[test]
fn rules_have_names_of_their_own() {
    let mut names: Vec<&str> = super::rules().collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert!(names.len() == count && count > 25, "{count}");
}
