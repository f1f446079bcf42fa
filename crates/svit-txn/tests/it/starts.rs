//! Putting a process into a store that cannot say whether it has it: found out at once, and nobody
//! takes what is another's.

use std::sync::Arc;

use futures_lite::future::block_on;
use svit_testkit::fault::{Fault, FaultyStore};
use svit_txn::{DurableProcess, MemoryStore, ProcessStore};

use crate::steps::{builder, resume};

const ROOT: &str = "svit://local/root";
const CHILD: &str = "svit://local/child";

fn stores() -> (MemoryStore, Arc<FaultyStore>) {
    let memory = MemoryStore::new();
    let faulty = Arc::new(FaultyStore::new(Arc::new(memory.clone())));
    (memory, faulty)
}

async fn create(store: Arc<dyn ProcessStore>) -> Result<DurableProcess, svit_txn::Error> {
    DurableProcess::create(store, builder(ROOT).build().unwrap()).await
}

/// It is there once, whole, and owned by this handle.
async fn owned(memory: &MemoryStore, process: &DurableProcess) {
    let at = process.version();
    process.write("/memory/mine", 1).await.unwrap();
    let store: Arc<dyn ProcessStore> = Arc::new(memory.clone());
    let again = resume(&store, process.address().as_str()).await;
    assert_eq!(
        (again.version(), again.root_digest()),
        (at + 1, process.root_digest())
    );
    let fenced = process.write("/memory/mine", 2).await.unwrap_err();
    assert_eq!(fenced.code(), "fenced");
}

#[test]
fn a_creation_of_which_nothing_is_known_is_found_out() {
    for fault in [Fault::ForgetLost, Fault::ForgetLanded] {
        let (memory, faulty) = stores();
        faulty.at_write(1, fault);
        block_on(async {
            let process = create(faulty.clone()).await.unwrap();
            owned(&memory, &process).await;
        });
    }
    // Twice in a row is given up, and so is a store that cannot be asked.
    let (_, faulty) = stores();
    faulty.at_write(1, Fault::ForgetLost);
    faulty.at_write(2, Fault::ForgetLost);
    assert_eq!(
        block_on(create(faulty.clone())).unwrap_err().code(),
        "unknown"
    );
    for fault in [Fault::CutLost, Fault::CutLanded] {
        let (memory, faulty) = stores();
        faulty.at_write(1, fault);
        assert_eq!(
            block_on(create(faulty.clone())).unwrap_err().code(),
            "unknown"
        );
        let is_there = block_on(memory.load(&ROOT.parse().unwrap())).is_ok();
        assert_eq!(is_there, fault == Fault::CutLanded);
    }
}

#[test]
fn a_fork_of_which_nothing_is_known_is_found_out() {
    for fault in [Fault::ForgetLost, Fault::ForgetLanded] {
        let (memory, faulty) = stores();
        block_on(async {
            let process = create(faulty.clone()).await.unwrap();
            faulty.at_write(faulty.writes() + 1, fault);
            let child = process.fork(CHILD).await.unwrap();
            assert_eq!(child.version(), 1);
            owned(&memory, &child).await;
            assert_eq!(
                process.fork(CHILD).await.unwrap_err().code(),
                "already_exists"
            );
        });
    }
}

#[test]
fn what_another_has_made_is_not_taken_for_ones_own() {
    for fault in [Fault::ForgetLost, Fault::ForgetLanded] {
        // Another history under the name.
        let (memory, faulty) = stores();
        let store: Arc<dyn ProcessStore> = Arc::new(memory.clone());
        block_on(async {
            let other = builder(ROOT).memory("other", 1).build().unwrap();
            let other = DurableProcess::create(store.clone(), other).await.unwrap();
            faulty.at_write(1, Fault::ForgetLost);
            let refused = create(faulty.clone()).await.unwrap_err();
            assert_eq!(refused.code(), "already_exists", "{fault:?}");
            other.write("/memory/still", "mine").await.unwrap();
        });
        // The same process, with which somebody has gone on.
        let (memory, faulty) = stores();
        let store: Arc<dyn ProcessStore> = Arc::new(memory.clone());
        block_on(async {
            let other = create(store.clone()).await.unwrap();
            other.write("/memory/n", 1).await.unwrap();
            faulty.at_write(1, Fault::ForgetLost);
            let refused = create(faulty.clone()).await.unwrap_err();
            assert_eq!(refused.code(), "already_exists", "{fault:?}");
            other.write("/memory/still", "mine").await.unwrap();
        });
        // The same process, untouched: it makes no difference who made it, but it has one owner.
        let (memory, faulty) = stores();
        let store: Arc<dyn ProcessStore> = Arc::new(memory.clone());
        block_on(async {
            let other = create(store.clone()).await.unwrap();
            faulty.at_write(1, Fault::ForgetLost);
            let process = create(faulty.clone()).await.unwrap();
            owned(&memory, &process).await;
            assert_eq!(
                other.write("/memory/n", 1).await.unwrap_err().code(),
                "fenced"
            );
        });
    }
}

#[test]
fn a_fork_is_one_call_of_the_store() {
    let (_, faulty) = stores();
    block_on(async {
        let process = create(faulty.clone()).await.unwrap();
        crate::keeping::note(&process, &["turn.finished", "turn.started"]).await;
        let before = faulty.calls();
        let child = process.fork(CHILD).await.unwrap();
        assert_eq!((faulty.calls() - before, child.events_end()), (1, 1));
        // A handle that does not know where the last turn ended looks once.
        let store: Arc<dyn ProcessStore> = faulty.clone();
        let again = resume(&store, CHILD).await;
        let first = again.fork("svit://local/first").await.unwrap();
        let before = faulty.calls();
        let second = again.fork("svit://local/second").await.unwrap();
        assert_eq!(faulty.calls() - before, 1);
        assert_eq!((first.events_end(), second.events_end()), (1, 1));
        // Events of one's own are one call too, however many ancestors there are.
        crate::keeping::note(&second, &["a", "b"]).await;
        let before = faulty.calls();
        assert_eq!(second.recent_events(2).await.unwrap().len(), 2);
        assert_eq!(faulty.calls() - before, 1);
    });
}
