//! Sends during a long script: none waits, none is lost, and the script commits on top of them.

use std::sync::Arc;
use std::thread;

use futures_lite::future::block_on;
use svit_txn::{DurableProcess, MemoryStore, Operation, Outcome, Process, Submission};
use svit_value::value;

use crate::steps::{Steps, Waiting, script};

fn gated(source: &str) -> (Process, Waiting) {
    let (guest, waiting) = Steps::gated();
    let process = Process::builder("svit://local/rebase")
        .unwrap()
        .guest(crate::steps::LANGUAGE, guest)
        .memory("count", 0)
        .library("long", script(source))
        .build()
        .unwrap();
    (process, waiting)
}

fn enqueue(text: &str) -> Submission<'static> {
    Submission::plain(Operation::Enqueue {
        message: text.into(),
    })
}

#[test]
fn a_send_lands_while_a_script_runs_and_the_script_is_rebased_onto_it() {
    let (process, waiting) = gated("add /memory/count 1;send {\"to\":1};stage new return 1;wait");
    block_on(async {
        let process = DurableProcess::create(Arc::new(MemoryStore::new()), process)
            .await
            .unwrap();
        let running = process.clone();
        let run = thread::spawn(move || block_on(running.exec("/lib/long", value!(null))));
        waiting.reached();

        // Each of these returns before the script has ended.
        let sent = process.submit(enqueue("one")).await.unwrap();
        assert_eq!(sent, Outcome::Enqueued { sequence: 1 });
        process.submit(enqueue("two")).await.unwrap();
        process
            .submit(Submission::plain(Operation::Acknowledge { sequence: 1 }))
            .await
            .unwrap();
        let bury = Operation::Bury {
            sequence: 2,
            reason: "given up".into(),
        };
        process.submit(Submission::plain(bury)).await.unwrap();
        process.submit(enqueue("three")).await.unwrap();
        assert_eq!(process.version(), 5);
        assert_eq!(process.read("/memory/count").unwrap(), Some(0.into()));

        waiting.go_on.send(()).unwrap();
        let activation = run.join().unwrap().unwrap();
        assert_eq!((activation.before, activation.version), (5, 6));
        assert_eq!(activation.messages[0].id, "svit://local/rebase#6.0");
        assert_eq!(process.read("/memory/count").unwrap(), Some(1.into()));
        assert_eq!(
            process.read("/inbox/0000000000000005").unwrap(),
            Some("three".into())
        );
        assert_eq!(process.discover("/inbox").unwrap().len(), 1);
        assert_eq!(
            process
                .read("/thread/dead/0000000000000002/message")
                .unwrap(),
            Some("two".into())
        );
        assert!(process.read("/lib/new").unwrap().is_some());
        assert_eq!(process.discover("/system/outbox").unwrap().len(), 1);
    });
}

#[test]
fn a_script_that_read_what_changed_runs_again() {
    for (looks, runs) in [
        ("discover /inbox", 2),
        ("read /inbox/0000000000000001", 2),
        ("stat /inbox", 2),
        ("discover /", 2),
        ("read /", 2),
        ("exec looks", 2),
        ("try looks-and-fails", 2),
        ("read /memory/count", 1),
        ("read /thread", 1),
        ("read /system/limits/max_ticks", 1),
    ] {
        let (process, waiting) = gated(&format!("{looks};add /memory/count 1;wait"));
        process
            .write("/lib/looks", script("discover /inbox"))
            .unwrap();
        process
            .write("/lib/looks-and-fails", script("discover /inbox;runtime"))
            .unwrap();
        block_on(async {
            let process = DurableProcess::create(Arc::new(MemoryStore::new()), process)
                .await
                .unwrap();
            let running = process.clone();
            let run = thread::spawn(move || block_on(running.exec("/lib/long", value!(null))));
            waiting.reached();
            process.submit(enqueue("hello")).await.unwrap();
            waiting.go_on.send(()).unwrap();
            if runs == 2 {
                waiting.reached();
                waiting.go_on.send(()).unwrap();
            }
            let activation = run.join().unwrap().unwrap();
            assert_eq!(
                activation.output,
                1.into(),
                "{looks}: what ran first left nothing"
            );
            assert_eq!(
                process.read("/memory/count").unwrap(),
                Some(1.into()),
                "{looks}"
            );
            assert_eq!(
                process.version(),
                4,
                "{looks}: create at 2, the message, the script"
            );
            assert!(
                waiting.reached.try_recv().is_err(),
                "{looks}: it ran too often"
            );
        });
    }
}

#[test]
fn a_script_that_never_gets_a_quiet_moment_gives_up_and_leaves_no_receipt() {
    let (process, waiting) = gated("discover /inbox;add /memory/count 1;wait");
    block_on(async {
        let process = DurableProcess::create(Arc::new(MemoryStore::new()), process)
            .await
            .unwrap();
        let key = crate::receipts::request("contended", "content");
        let running = process.clone();
        let submitted = key.clone();
        let run = thread::spawn(move || {
            let operation = Operation::Exec {
                path: "/lib/long".parse().unwrap(),
                input: value!(null),
            };
            block_on(running.submit(Submission::plain(operation).keyed(submitted)))
        });
        for _ in 0..8 {
            waiting.reached();
            process.submit(enqueue("again")).await.unwrap();
            waiting.go_on.send(()).unwrap();
        }
        assert_eq!(run.join().unwrap().unwrap_err().code(), "contended");
        assert_eq!(process.read("/memory/count").unwrap(), Some(0.into()));
        assert_eq!(process.receipt(&key.key).await.unwrap(), None);
        assert_eq!(process.version(), 8);
    });
}

#[test]
fn host_writes_wait_for_the_script_and_then_land() {
    let (process, waiting) = gated("add /memory/count 1;wait");
    block_on(async {
        let process = DurableProcess::create(Arc::new(MemoryStore::new()), process)
            .await
            .unwrap();
        let running = process.clone();
        let run = thread::spawn(move || block_on(running.exec("/lib/long", value!(null))));
        waiting.reached();
        let writing = process.clone();
        let write = thread::spawn(move || block_on(writing.write("/memory/count", 100)));
        process.submit(enqueue("meanwhile")).await.unwrap();
        thread::sleep(std::time::Duration::from_millis(20));
        assert_eq!((process.version(), write.is_finished()), (1, false));
        waiting.go_on.send(()).unwrap();
        assert_eq!(run.join().unwrap().unwrap().version, 2);
        assert_eq!(write.join().unwrap().unwrap().version, 3);
        assert_eq!(process.read("/memory/count").unwrap(), Some(100.into()));
    });
}

#[test]
fn in_memory_a_send_does_not_wait_either() {
    let (process, waiting) = gated("discover /inbox;add /memory/count 1;wait");
    let process = Arc::new(process);
    let running = process.clone();
    let run = thread::spawn(move || running.exec("/lib/long", value!(null)));
    waiting.reached();
    assert_eq!(process.enqueue("one").unwrap(), 1);
    waiting.go_on.send(()).unwrap();
    waiting.reached();
    process.acknowledge(1).unwrap();
    waiting.go_on.send(()).unwrap();
    waiting.reached();
    waiting.go_on.send(()).unwrap();
    let activation = run.join().unwrap().unwrap();
    assert_eq!((activation.before, activation.version), (2, 3));
    assert_eq!(process.read("/memory/count").unwrap(), Some(1.into()));
}

#[test]
fn a_dropped_exec_leaves_nothing_and_the_next_one_runs() {
    let (process, waiting) = gated("add /memory/count 1;wait");
    block_on(async {
        let process = DurableProcess::create(Arc::new(MemoryStore::new()), process)
            .await
            .unwrap();
        for _ in 0..3 {
            let exec = process.exec("/lib/long", value!(null));
            let reached = async {
                while waiting.reached.try_recv().is_err() {
                    futures_lite::future::yield_now().await
                }
            };
            futures_lite::future::or(async { drop(exec.await) }, reached).await;
            waiting.go_on.send(()).unwrap();
        }
        assert_eq!(
            (process.version(), process.read("/memory/count").unwrap()),
            (0, Some(0.into()))
        );
        let running = process.clone();
        let run = thread::spawn(move || block_on(running.exec("/lib/long", value!(null))));
        waiting.reached();
        waiting.go_on.send(()).unwrap();
        assert_eq!(run.join().unwrap().unwrap().version, 1);
    });
}

#[test]
fn a_message_that_comes_during_a_host_transaction_is_not_lost() {
    let (process, _waiting) = gated("");
    let first = process.enqueue("first").unwrap();
    let change = process
        .transact(|tx| {
            tx.write("/memory/count", 1)?;
            process.acknowledge(first)?;
            assert_eq!(process.enqueue("second")?, 3);
            tx.write("/memory/other", 2)
        })
        .unwrap();
    assert_eq!((change.version, process.version()), (4, 4));
    assert_eq!(process.discover("/inbox").unwrap().len(), 1);
    assert_eq!(
        process.read("/inbox/0000000000000003").unwrap(),
        Some("second".into())
    );
    assert_eq!(process.read("/memory/count").unwrap(), Some(1.into()));
    let paths: Vec<String> = change.paths.iter().map(|p| p.path.to_string()).collect();
    assert_eq!(paths, ["/memory/count", "/memory/other"]);

    // A transaction that fails takes nothing back but its own edits.
    let refused = process.transact(|tx| {
        tx.write("/memory/count", 9)?;
        process.enqueue("third")?;
        tx.remove("/memory/none")
    });
    assert_eq!(refused.unwrap_err().code(), "missing");
    assert_eq!(process.discover("/inbox").unwrap().len(), 2);
}

#[test]
fn a_script_whose_caller_has_gone_is_stopped() {
    let (process, waiting) = gated("add /memory/count 1;spin");
    block_on(async {
        let process = DurableProcess::create(Arc::new(MemoryStore::new()), process)
            .await
            .unwrap();
        let exec = process.exec("/lib/long", value!(null));
        let reached = async {
            while waiting.reached.try_recv().is_err() {
                futures_lite::future::yield_now().await;
            }
        };
        futures_lite::future::or(async { drop(exec.await) }, reached).await;
        // It would go on for a million milliseconds.
        waiting.reached();
        assert_eq!(
            (process.version(), process.read("/memory/count").unwrap()),
            (0, Some(0.into()))
        );
    });
}
