//! What users call on a process in memory, and every refusal of it.

use futures_lite::future::block_on;
use svit_tree::{Node, Source};
use svit_txn::{Error, LimitKind, Limits, Process};
use svit_value::value;

use crate::steps::{builder, script, seen_in_memory};

fn process() -> Process {
    builder("svit://local/demo").build().unwrap()
}

#[test]
fn a_new_process_is_at_version_0_and_every_change_is_one_more() {
    let process = process();
    assert_eq!(
        (process.version(), process.base().root),
        (0, process.root_digest())
    );
    assert_eq!(process.write("/memory/a", 1).unwrap().version, 1);
    assert_eq!(process.remove("/memory/a").unwrap().version, 2);
    assert_eq!(process.enqueue("hello").unwrap(), 3);
    process.acknowledge(3).unwrap();
    let activation = process.exec("/lib/counter", 3).unwrap();
    assert_eq!((activation.before, activation.version), (4, 5));
    assert_eq!(activation.root, process.root_digest());
    assert_eq!((activation.output, process.version()), (9.into(), 5));
    let loaded: Vec<String> = activation
        .loaded
        .iter()
        .map(|read| read.path.to_string())
        .collect();
    assert_eq!(loaded, ["/memory/count"]);
    assert_eq!(activation.loaded[0].digest, Some(value!(6).digest()));
}

#[test]
fn a_run_that_changes_nothing_is_a_version_too() {
    let process = process();
    process
        .write("/lib/idle", script("read /memory/count"))
        .unwrap();
    let root = process.root_digest();
    let activation = process.exec("/lib/idle", value!(null)).unwrap();
    assert_eq!((activation.version, activation.changed.len()), (2, 0));
    assert_eq!((process.version(), process.root_digest()), (2, root));
    // So is a write of what is there.
    let change = process.write("/memory/count", 6).unwrap();
    assert_eq!(
        (change.version, change.paths.len(), change.root),
        (3, 0, root)
    );
}

#[test]
fn one_small_key_is_reported_as_itself() {
    let process = Process::builder("svit://local/small")
        .unwrap()
        .guest(crate::steps::LANGUAGE, crate::steps::Steps::guest())
        .memory("count", 6)
        .library("counter", script("add /memory/count input"))
        .build()
        .unwrap();
    let activation = process.exec("/lib/counter", 3).unwrap();
    assert_eq!(activation.changed, ["/memory/count".parse().unwrap()]);
}

#[test]
fn refusals_have_codes_and_change_nothing() {
    let process = process();
    let was = seen_in_memory(&process);
    let rows: Vec<(&str, Result<(), Error>)> = vec![
        ("bad_path", process.write("memory/x", 1).map(drop)),
        ("bad_path", process.read("/memory//x").map(drop)),
        ("bad_path", process.exec("", 1).map(drop)),
        ("denied", process.write("/memory", 1).map(drop)),
        ("denied", process.write("/", 1).map(drop)),
        (
            "denied",
            process.write("/system/limits/max_ticks", 1).map(drop),
        ),
        ("denied", process.write("/inbox/x", 1).map(drop)),
        ("denied", process.write("/other/x", 1).map(drop)),
        ("denied", process.remove("/lib").map(drop)),
        ("denied", process.remove("/thread/dead/1").map(drop)),
        ("no_parent", process.write("/memory/none/x", 1).map(drop)),
        ("wrong_kind", process.write("/memory/count/x", 1).map(drop)),
        ("missing", process.remove("/memory/none").map(drop)),
        ("no_script", process.exec("/lib/none", 1).map(drop)),
        ("no_script", process.exec("/memory/count", 1).map(drop)),
        ("no_script", process.exec("/lib", 1).map(drop)),
        (
            "no_script",
            process.exec("/lib/counter/source", 1).map(drop),
        ),
        (
            "syntax",
            process.write("/lib/x", script("syntax")).map(drop),
        ),
        (
            "panic",
            process.write("/lib/x", script("panic-in-check")).map(drop),
        ),
        (
            "bad_script",
            process.write("/lib/x", "only a text").map(drop),
        ),
        (
            "bad_script",
            process.remove("/lib/counter/source").map(drop),
        ),
        (
            "unknown_language",
            process
                .write("/lib/x", value!({"source": "1", "language": "none@1"}))
                .map(drop),
        ),
        ("no_message", process.acknowledge(1).map(drop)),
        ("bad_address", process.fork("demo").map(drop)),
        (
            "changed",
            process
                .write_if("/memory/count", 1, Some(value!(5).digest()))
                .map(drop),
        ),
        (
            "changed",
            process
                .write_if("/memory/none", 1, Some(value!(5).digest()))
                .map(drop),
        ),
        (
            "occupied",
            process.write_if("/memory/count", 1, None).map(drop),
        ),
    ];
    for (index, (code, result)) in rows.into_iter().enumerate() {
        let error = result.unwrap_err();
        assert_eq!(error.code(), code, "row {index}: {error}");
        assert!(!error.to_string().is_empty() && error.to_string().len() < 1_024);
    }
    assert_eq!(seen_in_memory(&process), was);
    process
        .write_if("/memory/count", 7, Some(value!(6).digest()))
        .unwrap();
    process.write_if("/memory/new", 7, None).unwrap();
}

#[test]
fn several_edits_are_one_transition_or_none() {
    let process = process();
    let change = process
        .transact(|tx| {
            tx.write("/memory/a", value!({}))?;
            tx.write("/memory/a/b", 1)?;
            assert_eq!(tx.read("/memory/a/b")?, Some(1.into()));
            tx.write("/lib/new", script("return 1"))?;
            tx.remove("/memory/kept")
        })
        .unwrap();
    assert_eq!((change.version, change.source), (1, Source::Host));
    assert_eq!(process.read("/memory/a/b").unwrap(), Some(1.into()));

    let was = seen_in_memory(&process);
    let refused = process.transact(|tx| {
        tx.write("/memory/z", 1)?;
        tx.remove("/memory/none")
    });
    assert_eq!(refused.unwrap_err().code(), "missing");
    // A script is checked as it stands at the end.
    let refused = process.transact(|tx| {
        tx.write("/memory/z", 1)?;
        tx.write("/lib/bad", script("syntax"))
    });
    assert_eq!(refused.unwrap_err().code(), "syntax");
    assert_eq!(seen_in_memory(&process), was);
    process
        .transact(|tx| {
            tx.write("/lib/bad", script("syntax"))?;
            tx.write("/lib/bad/source", "return 1")
        })
        .unwrap();
}

#[test]
fn a_builder_refuses_what_no_process_can_be() {
    let of = || builder("svit://local/x");
    let limits = |limits: Limits| of().limits(limits).build().map(drop);
    let small = |kind: fn(&mut Limits) -> &mut u64, value: u64| {
        let mut limits = Limits::default();
        *kind(&mut limits) = value;
        limits
    };
    let rows: Vec<(&str, Result<(), Error>)> = vec![
        ("bad_address", Process::builder("svit://x").map(drop)),
        ("bad_path", of().memory("", 1).build().map(drop)),
        ("bad_path", of().memory("..", 1).build().map(drop)),
        (
            "bad_path",
            of().library("a\0", script("")).build().map(drop),
        ),
        (
            "syntax",
            of().library("a", script("syntax")).build().map(drop),
        ),
        ("bad_script", of().library("a", 1).build().map(drop)),
        (
            "bad_script",
            of().library("a", value!({"source": 1})).build().map(drop),
        ),
        (
            "unknown_language",
            of().library("a", value!({"source": "", "language": "x"}))
                .build()
                .map(drop),
        ),
        ("bad_limit", limits(small(|l| &mut l.max_ticks, 0))),
        ("bad_limit", limits(small(|l| &mut l.max_ticks, u64::MAX))),
        (
            "max_tree_nodes",
            limits(small(|l| &mut l.max_tree_nodes, 10)),
        ),
        (
            "max_tree_bytes",
            limits(small(|l| &mut l.max_tree_bytes, 100)),
        ),
        (
            "max_text_bytes",
            limits(small(|l| &mut l.max_text_bytes, 5)),
        ),
        // The first one is reported.
        (
            "bad_path",
            of().memory("..", 1).library("a", 1).build().map(drop),
        ),
    ];
    for (index, (code, result)) in rows.into_iter().enumerate() {
        let error = result.unwrap_err();
        assert_eq!(error.code(), code, "row {index}: {error}");
    }
}

#[test]
fn a_documentation_is_bounded_as_every_written_value() {
    let entry = value!({"source": "", "documentation": "x".repeat(2_000), "language": "steps@1"});
    let limits = Limits {
        max_text_bytes: 1_000,
        ..Limits::default()
    };
    let error = builder("svit://local/x")
        .limits(limits)
        .library("a", entry)
        .build()
        .unwrap_err();
    assert_eq!(error.code(), "max_text_bytes");
}

#[test]
fn limits_stand_in_the_tree_and_are_read_back() {
    let limits = Limits {
        max_ticks: 5,
        max_inbox: 7,
        ..Limits::default()
    };
    let process = builder("svit://local/x")
        .limits(limits.clone())
        .build()
        .unwrap();
    for &kind in LimitKind::ALL {
        let row = process
            .read(format!("/system/limits/{}", kind.name()))
            .unwrap();
        assert_eq!(
            row.and_then(|row| row.as_int()),
            i64::try_from(limits.get(kind)).ok()
        );
    }
    let rows = limits.to_map();
    assert_eq!(rows.len(), LimitKind::ALL.len());
    assert_eq!(Limits::from_map(&rows).unwrap(), limits);

    let mut fewer = rows.clone();
    fewer.remove("max_ticks");
    assert_eq!(Limits::from_map(&fewer).unwrap().max_ticks, 1_000_000);
    for (name, value, code) in [
        ("max_ticks", value!(0), "bad_limit"),
        ("max_ticks", value!(-1), "bad_limit"),
        ("max_ticks", value!("5"), "bad_limit"),
        ("max_ticks", value!(1_000_000_001), "bad_limit"),
        ("max_unknown", value!(5), "unknown_limit"),
    ] {
        let mut rows = rows.clone();
        rows.insert(name, value).unwrap();
        assert_eq!(Limits::from_map(&rows).unwrap_err().code(), code, "{name}");
    }
}

// THREAT[TM-TXN-5]
#[test]
fn a_fork_has_its_own_identity_and_no_queues() {
    let parent = process();
    parent.write("/lib/send", script("send 1")).unwrap();
    parent.exec("/lib/send", value!(null)).unwrap();
    parent.enqueue("waiting").unwrap();
    let was = seen_in_memory(&parent);
    let child = parent.fork("svit://local/child").unwrap();
    assert_eq!((parent.version(), child.version()), (3, 4));
    assert_eq!(child.address().as_str(), "svit://local/child");
    assert_eq!(child.base().root, parent.root_digest());
    for empty in [
        "/inbox",
        "/system/outbox",
        "/children",
        "/tasks",
        "/ports",
        "/thread",
        "/system/capabilities",
    ] {
        assert!(child.discover(empty).unwrap().is_empty(), "{empty}");
    }
    let lineage = child.read("/system/lineage").unwrap().unwrap();
    assert_eq!(lineage.get("parent"), Some(&"svit://local/demo".into()));
    assert_eq!(lineage.get("version"), Some(&3.into()));
    assert_eq!(
        child.read("/system/identity/address").unwrap(),
        Some("svit://local/child".into())
    );
    assert_eq!(
        child.read("/memory").unwrap(),
        parent.read("/memory").unwrap()
    );

    child.exec("/lib/counter", 1).unwrap();
    parent.write("/memory/mine", 1).unwrap();
    assert_eq!(child.read("/memory/mine").unwrap(), None);
    assert_eq!(parent.read("/memory/count").unwrap(), Some(6.into()));
    let grandchild = child.fork("svit://local/grandchild").unwrap();
    assert_eq!(grandchild.read("/memory/count").unwrap(), Some(7.into()));
    assert_eq!(
        grandchild.read("/system/lineage/parent").unwrap(),
        Some("svit://local/child".into())
    );
    assert_ne!(seen_in_memory(&parent), was);
}

#[test]
fn the_same_steps_give_the_same_root_whenever_they_are_made() {
    let run = || {
        let process = process();
        process.enqueue(value!({"text": "hi"})).unwrap();
        process
            .write("/lib/send", script("send 1;log x;write /memory/y 2.5"))
            .unwrap();
        process.exec("/lib/send", value!(null)).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(3));
        process.fork("svit://local/child").unwrap().root_digest()
    };
    assert_eq!(run(), run());
}

#[test]
fn facts_about_a_path() {
    let process = process();
    let stat = process.stat("/memory/kept").unwrap().unwrap();
    assert_eq!(
        (stat.entries, stat.nodes, stat.digest),
        (Some(0), Some(1), Some(value!("as it was").digest()))
    );
    assert_eq!(process.stat("/memory/none").unwrap(), None);
    let names = process.discover("/").unwrap();
    assert_eq!(names.len(), Node::ALL.len());
}

#[test]
fn a_durable_process_edits_at_once_or_not_at_all() {
    block_on(async {
        let process = Process::builder("svit://local/durable-edits").unwrap();
        let process = process.memory("a", 1).build().unwrap();
        let process = svit_txn::MemoryStore::new().create(process).await.unwrap();
        let digest = |value: i64| Some(svit_value::Value::from(value).digest());
        let change = process.transact(|tx| {
            tx.write("/memory/a", 2)?;
            tx.write("/memory/b", 3)
        });
        let change = change.await.unwrap();
        assert_eq!((change.version, change.paths.len()), (1, 2));
        let failed = process.transact(|tx| {
            tx.write("/memory/a", 9)?;
            tx.remove("/memory/missing")
        });
        assert_eq!(failed.await.unwrap_err().code(), "missing");
        let stale = process.write_if("/memory/a", 9, digest(1)).await;
        assert_eq!(stale.unwrap_err().code(), "changed");
        let there = process.write_if("/memory/a", 9, None).await;
        assert_eq!(there.unwrap_err().code(), "occupied");
        process.write_if("/memory/a", 4, digest(2)).await.unwrap();
        process.write_if("/memory/c", 5, None).await.unwrap();
        assert_eq!(process.version(), 3);
        assert_eq!(process.read("/memory/a").unwrap(), Some(4.into()));
    });
}

#[test]
fn dead_letters_are_forgotten_once() {
    use svit_txn::{Operation, Outcome, Submission};
    block_on(async {
        let process = Process::builder("svit://local/dead").unwrap();
        let process = process.build().unwrap();
        let process = svit_txn::MemoryStore::new().create(process).await.unwrap();
        let enqueue = Operation::Enqueue {
            message: "hello".into(),
        };
        let Outcome::Enqueued { sequence } =
            process.submit(Submission::plain(enqueue)).await.unwrap()
        else {
            panic!("a message in the inbox");
        };
        assert_eq!(
            process.forget_dead(sequence).await.unwrap_err().code(),
            "no_message"
        );
        let bury = Operation::Bury {
            sequence,
            reason: "no use".into(),
        };
        process.submit(Submission::plain(bury)).await.unwrap();
        let letter = format!("/thread/dead/{sequence:016}/message");
        assert_eq!(process.read(&letter).unwrap(), Some("hello".into()));
        process.forget_dead(sequence).await.unwrap();
        assert_eq!(process.read(&letter).unwrap(), None);
        assert_eq!(
            process.forget_dead(sequence).await.unwrap_err().code(),
            "no_message"
        );
    });
}
