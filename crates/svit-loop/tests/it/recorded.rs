//! Turns of the past, run again without a model: they end where they ended.

use std::sync::Arc;
use std::time::Duration;

use svit_loop::{LoopError, RecordedTurn, Svit};
use svit_model::{Message, MessageId, Scripted, ScriptedReply};
use svit_ports::{
    BoxFuture, Effect, Port, PortContext, PortDescriptor, PortFailure, Ports, ValueMount,
};
use svit_txn::{DurableProcess, MemoryStore, ProcessStore};
use svit_value::{Digest, Value, value};

use crate::common::{create, place, reasoner, resume, story, svit};

/// Runs a turn again, and says where it ended.
async fn again(process: &DurableProcess, turn: &RecordedTurn, ports: Ports) -> (String, Digest) {
    let before = turn.process_before(process).await.unwrap();
    assert_eq!(
        (before.version(), before.address()),
        (turn.before, process.address())
    );
    let svit = Svit::persisted(before)
        .unwrap()
        .ports(ports)
        .reasoner(reasoner(turn.model()))
        .build()
        .await
        .unwrap();
    svit.start().unwrap();
    let asked = turn.message.clone();
    let answer = svit.inbox().ask(asked).await.unwrap();
    (
        answer.text().unwrap().to_owned(),
        svit.process().root_digest(),
    )
}

#[tokio::test]
async fn each_turn_of_a_story_ends_where_it_ended() {
    let store: Arc<dyn ProcessStore> = Arc::new(MemoryStore::new());
    let process = create(store.clone()).await;
    let told = svit(process.clone(), story()).await.unwrap();
    told.start().unwrap();
    let mut asked = Vec::new();
    for text in ["One.", "Two.", "Three.", "Four."] {
        let inbox = told.inbox();
        let id = inbox.send(Message::user(text)).await.unwrap();
        let mut outbox = told.outbox_from(0);
        // Each is answered, or given up, before the next.
        loop {
            match outbox.recv().await {
                Ok(answer) if answer.in_reply_to() == Some(id) => break,
                Err(LoopError::TurnFailed { message, .. }) if message == id => break,
                _ => {}
            }
        }
        asked.push((id, text, process.version(), process.root_digest()));
    }
    drop(told);
    let process = resume(store).await.unwrap();
    let mut ended = Vec::new();
    for (id, text, version, root) in &asked {
        let turn = match RecordedTurn::read(&process, *id).await {
            Ok(turn) => turn,
            Err(error) => {
                assert_eq!(*text, "Three.");
                assert_eq!(error.code(), "not_recorded");
                assert!(
                    error
                        .to_string()
                        .ends_with("it has not ended with an answer")
                );
                continue;
            }
        };
        assert_eq!(turn.message.text(), Some(*text));
        assert_eq!(turn.before, id.get() - 1);
        assert_eq!((turn.after, turn.root), (*version, *root));
        let (answer, found) = again(&process, &turn, Ports::new()).await;
        assert_eq!(found, *root, "{text}");
        ended.push(answer);
    }
    assert_eq!(ended, ["It is seven.", "Gone.", "Still here."]);
    assert_eq!(process.version(), asked[3].2, "nothing was done here");

    // A fork has its parent's turns.
    let fork = process.fork("svit://local/fork").await.unwrap();
    let turn = RecordedTurn::read(&fork, asked[1].0).await.unwrap();
    let before = turn.process_before(&fork).await.unwrap();
    assert_eq!(before.address(), process.address());
    assert_eq!(again(&process, &turn, Ports::new()).await.1, asked[1].3);

    for id in [0, 1_000_000, u64::MAX] {
        let error = RecordedTurn::read(&process, MessageId::new(id))
            .await
            .unwrap_err();
        assert_eq!(error.code(), "not_recorded", "{id}");
    }
    // What was forgotten cannot be run again, and is said.
    process.trim_events(process.events_end() - 2).await.unwrap();
    let error = RecordedTurn::read(&process, asked[0].0).await.unwrap_err();
    assert_eq!(error.code(), "not_recorded");
    let newest = RecordedTurn::read(&process, asked[3].0).await;
    assert_eq!(newest.unwrap_err().code(), "not_recorded");
}

#[tokio::test]
async fn a_history_that_was_cut_is_said() {
    let process = create(Arc::new(MemoryStore::new())).await;
    let model = Scripted::from_fn(|_| ScriptedReply::text("Yes."));
    let told = svit(process.clone(), model).await.unwrap();
    told.start().unwrap();
    let answer = told.inbox().ask(Message::user("Well?")).await.unwrap();
    let id = answer.in_reply_to().unwrap();
    RecordedTurn::read(&process, id).await.unwrap();
    process.cut(process.version()).await.unwrap();
    let error = RecordedTurn::read(&process, id).await.unwrap_err();
    assert_eq!(error.code(), "cut", "{error}");
}

/// Gives this answer.
struct Says(i64);

impl Port for Says {
    fn descriptor(&self) -> PortDescriptor {
        PortDescriptor::new("says", "1", "Says a number.")
            .effect(Effect::Read)
            .idempotent(true)
    }

    fn call<'a>(
        &'a self,
        _: &'a PortContext,
        _: Value,
    ) -> BoxFuture<'a, Result<Value, PortFailure>> {
        Box::pin(async { Ok(self.0.into()) })
    }
}

#[tokio::test]
async fn what_ports_and_mounts_gave_has_to_be_given_again() {
    let script = "(define (main x) (do (write \"/memory/count\" (+ (read \"/mounts/shelf/n\") (port-call \"says\"))) x))";
    let model = Scripted::from_fn(move |request| match place(request).1 {
        0 => ScriptedReply::call("exec", value!({"source": script})),
        _ => ScriptedReply::text("Done."),
    });
    let process = create(Arc::new(MemoryStore::new())).await;
    let shelf = || ValueMount::read_only(value!({"n": 2}));
    let told = Svit::persisted(process.clone())
        .unwrap()
        .ports(Ports::new().port(Says(5)))
        .mount("shelf", shelf())
        .reasoner(reasoner(model))
        .max_turn_wall(Duration::MAX)
        .build()
        .await
        .unwrap();
    told.start().unwrap();
    let answer = told.inbox().ask(Message::user("Add.")).await.unwrap();
    assert_eq!(process.read("/memory/count").unwrap(), Some(7.into()));
    let turn = RecordedTurn::read(&process, answer.in_reply_to().unwrap())
        .await
        .unwrap();

    let count = async |ports: Ports, mounted: bool| {
        let before = turn.process_before(&process).await.unwrap();
        let mut builder = Svit::persisted(before).unwrap().ports(ports);
        if mounted {
            builder = builder.mount("shelf", shelf());
        }
        let svit = builder
            .reasoner(reasoner(turn.model()))
            .build()
            .await
            .unwrap();
        svit.start().unwrap();
        svit.inbox().ask(turn.message.clone()).await.unwrap();
        let is_same = svit.process().root_digest() == turn.root;
        (svit.read("/memory/count").unwrap().unwrap(), is_same)
    };
    assert_eq!(
        count(Ports::new().port(Says(5)), true).await,
        (7.into(), true)
    );
    assert_eq!(
        count(Ports::new().port(Says(6)), true).await,
        (8.into(), false)
    );
    assert_eq!(
        count(Ports::new().port(Says(5)), false).await,
        (0.into(), false)
    );
    assert_eq!(count(Ports::new(), true).await, (0.into(), false));
}
