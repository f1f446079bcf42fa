//! A retry is harmless: exact ones replay, others under the same key are refused.

use std::sync::Arc;
use std::thread;

use futures_lite::future::{self, block_on};
use svit_testkit::fault::{Fault, FaultyStore};
use svit_txn::{
    DurableProcess, Error, Extras, MemoryStore, Operation, Outcome, ProcessStore, ReceiptKey,
    RequestKey, Submission,
};
use svit_value::{Digest, Value, value};

use crate::steps::{builder, script};

pub(crate) fn request(request: &str, content: &str) -> RequestKey {
    RequestKey {
        key: ReceiptKey {
            client: "client".into(),
            request: request.into(),
        },
        content: Digest::of(content.as_bytes()),
    }
}

fn add(by: i64) -> Operation {
    Operation::Exec {
        path: "/lib/counter".parse().unwrap(),
        input: by.into(),
    }
}

/// Records the output, or the code of the error, and an event.
fn recording(submission: Submission<'_>) -> Submission<'_> {
    submission.recording(|result| {
        let outcome = match result {
            Ok(Outcome::Activation(activation)) => activation.output.clone(),
            Ok(other) => Value::from(format!("{other:?}").split(' ').next().unwrap()),
            Err(error) => value!({"error": error.code()}),
        };
        Extras {
            events: vec![("done".into(), outcome.clone())],
            outcome,
        }
    })
}

async fn make(store: Arc<dyn ProcessStore>) -> DurableProcess {
    let built = builder("svit://local/receipts")
        .library("fails", script("write /memory/x 1;runtime"))
        .build();
    DurableProcess::create(store, built.unwrap()).await.unwrap()
}

fn replayed(outcome: Outcome) -> Value {
    match outcome {
        Outcome::Replayed(receipt) => receipt.outcome,
        other => panic!("it was done again: {other:?}"),
    }
}

// THREAT[TM-TXN-3]
#[test]
fn an_exact_retry_replays_before_and_after_a_restart() {
    let (_, store) = crate::steps::store();
    block_on(async {
        let process = make(store.clone()).await;
        let submit = || recording(Submission::plain(add(3)).keyed(request("one", "add 3")));
        let first = process.submit(submit()).await.unwrap();
        assert!(matches!(first, Outcome::Activation(_)));
        for _ in 0..2 {
            assert_eq!(replayed(process.submit(submit()).await.unwrap()), 9.into());
        }
        assert_eq!(
            (
                process.version(),
                process.recent_events(9).await.unwrap().len()
            ),
            (1, 1)
        );
        let again = crate::steps::resume(&store, "svit://local/receipts").await;
        assert_eq!(replayed(again.submit(submit()).await.unwrap()), 9.into());
        assert_eq!(again.read("/memory/count").unwrap(), Some(9.into()));
        let receipt = again
            .receipt(&request("one", "").key)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(
            (receipt.version, receipt.content),
            (1, Digest::of(b"add 3"))
        );
    });
}

#[test]
fn another_request_under_the_same_key_is_refused_and_keeps_the_receipt() {
    let (_, store) = crate::steps::store();
    block_on(async {
        let process = make(store).await;
        process
            .submit(recording(
                Submission::plain(add(3)).keyed(request("one", "add 3")),
            ))
            .await
            .unwrap();
        let operations = [
            add(4),
            Operation::Enqueue { message: 1.into() },
            Operation::Note,
            Operation::Write {
                path: "/memory/x".parse().unwrap(),
                value: 1.into(),
            },
        ];
        for operation in operations {
            let other =
                recording(Submission::plain(operation).keyed(request("one", "something else")));
            let refused = process.submit(other).await.unwrap_err();
            assert!(matches!(refused, Error::ReusedKey { .. }), "{refused}");
        }
        assert_eq!(process.version(), 1);
        let receipt = process
            .receipt(&request("one", "").key)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(receipt.outcome, 9.into());
        // Another client's request of the same name is another request.
        let mut other = request("one", "something else");
        other.key.client = "someone".into();
        process
            .submit(recording(Submission::plain(add(1)).keyed(other)))
            .await
            .unwrap();
        assert_eq!(process.read("/memory/count").unwrap(), Some(10.into()));
    });
}

#[test]
fn a_rejection_is_remembered() {
    let (_, store) = crate::steps::store();
    block_on(async {
        let process = make(store).await;
        let rows = [
            (
                Operation::Exec {
                    path: "/lib/fails".parse().unwrap(),
                    input: value!(null),
                },
                "runtime",
            ),
            (
                Operation::Exec {
                    path: "/lib/none".parse().unwrap(),
                    input: value!(null),
                },
                "no_script",
            ),
            (
                Operation::Write {
                    path: "/system/x".parse().unwrap(),
                    value: 1.into(),
                },
                "denied",
            ),
            (Operation::Acknowledge { sequence: 9 }, "no_message"),
        ];
        for (index, (operation, code)) in rows.into_iter().enumerate() {
            let key = request(&format!("r{index}"), code);
            let submit = || recording(Submission::plain(operation.clone()).keyed(key.clone()));
            assert_eq!(process.submit(submit()).await.unwrap_err().code(), code);
            assert_eq!(
                replayed(process.submit(submit()).await.unwrap()),
                value!({"error": code})
            );
            assert_eq!(process.recent_events(99).await.unwrap().len(), index + 1);
        }
        assert_eq!(
            (process.version(), process.read("/memory/x").unwrap()),
            (0, None)
        );
    });
}

#[test]
fn keys_are_checked() {
    let (_, store) = crate::steps::store();
    block_on(async {
        let process = make(store).await;
        let long = "x".repeat(129);
        for bad in ["", "a b", "a/b", "\u{e9}", "a\0", &long] {
            for client in [false, true] {
                let mut key = request("fine", "");
                *(if client {
                    &mut key.key.client
                } else {
                    &mut key.key.request
                }) = bad.into();
                let refused = process
                    .submit(Submission::plain(Operation::Note).keyed(key))
                    .await
                    .unwrap_err();
                assert_eq!(refused.code(), "bad_key", "{bad:?}");
            }
        }
        for fine in ["a", "A-z_0.9", &"x".repeat(128)] {
            process
                .submit(Submission::plain(Operation::Note).keyed(request(fine, "")))
                .await
                .unwrap();
        }
    });
}

#[test]
fn of_many_senders_with_one_key_exactly_one_does_it() {
    for operation in [
        add(1),
        Operation::Enqueue {
            message: "hello".into(),
        },
    ] {
        let (_, store) = crate::steps::store();
        let process = block_on(make(store));
        let outcomes: Vec<Outcome> = thread::scope(|scope| {
            let senders: Vec<_> = (0..8)
                .map(|_| {
                    let (process, operation) = (process.clone(), operation.clone());
                    scope.spawn(move || {
                        let submission =
                            Submission::plain(operation).keyed(request("same", "same"));
                        block_on(process.submit(recording(submission))).unwrap()
                    })
                })
                .collect();
            senders
                .into_iter()
                .map(|sender| sender.join().unwrap())
                .collect()
        });
        let done = outcomes
            .iter()
            .filter(|outcome| !matches!(outcome, Outcome::Replayed(_)))
            .count();
        assert_eq!((done, process.version()), (1, 1), "{outcomes:?}");
    }
}

#[test]
fn a_request_whose_outcome_was_unknown_is_done_once_however_often_it_is_retried() {
    for fault in Fault::ALL {
        for operation in [
            add(3),
            Operation::Enqueue {
                message: "hello".into(),
            },
            Operation::Note,
            Operation::Exec {
                path: "/lib/fails".parse().unwrap(),
                input: value!(null),
            },
        ] {
            block_on(async {
                let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
                let process = make(store.clone()).await;
                let submit =
                    || recording(Submission::plain(operation.clone()).keyed(request("one", "x")));
                store.at_write(store.writes() + 1, fault);
                let hung = async {
                    while store.hanging() == 0 {
                        future::yield_now().await;
                    }
                };
                future::or(async { drop(process.submit(submit()).await) }, hung).await;
                store.restore();
                let row = format!("{fault:?} {operation:?}");
                let _ = process.submit(submit()).await;
                for _ in 0..2 {
                    replayed(process.submit(submit()).await.unwrap());
                }
                let changes =
                    matches!(&operation, Operation::Enqueue { .. }) || operation == add(3);
                assert_eq!(process.version(), u64::from(changes), "{row}");
                assert_eq!(process.recent_events(99).await.unwrap().len(), 1, "{row}");
            });
        }
    }
}

/// A batch of a receipt alone moves neither head nor events, by which one could see it.
#[test]
fn a_receipt_alone_is_not_taken_for_landed_when_it_was_lost() {
    block_on(async {
        let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
        let process = make(store.clone()).await;
        let note = |name: &str| Submission::plain(Operation::Note).keyed(request(name, ""));
        for (index, fault) in [
            Fault::ForgetLost,
            Fault::ForgetLanded,
            Fault::CutLost,
            Fault::CutLanded,
        ]
        .into_iter()
        .enumerate()
        {
            let name = format!("note-{index}");
            store.at_write(store.writes() + 1, fault);
            let _ = process.submit(note(&name)).await;
            store.restore();
            process
                .submit(Submission::plain(Operation::Note))
                .await
                .unwrap();
            let kept = process.receipt(&request(&name, "").key).await.unwrap();
            assert!(kept.is_some(), "{fault:?}");
        }
    });
}

#[test]
fn a_store_that_cannot_answer_while_settling_leaves_the_outcome_unknown() {
    block_on(async {
        let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
        let process = make(store.clone()).await;
        store.at_write(store.writes() + 1, Fault::CutLanded);
        let submit = || recording(Submission::plain(add(3)).keyed(request("one", "")));
        assert_eq!(
            process.submit(submit()).await.unwrap_err().code(),
            "unknown"
        );
        // Still without power: nothing else is done, and nothing is forgotten.
        assert_eq!(
            process.write("/memory/x", 1).await.unwrap_err().code(),
            "unavailable"
        );
        assert_eq!(process.version(), 0);
        store.restore();
        assert_eq!(replayed(process.submit(submit()).await.unwrap()), 9.into());
        assert_eq!(
            (process.version(), process.read("/memory/x").unwrap()),
            (1, None)
        );
    });
}

#[test]
fn a_retry_does_not_run_the_script_again() {
    let (guest, waiting) = crate::steps::Steps::gated();
    let (_, store) = crate::steps::store();
    block_on(async {
        let built = svit_txn::Process::builder("svit://local/receipts")
            .unwrap()
            .guest(crate::steps::LANGUAGE, guest)
            .library("waits", script("wait;return 1"))
            .build();
        let process = DurableProcess::create(store, built.unwrap()).await.unwrap();
        let submit = || {
            let operation = Operation::Exec {
                path: "/lib/waits".parse().unwrap(),
                input: value!(null),
            };
            recording(Submission::plain(operation).keyed(request("one", "")))
        };
        waiting.go_on.send(()).unwrap();
        process.submit(submit()).await.unwrap();
        waiting.reached();
        // It would wait for ever.
        replayed(process.submit(submit()).await.unwrap());
        assert!(waiting.reached.try_recv().is_err());
    });
}

/// The first attempt hangs and its future is dropped; it lands when the process tries again.
#[test]
fn an_append_that_lands_while_it_is_being_settled_is_seen() {
    for operation in [
        add(3),
        Operation::Enqueue { message: 1.into() },
        Operation::Note,
    ] {
        block_on(async {
            let store = Arc::new(crate::tampered::Tampered::default());
            let process = make(store.clone()).await;
            let submit =
                || recording(Submission::plain(operation.clone()).keyed(request("one", "")));
            store.hang_and_land_late();
            let hangs = process.submit(submit());
            let waits = async {
                while !store.hangs() {
                    future::yield_now().await;
                }
            };
            future::or(async { drop(hangs.await) }, waits).await;
            // Settled by the same request, or by another one.
            if operation == Operation::Note {
                process.write("/memory/x", 1).await.unwrap();
            }
            replayed(process.submit(submit()).await.unwrap());
            process.write("/memory/y", 1).await.unwrap();
            assert_eq!(process.version(), 2);
            let again =
                crate::steps::resume(&(store as Arc<dyn ProcessStore>), "svit://local/receipts")
                    .await;
            assert_eq!(again.version(), 2);
            assert_eq!(again.recent_events(9).await.unwrap().len(), 1);
        });
    }
}

async fn kept(process: &DurableProcess, name: &str, numbers: std::ops::Range<u64>) -> Vec<u64> {
    let mut kept = Vec::new();
    for n in numbers {
        let key = request(&format!("{name}-{n}"), "").key;
        if process.receipt(&key).await.unwrap().is_some() {
            kept.push(n);
        }
    }
    kept
}

#[test]
fn receipts_are_kept_to_the_limit_and_those_of_a_turn_until_its_message_is_done() {
    for buried in [false, true] {
        let (_, store) = crate::steps::store();
        block_on(async {
            let limits = svit_txn::Limits {
                max_receipts: 3,
                ..svit_txn::Limits::default()
            };
            let built = builder("svit://local/receipts").limits(limits);
            let built = built.build().unwrap();
            let process = DurableProcess::create(store.clone(), built).await.unwrap();
            let enqueue = Operation::Enqueue { message: 1.into() };
            let enqueued = process.submit(Submission::plain(enqueue)).await.unwrap();
            let Outcome::Enqueued { sequence } = enqueued else {
                panic!("{enqueued:?}");
            };
            let call = |name: &str, n: u64| {
                let key = request(&format!("{name}-{n}"), "");
                Submission::plain(add(1)).keyed(key)
            };
            for n in 0..9 {
                let pinned = call("turn", n).pinned_by(sequence);
                process.submit(pinned).await.unwrap();
                process.submit(call("other", n)).await.unwrap();
                // A message that is not there pins nothing.
                let stray = call("stray", n).pinned_by(sequence + 100);
                process.submit(stray).await.unwrap();
            }
            assert_eq!(
                kept(&process, "turn", 0..9).await,
                (0..9).collect::<Vec<_>>()
            );
            assert_eq!(kept(&process, "other", 0..9).await, [8]);
            assert_eq!(kept(&process, "stray", 0..9).await, [7, 8]);
            // The same after a restart, and a retry of the first call finds its outcome.
            let again = crate::steps::resume(&store, "svit://local/receipts").await;
            let retry = call("turn", 0).pinned_by(sequence);
            let retried = again.submit(retry).await.unwrap();
            assert!(matches!(retried, Outcome::Replayed(_)), "{retried:?}");
            let done = match buried {
                false => Operation::Acknowledge { sequence },
                true => Operation::Bury {
                    sequence,
                    reason: "given up".into(),
                },
            };
            again.submit(Submission::plain(done)).await.unwrap();
            assert_eq!(kept(&again, "turn", 0..9).await, [8]);
            assert_eq!(kept(&again, "other", 0..9).await, [8]);
            assert_eq!(kept(&again, "stray", 0..9).await, [8]);
        });
    }
}
