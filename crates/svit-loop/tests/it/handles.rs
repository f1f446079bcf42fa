//! Inboxes, outboxes, events and the `Svit` itself: who waits for what, and what is never lost.

use std::sync::Arc;
use std::time::Duration;

use svit_loop::{LoopError, Svit, SvitEvent};
use svit_model::{Message, ModelError, Role, Scripted, ScriptedReply};
use svit_testkit::fault::{Fault, FaultyStore};
use svit_txn::{MemoryStore, Process};
use svit_value::value;

use crate::common::{ADDRESS, create, resume, started, svit};

/// Answers what it was asked.
pub(crate) fn echo() -> Scripted {
    Scripted::from_fn(|request| {
        let asked = request.messages.iter().rfind(|m| m.role == Role::User);
        ScriptedReply::text(asked.and_then(Message::text).unwrap_or_default())
    })
}

pub(crate) fn code<T: std::fmt::Debug>(result: Result<T, LoopError>) -> String {
    result.unwrap_err().code().to_owned()
}

#[tokio::test(start_paused = true)]
async fn askers_get_their_own_answers() {
    let svit = started(echo()).await;
    let asks = (0..20).map(|n| {
        let inbox = svit.inbox();
        async move {
            let answer = inbox
                .ask(Message::user(format!("question {n}")))
                .await
                .unwrap();
            assert_eq!(answer.text().unwrap(), format!("question {n}"));
        }
    });
    futures_util::future::join_all(asks).await;
}

#[tokio::test(start_paused = true)]
async fn an_asker_is_not_told_of_the_failures_of_others() {
    let model =
        Scripted::from_fn(
            |request| match request.messages.last().and_then(Message::text) {
                Some("bad") => ScriptedReply::error(ModelError::Refused {
                    detail: String::new(),
                }),
                _ => ScriptedReply::text("good"),
            },
        );
    let svit = started(model).await;
    let (one, two) = (svit.inbox(), svit.inbox());
    let (bad, good) = tokio::join!(
        one.ask(Message::user("bad")),
        two.ask(Message::user("good"))
    );
    assert_eq!(code(bad), "turn_failed");
    assert_eq!(good.unwrap().text(), Some("good"));
}

#[tokio::test(start_paused = true)]
async fn answers_that_nobody_saw_are_there_after_a_restart() {
    let store = Arc::new(MemoryStore::new());
    let mut first = svit(create(store.clone()).await, echo()).await.unwrap();
    first.start().unwrap();
    let inbox = first.inbox();
    let mut ids = Vec::new();
    for n in 0..150 {
        ids.push(inbox.send(Message::user(format!("{n}"))).await.unwrap());
    }
    let position = {
        let mut outbox = first.outbox_from(0);
        assert_eq!(outbox.recv().await.unwrap().text(), Some("0"));
        outbox.position()
    };
    drop(inbox);
    first.block().await.unwrap();
    drop(first);

    let second = Svit::persisted(resume(store).await.unwrap()).unwrap();
    let second = second.build().await.unwrap();
    assert!(second.usage().total() > 0, "known before it is started");
    let mut outbox = second.outbox_from(position);
    for (n, id) in ids.iter().enumerate().skip(1) {
        let answer = outbox.recv().await.unwrap();
        assert_eq!(answer.text().unwrap(), n.to_string());
        assert_eq!(answer.in_reply_to(), Some(*id));
    }
    let shown = second.recent_messages(4).await.unwrap();
    let shown: Vec<_> = shown.iter().map(|m| (m.role, m.text().unwrap())).collect();
    assert_eq!(
        shown,
        [
            (Role::User, "148"),
            (Role::Assistant, "148"),
            (Role::User, "149"),
            (Role::Assistant, "149")
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_dropped_recv_or_a_failing_store_loses_no_answer() {
    let memory = MemoryStore::new();
    let mut first = svit(create(Arc::new(memory.clone())).await, echo())
        .await
        .unwrap();
    first.start().unwrap();
    first.inbox().send(Message::user("once")).await.unwrap();
    first.block().await.unwrap();
    drop(first);
    for fault in [Fault::Fail, Fault::HangLost] {
        for number in 1..8 {
            let store = Arc::new(FaultyStore::new(Arc::new(memory.clone())));
            let quiet = Svit::persisted(resume(store.clone()).await.unwrap()).unwrap();
            let quiet = quiet.build().await.unwrap();
            let mut outbox = quiet.outbox_from(0);
            store.at_call(store.calls() + number, fault);
            let wait = Duration::from_secs(1);
            let first = tokio::time::timeout(wait, outbox.recv()).await;
            let answer = match first {
                Ok(Ok(answer)) => answer,
                Ok(Err(error)) => {
                    assert_eq!(error.code(), "unavailable");
                    outbox.recv().await.unwrap()
                }
                Err(_) => outbox.recv().await.unwrap(),
            };
            assert_eq!(answer.text(), Some("once"), "{fault:?} at {number}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_sends_a_message_once() {
    let store = Arc::new(MemoryStore::new());
    let mut ids = Vec::new();
    for _ in 0..2 {
        let svit = svit(
            match resume(store.clone()).await {
                Ok(process) => process,
                Err(_) => create(store.clone()).await,
            },
            echo(),
        )
        .await
        .unwrap();
        let inbox = svit.inbox();
        for _ in 0..2 {
            ids.push(inbox.send_keyed("k", Message::user("hi")).await.unwrap());
        }
        assert_eq!(
            code(inbox.send_keyed("k", Message::user("ho")).await),
            "reused_key"
        );
        assert_eq!(
            code(inbox.send_keyed("", Message::user("hi")).await),
            "bad_key"
        );
        assert_eq!(svit.discover("/inbox").unwrap().len(), 1);
    }
    assert_eq!(ids, vec![ids[0]; 4]);
}

#[tokio::test(start_paused = true)]
async fn a_key_of_a_refused_message_does_not_pretend_that_it_was_sent() {
    let limits = svit_txn::Limits {
        max_inbox: 1,
        ..svit_txn::Limits::default()
    };
    let process = Process::builder(ADDRESS)
        .unwrap()
        .limits(limits)
        .build()
        .unwrap();
    let process = MemoryStore::new().create(process).await.unwrap();
    let svit = svit(process, echo()).await.unwrap();
    let inbox = svit.inbox();
    inbox.send(Message::user("one")).await.unwrap();
    let two = || inbox.send_keyed("two", Message::user("two"));
    assert_eq!(code(two().await), "max_inbox");
    match two().await {
        Err(LoopError::Refused { code, .. }) => assert_eq!(code, "max_inbox"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn only_text_of_the_user_is_taken() {
    let svit = started(echo()).await;
    let inbox = svit.inbox();
    assert_eq!(
        code(inbox.send(Message::assistant("I")).await),
        "not_from_user"
    );
    let call = svit_model::ContentPart::ToolCall(svit_model::ToolCall::new("a", "b", value!({})));
    let mixed = Message::new(Role::User, vec![call]);
    assert_eq!(code(inbox.send(mixed).await), "not_text");
}

#[tokio::test(start_paused = true)]
async fn blocking_waits_for_inboxes_and_for_the_queue() {
    let mut svit = started(echo()).await;
    let inbox = svit.inbox();
    let sending = async move {
        tokio::time::sleep(Duration::from_secs(5)).await;
        inbox.send(Message::user("late")).await.unwrap();
        tokio::time::sleep(Duration::from_secs(5)).await;
        drop(inbox);
    };
    let mut outbox = svit.outbox();
    let (blocked, ()) = tokio::join!(svit.block(), sending);
    blocked.unwrap();
    assert_eq!(outbox.recv().await.unwrap().text(), Some("late"));
}

#[tokio::test(start_paused = true)]
async fn without_a_loop_blocking_says_so() {
    let mut svit = svit(create(Arc::new(MemoryStore::new())).await, echo())
        .await
        .unwrap();
    svit.block().await.unwrap();
    svit.inbox().send(Message::user("one")).await.unwrap();
    assert_eq!(code(svit.block().await), "not_started");
    svit.stop().await.unwrap();
    assert_eq!(code(svit.start()), "closed");
}

#[tokio::test(start_paused = true)]
async fn stopping_drains_and_closes() {
    let mut svit = started(echo()).await;
    let (inbox, mut outbox) = (svit.inbox(), svit.outbox());
    let (mut events, late) = (svit.events(), svit.inbox());
    for n in 0..3 {
        inbox.send(Message::user(format!("{n}"))).await.unwrap();
    }
    svit.stop().await.unwrap();
    assert_eq!(code(late.send(Message::user("late")).await), "closed");
    for n in 0..3 {
        assert_eq!(outbox.recv().await.unwrap().text().unwrap(), n.to_string());
    }
    assert_eq!(code(outbox.recv().await), "closed");
    let ended = loop {
        if let Err(error) = events.recv().await {
            break error;
        }
    };
    assert_eq!(ended.code(), "closed");
    svit.stop().await.unwrap();
    svit.block().await.unwrap();
    assert_eq!(code(svit.start()), "closed");
}

#[tokio::test(start_paused = true)]
async fn a_dropped_svit_closes_what_is_left_of_it() {
    let svit = started(echo()).await;
    let (inbox, mut outbox, mut events) = (svit.inbox(), svit.outbox(), svit.events());
    drop(svit);
    assert_eq!(code(outbox.recv().await), "closed");
    assert_eq!(code(events.recv().await), "closed");
    assert_eq!(code(inbox.send(Message::user("hi")).await), "closed");
}

#[tokio::test(start_paused = true)]
async fn a_loop_is_started_once_with_a_reasoner() {
    let twice = started(echo()).await;
    assert_eq!(code(twice.start()), "already_started");
    let process = create(Arc::new(MemoryStore::new())).await;
    let none = Svit::persisted(process).unwrap().build().await.unwrap();
    assert_eq!(code(none.start()), "no_reasoner");
}

#[test]
fn without_a_runtime_or_without_time_starting_is_an_error() {
    let build = async {
        svit(create(Arc::new(MemoryStore::new())).await, echo())
            .await
            .unwrap()
    };
    let timeless = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let svit = timeless.block_on(build);
    assert_eq!(code(svit.start()), "no_runtime");
    assert_eq!(
        code(timeless.block_on(async { svit.start() })),
        "no_runtime"
    );
    let timed = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    timed.block_on(async { svit.start().unwrap() });
}

#[tokio::test(start_paused = true)]
async fn events_tell_all_in_order() {
    let model = Scripted::from_fn(|request| match request.messages.len() {
        1 => ScriptedReply::text("Let me see. ")
            .and_call("write", value!({"path": "/memory/x", "value": 1})),
        _ => ScriptedReply::text("It is done."),
    });
    let mut svit = started(model).await;
    let mut events = svit.events();
    let inbox = svit.inbox();
    inbox.send(Message::user("Go.")).await.unwrap();
    drop(inbox);
    // Nothing is read before it is all over.
    svit.block().await.unwrap();
    drop(svit);
    let mut seen = Vec::new();
    loop {
        seen.push(match events.recv().await {
            Ok(SvitEvent::Committed(change)) => format!("version {}", change.version),
            Ok(SvitEvent::CanonicalEvent(event)) => event.kind.to_string(),
            Ok(SvitEvent::Message(message)) => format!("message {:?}", message.text().unwrap()),
            Ok(SvitEvent::Delta(delta)) => format!("delta {:?}", delta.text),
            Ok(other) => panic!("{other:?}"),
            Err(LoopError::Closed) => break,
            Err(error) => panic!("{error}"),
        });
    }
    let seen: Vec<&str> = seen
        .iter()
        .map(String::as_str)
        .filter(|s| *s != "session.started")
        .collect();
    assert_eq!(
        seen,
        [
            "version 1",
            "turn.started",
            "message.accepted",
            "model.requested",
            "delta \"Let \"",
            "delta \"me \"",
            "delta \"see. \"",
            "model.responded",
            "tool.started",
            "version 2",
            "tool.finished",
            "model.requested",
            "delta \"It \"",
            "delta \"is \"",
            "delta \"done.\"",
            "version 3",
            "model.responded",
            "turn.finished",
            "message \"It is done.\"",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn failures_are_told_with_their_code_and_in_one_clean_line() {
    let detail = format!("\u{1b}[2J\nboom {}", "x".repeat(5_000));
    let model = Scripted::from_fn(move |_| {
        ScriptedReply::error(ModelError::Refused {
            detail: detail.clone(),
        })
    });
    let svit = started(model).await;
    let mut events = svit.events();
    svit.inbox().send(Message::user("Go.")).await.unwrap();
    let mut failures = Vec::new();
    while failures.len() < 3 {
        if let SvitEvent::Failed { code, reason } = events.recv().await.unwrap() {
            assert_eq!(code, "refused");
            assert!(
                reason.len() < 1_200 && !reason.contains(char::is_control),
                "{reason}"
            );
            failures.push(reason);
        }
    }
    assert!(
        failures[0].starts_with("attempt 1 at message 1 failed"),
        "{}",
        failures[0]
    );
    assert!(
        failures[2].starts_with("message 1 was given up after 3 attempts"),
        "{}",
        failures[2]
    );
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_of_events_is_told_how_many_it_lost() {
    let svit = started(echo()).await;
    let mut events = svit.events();
    for n in 0..1_100 {
        svit.process().write("/memory/n", n).await.unwrap();
    }
    match events.recv().await {
        Err(LoopError::Lagged(lost)) => assert!((76..=78).contains(&lost), "{lost}"),
        other => panic!("{other:?}"),
    }
    assert!(matches!(events.recv().await, Ok(SvitEvent::Committed(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_askers_on_many_threads() {
    let mut svit = started(echo()).await;
    let asking: Vec<_> = (0..8)
        .map(|asker| {
            let inbox = svit.inbox();
            tokio::spawn(async move {
                for n in 0..10 {
                    let question = format!("{asker}.{n}");
                    let answer = inbox.ask(Message::user(question.as_str())).await.unwrap();
                    assert_eq!(answer.text().unwrap(), question);
                }
            })
        })
        .collect();
    svit.block().await.unwrap();
    for asked in asking {
        asked.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_whose_sender_gave_up_is_answered_all_the_same() {
    for (fault, answers) in [(Fault::HangLanded, true), (Fault::HangLost, true)] {
        let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
        let mut svit = svit(create(store.clone()).await, echo()).await.unwrap();
        svit.start().unwrap();
        let (inbox, mut outbox) = (svit.inbox(), svit.outbox());
        tokio::time::sleep(Duration::from_secs(1)).await;
        store.at_write(store.writes() + 1, fault);
        let patience = Duration::from_secs(1);
        let sent = tokio::time::timeout(patience, inbox.send(Message::user("slow"))).await;
        assert!(sent.is_err());
        let answered = tokio::time::timeout(patience, outbox.recv()).await.is_ok();
        assert_eq!(answered, answers, "{fault:?}");
        drop(inbox);
        svit.block().await.unwrap();
    }
}
