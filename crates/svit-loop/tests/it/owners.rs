//! Who works on a process: another owner, another loop, a loop that has died, a fork.

use std::sync::Arc;

use svit_loop::{LoopError, SvitEvent};
use svit_model::{Message, ModelError, Scripted, ScriptedReply};
use svit_testkit::fault::{Fault, FaultyStore};
use svit_txn::{MemoryStore, ProcessStore};

use crate::common::{create, resume, started, svit};
use crate::handles::{code, echo};

#[tokio::test(start_paused = true)]
async fn an_owner_that_was_replaced_stops_with_the_reason() {
    let store = Arc::new(MemoryStore::new());
    let mut old = svit(create(store.clone()).await, echo()).await.unwrap();
    old.start().unwrap();
    let (inbox, mut outbox, mut events) = (old.inbox(), old.outbox(), old.events());
    inbox.ask(Message::user("one")).await.unwrap();
    let new = svit(resume(store).await.unwrap(), echo()).await.unwrap();
    new.start().unwrap();
    assert_eq!(code(inbox.send(Message::user("two")).await), "fenced");
    assert_eq!(
        new.inbox().ask(Message::user("two")).await.unwrap().text(),
        Some("two")
    );
    // It notices when it next writes.
    assert_eq!(outbox.recv().await.unwrap().text(), Some("one"));
    old.cancel_turn();
    drop(inbox);
    old.block().await.unwrap();
    drop(old);
    assert_eq!(code(outbox.recv().await), "closed");
    while events.recv().await.is_ok() {}
}

#[tokio::test(start_paused = true)]
async fn a_loop_that_is_fenced_within_a_turn_stops_with_the_reason() {
    let store = Arc::new(MemoryStore::new());
    let shared: Arc<dyn ProcessStore> = store.clone();
    let model = Fencing { store: shared };
    let mut old = svit(create(store).await, model).await.unwrap();
    let (inbox, mut outbox, mut events) = (old.inbox(), old.outbox(), old.events());
    inbox.send(Message::user("one")).await.unwrap();
    old.start().unwrap();
    match outbox.recv().await {
        Err(LoopError::Stopped { code, .. }) => assert_eq!(code, "fenced"),
        other => panic!("{other:?}"),
    }
    drop(inbox);
    assert_eq!(code(old.block().await), "stopped");
    let failed = loop {
        if let SvitEvent::Failed { code, .. } = events.recv().await.unwrap() {
            break code;
        }
    };
    assert_eq!(failed, "fenced");
    assert_eq!(code(old.stop().await), "stopped");
    assert_eq!(code(outbox.recv().await), "closed");
}

/// A model during whose answer somebody else takes the process.
struct Fencing {
    store: Arc<dyn ProcessStore>,
}

impl svit_model::Provider for Fencing {
    fn respond(
        &self,
        request: svit_model::ModelRequest,
    ) -> svit_model::BoxFuture<'_, Result<svit_model::ModelStream, ModelError>> {
        Box::pin(async move {
            resume(self.store.clone()).await.unwrap();
            echo().respond(request).await
        })
    }

    fn limits(&self, model: &str) -> svit_model::ModelLimits {
        echo().limits(model)
    }
}

#[tokio::test(start_paused = true)]
async fn the_newest_loop_on_a_process_takes_over() {
    let process = create(Arc::new(MemoryStore::new())).await;
    let mut old = svit(process.clone(), echo()).await.unwrap();
    old.start().unwrap();
    old.inbox().ask(Message::user("one")).await.unwrap();
    let mut new = svit(process.clone(), echo()).await.unwrap();
    new.start().unwrap();
    let mut outbox = old.outbox();
    // Whichever inbox it came through.
    let answer = new.inbox().ask(Message::user("two")).await.unwrap();
    assert_eq!(answer.text(), Some("two"));
    old.inbox().send(Message::user("three")).await.unwrap();
    new.block().await.unwrap();
    assert_eq!(outbox.recv().await.unwrap().text(), Some("two"));
    assert_eq!(outbox.recv().await.unwrap().text(), Some("three"));
    match outbox.recv().await {
        Err(LoopError::Stopped { code, .. }) => assert_eq!(code, "superseded"),
        other => panic!("{other:?}"),
    }
    assert_eq!(code(old.block().await), "stopped");
}

#[tokio::test(start_paused = true)]
async fn two_loops_that_race_answer_each_message_once() {
    for lead in 0..60 {
        let process = create(Arc::new(MemoryStore::new())).await;
        let old = svit(process.clone(), Thinking(lead % 5)).await.unwrap();
        let mut new = svit(process.clone(), Thinking(lead % 3)).await.unwrap();
        old.inbox()
            .send(Message::user("Count to seven."))
            .await
            .unwrap();
        old.inbox()
            .send(Message::user("Forget the color."))
            .await
            .unwrap();
        old.start().unwrap();
        for _ in 0..lead {
            tokio::task::yield_now().await;
        }
        new.start().unwrap();
        new.block().await.unwrap();
        drop(old);
        let events = process.recent_events(1_000).await.unwrap();
        let responses = events.iter().filter(|e| &*e.kind == "model.responded");
        assert_eq!(responses.count(), 6, "lead {lead}");
        crate::common::assert_whole(&process, &format!("lead {lead}")).await;
        assert_eq!(
            process.read("/memory/count").unwrap(),
            Some(17.into()),
            "lead {lead}"
        );
        assert_eq!(
            crate::common::answers(&process).await,
            ["1: Some(\"It is seven.\")", "2: Some(\"Gone.\")"]
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_panics_stops_the_loop_with_a_reason() {
    let mut svit = started(Scripted::from_fn(|_| panic!("a bug of a provider"))).await;
    let inbox = svit.inbox();
    match inbox.ask(Message::user("hi")).await {
        Err(LoopError::Stopped { code, .. }) => assert_eq!(code, "ended"),
        other => panic!("{other:?}"),
    }
    drop(inbox);
    assert_eq!(code(svit.block().await), "stopped");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_stays_away_stops_the_loop_with_the_reason() {
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    let svit = svit(create(store.clone()).await, echo()).await.unwrap();
    svit.start().unwrap();
    let inbox = svit.inbox();
    inbox.ask(Message::user("one")).await.unwrap();
    // The message lands, and then nothing does.
    store.at_write(store.writes() + 2, Fault::CutLost);
    match inbox.ask(Message::user("two")).await {
        Err(LoopError::Stopped { code, .. }) => assert_eq!(code, "unavailable"),
        // The asker's own reading may be the first to see it.
        Err(error) => assert_eq!(error.code(), "unavailable"),
        Ok(other) => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_fork_has_the_conversation_and_goes_its_own_way() {
    let store = Arc::new(MemoryStore::new());
    let parent = svit(create(store).await, echo()).await.unwrap();
    parent.start().unwrap();
    parent.inbox().ask(Message::user("one")).await.unwrap();
    let child = parent.fork("svit://local/child").await.unwrap();
    let child = svit(
        child,
        Scripted::from_fn(|request| ScriptedReply::text(request.messages.len().to_string())),
    )
    .await
    .unwrap();
    child.start().unwrap();
    let answer = child.inbox().ask(Message::user("two")).await.unwrap();
    assert_eq!(
        answer.text(),
        Some("3"),
        "the parent's two messages and its own"
    );
    assert_eq!(parent.recent_messages(10).await.unwrap().len(), 2);
    assert_eq!(child.recent_messages(10).await.unwrap().len(), 4);
}

/// The story's model, which lets others run so many times before it says something.
struct Thinking(usize);

impl svit_model::Provider for Thinking {
    fn respond(
        &self,
        request: svit_model::ModelRequest,
    ) -> svit_model::BoxFuture<'_, Result<svit_model::ModelStream, ModelError>> {
        Box::pin(async move {
            for _ in 0..self.0 {
                tokio::task::yield_now().await;
            }
            crate::common::story().respond(request).await
        })
    }

    fn limits(&self, model: &str) -> svit_model::ModelLimits {
        echo().limits(model)
    }
}
