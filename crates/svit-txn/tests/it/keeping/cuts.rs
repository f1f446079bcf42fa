//! Cuts: what is before is forgotten, what is after and what forks need is not.

use std::sync::Arc;

use futures_lite::future::block_on;
use svit_testkit::fault::{Fault, FaultyStore};
use svit_txn::{BaseKind, DurableProcess, Error, HistoryQuery, MemoryStore, ProcessStore};

use super::{CHILD, ROOT, count, counted, event_numbers, n_at, note, write_n};
use crate::steps::resume;

fn shared(store: &MemoryStore) -> Arc<dyn ProcessStore> {
    Arc::new(store.clone())
}

async fn versions(process: &DurableProcess) -> Vec<u64> {
    let all = HistoryQuery {
        limit: 999,
        ..HistoryQuery::default()
    };
    let entries = process.history(all).await.unwrap();
    entries
        .into_iter()
        .map(|entry| entry.transaction.version)
        .collect()
}

/// Every version from `oldest` reads as it was, those before are cut, and the history says so.
async fn kept(process: &DurableProcess, oldest: u64) {
    let newest = process.version();
    for version in 0..=newest {
        let n = n_at(process, version).await;
        if version < oldest {
            assert_eq!(n.unwrap_err(), "cut", "version {version}");
            let error = process.read_at(version, "/").await.unwrap_err();
            assert!(
                matches!(error, Error::Cut { oldest: it, .. } if it == oldest),
                "{error}"
            );
        } else {
            assert_eq!(n.unwrap(), version as i64, "version {version}");
        }
    }
    assert_eq!(process.oldest_version().await.unwrap(), oldest);
    assert_eq!(
        versions(process).await,
        (oldest + 1..=newest).collect::<Vec<_>>()
    );
    let missing = process.read_at(newest + 1, "/").await.unwrap_err();
    let is_it = matches!(missing, Error::NoVersion { oldest: o, newest: n, .. } if (o, n) == (oldest, newest));
    assert!(is_it, "{missing}");
}

#[test]
fn what_is_before_is_forgotten_and_the_rest_reads_as_it_was() {
    block_on(async {
        let store = MemoryStore::new();
        let process = counted(shared(&store), 12).await;
        note(&process, &["a", "b"]).await;
        kept(&process, 0).await;
        for at in [0, 1, 5, 5, 12] {
            process.cut(at).await.unwrap();
            kept(&process, at).await;
            assert_eq!(process.base().version, at);
            store.collect_garbage().await.unwrap();
            kept(&process, at).await;
        }
        let refused = process.cut(11).await.unwrap_err();
        assert!(
            matches!(
                refused,
                Error::Cut {
                    version: 11,
                    oldest: 12
                }
            ),
            "{refused}"
        );
        let refused = process.cut(13).await.unwrap_err();
        assert!(
            matches!(
                refused,
                Error::NoVersion {
                    version: 13,
                    oldest: 12,
                    newest: 12
                }
            ),
            "{refused}"
        );
        count(&process, 15).await;
        kept(&process, 12).await;
        let again = resume(&shared(&store), ROOT).await;
        kept(&again, 12).await;
        assert_eq!(again.root_digest(), process.root_digest());
        assert_eq!(event_numbers(&again).await, [0, 1]);
        // The chain goes on: the first record follows the one that was cut.
        let all = again.history(HistoryQuery::default()).await.unwrap();
        let BaseKind::Checkpoint { record, thread } = again.base().kind else {
            panic!("{:?}", again.base());
        };
        assert_eq!((all[0].transaction.previous, thread), (record, None));
        // A checkpoint and a fork work from there.
        count(&again, 20).await;
        again.checkpoint().await.unwrap();
        let child = again.fork_at(13, CHILD).await.unwrap();
        assert_eq!(child.read("/memory/n").unwrap(), Some(13.into()));
        assert_eq!(n_at(&child, 12).await.unwrap(), 12);
        assert_eq!(n_at(&child, 11).await.unwrap_err(), "cut");
        assert_eq!(child.oldest_version().await.unwrap(), 12);
        assert_eq!(
            again
                .fork_at(11, "svit://local/never")
                .await
                .unwrap_err()
                .code(),
            "cut"
        );
    });
}

#[test]
fn a_cut_uses_and_drops_checkpoints() {
    block_on(async {
        let store = MemoryStore::new();
        let process = counted(shared(&store), 0).await;
        for at in [10, 20, 30] {
            count(&process, at).await;
            process.checkpoint().await.unwrap();
        }
        process.cut(20).await.unwrap();
        let known = store.checkpoints(process.address(), 99, 9).await.unwrap();
        let known: Vec<u64> = known.iter().map(|it| it.version).collect();
        assert_eq!(known, [30, 20]);
        process.cut(25).await.unwrap();
        store.collect_garbage().await.unwrap();
        kept(&process, 25).await;
        // What the next checkpoint builds on is the newest, which is still there.
        count(&process, 33).await;
        process.checkpoint().await.unwrap();
        process.cut(33).await.unwrap();
        store.collect_garbage().await.unwrap();
        kept(&process, 33).await;
    });
}

#[test]
fn space_becomes_free() {
    block_on(async {
        let store = MemoryStore::new();
        let process = counted(shared(&store), 1).await;
        for n in 0..20 {
            let text = format!("{n} {}", "x".repeat(10_000));
            process.write("/memory/text", text).await.unwrap();
            process.checkpoint().await.unwrap();
        }
        assert_eq!(store.collect_garbage().await.unwrap().blocks, 0);
        process.cut(process.version()).await.unwrap();
        let freed = store.collect_garbage().await.unwrap();
        assert!(freed.bytes > 19 * 10_000, "{freed:?}");
        assert_eq!(store.collect_garbage().await.unwrap().blocks, 0);
        let again = resume(&shared(&store), ROOT).await;
        assert_eq!(again.root_digest(), process.root_digest());
    });
}

#[test]
fn forks_keep_what_they_began_with() {
    block_on(async {
        let store = MemoryStore::new();
        let process = counted(shared(&store), 4).await;
        note(&process, &["turn.finished"]).await;
        let child = process.fork(CHILD).await.unwrap();
        count(&child, 8).await;
        // Of the child at its newest and at its base, and of the parent at older versions.
        let grandchild = child.fork("svit://local/grandchild").await.unwrap();
        let of_base = child.fork_at(4, "svit://local/of-base").await.unwrap();
        let elder = child.fork_at(2, "svit://local/elder").await.unwrap();
        count(&process, 10).await;
        let twin = process.fork_at(4, "svit://local/twin").await.unwrap();
        let young = process.fork_at(9, "svit://local/young").await.unwrap();
        assert_eq!(
            of_base.read("/system/lineage/parent").unwrap(),
            Some(CHILD.into())
        );
        assert_eq!(
            elder.read("/system/lineage/parent").unwrap(),
            Some(ROOT.into())
        );
        let forks = [&child, &grandchild, &of_base, &elder, &twin, &young];
        let before: Vec<_> = forks
            .iter()
            .map(|it| (it.version(), it.root_digest()))
            .collect();

        process.cut(9).await.unwrap();
        store.collect_garbage().await.unwrap();
        kept(&process, 9).await;
        for (fork, before) in forks.iter().zip(&before) {
            let again = resume(&shared(&store), fork.address().as_str()).await;
            assert_eq!((again.version(), again.root_digest()), *before);
        }
        // Each reads from where it began; before that its parent's history has been cut.
        for (fork, oldest) in [
            (&child, 4),
            (&grandchild, 4),
            (&of_base, 4),
            (&elder, 2),
            (&twin, 4),
            (&young, 9),
        ] {
            let again = resume(&shared(&store), fork.address().as_str()).await;
            assert_eq!(
                again.oldest_version().await.unwrap(),
                oldest,
                "{}",
                fork.address()
            );
            let base = again.base().version;
            assert_eq!(n_at(&again, base).await.unwrap(), base as i64);
            assert_eq!(n_at(&again, oldest - 1).await.unwrap_err(), "cut");
        }
        let events = event_numbers(&resume(&shared(&store), CHILD).await).await;
        assert_eq!(events, [0]);

        // The child is cut too: the grandchild gets a checkpoint, and nobody else is touched.
        let child = resume(&shared(&store), CHILD).await;
        child.cut(8).await.unwrap();
        store.collect_garbage().await.unwrap();
        assert_eq!(event_numbers(&child).await, [0]);
        for (fork, before) in forks.iter().zip(&before) {
            let again = resume(&shared(&store), fork.address().as_str()).await;
            assert_eq!((again.version(), again.root_digest()), *before);
        }
    });
}

#[test]
fn many_forks_of_many_versions_are_freed() {
    block_on(async {
        let store = MemoryStore::new();
        let process = counted(shared(&store), 20).await;
        let mut forks = Vec::new();
        for n in 0..150 {
            let at = n % 19;
            let address = format!("svit://local/fork-{n}");
            forks.push((at, process.fork_at(at, address.as_str()).await.unwrap()));
        }
        process.cut(20).await.unwrap();
        store.collect_garbage().await.unwrap();
        for (at, fork) in &forks {
            let again = resume(&shared(&store), fork.address().as_str()).await;
            assert_eq!(again.root_digest(), fork.root_digest());
            assert_eq!(n_at(&again, *at).await.unwrap(), *at as i64);
        }
    });
}

#[test]
fn a_fork_that_is_cut_at_its_base_needs_no_parent() {
    block_on(async {
        let store = MemoryStore::new();
        let process = counted(shared(&store), 5).await;
        note(&process, &["turn.finished"]).await;
        let child = process.fork(CHILD).await.unwrap();
        note(&child, &["own"]).await;
        count(&child, 9).await;
        // Before its base there is nothing of its own.
        child.cut(3).await.unwrap();
        assert_eq!(child.oldest_version().await.unwrap(), 0);
        let grandchild = child.fork_at(5, "svit://local/grandchild").await.unwrap();
        child.cut(5).await.unwrap();
        assert!(
            store
                .forks(process.address(), u64::MAX, 9)
                .await
                .unwrap()
                .is_empty()
        );
        assert_eq!(child.oldest_version().await.unwrap(), 5);
        assert_eq!(n_at(&child, 5).await.unwrap(), 5);
        assert_eq!(n_at(&child, 4).await.unwrap_err(), "cut");
        assert_eq!(event_numbers(&child).await, [0, 1]);
        process.delete().await.unwrap();
        store.collect_garbage().await.unwrap();
        for fork in [&child, &grandchild] {
            let again = resume(&shared(&store), fork.address().as_str()).await;
            assert_eq!(again.root_digest(), fork.root_digest());
            assert_eq!(n_at(&again, 5).await.unwrap(), 5);
        }
        let again = resume(&shared(&store), CHILD).await;
        assert_eq!(event_numbers(&again).await, [0, 1]);
        count(&again, 11).await;
        again.cut(11).await.unwrap();
        assert_eq!(event_numbers(&again).await, [0, 1]);
    });
}

#[test]
fn a_process_that_was_put_in_later_has_no_earlier_version_to_cut() {
    block_on(async {
        let store = MemoryStore::new();
        let plain = crate::steps::builder(ROOT).build().unwrap();
        plain.write("/memory/n", 1).unwrap();
        plain.write("/memory/n", 2).unwrap();
        let process = DurableProcess::create(shared(&store), plain).await.unwrap();
        count(&process, 4).await;
        let refused = process.cut(1).await.unwrap_err();
        assert!(
            matches!(
                refused,
                Error::NoVersion {
                    version: 1,
                    oldest: 2,
                    newest: 4
                }
            ),
            "{refused}"
        );
        process.cut(2).await.unwrap();
        assert_eq!(process.base().kind, BaseKind::Created);
        process.cut(3).await.unwrap();
        assert_eq!(n_at(&process, 2).await.unwrap_err(), "cut");
    });
}

#[test]
fn an_owner_that_was_fenced_cuts_nothing() {
    block_on(async {
        let store = MemoryStore::new();
        let stale = counted(shared(&store), 6).await;
        let owner = resume(&shared(&store), ROOT).await;
        assert_eq!(stale.cut(3).await.unwrap_err().code(), "fenced");
        assert_eq!(stale.trim_events(0).await.unwrap_err().code(), "fenced");
        assert_eq!(stale.delete().await.unwrap_err().code(), "fenced");
        kept(&owner, 0).await;
        // What the stale one has written for its cut does no harm.
        count(&owner, 8).await;
        owner.cut(4).await.unwrap();
        kept(&owner, 4).await;
        write_n(&stale, 9).await.unwrap_err();
    });
}

#[test]
fn a_cut_is_done_or_not_whatever_the_store_does() {
    let build = || {
        let memory = MemoryStore::new();
        let store = Arc::new(FaultyStore::new(Arc::new(memory.clone())));
        let process = block_on(counted(store.clone(), 6));
        block_on(process.fork_at(2, CHILD)).unwrap();
        (memory, store, process)
    };
    let (_, store, process) = build();
    let before = store.calls();
    block_on(process.cut(4)).unwrap();
    let calls = store.calls() - before;
    for call in 1..=calls {
        for fault in [
            Fault::Fail,
            Fault::ForgetLost,
            Fault::ForgetLanded,
            Fault::CutLost,
            Fault::CutLanded,
        ] {
            let (memory, store, process) = build();
            store.at_call(store.calls() + call, fault);
            let done = block_on(process.cut(4));
            store.restore();
            block_on(async {
                let oldest = process.oldest_version().await.unwrap();
                if done.is_ok() {
                    assert_eq!(oldest, 4, "{fault:?} at {call}");
                }
                kept(&process, oldest).await;
                // The same cut again is harmless.
                process.cut(4).await.unwrap();
                kept(&process, 4).await;
                count(&process, 9).await;
                memory.collect_garbage().await.unwrap();
                let again = resume(&shared(&memory), ROOT).await;
                kept(&again, 4).await;
                let child = resume(&shared(&memory), CHILD).await;
                assert_eq!(n_at(&child, 2).await.unwrap(), 2);
            });
        }
    }
}
