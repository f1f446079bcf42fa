//! A store of one's own, from imports of `svit` alone, passes the conformance suite.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Arc, Mutex};

use svit::store::*;
use svit::{Process, ProcessStoreExt};
use svit_testkit::conformance;

/// A map in memory: what a database with ordered keys would be.
#[derive(Default)]
struct OwnMap(Mutex<BTreeMap<Vec<u8>, Vec<u8>>>);

impl KeyValue for OwnMap {
    fn get(&self, key: Vec<u8>) -> BoxFuture<'_, StoreResult<Option<Vec<u8>>>> {
        Box::pin(ready(Ok(self.0.lock().unwrap().get(&key).cloned())))
    }

    fn scan(&self, scan: KeyScan) -> BoxFuture<'_, StoreResult<Vec<KeyPair>>> {
        let map = self.0.lock().unwrap();
        let found = map
            .range(scan.keys)
            .map(|(key, value)| (key.clone(), value.clone()));
        Box::pin(ready(Ok(match scan.reverse {
            true => found.rev().take(scan.limit).collect(),
            false => found.take(scan.limit).collect(),
        })))
    }

    fn write(&self, changes: Vec<KeyChange>) -> BoxFuture<'_, StoreResult<()>> {
        let mut map = self.0.lock().unwrap();
        for (key, value) in changes {
            match value {
                Some(value) => map.insert(key, value),
                None => map.remove(&key),
            };
        }
        Box::pin(ready(Ok(())))
    }
}

fn own_store() -> Arc<KeyValueStore> {
    Arc::new(KeyValueStore::new(OwnMap::default()))
}

#[tokio::test]
async fn it_passes_the_conformance_suite() {
    conformance::store(async || own_store()).await.unwrap();
}

#[tokio::test]
async fn processes_live_in_it_as_in_any_other() {
    let store: Arc<dyn ProcessStore> = own_store();
    let process = Process::builder("svit://local/own")
        .unwrap()
        .build()
        .unwrap();
    let process = store.create(process).await.unwrap();
    process.write("/memory/color", "teal").await.unwrap();
    let child = process.fork("svit://local/own-child").await.unwrap();
    child.write("/memory/color", "red").await.unwrap();
    drop(process);
    let again = store.resume("svit://local/own").await.unwrap();
    assert_eq!(again.read("/memory/color").unwrap(), Some("teal".into()));
    assert_eq!(store.list(None, 10).await.unwrap().len(), 2);
}
