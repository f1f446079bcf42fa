//! The oracle against the reference store, and against one that is wrong.

use futures_lite::future::block_on;
use svit_txn::MemoryStore;

use super::*;
use crate::fault::{Fault, FaultyStore};

#[test]
fn histories_in_memory_are_what_the_model_says() {
    let mut all = Ran::default();
    for seed in 0..12 {
        let store = Arc::new(MemoryStore::new());
        let ran = block_on(run(store, &generate::steps(seed, 250)));
        let ran = ran.unwrap_or_else(|wrong| panic!("seed {seed}, {wrong}"));
        all.committed += ran.committed;
        all.processes += ran.processes;
        all.collected += ran.collected;
    }
    assert!(all.committed > 1_000, "{all:?}");
    assert!(all.processes > 50 && all.collected > 100, "{all:?}");
}

#[test]
fn a_store_that_does_not_do_what_is_asked_is_seen() {
    let steps = generate::steps(1, 60);
    let mut seen = 0;
    for write in 2..22 {
        let store = FaultyStore::new(Arc::new(MemoryStore::new()));
        store.at_write(write, Fault::Fail);
        if let Err(wrong) = block_on(run(Arc::new(store), &steps)) {
            assert!(wrong.at < 60 && wrong.step.is_some(), "{wrong}");
            seen += 1;
        }
    }
    // A checkpoint that fails is tried again, and nobody need know.
    assert!(seen > 15, "{seen} of 20");
}

#[test]
fn a_root_that_differs_is_told_by_what_differs() {
    let expected = Expected {
        version: 3,
        count: 2,
        ..Expected::default()
    };
    let root = svit_value::value!({"memory": {"count": 2, "k1": null}, "inbox": {}});
    let seen = expected.differs(&root).unwrap();
    assert!(seen.contains("k1"), "{seen}");
    let write = Action::Write {
        key: 1,
        value: Value::Null,
    };
    assert_eq!(expected.after(&write).unwrap().differs(&root), None);
    assert_eq!(expected.after(&Action::Remove { key: 1 }), None);
}
