//! A migration that is interrupted leaves the older format; one that meets damage touches nothing.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::mark::beside;
use crate::options::OpenOptions;
use crate::session::{OpenError, Session};

/// A copy of the golden database of format 1.
fn golden() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("svit.db");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/format-1.db");
    fs::copy(golden, &path).unwrap();
    (folder, path)
}

fn format(path: &Path) -> String {
    let mut connection = Connection::open(path).unwrap();
    connection.pragma("PRAGMA user_version").unwrap()
}

fn open(path: &Path) -> Result<Session, svit_txn::StoreError> {
    match Session::open(path, &OpenOptions::new()) {
        Ok(session) => Ok(session),
        Err(OpenError::Store(error)) => Err(error),
        Err(OpenError::Held { pid }) => panic!("held by {pid:?}"),
    }
}

#[test]
fn an_interrupted_migration_leaves_the_older_format() {
    let (_folder, path) = golden();
    {
        let mut connection = Connection::open(&path).unwrap();
        connection.pragma("PRAGMA journal_mode=WAL").unwrap();
        // Pages go to the WAL before the commit, as those of a large migration do.
        connection.pragma("PRAGMA cache_size=1").unwrap();
        connection.execute_once("BEGIN IMMEDIATE").unwrap();
        rewrite(&mut connection, 1).unwrap();
        // As a crash leaves it.
        let crashed = path.with_file_name("crashed.db");
        fs::copy(&path, &crashed).unwrap();
        let wal = beside(&path, "-wal");
        println!("{} bytes of WAL", fs::metadata(&wal).unwrap().len());
        fs::copy(wal, beside(&crashed, "-wal")).unwrap();
        assert_eq!(format(&crashed), "1");
        assert_eq!(open(&crashed).unwrap().meta().heads.rows, 4);
    }
    // As a dropped connection leaves it.
    assert_eq!(format(&path), "1");
    let session = open(&path).unwrap();
    assert_eq!(session.meta().heads.rows, 4);
    assert_eq!(session.meta().forks.rows, 2);
    session.close();
    assert_eq!(format(&path), "3");
}

#[test]
fn damage_ends_a_migration_and_changes_nothing() {
    let rows = [
        ("UPDATE head SET epoch=epoch+1", "head"),
        (
            "DELETE FROM head WHERE address=x'737669743a2f2f676f6c64656e2f666f726b'",
            "head",
        ),
        ("UPDATE base SET body=x'00'", "base"),
        ("UPDATE meta SET batch=batch+1", "meta"),
        ("DROP TABLE checkpoint", "schema"),
    ];
    for (sql, place) in rows {
        let (_folder, path) = golden();
        let mut connection = Connection::open(&path).unwrap();
        connection.execute(sql, &[]).unwrap();
        drop(connection);
        let error = open(&path).map(|_| ()).unwrap_err();
        assert_eq!(error.code(), "corrupt", "{sql}");
        assert!(error.to_string().contains(place), "{sql}: {error}");
        assert_eq!(format(&path), "1", "{sql}");
    }
}

#[test]
fn a_database_behind_its_mark_is_not_migrated() {
    let (_folder, path) = golden();
    let mut connection = Connection::open(&path).unwrap();
    let meta = format_1::meta(&mut connection).unwrap().unwrap();
    drop(connection);
    let (mut sidecar, _) = crate::mark::Sidecar::take(&path).unwrap();
    let mark = crate::mark::Mark {
        store: meta.store,
        batch: meta.batch + 1,
        digest: meta.digest,
    };
    sidecar.write(0, Some(&mark)).unwrap();
    drop(sidecar);
    assert_eq!(open(&path).map(|_| ()).unwrap_err().code(), "corrupt");
    assert_eq!(format(&path), "1");
}
