//! How much one piece does, counted in rows; nothing here is timed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use svit_txn::{
    Base, Batch, Block, CheckpointPart, CheckpointRef, Receipt, ReceiptKey, StoredRecord,
    ThreadEvent,
};
use svit_value::{Digest, Text, Value};

use super::*;
use crate::options::OpenOptions;
use crate::prepared::{self, Write};
use crate::session::{OpenError, Session};

/// The tables whose rows go in pieces.
const TABLES: [&str; 6] = [
    "SELECT count(*) FROM record",
    "SELECT count(*) FROM record_path",
    "SELECT count(*) FROM receipt",
    "SELECT count(*) FROM thread_event",
    "SELECT count(*) FROM checkpoint",
    "SELECT count(*) FROM base",
];

/// A session, and what it knows of the processes in it.
pub(crate) struct Small {
    folder: tempfile::TempDir,
    pub(crate) session: Session,
}

/// A process: its address, epoch, newest version and digest, and how many events it has told.
#[derive(Clone)]
pub(crate) struct One {
    pub(crate) address: Address,
    pub(crate) epoch: u64,
    pub(crate) version: u64,
    pub(crate) digest: Digest,
    pub(crate) events: u64,
}

/// The root of every version of every process here.
pub(crate) fn root() -> Block {
    let data = vec![0xa0];
    let digest = Digest::of(&data);
    Block { digest, data }
}

fn open(path: &Path, options: &OpenOptions) -> Session {
    // Each record is filed at once, so that nothing but what a piece does is counted.
    match Session::open(path, &options.clone().recent_records(0)) {
        Ok(session) => session,
        Err(OpenError::Store(error)) => panic!("{error}"),
        Err(OpenError::Held { pid }) => panic!("held by {pid:?}"),
    }
}

impl Small {
    pub(crate) fn new() -> Small {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("svit.db");
        let session = open(&path, &OpenOptions::new());
        Small { folder, session }
    }

    fn reopened(self, options: &OpenOptions) -> Small {
        let path = self.session.path().to_owned();
        self.session.close();
        let session = open(&path, options);
        Small { session, ..self }
    }

    /// Copies the files as a crash at this moment leaves them.
    pub(crate) fn crash(&self, name: &str) -> PathBuf {
        let (from, to) = (self.session.path(), self.folder.path().join(name));
        std::fs::copy(from, &to).unwrap();
        let wal = crate::mark::beside(from, "-wal");
        std::fs::copy(wal, crate::mark::beside(&to, "-wal")).unwrap();
        to
    }

    pub(crate) fn commit(&mut self, write: Write) -> Result<Written, StoreError> {
        self.session.commit(&[write]).remove(0)
    }

    /// Commits, and says how many rows came or went, too.
    pub(crate) fn piece(&mut self, write: Write) -> (Result<Written, StoreError>, u64) {
        let before = self.rows();
        let written = self.commit(write);
        let after = self.rows();
        let changed = before.iter().zip(after).map(|(a, b)| a.abs_diff(b)).sum();
        (written, changed)
    }

    pub(crate) fn rows(&mut self) -> [u64; 6] {
        TABLES.map(|sql| {
            let count = self.session.read(|reading| {
                let row = reading.connection.row(sql, &[])?;
                Ok(row.unwrap().count(0)?)
            });
            count.unwrap()
        })
    }

    pub(crate) fn create(&mut self, base: Base) -> One {
        let blocks = match base.has_blocks() {
            true => vec![root()],
            false => Vec::new(),
        };
        let mut one = One {
            address: base.address.clone(),
            epoch: 0,
            version: base.version,
            digest: base.head(),
            events: base.first_event(),
        };
        let start = prepared::start(base, blocks, Batch::default()).unwrap();
        match self.commit(Write::Start(Arc::new(start))) {
            Ok(Written::Epoch(epoch)) => one.epoch = epoch,
            other => panic!("{other:?}"),
        }
        one
    }

    /// Appends records, each with two paths, a receipt and an event.
    pub(crate) fn grow(&mut self, one: &mut One, count: u64) {
        for _ in 0..count {
            let batch = one.batch();
            let append = Write::Append {
                address: one.address.clone(),
                expected: one.digest,
                epoch: one.epoch,
                rows: prepared::rows(&one.address, batch.clone()).unwrap(),
            };
            self.commit(append).unwrap();
            one.landed(&batch);
        }
    }

    /// Makes a whole checkpoint of a version, which has this digest.
    pub(crate) fn checkpoint(&mut self, one: &One, since: Option<CheckpointRef>) {
        let part = CheckpointPart {
            checkpoint: Checkpoint {
                version: one.version,
                record: one.digest,
                root: root().digest,
            },
            since,
            index: 0,
            blocks: Vec::new(),
            last: true,
        };
        let (address, part) = (one.address.clone(), Box::new(part));
        self.commit(Write::Part { address, part }).unwrap();
    }
}

pub(crate) fn created(name: &str) -> Base {
    Base {
        address: Address::parse(&format!("svit://local/{name}")).unwrap(),
        version: 0,
        root: root().digest,
        kind: BaseKind::Created,
    }
}

impl One {
    pub(crate) fn batch(&self) -> Batch {
        let body = format!("{} {}", self.address, self.digest).into_bytes();
        let event = self.event();
        Batch {
            records: vec![StoredRecord {
                version: self.version + 1,
                previous: self.digest,
                digest: Digest::of(&body),
                root: root().digest,
                paths: vec!["/memory/a".parse().unwrap(), "/lib/b".parse().unwrap()],
                body,
            }],
            receipts: vec![Receipt {
                key: self.key(self.version),
                content: Digest::of(b""),
                outcome: Value::Null,
                version: self.version,
                pinned_by: None,
            }],
            events: vec![event],
            max_receipts: u64::MAX,
            ..Batch::default()
        }
    }

    fn event(&self) -> ThreadEvent {
        ThreadEvent {
            seq: self.events,
            kind: Text::from("k"),
            body: Value::from(self.events.to_string()),
        }
    }

    pub(crate) fn key(&self, version: u64) -> ReceiptKey {
        ReceiptKey {
            client: Text::from("client"),
            request: Text::from(version.to_string()),
        }
    }

    fn landed(&mut self, batch: &Batch) {
        for record in &batch.records {
            (self.version, self.digest) = (record.version, record.digest);
        }
        self.events += batch.events.len() as u64;
    }
}

#[test]
fn a_cut_removes_no_more_at_a_time_than_a_piece() {
    let mut small = Small::new();
    let mut one = small.create(created("one"));
    small.grow(&mut one, 700);
    small.checkpoint(&one, None);
    let base = Base {
        version: one.version,
        kind: BaseKind::Checkpoint {
            record: one.digest,
            thread: None,
        },
        ..created("one")
    };
    let cut = Write::Cut {
        address: one.address.clone(),
        epoch: one.epoch,
        base: Box::new(prepared::new_base(base).unwrap()),
    };
    assert_eq!(small.piece(cut).1, 0);
    let mut removed = Vec::new();
    loop {
        let address = one.address.clone();
        let (written, rows) = small.piece(Write::Purge { address });
        removed.push(rows);
        match written.unwrap() {
            Written::More(true) => {}
            _ => break,
        }
    }
    // A record stays together with its paths.
    assert!(removed.iter().all(|rows| *rows < PIECE + 3), "{removed:?}");
    assert_eq!(removed.iter().sum::<u64>(), 3 * 700);
    assert_eq!(small.rows()[..2], [0, 0]);
}

#[test]
fn a_backlog_of_events_is_forgotten_in_pieces() {
    let mut small = Small::new();
    let mut one = small.create(created("one"));
    small.grow(&mut one, 2_000);
    let (keep, first) = (100, one.events);
    let mut small = small.reopened(&OpenOptions::new().events_per_process(keep));
    let kept = |small: &mut Small| small.rows()[3];
    let mut most = 0;
    while kept(&mut small) > keep + keep / 8 {
        let before = kept(&mut small);
        small.grow(&mut one, 1);
        let after = kept(&mut small);
        assert!(after < before, "{after} after {before}");
        most = most.max(before + 1 - after);
    }
    assert_eq!(most, PIECE + 1);
    // 1,900 are too many, and each append adds one.
    assert_eq!(one.events - first, 4);
    let (address, events) = (one.address.clone(), one.events);
    let head = small
        .session
        .read(|reading| reading.load(&address))
        .unwrap();
    assert_eq!(
        (head.next_event, head.next_event - head.first_event),
        (events, keep)
    );
}

#[test]
fn a_long_append_forgets_as_much_as_it_adds() {
    let small = Small::new();
    let mut small = small.reopened(&OpenOptions::new().events_per_process(10));
    let mut one = small.create(created("one"));
    for _ in 0..3 {
        let mut batch = Batch::default();
        for _ in 0..2 * PIECE {
            batch.events.push(one.event());
            one.events += 1;
        }
        let append = Write::Append {
            address: one.address.clone(),
            expected: one.digest,
            epoch: one.epoch,
            rows: prepared::rows(&one.address, batch).unwrap(),
        };
        small.commit(append).unwrap();
        assert_eq!(small.rows()[3], 10);
    }
}
