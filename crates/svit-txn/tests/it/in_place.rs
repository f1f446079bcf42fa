//! Who runs a script and who commits it: the caller's thread if it may wait, and one thread in any case.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use futures_lite::future;
use svit_testkit::fault::{Fault, FaultyStore};
use svit_tree::{Address, Change};
use svit_txn::{
    Batch, BoxFuture, DurableProcess, Hook, MemoryStore, Operation, ProcessStore, Proposed,
    Refusal, StoreResult, Submission,
};
use svit_value::{Digest, Value};

use crate::steps::builder;

const ADDRESS: &str = "svit://local/in-place";

/// Counts how its appends come.
#[derive(Default)]
struct Counting {
    inner: MemoryStore,
    is_busy: AtomicBool,
    /// What it says of it, which is true at another moment.
    seems_busy: AtomicBool,
    queued: AtomicU64,
    in_place: AtomicU64,
    on: Mutex<Vec<ThreadId>>,
}

impl Counting {
    /// Appends that were queued, and those in place, since it was last asked.
    fn counts(&self) -> (u64, u64) {
        let take = |count: &AtomicU64| count.swap(0, Ordering::SeqCst);
        (take(&self.queued), take(&self.in_place))
    }

    fn threads(&self) -> Vec<ThreadId> {
        std::mem::take(&mut self.on.lock().unwrap())
    }
}

impl ProcessStore for Counting {
    svit_testkit::forward_to_store!(inner: insert_base load claim records events receipt blocks
        put_checkpoint checkpoints cut forks trim_events delete collect addresses);

    fn append(
        &self,
        address: &Address,
        expected: Digest,
        epoch: u64,
        batch: Batch,
    ) -> BoxFuture<'_, StoreResult<()>> {
        self.queued.fetch_add(1, Ordering::SeqCst);
        self.inner.append(address, expected, epoch, batch)
    }

    fn append_in_place(
        &self,
        address: &Address,
        expected: Digest,
        epoch: u64,
        batch: &Batch,
    ) -> Option<StoreResult<()>> {
        if self.is_busy.load(Ordering::SeqCst) {
            return None;
        }
        self.in_place.fetch_add(1, Ordering::SeqCst);
        self.on.lock().unwrap().push(thread::current().id());
        self.inner.append_in_place(address, expected, epoch, batch)
    }

    fn can_append_in_place(&self) -> bool {
        !self.seems_busy.load(Ordering::SeqCst)
    }
}

/// Notes on which thread it is asked, just before a script runs there, and holds it up if it is to.
#[derive(Default)]
struct Where(Mutex<Vec<ThreadId>>, Mutex<Vec<u64>>, AtomicBool);

impl Hook for Where {
    fn name(&self) -> &str {
        "where"
    }

    fn before(&self, _: &Proposed<'_>) -> Result<(), Refusal> {
        while self.2.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        self.0.lock().unwrap().push(thread::current().id());
        Ok(())
    }

    fn committed(&self, change: &Change) {
        self.1.lock().unwrap().push(change.version);
    }
}

fn process(store: Arc<dyn ProcessStore>) -> (DurableProcess, Arc<Where>) {
    let spy = Arc::new(Where::default());
    let process = builder(ADDRESS).hook(spy.clone()).build().unwrap();
    let process = future::block_on(DurableProcess::create(store, process));
    (process.unwrap(), spy)
}

#[test]
fn a_thread_that_may_wait_runs_and_commits_itself() {
    let store = Arc::new(Counting::default());
    let (process, spy) = process(store.clone());
    let me = thread::current().id();
    svit_txn::block_on(async {
        process.exec("/lib/counter", 1).await.unwrap();
        process.write("/memory/x", 1).await.unwrap();
    });
    assert_eq!(*spy.0.lock().unwrap(), [me]);
    assert_eq!(store.threads(), [me, me]);
    assert_eq!(store.counts(), (0, 2));
    // Outside of it this is a thread like any other.
    future::block_on(process.write("/memory/x", 2)).unwrap();
    assert_eq!(store.counts(), (1, 0));
}

#[test]
fn elsewhere_one_thread_runs_a_script_and_commits_it() {
    let store = Arc::new(Counting::default());
    let (process, spy) = process(store.clone());
    let activation = future::block_on(process.exec("/lib/counter", 1)).unwrap();
    assert_eq!((activation.version, process.version()), (1, 1));
    let ran = spy.0.lock().unwrap().clone();
    assert_ne!(ran, [thread::current().id()]);
    assert_eq!(store.threads(), ran);
    assert_eq!(store.counts(), (0, 1));
    assert_eq!(*spy.1.lock().unwrap(), [1]);
}

#[test]
fn a_store_that_seems_busy_is_not_tried() {
    let store = Arc::new(Counting::default());
    let (process, _) = process(store.clone());
    store.seems_busy.store(true, Ordering::SeqCst);
    future::block_on(process.exec("/lib/counter", 1)).unwrap();
    assert_eq!(store.counts(), (1, 0));
}

#[test]
fn a_store_that_is_busy_gets_the_commit_as_ever() {
    let store = Arc::new(Counting::default());
    let (process, _) = process(store.clone());
    store.is_busy.store(true, Ordering::SeqCst);
    assert_eq!(
        future::block_on(process.exec("/lib/counter", 1))
            .unwrap()
            .version,
        1
    );
    assert_eq!(
        svit_txn::block_on(process.exec("/lib/counter", 1))
            .unwrap()
            .version,
        2
    );
    svit_txn::block_on(process.write("/memory/x", 1)).unwrap();
    assert_eq!(store.counts(), (3, 0));
}

#[test]
fn what_a_store_answers_in_place_counts_as_ever() {
    for waits in [false, true] {
        let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
        let (process, spy) = process(store.clone());
        let exec = || {
            let exec = process.exec("/lib/counter", 1);
            match waits {
                true => svit_txn::block_on(exec),
                false => future::block_on(exec),
            }
        };
        exec().unwrap();
        store.at_write(store.writes() + 1, Fault::Fail);
        assert_eq!(exec().unwrap_err().code(), "unavailable");
        assert_eq!(process.version(), 1);
        // It is not known, is looked for, and is there.
        store.at_write(store.writes() + 1, Fault::ForgetLanded);
        assert_eq!(exec().unwrap().version, 2);
        // It is not there, and is given once more.
        store.at_write(store.writes() + 1, Fault::ForgetLost);
        assert_eq!(exec().unwrap().version, 3);
        assert_eq!(
            process.read("/memory/count").unwrap(),
            Some(Value::Int(6 + 3))
        );
        assert_eq!(*spy.1.lock().unwrap(), [1, 2, 3]);
    }
}

#[test]
fn a_run_that_nobody_polls_holds_up_nobody() {
    for is_busy in [false, true] {
        let store = Arc::new(Counting::default());
        let (process, spy) = process(store.clone());
        store.is_busy.store(is_busy, Ordering::SeqCst);
        spy.2.store(true, Ordering::SeqCst);
        let (done, ended) = std::sync::mpsc::channel();
        thread::spawn(move || {
            let mut exec = pin!(process.exec("/lib/counter", 1));
            assert!(future::block_on(future::poll_once(&mut exec)).is_none());
            spy.2.store(false, Ordering::SeqCst);
            while spy.0.lock().unwrap().is_empty() {
                thread::yield_now();
            }
            thread::sleep(Duration::from_millis(20));
            // As in a branch of a `select!` whose other branch is the run.
            let message = Operation::Enqueue { message: 1.into() };
            future::block_on(process.submit(Submission::plain(message))).unwrap();
            assert!(future::block_on(exec).unwrap().version > 0);
            done.send(process.version()).unwrap();
        });
        let version = ended.recv_timeout(Duration::from_secs(60));
        assert_eq!(version, Ok(2), "busy: {is_busy}");
    }
}

#[test]
fn waiting_threads_take_turns_on_one_process() {
    let store = Arc::new(Counting::default());
    let (process, _) = process(store.clone());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..25 {
                    svit_txn::block_on(process.exec("/lib/counter", 1)).unwrap();
                }
            });
        }
    });
    assert_eq!(
        process.read("/memory/count").unwrap(),
        Some(Value::Int(6 + 100))
    );
}
