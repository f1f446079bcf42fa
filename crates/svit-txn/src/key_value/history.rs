//! What is done to one process, each a draft of one write.

use std::ops::Range;

use svit_tree::Address;
use svit_value::Digest;

use super::draft::{Draft, corrupt};
use super::rows::{Open, Row};
use super::{KeyPair, keys, rows};
use crate::store::{
    Batch, Block, Checkpoint, CheckpointPart, CheckpointRef, EventQuery, ForkRef, Head,
    RecordQuery, StoreError, StoreResult, StoredRecord, ThreadEvent, check_batch,
};
use crate::{Base, BaseKind, SharedThread};

fn bad(address: &Address, why: &str) -> StoreError {
    StoreError::BadBatch {
        address: address.clone(),
        why: why.to_owned(),
    }
}

fn not_found(address: &Address) -> StoreError {
    StoreError::NotFound {
        address: address.clone(),
    }
}

/// The row that says that a process depends on its parent's history.
fn dependence(base: &Base) -> Option<Vec<u8>> {
    match &base.kind {
        BaseKind::Forked { parent, .. } => Some(keys::fork(parent, base.version, &base.address)),
        _ => None,
    }
}

/// How many of a range's numbers are wanted.
fn wanted(numbers: &Range<u64>, limit: usize) -> u64 {
    let all = numbers.end.saturating_sub(numbers.start);
    u64::try_from(limit).map_or(all, |limit| limit.min(all))
}

impl Draft<'_> {
    pub(super) async fn row(&self, address: &Address) -> StoreResult<Row> {
        let key = keys::head(address);
        let body = self.get(&key).await?;
        Row::decode(&key, &body.ok_or_else(|| not_found(address))?)
    }

    fn put_row(&mut self, row: &Row) {
        self.put(keys::head(&row.head.base.address), row.encode());
    }

    /// The row of a process, for its owner.
    async fn owned(&self, address: &Address, epoch: u64) -> StoreResult<Row> {
        let row = self.row(address).await?;
        if row.head.epoch != epoch {
            return Err(StoreError::Fenced {
                address: address.clone(),
                epoch,
                actual: row.head.epoch,
            });
        }
        Ok(row)
    }

    /// The digest of the record, or base, of a version, and its root.
    async fn point(&self, row: &Row, version: u64) -> StoreResult<Option<(Digest, Digest)>> {
        let base = &row.head.base;
        if version == base.version {
            return Ok(Some((base.head(), base.root)));
        }
        let key = keys::record(&base.address, version);
        let Some(body) = self.get(&key).await? else {
            return Ok(None);
        };
        let record = StoredRecord::from_body(body).map_err(|error| corrupt(&key, error))?;
        Ok(Some((record.digest, record.root)))
    }

    pub(super) async fn insert_base(
        &mut self,
        base: Base,
        blocks: Vec<Block>,
        batch: Batch,
    ) -> StoreResult<u64> {
        let address = base.address.clone();
        if self.has(&keys::head(&address)).await? {
            return Err(StoreError::AlreadyExists { address });
        }
        if let BaseKind::Forked { parent, record, .. } = &base.kind {
            let point = self.point(&self.row(parent).await?, base.version).await?;
            if point != Some((*record, base.root)) {
                let why = "the parent has another record or root at that version";
                return Err(bad(&address, why));
            }
        }
        self.put_blocks(&address, blocks)?;
        if let Some(depends) = dependence(&base) {
            self.put(depends, Vec::new());
        }
        let shared = base.shared();
        if let Some(shared) = &shared {
            self.put(keys::sharer(&shared.parent, &address), Vec::new());
        }
        let first_event = base.first_event();
        let epoch = self.past_epochs().await?.saturating_add(1);
        let head = Head {
            version: base.version,
            digest: base.head(),
            root: base.root,
            epoch,
            base,
            first_event,
            next_event: first_event,
            shared,
        };
        self.take(Row { head, added: 0 }, batch).await?;
        Ok(epoch)
    }

    /// The highest epoch that a process had that is gone. Epochs of new ones begin behind it, so that
    /// nobody who owned one of the same address owns the new one.
    async fn past_epochs(&self) -> StoreResult<u64> {
        let body = self.get(keys::PAST_EPOCHS).await?;
        body.map_or(Ok(0), |body| rows::decode_count(keys::PAST_EPOCHS, &body))
    }

    fn put_blocks(&mut self, address: &Address, blocks: Vec<Block>) -> StoreResult<()> {
        for Block { digest, data } in blocks {
            if Digest::of(&data) != digest {
                return Err(bad(address, &format!("block {digest} has other bytes")));
            }
            self.put(keys::block(digest), data);
        }
        Ok(())
    }

    /// Adds a batch to a process.
    async fn take(&mut self, mut row: Row, batch: Batch) -> StoreResult<()> {
        check_batch(&row.head, &batch)?;
        let address = row.head.base.address.clone();
        for record in batch.records {
            let head = &mut row.head;
            (head.version, head.digest, head.root) = (record.version, record.digest, record.root);
            self.put(keys::record(&address, record.version), record.body);
        }
        for event in batch.events {
            row.head.next_event = event.seq + 1;
            let body = rows::encode_event(&address, &event)?;
            self.put(keys::event(&address, event.seq), body);
        }
        self.take_receipts(
            &address,
            &mut row.added,
            batch.receipts,
            batch.unpin,
            batch.max_receipts,
        )
        .await?;
        self.put_row(&row);
        Ok(())
    }

    pub(super) async fn claim(&mut self, address: &Address) -> StoreResult<Head> {
        let mut row = self.row(address).await?;
        row.head.epoch += 1;
        self.put_row(&row);
        Ok(row.head)
    }

    pub(super) async fn append(
        &mut self,
        address: &Address,
        expected: Digest,
        epoch: u64,
        batch: Batch,
    ) -> StoreResult<()> {
        let row = self.owned(address, epoch).await?;
        if row.head.digest != expected {
            return Err(StoreError::Conflict {
                address: address.clone(),
                expected,
                actual: row.head.digest,
                version: row.head.version,
            });
        }
        self.take(row, batch).await
    }

    pub(super) async fn records(
        &self,
        address: &Address,
        query: RecordQuery,
    ) -> StoreResult<Vec<StoredRecord>> {
        loop {
            let row = self.row(address).await?;
            let first = query.from.max(row.head.base.version.saturating_add(1));
            let versions = first..query.to.min(row.head.version).saturating_add(1);
            let count = wanted(&versions, query.limit);
            let keys = keys::record(address, versions.start)..keys::record(address, versions.end);
            let found = self.scan(keys, query.limit).await?;
            let read = found.into_iter().map(|(key, body)| {
                StoredRecord::from_body(body).map_err(|error| corrupt(&key, error))
            });
            let records = read.collect::<StoreResult<Vec<_>>>()?;
            let numbers = records.iter().map(|record| record.version);
            if numbers.eq(first..first.saturating_add(count)) {
                return Ok(records);
            }
            self.unless_changed(&row).await?;
        }
    }

    pub(super) async fn events(
        &self,
        address: &Address,
        query: EventQuery,
    ) -> StoreResult<Vec<ThreadEvent>> {
        loop {
            let row = self.row(address).await?;
            let kept = row.head.first_event..row.head.next_event;
            let seqs = match query.newest_first {
                true => kept.start..kept.end.min(query.from.saturating_add(1)),
                false => kept.start.max(query.from)..kept.end,
            };
            let count = wanted(&seqs, query.limit);
            let keys = keys::event(address, seqs.start)..keys::event(address, seqs.end);
            let events = if query.newest_first {
                read_events(self.scan_back(keys, query.limit).await?)?
            } else {
                read_events(self.scan(keys, query.limit).await?)?
            };
            let numbers = events.iter().map(|event| event.seq);
            let whole = match query.newest_first {
                true => numbers.eq((seqs.end.saturating_sub(count)..seqs.end).rev()),
                false => numbers.eq(seqs.start..seqs.start.saturating_add(count)),
            };
            if whole {
                return Ok(events);
            }
            self.unless_changed(&row).await?;
        }
    }

    /// Rows are missing: fine if the process was changed between two reads, which can be done again.
    async fn unless_changed(&self, row: &Row) -> StoreResult<()> {
        let address = &row.head.base.address;
        match self.row(address).await? == *row {
            false => Ok(()),
            true => Err(corrupt(
                &keys::head(address),
                "records or events that it counts are missing",
            )),
        }
    }

    pub(super) async fn put_checkpoint(
        &mut self,
        address: &Address,
        part: CheckpointPart,
    ) -> StoreResult<()> {
        let checkpoint = part.checkpoint;
        let row = self.row(address).await?;
        if self.is_whole(address, &checkpoint).await? {
            return Ok(());
        }
        let point = self.point(&row, checkpoint.version).await?;
        if point != Some((checkpoint.record, checkpoint.root)) {
            let why = "a checkpoint of another record or root than that version has";
            return Err(bad(address, why));
        }
        if let Some(since) = &part.since
            && self.root_of(since).await? != Some(since.root)
        {
            return Err(bad(address, "what the checkpoint builds on is not there"));
        }
        self.put_blocks(address, part.blocks)?;
        if part.last && !self.has(&keys::block(checkpoint.root)).await? {
            return Err(bad(address, "the root of the checkpoint is not there"));
        }
        let open = Open {
            checkpoint,
            since: part.since,
            next: part.index + 1,
        };
        self.next_part(&row, open, part.last).await
    }

    /// Takes note of a part of a checkpoint, if it is the next one.
    async fn next_part(&mut self, row: &Row, open: Open, last: bool) -> StoreResult<()> {
        let (address, version) = (&row.head.base.address, open.checkpoint.version);
        let key = keys::open(address, version);
        if open.next > 1 {
            let before = Open {
                next: open.next - 1,
                ..open.clone()
            };
            let found = self.get(&key).await?;
            let found = found.map(|body| Open::decode(&key, &body)).transpose()?;
            if found != Some(before) {
                return Err(bad(address, "a part of a checkpoint that is not the next"));
            }
        }
        if !last {
            self.put(key, open.encode());
            return Ok(());
        }
        self.remove_all(keys::all_open(address)).await?;
        let whole = rows::encode_checkpoint(&open.checkpoint);
        self.put(keys::checkpoint(address, version), whole);
        if version == row.head.base.version
            && let Some(depends) = dependence(&row.head.base)
        {
            self.remove(depends);
        }
        Ok(())
    }

    async fn is_whole(&self, address: &Address, checkpoint: &Checkpoint) -> StoreResult<bool> {
        let key = keys::checkpoint(address, checkpoint.version);
        match self.get(&key).await? {
            Some(body) => Ok(rows::decode_checkpoint(&key, &body)? == *checkpoint),
            None => Ok(false),
        }
    }

    /// The root of a version all of whose blocks are in the store for sure.
    async fn root_of(&self, of: &CheckpointRef) -> StoreResult<Option<Digest>> {
        let key = keys::checkpoint(&of.address, of.version);
        if let Some(body) = self.get(&key).await? {
            return Ok(Some(rows::decode_checkpoint(&key, &body)?.root));
        }
        match self.row(&of.address).await {
            Ok(Row { head, .. }) => {
                let base = head.base;
                let there = base.has_blocks() && base.version == of.version;
                Ok(there.then_some(base.root))
            }
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn checkpoints(
        &self,
        address: &Address,
        at_or_before: u64,
        limit: usize,
    ) -> StoreResult<Vec<Checkpoint>> {
        self.row(address).await?;
        let last = keys::after(keys::checkpoint(address, at_or_before));
        let known = self.scan_back(keys::checkpoint(address, 0)..last, limit);
        let known = known.await?;
        let read = known.iter();
        read.map(|(key, body)| rows::decode_checkpoint(key, body))
            .collect()
    }

    pub(super) async fn forks(
        &self,
        address: &Address,
        below: u64,
        limit: usize,
    ) -> StoreResult<Vec<ForkRef>> {
        let found = self.scan(keys::forks(address, below), limit).await?;
        let read = found.iter().map(|(key, _)| {
            let parts = keys::fork_parts(address, key);
            let (version, child) = parts.ok_or_else(|| corrupt(key, "not a fork"))?;
            Ok(ForkRef { child, version })
        });
        read.collect()
    }

    async fn refuse_forks(&self, address: &Address, below: u64) -> StoreResult<()> {
        match self.forks(address, below, 1).await?.pop() {
            None => Ok(()),
            Some(ForkRef { child, version }) => Err(StoreError::Forked {
                address: address.clone(),
                child,
                version,
            }),
        }
    }

    pub(super) async fn cut(
        &mut self,
        address: &Address,
        epoch: u64,
        base: Base,
    ) -> StoreResult<()> {
        let mut row = self.owned(address, epoch).await?;
        let before = &row.head.base;
        let BaseKind::Checkpoint { record, thread } = &base.kind else {
            return Err(bad(address, "a cut to a base of another kind"));
        };
        let checkpoint = Checkpoint {
            version: base.version,
            record: *record,
            root: base.root,
        };
        let of_this = base.address == *address && *thread == before.shared();
        if !of_this || !self.is_whole(address, &checkpoint).await? {
            return Err(bad(address, "a cut where no checkpoint is"));
        }
        self.refuse_forks(address, base.version).await?;
        let records = keys::record(address, 0)..keys::after(keys::record(address, base.version));
        self.remove_all(records).await?;
        for table in [keys::checkpoint, keys::open] {
            self.remove_all(table(address, 0)..table(address, base.version))
                .await?;
        }
        if let Some(depends) = dependence(before) {
            self.remove(depends);
        }
        row.head.base = base;
        self.put_row(&row);
        Ok(())
    }

    pub(super) async fn trim_events(
        &mut self,
        address: &Address,
        epoch: u64,
        before: u64,
    ) -> StoreResult<()> {
        let mut row = self.owned(address, epoch).await?;
        let head = &mut row.head;
        let end = before.min(head.next_event);
        if end <= head.first_event {
            return Ok(());
        }
        let gone = keys::event(address, head.first_event)..keys::event(address, end);
        self.remove_all(gone).await?;
        head.first_event = end;
        self.put_row(&row);
        Ok(())
    }

    pub(super) async fn delete(&mut self, address: &Address, epoch: u64) -> StoreResult<()> {
        let gone = self.owned(address, epoch).await?;
        self.refuse_forks(address, u64::MAX).await?;
        for (key, _) in self.scan_all(keys::sharers(address)).await? {
            let child = keys::sharer_child(address, &key);
            let child = child.ok_or_else(|| corrupt(&key, "not an address"))?;
            self.remove(key);
            let row = self.row(&child).await?;
            self.inherit_events(row, &gone.head).await?;
        }
        for table in keys::OF_A_PROCESS {
            self.remove_all(keys::all_of(table, address)).await?;
        }
        if let Some(depends) = dependence(&gone.head.base) {
            self.remove(depends);
        }
        if let Some(shared) = &gone.head.shared {
            self.remove(keys::sharer(&shared.parent, address));
        }
        self.remove(keys::head(address));
        let past = self.past_epochs().await?.max(epoch);
        self.put(keys::PAST_EPOCHS.to_vec(), rows::encode_count(past));
        Ok(())
    }

    /// Gives a process the events that it shares with one that is being deleted.
    async fn inherit_events(&mut self, mut row: Row, gone: &Head) -> StoreResult<()> {
        let (child, parent) = (row.head.base.address.clone(), &gone.base.address);
        let Some(shared) = row.head.shared.take() else {
            return Err(corrupt(&keys::head(&child), "it shares no events"));
        };
        // A fork that has forgotten events of its own shares none of those before them any more.
        let end = shared.events.min(gone.next_event);
        if row.head.first_event == shared.events && gone.first_event < end {
            let own = keys::event(parent, gone.first_event)..keys::event(parent, end);
            for (key, body) in self.scan_all(own).await? {
                let seq = keys::number(&key).ok_or_else(|| corrupt(&key, "not an event"))?;
                self.put(keys::event(&child, seq), body);
            }
            row.head.first_event = gone.first_event;
        }
        row.head.shared = gone.shared.clone().map(|above| SharedThread {
            events: above.events.min(shared.events),
            ..above
        });
        if let Some(above) = &row.head.shared {
            self.put(keys::sharer(&above.parent, &child), Vec::new());
        }
        self.put_row(&row);
        Ok(())
    }

    pub(super) async fn addresses(
        &self,
        after: Option<&Address>,
        limit: usize,
    ) -> StoreResult<Vec<Address>> {
        let found = self.scan(keys::heads(after), limit).await?;
        let read = found.iter().map(|(key, _)| {
            let address = keys::address(key);
            address.ok_or_else(|| corrupt(key, "not an address"))
        });
        read.collect()
    }
}

fn read_events(found: Vec<KeyPair>) -> StoreResult<Vec<ThreadEvent>> {
    let read = found.iter().map(|(key, body)| {
        let seq = keys::number(key).ok_or_else(|| corrupt(key, "not an event"))?;
        rows::decode_event(key, body, seq)
    });
    read.collect()
}
