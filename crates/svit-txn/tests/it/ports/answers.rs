//! What a call of a port gives: answers, refusals, limits, records, keys.

use svit_testkit::fault::{Fault, FaultyStore};
use svit_txn::PortStage;

use super::*;

#[test]
fn a_script_gets_the_answer_and_the_record_has_the_calls() {
    let ports = Arc::new(ports(&Gate::new()));
    block_on(async {
        let process = process(
            &ports,
            &[
                ("inner", "port write 3;runtime"),
                (
                    "outer",
                    "add /memory/count 1;port echo [1];try-port fails 2;try inner;try-port none;port big 3",
                ),
            ],
        )
        .await;
        let before = process.version();
        let activation = process.exec("/lib/outer", value!(null)).await.unwrap();
        assert_eq!(activation.output, "xxx".into());
        let shown = |call: &svit_txn::PortCall| (call.name.to_string(), call.outcome);
        let failure = value!({"code": "no_luck", "message": "it did not work"});
        let expected = [
            ("echo", value!([1]), PortOutcome::Ok(value!([1]).digest())),
            ("fails", value!(2), PortOutcome::Error(failure.digest())),
            // A nested call that failed took its writes back, and not what it called.
            ("write", value!(3), PortOutcome::Ok(value!(3).digest())),
            ("big", value!(3), PortOutcome::Ok(value!("xxx").digest())),
        ];
        assert_eq!(activation.ports.len(), expected.len());
        for (call, (name, input, outcome)) in activation.ports.iter().zip(&expected) {
            assert_eq!(shown(call), ((*name).to_owned(), *outcome));
            assert_eq!(call.input, input.digest());
        }
        let query = HistoryQuery {
            from: before + 1,
            ..Default::default()
        };
        let history = process.history(query).await.unwrap();
        assert_eq!(history[0].transaction.ports, activation.ports);
        // Those before were made without ports, and have no such field.
        let earlier = process.history(HistoryQuery::default()).await.unwrap();
        assert!(earlier[0].transaction.ports.is_empty());

        let asked = ports.asked();
        let indexes: Vec<u64> = asked.iter().map(|request| request.index).collect();
        assert_eq!(indexes, [0, 1, 2, 3]);
        // A port sees what is committed, not what the script is about to change.
        for request in asked {
            assert_eq!(request.committed.version(), before);
            assert_eq!(
                request.committed.read("/memory/count").unwrap(),
                Some(6.into())
            );
        }
        assert_eq!(process.read("/memory/count").unwrap(), Some(7.into()));
    });
}

#[test]
fn whatever_a_port_does_instead_of_answering_leaves_the_process_as_it_was() {
    let ports = Arc::new(ports(&Gate::new()));
    let rows = [
        ("port fails", "no_luck"),
        ("port ends", "suspended"),
        ("try-port ends", "suspended"),
        // A guest that goes on after a hard error commits nothing.
        ("swallow-port ends", "suspended"),
        ("port panics", "port_panicked"),
        ("port panics-at-once", "port_panicked"),
        ("port none", "no_such_port"),
        ("call /ports/none", "no_such_port"),
        ("call /ports/echo/deeper", "no_script"),
        ("port write 1;runtime", "runtime"),
    ];
    block_on(async {
        let process = process(&ports, &[]).await;
        for (source, code) in rows {
            let source = format!("add /memory/count 1;send 1;log x;stage new return 1;{source}");
            process.write("/lib/row", script(&source)).await.unwrap();
            let before = seen(&process);
            let error = process.exec("/lib/row", value!(null)).await.unwrap_err();
            assert_eq!(error.code(), code, "{source}: {error}");
            assert_eq!(seen(&process), before, "{source}");
        }
        // What a script can catch does not end it.
        let caught =
            "try-port fails;try-port panics;try-port panics-at-once;try-port none;port echo 5";
        process.write("/lib/row", script(caught)).await.unwrap();
        let activation = process.exec("/lib/row", value!(null)).await.unwrap();
        assert_eq!((activation.output, activation.ports.len()), (5.into(), 4));
        // A port's words are bounded as others are.
        let error = process
            .exec("/ports/wordy", value!(null))
            .await
            .unwrap_err();
        assert_eq!(
            (error.code().len(), error.to_string().len()),
            (1_024, 1_024)
        );
    });
}

#[test]
fn calls_and_answers_are_bounded_at_their_edges() {
    let limited = |kind: LimitKind, chosen: i64| {
        let mut rows = Limits::default().to_map();
        rows.insert(kind.name(), chosen).unwrap();
        Limits::from_map(&rows).unwrap()
    };
    let call = |limits: Limits, source: String| {
        let ports = Arc::new(ports(&Gate::new()));
        let built = builder("svit://local/ports")
            .limits(limits)
            .library("nested", script("port echo 1"))
            .library("nested-fails", script("port echo 1;runtime"))
            .library("row", script(&source))
            .build();
        block_on(async {
            let process = MemoryStore::new().create(built.unwrap()).await.unwrap();
            process.attach_ports(ports.clone()).await.unwrap();
            let before = seen(&process);
            let result = process.exec("/lib/row", value!(null)).await;
            if result.is_err() {
                assert_eq!(seen(&process), before);
            }
            (result.map_err(|e| e.code().to_owned()), ports.asked().len())
        })
    };
    // Calls in nested scripts count, those of scripts that failed too.
    for unit in [
        "port echo 1;",
        "exec nested;",
        "try nested-fails;",
        "try-port fails;",
        "call /ports/echo 1;",
    ] {
        for (calls, fits) in [(2, true), (3, true), (4, false)] {
            let (result, asked) = call(limited(LimitKind::PortCalls, 3), unit.repeat(calls));
            assert_eq!(asked, calls.min(3), "{unit}");
            match result {
                Ok(activation) => assert!(fits && activation.ports.len() == calls, "{unit}"),
                Err(code) => assert!(!fits && code == "max_port_calls", "{unit}: {code}"),
            }
        }
    }
    // No script gets past it by not looking.
    let (result, asked) = call(
        limited(LimitKind::PortCalls, 1),
        "swallow-port echo 1;".repeat(5),
    );
    assert_eq!((result.unwrap_err().as_str(), asked), ("max_port_calls", 1));
    // A text of 256 to 65,535 octets has a head of three.
    for (len, fits) in [(996, true), (997, true), (998, false)] {
        let limits = limited(LimitKind::PortResultBytes, 1_000);
        let (result, asked) = call(limits, format!("port big {len}"));
        assert_eq!(asked, 1);
        assert_eq!(result.is_ok(), fits, "{len}");
        if let Err(code) = result {
            assert_eq!(code, "max_port_result_bytes");
        }
    }
    // An input is a value that leaves the script; the port is not asked about one that is too large.
    let (ports, limits) = (
        Arc::new(ports(&Gate::new())),
        limited(LimitKind::TextBytes, 600),
    );
    let built = builder("svit://local/ports").limits(limits).build();
    let process = block_on(MemoryStore::new().create(built.unwrap())).unwrap();
    block_on(process.attach_ports(ports.clone())).unwrap();
    for (len, fits) in [(599, true), (600, true), (601, false)] {
        let result = block_on(process.exec("/ports/echo", "x".repeat(len)));
        assert_eq!(result.is_ok(), fits, "{len}");
        if let Err(error) = result {
            assert_eq!(error.code(), "max_text_bytes");
        }
    }
    assert_eq!(ports.asked().len(), 2);
    // An answer that a script may hold is not one that it may write or return.
    let limits = limited(LimitKind::TextBytes, 600);
    let (result, _) = call(limits.clone(), "port big 601".to_owned());
    assert_eq!(result.unwrap_err(), "max_text_bytes");
    let (result, _) = call(limits, "port big 601;return 1".to_owned());
    assert!(result.is_ok());
}

#[test]
fn a_port_is_executed_as_a_script_is_with_the_same_records_and_receipts() {
    let ports = Arc::new(ports(&Gate::new()));
    block_on(async {
        let process = process(&ports, &[("nested", "call /ports/echo [2]")]).await;
        let before = process.version();
        let activation = process.exec("/ports/echo", value!({"a": 1})).await.unwrap();
        assert_eq!(activation.output, value!({"a": 1}));
        assert_eq!(
            (activation.version, activation.changed.len()),
            (before + 1, 0)
        );
        assert_eq!(activation.ports[0].name, "echo");
        let activation = process.exec("/lib/nested", value!(null)).await.unwrap();
        assert_eq!(activation.output, value!([2]));

        let operation = Operation::Exec {
            path: "/ports/write".parse().unwrap(),
            input: 5.into(),
        };
        let keyed = || Submission::plain(operation.clone()).keyed(request("port", "content"));
        process.submit(keyed()).await.unwrap();
        let calls = ports.asked().len();
        assert!(matches!(
            process.submit(keyed()).await.unwrap(),
            Outcome::Replayed(_)
        ));
        assert_eq!(ports.asked().len(), calls);
        let last = ports.asked().pop().unwrap();
        assert_eq!(last.submission.unwrap(), request("port", "content").key);

        for path in ["/ports/none", "/ports/echo/deeper", "/ports"] {
            let before = seen(&process);
            let refused = process.exec(path, value!(null)).await.unwrap_err();
            let expected = if path == "/ports/none" {
                "no_such_port"
            } else {
                "no_script"
            };
            assert_eq!(refused.code(), expected, "{path}");
            assert_eq!(seen(&process), before);
        }
    });
}

#[test]
fn a_repeated_call_has_the_same_key_and_no_other_call_has_it() {
    let ports = Arc::new(ports(&Gate::new()));
    let store = Arc::new(MemoryStore::new());
    let source = "port echo 1;port echo 1;port echo 2;port write 1;port ends";
    let built = builder("svit://local/ports")
        .library("many", script(source))
        .build();
    let exec = |process: &DurableProcess, key: Option<&str>| {
        let operation = Operation::Exec {
            path: "/lib/many".parse().unwrap(),
            input: value!(null),
        };
        let submission = Submission::plain(operation);
        let submission = match key {
            Some(key) => submission.keyed(request(key, "content")),
            None => submission,
        };
        let first = ports.asked().len();
        block_on(process.submit(submission)).unwrap_err();
        ports.keys().split_off(first)
    };
    let mut process = block_on(store.create(built.unwrap())).unwrap();
    let mut unkeyed = Vec::new();
    for _ in 0..2 {
        block_on(process.attach_ports(ports.clone())).unwrap();
        unkeyed.extend(exec(&process, None));
        unkeyed.extend(exec(&process, None));
        // After a restart as well.
        let guests = [crate::steps::Steps::guest()];
        process = block_on(DurableProcess::resume_with(
            store.clone(),
            "svit://local/ports",
            guests,
        ))
        .unwrap();
    }
    let unique: std::collections::BTreeSet<_> = unkeyed.iter().collect();
    assert_eq!((unkeyed.len(), unique.len()), (20, 20));

    // A rejection is remembered; without the receipt, as after an unknown outcome, it runs again.
    block_on(process.attach_ports(ports.clone())).unwrap();
    let first = exec(&process, Some("a"));
    let other = exec(&process, Some("b"));
    let fresh = block_on(
        MemoryStore::new().create(
            builder("svit://local/ports")
                .library("many", script(source))
                .build()
                .unwrap(),
        ),
    )
    .unwrap();
    block_on(fresh.attach_ports(ports.clone())).unwrap();
    assert_eq!(exec(&fresh, Some("a")), first);
    let unique: std::collections::BTreeSet<_> = first.iter().chain(&other).collect();
    assert_eq!(unique.len(), 10);
    assert!(
        first
            .iter()
            .all(|key| key.len() == 64 && !unkeyed.contains(key))
    );
}

fn noted(name: &str) -> Submission<'static> {
    let operation = Operation::Exec {
        path: format!("/lib/{name}").parse().unwrap(),
        input: value!(null),
    };
    Submission::plain(operation).noting_ports(|stage| match stage {
        PortStage::Started(request) => vec![("started".into(), value!((request.name.clone())))],
        PortStage::Finished(_, outcome) => vec![("finished".into(), value!(outcome.as_str()))],
        _ => Vec::new(),
    })
}

async fn kinds(process: &DurableProcess) -> Vec<String> {
    let events = process.recent_events(100).await.unwrap();
    events.iter().map(|event| event.kind.to_string()).collect()
}

#[test]
fn what_is_noted_of_a_call_is_durable_before_it_is_made_and_whatever_comes_after() {
    let ports = Arc::new(ports(&Gate::new()));
    block_on(async {
        let sources = [
            ("good", "port echo 1;try-port fails"),
            ("bad", "port write 1;runtime"),
        ];
        let process = process(&ports, &sources).await;
        process.submit(noted("good")).await.unwrap();
        assert_eq!(
            kinds(&process).await,
            ["started", "finished", "started", "finished"]
        );
        let before = seen(&process);
        process.submit(noted("bad")).await.unwrap_err();
        assert_eq!(kinds(&process).await.len(), 6);
        assert_eq!(seen(&process), before);
        assert_eq!(ports.asked().len(), 3);
    });
}

#[test]
fn a_note_that_the_store_does_not_take_ends_the_activation_before_or_after_the_call() {
    for (writes, calls) in [(1, 0), (2, 1)] {
        let ports = Arc::new(ports(&Gate::new()));
        let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
        block_on(async {
            let built = builder("svit://local/ports").library("call", script("try-port write 1"));
            let created = DurableProcess::create(store.clone(), built.build().unwrap());
            let process = created.await.unwrap();
            process.attach_ports(ports.clone()).await.unwrap();
            let before = seen(&process);
            store.at_write(store.writes() + writes, Fault::Fail);
            let failed = process.submit(noted("call")).await.unwrap_err();
            assert!(matches!(failed, Error::Store(_)), "{failed}");
            assert_eq!(ports.asked().len(), calls);
            assert_eq!(seen(&process), before);
            store.restore();
            process.submit(noted("call")).await.unwrap();
        });
    }
}
