//! A model of one process: it makes batches that follow each other and remembers what was stored.

use std::path::{Path, PathBuf};

use svit_store_turso::{OpenOptions, TursoProcessStore};
use svit_tree::Address;
use svit_txn::{
    Base, BaseKind, Batch, Block, EventQuery, ProcessStore, Receipt, ReceiptKey, RecordQuery,
    StoreError, StoredRecord, ThreadEvent,
};
use svit_value::{Digest, Text, value};

/// A folder that goes with the test, and the path of a database in it.
pub(crate) struct Place {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) path: PathBuf,
}

pub(crate) fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("svit.db");
    Place { folder, path }
}

impl Place {
    /// The database with a suffix, such as `-wal`.
    pub(crate) fn beside(&self, suffix: &str) -> PathBuf {
        beside(&self.path, suffix)
    }
}

pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Copies database, WAL and lock file, as a crash would leave them, into a new folder.
pub(crate) fn crashed_copy(path: &Path) -> Place {
    let copy = place();
    for suffix in ["", "-wal", "-lock"] {
        let from = beside(path, suffix);
        if from.exists() {
            std::fs::copy(from, copy.beside(suffix)).unwrap();
        }
    }
    copy
}

pub(crate) fn address(name: &str) -> Address {
    Address::parse(&format!("svit://local/{name}")).unwrap()
}

/// One process, as its owner sees it.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) base: Base,
    pub(crate) root: Block,
    pub(crate) version: u64,
    pub(crate) digest: Digest,
    pub(crate) epoch: u64,
    pub(crate) next_event: u64,
    pub(crate) records: Vec<StoredRecord>,
    pub(crate) receipts: Vec<Receipt>,
    pub(crate) events: Vec<ThreadEvent>,
}

impl Model {
    pub(crate) fn new(name: &str) -> Model {
        let root = value!({"memory": {"name": name}});
        let root = Block {
            digest: root.digest(),
            data: root.block(),
        };
        let base = Base {
            address: address(name),
            version: 3,
            root: root.digest,
            kind: BaseKind::Created,
        };
        Model {
            version: base.version,
            digest: base.digest(),
            base,
            root,
            epoch: 1,
            next_event: 0,
            records: Vec::new(),
            receipts: Vec::new(),
            events: Vec::new(),
        }
    }

    pub(crate) fn address(&self) -> &Address {
        &self.base.address
    }

    pub(crate) async fn create(name: &str, store: &TursoProcessStore) -> Model {
        let mut model = Model::new(name);
        model.epoch = store
            .insert_base(
                model.base.clone(),
                vec![model.root.clone()],
                Batch::default(),
            )
            .await
            .unwrap();
        model
    }

    /// The record of the next version, with a body of about `size` bytes.
    pub(crate) fn record(&self, size: usize) -> StoredRecord {
        let version = self.version + 1;
        let mut body = format!("{} {version} {} ", self.address(), self.digest).into_bytes();
        // No two neighbouring bytes are alike, so that a shifted read is a wrong read.
        body.extend((0..size).map(|at| (at as u64).wrapping_mul(131).wrapping_add(version) as u8));
        StoredRecord {
            version,
            previous: self.digest,
            digest: Digest::of(&body),
            root: Digest::of(&version.to_le_bytes()),
            paths: vec![
                "/memory/count".parse().unwrap(),
                "/lib/a~1b".parse().unwrap(),
            ],
            body,
        }
    }

    pub(crate) fn receipt(&self, client: &str, request: u64) -> Receipt {
        Receipt {
            key: ReceiptKey {
                client: Text::from(client),
                request: Text::from(format!("request-{request}")),
            },
            content: Digest::of(&request.to_le_bytes()),
            outcome: value!({"ok": true, "request": (i64::try_from(request).unwrap())}),
            version: self.version + 1,
            pinned_by: None,
        }
    }

    pub(crate) fn event(&self) -> ThreadEvent {
        ThreadEvent {
            seq: self.next_event,
            kind: Text::from("turn.started"),
            body: value!({"seq": (i64::try_from(self.next_event).unwrap()), "text": "a\u{0}b"}),
        }
    }

    /// A record, its receipt and its event.
    pub(crate) fn batch(&self, size: usize) -> Batch {
        Batch {
            records: vec![self.record(size)],
            receipts: vec![self.receipt("client", self.version + 1)],
            events: vec![self.event()],
            ..Batch::default()
        }
    }

    /// Takes a batch as stored.
    pub(crate) fn landed(&mut self, batch: &Batch) {
        if let Some(last) = batch.records.last() {
            self.version = last.version;
            self.digest = last.digest;
        }
        self.next_event += batch.events.len() as u64;
        self.records.extend(batch.records.iter().cloned());
        self.receipts.extend(batch.receipts.iter().cloned());
        self.events.extend(batch.events.iter().cloned());
    }

    pub(crate) async fn try_append(
        &self,
        store: &TursoProcessStore,
        batch: &Batch,
    ) -> Result<(), StoreError> {
        store
            .append(self.address(), self.digest, self.epoch, batch.clone())
            .await
    }

    /// Appends a record, a receipt and an event.
    pub(crate) async fn commit(
        &mut self,
        store: &TursoProcessStore,
        size: usize,
    ) -> Result<(), StoreError> {
        let batch = self.batch(size);
        self.try_append(store, &batch).await?;
        self.landed(&batch);
        Ok(())
    }

    /// Reads everything back and compares.
    pub(crate) async fn check(&self, store: &TursoProcessStore) -> Result<(), StoreError> {
        let address = self.address();
        let head = store.load(address).await?;
        assert_eq!(
            (head.version, head.digest, head.epoch, head.next_event),
            (self.version, self.digest, self.epoch, self.next_event)
        );
        assert_eq!(head.base, self.base);
        let root = self.records.last().map_or(self.base.root, |last| last.root);
        assert_eq!(head.root, root);
        let everything = RecordQuery {
            from: 0,
            to: u64::MAX,
            limit: usize::MAX,
        };
        assert_eq!(store.records(address, everything).await?, self.records);
        let forward = EventQuery {
            from: 0,
            limit: usize::MAX,
            newest_first: false,
        };
        assert_eq!(store.events(address, forward).await?, self.events);
        let backward = EventQuery {
            from: u64::MAX,
            limit: usize::MAX,
            newest_first: true,
        };
        let mut events = store.events(address, backward).await?;
        events.reverse();
        assert_eq!(events, self.events);
        for receipt in &self.receipts {
            let found = store.receipt(address, &receipt.key).await?;
            assert_eq!(found.as_ref(), Some(receipt));
        }
        if self.base.has_blocks() {
            let block = store.blocks(vec![self.root.digest]).await?;
            assert_eq!(block, [Some(self.root.data.clone())]);
        }
        Ok(())
    }
}

pub(crate) async fn open(path: &Path) -> TursoProcessStore {
    TursoProcessStore::open(path).await.unwrap()
}

/// A store that copies its WAL back, and files its records, all the time.
pub(crate) fn busy_wal() -> OpenOptions {
    OpenOptions::new().wal_pages(8).recent_records(7)
}

/// The `code()` of an error, for tables of what must be refused how.
pub(crate) fn code<T>(result: Result<T, StoreError>) -> &'static str {
    match result {
        Ok(_) => "ok",
        Err(error) => {
            println!("{error}");
            error.code()
        }
    }
}
