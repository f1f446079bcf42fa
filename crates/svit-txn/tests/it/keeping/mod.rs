//! What is kept and what is forgotten: checkpoints, cuts, deletions, old events, garbage.

mod checkpoints;
mod cuts;
mod deletions;
mod policy;
mod races;

use std::sync::Arc;

use svit_txn::{
    DurableProcess, Error, EventQuery, Extras, MemoryStore, Operation, ProcessStore, StoreError,
    Submission,
};
use svit_value::{Digest, Map, Value, ValueLimits, value};

use crate::steps::builder;

pub(crate) const ROOT: &str = "svit://local/root";
pub(crate) const CHILD: &str = "svit://local/child";

/// A process with a counter at `/memory/n`, which is its version, and something large.
pub(crate) async fn counted(store: Arc<dyn ProcessStore>, to: u64) -> DurableProcess {
    let large = Map::from_entries((0..300).map(|n| (format!("key {n}"), n))).unwrap();
    let built = builder(ROOT).memory("n", 0).memory("large", large);
    let process = DurableProcess::create(store, built.build().unwrap())
        .await
        .unwrap();
    count(&process, to).await;
    process
}

/// Goes on counting up to a version.
pub(crate) async fn count(process: &DurableProcess, to: u64) {
    for n in process.version() + 1..=to {
        write_n(process, n).await.unwrap();
    }
}

pub(crate) async fn write_n(process: &DurableProcess, n: u64) -> Result<(), Error> {
    let n = i64::try_from(n).unwrap();
    process.write("/memory/n", n).await.map(drop)
}

pub(crate) async fn n_at(process: &DurableProcess, version: u64) -> Result<i64, String> {
    match process.read_at(version, "/memory/n").await {
        Ok(n) => Ok(n.unwrap().as_int().unwrap()),
        Err(error) => Err(error.code().to_owned()),
    }
}

/// Records events of these kinds, nothing else.
pub(crate) async fn note(process: &DurableProcess, kinds: &[&str]) {
    let events = kinds.iter().map(|&kind| (kind.into(), value!(null)));
    let events = events.collect();
    let submission = Submission::plain(Operation::Note).recording(move |_| Extras {
        events,
        ..Extras::default()
    });
    process.submit(submission).await.unwrap();
}

pub(crate) async fn event_numbers(process: &DurableProcess) -> Vec<u64> {
    let query = EventQuery {
        from: 0,
        limit: 99,
        newest_first: false,
    };
    let events = process.events(query).await.unwrap();
    events.into_iter().map(|event| event.seq).collect()
}

/// The value whose blocks are in a store, if all of them are.
pub(crate) async fn whole(store: &MemoryStore, root: Digest) -> Option<Value> {
    let mut known = std::collections::HashMap::new();
    let mut wanted = vec![root];
    while let Some(digest) = wanted.pop() {
        let block = store.blocks(vec![digest]).await.unwrap().remove(0)?;
        wanted.extend(svit_value::links(&block).unwrap());
        known.insert(digest, block);
    }
    let mut source = |digest| known.get(&digest).cloned();
    Value::from_blocks(root, &mut source, &ValueLimits::default()).ok()
}

pub(crate) fn not_found<T: std::fmt::Debug>(result: Result<T, Error>) {
    let is_it = matches!(&result, Err(Error::Store(StoreError::NotFound { .. })));
    assert!(is_it, "{result:?}");
}
