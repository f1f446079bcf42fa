//! Checkpoints in the background: when they are made, and that nothing waits for them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_lite::future::block_on;
use svit_testkit::fault::{Fault, FaultyStore};
use svit_txn::{CheckpointPolicy, DurableProcess, MemoryStore, ProcessStore};

use super::{ROOT, count, counted};
use crate::steps::resume;

fn every(records: u64) -> CheckpointPolicy {
    CheckpointPolicy {
        records,
        ..CheckpointPolicy::NEVER
    }
}

/// The newest checkpoint, once there is one at `least` or later.
fn newest(store: &MemoryStore, least: u64) -> u64 {
    let end = Instant::now() + Duration::from_secs(20);
    let address = ROOT.parse().unwrap();
    loop {
        let known = block_on(store.checkpoints(&address, u64::MAX, 1)).unwrap();
        match known.first() {
            Some(newest) if newest.version >= least => return newest.version,
            _ if Instant::now() > end => panic!("no checkpoint at {least} or later: {known:?}"),
            _ => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

fn none(store: &MemoryStore) {
    std::thread::sleep(Duration::from_millis(50));
    let known = block_on(store.checkpoints(&ROOT.parse().unwrap(), u64::MAX, 1)).unwrap();
    assert!(known.is_empty(), "{known:?}");
}

#[test]
fn they_are_made_by_count_and_replay_stays_short() {
    let store = MemoryStore::new();
    let shared: Arc<dyn ProcessStore> = Arc::new(store.clone());
    let process = block_on(counted(shared.clone(), 0));
    process.set_checkpoint_policy(every(50));
    block_on(count(&process, 49));
    none(&store);
    for at in [50, 100, 150] {
        block_on(count(&process, at));
        newest(&store, at);
    }
    block_on(count(&process, 160));
    let again = block_on(resume(&shared, ROOT));
    assert_eq!(again.resumed_from().unwrap().records, 10);
    assert_eq!(again.root_digest(), process.root_digest());
    // What was replayed counts: 10, and 40 more.
    again.set_checkpoint_policy(every(50));
    block_on(count(&again, 199));
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(newest(&store, 0), 150);
    block_on(count(&again, 200));
    assert_eq!(newest(&store, 151), 200);
}

#[test]
fn they_are_made_by_bytes() {
    let store = MemoryStore::new();
    let process = block_on(counted(Arc::new(store.clone()), 0));
    process.set_checkpoint_policy(CheckpointPolicy {
        bytes: 50_000,
        ..CheckpointPolicy::NEVER
    });
    block_on(count(&process, 5));
    none(&store);
    for n in 0..5 {
        let text = format!("{n} {}", "x".repeat(10_000));
        block_on(process.write("/memory/text", text)).unwrap();
    }
    newest(&store, 9);
}

#[test]
fn none_is_made_without_a_policy() {
    let store = MemoryStore::new();
    let process = block_on(counted(Arc::new(store.clone()), 0));
    process.set_checkpoint_policy(CheckpointPolicy::NEVER);
    block_on(count(&process, 1_200));
    none(&store);
    // The default would have.
    process.set_checkpoint_policy(CheckpointPolicy::default());
    block_on(count(&process, 1_201));
    newest(&store, 1_201);
}

#[test]
fn one_that_hangs_holds_up_nobody() {
    let store = MemoryStore::new();
    let faulty = Arc::new(FaultyStore::new(Arc::new(store.clone())));
    let process = block_on(counted(faulty.clone(), 0));
    process.set_checkpoint_policy(every(10));
    block_on(count(&process, 9));
    // After the tenth append.
    faulty.at_write(faulty.writes() + 2, Fault::HangLost);
    block_on(count(&process, 10));
    let end = Instant::now() + Duration::from_secs(20);
    while faulty.hanging() == 0 {
        assert!(Instant::now() < end, "it was not begun");
        std::thread::sleep(Duration::from_millis(1));
    }
    block_on(count(&process, 60));
    // There is one at a time.
    assert_eq!(faulty.hanging(), 1);
    none(&store);
    let shared: Arc<dyn ProcessStore> = faulty;
    drop(process);
    assert_eq!(block_on(resume(&shared, ROOT)).version(), 60);
}

#[test]
fn one_that_fails_fails_no_commit_and_is_tried_again() {
    let store = MemoryStore::new();
    let faulty = Arc::new(FaultyStore::new(Arc::new(store.clone())));
    let process = block_on(counted(faulty.clone(), 0));
    process.set_checkpoint_policy(every(10));
    block_on(count(&process, 9));
    faulty.at_write(faulty.writes() + 2, Fault::Fail);
    block_on(count(&process, 10));
    none(&store);
    block_on(count(&process, 100));
    assert!(newest(&store, 11) <= 100);
    assert_eq!(process.version(), 100);
}

#[test]
fn dropping_the_process_ends_it() {
    // With a large state, so that it takes many parts.
    let store = Arc::new(MemoryStore::new());
    let weak = {
        let process = block_on(counted(store.clone(), 0));
        block_on(process.transact(|tx| {
            for n in 0..200 {
                let text = format!("{n} {}", "x".repeat(60_000));
                tx.write(format!("/memory/text {n}").as_str(), text)?;
            }
            Ok(())
        }))
        .unwrap();
        process.set_checkpoint_policy(every(1));
        block_on(count(&process, 2));
        Arc::downgrade(&store)
    };
    drop(store);
    // Nothing keeps the store open for long.
    let end = Instant::now() + Duration::from_secs(20);
    while weak.strong_count() > 0 {
        assert!(Instant::now() < end, "the store is still open");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn commits_go_on_while_one_is_made() {
    let store = MemoryStore::new();
    let process = block_on(counted(Arc::new(store.clone()), 0));
    process.set_checkpoint_policy(every(3));
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let process: DurableProcess = process.clone();
            std::thread::spawn(move || {
                for n in 0..100 {
                    let path = format!("/memory/w{writer}");
                    block_on(process.write(path.as_str(), n)).unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.join().unwrap();
    }
    block_on(process.checkpoint()).unwrap();
    let shared: Arc<dyn ProcessStore> = Arc::new(store.clone());
    let again = block_on(resume(&shared, ROOT));
    assert_eq!(again.root_digest(), process.root_digest());
    assert_eq!(again.resumed_from().unwrap().records, 0);
    assert!(again.resumed_from().unwrap().fallbacks.is_empty());
    let known = block_on(store.checkpoints(process.address(), u64::MAX, 999)).unwrap();
    for checkpoint in known {
        let then = block_on(process.read_at(checkpoint.version, "/"))
            .unwrap()
            .unwrap();
        assert_eq!(then.digest(), checkpoint.root);
    }
}
