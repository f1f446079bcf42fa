//! Deletions: a process is gone for all its handles, and its forks live on.

use std::sync::Arc;

use futures_lite::future::block_on;
use svit_testkit::fault::{Fault, FaultyStore};
use svit_txn::{
    DurableProcess, HistoryQuery, MemoryStore, ObserveError, Operation, ProcessStore, Submission,
};

use super::{CHILD, ROOT, count, counted, event_numbers, n_at, not_found, note, write_n};
use crate::steps::{Steps, resume};

fn shared(store: &MemoryStore) -> Arc<dyn ProcessStore> {
    Arc::new(store.clone())
}

async fn gone(process: &DurableProcess) {
    not_found(process.read("/memory/n"));
    not_found(process.read_versioned("/memory/n"));
    not_found(process.discover("/memory"));
    not_found(process.discover_page("/memory", None, 9));
    not_found(process.stat("/memory/n"));
    not_found(process.intents(None, 9));
    not_found(write_n(process, 1).await);
    not_found(process.remove("/memory/n").await);
    not_found(process.write_if("/memory/n", 1, None).await);
    not_found(process.transact(|_| Ok(())).await);
    not_found(process.exec("/lib/counter", 1).await);
    not_found(process.submit(Submission::plain(Operation::Note)).await);
    not_found(
        process
            .submit(Submission::plain(Operation::Enqueue { message: 1.into() }))
            .await,
    );
    not_found(process.forget_dead(1).await);
    not_found(process.fork("svit://local/late").await);
    not_found(process.fork_at(1, "svit://local/late").await);
    not_found(process.read_at(1, "/memory/n").await);
    not_found(process.read_at(process.version(), "/memory/n").await);
    not_found(process.diff(0, 1).await);
    not_found(process.history(HistoryQuery::default()).await);
    not_found(process.recent_events(9).await);
    not_found(
        process
            .receipt(&crate::receipts::request("a", "a").key)
            .await,
    );
    not_found(process.checkpoint().await);
    not_found(process.cut(1).await);
    not_found(process.trim_events(1).await);
    not_found(process.oldest_version().await);
    not_found(process.delete().await);
}

#[test]
fn a_deleted_process_is_gone_for_every_handle() {
    block_on(async {
        let store = MemoryStore::new();
        let process = counted(shared(&store), 5).await;
        let other = process.clone();
        let mut observer = process.observe(4);
        let root = process.root_digest();
        process.delete().await.unwrap();
        for handle in [&process, &other] {
            gone(handle).await;
            assert_eq!((handle.version(), handle.root_digest()), (5, root));
        }
        assert_eq!(observer.recv().await, Err(ObserveError::Closed));
        assert!(store.list(None, 9).await.unwrap().is_empty());
        assert_eq!(store.resume(ROOT).await.unwrap_err().code(), "not_found");
        assert!(store.collect_garbage().await.unwrap().blocks > 0);
        // The name is free, and the old handles stay gone.
        let new = counted(shared(&store), 2).await;
        gone(&process).await;
        assert_eq!(n_at(&new, 2).await.unwrap(), 2);
    });
}

#[test]
fn forks_live_on_with_the_events_that_they_share() {
    block_on(async {
        let store = MemoryStore::new();
        let process = counted(shared(&store), 5).await;
        note(&process, &["a", "turn.finished", "b"]).await;
        let child = process.fork(CHILD).await.unwrap();
        note(&child, &["c", "turn.failed"]).await;
        let grandchild = child.fork("svit://local/grandchild").await.unwrap();
        let fresh = process.fork_at(2, "svit://local/fresh").await.unwrap();
        let forks = [&child, &grandchild, &fresh];
        let events = [
            event_numbers(&child).await,
            event_numbers(&grandchild).await,
            event_numbers(&fresh).await,
        ];
        assert_eq!(events[1], [0, 1, 2, 3]);

        process.delete().await.unwrap();
        store.collect_garbage().await.unwrap();
        // The same handles, and resumed ones.
        for (fork, events) in forks.iter().zip(&events) {
            assert_eq!(event_numbers(fork).await, *events);
            let again = resume(&shared(&store), fork.address().as_str()).await;
            assert_eq!(again.root_digest(), fork.root_digest());
            assert_eq!(event_numbers(&again).await, *events);
            let base = again.base().version;
            assert_eq!(n_at(&again, base).await.unwrap(), base.min(5) as i64);
            assert_eq!(n_at(&again, 1).await.unwrap_err(), "cut");
        }
        let child = resume(&shared(&store), CHILD).await;
        child.delete().await.unwrap();
        store.collect_garbage().await.unwrap();
        let again = resume(&shared(&store), "svit://local/grandchild").await;
        assert_eq!(event_numbers(&again).await, events[1]);
        assert_eq!(again.root_digest(), grandchild.root_digest());
        count(&again, 12).await;
        assert_eq!(n_at(&again, 12).await.unwrap(), 12);
    });
}

// THREAT[TM-TXN-7]
#[test]
fn another_process_under_the_name_of_a_parent_is_not_taken_for_it() {
    block_on(async {
        let store = MemoryStore::new();
        let process = counted(shared(&store), 5).await;
        note(&process, &["turn.finished"]).await;
        let child = process.fork(CHILD).await.unwrap();
        process.delete().await.unwrap();
        let impostor = counted(shared(&store), 3).await;
        note(&impostor, &["turn.finished", "x"]).await;
        for n in [90, 91, 92, 93] {
            impostor.write("/memory/n", n).await.unwrap();
        }
        for child in [child.clone(), resume(&shared(&store), CHILD).await] {
            assert_eq!(n_at(&child, 3).await.unwrap_err(), "cut");
            assert_eq!(n_at(&child, 5).await.unwrap(), 5);
            assert_eq!(child.oldest_version().await.unwrap(), 5);
            assert_eq!(event_numbers(&child).await, [0]);
            let all = child.history(HistoryQuery::default()).await.unwrap();
            assert!(
                all.iter()
                    .all(|it| it.transaction.address.as_str() == CHILD)
            );
        }
        // Nor does its deletion or its cut touch the child.
        impostor.cut(7).await.unwrap();
        impostor.delete().await.unwrap();
        store.collect_garbage().await.unwrap();
        let again = resume(&shared(&store), CHILD).await;
        assert_eq!(again.root_digest(), child.root_digest());
        assert_eq!(event_numbers(&again).await, [0]);
    });
}

#[test]
fn a_running_activation_does_not_commit_what_is_deleted() {
    let store = MemoryStore::new();
    let (guest, waiting) = Steps::gated();
    let process = block_on(async {
        let built = crate::steps::builder(ROOT)
            .guest(crate::steps::LANGUAGE, guest)
            .library("waits", crate::steps::script("wait;write /memory/n 1"))
            .build()
            .unwrap();
        DurableProcess::create(shared(&store), built).await.unwrap()
    });
    let running = std::thread::spawn({
        let process = process.clone();
        move || block_on(process.exec("/lib/waits", 1))
    });
    waiting.reached();
    block_on(process.delete()).unwrap();
    waiting.go_on.send(()).unwrap();
    not_found(running.join().unwrap());
    assert!(block_on(store.list(None, 9)).unwrap().is_empty());
}

#[test]
fn a_deletion_by_another_owner_is_noticed() {
    block_on(async {
        let store = MemoryStore::new();
        let stale = counted(shared(&store), 3).await;
        let owner = resume(&shared(&store), ROOT).await;
        owner.delete().await.unwrap();
        not_found(write_n(&stale, 4).await);
        gone(&stale).await;
    });
}

#[test]
fn a_deletion_is_done_or_not_whatever_the_store_does() {
    let build = || {
        let memory = MemoryStore::new();
        let store = Arc::new(FaultyStore::new(Arc::new(memory.clone())));
        let process = block_on(counted(store.clone(), 6));
        let child = block_on(process.fork_at(2, CHILD)).unwrap();
        (memory, store, process, child)
    };
    let (_, store, process, _) = build();
    let before = store.calls();
    block_on(process.delete()).unwrap();
    let calls = store.calls() - before;
    for call in 1..=calls {
        for fault in Fault::ALL {
            let (memory, store, process, child) = build();
            store.at_call(store.calls() + call, fault);
            let hung = async {
                while store.hanging() == 0 {
                    futures_lite::future::yield_now().await;
                }
                None
            };
            let deletes = async { Some(process.delete().await) };
            let done = block_on(futures_lite::future::or(deletes, hung));
            store.restore();
            block_on(async {
                // The next operation knows.
                let next = write_n(&process, 7).await;
                let is_there = memory.load(process.address()).await.is_ok();
                assert_eq!(next.is_ok(), is_there, "{fault:?} at {call}");
                if matches!(done, Some(Ok(()))) {
                    assert!(!is_there, "{fault:?} at {call}");
                }
                if is_there {
                    assert_eq!(n_at(&process, 3).await.unwrap(), 3);
                    process.delete().await.unwrap();
                }
                gone(&process).await;
                memory.collect_garbage().await.unwrap();
                let again = resume(&shared(&memory), CHILD).await;
                assert_eq!(again.root_digest(), child.root_digest());
            });
        }
    }
}

#[test]
fn old_events_are_trimmed_and_numbers_go_on() {
    block_on(async {
        let store = MemoryStore::new();
        let process = counted(shared(&store), 1).await;
        note(&process, &["a", "turn.finished", "b", "c"]).await;
        let child = process.fork(CHILD).await.unwrap();
        note(&child, &["d"]).await;
        process.trim_events(1).await.unwrap();
        assert_eq!(event_numbers(&process).await, [1, 2, 3]);
        assert_eq!(event_numbers(&child).await, [1, 2]);
        process.trim_events(99).await.unwrap();
        assert!(event_numbers(&process).await.is_empty());
        assert_eq!(event_numbers(&child).await, [2]);
        note(&process, &["e"]).await;
        assert_eq!(event_numbers(&process).await, [4]);
        // Who forgets events of its own forgets all that were before them.
        let heir = process.fork("svit://local/heir").await.unwrap();
        assert!(event_numbers(&heir).await.is_empty());
        note(&process, &["turn.finished"]).await;
        let heir = process.fork("svit://local/second").await.unwrap();
        note(&heir, &["own", "own"]).await;
        assert_eq!(event_numbers(&heir).await, [4, 5, 6, 7]);
        heir.trim_events(5).await.unwrap();
        assert_eq!(event_numbers(&heir).await, [4, 5, 6, 7]);
        heir.trim_events(7).await.unwrap();
        assert_eq!(event_numbers(&heir).await, [7]);
        let down = heir.recent_events(9).await.unwrap();
        assert_eq!(down.len(), 1);
        // Where the last turn ended is still known, by this handle and by the next.
        let late = process.fork("svit://local/late").await.unwrap();
        assert_eq!(late.events_end(), 6);
        let again = resume(&shared(&store), ROOT).await;
        assert_eq!(
            (again.events_end(), event_numbers(&again).await),
            (6, vec![4, 5])
        );
        note(&again, &["f"]).await;
        assert_eq!(event_numbers(&again).await, [4, 5, 6]);
    });
}
