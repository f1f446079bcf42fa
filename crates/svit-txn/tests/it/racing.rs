//! Several owners and several callers at once.

use std::thread;

use futures_lite::future::block_on;
use svit_txn::{DurableProcess, HistoryQuery, Operation, Outcome, Submission};
use svit_value::value;

use crate::steps::{builder, seen};

#[test]
fn of_two_owners_only_the_last_one_commits_at_every_interleaving() {
    // Each owner has three things to do; a bit string says who goes next.
    for schedule in 0_u32..64 {
        let (_, store) = crate::steps::store();
        block_on(async {
            let built = builder("svit://local/owned").build().unwrap();
            let old = DurableProcess::create(store.clone(), built).await.unwrap();
            let mut new: Option<DurableProcess> = None;
            let (mut by_old, mut by_new) = (0, 0);
            for step in 0..6 {
                if schedule & (1 << step) == 0 {
                    match old.write("/memory/old", step).await {
                        Ok(_) => {
                            assert!(new.is_none(), "{schedule:06b}: an earlier owner committed");
                            by_old += 1;
                        }
                        Err(error) => {
                            assert_eq!(error.code(), "fenced");
                            assert!(new.is_some(), "{schedule:06b}: the only owner was fenced");
                        }
                    }
                } else if let Some(new) = &new {
                    new.write("/memory/new", step).await.unwrap();
                    by_new += 1;
                } else {
                    new = Some(crate::steps::resume(&store, "svit://local/owned").await);
                }
            }
            let last = crate::steps::resume(&store, "svit://local/owned").await;
            assert_eq!(last.version(), by_old + by_new, "{schedule:06b}");
        });
    }
}

#[test]
fn every_caller_gets_its_own_version_and_none_is_lost() {
    let (_, store) = crate::steps::store();
    let built = builder("svit://local/busy").build().unwrap();
    let process = block_on(DurableProcess::create(store.clone(), built)).unwrap();
    const EACH: u64 = 20;
    thread::scope(|scope| {
        for caller in 0..4_u64 {
            let process = process.clone();
            scope.spawn(move || {
                block_on(async {
                    for n in 0..EACH {
                        match caller {
                            0 => drop(process.exec("/lib/counter", 1).await.unwrap()),
                            1 => drop(process.write("/memory/written", n as i64).await.unwrap()),
                            _ => {
                                let message = value!({"from": (caller as i64), "n": (n as i64)});
                                let submission = Submission::plain(Operation::Enqueue { message });
                                let Outcome::Enqueued { sequence } =
                                    process.submit(submission).await.unwrap()
                                else {
                                    panic!("not enqueued");
                                };
                                let path = format!("/inbox/{sequence:016}/n");
                                assert_eq!(process.read(path).unwrap(), Some((n as i64).into()));
                            }
                        }
                    }
                });
            });
        }
    });
    assert_eq!(process.version(), 4 * EACH);
    assert_eq!(
        process.read("/memory/count").unwrap(),
        Some((6 + EACH as i64).into())
    );
    assert_eq!(process.discover("/inbox").unwrap().len() as u64, 2 * EACH);
    block_on(async {
        let history = process.history(HistoryQuery::default()).await.unwrap();
        let versions: Vec<u64> = history
            .iter()
            .map(|entry| entry.transaction.version)
            .collect();
        assert_eq!(versions, (1..=4 * EACH).collect::<Vec<_>>());
        let was = seen(&process);
        assert_eq!(
            seen(&crate::steps::resume(&store, "svit://local/busy").await),
            was
        );
    });
}

#[test]
fn in_memory_too() {
    let process = builder("svit://local/busy").build().unwrap();
    thread::scope(|scope| {
        for caller in 0..4 {
            let process = &process;
            scope.spawn(move || {
                for n in 0..100 {
                    match caller {
                        0 => drop(process.exec("/lib/counter", 1).unwrap()),
                        1 => drop(process.write("/memory/written", n).unwrap()),
                        _ => drop(process.enqueue(1).unwrap()),
                    }
                }
            });
        }
    });
    assert_eq!(process.version(), 400);
    assert_eq!(process.read("/memory/count").unwrap(), Some(106.into()));
    assert_eq!(process.discover("/inbox").unwrap().len(), 200);
}
