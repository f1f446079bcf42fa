//! Made-up histories: honest in every digest, so that a store may check what it likes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use svit_tree::{Address, Mutation, Path, Source, Tree};
use svit_txn::{
    Base, BaseKind, Batch, Block, Checkpoint, CheckpointPart, Collected, EventQuery, Head, Limits,
    ProcessTransaction, Receipt, ReceiptKey, RecordQuery, SharedThread, StoreError, StoredRecord,
    ThreadEvent,
};
use svit_value::{Digest, Text, Value, value};

use super::{Store, ensure_eq};

/// What went wrong while a history was made.
pub(super) fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// A history as it should stand in the store, kept beside it.
#[derive(Clone)]
pub(super) struct History {
    pub(super) store: Store,
    pub(super) base: Base,
    pub(super) epoch: u64,
    pub(super) head: Digest,
    pub(super) root: Digest,
    pub(super) version: u64,
    pub(super) first_event: u64,
    pub(super) next_event: u64,
    pub(super) shared: Option<SharedThread>,
    tree: Tree,
    appends: Arc<AtomicU64>,
}

pub(super) fn address(name: &str) -> Result<Address, String> {
    Address::parse(&format!("svit://conformance/{name}")).map_err(said)
}

pub(super) fn blocks(tree: &Tree) -> Vec<Block> {
    let blocks = tree.root().blocks();
    blocks
        .map(|(digest, data)| Block { digest, data })
        .collect()
}

/// A tree that differs by `name`.
pub(super) fn tree(name: &str) -> Result<Tree, String> {
    let path = Path::parse("/memory/name").map_err(said)?;
    Tree::new()
        .apply(&[Mutation::set(path, name)])
        .map_err(said)
}

pub(super) fn created(name: &str) -> Result<(Base, Tree), String> {
    let tree = tree(name)?;
    let base = Base {
        address: address(name)?,
        version: 0,
        root: tree.digest(),
        kind: BaseKind::Created,
    };
    Ok((base, tree))
}

impl History {
    /// A created process, put into the store.
    pub(super) async fn create(store: &Store, name: &str) -> Result<Self, String> {
        let (base, tree) = created(name)?;
        let inserted = store.insert_base(base.clone(), blocks(&tree), Batch::default());
        let epoch = inserted.await.map_err(said)?;
        Ok(Self {
            store: store.clone(),
            epoch,
            head: base.head(),
            root: base.root,
            version: base.version,
            first_event: 0,
            next_event: 0,
            shared: None,
            base,
            tree,
            appends: Arc::default(),
        })
    }

    /// A fork of this process at its newest version, put into the store.
    pub(super) async fn fork(&self, name: &str, events: u64) -> Result<Self, String> {
        let base = self.forked(name, events)?;
        let inserted = self
            .store
            .insert_base(base.clone(), Vec::new(), Batch::default());
        Ok(self.at(base, inserted.await.map_err(said)?))
    }

    /// The base of a fork of this process at its newest version.
    pub(super) fn forked(&self, name: &str, events: u64) -> Result<Base, String> {
        Ok(Base {
            address: address(name)?,
            version: self.version,
            root: self.root,
            kind: BaseKind::Forked {
                parent: self.base.address.clone(),
                record: self.head,
                events,
            },
        })
    }

    /// The same process as another history would continue it.
    pub(super) fn at(&self, base: Base, epoch: u64) -> Self {
        Self {
            epoch,
            head: base.head(),
            root: base.root,
            version: base.version,
            first_event: base.first_event(),
            next_event: base.first_event(),
            shared: base.shared(),
            base,
            ..self.clone()
        }
    }

    /// The next records, as if they had landed.
    pub(super) fn grow(&mut self, count: u64) -> Result<Vec<StoredRecord>, String> {
        (0..count).map(|_| self.record("")).collect()
    }

    /// The next record, which sets a counter and a text.
    pub(super) fn record(&mut self, text: &str) -> Result<StoredRecord, String> {
        let count = i64::try_from(self.version + 1).map_err(said)?;
        self.edit(vec![
            Mutation::set(path("/memory/count")?, count),
            Mutation::set(path("/memory/text~1~0")?, text),
        ])
    }

    /// Appends a record that sets something large, which is blocks of its own.
    pub(super) async fn set_large(&mut self, name: &str) -> Result<(), String> {
        let large = svit_value::List::from_values((0..40).map(|n| {
            let text = format!("{name} {n} ");
            Value::from(text.repeat(100))
        }));
        let large = Mutation::set(path("/memory/large")?, Value::from(large.map_err(said)?));
        let expected = self.head;
        let batch = Batch {
            records: vec![self.edit(vec![large])?],
            ..Batch::default()
        };
        self.append(expected, batch).await.map_err(said)
    }

    fn edit(&mut self, mutations: Vec<Mutation>) -> Result<StoredRecord, String> {
        let version = self.version + 1;
        self.tree = self.tree.apply(&mutations).map_err(said)?;
        self.root = self.tree.digest();
        let record = ProcessTransaction {
            address: self.base.address.clone(),
            version,
            previous: self.head,
            source: Source::Host,
            committed_at: 1_700_000_000_000 + version,
            mutations,
            root: self.root,
            ports: Vec::new(),
        };
        let stored = record.to_stored(&Limits::default()).map_err(said)?;
        (self.version, self.head) = (version, stored.digest);
        Ok(stored)
    }

    /// The next events, as if they had landed.
    pub(super) fn tell(&mut self, count: u64) -> Vec<ThreadEvent> {
        let first = self.next_event;
        self.next_event += count;
        (first..self.next_event).map(event).collect()
    }

    /// Appends a batch behind `expected`; every other time in place, if the store can: it is the same.
    pub(super) async fn append(&self, expected: Digest, batch: Batch) -> Result<(), StoreError> {
        let (store, address) = (&self.store, &self.base.address);
        let in_place = !self
            .appends
            .fetch_add(1, Ordering::Relaxed)
            .is_multiple_of(2);
        if in_place
            && let Some(appended) = store.append_in_place(address, expected, self.epoch, &batch)
        {
            return appended;
        }
        self.store
            .append(address, expected, self.epoch, batch)
            .await
    }

    /// Appends `count` records, one event and one receipt each, in one batch.
    pub(super) async fn extend(&mut self, count: u64) -> Result<Batch, String> {
        let expected = self.head;
        let batch = Batch {
            records: self.grow(count)?,
            events: self.tell(count),
            receipts: (0..count)
                .map(|n| receipt("extended", &format!("{}-{n}", self.version)))
                .collect(),
            ..Batch::default()
        };
        self.append(expected, batch.clone()).await.map_err(said)?;
        Ok(batch)
    }

    /// Where the store should stand.
    pub(super) fn expected(&self) -> Head {
        Head {
            version: self.version,
            digest: self.head,
            root: self.root,
            epoch: self.epoch,
            base: self.base.clone(),
            first_event: self.first_event,
            next_event: self.next_event,
            shared: self.shared.clone(),
        }
    }

    /// Checks that the store stands where this history does: head, number of records and of events.
    pub(super) async fn stands(&self) -> Result<(), String> {
        let address = &self.base.address;
        let head = self.store.load(address).await.map_err(said)?;
        ensure_eq!(head, self.expected(), "the head");
        let records = self.records(0, u64::MAX, usize::MAX).await?;
        let count = self.version - self.base.version;
        ensure_eq!(records.len() as u64, count, "the number of records");
        let events = self.events(0, usize::MAX, false).await?;
        let seqs: Vec<u64> = events.iter().map(|event| event.seq).collect();
        let expected: Vec<u64> = (self.first_event..self.next_event).collect();
        ensure_eq!(seqs, expected, "the events' numbers");
        Ok(())
    }

    /// Where this process stands, as a checkpoint.
    pub(super) fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            version: self.version,
            record: self.head,
            root: self.root,
        }
    }

    /// The blocks of where it stands, each behind one that links to it.
    pub(super) fn blocks(&self) -> Vec<Block> {
        blocks(&self.tree)
    }

    /// Puts a checkpoint of where it stands, in one part.
    pub(super) async fn put_checkpoint(&self) -> Result<Checkpoint, String> {
        let part = part(self.checkpoint(), 0, self.blocks(), true);
        self.put_part(part).await.map_err(said)?;
        Ok(self.checkpoint())
    }

    pub(super) async fn put_part(&self, part: CheckpointPart) -> Result<(), StoreError> {
        self.store.put_checkpoint(&self.base.address, part).await
    }

    /// All whole checkpoints, newest first.
    pub(super) async fn checkpoints(&self) -> Result<Vec<Checkpoint>, String> {
        let all = self
            .store
            .checkpoints(&self.base.address, u64::MAX, usize::MAX);
        all.await.map_err(said)
    }

    /// The base of a cut where it stands.
    pub(super) fn cut_here(&self) -> Base {
        Base {
            address: self.base.address.clone(),
            version: self.version,
            root: self.root,
            kind: BaseKind::Checkpoint {
                record: self.head,
                thread: self.base.shared(),
            },
        }
    }

    /// Cuts to a base made with [`cut_here`](Self::cut_here).
    pub(super) async fn cut(&mut self, base: Base) -> Result<(), StoreError> {
        let address = &self.base.address;
        self.store.cut(address, self.epoch, base.clone()).await?;
        self.base = base;
        Ok(())
    }

    pub(super) async fn delete(&self) -> Result<(), StoreError> {
        self.store.delete(&self.base.address, self.epoch).await
    }

    pub(super) async fn trim(&mut self, before: u64) -> Result<(), StoreError> {
        let address = &self.base.address;
        self.store.trim_events(address, self.epoch, before).await?;
        self.first_event = before.clamp(self.first_event, self.next_event);
        Ok(())
    }

    pub(super) async fn records(
        &self,
        from: u64,
        to: u64,
        limit: usize,
    ) -> Result<Vec<StoredRecord>, String> {
        let query = RecordQuery { from, to, limit };
        let records = self.store.records(&self.base.address, query);
        records.await.map_err(said)
    }

    pub(super) async fn events(
        &self,
        from: u64,
        limit: usize,
        newest_first: bool,
    ) -> Result<Vec<ThreadEvent>, String> {
        let query = EventQuery {
            from,
            limit,
            newest_first,
        };
        let events = self.store.events(&self.base.address, query);
        events.await.map_err(said)
    }

    pub(super) async fn receipt(
        &self,
        client: &str,
        request: &str,
    ) -> Result<Option<Receipt>, String> {
        let receipt = self
            .store
            .receipt(&self.base.address, &key(client, request));
        receipt.await.map_err(said)
    }
}

fn path(text: &str) -> Result<Path, String> {
    Path::parse(text).map_err(said)
}

/// A part of a checkpoint that builds on nothing.
pub(super) fn part(
    checkpoint: Checkpoint,
    index: u64,
    blocks: Vec<Block>,
    last: bool,
) -> CheckpointPart {
    CheckpointPart {
        checkpoint,
        since: None,
        index,
        blocks,
        last,
    }
}

/// One block, if the store has it.
pub(super) async fn one_block(store: &Store, digest: Digest) -> Result<Option<Vec<u8>>, String> {
    let mut found = store.blocks(vec![digest]).await.map_err(said)?;
    ensure_eq!(found.len(), 1, "answers for one block");
    Ok(found.pop().flatten())
}

/// Checks that a root can be loaded whole: the store has every block that it reaches.
pub(super) async fn loads(store: &Store, root: Digest) -> Result<BTreeSet<Digest>, String> {
    let (mut reached, mut wanted) = (BTreeSet::new(), vec![root]);
    while !wanted.is_empty() {
        let found = store.blocks(wanted.clone()).await.map_err(said)?;
        ensure_eq!(found.len(), wanted.len(), "answers for so many blocks");
        let mut next = Vec::new();
        for (digest, data) in wanted.into_iter().zip(found) {
            let Some(data) = data else {
                return Err(format!("block {digest} of the root {root} is missing"));
            };
            ensure_eq!(Digest::of(&data), digest, "the digest of a block");
            next.extend(svit_value::links(&data).map_err(said)?);
            reached.insert(digest);
        }
        next.retain(|digest| !reached.contains(digest));
        wanted = next;
    }
    Ok(reached)
}

/// Collects garbage to the end.
pub(super) async fn collect(store: &Store, steps: u64) -> Result<Collected, StoreError> {
    let mut all = Collected::default();
    for _ in 0..100_000 {
        let piece = store.collect(steps).await?;
        all.blocks += piece.blocks;
        all.bytes += piece.bytes;
        if piece.done {
            all.done = true;
            break;
        }
    }
    Ok(all)
}

/// An event whose body holds every kind of value.
pub(super) fn event(seq: u64) -> ThreadEvent {
    let octets = svit_value::Bytes::from(&[0_u8, 255, seq as u8][..]);
    ThreadEvent {
        seq,
        kind: Text::from("turn.started"),
        body: value!({
            "seq": (seq as u32),
            "float": 1.5,
            "null": null,
            "octets": octets,
            "nested": [{"": "a\u{0}\u{1F980}"}, true, (i64::MIN)]
        }),
    }
}

pub(super) fn key(client: &str, request: &str) -> ReceiptKey {
    ReceiptKey {
        client: Text::from(client),
        request: Text::from(request),
    }
}

pub(super) fn receipt(client: &str, request: &str) -> Receipt {
    Receipt {
        key: key(client, request),
        content: Digest::of(request.as_bytes()),
        outcome: Value::from(request),
        version: 0,
        pinned_by: None,
    }
}

/// Numbers that look random and are the same in every run.
pub(super) struct Random(u64);

impl Random {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `end`.
    pub(super) const fn below(&mut self, end: u64) -> u64 {
        // Knuth's multiplicative generator; its upper bits are the better ones.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}
