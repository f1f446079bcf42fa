//! Writes below mounts: made once their transition is durable, in order, and never before.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use futures_lite::future::{self, block_on};
use svit_testkit::fault::{Fault, FaultyStore};
use svit_tree::mount::MountError;
use svit_txn::{Error, Extras, Operation, Outcome, Submission};

use super::*;
use crate::receipts::request;

const THREE: &str =
    "add /memory/count 1;write /mounts/box/a 2;remove /mounts/box/list;write /mounts/box/b 3";

fn outcomes(activation: &svit_txn::Activation) -> Vec<(String, &'static str)> {
    let name = |outcome: &MountOutcome| match outcome {
        MountOutcome::Pending => "pending",
        MountOutcome::Made => "made",
        MountOutcome::Failed(_) => "failed",
        MountOutcome::Skipped => "skipped",
    };
    let writes = activation.mounts.iter();
    writes
        .map(|write| (write.path.to_string(), name(&write.outcome)))
        .collect()
}

#[test]
fn writes_are_made_in_order_up_to_the_first_that_fails_and_each_is_reported() {
    for (trouble, expected, made) in [
        (None, ["made", "made", "made"], 3),
        (
            Some((0, Trouble::Fails)),
            ["failed", "skipped", "skipped"],
            0,
        ),
        (Some((1, Trouble::Fails)), ["made", "failed", "skipped"], 1),
        (Some((1, Trouble::Panics)), ["made", "failed", "skipped"], 1),
        (Some((2, Trouble::Fails)), ["made", "made", "failed"], 2),
    ] {
        let shelf = Shelf::usual();
        block_on(async {
            let process = process(&shelf, Limits::default()).await;
            if let Some((at, trouble)) = trouble {
                shelf.trouble(at, trouble);
            }
            let before = process.version();
            let activation = exec(&process, THREE).await.unwrap();
            let paths = ["/mounts/box/a", "/mounts/box/list", "/mounts/box/b"];
            let expected: Vec<_> = paths
                .iter()
                .map(|p| (*p).to_owned())
                .zip(expected)
                .collect();
            assert_eq!(outcomes(&activation), expected, "{trouble:?}");
            // The version is there, whatever became of the rest.
            assert_eq!(
                (activation.version, process.version()),
                (before + 2, before + 2)
            );
            assert_eq!(process.read("/memory/count").unwrap(), Some(7.into()));
            assert_eq!(activation.changed.len(), 1);
            let held = shelf.held();
            assert_eq!(held.get("a") == Some(&2.into()), made >= 1, "{trouble:?}");
            assert_eq!(held.get("list").is_none(), made >= 2, "{trouble:?}");
            assert_eq!(held.get("b").is_some(), made >= 3, "{trouble:?}");
        });
    }
}

#[test]
fn a_failed_nested_script_takes_its_mount_writes_back_and_no_others() {
    let shelf = Shelf::usual();
    block_on(async {
        let process = process(&shelf, Limits::default()).await;
        let inner = script("write /mounts/box/inner 1;remove /mounts/box/a;runtime");
        process.write("/lib/inner", inner).await.unwrap();
        let good = script("write /mounts/box/good 1");
        process.write("/lib/good", good).await.unwrap();
        let source = "write /mounts/box/before 1;try inner;exec good;give /mounts/box/a;write /mounts/box/after 1";
        let activation = exec(&process, source).await.unwrap();
        assert_eq!(activation.output, 1.into());
        let paths: Vec<String> = outcomes(&activation).into_iter().map(|(p, _)| p).collect();
        assert_eq!(
            paths,
            [
                "/mounts/box/before",
                "/mounts/box/good",
                "/mounts/box/after"
            ]
        );
        let held = shelf.held();
        assert_eq!((held.get("inner"), held.get("a")), (None, Some(&1.into())));
    });
}

#[test]
fn hosts_write_below_mounts_as_scripts_do() {
    let shelf = Shelf::usual();
    block_on(async {
        let process = process(&shelf, Limits::default()).await;
        let change = process.write("/mounts/box/a", 5).await.unwrap();
        assert_eq!((change.version, change.paths.len()), (2, 0));
        assert_eq!(process.read("/mounts/box/a").unwrap(), Some(5.into()));
        let digest = Some(value!(5).digest());
        process.write_if("/mounts/box/a", 6, digest).await.unwrap();
        let refused = process
            .write_if("/mounts/box/a", 7, digest)
            .await
            .unwrap_err();
        assert_eq!(refused.code(), "changed");
        process.remove("/mounts/box/list").await.unwrap();
        let refused = process.remove("/mounts/box/list").await.unwrap_err();
        assert_eq!(refused.code(), "missing");
        let change = process
            .transact(|tx| {
                tx.write("/memory/count", 1)?;
                tx.write("/mounts/box/n", 1)?;
                assert_eq!(tx.read("/mounts/box/n")?, Some(1.into()));
                tx.remove("/mounts/box/a")
            })
            .await
            .unwrap();
        assert_eq!(change.paths.len(), 1);
        assert_eq!(shelf.held(), value!({"deep": {"x": "text"}, "n": 1}));

        // Nothing of a transaction that fails.
        let refused = process.transact(|tx| {
            tx.write("/mounts/box/n", 2)?;
            tx.remove("/memory/none")
        });
        assert_eq!(refused.await.unwrap_err().code(), "missing");
        assert_eq!(shelf.held().get("n"), Some(&1.into()));

        // What fails after the commit says so, and which version it is that was committed.
        shelf.trouble(1, Trouble::Fails);
        let failed = process.transact(|tx| {
            tx.write("/memory/count", 2)?;
            tx.write("/mounts/box/n", 3)?;
            tx.write("/mounts/box/m", 3)?;
            tx.write("/mounts/box/o", 3)
        });
        let failed = failed.await.unwrap_err();
        assert_eq!(failed.code(), "mount_write_failed");
        assert!(failed.to_string().contains("/mounts/box/m"), "{failed}");
        let Error::MountWrites { version, writes } = failed else {
            panic!("another error");
        };
        assert_eq!((version, writes.len()), (process.version(), 3));
        assert!(matches!(
            &writes[1].outcome,
            MountOutcome::Failed(MountError::Unavailable { .. })
        ));
        assert_eq!(process.read("/memory/count").unwrap(), Some(2.into()));
        assert_eq!(shelf.held(), value!({"deep": {"x": "text"}, "n": 3}));
    });
}

// THREAT[TM-MOUNT-2]
#[test]
fn whatever_the_store_does_a_mount_is_written_once_for_a_version_that_exists_and_never_else() {
    for fault in Fault::ALL {
        for resumes in [false, true] {
            block_on(one_fault(fault, resumes));
        }
    }
}

async fn one_fault(fault: Fault, resumes: bool) {
    let row = format!("{fault:?}, resumes: {resumes}");
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    let built = builder("svit://local/mounts")
        .library("row", script(THREE))
        .build();
    let durable = DurableProcess::create(store.clone(), built.unwrap())
        .await
        .unwrap();
    let shelf = Shelf::usual();
    durable.attach_mount("box", shelf.clone()).await.unwrap();
    let untouched = shelf.held();
    let written = value!({"a": 2, "b": 3, "deep": {"x": "text"}});

    store.at_write(store.writes() + 1, fault);
    let exec = async { Some(durable.exec("/lib/row", value!(null)).await) };
    let hung = async {
        while store.hanging() == 0 {
            future::yield_now().await;
        }
        None
    };
    let result = future::or(exec, hung).await;
    let before = durable.version();
    match &result {
        Some(Ok(activation)) => {
            assert!(
                outcomes(activation)
                    .iter()
                    .all(|(_, outcome)| *outcome == "made"),
                "{row}"
            );
            assert_eq!(shelf.held(), written, "{row}");
        }
        _ => assert_eq!(
            shelf.held(),
            untouched,
            "{row}: nothing is known to be committed"
        ),
    }
    store.restore();
    if resumes {
        // Whoever committed is gone with what it would have written.
        let shown = shelf.held();
        drop(durable);
        let guests = [Steps::guest()];
        let again = DurableProcess::resume_with(store, "svit://local/mounts", guests)
            .await
            .unwrap();
        again.attach_mount("box", shelf.clone()).await.unwrap();
        again.write("/memory/x", 1).await.unwrap();
        assert_eq!(shelf.held(), shown, "{row}");
        return;
    }
    // The same handle settles what is in flight, and then makes its writes before the next script.
    let note = Submission::plain(Operation::Note);
    durable.submit(note).await.unwrap();
    let committed = durable.read("/memory/count").unwrap() == Some(7.into());
    let looked = super::exec(&durable, "give /mounts/box/b").await.unwrap();
    assert_eq!(
        looked.output,
        if committed { 3.into() } else { value!(null) },
        "{row}"
    );
    assert_eq!(
        shelf.held(),
        if committed { written } else { untouched },
        "{row}"
    );
    let writes = shelf
        .asked()
        .iter()
        .filter(|asked| asked.starts_with("write"))
        .count();
    assert_eq!(writes, if committed { 2 } else { 0 }, "{row}: once each");
    assert!(durable.version() >= before);
}

#[test]
fn nobody_waits_for_a_mount_but_the_next_turn() {
    let (shelf, reached, go_on) = Shelf::gated(value!({"a": 1}));
    let process = block_on(process(&shelf, Limits::default()));
    block_on(process.write("/lib/row", script("write /mounts/box/a 2"))).unwrap();
    block_on(process.write("/lib/looks", script("give /mounts/box/a"))).unwrap();
    let running = process.clone();
    let run = thread::spawn(move || block_on(running.exec("/lib/row", value!(null))));
    reached.recv_timeout(Duration::from_secs(20)).unwrap();
    // It is committed, and its caller and the next script wait.
    let version = process.version();
    let running = process.clone();
    let next = thread::spawn(move || block_on(running.exec("/lib/looks", value!(null))));
    for n in 0..100 {
        let message = Operation::Enqueue { message: n.into() };
        let sent = block_on(process.submit(Submission::plain(message))).unwrap();
        assert!(matches!(sent, Outcome::Enqueued { .. }));
    }
    assert_eq!(process.read("/mounts/box/a").unwrap(), Some(1.into()));
    assert!(!run.is_finished() && !next.is_finished());
    go_on.send(()).unwrap();
    let activation = run.join().unwrap().unwrap();
    assert_eq!(activation.version, version);
    assert_eq!(next.join().unwrap().unwrap().output, 2.into());
    assert_eq!(process.version(), version + 101);
}

#[test]
fn a_caller_that_goes_away_after_the_commit_takes_nothing_back() {
    let (shelf, reached, go_on) = Shelf::gated(value!({"a": 1}));
    let process = block_on(process(&shelf, Limits::default()));
    let twice = script("add /memory/count 1;write /mounts/box/a 2;write /mounts/box/b 3");
    block_on(process.write("/lib/row", twice)).unwrap();
    let exec = async { drop(process.exec("/lib/row", value!(null)).await) };
    let seen = async {
        while reached.try_recv().is_err() {
            future::yield_now().await;
        }
    };
    block_on(future::or(exec, seen));
    assert_eq!(process.read("/memory/count").unwrap(), Some(7.into()));
    let writing = process.clone();
    let write = thread::spawn(move || block_on(writing.write("/memory/later", 1)));
    thread::sleep(Duration::from_millis(20));
    assert!(
        !write.is_finished(),
        "the turn is not over before the mount is written"
    );
    go_on.send(()).unwrap();
    reached.recv_timeout(Duration::from_secs(20)).unwrap();
    go_on.send(()).unwrap();
    write.join().unwrap().unwrap();
    assert_eq!(shelf.held(), value!({"a": 2, "b": 3}));
}

#[test]
fn a_caller_that_goes_away_before_the_commit_leaves_the_mount_as_it_was() {
    let (guest, waiting) = Steps::gated();
    let built = svit_txn::Process::builder("svit://local/mounts")
        .unwrap()
        .guest(crate::steps::LANGUAGE, guest)
        .library("row", script("write /mounts/box/a 2;wait"))
        .build();
    let shelf = Shelf::usual();
    let process = block_on(MemoryStore::new().create(built.unwrap())).unwrap();
    block_on(process.attach_mount("box", shelf.clone())).unwrap();
    let exec = async { drop(process.exec("/lib/row", value!(null)).await) };
    let reached = async {
        while waiting.reached.try_recv().is_err() {
            future::yield_now().await;
        }
    };
    block_on(future::or(exec, reached));
    waiting.go_on.send(()).unwrap();
    let started = Instant::now();
    while Arc::strong_count(&shelf) > 2 {
        assert!(started.elapsed() < Duration::from_secs(20));
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(shelf.held(), Shelf::usual().held());
    assert_eq!(process.version(), 1);
}

#[test]
fn what_is_recorded_about_a_run_says_that_its_mount_writes_are_still_to_come() {
    let shelf = Shelf::usual();
    block_on(async {
        let process = process(&shelf, Limits::default()).await;
        process.write("/lib/row", script(THREE)).await.unwrap();
        let exec = Operation::Exec {
            path: "/lib/row".parse().unwrap(),
            input: value!(null),
        };
        let mut recorded = Vec::new();
        let key = request("row", "content");
        let submission = Submission::plain(exec.clone())
            .keyed(key.clone())
            .recording(|outcome| {
                if let Ok(Outcome::Activation(activation)) = outcome {
                    recorded = outcomes(activation);
                }
                Extras::default()
            });
        let done = process.submit(submission).await.unwrap();
        assert!(recorded.len() == 3 && recorded.iter().all(|(_, o)| *o == "pending"));
        assert!(matches!(done, Outcome::Activation(a) if outcomes(&a)[0].1 == "made"));
        // A replay writes nothing again.
        shelf.asked();
        let again = process
            .submit(Submission::plain(exec).keyed(key))
            .await
            .unwrap();
        assert!(matches!(again, Outcome::Replayed(_)));
        assert!(shelf.asked().is_empty());
    });
}

#[test]
fn a_hook_that_refuses_leaves_the_mount_as_it_was() {
    struct Closed;
    impl svit_txn::Hook for Closed {
        fn name(&self) -> &str {
            "closed"
        }
        fn before(&self, _: &svit_txn::Proposed<'_>) -> Result<(), svit_txn::Refusal> {
            Err(svit_txn::Refusal::new("closed", "not now"))
        }
    }
    let shelf = Shelf::usual();
    block_on(async {
        let built = builder("svit://local/mounts")
            .library("row", script(THREE))
            .hook(Arc::new(Closed))
            .build();
        let process = MemoryStore::new().create(built.unwrap()).await.unwrap();
        process.attach_mount("box", shelf.clone()).await.unwrap();
        let refused = process.exec("/lib/row", value!(null)).await.unwrap_err();
        assert_eq!(refused.code(), "closed");
        assert!(shelf.asked().is_empty());
    });
}
