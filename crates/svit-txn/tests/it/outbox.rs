//! Intents: committed with the script that sent them, drained once by the host.

use futures_lite::future::block_on;
use svit_txn::{DurableProcess, LimitKind, Limits, Process};
use svit_value::{Digest, value};

use crate::steps::{builder, script};

const ADDRESS: &str = "svit://local/outbox";

fn process() -> Process {
    let limits = Limits {
        max_outbox: 6,
        ..Limits::default()
    };
    builder(ADDRESS)
        .limits(limits)
        .library("two", script("send \"a\";send \"b\""))
        .build()
        .unwrap()
}

fn ids(process: &Process, after: Option<&str>, limit: usize) -> Vec<String> {
    let intents = process.intents(after, limit).unwrap();
    intents
        .into_iter()
        .map(|intent| intent.id.trim_start_matches(ADDRESS).to_owned())
        .collect()
}

#[test]
fn intents_are_listed_in_order_and_in_pages() {
    let process = process();
    assert!(ids(&process, None, 9).is_empty());
    let sent = process.exec("/lib/two", value!(null)).unwrap().messages;
    assert_eq!(process.intents(None, 9).unwrap(), sent);
    for _ in 0..8 {
        process.write("/memory/x", 1).unwrap();
    }
    process.exec("/lib/two", value!(null)).unwrap();
    // By number: 10 comes behind 1, and not before 2.
    let all = ["#1.0", "#1.1", "#10.0", "#10.1"];
    assert_eq!(ids(&process, None, 9), all);
    assert_eq!(ids(&process, None, 3), all[..3]);
    let after = |n: &str| format!("{ADDRESS}{n}");
    assert_eq!(ids(&process, Some(&after("#1.0")), 2), all[1..3]);
    assert_eq!(ids(&process, Some(&after("#1.7")), 9), all[2..]);
    assert_eq!(ids(&process, Some(&after("#10.1")), 9), [""; 0]);
    assert_eq!(ids(&process, None, 0), [""; 0]);
}

#[test]
fn what_was_delivered_is_taken_out_once() {
    let process = process();
    let sent = process.exec("/lib/two", value!(null)).unwrap().messages;
    let (first, digest) = (&sent[0], sent[0].message.digest());
    let other = Digest::of(b"another");
    assert_eq!(
        process
            .acknowledge_intent(&first.id, other)
            .unwrap_err()
            .code(),
        "changed"
    );
    assert_eq!(process.version(), 1);
    process.acknowledge_intent(&first.id, digest).unwrap();
    assert_eq!(
        (process.version(), ids(&process, None, 9)),
        (2, vec!["#1.1".to_owned()])
    );
    assert_eq!(
        process
            .acknowledge_intent(&first.id, digest)
            .unwrap_err()
            .code(),
        "no_intent"
    );
    for bad in [
        "",
        "#1.1",
        "svit://local/other#1.1",
        "svit://local/outbox#01.1",
        "svit://local/outbox#1.01",
        "svit://local/outbox#1",
        "svit://local/outbox#1.1 ",
        "svit://local/outbox#+1.1",
        "svit://local/outbox#9.9",
    ] {
        let refused = process
            .acknowledge_intent(bad, sent[1].message.digest())
            .unwrap_err();
        assert_eq!(refused.code(), "no_intent", "{bad:?}");
    }
    assert_eq!(
        process.intents(Some("nonsense"), 9).unwrap_err().code(),
        "no_intent"
    );
}

#[test]
fn a_full_outbox_takes_more_once_it_is_drained() {
    let process = process();
    for _ in 0..3 {
        process.exec("/lib/two", value!(null)).unwrap();
    }
    let full = process.exec("/lib/two", value!(null)).unwrap_err();
    assert_eq!(full.code(), LimitKind::Outbox.name());
    for intent in process.intents(None, 2).unwrap() {
        process
            .acknowledge_intent(&intent.id, intent.message.digest())
            .unwrap();
    }
    process.exec("/lib/two", value!(null)).unwrap();
    assert_eq!(process.intents(None, 99).unwrap().len(), 6);
}

#[test]
fn a_durable_outbox_is_drained_across_a_restart() {
    let (_, store) = crate::steps::store();
    block_on(async {
        let durable = DurableProcess::create(store.clone(), process())
            .await
            .unwrap();
        let sent = durable
            .exec("/lib/two", value!(null))
            .await
            .unwrap()
            .messages;
        let change = durable
            .acknowledge_intent(&sent[0].id, sent[0].message.digest())
            .await
            .unwrap();
        assert_eq!((change.version, change.paths.len()), (2, 1));
        let again = crate::steps::resume(&store, ADDRESS).await;
        assert_eq!(again.intents(None, 9).unwrap(), sent[1..]);
        again
            .acknowledge_intent(&sent[1].id, sent[1].message.digest())
            .await
            .unwrap();
        let twice = again
            .acknowledge_intent(&sent[1].id, sent[1].message.digest())
            .await
            .unwrap_err();
        assert_eq!(twice.code(), "no_intent");
        assert!(again.intents(None, 9).unwrap().is_empty());
    });
}
