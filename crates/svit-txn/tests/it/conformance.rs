//! The stores of this crate against the conformance suite.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Arc, Mutex};

use futures_lite::future::block_on;
use svit_testkit::fault::FaultyStore;
use svit_testkit::{conformance, generate, oracle};
use svit_txn::{
    BoxFuture, KeyChange, KeyPair, KeyScan, KeyValue, KeyValueStore, MemoryStore, StoreResult,
};

/// An ordered map in memory.
#[derive(Default)]
pub(crate) struct Pairs(pub(crate) Mutex<BTreeMap<Vec<u8>, Vec<u8>>>);

impl KeyValue for Pairs {
    fn get(&self, key: Vec<u8>) -> BoxFuture<'_, StoreResult<Option<Vec<u8>>>> {
        Box::pin(ready(Ok(self.0.lock().unwrap().get(&key).cloned())))
    }

    fn scan(&self, scan: KeyScan) -> BoxFuture<'_, StoreResult<Vec<KeyPair>>> {
        let pairs = self.0.lock().unwrap();
        let found = pairs
            .range(scan.keys)
            .map(|(key, value)| (key.clone(), value.clone()));
        Box::pin(ready(Ok(match scan.reverse {
            true => found.rev().take(scan.limit).collect(),
            false => found.take(scan.limit).collect(),
        })))
    }

    fn write(&self, changes: Vec<KeyChange>) -> BoxFuture<'_, StoreResult<()>> {
        let mut pairs = self.0.lock().unwrap();
        for (key, value) in changes {
            assert!(key.len() <= 1_024, "a key of {} bytes", key.len());
            match value {
                Some(value) => pairs.insert(key, value),
                None => pairs.remove(&key),
            };
        }
        Box::pin(ready(Ok(())))
    }
}

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

#[test]
fn a_store_on_an_ordered_map_keeps_every_rule() {
    let make = async || Arc::new(KeyValueStore::new(Pairs::default()));
    block_on(conformance::store(make)).unwrap();
}

#[test]
fn histories_on_an_ordered_map_are_what_the_oracle_says() {
    for seed in 0..4 {
        let store = Arc::new(KeyValueStore::new(Pairs::default()));
        let ran = block_on(oracle::run(store, &generate::steps(seed, 300)));
        let ran = ran.unwrap_or_else(|wrong| panic!("seed {seed}, {wrong}"));
        assert!(ran.committed > 50 && ran.processes > 3, "{ran:?}");
    }
}
