//! Children that a process finds again, and what it says about them at `/children`.

use std::sync::Arc;

use futures_lite::future::block_on;
use svit_txn::{DurableProcess, HistoryQuery, MemoryStore, Process, ProcessStore, StoreError};
use svit_value::{Value, value};

use crate::steps::{LANGUAGE, Steps, builder, resume, script, store};

const PARENT: &str = "svit://local/parent";
const CHILD: &str = "svit://local/parent/children/one";

fn parent(store: &Arc<dyn ProcessStore>) -> DurableProcess {
    let process = builder(PARENT).build().unwrap();
    block_on(DurableProcess::create(store.clone(), process)).unwrap()
}

fn count(process: &DurableProcess) -> Option<Value> {
    process.read("/memory/count").unwrap()
}

#[test]
fn a_child_is_forked_once_and_found_afterwards() {
    let (_, store) = store();
    let parent = parent(&store);
    block_on(parent.write("/memory/count", 7)).unwrap();
    let child = block_on(parent.child(CHILD)).unwrap();
    // With the parent's guests.
    let activation = block_on(child.exec("/lib/counter", 1)).unwrap();
    assert_eq!(activation.output, 8.into());
    block_on(parent.write("/memory/count", 100)).unwrap();

    // Whoever finds it takes it over.
    let again = block_on(parent.child(CHILD)).unwrap();
    assert_eq!(count(&again), Some(8.into()));
    let fenced = block_on(child.exec("/lib/counter", 1)).unwrap_err();
    assert_eq!(fenced.code(), "fenced");
    assert_eq!(
        block_on(again.exec("/lib/counter", 1)).unwrap().output,
        9.into()
    );

    // After a restart of both, and once its history was cut.
    block_on(again.cut(again.version())).unwrap();
    drop((parent, again));
    let parent = block_on(resume(&store, PARENT));
    let child = block_on(parent.child(CHILD)).unwrap();
    assert_eq!(count(&child), Some(9.into()));
    assert_eq!(count(&parent), Some(100.into()));
}

#[test]
fn what_is_no_child_of_this_process_is_neither_found_nor_taken_over() {
    let (_, store) = store();
    let parent = parent(&store);
    let stranger = Process::builder(CHILD)
        .unwrap()
        .guest(LANGUAGE, Steps::guest());
    let stranger = stranger.build().unwrap();
    let stranger = block_on(DurableProcess::create(store.clone(), stranger)).unwrap();
    let other = builder("svit://local/other").build().unwrap();
    let other = block_on(DurableProcess::create(store.clone(), other)).unwrap();
    let nephew = block_on(other.fork("svit://local/nephew")).unwrap();
    for (address, owner) in [(CHILD, &stranger), ("svit://local/nephew", &nephew)] {
        let refused = block_on(parent.child(address)).unwrap_err();
        let expected = StoreError::AlreadyExists {
            address: address.parse().unwrap(),
        };
        assert_eq!(refused.to_string(), expected.to_string());
        // Its owner has noticed nothing.
        block_on(owner.write("/memory/x", 1)).unwrap();
    }
    // Itself neither.
    assert_eq!(
        block_on(parent.child(PARENT)).unwrap_err().code(),
        "already_exists"
    );
    block_on(parent.write("/memory/count", 1)).unwrap();

    // One that was cut has lost what says whose it is but for its tree, which is looked at.
    block_on(nephew.cut(nephew.version())).unwrap();
    let refused = block_on(parent.child("svit://local/nephew")).unwrap_err();
    assert_eq!(refused.code(), "already_exists");
    let malformed = block_on(parent.child("svit://local/a b")).unwrap_err();
    assert_eq!(malformed.code(), "bad_address");
}

// THREAT[TM-TXN-7]
#[test]
fn a_child_of_one_that_was_deleted_is_no_child_of_the_next_of_that_name() {
    let (_, store) = store();
    let first = parent(&store);
    block_on(first.write("/memory/count", 7)).unwrap();
    let child = block_on(first.child(CHILD)).unwrap();
    block_on(child.write("/memory/count", 8)).unwrap();
    drop(child);
    block_on(first.delete()).unwrap();
    let second = parent(&store);
    let refused = block_on(second.child(CHILD)).unwrap_err();
    assert_eq!(refused.code(), "already_exists");
    // Also once it is as old as the first one was.
    block_on(second.write("/memory/count", 1)).unwrap();
    let refused = block_on(second.child(CHILD)).unwrap_err();
    assert_eq!(refused.code(), "already_exists");
    // The child lives on by itself.
    let child = block_on(resume(&store, CHILD));
    assert_eq!(count(&child), Some(8.into()));
}

#[test]
fn a_child_of_a_version_that_was_cut_is_not_taken_for_one() {
    let (_, store) = store();
    let parent = parent(&store);
    block_on(parent.write("/memory/count", 7)).unwrap();
    drop(block_on(parent.child(CHILD)).unwrap());
    block_on(parent.write("/memory/count", 8)).unwrap();
    block_on(parent.cut(1)).unwrap();
    // Where the history begins is still known.
    drop(block_on(parent.child(CHILD)).unwrap());
    block_on(parent.cut(2)).unwrap();
    let refused = block_on(parent.child(CHILD)).unwrap_err();
    assert_eq!(refused.code(), "already_exists");
}

#[test]
fn a_fork_by_anybody_is_a_child() {
    let (_, store) = store();
    let parent = parent(&store);
    drop(block_on(parent.fork(CHILD)).unwrap());
    let child = block_on(parent.child(CHILD)).unwrap();
    assert_eq!(count(&child), Some(6.into()));
}

#[test]
fn what_is_said_about_children_is_read_by_all_and_written_by_the_host_alone() {
    let (_, store) = store();
    let parent = parent(&store);
    block_on(parent.write("/lib/peek", script("give /children/one"))).unwrap();
    block_on(parent.write("/lib/poke", script("write /children/one 1"))).unwrap();
    let before = parent.version();
    let change = block_on(parent.record_child("one", value!({"state": "running"}))).unwrap();
    assert_eq!(change.version, before + 1);
    assert_eq!(change.source.as_str(), "host");
    assert_eq!(change.paths[0].path.to_string(), "/children/one");
    assert_eq!(
        block_on(parent.exec("/lib/peek", Value::Null))
            .unwrap()
            .output,
        value!({"state": "running"})
    );
    let refused = block_on(parent.exec("/lib/poke", Value::Null)).unwrap_err();
    assert_eq!(refused.code(), "denied");
    let refused = block_on(parent.write("/children/one", 1)).unwrap_err();
    assert_eq!(refused.code(), "denied");

    // In place of what was there; then gone.
    block_on(parent.record_child("one", value!({"state": "answered"}))).unwrap();
    block_on(parent.record_child("two", 2)).unwrap();
    let root = parent.root_digest();
    drop(parent);
    let parent = block_on(resume(&store, PARENT));
    assert_eq!(parent.root_digest(), root);
    assert_eq!(
        parent.read("/children").unwrap(),
        Some(value!({"one": {"state": "answered"}, "two": 2}))
    );
    block_on(parent.forget_child("one")).unwrap();
    assert_eq!(parent.read("/children").unwrap(), Some(value!({"two": 2})));
    let missing = block_on(parent.forget_child("one")).unwrap_err();
    assert_eq!(missing.code(), "missing");
    let query = HistoryQuery {
        path: Some("/children/one".parse().unwrap()),
        ..HistoryQuery::default()
    };
    assert_eq!(block_on(parent.history(query)).unwrap().len(), 3);

    // A fork has no children.
    let fork = block_on(parent.fork("svit://local/fork")).unwrap();
    assert_eq!(fork.read("/children").unwrap(), Some(value!({})));
}

#[test]
fn names_and_entries_that_cannot_be_kept_change_nothing() {
    let (_, store) = store();
    let parent = parent(&store);
    let root = parent.root_digest();
    for name in ["", ".", "..", "a\0", &"x".repeat(10_000)] {
        assert!(block_on(parent.record_child(name, 1)).is_err(), "{name:?}");
        assert!(block_on(parent.forget_child(name)).is_err(), "{name:?}");
    }
    let large = "x".repeat(64 << 20);
    let refused = block_on(parent.record_child("one", large)).unwrap_err();
    assert!(refused.code().starts_with("max_"), "{refused}");
    assert_eq!(parent.root_digest(), root);
}

#[test]
fn a_child_is_said_to_run_while_its_parent_runs_a_script() {
    let (guest, waiting) = Steps::gated();
    let store = Arc::new(MemoryStore::new());
    let process = Process::builder(PARENT)
        .unwrap()
        .guest(LANGUAGE, guest)
        .memory("count", 6)
        .library("slow", script("wait; add /memory/count 1"))
        .build()
        .unwrap();
    let parent = block_on(DurableProcess::create(store, process)).unwrap();
    let there = parent.clone();
    let running = std::thread::spawn(move || block_on(there.exec("/lib/slow", Value::Null)));
    waiting.reached();
    // Neither waits for the script, nor makes it run again.
    block_on(parent.record_child("one", 1)).unwrap();
    let child = block_on(parent.child(CHILD)).unwrap();
    assert_eq!(count(&child), Some(6.into()));
    waiting.go_on.send(()).unwrap();
    let activation = running.join().unwrap().unwrap();
    assert_eq!((activation.before, activation.output), (1, 7.into()));
    assert_eq!(parent.read("/children/one").unwrap(), Some(1.into()));
}
