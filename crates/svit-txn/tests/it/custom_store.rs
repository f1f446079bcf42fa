//! The example of a store of one's own, against the conformance suite and torn files.

#[path = "../../examples/custom_store.rs"]
mod example;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use example::LogStore;
use futures_lite::future::block_on;
use svit_testkit::conformance;
use svit_txn::{DurableProcess, ProcessStore};

use crate::steps::{Steps, builder, seen};

/// A folder that is removed with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("svit-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_store_of_ones_own_keeps_every_rule() {
    let folder = Folder::new("custom-store");
    let number = AtomicU32::new(0);
    let make = async || {
        let number = number.fetch_add(1, Ordering::Relaxed);
        Arc::new(LogStore::open(folder.0.join(number.to_string())).unwrap())
    };
    block_on(conformance::store(make)).unwrap();
}

#[test]
fn a_file_that_is_cut_anywhere_holds_a_prefix_of_what_was_done() {
    let folder = Folder::new("custom-store-cut");
    let path = folder.0.join("log");
    let mut states = Vec::new();
    block_on(async {
        let store = Arc::new(LogStore::open(&path).unwrap());
        let process = DurableProcess::create(store, builder("svit://local/cut").build().unwrap());
        let process = process.await.unwrap();
        states.push(seen(&process));
        for n in 0..4 {
            process.exec("/lib/counter", n).await.unwrap();
            states.push(seen(&process));
        }
    });
    let whole = fs::read(&path).unwrap();
    let mut reached = 0;
    for len in (0..=whole.len()).step_by(97).chain([whole.len()]) {
        fs::write(&path, &whole[..len]).unwrap();
        block_on(async {
            let store: Arc<dyn ProcessStore> = Arc::new(LogStore::open(&path).unwrap());
            let resumed = DurableProcess::resume_with(store, "svit://local/cut", [Steps::guest()]);
            match resumed.await {
                Ok(process) => {
                    let version = process.version() as usize;
                    assert_eq!(seen(&process), states[version], "cut to {len}");
                    assert!(version >= reached, "cut to {len}");
                    reached = version;
                }
                Err(error) => assert_eq!((error.code(), reached), ("not_found", 0)),
            }
        });
    }
    assert_eq!(reached, 4);
}
