//! The reference store against the conformance suite.

use std::sync::Arc;

use futures_lite::future::block_on;
use svit_testkit::conformance;
use svit_testkit::fault::FaultyStore;
use svit_txn::MemoryStore;

#[test]
fn the_memory_store_keeps_every_rule() {
    let make = async || Arc::new(MemoryStore::new());
    block_on(conformance::store(make)).unwrap();
}

#[test]
fn a_faulty_store_without_faults_keeps_every_rule() {
    let make = async || Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    block_on(conformance::store(make)).unwrap();
}
