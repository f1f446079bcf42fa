//! Two at once: a cut or a deletion against forks, reads, resumes, commits and collections, in the
//! orders of their calls of the store that a schedule of bits says.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_lite::future::block_on;
use svit_testkit::fault::FaultyStore;
use svit_txn::{DurableProcess, Error, MemoryStore, ProcessStore};

use super::{CHILD, ROOT, counted, event_numbers, n_at, note, write_n};
use crate::steps::{Steps, resume};

/// Polls two futures by turns: the first where the schedule has a one, the second where it has a
/// zero, the first again and again when the schedule is at its end.
fn interleaved<A, B>(
    schedule: u32,
    bits: u32,
    first: impl Future<Output = A>,
    second: impl Future<Output = B>,
) -> (A, B) {
    let (mut first, mut second) = (pin!(first), pin!(second));
    let mut context = Context::from_waker(Waker::noop());
    let (mut a, mut b) = (None, None);
    for turn in 0_u32.. {
        // Either goes on while the other waits for it, or has ended.
        let is_first =
            (turn < bits && schedule >> turn & 1 == 1) || (turn >= bits && turn % 2 == 0);
        if a.is_none() && (is_first || b.is_some()) {
            if let Poll::Ready(done) = first.as_mut().poll(&mut context) {
                a = Some(done);
            }
        } else if b.is_none()
            && let Poll::Ready(done) = second.as_mut().poll(&mut context)
        {
            b = Some(done);
        }
        if a.is_some() && b.is_some() {
            break;
        }
        assert!(turn < 10_000, "they wait for each other");
    }
    (a.unwrap(), b.unwrap())
}

/// A process of six versions, with a checkpoint at 3, and two handles of it.
struct Two {
    memory: MemoryStore,
    store: Arc<FaultyStore>,
    process: DurableProcess,
}

impl Two {
    fn new() -> Self {
        let memory = MemoryStore::new();
        let store = Arc::new(FaultyStore::new(Arc::new(memory.clone())));
        let process = block_on(async {
            let process = counted(store.clone(), 3).await;
            note(&process, &["a", "turn.finished"]).await;
            process.checkpoint().await.unwrap();
            super::count(&process, 6).await;
            process
        });
        store.give_way();
        Self {
            memory,
            store,
            process,
        }
    }

    fn shared(&self) -> Arc<dyn ProcessStore> {
        Arc::new(self.memory.clone())
    }

    /// The child is there and whole, from where it began.
    fn child(&self, base: u64) {
        block_on(async {
            self.memory.collect_garbage().await.unwrap();
            let child = resume(&self.shared(), CHILD).await;
            assert_eq!(child.base().version, base);
            assert_eq!(n_at(&child, base).await.unwrap(), base as i64);
            assert_eq!(n_at(&child, base + 1).await.unwrap(), base as i64);
            write_n(&child, 99).await.unwrap();
            assert!(child.resumed_from().unwrap().fallbacks.is_empty());
        });
    }
}

/// Every schedule of so many bits, or a sample of them.
fn schedules(bits: u32) -> impl Iterator<Item = (u32, u32)> {
    // A prime, so that every bit takes part.
    (0..1_u32 << bits)
        .step_by(61)
        .map(move |schedule| (schedule, bits))
}

#[test]
fn a_cut_and_a_fork_of_what_it_cuts() {
    let (mut forked, mut refused) = (0, 0);
    for (schedule, bits) in schedules(14) {
        let two = Two::new();
        let (cut, fork) = interleaved(
            schedule,
            bits,
            two.process.cut(5),
            two.process.fork_at(4, CHILD),
        );
        cut.unwrap();
        match fork {
            Ok(child) => {
                assert_eq!(child.read("/memory/n").unwrap(), Some(4.into()));
                forked += 1;
                two.child(4);
            }
            Err(error) => {
                assert!(
                    matches!(
                        error,
                        Error::Cut {
                            version: 4,
                            oldest: 5
                        }
                    ),
                    "{error}"
                );
                assert_eq!(block_on(two.memory.list(None, 9)).unwrap().len(), 1);
                refused += 1;
            }
        }
        assert_eq!(block_on(n_at(&two.process, 5)).unwrap(), 5);
        assert_eq!(block_on(n_at(&two.process, 4)).unwrap_err(), "cut");
    }
    assert!(forked > 0 && refused > 0, "{forked} {refused}");
}

#[test]
fn a_deletion_and_a_fork() {
    let (mut forked, mut refused) = (0, 0);
    for (schedule, bits) in schedules(13) {
        let two = Two::new();
        let (deleted, fork) = interleaved(
            schedule,
            bits,
            two.process.delete(),
            two.process.fork(CHILD),
        );
        deleted.unwrap();
        let is_there = block_on(two.memory.load(&CHILD.parse().unwrap())).is_ok();
        assert_eq!(fork.is_ok(), is_there);
        match fork {
            Ok(child) => {
                forked += 1;
                assert_eq!(block_on(event_numbers(&child)), [0, 1]);
                two.child(6);
            }
            Err(error) => {
                refused += 1;
                assert_eq!(error.code(), "not_found");
            }
        }
        assert!(block_on(two.memory.load(&ROOT.parse().unwrap())).is_err());
    }
    assert!(forked > 0 && refused > 0, "{forked} {refused}");
}

#[test]
fn a_deletion_and_a_fork_of_another_owner_of_the_past() {
    for (schedule, bits) in schedules(14) {
        let two = Two::new();
        // The owner deletes while a stale handle forks what it once had.
        let owner = block_on(DurableProcess::resume_with(
            two.store.clone() as Arc<dyn ProcessStore>,
            ROOT,
            [Steps::guest()],
        ));
        let owner = owner.unwrap();
        let (deleted, fork) = interleaved(
            schedule,
            bits,
            owner.delete(),
            two.process.fork_at(2, CHILD),
        );
        deleted.unwrap();
        match fork {
            Ok(_) => two.child(2),
            Err(error) => assert!(matches!(error.code(), "not_found" | "cut"), "{error}"),
        }
    }
}

#[test]
fn a_cut_and_a_read_of_the_past() {
    for (schedule, bits) in schedules(13) {
        let two = Two::new();
        let reads = async {
            let (a, b) = (n_at(&two.process, 4).await, n_at(&two.process, 5).await);
            let oldest = two.process.oldest_version().await.unwrap();
            (a, b, oldest)
        };
        let cut_and_collect = async {
            two.process.cut(5).await.unwrap();
            two.memory.collect_garbage().await.unwrap();
        };
        let (_, (cut, kept, oldest)) = interleaved(schedule, bits, cut_and_collect, reads);
        assert!(cut == Ok(4) || cut == Err("cut".to_owned()), "{cut:?}");
        assert_eq!(kept, Ok(5));
        assert!(oldest == 0 || oldest == 5);
    }
}

#[test]
fn a_deletion_and_a_resume_of_a_fork() {
    for (schedule, bits) in schedules(13) {
        let two = Two::new();
        let child = block_on(two.process.fork(CHILD)).unwrap();
        let root = child.root_digest();
        let resumes = DurableProcess::resume_with(
            two.store.clone() as Arc<dyn ProcessStore>,
            CHILD,
            [Steps::guest()],
        );
        let deletes = async {
            two.process.delete().await.unwrap();
            two.memory.collect_garbage().await.unwrap();
        };
        let (_, resumed) = interleaved(schedule, bits, deletes, resumes);
        assert_eq!(resumed.unwrap().root_digest(), root);
        two.child(6);
    }
}

#[test]
fn a_deletion_and_a_reader_of_shared_events() {
    for (schedule, bits) in schedules(13) {
        let two = Two::new();
        let child = block_on(two.process.fork(CHILD)).unwrap();
        let grandchild = block_on(child.fork("svit://local/grandchild")).unwrap();
        let reads = async {
            let mut down = grandchild.recent_events(9).await.unwrap();
            down.dedup();
            (event_numbers(&grandchild).await, down.len())
        };
        let deletes = async {
            child.delete().await.unwrap();
            two.process.delete().await.unwrap();
        };
        let (_, events) = interleaved(schedule, bits, deletes, reads);
        assert_eq!(events, (vec![0, 1], 2));
    }
}

#[test]
fn a_cut_a_commit_and_a_checkpoint() {
    for (schedule, bits) in schedules(13) {
        let two = Two::new();
        let works = async {
            write_n(&two.process, 7).await.unwrap();
            two.process.checkpoint().await.unwrap();
            write_n(&two.process, 8).await.unwrap();
        };
        let cuts = async {
            two.process.cut(4).await.unwrap();
            two.memory.collect_garbage().await.unwrap();
            two.process.cut(6).await.unwrap();
        };
        interleaved(schedule, bits, cuts, works);
        block_on(async {
            two.memory.collect_garbage().await.unwrap();
            let again = resume(&two.shared(), ROOT).await;
            assert_eq!(again.root_digest(), two.process.root_digest());
            for version in 6..=8 {
                assert_eq!(n_at(&again, version).await.unwrap(), version as i64);
            }
            assert!(again.resumed_from().unwrap().fallbacks.is_empty());
        });
    }
}

#[test]
fn two_owners_that_cut() {
    for (schedule, bits) in schedules(13) {
        let two = Two::new();
        let owner = block_on(DurableProcess::resume_with(
            two.store.clone() as Arc<dyn ProcessStore>,
            ROOT,
            [Steps::guest()],
        ));
        let owner = owner.unwrap();
        let (stale, done) = interleaved(schedule, bits, two.process.cut(5), owner.cut(4));
        done.unwrap();
        assert_eq!(stale.unwrap_err().code(), "fenced");
        assert_eq!(block_on(owner.oldest_version()).unwrap(), 4);
        assert_eq!(block_on(n_at(&owner, 4)).unwrap(), 4);
    }
}
