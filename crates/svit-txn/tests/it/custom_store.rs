//! The example of a store of one's own, against the conformance suite, and torn and damaged files.

#[path = "../../examples/custom_store.rs"]
mod example;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use example::LogMap;
use futures_lite::future::block_on;
use svit_testkit::conformance;
use svit_txn::{DurableProcess, KeyValueStore, ProcessStore, StoreError};

use crate::steps::{Seen, Steps, builder, seen};

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

fn open(path: impl AsRef<Path>) -> Result<Arc<KeyValueStore>, StoreError> {
    Ok(Arc::new(KeyValueStore::new(LogMap::open(path)?)))
}

#[test]
fn a_store_of_ones_own_keeps_every_rule_whenever_it_is_opened_again() {
    let folder = Folder::new("custom-store");
    let number = AtomicU32::new(0);
    let newest = Arc::new(std::sync::Mutex::new(PathBuf::new()));
    let make = async || {
        let number = number.fetch_add(1, Ordering::Relaxed);
        let path = folder.0.join(number.to_string());
        newest.lock().unwrap().clone_from(&path);
        open(path).unwrap()
    };
    let path = newest.clone();
    let held = conformance::durable_store(make, move |store| {
        drop(store);
        let path = path.lock().unwrap().clone();
        Box::pin(async move { open(path).unwrap() })
    });
    block_on(held).unwrap();
}

/// What a process looked like at each version, and the log.
fn history(path: &Path) -> (Vec<Seen>, Vec<u8>) {
    let mut states = Vec::new();
    block_on(async {
        let store = open(path).unwrap();
        let process = DurableProcess::create(store, builder("svit://local/cut").build().unwrap());
        let process = process.await.unwrap();
        states.push(seen(&process));
        for n in 0..4 {
            process.exec("/lib/counter", n).await.unwrap();
            states.push(seen(&process));
        }
    });
    (states, fs::read(path).unwrap())
}

async fn resume(store: Arc<dyn ProcessStore>) -> Result<DurableProcess, svit_txn::Error> {
    DurableProcess::resume_with(store, "svit://local/cut", [Steps::guest()]).await
}

#[test]
fn a_file_that_is_cut_anywhere_holds_a_prefix_of_what_was_done() {
    let folder = Folder::new("custom-store-cut");
    let path = folder.0.join("log");
    let (states, whole) = history(&path);
    let mut reached = 0;
    for len in (0..=whole.len()).step_by(97).chain([whole.len()]) {
        // What a crash may leave behind a cut: nothing, or room that was never written.
        for room in [0, 1, 60] {
            fs::write(&path, [&whole[..len], &vec![0; room]].concat()).unwrap();
            let store = match open(&path) {
                Ok(store) => store,
                // Zeros where a part of a frame was looks the same as damage.
                Err(error) => {
                    assert!(room > 0 && error.code() == "corrupt", "cut to {len}");
                    continue;
                }
            };
            block_on(async {
                match resume(store).await {
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
    }
    assert_eq!(reached, 4);
}

#[test]
fn a_flipped_bit_is_a_typed_error_unless_it_is_in_the_last_frame() {
    let folder = Folder::new("custom-store-flips");
    let path = folder.0.join("log");
    let (states, whole) = history(&path);
    let (mut damaged, mut torn) = (0, 0);
    for at in (0..whole.len()).step_by(7) {
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (at % 8);
        fs::write(&path, flipped).unwrap();
        match open(&path) {
            Err(error) => {
                assert_eq!(error.code(), "corrupt", "byte {at}");
                damaged += 1;
            }
            // The last frame cannot be told from one that was torn; and it is never taken as it is.
            Ok(store) => block_on(async {
                let process = resume(store).await.unwrap();
                assert_eq!(process.version() as usize, states.len() - 2, "byte {at}");
                assert_eq!(seen(&process), states[states.len() - 2], "byte {at}");
                torn += 1;
            }),
        }
    }
    assert!(damaged > torn && torn > 0, "{damaged} and {torn}");
}

#[test]
fn the_example_is_as_short_as_is_said_of_it() {
    let source = include_str!("../../examples/custom_store.rs");
    let lines = source.lines().count();
    assert!(lines < 200, "{lines} lines");
}
