//! Forks, restores and limits in places where a loop could lose its way.

use std::sync::Arc;

use svit::{
    DurableProcess, Limits, LoopError, MemoryStore, Message, MessageId, Process, ProcessStore,
    Reasoner, Scripted, ScriptedReply, Svit, value,
};

use super::{code, counting, process, soon};

async fn looped(process: DurableProcess) -> Svit {
    let svit = Svit::persisted(process).unwrap().reasoner(counting());
    let svit = svit.build().await.unwrap();
    svit.start().unwrap();
    svit
}

#[tokio::test]
async fn a_child_goes_on_with_the_conversation_and_answers_for_itself() {
    let store = MemoryStore::new();
    let parent = looped(store.create(process("svit://local/parent")).await.unwrap()).await;
    let inbox = parent.inbox();
    let mut last = MessageId::new(0);
    for n in 1..=3 {
        let answer = inbox
            .ask(Message::user(format!("parent {n}")))
            .await
            .unwrap();
        assert_eq!(answer.text(), Some(format!("answer {n}").as_str()));
        last = answer.in_reply_to().unwrap();
    }
    inbox
        .send_keyed("key", Message::user("keyed"))
        .await
        .unwrap();
    let mut generation = looped(parent.fork("svit://local/child-0").await.unwrap()).await;
    for n in 1..=3 {
        let child = format!("svit://local/child-{n}");
        let next = looped(generation.fork(child.as_str()).await.unwrap()).await;
        // The parent's receipts are not the child's: the same key is another message there.
        let inbox = next.inbox();
        let mut outbox = next.outbox();
        let id = inbox
            .send_keyed("key", Message::user("keyed in the child"))
            .await
            .unwrap();
        let answer = soon(outbox.recv()).await.unwrap();
        assert_eq!(answer.in_reply_to(), Some(id), "{child}");
        assert!(id > last, "{child}: {id} was the number of another message");
        let answer = inbox.ask(Message::user("one more")).await.unwrap();
        last = answer.in_reply_to().unwrap();
        assert!(next.discover("/inbox").unwrap().is_empty());
        generation = next;
    }
}

#[tokio::test]
async fn a_restored_snapshot_goes_on_with_the_messages_that_waited() {
    let store = MemoryStore::new();
    let parent = looped(store.create(process("svit://local/kept")).await.unwrap()).await;
    let inbox = parent.inbox();
    for _ in 0..3 {
        inbox.ask(Message::user("before")).await.unwrap();
    }
    let mut parent = parent;
    drop(inbox);
    soon(parent.stop()).await.unwrap();
    let quiet = Svit::persisted(parent.process().clone())
        .unwrap()
        .build()
        .await
        .unwrap();
    let id = quiet.inbox().send(Message::user("waits")).await.unwrap();
    let snapshot = quiet.snapshot();
    let elsewhere = MemoryStore::new();
    let restored = elsewhere
        .create(Process::restore(snapshot.as_bytes()).unwrap())
        .await
        .unwrap();
    let restored = Svit::persisted(restored)
        .unwrap()
        .reasoner(counting())
        .build()
        .await
        .unwrap();
    let mut outbox = restored.outbox();
    restored.start().unwrap();
    let answer = soon(outbox.recv()).await.unwrap();
    assert_eq!(answer.in_reply_to(), Some(id));
    restored.inbox().ask(Message::user("after")).await.unwrap();
}

#[tokio::test]
async fn a_chain_of_a_thousand_forks_can_be_resumed_and_read() {
    let store: Arc<dyn ProcessStore> = Arc::new(MemoryStore::new());
    let mut newest = DurableProcess::create(store.clone(), process("svit://local/chain"))
        .await
        .unwrap();
    for n in 1..=1_000_i64 {
        newest = newest
            .fork(format!("svit://local/chain-{n}").as_str())
            .await
            .unwrap();
        newest.write("/memory/count", n).await.unwrap();
    }
    let address = newest.address().clone();
    drop(newest);
    let again = DurableProcess::resume(store, &address).await.unwrap();
    assert_eq!(again.read("/memory/count").unwrap(), Some(1_000.into()));
    assert_eq!(
        again.read_at(0, "/memory/count").await.unwrap(),
        Some(0.into())
    );
    assert!(again.recent_events(10).await.unwrap().is_empty());
}

#[tokio::test]
async fn the_smallest_limits_are_refusals_and_not_a_loop_that_hangs() {
    type Set = fn(&mut Limits);
    let rows: [(&str, Set); 9] = [
        ("value depth", |limits| limits.max_value_depth = 1),
        ("value nodes", |limits| limits.max_value_nodes = 1),
        ("text bytes", |limits| limits.max_text_bytes = 1),
        ("record bytes", |limits| limits.max_record_bytes = 1),
        ("record bytes 400", |limits| limits.max_record_bytes = 400),
        ("inbox", |limits| limits.max_inbox = 1),
        ("receipts", |limits| limits.max_receipts = 1),
        ("attempts", |limits| limits.max_turn_attempts = 1),
        ("steps and calls", |limits| {
            limits.max_turn_steps = 1;
            limits.max_turn_tool_calls = 1;
        }),
    ];
    for (name, set) in rows {
        let mut limits = Limits::default();
        set(&mut limits);
        let model = Scripted::new([
            ScriptedReply::call("write", value!({"path": "/memory/x", "value": [1, [2]]})),
            ScriptedReply::text("Done."),
        ]);
        let svit = Svit::builder("svit://local/small").unwrap().limits(limits);
        let svit = match svit
            .reasoner(Reasoner::new("scripted", model))
            .build()
            .await
        {
            Ok(svit) => svit,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                continue;
            }
        };
        svit.start().unwrap();
        let inbox = svit.inbox();
        let asked = tokio::time::timeout(
            std::time::Duration::from_secs(3),
            inbox.ask(Message::user("Write a list.")),
        );
        let outcome = asked.await.unwrap_or_else(|_| panic!("{name}: it hangs"));
        // Whatever came of it, the loop is still there or says that it is not.
        match outcome {
            Ok(_) | Err(LoopError::TurnFailed { .. }) => {
                assert!(svit.discover("/inbox").unwrap().is_empty(), "{name}");
            }
            Err(error) => assert_ne!(error.code(), "stopped", "{name}: {error}"),
        }
    }
}

#[test]
fn many_threads_on_one_process_in_memory_lose_no_update() {
    let process = process("svit://local/threads");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..25 {
                    process.exec("/lib/count", 1).unwrap();
                }
            });
        }
    });
    assert_eq!(process.read("/memory/count").unwrap(), Some(200.into()));
    assert_eq!(process.version(), 200);
    assert_eq!(code(process.fork("svit://local/threads")), "ok");
}
