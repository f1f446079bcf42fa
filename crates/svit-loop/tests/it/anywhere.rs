//! A program that is stopped anywhere and started again ends as one that was never stopped.

use std::future::Future;
use std::sync::Arc;

use svit_loop::LoopError;
use svit_testkit::fault::{Fault, FaultyStore};
use svit_txn::{MemoryStore, ProcessStore};

use crate::common::{End, assert_whole, create, end_of, resume};
use crate::crash::hangs;

/// Plays a story, once from beginning to end, and again with a stop at each call of the store, after
/// each write, and between polls; then goes on from the same store. Returns the end, which is always
/// the same.
pub(crate) async fn stopped_anywhere<F, Played>(play: F) -> End
where
    F: Fn(Arc<dyn ProcessStore>) -> Played,
    Played: Future<Output = Result<(), LoopError>>,
{
    let (memory, store) = faulty().await;
    play(store.clone()).await.unwrap();
    let (calls, writes) = (store.calls(), store.writes());
    let end = end_of(&resume(Arc::new(memory)).await.unwrap()).await;

    let go_on = async |memory: MemoryStore, when: &str| {
        let store: Arc<dyn ProcessStore> = Arc::new(memory);
        assert_whole(&resume(store.clone()).await.unwrap(), when).await;
        play(store.clone())
            .await
            .unwrap_or_else(|error| panic!("{when}: {error}"));
        let found = resume(store).await.unwrap();
        assert_whole(&found, when).await;
        end_of(&found).await.assert_is(&end, when);
    };
    for number in 1..=calls {
        let (memory, store) = faulty().await;
        store.at_call(number, Fault::HangLost);
        tokio::select! {
            _ = play(store.clone()) => {}
            () = hangs(store) => {}
        }
        go_on(memory, &format!("before call {number}")).await;
    }
    for fault in [Fault::HangLanded, Fault::ForgetLost, Fault::ForgetLanded] {
        for number in 1..=writes {
            let (memory, store) = faulty().await;
            store.at_write(number, fault);
            tokio::select! {
                _ = play(store.clone()) => {}
                () = hangs(store) => {}
            }
            go_on(memory, &format!("{fault:?} at write {number}")).await;
        }
    }
    for rounds in (0..40).chain((40..400).step_by(7)) {
        let (memory, store) = faulty().await;
        let stopped = async {
            for _ in 0..rounds {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            _ = play(store) => {}
            () = stopped => {}
        }
        go_on(memory, &format!("after {rounds} rounds")).await;
    }
    end
}

async fn faulty() -> (MemoryStore, Arc<FaultyStore>) {
    let memory = MemoryStore::new();
    create(Arc::new(memory.clone())).await;
    let store = FaultyStore::new(Arc::new(memory.clone()));
    (memory, Arc::new(store))
}
