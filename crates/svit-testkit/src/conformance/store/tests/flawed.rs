//! A store that is wrong in one way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use svit_tree::Address;
use svit_txn::{
    Base, BaseKind, Batch, Block, BoxFuture, Checkpoint, CheckpointPart, Collected, EventQuery,
    ForkRef, Head, MemoryStore, ProcessStore, Receipt, ReceiptKey, RecordQuery, StoreError,
    StoreResult, StoredRecord, ThreadEvent,
};
use svit_value::Digest;

use super::flaw::Flaw;

pub(super) struct Flawed {
    inner: MemoryStore,
    flaw: Flaw,
    seen: Mutex<Seen>,
}

/// What it remembers to be wrong with.
#[derive(Default)]
struct Seen {
    receipts: BTreeMap<(Address, ReceiptKey), Receipt>,
    first_events: BTreeMap<Address, u64>,
    begun: BTreeSet<(Address, u64)>,
    unmade: BTreeSet<(Address, u64)>,
    cuts: BTreeSet<Address>,
    /// Blocks brought, by process.
    brought: BTreeMap<Address, BTreeSet<Digest>>,
    /// Blocks that the next collection takes.
    doomed: BTreeSet<Digest>,
    /// Blocks that are gone.
    gone: BTreeSet<Digest>,
}

fn bad(address: &Address) -> StoreError {
    StoreError::BadBatch {
        address: address.clone(),
        why: "a flaw".to_owned(),
    }
}

/// Takes what should be refused.
fn taken(result: StoreResult<()>) -> StoreResult<()> {
    match result {
        Err(StoreError::BadBatch { .. } | StoreError::Forked { .. }) => Ok(()),
        other => other,
    }
}

impl Flawed {
    pub(super) fn new(inner: MemoryStore, flaw: Flaw) -> Self {
        Self {
            inner,
            flaw,
            seen: Mutex::default(),
        }
    }

    fn is(&self, flaw: Flaw) -> bool {
        self.flaw == flaw
    }

    fn key(&self, key: &ReceiptKey) -> ReceiptKey {
        let mut key = key.clone();
        if self.is(Flaw::MixesClients) {
            key.client = "anybody".into();
        }
        key
    }

    async fn changed(&self, address: &Address, mut batch: Batch) -> StoreResult<Batch> {
        match self.flaw {
            Flaw::LosesReceipts => batch.receipts.clear(),
            Flaw::LosesEvents => batch.events.clear(),
            Flaw::UnpinsNothing => batch.unpin.clear(),
            Flaw::UnpinsEverything if !batch.unpin.is_empty() => batch.unpin.extend(0..300),
            Flaw::KeepsTheDefault => batch.max_receipts = 1_024,
            _ => {}
        }
        for receipt in &mut batch.receipts {
            receipt.key = self.key(&receipt.key);
            if self.is(Flaw::PinsNothing) {
                receipt.pinned_by = None;
            }
            let known = (address.clone(), receipt.key.clone());
            let mut seen = self.seen.lock().unwrap();
            let replaced = seen.receipts.insert(known, receipt.clone()).is_some();
            if self.is(Flaw::CountsTheReplaced) && replaced {
                batch.max_receipts = batch.max_receipts.saturating_sub(1);
            }
        }
        Ok(batch)
    }

    async fn add(
        &self,
        address: &Address,
        mut expected: Digest,
        mut epoch: u64,
        batch: Batch,
    ) -> StoreResult<()> {
        let head = self.inner.load(address).await?;
        if self.is(Flaw::TakesAnyEpoch) {
            epoch = head.epoch;
        }
        if self.is(Flaw::TakesAnyHead) {
            expected = head.digest;
        }
        let mut batch = self.changed(address, batch).await?;
        if self.is(Flaw::LandsInParts) {
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

    /// The epoch that a flaw takes for the right one.
    async fn epoch(&self, flaw: Flaw, address: &Address, epoch: u64) -> StoreResult<u64> {
        match self.is(flaw) {
            true => Ok(self.inner.load(address).await?.epoch),
            false => Ok(epoch),
        }
    }

    /// Takes note of blocks that are brought: they are there again.
    fn bring(&self, address: &Address, blocks: &[Block]) {
        let mut seen = self.seen.lock().unwrap();
        for block in blocks {
            if !self.is(Flaw::CollectsForGood) {
                seen.gone.remove(&block.digest);
            }
            let brought = seen.brought.entry(address.clone()).or_default();
            brought.insert(block.digest);
        }
    }

    async fn put(&self, address: &Address, mut part: CheckpointPart) -> StoreResult<()> {
        let version = part.checkpoint.version;
        let place = (address.clone(), version);
        let head = self.inner.load(address).await?;
        match self.flaw {
            Flaw::ListsUnfinished => part.last = true,
            Flaw::TakesAnyPart => part.index = 0,
            Flaw::IgnoresSince => part.since = None,
            Flaw::BuildsOnNothing if part.since.is_some() => return Err(bad(address)),
            Flaw::RefusesTheBase if version == head.base.version => return Err(bad(address)),
            Flaw::GoesOnAtPartZero
                if part.index == 0 && !self.seen.lock().unwrap().begun.insert(place.clone()) =>
            {
                return Ok(());
            }
            Flaw::UnmakesCheckpoints if !part.last => {
                self.seen.lock().unwrap().unmade.insert(place);
            }
            _ => {}
        }
        self.bring(address, &part.blocks);
        let digests = part.blocks.iter().map(|block| block.digest);
        if self.is(Flaw::CollectsCheckpoints) || self.is(Flaw::CollectsTheOpen) && !part.last {
            self.seen.lock().unwrap().doomed.extend(digests);
        }
        let put = self.inner.put_checkpoint(address, part).await;
        match self.flaw {
            Flaw::TakesAnyCheckpoint => taken(put),
            _ => put,
        }
    }

    async fn cut(&self, address: &Address, epoch: u64, base: Base) -> StoreResult<()> {
        let epoch = self.epoch(Flaw::CutsForAnybody, address, epoch).await?;
        let again = !self.seen.lock().unwrap().cuts.insert(address.clone());
        match self.flaw {
            Flaw::CutsNothing => return Ok(()),
            Flaw::CutsOnce if again => return Err(bad(address)),
            Flaw::AnyForkStopsACut => {
                if let Some(fork) = self.inner.forks(address, u64::MAX, 1).await?.pop() {
                    return Err(StoreError::Forked {
                        address: address.clone(),
                        child: fork.child,
                        version: fork.version,
                    });
                }
            }
            Flaw::CutsEvents => self.inner.trim_events(address, epoch, 2).await?,
            _ => {}
        }
        let cut = self.inner.cut(address, epoch, base).await;
        match self.flaw {
            Flaw::CutsAnywhere | Flaw::IgnoresForks => taken(cut),
            _ => cut,
        }
    }

    async fn delete(&self, address: &Address, epoch: u64) -> StoreResult<()> {
        let epoch = self.epoch(Flaw::DeletesForAnybody, address, epoch).await?;
        if self.is(Flaw::DeletesNothing) {
            return Ok(());
        }
        if self.is(Flaw::DeletesWhatIsBelow) {
            for other in self.inner.addresses(Some(address), 9).await? {
                if other.as_str().starts_with(address.as_str()) {
                    self.inner.delete(&other, 1).await?;
                }
            }
        }
        let deleted = self.inner.delete(address, epoch).await;
        if deleted.is_ok() && self.is(Flaw::CollectsAllOfTheDeleted) {
            let mut seen = self.seen.lock().unwrap();
            let brought = seen.brought.remove(address).unwrap_or_default();
            seen.doomed.extend(brought);
        }
        match self.flaw {
            Flaw::IgnoresForks => taken(deleted),
            _ => deleted,
        }
    }

    async fn trim(&self, address: &Address, epoch: u64, before: u64) -> StoreResult<()> {
        let epoch = self.epoch(Flaw::TrimsForAnybody, address, epoch).await?;
        let head = self.inner.load(address).await?;
        match self.flaw {
            Flaw::ForgetsNoEvents => return Ok(()),
            Flaw::FirstEventGoesBack | Flaw::HidesForgottenEvents => {
                let mut seen = self.seen.lock().unwrap();
                seen.first_events.insert(address.clone(), before);
                if self.is(Flaw::HidesForgottenEvents) {
                    return Ok(());
                }
            }
            Flaw::TrimsTheParent => {
                if let Some(shared) = head.shared {
                    self.inner.trim_events(&shared.parent, 1, before).await?;
                }
            }
            _ => {}
        }
        self.inner.trim_events(address, epoch, before).await
    }

    async fn look(&self, address: &Address) -> StoreResult<Head> {
        let mut head = self.inner.load(address).await?;
        let first = self.seen.lock().unwrap().first_events.get(address).copied();
        if let Some(first) = first {
            head.first_event = first;
        }
        let is_cut = matches!(head.base.kind, BaseKind::Checkpoint { .. });
        match self.flaw {
            Flaw::NumbersFromZero => head.next_event -= head.base.first_event(),
            Flaw::HeadIsTheBase if head.version == head.base.version => {
                head.digest = head.base.digest();
            }
            Flaw::CutsTheThread if is_cut => head.shared = None,
            Flaw::KeepsSharing => head.shared = head.base.shared(),
            Flaw::EmptyThreadStartsAtZero if head.first_event == head.next_event => {
                head.first_event = 0;
            }
            Flaw::LosesInheritedEvents => {
                head.first_event = head.first_event.max(head.base.first_event());
            }
            _ => {}
        }
        Ok(head)
    }

    async fn gather(&self, steps: u64) -> StoreResult<Collected> {
        let nothing = Collected {
            done: true,
            ..Collected::default()
        };
        if self.is(Flaw::CollectsNothing) {
            return Ok(nothing);
        }
        let collected = self.inner.collect(steps).await;
        let brought: Vec<Digest> = {
            let mut seen = self.seen.lock().unwrap();
            let doomed = std::mem::take(&mut seen.doomed);
            seen.gone.extend(doomed);
            seen.brought.values().flatten().copied().collect()
        };
        if self.is(Flaw::CollectsForGood) {
            let left = self.inner.blocks(brought.clone()).await?;
            let gone = brought.into_iter().zip(left);
            let gone = gone.filter(|(_, left)| left.is_none()).map(|(it, _)| it);
            self.seen.lock().unwrap().gone.extend(gone);
        }
        match (self.flaw, collected) {
            (Flaw::IgnoresMissingBlocks, Err(_)) => Ok(nothing),
            (Flaw::CountsNothing, Ok(_)) => Ok(nothing),
            (Flaw::NeverEnds, Ok(collected)) => Ok(Collected {
                done: false,
                ..collected
            }),
            (_, collected) => collected,
        }
    }
}

impl ProcessStore for Flawed {
    fn insert_base(
        &self,
        base: Base,
        mut blocks: Vec<Block>,
        batch: Batch,
    ) -> BoxFuture<'_, StoreResult<u64>> {
        Box::pin(async move {
            let address = base.address.clone();
            if let BaseKind::Forked { parent, .. } = &base.kind
                && self.is(Flaw::CutVersionsAreGone)
                && let before = self.inner.load(parent).await?.base
                && matches!(before.kind, BaseKind::Checkpoint { .. })
                && before.version == base.version
            {
                return Err(bad(&address));
            }
            if self.is(Flaw::LosesBlocks) {
                blocks.clear();
            }
            self.bring(&address, &blocks);
            let batch = self.changed(&address, batch).await?;
            match self.inner.insert_base(base, blocks, batch).await {
                Err(StoreError::AlreadyExists { .. }) if self.is(Flaw::InsertsTwice) => Ok(1),
                inserted => inserted,
            }
        })
    }

    fn load(&self, address: &Address) -> BoxFuture<'_, StoreResult<Head>> {
        let address = address.clone();
        Box::pin(async move { self.look(&address).await })
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

    fn append_in_place(
        &self,
        _: &Address,
        _: Digest,
        _: u64,
        _: &Batch,
    ) -> Option<StoreResult<()>> {
        self.is(Flaw::InPlaceDoesNothing).then_some(Ok(()))
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
        let address = address.clone();
        if self.is(Flaw::IgnoresDirection) {
            query.newest_first = false;
        }
        Box::pin(async move {
            let mut events = self.inner.events(&address, query).await?;
            if self.is(Flaw::LosesInheritedEvents) || self.is(Flaw::HidesForgottenEvents) {
                let first = self.look(&address).await?.first_event;
                events.retain(|event| event.seq >= first);
            }
            Ok(events)
        })
    }

    fn receipt(
        &self,
        address: &Address,
        key: &ReceiptKey,
    ) -> BoxFuture<'_, StoreResult<Option<Receipt>>> {
        assert!(!self.is(Flaw::Panics), "a store that panics");
        let (mut address, asked) = (address.clone(), key.clone());
        Box::pin(async move {
            if self.is(Flaw::MixesProcesses)
                && let Some(first) = self.inner.addresses(None, 1).await?.pop()
            {
                address = first;
            }
            if self.is(Flaw::ForgetsOldReceipts) && &*asked.request == "r500" {
                return Ok(None);
            }
            let mut found = self.inner.receipt(&address, &self.key(&asked)).await?;
            if self.is(Flaw::RemembersReceipts) && found.is_none() {
                let known = (address, asked.clone());
                found = self.seen.lock().unwrap().receipts.get(&known).cloned();
            }
            Ok(found.map(|receipt| Receipt {
                key: asked,
                ..receipt
            }))
        })
    }

    fn blocks(&self, digests: Vec<Digest>) -> BoxFuture<'_, StoreResult<Vec<Option<Vec<u8>>>>> {
        Box::pin(async move {
            let mut blocks = self.inner.blocks(digests.clone()).await?;
            for (digest, block) in digests.iter().zip(&mut blocks) {
                if self.seen.lock().unwrap().gone.contains(digest) {
                    *block = None;
                }
            }
            if self.is(Flaw::LeavesOutMissingBlocks) {
                blocks.retain(Option::is_some);
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
        Box::pin(async move { self.put(&address, part).await })
    }

    fn checkpoints(
        &self,
        address: &Address,
        mut at_or_before: u64,
        limit: usize,
    ) -> BoxFuture<'_, StoreResult<Vec<Checkpoint>>> {
        let address = address.clone();
        if self.is(Flaw::IgnoresAtOrBefore) {
            at_or_before = u64::MAX;
        }
        Box::pin(async move {
            let mut found = self
                .inner
                .checkpoints(&address, at_or_before, limit)
                .await?;
            let unmade = |it: &Checkpoint| {
                let place = (address.clone(), it.version);
                self.seen.lock().unwrap().unmade.contains(&place)
            };
            found.retain(|it| !unmade(it));
            if self.is(Flaw::ListsOldestFirst) {
                found.reverse();
            }
            if self.is(Flaw::ListsThoseOfAll) {
                for other in self.inner.addresses(Some(&address), 9).await? {
                    found.extend(self.inner.checkpoints(&other, at_or_before, limit).await?);
                }
            }
            Ok(found)
        })
    }

    fn cut(&self, address: &Address, epoch: u64, base: Base) -> BoxFuture<'_, StoreResult<()>> {
        let address = address.clone();
        Box::pin(async move { Self::cut(self, &address, epoch, base).await })
    }

    fn forks(
        &self,
        address: &Address,
        mut below: u64,
        limit: usize,
    ) -> BoxFuture<'_, StoreResult<Vec<ForkRef>>> {
        let address = address.clone();
        if self.is(Flaw::ForksOfAnyVersion) {
            below = u64::MAX;
        }
        Box::pin(async move {
            match self.inner.forks(&address, below, limit).await {
                Ok(mut forks) => {
                    if self.is(Flaw::ForksBackwards) {
                        forks.reverse();
                    }
                    Ok(forks)
                }
                Err(StoreError::NotFound { .. }) if self.is(Flaw::HasForksOfNobody) => Ok(vec![]),
                Err(error) => Err(error),
            }
        })
    }

    fn trim_events(
        &self,
        address: &Address,
        epoch: u64,
        before: u64,
    ) -> BoxFuture<'_, StoreResult<()>> {
        let address = address.clone();
        Box::pin(async move { self.trim(&address, epoch, before).await })
    }

    fn delete(&self, address: &Address, epoch: u64) -> BoxFuture<'_, StoreResult<()>> {
        let address = address.clone();
        Box::pin(async move { Self::delete(self, &address, epoch).await })
    }

    fn collect(&self, steps: u64) -> BoxFuture<'_, StoreResult<Collected>> {
        Box::pin(async move { self.gather(steps).await })
    }

    fn addresses(
        &self,
        after: Option<&Address>,
        limit: usize,
    ) -> BoxFuture<'_, StoreResult<Vec<Address>>> {
        let addresses = self.inner.addresses(after, limit);
        Box::pin(async move {
            let mut addresses = addresses.await?;
            if self.is(Flaw::ListsBackwards) {
                addresses.reverse();
            }
            Ok(addresses)
        })
    }
}
