//! libSQL alone, writing the same rows as an activation: on a thread that may wait, and from a runtime.

use std::path::Path;
use std::time::Instant;

use svit_store_turso::TursoProcessStore;

use super::{activate, counter, median};

/// The same rows as an activation's, written by libSQL alone in one synced transaction.
struct Bare {
    connection: libsql::Connection,
    statements: Vec<libsql::Statement>,
    version: i64,
    _database: libsql::Database,
}

impl Bare {
    async fn new(path: &Path) -> Bare {
        let database = libsql::Builder::new_local(path).build().await.unwrap();
        let connection = database.connect().unwrap();
        for sql in [
            "PRAGMA locking_mode=EXCLUSIVE",
            "PRAGMA journal_mode=WAL",
            "PRAGMA synchronous=FULL",
            "CREATE TABLE meta(id INTEGER PRIMARY KEY, batch INTEGER, digest BLOB, sums BLOB) STRICT",
            "CREATE TABLE head(address BLOB PRIMARY KEY, version INTEGER, rest BLOB) STRICT, WITHOUT ROWID",
            "CREATE TABLE record(address BLOB, version INTEGER, digests BLOB, body BLOB, PRIMARY KEY(address, version)) STRICT",
            "CREATE TABLE record_path(address BLOB, path BLOB, version INTEGER, PRIMARY KEY(address, path, version)) STRICT, WITHOUT ROWID",
            "INSERT INTO meta VALUES(1, 0, x'', x'')",
            "INSERT INTO head VALUES(x'00', 0, x'')",
        ] {
            connection.execute_batch(sql).await.unwrap();
        }
        let mut statements = Vec::new();
        for sql in [
            "BEGIN IMMEDIATE",
            "INSERT INTO record VALUES(x'00', ?1, ?2, ?3)",
            "INSERT INTO record_path VALUES(x'00', ?1, ?2)",
            "UPDATE head SET version=?1, rest=?2 WHERE address=x'00'",
            "UPDATE meta SET batch=?1, digest=?2, sums=?3",
            "COMMIT",
        ] {
            statements.push(connection.prepare(sql).await.unwrap());
        }
        Bare {
            connection,
            statements,
            version: 0,
            _database: database,
        }
    }

    async fn commit(&mut self) {
        self.version += 1;
        let version = self.version;
        let [begin, record, path, head, meta, commit] = &self.statements[..] else {
            return;
        };
        begin.execute(()).await.unwrap();
        record
            .execute((version, vec![1; 112], vec![2; 300]))
            .await
            .unwrap();
        path.execute((&b"/memory/count"[..], version))
            .await
            .unwrap();
        head.execute((version, vec![3; 160])).await.unwrap();
        meta.execute((version, vec![4; 32], vec![5; 64]))
            .await
            .unwrap();
        commit.execute(()).await.unwrap();
        for statement in &self.statements {
            statement.reset();
        }
        assert!(self.connection.is_autocommit());
    }

    async fn commit_on_blocking_thread(mut self) -> Bare {
        let commit = tokio::task::spawn_blocking(move || {
            svit_txn::block_on(self.commit());
            self
        });
        commit.await.unwrap()
    }
}

/// Activations and bare commits in turn, both on a thread that may wait: the medians in microseconds.
pub(crate) fn waiting_against_bare(folder: &Path, count: usize) -> (f64, f64) {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| svit_txn::block_on(against_bare(folder, count, false)));
        thread.join().unwrap()
    })
}

/// The same from tasks of a runtime, whose threads neither side may block.
pub(crate) async fn served_against_bare(folder: &Path, count: usize) -> (f64, f64) {
    against_bare(folder, count, true).await
}

async fn against_bare(folder: &Path, count: usize, served: bool) -> (f64, f64) {
    let store = TursoProcessStore::open(folder.join("svit.db"))
        .await
        .unwrap();
    let process = store.create(counter("one", 0)).await.unwrap();
    let mut bare = Bare::new(&folder.join("bare.db")).await;
    let (mut ours, mut other) = (Vec::new(), Vec::new());
    for round in 0..count / 20 {
        for _ in 0..20 {
            let time = activate(&process).await;
            if round > 2 {
                ours.push(time);
            }
        }
        for _ in 0..20 {
            let start = Instant::now();
            match served {
                true => bare = bare.commit_on_blocking_thread().await,
                false => bare.commit().await,
            }
            if round > 2 {
                other.push(start.elapsed());
            }
        }
    }
    (median(&mut ours), median(&mut other))
}
