//! Every kind of staged change against every kind of failure: as before, or as committed.

use std::sync::Arc;

use futures_lite::future::{self, block_on};
use svit_testkit::fault::{Fault, FaultyStore};
use svit_txn::{
    DurableProcess, Error, Hook, MemoryStore, Operation, ProcessStore, Proposed, Refusal,
    Submission,
};
use svit_value::value;

use crate::mounts::Shelf;
use crate::steps::{Seen, Steps, builder, script, seen, seen_in_memory};

/// What a script has done before it fails.
const STAGED: &[(&str, &str)] = &[
    ("nothing", ""),
    ("a memory write", "write /memory/x {\"deep\":[1,2]}"),
    ("a memory removal", "remove /memory/kept"),
    ("a script", "stage fresh return 1"),
    ("a removed script", "remove /lib/nested"),
    ("a log record", "log hello"),
    ("an intent", "send {\"to\":\"a\"}"),
    ("a nested exec", "exec nested"),
    ("a failed nested exec", "try broken"),
    (
        "all of it",
        "write /memory/x 1;stage fresh return 1;log hello;send 1;exec nested;try broken;remove /memory/kept",
    ),
];

/// How it fails then, and the code of the error.
const FAILURES: &[(&str, &str)] = &[
    ("runtime", "runtime"),
    ("conversion", "conversion"),
    ("limit", "some_limit"),
    ("timeout", "timeout"),
    ("cancelled", "cancelled"),
    ("panic", "panic"),
    ("ticks 1000000", "out_of_ticks"),
    ("stage bad syntax", "syntax"),
    ("stage bad panic-in-check", "panic"),
    ("write /lib/bad 1", "bad_script"),
    ("write /lib/bad {\"source\":1}", "bad_script"),
    (
        "write /lib/bad {\"source\":\"\",\"extra\":\"\"}",
        "bad_script",
    ),
    (
        "write /lib/bad {\"source\":\"\",\"language\":\"none@1\"}",
        "unknown_language",
    ),
    ("remove /lib/counter/source", "bad_script"),
    ("write /system/limits/max_ticks 9", "denied"),
    ("write /inbox/0000000000000009 1", "denied"),
    ("write /memory 1", "denied"),
    ("write / 1", "denied"),
    ("write /memory/none/deep 1", "no_parent"),
    ("write /memory/count/deep 1", "wrong_kind"),
    ("exec missing", "no_script"),
    ("exec broken", "runtime"),
    ("exec bad-syntax", "syntax"),
    ("exec greedy", "out_of_ticks"),
    ("exec panics", "panic"),
    // A guest that goes on after a refusal that nothing may swallow.
    ("swallow greedy", "out_of_ticks"),
    ("swallow panics", "panic"),
    ("swallow too-deep", "max_exec_depth"),
    ("exec too-deep", "max_exec_depth"),
    ("port none", "unavailable"),
];

/// The input that the hook refuses, and the code it gives.
const REFUSED: &str = "refused_by_a_hook";

struct Guard;

impl Hook for Guard {
    fn name(&self) -> &str {
        "guard"
    }

    fn before(&self, proposed: &Proposed<'_>) -> Result<(), Refusal> {
        match proposed.input.as_str() {
            Some(REFUSED) => Err(Refusal::new(REFUSED, "as the test wants")),
            _ => Ok(()),
        }
    }
}

fn process(name: &str) -> svit_txn::ProcessBuilder {
    builder(&format!("svit://local/{name}"))
        .hook(Arc::new(Guard))
        .library(
            "nested",
            script("write /memory/nested true;send 2;log nested"),
        )
        .library(
            "broken",
            script("write /memory/rolled-back 1;send 3;stage gone return 1;runtime"),
        )
        .library(
            "greedy",
            script("write /memory/rolled-back 1;ticks 1000000"),
        )
        .library("panics", script("write /memory/rolled-back 1;panic"))
        .library("too-deep", script("exec too-deep"))
        .library("bad-syntax", value!({"source": "", "language": "steps@1"}))
}

/// Makes a script that does not compile reachable, which no commit would take.
fn runnable(failure: &str) -> String {
    match failure {
        "exec bad-syntax" => "stage broken-now syntax;exec broken-now".to_owned(),
        other => other.to_owned(),
    }
}

// THREAT[TM-TXN-1]
#[test]
fn whatever_a_script_did_before_it_fails_leaves_nothing() {
    let (memory, store) = crate::steps::store();
    block_on(async {
        let durable = DurableProcess::create(store.clone(), process("durable").build().unwrap())
            .await
            .unwrap();
        let plain = process("plain").build().unwrap();
        let shelf = Shelf::usual();
        durable.attach_mount("box", shelf.clone()).await.unwrap();
        let mounted = "write /mounts/box/new 1;remove /mounts/box/a";
        durable
            .submit(Submission::plain(Operation::Enqueue { message: 1.into() }))
            .await
            .unwrap();
        plain.enqueue(1).unwrap();
        for (staged, before) in STAGED {
            for (failure, code) in FAILURES {
                let source = format!("{before};{}", runnable(failure));
                let row = format!("{staged}, then {failure}");

                // The script is there first, as its own transition.
                let with_mount = script(&format!("{mounted};{source}"));
                durable.write("/lib/row", with_mount).await.unwrap();
                let (was, head) = (
                    seen(&durable),
                    memory.load(durable.address()).await.unwrap(),
                );
                let error = durable.exec("/lib/row", value!(null)).await.unwrap_err();
                assert_eq!(error.code(), *code, "{row}: {error}");
                assert_eq!(seen(&durable), was, "{row}");
                assert_eq!(memory.load(durable.address()).await.unwrap(), head, "{row}");
                assert_eq!(shelf.held(), Shelf::usual().held(), "{row}");

                plain.write("/lib/row", script(&source)).unwrap();
                let was = seen_in_memory(&plain);
                let error = plain.exec("/lib/row", value!(null)).unwrap_err();
                assert_eq!(error.code(), *code, "{row}: {error}");
                assert_eq!(seen_in_memory(&plain), was, "{row}");
            }

            // The same work, refused by a hook.
            durable.write("/lib/row", script(before)).await.unwrap();
            plain.write("/lib/row", script(before)).unwrap();
            let (was, head) = (
                seen(&durable),
                memory.load(durable.address()).await.unwrap(),
            );
            let error = durable.exec("/lib/row", REFUSED).await.unwrap_err();
            assert_eq!(error.code(), REFUSED, "{staged}: {error}");
            assert_eq!(seen(&durable), was, "{staged}, refused");
            assert_eq!(memory.load(durable.address()).await.unwrap(), head);
            let was = seen_in_memory(&plain);
            let error = plain.exec("/lib/row", REFUSED).unwrap_err();
            assert_eq!(error.code(), REFUSED, "{staged}: {error}");
            assert_eq!(seen_in_memory(&plain), was, "{staged}, refused");
        }
        // It still works, and what was stored is what it shows.
        let activation = durable.exec("/lib/counter", 3).await.unwrap();
        assert_eq!(activation.output, 9.into());
        let shown = seen(&durable);
        let again = crate::steps::resume(&store, "svit://local/durable").await;
        assert_eq!(seen(&again), shown);
    });
}

#[test]
fn a_failed_nested_call_is_rolled_back_to_its_start_and_no_further() {
    let process = process("nested").build().unwrap();
    let source =
        "write /memory/a 1;send 1;log one;try broken;try bad-one;write /memory/b 2;exec nested";
    process.write("/lib/outer", script(source)).unwrap();
    process
        .write(
            "/lib/bad-one",
            script("write /memory/a 9;remove /memory/kept;write /system/x 1"),
        )
        .unwrap();
    let activation = process.exec("/lib/outer", value!(null)).unwrap();
    let messages: Vec<_> = activation
        .messages
        .iter()
        .map(|intent| intent.message.clone())
        .collect();
    assert_eq!(messages, [value!(1), value!(2)]);
    let logs: Vec<&str> = activation.logs.iter().map(|log| &*log.message).collect();
    assert_eq!(logs, ["one", "nested"]);
    let changed: Vec<String> = activation.changed.iter().map(ToString::to_string).collect();
    assert_eq!(changed[..3], ["/memory/a", "/memory/b", "/memory/nested"]);
    assert_eq!(
        process.read("/memory/kept").unwrap(),
        Some("as it was".into())
    );
    assert_eq!(process.read("/memory/rolled-back").unwrap(), None);
    assert_eq!(process.read("/lib/gone").unwrap(), None);
    let ids: Vec<&str> = activation
        .messages
        .iter()
        .map(|intent| &*intent.id)
        .collect();
    let version = activation.version;
    assert_eq!(
        ids,
        [
            format!("svit://local/nested#{version}.0"),
            format!("svit://local/nested#{version}.1"),
        ]
    );
}

#[test]
fn ticks_of_a_failed_nested_call_stay_spent() {
    let process = process("ticks").build().unwrap();
    process
        .write("/lib/costly", script("ticks 400000;runtime"))
        .unwrap();
    process
        .write("/lib/outer", script("try costly;try costly"))
        .unwrap();
    let activation = process.exec("/lib/outer", value!(null)).unwrap();
    assert_eq!(
        (activation.ticks, activation.budget),
        (2 + 2 * 400_002, 1_000_000)
    );
    process
        .write("/lib/outer", script("try costly;try costly;try costly"))
        .unwrap();
    let refused = process.exec("/lib/outer", value!(null)).unwrap_err();
    assert_eq!(refused.code(), "out_of_ticks");
}

/// How the store is looked at after a fault.
#[derive(Clone, Copy, Debug)]
enum Then {
    /// The same handle goes on: its next operation settles.
    GoOn,
    /// Another owner resumes.
    Resume,
}

#[test]
fn whatever_the_store_does_the_state_is_that_before_or_the_committed_one() {
    for (staged, source) in STAGED {
        for fault in Fault::ALL {
            for then in [Then::GoOn, Then::Resume] {
                block_on(one_fault(source, fault, then, staged));
            }
        }
    }
}

async fn one_fault(source: &str, fault: Fault, then: Then, staged: &str) {
    let row = format!("{staged}, {fault:?}, {then:?}");
    let build = || {
        process("fault")
            .library("row", script(source))
            .build()
            .unwrap()
    };
    // What it is after the same without faults: a root holds nothing of the clock.
    let sure = build();
    let (before, committed) = {
        let before = seen_in_memory(&sure);
        sure.exec("/lib/row", value!(null)).unwrap();
        (before, seen_in_memory(&sure))
    };

    let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    let durable = DurableProcess::create(store.clone(), build())
        .await
        .unwrap();
    store.at_write(store.writes() + 1, fault);
    let exec = async { Some(durable.exec("/lib/row", value!(null)).await) };
    let hung = async {
        while store.hanging() == 0 {
            future::yield_now().await;
        }
        None
    };
    let result = future::or(exec, hung).await;
    let expected: &Seen = match (fault, &result) {
        (Fault::Fail, Some(Err(Error::Store(_)))) => &before,
        // The process asks at once, and gives the store the same batch again.
        (Fault::ForgetLost | Fault::ForgetLanded, Some(Ok(_))) => &committed,
        (Fault::HangLost | Fault::HangLanded, None) => &before,
        (Fault::CutLost | Fault::CutLanded, Some(Err(error))) => {
            assert_eq!(error.code(), "unknown", "{row}");
            &before
        }
        other => panic!("{row}: {other:?}"),
    };
    assert_eq!(
        seen(&durable),
        *expected,
        "{row}: nothing is shown before it is durable"
    );

    store.restore();
    let store: Arc<dyn ProcessStore> = store;
    let settled = match then {
        Then::GoOn => {
            // An operation that changes nothing itself, and settles what is in flight.
            let note = Submission::plain(Operation::Note);
            durable.submit(note).await.unwrap();
            let unknown = !matches!(fault, Fault::Fail);
            assert_eq!(
                seen(&durable),
                if unknown {
                    committed.clone()
                } else {
                    before.clone()
                },
                "{row}"
            );
            durable
        }
        Then::Resume => {
            let again =
                DurableProcess::resume_with(store.clone(), "svit://local/fault", [Steps::guest()])
                    .await
                    .unwrap();
            let landed = fault.lands() || matches!(fault, Fault::ForgetLost);
            assert_eq!(
                seen(&again),
                if landed { committed } else { before },
                "{row}"
            );
            let fenced = durable.write("/memory/late", 1).await.unwrap_err();
            assert_eq!(fenced.code(), "fenced", "{row}");
            again
        }
    };
    let version = settled.version();
    assert_eq!(
        settled.write("/memory/after", 1).await.unwrap().version,
        version + 1,
        "{row}"
    );
    let shown = seen(&settled);
    assert_eq!(
        seen(&crate::steps::resume(&store, "svit://local/fault").await),
        shown,
        "{row}"
    );
}

#[test]
fn a_fenced_owner_changes_nothing_and_still_reads() {
    let (memory, store) = crate::steps::store();
    block_on(async {
        let old = DurableProcess::create(store.clone(), process("owned").build().unwrap())
            .await
            .unwrap();
        old.submit(Submission::plain(Operation::Enqueue { message: 1.into() }))
            .await
            .unwrap();
        old.write("/lib/send", script("send 1")).await.unwrap();
        old.exec("/lib/send", value!(null)).await.unwrap();
        let new = crate::steps::resume(&store, "svit://local/owned").await;
        let (was, head) = (seen(&old), memory.load(old.address()).await.unwrap());
        let operations = [
            Operation::Exec {
                path: "/lib/counter".parse().unwrap(),
                input: 1.into(),
            },
            Operation::Write {
                path: "/memory/x".parse().unwrap(),
                value: 1.into(),
            },
            Operation::Remove {
                path: "/memory/kept".parse().unwrap(),
            },
            Operation::Enqueue { message: 2.into() },
            Operation::AcknowledgeIntent {
                id: "svit://local/owned#3.0".into(),
                message: value!(1).digest(),
            },
            Operation::Acknowledge { sequence: 1 },
            Operation::Bury {
                sequence: 1,
                reason: "x".into(),
            },
        ];
        for operation in operations {
            let refused = old
                .submit(Submission::plain(operation.clone()))
                .await
                .unwrap_err();
            assert_eq!(refused.code(), "fenced", "{operation:?}");
            let event = || svit_txn::Extras {
                events: vec![("x".into(), value!(null))],
                ..Default::default()
            };
            let refused = old
                .submit(Submission::plain(Operation::Note).recording(move |_| event()))
                .await
                .unwrap_err();
            assert_eq!(refused.code(), "fenced");
        }
        assert_eq!(seen(&old), was);
        assert_eq!(memory.load(old.address()).await.unwrap(), head);
        assert_eq!(new.exec("/lib/counter", 1).await.unwrap().output, 7.into());
        assert_eq!(old.read("/memory/count").unwrap(), Some(6.into()));
    });
}
