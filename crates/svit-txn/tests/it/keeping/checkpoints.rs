//! Checkpoints: what is written, what is read back, and what happens when they are damaged.

use std::collections::HashSet;
use std::sync::Arc;

use futures_lite::future::block_on;
use svit_testkit::fault::{Fault, FaultyStore};
use svit_txn::{CheckpointPart, DurableProcess, MemoryStore, ProcessStore};
use svit_value::{Digest, value};

use super::{CHILD, ROOT, count, counted, n_at, whole, write_n};
use crate::steps::{Steps, builder, resume};
use crate::tampered::Tampered;

async fn resumed(store: &Arc<Tampered>, address: &str) -> DurableProcess {
    let store: Arc<dyn ProcessStore> = store.clone();
    resume(&store, address).await
}

#[test]
fn resuming_replays_what_was_committed_after_the_checkpoint() {
    block_on(async {
        let store = Arc::new(Tampered::default());
        let process = counted(store.clone(), 600).await;
        assert!(process.resumed_from().is_none());
        let base = resumed(&store, ROOT).await;
        let report = base.resumed_from().unwrap();
        assert_eq!(
            (report.version, report.is_checkpoint, report.records),
            (0, false, 600)
        );

        let made = base.checkpoint().await.unwrap();
        assert_eq!((made.version, made.root), (600, base.root_digest()));
        count(&base, 607).await;
        store.served();
        let again = resumed(&store, ROOT).await;
        assert_eq!(store.served(), 7);
        let report = again.resumed_from().unwrap();
        assert_eq!(
            (report.version, report.is_checkpoint, report.records),
            (600, true, 7)
        );
        assert_eq!(report.address.as_str(), ROOT);
        assert!(report.fallbacks.is_empty());
        assert_eq!(again.root_digest(), base.root_digest());
        assert_eq!(again.version(), 607);
        // And it goes on from there.
        count(&again, 610).await;
        let last = resumed(&store, ROOT).await;
        assert_eq!(last.root_digest(), again.root_digest());
        // At the head itself there is nothing to replay.
        last.checkpoint().await.unwrap();
        store.served();
        let at_head = resumed(&store, ROOT).await;
        assert_eq!(
            (store.served(), at_head.root_digest()),
            (0, last.root_digest())
        );
    });
}

#[test]
fn the_past_is_read_from_the_checkpoint_below() {
    block_on(async {
        let store = Arc::new(Tampered::default());
        let process = counted(store.clone(), 0).await;
        for at in [100, 200, 300] {
            count(&process, at).await;
            process.checkpoint().await.unwrap();
        }
        count(&process, 310).await;
        store.served();
        for (version, read) in [(300, 1), (250, 50), (203, 3), (200, 1), (199, 99), (42, 42)] {
            assert_eq!(n_at(&process, version).await.unwrap(), version as i64);
            assert_eq!(store.served(), read, "version {version}");
        }
        assert_eq!(process.diff(199, 201).await.unwrap().len(), 1);
        let child = process.fork_at(205, CHILD).await.unwrap();
        assert_eq!(child.read("/memory/n").unwrap(), Some(205.into()));
        store.served();
        // The fork has no checkpoint of its own: its parent's is used.
        let again = resumed(&store, CHILD).await;
        assert_eq!(store.served(), 6);
        assert_eq!(again.resumed_from().unwrap().address.as_str(), ROOT);
        assert_eq!(again.root_digest(), child.root_digest());
    });
}

#[test]
fn a_fork_with_a_checkpoint_needs_no_parent() {
    block_on(async {
        let store = Arc::new(Tampered::default());
        let process = counted(store.clone(), 20).await;
        let child = process.fork(CHILD).await.unwrap();
        count(&child, 30).await;
        child.checkpoint().await.unwrap();
        count(&child, 33).await;
        // The parent is lost, all of it.
        store.records(|address, records| {
            if address.as_str() == ROOT {
                records.clear();
            }
        });
        let again = resumed(&store, CHILD).await;
        assert_eq!(again.root_digest(), child.root_digest());
        assert_eq!(n_at(&again, 31).await.unwrap(), 31);
        // Between the fork and the checkpoint the parent is needed.
        assert_eq!(n_at(&again, 25).await.unwrap_err(), "damaged_history");
        assert_eq!(n_at(&again, 10).await.unwrap_err(), "cut");
        store.honest();
        assert_eq!(n_at(&again, 25).await.unwrap(), 25);
        assert_eq!(n_at(&again, 10).await.unwrap(), 10);
    });
}

/// What must hold of the parts of one checkpoint.
fn check_parts(parts: &[CheckpointPart], known: &HashSet<Digest>) {
    assert!(!parts.is_empty());
    let mut linked = HashSet::from([parts[0].checkpoint.root]);
    for (index, part) in parts.iter().enumerate() {
        assert_eq!(part.checkpoint, parts[0].checkpoint);
        assert_eq!(part.since, parts[0].since);
        assert_eq!(part.index, index as u64);
        assert_eq!(part.last, index + 1 == parts.len());
        let bytes: usize = part.blocks.iter().map(|block| block.data.len()).sum();
        assert!(bytes <= 256 << 10 || part.blocks.len() == 1, "{bytes}");
        for block in &part.blocks {
            assert_eq!(Digest::of(&block.data), block.digest);
            assert!(linked.contains(&block.digest), "nothing before links to it");
            linked.extend(svit_value::links(&block.data).unwrap());
        }
    }
    // What is linked to and not written is there.
    let written: HashSet<Digest> = parts
        .iter()
        .flat_map(|part| part.blocks.iter().map(|block| block.digest))
        .collect();
    assert!(
        linked
            .iter()
            .all(|link| written.contains(link) || known.contains(link))
    );
}

fn all_blocks(process: &DurableProcess) -> HashSet<Digest> {
    let root = process.read("/").unwrap().unwrap();
    root.blocks().map(|(digest, _)| digest).collect()
}

#[test]
fn a_checkpoint_is_written_in_small_parts_and_only_what_is_new() {
    block_on(async {
        let store = Arc::new(Tampered::default());
        let process = counted(store.clone(), 1).await;
        let base = all_blocks(&process);
        let text = |n: usize, len: usize| value!(format!("{n} {}", "x".repeat(len)));
        let mut known = base;
        process
            .transact(|tx| {
                for n in 0..40 {
                    tx.write(format!("/memory/text {n}").as_str(), text(n, 40_000))?;
                }
                tx.write("/memory/longest", text(0, 600_000))
            })
            .await
            .unwrap();
        process.checkpoint().await.unwrap();
        let parts = store.parts();
        assert!(parts.len() > 6, "{}", parts.len());
        check_parts(&parts, &known);
        known.extend(all_blocks(&process));

        // Small edits in many places: few blocks, and of each edit only the way to it.
        for n in 0..60 {
            let path = format!("/memory/large/key {}", n * 5);
            process.write(path.as_str(), -1).await.unwrap();
        }
        process.remove("/memory/text 7").await.unwrap();
        process
            .write("/memory/list", value!([1, [2, {"a": "b"}]]))
            .await
            .unwrap();
        process.checkpoint().await.unwrap();
        let parts = store.parts();
        check_parts(&parts, &known);
        assert_eq!(parts.len(), 1);
        let bytes: usize = parts[0].blocks.iter().map(|block| block.data.len()).sum();
        assert!(bytes < 40_000, "{bytes}");
        // The same once more costs nothing, nor does one of which nothing has changed but back.
        process.checkpoint().await.unwrap();
        assert!(store.parts().is_empty());
        known.extend(all_blocks(&process));
        process.write("/memory/n", -9).await.unwrap();
        process.write("/memory/n", 1).await.unwrap();
        process.checkpoint().await.unwrap();
        let parts = store.parts();
        check_parts(&parts, &known);
        assert_eq!(
            (parts.len(), parts[0].blocks.len(), parts[0].last),
            (1, 0, true)
        );

        for checkpoint in store
            .inner
            .checkpoints(process.address(), 999, 9)
            .await
            .unwrap()
        {
            let root = whole(&store.inner, checkpoint.root).await.unwrap();
            let then = process.read_at(checkpoint.version, "/").await.unwrap();
            assert_eq!(Some(root), then);
        }
    });
}

/// Three checkpoints, each with blocks of its own, and records behind them.
async fn three() -> (Arc<Tampered>, DurableProcess) {
    let store = Arc::new(Tampered::default());
    let process = counted(store.clone(), 0).await;
    for at in [10, 20, 30] {
        let text = format!("{at} {}", "y".repeat(600));
        process
            .write(format!("/memory/at {at}").as_str(), text)
            .await
            .unwrap();
        count(&process, at).await;
        process.checkpoint().await.unwrap();
    }
    count(&process, 35).await;
    (store, process)
}

#[test]
fn a_damaged_checkpoint_is_passed_over_and_said() {
    block_on(async {
        let (store, process) = three().await;
        let known = store
            .inner
            .checkpoints(process.address(), 99, 9)
            .await
            .unwrap();
        let blocks_of = async |version| {
            let root = process.read_at(version, "/").await.unwrap().unwrap();
            root.blocks()
                .map(|(digest, _)| digest)
                .collect::<HashSet<_>>()
        };
        let (newest, older) = (blocks_of(30).await, blocks_of(20).await);
        let base = blocks_of(0).await;
        let mut seen = HashSet::new();
        for digest in &newest {
            let len = store.inner.blocks(vec![*digest]).await.unwrap()[0]
                .as_ref()
                .unwrap()
                .len();
            // Missing, longer, and bytes all over it; fewer of the many that the base has too.
            let step = if base.contains(digest) { len / 2 } else { 7 };
            let flipped = (0..=len).step_by(step.max(1)).chain([len - 1, len]);
            for index in flipped.map(Some).chain([None]) {
                let damaged = *digest;
                store.blocks(move |wanted, block| {
                    if wanted == damaged {
                        match index {
                            None => *block = None,
                            Some(index) if index == len => block.as_mut().unwrap().push(0),
                            Some(index) => block.as_mut().unwrap()[index] ^= 4,
                        }
                    }
                });
                let whole: Arc<dyn ProcessStore> = store.clone();
                let again = DurableProcess::resume_with(whole, ROOT, [Steps::guest()]).await;
                if base.contains(digest) {
                    // All of them need it, and so does the base.
                    let error = again.unwrap_err();
                    assert!(error.code().starts_with("block_"), "{error}");
                    continue;
                }
                let again = again.unwrap();
                assert_eq!(again.root_digest(), process.root_digest());
                let report = again.resumed_from().unwrap();
                let passed: Vec<u64> = report.fallbacks.iter().map(|it| it.version).collect();
                let from = if older.contains(digest) {
                    report.version
                } else {
                    20
                };
                assert_eq!(report.version, from);
                assert_eq!(passed, [30, 20, 10][..passed.len()]);
                assert_eq!(report.is_checkpoint, report.version > 0);
                assert_eq!(report.version + report.records, 35);
                for fallback in &report.fallbacks {
                    assert_eq!(fallback.address.as_str(), ROOT);
                    assert!(fallback.error.code().starts_with("block_"));
                }
                seen.insert(report.version);
            }
        }
        assert!(seen.contains(&20) && seen.contains(&10), "{seen:?}");
        store.honest();
        assert_eq!(known.len(), 3);
    });
}

// THREAT[TM-TXN-6]
#[test]
fn a_checkpoint_row_that_does_not_fit_is_passed_over() {
    block_on(async {
        let (store, process) = three().await;
        type Change = Box<dyn Fn(&mut Vec<svit_txn::Checkpoint>) + Send + Sync>;
        let changes: Vec<(Change, u64)> = vec![
            // Another record: the next one does not follow it.
            (Box::new(|all| all[0].record = Digest::of(b"another")), 20),
            // Another root, of which no block is there.
            (Box::new(|all| all[0].root = Digest::of(b"another")), 20),
            // The root of another version, whole: the records behind it lead elsewhere.
            (Box::new(|all| all[0].root = all[1].root), 20),
            (Box::new(|all| all[0].record = all[1].record), 20),
            (Box::new(|all| all[0].version = 31), 20),
            (Box::new(|all| all[0].version = 29), 20),
            // Listed where none can be: the list is not trusted any further.
            (Box::new(|all| all[0].version = 77), 0),
            (Box::new(|all| all.swap(0, 2)), 10),
            // Hidden ones are not missed.
            (Box::new(|all| *all = all.split_off(1)), 20),
            (Box::new(Vec::clear), 0),
            (
                Box::new(|all| all.iter_mut().for_each(|it| it.root = Digest::of(b"none"))),
                0,
            ),
        ];
        for (index, (change, from)) in changes.into_iter().enumerate() {
            store.checkpoints(move |_, all| {
                if all.len() > 2 {
                    change(all);
                }
            });
            let again = resumed(&store, ROOT).await;
            assert_eq!(again.root_digest(), process.root_digest(), "{index}");
            let report = again.resumed_from().unwrap();
            assert_eq!(report.version, from, "{index}");
            assert_eq!(n_at(&again, 33).await.unwrap(), 33, "{index}");
        }
    });
}

#[test]
fn a_checkpoint_at_the_head_is_compared_with_it() {
    block_on(async {
        let store = Arc::new(Tampered::default());
        let process = counted(store.clone(), 5).await;
        process.checkpoint().await.unwrap();
        count(&process, 9).await;
        process.checkpoint().await.unwrap();
        store.checkpoints(|_, all| {
            for at in all.iter_mut().filter(|it| it.version == 9) {
                at.record = Digest::of(b"another");
            }
        });
        let again = resumed(&store, ROOT).await;
        assert_eq!(again.resumed_from().unwrap().version, 5);
        assert_eq!(again.root_digest(), process.root_digest());
        // Read as an old version it is compared with its own record.
        count(&again, 12).await;
        assert_eq!(n_at(&again, 9).await.unwrap(), 9);
    });
}

#[test]
fn a_damaged_record_behind_a_checkpoint_is_an_error_and_before_it_is_none() {
    block_on(async {
        let (store, process) = three().await;
        let flip = |version: u64| {
            move |_: &svit_tree::Address, records: &mut Vec<svit_txn::StoredRecord>| {
                for record in records.iter_mut().filter(|it| it.version == version) {
                    record.body[40] ^= 1;
                }
            }
        };
        store.records(flip(25));
        let again = resumed(&store, ROOT).await;
        assert_eq!(again.root_digest(), process.root_digest());
        assert_eq!(n_at(&again, 24).await.unwrap(), 24);
        assert_eq!(n_at(&again, 26).await.unwrap_err(), "damaged_history");
        assert_eq!(n_at(&again, 32).await.unwrap(), 32);
        store.records(flip(34));
        store.served();
        let whole: Arc<dyn ProcessStore> = store.clone();
        let refused = DurableProcess::resume_with(whole, ROOT, [Steps::guest()]).await;
        assert_eq!(refused.unwrap_err().code(), "damaged_history");
        // The records that do fit show that the checkpoint is not to blame: no older one is tried.
        assert_eq!(store.served(), 2 * 5);
    });
}

#[test]
fn a_checkpoint_is_made_whole_in_spite_of_any_single_fault() {
    // 1 MB in several parts.
    let build = || {
        let built = builder(ROOT).memory("n", 0).build().unwrap();
        let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
        let process = block_on(DurableProcess::create(store.clone(), built)).unwrap();
        block_on(process.transact(|tx| {
            for n in 0..25 {
                let text = format!("{n} {}", "x".repeat(40_000));
                tx.write(format!("/memory/text {n}").as_str(), text)?;
            }
            Ok(())
        }))
        .unwrap();
        (store, process)
    };
    let (store, process) = build();
    let before = store.calls();
    block_on(process.checkpoint()).unwrap();
    let calls = store.calls() - before;
    assert!(calls >= 4, "{calls}");
    for call in 1..=calls {
        for fault in [
            Fault::Fail,
            Fault::ForgetLost,
            Fault::ForgetLanded,
            Fault::CutLost,
            Fault::CutLanded,
        ] {
            let (store, process) = build();
            store.at_call(store.calls() + call, fault);
            let made = block_on(process.checkpoint());
            store.restore();
            let is_told = matches!(fault, Fault::ForgetLost | Fault::ForgetLanded);
            assert_eq!(made.is_ok(), is_told, "{fault:?} at {call}");
            block_on(async {
                write_n(&process, 7).await.unwrap();
                let made = process.checkpoint().await.unwrap();
                assert_eq!(made.version, 2);
                write_n(&process, 8).await.unwrap();
                let store: Arc<dyn ProcessStore> = store;
                let again = resume(&store, ROOT).await;
                assert_eq!(again.resumed_from().unwrap().records, 1);
                assert_eq!(again.root_digest(), process.root_digest());
            });
        }
    }
}

#[test]
fn what_a_checkpoint_builds_on_may_go() {
    block_on(async {
        let store = Arc::new(Tampered::default());
        let process = counted(store.clone(), 4).await;
        process.checkpoint().await.unwrap();
        let child = process.fork(CHILD).await.unwrap();
        // The child's next checkpoint would build on the parent's.
        process.delete().await.unwrap();
        store.inner.collect_garbage().await.unwrap();
        // Somebody else takes the name, and is at the same version with another root.
        let other = counted(store.clone(), 3).await;
        other.write("/memory/n", 77).await.unwrap();
        other.checkpoint().await.unwrap();
        count(&child, 9).await;
        store.parts();
        let made = child.checkpoint().await.unwrap();
        assert!(store.parts().iter().all(|part| part.since.is_none()));
        assert!(whole(&store.inner, made.root).await.is_some());
        other.delete().await.unwrap();
        store.inner.collect_garbage().await.unwrap();
        let again = resumed(&store, CHILD).await;
        assert_eq!(again.root_digest(), child.root_digest());
    });
}

#[test]
fn nothing_is_cut_to_a_damaged_checkpoint_and_the_next_one_is_whole() {
    block_on(async {
        let (store, process) = three().await;
        let known = store
            .inner
            .checkpoints(process.address(), 30, 2)
            .await
            .unwrap();
        let blocks = async |root| {
            let whole = whole(&store.inner, root).await.unwrap();
            whole
                .blocks()
                .map(|(digest, _)| digest)
                .collect::<HashSet<_>>()
        };
        let (newest, older) = (blocks(known[0].root).await, blocks(known[1].root).await);
        // One that the newest state still has.
        let live = all_blocks(&process);
        let mut lost = newest.difference(&older).filter(|it| live.contains(it));
        let lost = lost.next();
        let lost = *lost.unwrap();
        store.blocks(move |digest, block| {
            if digest == lost {
                *block = None;
            }
        });
        let again = resumed(&store, ROOT).await;
        assert_eq!(again.resumed_from().unwrap().version, 20);
        assert_eq!(again.cut(30).await.unwrap_err().code(), "damaged_history");
        assert_eq!(again.oldest_version().await.unwrap(), 0);
        // The next checkpoint brings what was lost.
        store.parts();
        again.checkpoint().await.unwrap();
        let parts = store.parts();
        let mut brought = parts.iter().flat_map(|part| &part.blocks);
        assert!(brought.any(|block| block.digest == lost));
        again.cut(31).await.unwrap();
        store.honest();
        store.inner.collect_garbage().await.unwrap();
        let last = resumed(&store, ROOT).await;
        assert_eq!(last.root_digest(), process.root_digest());
        assert_eq!(n_at(&last, 31).await.unwrap(), 31);
    });
}

#[test]
fn a_damaged_checkpoint_of_the_head_is_not_built_on() {
    block_on(async {
        let (store, process) = three().await;
        process.checkpoint().await.unwrap();
        store.checkpoints(|_, all| {
            for at in all.iter_mut().filter(|it| it.version == 35) {
                at.root = Digest::of(b"another");
            }
        });
        let again = resumed(&store, ROOT).await;
        assert_eq!(again.resumed_from().unwrap().version, 30);
        let refused = again.checkpoint().await.unwrap_err();
        assert_eq!(refused.code(), "damaged_history");
        count(&again, 36).await;
        store.parts();
        assert_eq!(again.checkpoint().await.unwrap().version, 36);
        let since = store.parts().remove(0).since.unwrap();
        assert_eq!(since.version, 30);
        let last = resumed(&store, ROOT).await;
        assert_eq!(last.resumed_from().unwrap().version, 36);
        assert_eq!(last.root_digest(), again.root_digest());
    });
}

#[test]
fn after_a_cut_that_landed_unsaid_the_next_checkpoint_builds_on_its_own() {
    block_on(async {
        let inner = Arc::new(Tampered::default());
        let store = Arc::new(FaultyStore::new(inner.clone()));
        let process = counted(store.clone(), 12).await;
        // A part of the checkpoint, then the cut.
        store.at_write(store.writes() + 2, Fault::ForgetLanded);
        process.cut(12).await.unwrap();
        assert_eq!(process.oldest_version().await.unwrap(), 12);
        count(&process, 15).await;
        inner.parts();
        process.checkpoint().await.unwrap();
        let since: Vec<_> = inner.parts().into_iter().map(|part| part.since).collect();
        let versions: Vec<_> = since.iter().flatten().map(|since| since.version).collect();
        assert_eq!((versions, since.len()), (vec![12], 1));
    });
}
