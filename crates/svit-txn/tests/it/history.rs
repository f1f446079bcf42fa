//! The past: any kept version, across forks of forks, with the thread's events.

use std::sync::Arc;

use futures_lite::future::block_on;
use svit_tree::Source;
use svit_txn::{
    DurableProcess, EventQuery, Extras, HistoryQuery, Operation, ProcessStore, Submission,
};
use svit_value::{Value, value};

use crate::steps::{builder, seen};

async fn note(process: &DurableProcess, kinds: &[&str]) {
    let events = kinds
        .iter()
        .map(|&kind| (kind.into(), Value::from(process.address().as_str())));
    let events = events.collect();
    let submission = Submission::plain(Operation::Note).recording(move |_| Extras {
        events,
        ..Extras::default()
    });
    process.submit(submission).await.unwrap();
}

async fn create(store: &Arc<dyn ProcessStore>) -> DurableProcess {
    let built = builder("svit://local/root").build().unwrap();
    DurableProcess::create(store.clone(), built).await.unwrap()
}

async fn versions(process: &DurableProcess, query: HistoryQuery) -> Vec<(String, u64)> {
    let entries = process.history(query).await.unwrap();
    let shown = |entry: svit_txn::HistoryEntry| {
        let address = entry
            .transaction
            .address
            .as_str()
            .trim_start_matches("svit://local/");
        (address.to_owned(), entry.transaction.version)
    };
    entries.into_iter().map(shown).collect()
}

async fn shared(
    process: &DurableProcess,
    from: u64,
    limit: usize,
    newest_first: bool,
) -> Vec<(u64, String)> {
    let query = EventQuery {
        from,
        limit,
        newest_first,
    };
    let events = process.events(query).await.unwrap();
    let owner = |body: &Value| {
        body.as_str()
            .unwrap()
            .trim_start_matches("svit://local/")
            .to_owned()
    };
    events
        .into_iter()
        .map(|event| (event.seq, owner(&event.body)))
        .collect()
}

/// root: 0 to 4, child from 2: 3 to 5, grandchild from 4: 5 and 6.
async fn three(store: &Arc<dyn ProcessStore>) -> [DurableProcess; 3] {
    let root = create(store).await;
    for n in 1..=2 {
        root.write("/memory/n", n).await.unwrap();
    }
    let child = root.fork("svit://local/child").await.unwrap();
    for n in 3..=4 {
        root.write("/memory/n", n).await.unwrap();
    }
    child.write("/memory/n", 40).await.unwrap();
    let grandchild = child.fork("svit://local/grandchild").await.unwrap();
    child.write("/memory/n", 50).await.unwrap();
    grandchild.write("/memory/n", 600).await.unwrap();
    [root, child, grandchild]
}

#[test]
fn every_version_of_every_line_reads_as_it_was() {
    let (_, store) = crate::steps::store();
    block_on(async {
        let lines = three(&store).await;
        let expected: [&[Option<i64>]; 3] = [
            &[None, Some(1), Some(2), Some(3), Some(4)],
            &[None, Some(1), Some(2), Some(2), Some(40), Some(50)],
            &[
                None,
                Some(1),
                Some(2),
                Some(2),
                Some(40),
                Some(40),
                Some(600),
            ],
        ];
        for (process, expected) in lines.iter().zip(expected) {
            for (version, &n) in expected.iter().enumerate() {
                let found = process.read_at(version as u64, "/memory/n").await.unwrap();
                assert_eq!(
                    found.and_then(|n| n.as_int()),
                    n,
                    "{} at {version}",
                    process.address()
                );
            }
            let newest = expected.len() as u64 - 1;
            assert_eq!(process.version(), newest);
            let Err(svit_txn::Error::NoVersion {
                version,
                oldest,
                newest: last,
            }) = process.read_at(newest + 1, "/memory/n").await
            else {
                panic!("a version that is not there yet was read");
            };
            assert_eq!((version, oldest, last), (newest + 1, 0, newest));
            let whole = process.read_at(newest, "/").await.unwrap().unwrap();
            assert_eq!(whole.digest(), process.root_digest());
        }
        // Before its base a fork has its parent's identity, as it was.
        let identity = lines[2]
            .read_at(2, "/system/identity/address")
            .await
            .unwrap();
        assert_eq!(identity, Some("svit://local/root".into()));
        let identity = lines[2]
            .read_at(5, "/system/identity/address")
            .await
            .unwrap();
        assert_eq!(identity, Some("svit://local/grandchild".into()));
    });
}

#[test]
fn a_history_goes_on_before_the_fork() {
    let (_, store) = crate::steps::store();
    block_on(async {
        let [root, child, grandchild] = three(&store).await;
        let own = |name: &str, versions: std::ops::RangeInclusive<u64>| -> Vec<(String, u64)> {
            versions.map(|version| (name.to_owned(), version)).collect()
        };
        assert_eq!(
            versions(&root, HistoryQuery::default()).await,
            own("root", 1..=4)
        );
        let lines = [own("root", 1..=2), own("child", 3..=5)].concat();
        assert_eq!(versions(&child, HistoryQuery::default()).await, lines);
        let lines = [
            own("root", 1..=2),
            own("child", 3..=4),
            own("grandchild", 5..=6),
        ]
        .concat();
        assert_eq!(versions(&grandchild, HistoryQuery::default()).await, lines);
        for (from, to, limit) in [
            (0, 9, 2),
            (2, 5, 9),
            (2, 5, 3),
            (3, 3, 9),
            (6, 9, 9),
            (7, 9, 9),
            (5, 2, 9),
            (0, 9, 0),
        ] {
            let found = versions(
                &grandchild,
                HistoryQuery {
                    from,
                    to,
                    limit,
                    path: None,
                },
            )
            .await;
            let wanted = lines
                .iter()
                .filter(|(_, v)| (from..=to).contains(v))
                .take(limit);
            assert!(
                found.iter().eq(wanted),
                "{from} to {to}, at most {limit}: {found:?}"
            );
        }
        let entries = grandchild.history(HistoryQuery::default()).await.unwrap();
        let sources: Vec<Source> = entries
            .iter()
            .map(|entry| entry.transaction.source)
            .collect();
        assert_eq!(
            sources[2..],
            [Source::Fork, Source::Host, Source::Fork, Source::Host]
        );
        for pair in entries.windows(2) {
            if pair[0].transaction.address == pair[1].transaction.address {
                assert_eq!(pair[1].transaction.previous, pair[0].digest);
            }
        }
    });
}

#[test]
fn a_history_of_one_path_leaves_out_the_others() {
    let (_, store) = crate::steps::store();
    block_on(async {
        let root = create(&store).await;
        // More than one page of records, of which few are wanted.
        for n in 1..=600 {
            let path = match n % 200 {
                100 => "/memory/plan",
                0 => "/memory/plan/step",
                _ => "/memory/planet",
            };
            root.write(path, value!({"n": n})).await.unwrap();
        }
        let child = root.fork("svit://local/child").await.unwrap();
        child.write("/memory/plan", 1).await.unwrap();
        let of = |path: &str, from: u64, limit: usize| {
            let query = HistoryQuery {
                from,
                limit,
                path: Some(path.parse().unwrap()),
                ..HistoryQuery::default()
            };
            let child = &child;
            async move {
                let found = versions(child, query).await;
                found.into_iter().map(|(_, v)| v).collect::<Vec<_>>()
            }
        };
        let plan = [100, 200, 300, 400, 500, 600, 602];
        for path in ["/memory/plan", "/memory/plan/step", "/memory/plan/step/n"] {
            assert_eq!(of(path, 0, 99).await, plan, "{path}");
        }
        assert_eq!(of("/memory/plan/other", 0, 99).await, [100, 300, 500, 602]);
        assert_eq!(of("/memory/plan", 201, 3).await, [300, 400, 500]);
        assert_eq!(of("/memory/plan", 0, 0).await, [0; 0]);
        assert_eq!(of("/memory/planets", 0, 99).await, [0; 0]);
        assert_eq!(of("/memory", 590, 99).await.len(), 12);
    });
}

#[test]
fn lines_are_independent_and_each_resumes() {
    let (_, store) = crate::steps::store();
    block_on(async {
        let lines = three(&store).await;
        let before: Vec<_> = lines.iter().map(seen).collect();
        for (process, was) in lines.iter().zip(&before) {
            let again = crate::steps::resume(&store, process.address().as_str()).await;
            assert_eq!(seen(&again), *was);
            again.exec("/lib/counter", 1).await.unwrap();
            assert_eq!(again.version(), was.version + 1);
        }
        // Each was changed once, by its own owner.
        for (process, was) in lines.iter().zip(&before) {
            let again = crate::steps::resume(&store, process.address().as_str()).await;
            assert_eq!(again.version(), was.version + 1);
            assert_eq!(again.read("/memory/count").unwrap(), Some(7.into()));
        }
    });
}

#[test]
fn a_fork_of_an_address_that_is_taken_is_refused() {
    let (_, store) = crate::steps::store();
    block_on(async {
        let root = create(&store).await;
        for taken in ["svit://local/root", "svit://local/child"] {
            let forked = root.fork(taken).await;
            if taken.ends_with("child") {
                forked.unwrap();
                let again = root.fork(taken).await.unwrap_err();
                assert_eq!(again.code(), "already_exists");
            } else {
                assert_eq!(forked.unwrap_err().code(), "already_exists");
            }
        }
        let again = builder("svit://local/root").build().unwrap();
        let refused = DurableProcess::create(store.clone(), again)
            .await
            .unwrap_err();
        assert_eq!(refused.code(), "already_exists");
    });
}

#[test]
fn a_fork_copies_nothing_into_the_store() {
    let (memory, store) = crate::steps::store();
    block_on(async {
        let root = create(&store).await;
        root.write("/memory/large", "x".repeat(100_000))
            .await
            .unwrap();
        root.fork("svit://local/child").await.unwrap();
        let query = svit_txn::RecordQuery {
            from: 0,
            to: 99,
            limit: 99,
        };
        let child = "svit://local/child".parse().unwrap();
        let records = memory.records(&child, query).await.unwrap();
        assert_eq!(records.len(), 1);
        assert!(records[0].body.len() < 1_000, "{}", records[0].body.len());
    });
}

#[test]
fn events_up_to_the_last_turn_that_ended_are_shared() {
    let (_, store) = crate::steps::store();
    block_on(async {
        let root = create(&store).await;
        note(&root, &["turn.started", "turn.finished", "turn.started"]).await;
        let child = root.fork("svit://local/child").await.unwrap();
        // The third was of a turn that has not ended: the child does not have it.
        note(&child, &["a", "turn.failed", "b"]).await;
        note(&root, &["c", "turn.finished"]).await;
        let grandchild = child.fork("svit://local/grandchild").await.unwrap();
        note(&grandchild, &["d"]).await;
        let early = child.fork("svit://local/early").await.unwrap();

        let of = |owners: &[(u64, &str)]| -> Vec<(u64, String)> {
            owners
                .iter()
                .map(|&(seq, owner)| (seq, owner.to_owned()))
                .collect()
        };
        let all = of(&[
            (0, "root"),
            (1, "root"),
            (2, "root"),
            (3, "root"),
            (4, "root"),
        ]);
        assert_eq!(shared(&root, 0, 99, false).await, all);
        let all = of(&[
            (0, "root"),
            (1, "root"),
            (2, "child"),
            (3, "child"),
            (4, "child"),
        ]);
        assert_eq!(shared(&child, 0, 99, false).await, all);
        let all = of(&[
            (0, "root"),
            (1, "root"),
            (2, "child"),
            (3, "child"),
            (4, "grandchild"),
        ]);
        assert_eq!(shared(&grandchild, 0, 99, false).await, all);
        assert_eq!(shared(&early, 0, 99, false).await, all[..4]);
        for from in 0..6 {
            for limit in 0..6 {
                let up: Vec<_> = all
                    .iter()
                    .filter(|(seq, _)| *seq >= from)
                    .take(limit)
                    .cloned()
                    .collect();
                assert_eq!(
                    shared(&grandchild, from, limit, false).await,
                    up,
                    "up from {from}, {limit}"
                );
                let down = all.iter().rev().filter(|(seq, _)| *seq <= from).take(limit);
                let down: Vec<_> = down.cloned().collect();
                assert_eq!(
                    shared(&grandchild, from, limit, true).await,
                    down,
                    "down from {from}, {limit}"
                );
            }
        }
        let recent: Vec<u64> = grandchild
            .recent_events(3)
            .await
            .unwrap()
            .iter()
            .map(|e| e.seq)
            .collect();
        assert_eq!(recent, [2, 3, 4]);
        // They are numbered on after a restart.
        let again = crate::steps::resume(&store, "svit://local/grandchild").await;
        note(&again, &["e"]).await;
        assert_eq!(again.recent_events(1).await.unwrap()[0].seq, 5);
    });
}

#[test]
fn a_process_with_no_turn_that_ended_shares_no_events() {
    let (_, store) = crate::steps::store();
    block_on(async {
        let root = create(&store).await;
        let events = vec!["turn.started"; 200];
        note(&root, &events).await;
        let child = root.fork("svit://local/child").await.unwrap();
        assert!(child.recent_events(9).await.unwrap().is_empty());
        note(&root, &["turn.finished"]).await;
        note(&root, &events).await;
        let other = root.fork("svit://local/other").await.unwrap();
        assert_eq!(other.recent_events(1).await.unwrap()[0].seq, 200);
    });
}

#[test]
fn a_durable_process_starts_where_the_one_in_memory_stood() {
    let (_, store) = crate::steps::store();
    block_on(async {
        let plain = builder("svit://local/root").build().unwrap();
        plain.exec("/lib/counter", 1).unwrap();
        plain.enqueue("waiting").unwrap();
        let (version, root) = (plain.version(), plain.root_digest());
        let durable = DurableProcess::create(store.clone(), plain).await.unwrap();
        assert_eq!((durable.version(), durable.root_digest()), (version, root));
        durable.exec("/lib/counter", 1).await.unwrap();
        let again = crate::steps::resume(&store, "svit://local/root").await;
        assert_eq!(again.read("/memory/count").unwrap(), Some(8.into()));
        assert_eq!(
            again.read_at(2, "/memory/count").await.unwrap(),
            Some(7.into())
        );
        let Err(svit_txn::Error::NoVersion {
            oldest: 2,
            newest: 3,
            ..
        }) = again.read_at(1, "/").await
        else {
            panic!("a version before the base was read");
        };
        // A child of such a process, and what is before both bases.
        let child = again.fork("svit://local/child").await.unwrap();
        assert_eq!(
            child.read_at(2, "/memory/count").await.unwrap(),
            Some(7.into())
        );
        assert_eq!(
            child.read_at(1, "/").await.unwrap_err().code(),
            "no_version"
        );
        assert_eq!(
            child
                .read_at(0, value!("/").as_str().unwrap())
                .await
                .unwrap_err()
                .code(),
            "no_version"
        );
    });
}
