//! What durability costs, against the disk's own sync and against bare libSQL.
//!
//! `cargo bench -p svit-store-turso` prints one line a row for people, `-- --rows` the rows of
//! `cargo xtask bench`. `TMPDIR` says on which disk; the rows on tmpfs use /dev/shm.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program to be read by people"
)]

mod bare;

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use svit_store_turso::TursoProcessStore;
use svit_txn::{
    Base, BaseKind, Batch, CheckpointPolicy, DurableProcess, Process, ProcessStore, StoredRecord,
};
use svit_value::{Digest, Map, Value, value};

use bare::{served_against_bare, waiting_against_bare};

const COUNTER: &str = r#"
(define (main input)
  (let ((count (+ (read "/memory/count") (value-get input "/by"))))
    (do (write "/memory/count" count)
        (value-map "count" count))))
"#;

/// One measurement, as `cargo xtask bench` wants it.
struct Row {
    name: &'static str,
    unit: &'static str,
    ours: f64,
    other: Option<f64>,
    ratio: f64,
    target: &'static str,
    ok: bool,
    note: String,
}

impl Row {
    fn print(&self, as_json: bool) {
        let Row {
            name,
            unit,
            ours,
            other,
            ratio,
            target,
            ok,
            note,
        } = self;
        let other = other.map_or("null".to_owned(), |other| format!("{other:.2}"));
        if as_json {
            println!(
                r#"{{"row": "svit-bench@1", "name": "{name}", "unit": "{unit}", "ours": {ours:.2}, "other": {other}, "ratio": {ratio:.3}, "target": "{target}", "ok": {ok}, "note": "{note}"}}"#
            );
        } else {
            println!(
                "{name:<16} ours {ours:>10.1} other {other:>10} {unit:<10} ratio {ratio:>8.2} target {target:<10} {ok} {note}"
            );
        }
        std::io::stdout().flush().unwrap();
    }
}

fn median(times: &mut [Duration]) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e6
}

fn counter(name: &str, entries: usize) -> Process {
    let other = (0..entries).map(|n| (format!("key-{n:06}"), Value::from(format!("value {n}"))));
    Process::builder(format!("svit://local/{name}"))
        .unwrap()
        .memory("count", 0)
        .memory("other", Map::from_entries(other).unwrap())
        .library("counter", COUNTER)
        .build()
        .unwrap()
}

async fn activate(process: &DurableProcess) -> Duration {
    let start = Instant::now();
    process
        .exec("/lib/counter", value!({"by": 3}))
        .await
        .unwrap();
    start.elapsed()
}

fn on_disk() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn in_memory() -> Option<tempfile::TempDir> {
    tempfile::tempdir_in("/dev/shm").ok()
}

async fn commit_served() -> Option<Row> {
    let folder = on_disk();
    let path = folder.path().to_owned();
    let task = tokio::spawn(async move { served_against_bare(&path, 3000).await });
    let (ours, other) = task.await.unwrap();
    Some(Row {
        name: "commit-served",
        unit: "us",
        ours,
        other: Some(other),
        ratio: ours / other,
        target: "none",
        ok: true,
        note: "the same from a task of a runtime, bare libSQL on its blocking threads".to_owned(),
    })
}

async fn commit_durable() -> Option<Row> {
    let (ours, other) = waiting_against_bare(on_disk().path(), 3000);
    let ratio = ours / other;
    Some(Row {
        name: "commit-durable",
        unit: "us",
        ours,
        other: Some(other),
        ratio,
        target: "<= 1.15",
        ok: ratio <= 1.15,
        note: "counter activation, script and encoding included".to_owned(),
    })
}

async fn commit_software() -> Option<Row> {
    let (ours, other) = waiting_against_bare(in_memory()?.path(), 5000);
    Some(Row {
        name: "commit-software",
        unit: "us",
        ours,
        other: Some(other),
        ratio: ours - other,
        target: "<= 100 us",
        ok: ours - other <= 100.0,
        note: "on tmpfs; the ratio is the difference".to_owned(),
    })
}

async fn commit_floor() -> Option<Row> {
    let folder = on_disk();
    let (ours, other) = std::thread::scope(|scope| {
        let thread = scope.spawn(|| svit_txn::block_on(against_disk(folder.path())));
        thread.join().unwrap()
    });
    Some(Row {
        name: "commit-floor",
        unit: "us",
        ours,
        other: Some(other),
        ratio: ours / other,
        target: "<= 1.3",
        ok: ours / other <= 1.3,
        note: "append of 256 bytes + fdatasync".to_owned(),
    })
}

/// Activations, and appends to a file, in turn: the medians in microseconds.
async fn against_disk(folder: &Path) -> (f64, f64) {
    let store = TursoProcessStore::open(folder.join("svit.db"))
        .await
        .unwrap();
    let process = store.create(counter("one", 0)).await.unwrap();
    let mut file = std::fs::File::create(folder.join("log")).unwrap();
    let (mut ours, mut other) = (Vec::new(), Vec::new());
    for _ in 0..100 {
        for _ in 0..20 {
            ours.push(activate(&process).await);
        }
        for _ in 0..20 {
            let start = Instant::now();
            file.write_all(&[7; 256]).unwrap();
            file.sync_data().unwrap();
            other.push(start.elapsed());
        }
    }
    (median(&mut ours), median(&mut other))
}

/// Activations of `callers` processes at once: a second's worth, and the latencies.
async fn at_once(callers: usize, each: usize) -> (f64, Vec<Duration>, f64) {
    let folder = on_disk();
    let store = TursoProcessStore::open(folder.path().join("svit.db"))
        .await
        .unwrap();
    let mut processes = Vec::new();
    for number in 0..callers {
        let process = counter(&format!("p{number}"), 0);
        processes.push(store.create(process).await.unwrap());
    }
    let start = Instant::now();
    let tasks: Vec<_> = processes
        .into_iter()
        .map(|process| {
            tokio::spawn(async move {
                let mut times = Vec::new();
                for count in 0..each {
                    let one = Instant::now();
                    // A write: the store is measured here, not 64 interpreters on few cores.
                    process.write("/memory/count", count as i64).await.unwrap();
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
    let rate = times.len() as f64 / start.elapsed().as_secs_f64();
    times.sort();
    let stats = store.stats().await.unwrap();
    (rate, times, stats.commits as f64 / stats.batches as f64)
}

async fn commit_group() -> Option<Row> {
    let (one, alone, _) = at_once(1, 2000).await;
    let (many, times, batch) = at_once(64, 200).await;
    let at = |times: &[Duration], share: usize| times[(times.len() - 1) * share / 100].as_micros();
    Some(Row {
        name: "commit-group",
        unit: "commits/s",
        ours: many,
        other: Some(one),
        ratio: many / one,
        target: ">= 10",
        ok: many / one >= 10.0,
        note: format!(
            "host writes; {batch:.0} a batch; one caller while 63 others commit: p50 {} us, p99 {} us; alone p50 {} us, p99 {} us",
            at(&times, 50),
            at(&times, 99),
            at(&alone, 50),
            at(&alone, 99)
        ),
    })
}

async fn commit_size() -> Option<Row> {
    let folder = on_disk();
    let path = folder.path().join("svit.db");
    let size = || std::fs::metadata(&path).unwrap().len() as f64;
    let store = TursoProcessStore::open(&path).await.unwrap();
    let process = store.create(counter("one", 10_000)).await.unwrap();
    drop(process);
    store.close().await.unwrap();
    let before = size();
    let store = TursoProcessStore::open(&path).await.unwrap();
    let process = store.resume("svit://local/one").await.unwrap();
    process.set_checkpoint_policy(CheckpointPolicy::NEVER);
    for _ in 0..1000 {
        activate(&process).await;
    }
    drop(process);
    store.close().await.unwrap();
    let ours = (size() - before) / 1000.0;
    Some(Row {
        name: "commit-size",
        unit: "bytes",
        ours,
        other: None,
        ratio: ours,
        target: "<= 2048",
        ok: ours <= 2048.0,
        note: "a counter activation beside 10,000 entries".to_owned(),
    })
}

async fn fork_durable() -> Option<Row> {
    let folder = in_memory()?;
    let store = TursoProcessStore::open(folder.path().join("svit.db"))
        .await
        .unwrap();
    let process = store.create(counter("one", 10_000)).await.unwrap();
    activate(&process).await;
    let mut times = Vec::new();
    for number in 0..500 {
        let start = Instant::now();
        process
            .fork(format!("svit://local/child/{number}"))
            .await
            .unwrap();
        times.push(start.elapsed());
    }
    let ours = median(&mut times);
    Some(Row {
        name: "fork-durable",
        unit: "us",
        ours,
        other: None,
        ratio: ours,
        target: "<= 100 us",
        ok: ours <= 100.0,
        note: "on tmpfs".to_owned(),
    })
}

async fn resume_replay() -> Option<Row> {
    let folder = in_memory()?;
    let path = folder.path().join("svit.db");
    let store = TursoProcessStore::open(&path).await.unwrap();
    let process = store.create(counter("one", 0)).await.unwrap();
    process.set_checkpoint_policy(CheckpointPolicy::NEVER);
    for count in 0..10_000 {
        process.write("/memory/count", count).await.unwrap();
    }
    drop(process);
    store.close().await.unwrap();
    let store = TursoProcessStore::open(&path).await.unwrap();
    let start = Instant::now();
    let process = store.resume("svit://local/one").await.unwrap();
    let ours = 10_000.0 / start.elapsed().as_secs_f64();
    assert_eq!(
        process.read("/memory/count").unwrap(),
        Some(Value::Int(9_999))
    );
    Some(Row {
        name: "resume-replay",
        unit: "records/s",
        ours,
        other: None,
        ratio: ours,
        target: ">= 50000",
        ok: ours >= 50_000.0,
        note: "10,000 transactions, no checkpoint".to_owned(),
    })
}

/// A database with a process of 10,000 entries and so many transactions, with a checkpoint after every
/// thousandth.
async fn history(path: &Path, transactions: i64) {
    let store = TursoProcessStore::open(path).await.unwrap();
    let process = store.create(counter("one", 10_000)).await.unwrap();
    process.set_checkpoint_policy(CheckpointPolicy::NEVER);
    for count in 1..=transactions {
        process.write("/memory/count", count).await.unwrap();
        if count % 1_000 == 0 {
            process.checkpoint().await.unwrap();
        }
    }
    drop(process);
    store.close().await.unwrap();
}

/// Opens a database again, and says how many milliseconds its process took to resume.
async fn resumed(path: &Path) -> f64 {
    let store = TursoProcessStore::open(path).await.unwrap();
    let start = Instant::now();
    let process = store.resume("svit://local/one").await.unwrap();
    let took = start.elapsed();
    assert_eq!(process.resumed_from().unwrap().records, 500);
    drop(process);
    store.close().await.unwrap();
    took.as_secs_f64() * 1_000.0
}

async fn resume() -> Option<Row> {
    let folder = in_memory()?;
    let (long, short) = (
        folder.path().join("long.db"),
        folder.path().join("short.db"),
    );
    history(&long, 10_500).await;
    history(&short, 1_500).await;
    let (mut ours, mut other) = (Vec::new(), Vec::new());
    for _ in 0..9 {
        ours.push(resumed(&long).await);
        other.push(resumed(&short).await);
    }
    ours.sort_by(f64::total_cmp);
    other.sort_by(f64::total_cmp);
    let (ours, other) = (ours[4], other[4]);
    Some(Row {
        name: "resume",
        unit: "ms",
        ours,
        other: Some(other),
        ratio: ours / other,
        target: "<= 100 ms, growth <= 1.2",
        ok: ours <= 100.0 && ours / other <= 1.2,
        note:
            "10,500 and 1,500 transactions beside 10,000 entries, the last 500 without a checkpoint"
                .to_owned(),
    })
}

/// Where a commit's time goes, on tmpfs: no row of the table, a remark.
async fn parts() {
    let Some(folder) = in_memory() else { return };
    let store = TursoProcessStore::open(folder.path().join("svit.db"))
        .await
        .unwrap();
    let process = store.create(counter("one", 0)).await.unwrap();
    let (mut reads, mut appends, mut writes, mut scripts) = (vec![], vec![], vec![], vec![]);
    let mut in_place = vec![];
    // A history of its own for the bare appends, whose records mean nothing.
    let base = Base {
        address: "svit://local/bare".parse().unwrap(),
        version: 0,
        root: Digest::of(b"root"),
        kind: BaseKind::Created,
    };
    let (address, mut head) = (base.address.clone(), base.digest());
    let epoch = store
        .insert_base(base, Vec::new(), Batch::default())
        .await
        .unwrap();
    for version in 1..3_000_u64 {
        let start = Instant::now();
        store.stats().await.unwrap();
        reads.push(start.elapsed());

        let mut body = vec![2; 300];
        body[..8].copy_from_slice(&version.to_le_bytes());
        let record = StoredRecord {
            version,
            previous: head,
            digest: Digest::of(&body),
            root: Digest::of(b"root"),
            paths: vec!["/memory/count".parse().unwrap()],
            body,
        };
        let expected = std::mem::replace(&mut head, record.digest);
        let batch = Batch {
            records: vec![record],
            ..Batch::default()
        };
        let start = Instant::now();
        if version % 2 == 0 {
            store
                .append(&address, expected, epoch, batch)
                .await
                .unwrap();
            appends.push(start.elapsed());
        } else {
            if let Some(appended) = store.append_in_place(&address, expected, epoch, &batch) {
                appended.unwrap();
                in_place.push(start.elapsed());
            } else {
                store
                    .append(&address, expected, epoch, batch)
                    .await
                    .unwrap();
            }
        }

        let start = Instant::now();
        process
            .write("/memory/count", version as i64)
            .await
            .unwrap();
        writes.push(start.elapsed());
        scripts.push(activate(&process).await);
    }
    eprintln!(
        "on tmpfs, us: a command that does nothing {:.1}, an append {:.1}, in place {:.1}, a host write {:.1}, a script {:.1}",
        median(&mut reads),
        median(&mut appends),
        median(&mut in_place),
        median(&mut writes),
        median(&mut scripts)
    );
}

/// 10,000 processes in one file: no row of the table, a remark.
async fn many() {
    let Some(folder) = in_memory() else { return };
    let path = folder.path().join("svit.db");
    let store = TursoProcessStore::open(&path).await.unwrap();
    let start = Instant::now();
    let mut made = Vec::new();
    for chunk in 0..100 {
        for number in 0..100 {
            let store = store.clone();
            made.push(tokio::spawn(async move {
                let process = counter(&format!("p{chunk}/{number}"), 0);
                drop(store.create(process).await.unwrap());
            }));
        }
        for task in made.drain(..) {
            task.await.unwrap();
        }
    }
    let create = start.elapsed();
    store.close().await.unwrap();
    let start = Instant::now();
    let store = TursoProcessStore::open(&path).await.unwrap();
    let open = start.elapsed();
    let start = Instant::now();
    let all = store.list().await.unwrap();
    let list = start.elapsed();
    let start = Instant::now();
    for address in all.iter().step_by(97) {
        let process = store.resume(address).await.unwrap();
        process.write("/memory/count", 1).await.unwrap();
    }
    let resumed = start.elapsed() / (all.len() as u32).div_ceil(97);
    eprintln!(
        "{} processes in one file of {} KiB: created in {create:?}, opened in {open:?}, listed in {list:?}, resumed and changed in {resumed:?} each",
        all.len(),
        std::fs::metadata(&path).unwrap().len() / 1024
    );
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let as_json = arguments.iter().any(|argument| argument == "--rows");
    let only = arguments
        .iter()
        .position(|argument| argument == "--only")
        .and_then(|at| arguments.get(at + 1));
    macro_rules! rows {
        ($($name:literal $row:ident,)*) => {
            $(if only.is_none_or(|only| only == $name)
                && let Some(row) = $row().await
            {
                row.print(as_json);
            })*
        };
    }
    rows! {
        "commit-durable" commit_durable,
        "commit-served" commit_served,
        "commit-floor" commit_floor,
        "commit-software" commit_software,
        "commit-group" commit_group,
        "commit-size" commit_size,
        "fork-durable" fork_durable,
        "resume" resume,
        "resume-replay" resume_replay,
    }
    if only.is_none() {
        many().await;
    }
    if only.is_none_or(|only| only == "parts") {
        parts().await;
    }
}
