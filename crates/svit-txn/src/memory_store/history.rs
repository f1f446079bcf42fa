//! What the store keeps of one process.

use std::collections::{BTreeMap, VecDeque};

use svit_tree::Address;
use svit_value::Digest;

use super::bad;
use super::receipts::Receipts;
use crate::store::{
    Batch, Checkpoint, CheckpointRef, EventQuery, ForkRef, Head, Receipt, ReceiptKey, RecordQuery,
    StoreResult, StoredRecord, ThreadEvent, check_batch,
};
use crate::{Base, BaseKind, SharedThread};

#[derive(Debug)]
pub(super) struct History {
    base: Base,
    pub(super) epoch: u64,
    records: Vec<StoredRecord>,
    receipts: Receipts,
    events: VecDeque<ThreadEvent>,
    next_event: u64,
    shared: Option<SharedThread>,
    /// Whole checkpoints, by version.
    checkpoints: BTreeMap<u64, Checkpoint>,
    /// Checkpoints of which parts are still to come, with the number of the next part.
    open: BTreeMap<u64, (Growing, u64)>,
}

/// A checkpoint in parts: all of them say the same of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Growing {
    pub(super) checkpoint: Checkpoint,
    pub(super) since: Option<CheckpointRef>,
}

impl History {
    pub(super) fn new(base: Base, epoch: u64) -> Self {
        Self {
            epoch,
            records: Vec::new(),
            receipts: Receipts::default(),
            events: VecDeque::new(),
            next_event: base.first_event(),
            shared: base.shared(),
            checkpoints: BTreeMap::new(),
            open: BTreeMap::new(),
            base,
        }
    }

    pub(super) fn head(&self) -> Head {
        let newest = self.records.last();
        Head {
            version: newest.map_or(self.base.version, |record| record.version),
            digest: newest.map_or_else(|| self.base.head(), |record| record.digest),
            root: newest.map_or(self.base.root, |record| record.root),
            epoch: self.epoch,
            base: self.base.clone(),
            first_event: self.events.front().map_or(self.next_event, |it| it.seq),
            next_event: self.next_event,
            shared: self.shared.clone(),
        }
    }

    /// The digest of the record, or base, of a version, and its root.
    pub(super) fn point(&self, version: u64) -> Option<(Digest, Digest)> {
        if version == self.base.version {
            return Some((self.base.head(), self.base.root));
        }
        let index = version.checked_sub(self.base.version + 1)?;
        let record = self.records.get(usize::try_from(index).ok()?)?;
        Some((record.digest, record.root))
    }

    /// Adds a batch, all of it or nothing.
    pub(super) fn append(&mut self, mut batch: Batch) -> StoreResult<()> {
        check_batch(&self.head(), &batch)?;
        self.records.append(&mut batch.records);
        self.next_event += batch.events.len() as u64;
        self.events.extend(batch.events.drain(..));
        self.receipts.take(&mut batch);
        Ok(())
    }

    pub(super) fn records(&self, query: RecordQuery) -> Vec<StoredRecord> {
        let wanted = |record: &&StoredRecord| (query.from..=query.to).contains(&record.version);
        let records = self.records.iter().filter(wanted);
        records.take(query.limit).cloned().collect()
    }

    pub(super) fn events(&self, query: EventQuery) -> Vec<ThreadEvent> {
        let events = self.events.iter();
        if query.newest_first {
            let wanted = events.rev().filter(|event| event.seq <= query.from);
            wanted.take(query.limit).cloned().collect()
        } else {
            let wanted = events.filter(|event| event.seq >= query.from);
            wanted.take(query.limit).cloned().collect()
        }
    }

    pub(super) fn receipt(&self, key: &ReceiptKey) -> Option<Receipt> {
        self.receipts.get(key)
    }

    pub(super) fn checkpoints(&self, at_or_before: u64, limit: usize) -> Vec<Checkpoint> {
        let known = self.checkpoints.range(..=at_or_before).rev();
        known.take(limit).map(|(_, it)| *it).collect()
    }

    pub(super) fn is_whole(&self, checkpoint: &Checkpoint) -> bool {
        self.checkpoints.get(&checkpoint.version) == Some(checkpoint)
    }

    /// The root of a version all of whose blocks are in the store for sure.
    pub(super) fn root_of(&self, version: u64) -> Option<Digest> {
        let base = self.base.has_blocks() && self.base.version == version;
        let checkpoint = self.checkpoints.get(&version).map(|it| it.root);
        checkpoint.or(base.then_some(self.base.root))
    }

    /// Takes note of a part of a checkpoint, if it is the next one.
    pub(super) fn next_part(&mut self, it: Growing, index: u64, last: bool) -> StoreResult<()> {
        let version = it.checkpoint.version;
        let follows = self
            .open
            .get(&version)
            .is_some_and(|(known, next)| (known, *next) == (&it, index));
        if index != 0 && !follows {
            let why = format!("part {index} of a checkpoint, which is not the next");
            return Err(bad(&self.base.address, &why));
        }
        if last {
            self.open.clear();
            self.checkpoints.insert(version, it.checkpoint);
        } else {
            self.open.insert(version, (it, index + 1));
        }
        Ok(())
    }

    /// The roots that must keep their blocks, each with whether all of them are there.
    pub(super) fn roots(&self) -> impl Iterator<Item = (Digest, bool)> {
        let base = self.base.has_blocks().then_some((self.base.root, true));
        let whole = self.checkpoints.values().map(|it| (it.root, true));
        let open = self
            .open
            .values()
            .map(|(it, _)| (it.checkpoint.root, false));
        base.into_iter().chain(whole).chain(open)
    }

    /// Where this process depends on the history of `parent`, if it does.
    pub(super) fn dependence_on(&self, parent: &Address) -> Option<ForkRef> {
        let forked = matches!(&self.base.kind, BaseKind::Forked { parent: of, .. } if of == parent);
        let depends = forked && !self.checkpoints.contains_key(&self.base.version);
        depends.then(|| ForkRef {
            child: self.base.address.clone(),
            version: self.base.version,
        })
    }

    pub(super) fn check_cut(&self, base: &Base) -> StoreResult<()> {
        let BaseKind::Checkpoint { record, thread } = &base.kind else {
            return Err(bad(&self.base.address, "a cut to a base of another kind"));
        };
        let checkpoint = Checkpoint {
            version: base.version,
            record: *record,
            root: base.root,
        };
        let of_this = base.address == self.base.address && *thread == self.base.shared();
        if of_this && self.is_whole(&checkpoint) {
            return Ok(());
        }
        Err(bad(&self.base.address, "a cut where no checkpoint is"))
    }

    pub(super) fn cut(&mut self, base: Base) {
        self.records.retain(|record| record.version > base.version);
        self.checkpoints = self.checkpoints.split_off(&base.version);
        self.open = self.open.split_off(&base.version);
        self.base = base;
    }

    pub(super) fn trim(&mut self, before: u64) {
        while self.events.front().is_some_and(|event| event.seq < before) {
            self.events.pop_front();
        }
    }

    /// Takes over the events that it shares with a process that is being deleted.
    pub(super) fn inherit_events(&mut self, gone: &History) {
        let Some(shared) = self.shared.take_if(|it| it.parent == gone.base.address) else {
            return;
        };
        // A fork that has forgotten events of its own shares none of those before them any more.
        if self.head().first_event == shared.events {
            let own = gone.events.iter().filter(|event| event.seq < shared.events);
            for event in own.rev() {
                self.events.push_front(event.clone());
            }
        }
        self.shared = gone.shared.clone().map(|above| SharedThread {
            events: above.events.min(shared.events),
            ..above
        });
    }
}
