//! The process is stopped at every await point, and the store fails at every call. However that
//! goes, the story ends the same: nothing is done twice, and nothing is lost.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use svit_loop::{LoopError, Svit};
use svit_model::{
    BoxFuture, Message, ModelError, ModelEvent, ModelLimits, ModelRequest, ModelStream, Provider,
};
use svit_testkit::fault::{Fault, FaultyStore};
use svit_txn::{MemoryStore, ProcessStore};
use svit_value::value;

use crate::common::{End, answers, assert_whole, create, end_of, resume, story, svit};

/// Sends what the story begins with, starts, and waits until all is answered.
async fn play(
    store: Arc<dyn ProcessStore>,
    model: impl Provider + 'static,
) -> Result<(), LoopError> {
    let mut svit = svit(resume(store).await?, model).await?;
    begin(&svit).await?;
    svit.block().await
}

/// All messages are there before the loop starts, so that versions do not depend on time.
async fn begin(svit: &Svit) -> Result<(), LoopError> {
    let inbox = svit.inbox();
    for (key, text) in [
        ("one", "Count to seven."),
        ("two", "Forget the color."),
        ("three", "Do the impossible."),
        ("four", "Still there?"),
    ] {
        inbox.send_keyed(key, Message::user(text)).await?;
    }
    svit.start()
}

/// Plays the story until `stopped`, then again from the same store, and says where that ends.
async fn interrupted(
    store: Arc<dyn ProcessStore>,
    memory: &MemoryStore,
    model: impl Provider + 'static,
    stopped: impl Future<Output = ()>,
    end: &End,
    when: &str,
) {
    tokio::select! {
        _ = play(store, model) => {}
        () = stopped => {}
    }
    play_again(memory, end, when).await;
}

async fn play_again(memory: &MemoryStore, end: &End, when: &str) {
    let memory: Arc<dyn ProcessStore> = Arc::new(memory.clone());
    assert_whole(&resume(memory.clone()).await.unwrap(), when).await;
    play(memory.clone(), story()).await.unwrap();
    let found = resume(memory).await.unwrap();
    assert_whole(&found, when).await;
    end_of(&found).await.assert_is(end, when);
}

async fn never() {
    std::future::pending().await
}

pub(crate) async fn hangs(store: Arc<FaultyStore>) {
    while store.hanging() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn faulty() -> (MemoryStore, Arc<FaultyStore>) {
    let memory = MemoryStore::new();
    create(Arc::new(memory.clone())).await;
    let store = FaultyStore::new(Arc::new(memory.clone()));
    (memory, Arc::new(store))
}

/// The uninterrupted end, and how many store calls there were on the way.
async fn uninterrupted() -> (End, u64, u64) {
    let (memory, store) = faulty().await;
    play(store.clone(), story()).await.unwrap();
    let (calls, writes) = (store.calls(), store.writes());
    let end = end_of(&resume(Arc::new(memory)).await.unwrap()).await;
    (end, calls, writes)
}

#[tokio::test(start_paused = true)]
async fn the_story_ends_as_it_should() {
    let (memory, store) = faulty().await;
    play(store, story()).await.unwrap();
    let process = resume(Arc::new(memory)).await.unwrap();
    assert_eq!(process.read("/memory/count").unwrap(), Some(17.into()));
    assert_eq!(
        process.read("/memory/facts").unwrap(),
        Some(value!({"half": 1}))
    );
    assert_eq!(process.discover("/system/outbox").unwrap().len(), 3);
    let end = end_of(&process).await;
    assert_eq!(
        end.answers,
        [
            "1: Some(\"It is seven.\")",
            "2: Some(\"Gone.\")",
            "message 3 was given up after 3 attempts: the model refused: never",
            "4: Some(\"Still here.\")",
        ]
    );
    let kinds: Vec<_> = end
        .events
        .iter()
        .filter_map(|e| e.split(' ').next())
        .collect();
    let turn = |calls: &[usize], ends: &[&'static str]| {
        let mut kinds = vec!["turn.started", "message.accepted"];
        for calls in calls {
            kinds.push("model.responded");
            kinds.extend(["tool.started", "tool.finished"].repeat(*calls));
        }
        kinds.extend(ends);
        kinds
    };
    let answered = ["model.responded", "turn.finished"];
    let expected = [
        turn(&[5, 2], &answered),
        turn(&[1, 1], &answered),
        turn(&[1], &["turn.failed"; 3]),
        turn(&[], &answered),
    ];
    assert_eq!(kinds, expected.concat());
}

async fn with_faults(
    at: impl Fn(&FaultyStore, u64, Fault),
    up_to: u64,
    end: &End,
    faults: &[Fault],
) {
    for fault in faults {
        for number in 1..=up_to {
            let (memory, store) = faulty().await;
            at(&store, number, *fault);
            let stopped = hangs(store.clone());
            let when = format!("{fault:?} at {number}");
            interrupted(store, &memory, story(), stopped, end, &when).await;
        }
    }
}

// THREAT[TM-MODEL-4]
#[tokio::test(start_paused = true)]
async fn stopped_at_any_store_call() {
    let (end, calls, writes) = uninterrupted().await;
    with_faults(FaultyStore::at_call, calls, &end, &[Fault::HangLost]).await;
    with_faults(FaultyStore::at_write, writes, &end, &[Fault::HangLanded]).await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_know_or_goes_away_at_any_write() {
    let (end, _, writes) = uninterrupted().await;
    let faults = [
        Fault::ForgetLost,
        Fault::ForgetLanded,
        Fault::CutLost,
        Fault::CutLanded,
    ];
    with_faults(FaultyStore::at_write, writes, &end, &faults).await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_once_is_waited_for() {
    // From the first call after the messages were sent and the thread was read.
    let (end, calls, _) = uninterrupted().await;
    let (_, store) = faulty().await;
    let waiting = svit(resume(store.clone()).await.unwrap(), story())
        .await
        .unwrap();
    begin(&waiting).await.unwrap();
    let first = store.calls() + 1;
    drop(waiting);
    // Before that, the caller sees it, and tries again.
    with_faults(FaultyStore::at_call, first - 1, &end, &[Fault::Fail]).await;
    for number in first..=calls {
        let (memory, store) = faulty().await;
        store.at_call(number, Fault::Fail);
        play(store.clone(), story())
            .await
            .unwrap_or_else(|e| panic!("{number}: {e}"));
        let found = end_of(&resume(Arc::new(memory)).await.unwrap()).await;
        found.assert_is(&end, &format!("at {number}"));
    }
}

/// The Svit is dropped after the runtime has gone round so many times: between any two polls.
#[tokio::test(start_paused = true)]
async fn dropped_after_any_number_of_polls() {
    let (end, ..) = uninterrupted().await;
    for rounds in (0..60).chain((60..600).step_by(7)) {
        let (memory, store) = faulty().await;
        let stopped = async {
            for _ in 0..rounds {
                tokio::task::yield_now().await;
            }
        };
        let when = format!("after {rounds} rounds");
        interrupted(store, &memory, story(), stopped, &end, &when).await;
    }
}

/// A host that loses patience while the store hangs, at whatever write: the turn is answered or
/// cancelled, never both, never half; and the next one is not touched.
#[tokio::test(start_paused = true)]
async fn cancelled_while_any_write_hangs() {
    let (_, _, writes) = uninterrupted().await;
    for fault in [Fault::HangLost, Fault::HangLanded] {
        for number in 1..=writes {
            let when = format!("{fault:?} at {number}");
            let (memory, store) = faulty().await;
            let mut cancelled = svit(resume(store.clone()).await.unwrap(), story())
                .await
                .unwrap();
            let inbox = cancelled.inbox();
            for text in ["Count to seven.", "Forget the color."] {
                inbox.send(Message::user(text)).await.unwrap();
            }
            drop(inbox);
            cancelled.start().unwrap();
            // The start of the session is in no turn.
            if store.writes() + 1 >= number {
                continue;
            }
            store.at_write(number, fault);
            tokio::select! {
                // Fewer writes were made than in the whole story.
                blocked = cancelled.block() => blocked.unwrap(),
                () = hangs(store.clone()) => {
                    cancelled.cancel_turn();
                    cancelled.block().await.unwrap();
                }
            }
            let process = resume(Arc::new(memory)).await.unwrap();
            assert_whole(&process, &when).await;
            let answers = answers(&process).await;
            assert_eq!(answers.len(), 2, "{when}: {answers:?}");
            let were_cancelled = answers.iter().filter(|a| a.contains("cancelled"));
            assert!(were_cancelled.count() <= 1, "{when}: {answers:?}");
        }
    }
}

/// A model that says so many pieces in all, and then nothing more for ever.
pub(crate) struct Silent<P> {
    model: P,
    pieces: Arc<AtomicUsize>,
}

impl<P: Provider> Silent<P> {
    pub(crate) fn after(model: P, pieces: usize) -> Self {
        let pieces = Arc::new(AtomicUsize::new(pieces));
        Self { model, pieces }
    }

    fn may_go_on(pieces: &AtomicUsize) -> bool {
        let less = |left: usize| left.checked_sub(1);
        pieces
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less)
            .is_ok()
    }
}

impl<P: Provider> Provider for Silent<P> {
    fn respond(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelStream, ModelError>> {
        Box::pin(async move {
            if !Self::may_go_on(&self.pieces) {
                never().await;
            }
            let stream = self.model.respond(request).await?;
            let pieces = self.pieces.clone();
            let silent = stream.then(move |piece: Result<ModelEvent, ModelError>| {
                let goes_on = Self::may_go_on(&pieces);
                async move {
                    if !goes_on {
                        never().await;
                    }
                    piece
                }
            });
            Ok(Box::pin(silent.chain(stream::empty())) as ModelStream)
        })
    }

    fn limits(&self, model: &str) -> ModelLimits {
        self.model.limits(model)
    }
}

#[tokio::test(start_paused = true)]
async fn stopped_while_the_model_speaks() {
    let (end, ..) = uninterrupted().await;
    for pieces in 0.. {
        let (memory, store) = faulty().await;
        let left = Arc::new(AtomicUsize::new(pieces));
        let model = Silent {
            model: story(),
            pieces: left.clone(),
        };
        let mut all_said = false;
        let silence = async {
            // A guest's thread may need real time; a silent model does not come back.
            while left.load(Ordering::SeqCst) > 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            played = play(store, model) => { played.unwrap(); all_said = true; }
            () = silence => {}
        }
        play_again(&memory, &end, &format!("after {pieces} pieces")).await;
        if all_said {
            assert!(pieces > 20, "{pieces}");
            return;
        }
    }
}
