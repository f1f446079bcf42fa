//! Made-up histories: honest in every digest, so that a store may check what it likes.

use svit_tree::{Address, Mutation, Path, Source, Tree};
use svit_txn::{
    Base, BaseKind, Batch, Block, EventQuery, Head, Limits, ProcessTransaction, Receipt,
    ReceiptKey, RecordQuery, StoredRecord, ThreadEvent,
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
    pub(super) next_event: u64,
    tree: Tree,
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
            next_event: 0,
            base,
            tree,
        })
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
            next_event: base.first_event(),
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
        let version = self.version + 1;
        let count = i64::try_from(version).map_err(said)?;
        let path = |text: &str| Path::parse(text).map_err(said);
        let mutations = vec![
            Mutation::set(path("/memory/count")?, count),
            Mutation::set(path("/memory/text~1~0")?, text),
        ];
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

    /// Appends a batch behind `expected`.
    pub(super) async fn append(
        &self,
        expected: Digest,
        batch: Batch,
    ) -> Result<(), svit_txn::StoreError> {
        let address = &self.base.address;
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
            first_event: self.base.first_event(),
            next_event: self.next_event,
            shared: self.base.shared(),
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
        let count = self.next_event - self.base.first_event();
        ensure_eq!(events.len() as u64, count, "the number of events");
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
