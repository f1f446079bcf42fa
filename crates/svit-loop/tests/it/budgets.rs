//! Budgets of tokens and wall time: each ends a turn with its own name, also one that was resumed.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use svit_loop::{LoopError, Svit};
use svit_model::{
    BoxFuture, Message, ModelError, ModelEvent, ModelLimits, ModelRequest, ModelStream, Provider,
    Role, Scripted, ScriptedReply,
};
use svit_testkit::fault::{Fault, FaultyStore};
use svit_txn::{DurableProcess, MemoryStore, ProcessStore};
use svit_value::value;
use tokio::time::Instant;

use crate::anywhere::stopped_anywhere;
use crate::common::{answers, assert_whole, create, reasoner, resume, svit};
use crate::crash::Silent;

/// Writes for ever, or thrice, when asked to go; answers other messages. Each call takes 110 tokens.
fn busy() -> Scripted {
    Scripted::from_fn(|request| {
        let asked = request.messages.iter().rfind(|m| m.role == Role::User);
        let n = i64::try_from(request.messages.len()).unwrap();
        let answered = request
            .messages
            .iter()
            .filter(|m| m.role == Role::Assistant);
        match asked.and_then(Message::text) {
            Some("Go thrice.") if answered.count() < 3 => {
                ScriptedReply::call("write", value!({"path": "/memory/count", "value": n}))
            }
            Some("Go.") => {
                ScriptedReply::call("write", value!({"path": "/memory/count", "value": n}))
            }
            _ => ScriptedReply::text("Yes."),
        }
        .usage(100, 10)
    })
}

async fn with_budget(
    process: DurableProcess,
    model: impl Provider + 'static,
    tokens: u64,
    wall: Duration,
) -> Result<Svit, LoopError> {
    Svit::persisted(process)?
        .reasoner(reasoner(model))
        .max_turn_tokens(tokens)
        .max_turn_wall(wall)
        .build()
        .await
}

fn failure(answer: Result<Message, LoopError>) -> (String, u64, String) {
    match answer {
        Err(LoopError::TurnFailed {
            code,
            attempts,
            reason,
            ..
        }) => (code, attempts, reason),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_used_its_tokens_ends() {
    for (tokens, calls) in [(0, 0), (1, 1), (109, 1), (110, 1), (111, 2), (330, 3)] {
        let process = create(Arc::new(MemoryStore::new())).await;
        let svit = with_budget(process, busy(), tokens, Duration::MAX)
            .await
            .unwrap();
        svit.start().unwrap();
        let inbox = svit.inbox();
        let (code, attempts, reason) = failure(inbox.ask(Message::user("Go.")).await);
        assert_eq!((code.as_str(), attempts), ("max_turn_tokens", 1));
        assert!(reason.contains(&(calls * 110).to_string()), "{reason}");
        assert_eq!(svit.usage().total(), calls * 110);
        // What the last call asked for was not run: nobody could have been told.
        let ran = calls.saturating_sub(1);
        let last = i64::try_from(ran * 2).unwrap() - 1;
        let count = svit.read("/memory/count").unwrap();
        assert_eq!(count, Some(last.max(0).into()), "{tokens}");
        // Each turn has a budget of its own. An answer that goes past it is an answer.
        if tokens > 0 {
            let answer = inbox.ask(Message::user("Still there?")).await.unwrap();
            assert_eq!(answer.text(), Some("Yes."));
        }
    }
}

/// Two messages, of which the first uses up its tokens.
async fn play(store: Arc<dyn ProcessStore>) -> Result<(), LoopError> {
    let process = resume(store).await?;
    let mut svit = with_budget(process, busy(), 330, Duration::MAX).await?;
    let inbox = svit.inbox();
    inbox.send_keyed("one", Message::user("Go.")).await?;
    inbox.send_keyed("two", Message::user("Well?")).await?;
    drop(inbox);
    svit.start()?;
    svit.block().await
}

#[tokio::test(start_paused = true)]
async fn tokens_are_counted_over_restarts_at_any_point() {
    let end = stopped_anywhere(play).await;
    assert!(
        end.answers[0].contains("the turn used 330 tokens"),
        "{end:?}"
    );
    assert_eq!(end.answers[1], "2: Some(\"Yes.\")");
}

/// At whatever write the store hangs, the turn is answered or its time ends it, and the next one has
/// its own.
#[tokio::test(start_paused = true)]
async fn a_turn_that_took_its_time_ends_while_any_write_hangs() {
    for fault in [Fault::HangLost, Fault::HangLanded] {
        for number in 1..16 {
            let when = format!("{fault:?} at {number}");
            let memory = MemoryStore::new();
            let store = Arc::new(FaultyStore::new(Arc::new(memory.clone())));
            let process = create(store.clone()).await;
            let wall = Duration::from_secs(100);
            let mut svit = with_budget(process, busy(), u64::MAX, wall).await.unwrap();
            let inbox = svit.inbox();
            for text in ["Go thrice.", "Well?"] {
                inbox.send(Message::user(text)).await.unwrap();
            }
            drop(inbox);
            // The start of the session is in no turn.
            store.at_write(store.writes() + 1 + number, fault);
            svit.start().unwrap();
            svit.block().await.unwrap();
            let process = resume(Arc::new(memory)).await.unwrap();
            assert_whole(&process, &when).await;
            let answers = answers(&process).await;
            let ends = |part: &str| answers.iter().filter(|a| a.contains(part)).count();
            assert_eq!(answers.len(), 2, "{when}: {answers:?}");
            assert!(ends("worked on for 100s") <= 1, "{when}: {answers:?}");
            let others = ends("Yes.");
            assert_eq!(
                ends("worked on for 100s") + others,
                2,
                "{when}: {answers:?}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_took_its_time_ends_while_the_model_thinks() {
    let process = create(Arc::new(MemoryStore::new())).await;
    // It begins its answer, and never ends it.
    let model = Silent::after(Scripted::from_fn(|_| ScriptedReply::text("Well, yes.")), 2);
    let wall = Duration::from_secs(90);
    let svit = with_budget(process, model, u64::MAX, wall).await.unwrap();
    svit.start().unwrap();
    for _ in 0..2 {
        let begun = Instant::now();
        let asked = svit.inbox().ask(Message::user("Hello?")).await;
        let (code, attempts, reason) = failure(asked);
        assert_eq!((code.as_str(), attempts), ("max_turn_wall", 1));
        assert!(reason.contains("90s"), "{reason}");
        assert_eq!(begun.elapsed().as_secs(), 90, "each turn has its own time");
    }
}

/// Streams for ever, and always has something ready.
struct Babble;

impl Provider for Babble {
    fn respond(&self, _: ModelRequest) -> BoxFuture<'_, Result<ModelStream, ModelError>> {
        let events = stream::repeat_with(|| Ok(ModelEvent::ReasoningDelta("hm".to_owned())));
        Box::pin(async { Ok(Box::pin(events) as ModelStream) })
    }

    fn limits(&self, _: &str) -> ModelLimits {
        ModelLimits::new(8_000)
    }
}

#[tokio::test]
async fn a_turn_whose_model_never_stops_to_breathe_ends_all_the_same() {
    let process = create(Arc::new(MemoryStore::new())).await;
    let wall = Duration::from_millis(20);
    let svit = with_budget(process, Babble, u64::MAX, wall).await.unwrap();
    svit.start().unwrap();
    let (code, attempts, _) = failure(svit.inbox().ask(Message::user("Hello?")).await);
    assert_eq!((code.as_str(), attempts), ("max_turn_wall", 1));
}

#[tokio::test(start_paused = true)]
async fn waits_between_attempts_are_time_of_the_turn() {
    let process = create(Arc::new(MemoryStore::new())).await;
    let model = Scripted::from_fn(|request| match request.messages.len() {
        1 => ScriptedReply::error(ModelError::RateLimited {
            retry_after: Some(Duration::from_secs(60)),
            detail: String::new(),
        }),
        _ => ScriptedReply::text("Yes."),
    });
    let wall = Duration::from_secs(100);
    let svit = with_budget(process, model, u64::MAX, wall).await.unwrap();
    svit.start().unwrap();
    let begun = Instant::now();
    let (code, attempts, _) = failure(svit.inbox().ask(Message::user("Hello?")).await);
    // One attempt at once, one after a minute, and what was left of the wait for the third.
    assert_eq!((code.as_str(), attempts), ("max_turn_wall", 3));
    assert_eq!(begun.elapsed().as_secs(), 100);
    let answer = svit.inbox().ask(Message::user("And now?")).await.unwrap();
    assert_eq!(answer.text(), Some("Yes."));
}

#[tokio::test(start_paused = true)]
async fn time_is_the_hosts_and_counted_anew_after_a_restart() {
    let store = MemoryStore::new();
    let process = create(Arc::new(store.clone())).await;
    let wall = Duration::from_secs(100);
    let silent = || Silent::after(Scripted::from_fn(|_| ScriptedReply::text("Yes.")), 0);
    let first = with_budget(process, silent(), u64::MAX, wall)
        .await
        .unwrap();
    first.start().unwrap();
    first.inbox().send(Message::user("Hello?")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(99)).await;
    drop(first);

    let begun = Instant::now();
    let process = resume(Arc::new(store)).await.unwrap();
    let again = with_budget(process, silent(), u64::MAX, wall)
        .await
        .unwrap();
    let mut outbox = again.outbox_from(0);
    again.start().unwrap();
    let (code, ..) = failure(outbox.recv().await);
    assert_eq!(code, "max_turn_wall");
    assert_eq!(begun.elapsed().as_secs(), 100);
}

#[tokio::test(start_paused = true)]
async fn no_bound_is_none() {
    let process = create(Arc::new(MemoryStore::new())).await;
    let model = Silent::after(Scripted::from_fn(|_| ScriptedReply::text("Yes.")), 0);
    let svit = svit(process, model).await.unwrap();
    svit.start().unwrap();
    svit.inbox().send(Message::user("Hello?")).await.unwrap();
    let mut outbox = svit.outbox();
    let years = Duration::from_secs(3_600 * 24 * 365 * 2);
    assert!(tokio::time::timeout(years, outbox.recv()).await.is_err());
}
