//! Handles that are dropped, doubled, and used from the wrong place.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use svit::{LoopError, Message, Svit, SvitEvent};

use super::{Place, code, counting, process, soon, started};

/// Polls a future so many times, then drops it. What it gave, if it ended by then.
async fn polled<T>(future: impl Future<Output = T>, times: usize) -> Option<T> {
    let mut future = pin!(future);
    for _ in 0..times {
        let poll = future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        if let Poll::Ready(output) = poll {
            return Some(output);
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    None
}

#[tokio::test(flavor = "multi_thread")]
async fn futures_dropped_at_any_moment_leave_one_order_of_things() {
    let place = Place::new();
    let store = place.open().await.unwrap();
    let process = store.create(process("svit://local/dropped")).await.unwrap();
    let mut svit = Svit::persisted(process.clone())
        .unwrap()
        .reasoner(counting())
        .build()
        .await
        .unwrap();
    let mut outbox = svit.outbox();
    svit.start().unwrap();
    let inbox = svit.inbox();
    let (mut sent, mut counted, mut forked) = (0, 0, Vec::new());
    for times in 0..12 {
        sent += usize::from(
            polled(inbox.send(Message::user("x")), times)
                .await
                .is_some(),
        );
        let _ = polled(inbox.ask(Message::user("y")), times).await;
        counted += i64::from(polled(process.exec("/lib/count", 1), times).await.is_some());
        let _ = polled(outbox.recv(), times).await;
        let _ = polled(svit.block(), times).await;
        let child = format!("svit://local/dropped-{times}");
        if polled(process.fork(child.as_str()), times).await.is_some() {
            forked.push(child);
        }
    }
    let last = inbox.ask(Message::user("the last")).await.unwrap();
    drop(inbox);
    soon(svit.block()).await.unwrap();
    let answers = svit.recent_messages(1_000).await.unwrap();
    let asked = answers
        .iter()
        .filter(|message| message.role == svit::Role::User)
        .count();
    assert_eq!(last.text(), Some(format!("answer {asked}").as_str()));
    assert_eq!(answers.len(), 2 * asked);
    assert!(asked >= sent, "{asked} of {sent}");
    let count = process
        .read("/memory/count")
        .unwrap()
        .unwrap()
        .as_int()
        .unwrap();
    assert!(
        (counted..=12).contains(&count),
        "{counted} to 12, not {count}"
    );
    soon(svit.stop()).await.unwrap();
    let version = process.version();
    drop((svit, process, outbox, store));
    let store = place.open().await.unwrap();
    let again = store.resume("svit://local/dropped").await.unwrap();
    assert_eq!(again.version(), version);
    for child in forked {
        store.resume(child.as_str()).await.unwrap();
    }
}

#[tokio::test]
async fn of_two_loops_on_one_process_the_newer_works() {
    let first = started("svit://local/two", counting()).await;
    assert_eq!(
        first.inbox().ask(Message::user("a")).await.unwrap().text(),
        Some("answer 1")
    );
    let mut second = Svit::persisted(first.process().clone())
        .unwrap()
        .reasoner(counting())
        .build()
        .await
        .unwrap();
    let mut events = first.events();
    second.start().unwrap();
    // Whichever inbox it came through.
    let mut outbox = second.outbox();
    first.inbox().send(Message::user("b")).await.unwrap();
    assert_eq!(soon(outbox.recv()).await.unwrap().text(), Some("answer 2"));
    assert_eq!(
        second.inbox().ask(Message::user("c")).await.unwrap().text(),
        Some("answer 3")
    );
    let code_of_end = loop {
        if let SvitEvent::Failed { code, .. } = soon(events.recv()).await.unwrap() {
            break code;
        }
    };
    assert_eq!(code_of_end, "superseded");
    assert_eq!(code(first.start()), "already_started");
    soon(second.stop()).await.unwrap();
    let messages = first.recent_messages(100).await.unwrap();
    assert_eq!(messages.len(), 6);
}

#[tokio::test]
async fn stopped_and_never_started_loops_say_so() {
    let mut svit = Svit::builder("svit://local/stopped")
        .unwrap()
        .reasoner(counting())
        .build()
        .await
        .unwrap();
    let inbox = svit.inbox();
    inbox.send(Message::user("a")).await.unwrap();
    drop(inbox);
    assert!(matches!(
        soon(svit.block()).await,
        Err(LoopError::NotStarted { waiting: 1 })
    ));
    svit.start().unwrap();
    assert_eq!(code(svit.start()), "already_started");
    soon(svit.block()).await.unwrap();
    soon(svit.stop()).await.unwrap();
    soon(svit.stop()).await.unwrap();
    assert_eq!(code(svit.start()), "closed");
    let inbox = svit.inbox();
    assert_eq!(code(inbox.send(Message::user("b")).await), "closed");
    assert_eq!(code(inbox.ask(Message::user("b")).await), "closed");
    let (mut outbox, mut events) = (svit.outbox_from(0), svit.events());
    assert_eq!(soon(outbox.recv()).await.unwrap().text(), Some("answer 1"));
    assert_eq!(code(soon(outbox.recv()).await), "closed");
    assert_eq!(code(soon(events.recv()).await), "closed");
    drop(svit);
    assert_eq!(code(inbox.send(Message::user("c")).await), "closed");
    assert_eq!(code(soon(outbox.recv()).await), "closed");
}

#[test]
fn a_runtime_that_goes_away_stops_the_loop_and_loses_nothing() {
    let place = Place::new();
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    };
    let first = runtime();
    let (mut svit, inbox) = first.block_on(async {
        let store = place.open().await.unwrap();
        let process = store.create(process("svit://local/moved")).await.unwrap();
        let svit = Svit::persisted(process)
            .unwrap()
            .reasoner(counting())
            .build()
            .await
            .unwrap();
        svit.start().unwrap();
        let inbox = svit.inbox();
        inbox.ask(Message::user("a")).await.unwrap();
        (svit, inbox)
    });
    drop(first);
    runtime().block_on(async {
        // The message is committed, and nobody works on it.
        inbox.send(Message::user("b")).await.unwrap();
        drop(inbox);
        assert_eq!(code(soon(svit.block()).await), "stopped");
        let mut next = Svit::persisted(svit.process().clone())
            .unwrap()
            .reasoner(counting())
            .build()
            .await
            .unwrap();
        let mut outbox = next.outbox();
        next.start().unwrap();
        soon(next.block()).await.unwrap();
        assert_eq!(soon(outbox.recv()).await.unwrap().text(), Some("answer 2"));
    });
}
