//! The suite that every store passes: alone, with many callers, and opened again all the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use svit_store_turso::{OpenOptions, TursoProcessStore};
use svit_testkit::{conformance, generate, oracle};

use crate::common::place;

#[tokio::test]
async fn every_rule_holds_with_and_without_group_commit() {
    for (batch, recent) in [(1, 0), (64, 512), (64, 1)] {
        let place = place();
        let number = AtomicU32::new(0);
        let made = conformance::store(async || {
            let number = number.fetch_add(1, Ordering::Relaxed);
            let path = place.folder.path().join(format!("{number}.db"));
            let options = OpenOptions::new()
                .batch(batch)
                .wal_pages(8)
                .recent_records(recent);
            Arc::new(TursoProcessStore::open_with(path, options).await.unwrap())
        });
        made.await.unwrap();
    }
}

#[tokio::test]
async fn every_rule_holds_when_the_store_is_opened_again_before_each_read() {
    let place = place();
    let number = AtomicU32::new(0);
    let make = async || {
        let number = number.fetch_add(1, Ordering::Relaxed);
        let path = place.folder.path().join(format!("{number}.db"));
        Arc::new(TursoProcessStore::open(path).await.unwrap())
    };
    let made = conformance::durable_store(make, |store| {
        Box::pin(async move {
            store.close().await.unwrap();
            Arc::new(TursoProcessStore::open(store.path()).await.unwrap())
        })
    });
    made.await.unwrap();
}

#[tokio::test]
async fn histories_are_what_the_oracle_says() {
    for (seed, recent) in [(11, 512), (12, 5)] {
        let place = place();
        let options = OpenOptions::new().recent_records(recent);
        let store = TursoProcessStore::open_with(&place.path, options).await;
        let store = Arc::new(store.unwrap());
        let ran = oracle::run(store, &generate::steps(seed, 200)).await;
        let ran = ran.unwrap_or_else(|wrong| panic!("seed {seed}, {wrong}"));
        assert!(ran.committed > 30, "{ran:?}");
    }
}
