//! Records that wait to be filed: many, rolled back, read again, and damaged.

use std::path::Path as FilePath;

use svit_txn::{Base, BaseKind, Batch, RecordQuery, StoredRecord};
use svit_value::Digest;

use super::*;
use crate::apply::Written;
use crate::options::OpenOptions;
use crate::prepared::Write;
use crate::session::{OpenError, Session};

const ROWS: usize = 8;

fn open(path: &FilePath) -> Session {
    match Session::open(path, &OpenOptions::new().recent_records(ROWS)) {
        Ok(session) => session,
        Err(OpenError::Store(error)) => panic!("{error}"),
        Err(OpenError::Held { pid }) => panic!("held by {pid:?}"),
    }
}

fn place() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("svit.db");
    (folder, path)
}

/// Two paths, or one, or none.
fn paths(version: u64) -> Vec<svit_tree::Path> {
    let all = ["/memory/b", "/memory/a"];
    let some = &all[(version % 3) as usize..];
    some.iter().map(|path| path.parse().unwrap()).collect()
}

/// A process whose records mean nothing.
struct Chain {
    address: Address,
    epoch: u64,
    head: Digest,
    records: Vec<StoredRecord>,
}

impl Chain {
    fn start(name: &str, session: &mut Session) -> Chain {
        let base = Base {
            address: format!("svit://local/{name}").parse().unwrap(),
            version: 0,
            root: Digest::of(b"root"),
            kind: BaseKind::Created,
        };
        let (address, head) = (base.address.clone(), base.digest());
        let start = prepared::start(base, Vec::new(), Batch::default()).unwrap();
        let started = session.commit(&[Write::Start(start.into())]).remove(0);
        let Written::Epoch(epoch) = started.unwrap() else {
            panic!("no epoch");
        };
        Chain {
            address,
            epoch,
            head,
            records: Vec::new(),
        }
    }

    /// The next append, of a body of so many bytes.
    fn next(&mut self, size: usize) -> Write {
        let version = self.records.len() as u64 + 1;
        let mut body = vec![7; size];
        body[..8].copy_from_slice(&version.to_le_bytes());
        body.extend_from_slice(self.address.as_str().as_bytes());
        let record = StoredRecord {
            version,
            previous: self.head,
            digest: Digest::of(&body),
            root: Digest::of(b"root"),
            paths: paths(version),
            body,
        };
        let expected = std::mem::replace(&mut self.head, record.digest);
        self.records.push(record.clone());
        let batch = Batch {
            records: vec![record],
            ..Batch::default()
        };
        Write::Append {
            address: self.address.clone(),
            expected,
            epoch: self.epoch,
            rows: prepared::rows(&self.address, batch).unwrap(),
        }
    }

    fn read(&self, session: &mut Session) -> Result<Vec<StoredRecord>, StoreError> {
        let query = RecordQuery {
            from: 0,
            to: u64::MAX,
            limit: usize::MAX,
        };
        session.read(|reading| Ok(reading.records(&self.address, query)?.items))
    }

    fn check(&self, session: &mut Session) {
        assert_eq!(
            self.read(session).unwrap(),
            self.records,
            "{}",
            self.address
        );
    }
}

fn done(session: &mut Session, writes: &[Write]) {
    for answer in session.commit(writes) {
        answer.unwrap();
    }
}

/// How many rows a table has.
fn rows(session: &mut Session, sql: &'static str) -> u64 {
    let counted = session.read(|reading| {
        let mut row = reading.connection.row(sql, &[])?.unwrap();
        Ok(row.count(0)?)
    });
    counted.unwrap()
}

/// The versions of all filed records.
fn rows_of(session: &mut Session) -> Vec<u64> {
    let read = session.read(|reading| {
        let mut versions = Vec::new();
        let sql = "SELECT version FROM record";
        reading.connection.for_each(sql, &[], |mut row| {
            versions.push(row.count(0)?);
            Ok::<_, Fault>(ControlFlow::Continue(()))
        })?;
        Ok(versions)
    });
    read.unwrap()
}

fn paths_of(version: u64) -> u64 {
    paths(version).len() as u64
}

fn recent(session: &mut Session) -> u64 {
    rows(session, "SELECT count(*) FROM recent")
}

fn alter(path: &FilePath, sql: &'static str) {
    let mut connection = Connection::open(path).unwrap();
    assert!(connection.execute(sql, &[]).unwrap() > 0, "{sql}");
}

#[test]
fn records_are_filed_when_so_many_wait_and_read_wherever_they_are() {
    let (_folder, path) = place();
    let mut session = open(&path);
    let mut chains: Vec<_> = ["a", "b", "c"]
        .iter()
        .map(|name| Chain::start(name, &mut session))
        .collect();
    for step in 0..50 {
        let writes: Vec<_> = match step % 3 {
            0 => chains.iter_mut().map(|chain| chain.next(20)).collect(),
            one => vec![chains[one].next(20), chains[one].next(30)],
        };
        done(&mut session, &writes);
        assert!(recent(&mut session) <= ROWS as u64);
        for chain in &chains {
            chain.check(&mut session);
        }
        if step % 7 == 0 {
            session.close();
            session = open(&path);
        }
    }
    let all: u64 = chains.iter().map(|chain| chain.records.len() as u64).sum();
    let waiting = recent(&mut session);
    assert!(waiting > 0);
    let filed = rows(&mut session, "SELECT count(*) FROM record");
    let paths = rows(&mut session, "SELECT count(*) FROM record_path");
    assert_eq!(filed, all - waiting);
    let filed = rows_of(&mut session);
    let wanted: u64 = filed.iter().map(|version| paths_of(*version)).sum();
    assert_eq!(paths, wanted);
}

#[test]
fn a_long_record_is_filed_at_once_behind_those_that_wait() {
    let (_folder, path) = place();
    let mut session = open(&path);
    let mut chain = Chain::start("a", &mut session);
    for size in [20, 20, MAX_BODY + 1, 20, MAX_BODY, 20] {
        let write = chain.next(size);
        done(&mut session, &[write]);
        chain.check(&mut session);
    }
    assert_eq!(recent(&mut session), 1);
    session.close();
    chain.check(&mut open(&path));
}

#[test]
fn what_is_rolled_back_waits_for_nothing() {
    let (_folder, path) = place();
    let mut session = open(&path);
    let mut chain = Chain::start("a", &mut session);
    let mut other = Chain::start("b", &mut session);
    for _ in 0..ROWS - 1 {
        let write = chain.next(20);
        done(&mut session, &[write]);
    }
    // The second record of the failing batch does not fit its head, so the batch is applied twice; both
    // times it files what waits.
    let (good, bad) = (chain.next(20), other.next(20));
    let Write::Append {
        address,
        expected,
        epoch,
        mut rows,
    } = bad
    else {
        panic!("an append");
    };
    let mut twice = other.next(20);
    if let Write::Append { rows: next, .. } = &mut twice {
        rows.records.append(&mut next.records);
    }
    rows.records[1].version += 1;
    other.records.clear();
    let bad = Write::Append {
        address,
        expected,
        epoch,
        rows,
    };
    let last = chain.next(20);
    let answers = session.commit(&[good, bad, last]);
    assert!(answers[0].is_ok() && answers[2].is_ok());
    assert_eq!(answers[1].as_ref().unwrap_err().code(), "bad_batch");
    chain.check(&mut session);
    other.check(&mut session);
    session.close();
    chain.check(&mut open(&path));
}

#[test]
fn a_damaged_record_keeps_its_process_from_being_filed_and_no_other() {
    let damages = [
        "UPDATE recent SET body=x'00' WHERE address=x'737669743a2f2f6c6f63616c2f61' AND version=2",
        "UPDATE recent SET version=9 WHERE address=x'737669743a2f2f6c6f63616c2f61' AND version=3",
        "UPDATE recent SET version=1 WHERE address=x'737669743a2f2f6c6f63616c2f61' AND version=2",
        "UPDATE recent SET address=x'00' WHERE address=x'737669743a2f2f6c6f63616c2f61' AND version=1",
        "DELETE FROM recent WHERE address=x'737669743a2f2f6c6f63616c2f61' AND version=2",
        "UPDATE recent SET address=x'737669743a2f2f6c6f63616c2f62', version=9 WHERE address=x'737669743a2f2f6c6f63616c2f61' AND version=3",
        "UPDATE recent SET address=x'737669743a2f2f6c6f63616c2f62' WHERE address=x'737669743a2f2f6c6f63616c2f61' AND version=2",
        "UPDATE recent SET address=x'737669743a2f2f6c6f63616c2f62', version=4 WHERE address=x'737669743a2f2f6c6f63616c2f61' AND version=3",
    ];
    for damage in damages {
        let (_folder, path) = place();
        let mut session = open(&path);
        let mut a = Chain::start("a", &mut session);
        let mut b = Chain::start("b", &mut session);
        for _ in 0..3 {
            let writes = [a.next(20), b.next(20)];
            done(&mut session, &writes);
        }
        session.close();
        alter(&path, damage);
        let mut session = open(&path);
        assert_eq!(
            a.read(&mut session).unwrap_err().code(),
            "corrupt",
            "{damage}"
        );
        for _ in 0..3 * ROWS {
            let write = b.next(20);
            done(&mut session, &[write]);
        }
        b.check(&mut session);
        assert!(
            rows(&mut session, "SELECT count(*) FROM record") > 0,
            "{damage}"
        );
        assert_eq!(
            a.read(&mut session).unwrap_err().code(),
            "corrupt",
            "{damage}"
        );
        session.close();
        let mut session = open(&path);
        b.check(&mut session);
        assert_eq!(
            a.read(&mut session).unwrap_err().code(),
            "corrupt",
            "{damage}"
        );
    }
}
