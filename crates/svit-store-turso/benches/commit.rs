//! What a durable commit costs: alone, in company, and against the disk's own sync.
//!
//! `cargo bench -p svit-store-turso`; `TMPDIR` says on which disk.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program to be read by people"
)]

use std::io::Write;
use std::time::{Duration, Instant};

use svit_store_turso::{OpenOptions, Synchronous, TursoProcessStore};
use svit_tree::Address;
use svit_txn::{
    Base, BaseKind, Batch, Block, ProcessStore, Receipt, ReceiptKey, RecordQuery, StoredRecord,
    ThreadEvent,
};
use svit_value::{Digest, Text, value};

struct Caller {
    store: TursoProcessStore,
    address: Address,
    version: u64,
    digest: Digest,
}

impl Caller {
    async fn new(store: &TursoProcessStore, name: &str) -> Caller {
        let root = value!({"memory": {}});
        let base = Base {
            address: Address::parse(&format!("svit://local/{name}")).unwrap(),
            version: 0,
            root: root.digest(),
            kind: BaseKind::Created,
        };
        let block = Block {
            digest: root.digest(),
            data: root.block(),
        };
        store
            .insert_base(base.clone(), vec![block], Batch::default())
            .await
            .unwrap();
        Caller {
            store: store.clone(),
            address: base.address.clone(),
            version: 0,
            digest: base.digest(),
        }
    }

    /// One record of 300 bytes, as a counter activation has; with receipt and event if `full`.
    async fn commit(&mut self, full: bool) {
        let mut body = vec![7; 300];
        body[..8].copy_from_slice(&self.version.to_le_bytes());
        body[8..40].copy_from_slice(self.digest.as_bytes());
        let record = StoredRecord {
            version: self.version + 1,
            previous: self.digest,
            digest: Digest::of(&body),
            root: Digest::of(b"root"),
            paths: vec!["/memory/count".parse().unwrap()],
            body,
        };
        let (version, digest) = (record.version, record.digest);
        let mut batch = Batch {
            records: vec![record],
            ..Batch::default()
        };
        if full {
            batch.receipts.push(Receipt {
                key: ReceiptKey {
                    client: Text::from("client"),
                    request: Text::from(version.to_string()),
                },
                content: digest,
                outcome: value!({"ok": true}),
                version,
            });
            batch.events.push(ThreadEvent {
                seq: version - 1,
                kind: Text::from("turn.step"),
                body: value!({"text": "hello"}),
            });
        }
        self.store
            .append(&self.address, self.digest, 1, batch)
            .await
            .unwrap();
        (self.version, self.digest) = (version, digest);
    }
}

fn line(name: &str, mut times: Vec<Duration>, total: Duration) {
    times.sort();
    let at = |share: usize| times[(times.len() - 1) * share / 100].as_micros();
    println!(
        "{name:<34} {:>9.0}/s   p50 {:>7} us   p99 {:>7} us",
        times.len() as f64 / total.as_secs_f64(),
        at(50),
        at(99)
    );
}

async fn alone(name: &str, options: OpenOptions, full: bool, count: usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("svit.db");
    let store = TursoProcessStore::open_with(&path, options).await.unwrap();
    let mut caller = Caller::new(&store, "one").await;
    let start = Instant::now();
    let mut times = Vec::new();
    for _ in 0..count {
        let each = Instant::now();
        caller.commit(full).await;
        times.push(each.elapsed());
    }
    line(name, times, start.elapsed());
    store.close().await.unwrap();
    let bytes = std::fs::metadata(&path).unwrap().len();
    println!("{:<34} {:>9} bytes a commit", "", bytes / count as u64);
}

async fn together(name: &str, callers: usize, each: usize) {
    let folder = tempfile::tempdir().unwrap();
    let store = TursoProcessStore::open(folder.path().join("svit.db"))
        .await
        .unwrap();
    let mut all = Vec::new();
    for number in 0..callers {
        all.push(Caller::new(&store, &format!("p{number}")).await);
    }
    let start = Instant::now();
    let tasks: Vec<_> = all
        .into_iter()
        .map(|mut caller| {
            tokio::spawn(async move {
                let mut times = Vec::new();
                for _ in 0..each {
                    let one = Instant::now();
                    caller.commit(false).await;
                    times.push(one.elapsed());
                }
                times
            })
        })
        .collect();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await.unwrap());
    }
    line(name, times, start.elapsed());
    let stats = store.stats().await.unwrap();
    println!(
        "{:<34} {:>9} batches, largest {}, commit and sync {} us each",
        "",
        stats.batches,
        stats.largest_batch,
        stats.sync_total.as_micros() / u128::from(stats.batches.max(1))
    );
}

fn floor(count: usize, data_only: bool) {
    let mut file = tempfile::tempfile().unwrap();
    let start = Instant::now();
    let mut times = Vec::new();
    for _ in 0..count {
        let each = Instant::now();
        file.write_all(&[7; 256]).unwrap();
        match data_only {
            true => file.sync_data().unwrap(),
            false => file.sync_all().unwrap(),
        }
        times.push(each.elapsed());
    }
    let name = ["append 256 B, fsync", "append 256 B, fdatasync"][usize::from(data_only)];
    line(name, times, start.elapsed());
}

async fn replay() {
    let folder = tempfile::tempdir().unwrap();
    let store = TursoProcessStore::open_with(
        folder.path().join("svit.db"),
        OpenOptions::new().synchronous(Synchronous::Normal),
    )
    .await
    .unwrap();
    let mut caller = Caller::new(&store, "one").await;
    for _ in 0..10_000 {
        caller.commit(false).await;
    }
    let start = Instant::now();
    let all = RecordQuery {
        from: 0,
        to: u64::MAX,
        limit: usize::MAX,
    };
    let records = store.records(&caller.address, all).await.unwrap();
    let took = start.elapsed();
    println!(
        "{:<34} {:>9.0}/s",
        "records read and checked",
        records.len() as f64 / took.as_secs_f64()
    );
    let start = Instant::now();
    for _ in 0..1000 {
        store.load(&caller.address).await.unwrap();
    }
    println!(
        "{:<34} {:>9} us",
        "load",
        start.elapsed().as_micros() / 1000
    );
    let start = Instant::now();
    store.claim(&caller.address).await.unwrap();
    println!("{:<34} {:>9} us", "claim", start.elapsed().as_micros());
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    floor(1000, true);
    floor(1000, false);
    alone("commit, record only", OpenOptions::new(), false, 2000).await;
    alone(
        "commit, receipt and event too",
        OpenOptions::new(),
        true,
        2000,
    )
    .await;
    let normal = OpenOptions::new().synchronous(Synchronous::Normal);
    alone("commit, NORMAL", normal, false, 5000).await;
    together("1 caller", 1, 2000).await;
    together("8 callers", 8, 1000).await;
    together("64 callers", 64, 300).await;
    replay().await;
    floor(1000, true);
}
