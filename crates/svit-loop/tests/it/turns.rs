//! What a turn does with what models say, and how it ends when there is no answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use svit_loop::{LoopError, Svit};
use svit_model::{FinishReason, Message, ModelError, ModelRequest, Role, Scripted, ScriptedReply};
use svit_txn::{Limits, MemoryStore, Operation, Process, Submission};
use svit_value::{Value, value};
use tokio::time::Instant;

use crate::common::{ADDRESS, create, reasoner, started, svit};

/// The newest results that a model was given, as JSON, with `!` in front of errors.
fn results(request: &ModelRequest) -> Vec<String> {
    let newest = request.messages.iter().rfind(|m| m.role == Role::Tool);
    let results = newest.into_iter().flat_map(Message::tool_results);
    let shown = results.map(|result| {
        let sign = if result.is_error { "!" } else { "" };
        format!("{sign}{}", result.content.to_json().unwrap())
    });
    shown.collect()
}

fn busy() -> ModelError {
    ModelError::RateLimited {
        retry_after: None,
        detail: "later".to_owned(),
    }
}

async fn code_of(svit: &Svit, message: &str) -> (String, u64, String) {
    match svit.inbox().ask(Message::user(message)).await {
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
async fn mistakes_of_a_model_are_results_in_request_order() {
    let model = Scripted::from_fn(|request| {
        if request.messages.len() == 1 {
            return ScriptedReply::call("fly", value!({}))
                .and_call("write", "{\"path\": \"/memory/x\", \"val")
                .and_call("read", value!({"path": "memory"}))
                .and_call("read", value!({"path": "/memory/none"}))
                .and_call("write", value!({"path": "/inbox/x", "value": 1}))
                .and_call("write", value!({"path": "/memory/x", "value": 1}))
                .and_call("read", value!({"path": "/memory/x", "colour": 1}))
                .and_call("read", value!({"path": "/memory/x"}));
        }
        let ids: Vec<_> = request.messages[2]
            .tool_results()
            .map(|r| r.call_id.clone())
            .collect();
        let asked: Vec<_> = request.messages[1]
            .tool_calls()
            .map(|c| c.id.clone())
            .collect();
        assert_eq!(ids, asked);
        ScriptedReply::text(results(request).join("\n"))
    });
    let svit = started(model).await;
    let answer = svit.inbox().ask(Message::user("Go.")).await.unwrap();
    let lines: Vec<_> = answer.text().unwrap().lines().collect();
    assert_eq!(lines.len(), 8);
    for (line, part) in lines.iter().zip([
        "!\"there is no tool",
        "!\"the arguments of tool \\\"write\\\" are not a JSON object",
        "!\"",
        "!\"nothing is at /memory/none",
        "!\"/inbox/x cannot be written",
        "{\"changed\":[\"/memory/x\"],\"version\":2}",
        "!\"read has no argument \\\"colour\\\"; it takes path",
        "1",
    ]) {
        assert!(line.starts_with(part), "{line} should start with {part}");
    }
    assert_eq!(svit.process().version(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_fails_is_tried_again_with_growing_waits_and_then_given_up() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let model = Scripted::from_fn(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        ScriptedReply::error(busy())
    });
    let svit = started(model).await;
    let begun = Instant::now();
    let (code, attempts, reason) = code_of(&svit, "Hello?").await;
    assert_eq!((code.as_str(), attempts), ("rate_limited", 3));
    assert!(reason.contains("later"), "{reason}");
    assert_eq!(asked.load(Ordering::SeqCst), 3);
    assert_eq!(begun.elapsed().as_millis(), 750);
    let dead = svit.read("/thread/dead/0000000000000001").unwrap().unwrap();
    assert_eq!(
        dead.get("reason").unwrap().get("code"),
        Some(&"rate_limited".into())
    );
    assert_eq!(dead.get("reason").unwrap().get("attempts"), Some(&3.into()));
    assert_eq!(
        Message::from_value(dead.get("message").unwrap()).unwrap(),
        Message::user("Hello?")
    );
    assert_eq!(svit.discover("/inbox").unwrap().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_wait_that_a_provider_asks_for_is_kept() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let model = Scripted::from_fn(move |_| match counted.fetch_add(1, Ordering::SeqCst) {
        0 => ScriptedReply::error(ModelError::RateLimited {
            retry_after: Some(Duration::from_secs(20)),
            detail: String::new(),
        }),
        _ => ScriptedReply::text("Now."),
    });
    let svit = started(model).await;
    let begun = Instant::now();
    let answer = svit.inbox().ask(Message::user("Hello?")).await.unwrap();
    assert_eq!(answer.text(), Some("Now."));
    assert_eq!(begun.elapsed().as_secs(), 20);
}

#[tokio::test(start_paused = true)]
async fn after_a_failed_turn_the_loop_goes_on_and_an_interrupted_step_is_not_repeated() {
    let failing = Arc::new(AtomicUsize::new(2));
    let left = failing.clone();
    let model = Scripted::from_fn(move |request| match request.messages.len() {
        1 => ScriptedReply::call("write", value!({"path": "/memory/count", "value": 1})),
        3 if left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1))
            .is_ok() =>
        {
            ScriptedReply::text("Half an ans").and_error(busy())
        }
        _ => ScriptedReply::text("Done."),
    });
    let svit = started(model).await;
    let answer = svit.inbox().ask(Message::user("Count.")).await.unwrap();
    assert_eq!(answer.text(), Some("Done."));
    // The message, one write, the acknowledgement.
    assert_eq!(svit.process().version(), 3);
    failing.store(0, Ordering::SeqCst);
    let answer = svit.inbox().ask(Message::user("And again.")).await.unwrap();
    assert_eq!(answer.text(), Some("Done."));
}

#[tokio::test(start_paused = true)]
async fn budgets_end_a_turn_with_their_names() {
    let limits = Limits {
        max_turn_steps: 3,
        max_turn_tool_calls: 4,
        max_turn_attempts: 2,
        ..Limits::default()
    };
    let model = Scripted::from_fn(|request| {
        let read = || ScriptedReply::call("read", value!({"path": "/memory"}));
        let asked = request.messages.iter().rfind(|m| m.role == Role::User);
        match asked.and_then(Message::text) {
            Some("calls") => (0..4).fold(read(), |reply, _| {
                reply.and_call("write", value!({"path": "/memory/x", "value": 1}))
            }),
            Some("four calls") if request.messages.last().unwrap().role == Role::User => (0..3)
                .fold(read(), |reply, _| {
                    reply.and_call("stat", value!({"path": "/"}))
                }),
            Some("steps") => read(),
            _ => ScriptedReply::text("Fine."),
        }
    });
    let svit = Svit::builder(ADDRESS)
        .unwrap()
        .limits(limits)
        .reasoner(reasoner(model))
        .build()
        .await
        .unwrap();
    svit.start().unwrap();
    let (code, attempts, _) = code_of(&svit, "steps").await;
    assert_eq!((code.as_str(), attempts), ("max_turn_steps", 1));
    let (code, attempts, _) = code_of(&svit, "calls").await;
    assert_eq!((code.as_str(), attempts), ("max_turn_tool_calls", 1));
    assert_eq!(svit.read("/memory/x").unwrap(), None, "none of them ran");
    // Calls that were never run have results, or a model would refuse the conversation.
    let answer = svit.inbox().ask(Message::user("four calls")).await.unwrap();
    assert_eq!(answer.text(), Some("Fine."));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_cut_is_no_answer_but_is_kept() {
    let model =
        Scripted::from_fn(|_| ScriptedReply::text("It is sev").finish(FinishReason::Length));
    let svit = started(model).await;
    let (code, attempts, _) = code_of(&svit, "Count.").await;
    assert_eq!((code.as_str(), attempts), ("answer_cut", 1));
    let said = svit.recent_messages(10).await.unwrap();
    let said: Vec<_> = said.iter().map(Message::text).collect();
    assert_eq!(said, [Some("Count."), Some("It is sev")]);
    assert!(svit.usage().total() > 0, "what was used is counted");
}

#[tokio::test(start_paused = true)]
async fn calls_of_a_cut_answer_are_run_and_those_cut_themselves_are_refused() {
    let model = Scripted::from_fn(|request| match request.messages.len() {
        1 => ScriptedReply::call("write", value!({"path": "/memory/x", "value": 1}))
            .and_call("write", "{\"path\": \"/memory/y")
            .finish(FinishReason::Length),
        _ => ScriptedReply::text(results(request).join("\n")),
    });
    let svit = started(model).await;
    let answer = svit.inbox().ask(Message::user("Go.")).await.unwrap();
    let text = answer.text().unwrap();
    assert!(
        text.contains("changed") && text.contains("!\"the arguments"),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_empty_answer_is_an_answer_without_text() {
    let svit = started(Scripted::from_fn(|_| ScriptedReply::default())).await;
    let answer = svit
        .inbox()
        .ask(Message::user("Say nothing."))
        .await
        .unwrap();
    assert_eq!(answer.text(), None);
}

#[tokio::test(start_paused = true)]
async fn what_is_no_message_is_given_up_and_the_next_one_answered() {
    let process = create(Arc::new(MemoryStore::new())).await;
    let call = svit_model::ToolCall::new("c", "write", value!({}));
    let stray = Message::new(Role::User, vec![svit_model::ContentPart::ToolCall(call)]);
    for message in [
        value!(17),
        value!({"role": "king", "parts": []}),
        Message::assistant("I said so.").to_value().unwrap(),
        stray.to_value().unwrap(),
    ] {
        let enqueue = Submission::plain(Operation::Enqueue { message });
        process.submit(enqueue).await.unwrap();
    }
    let svit = svit(
        process,
        Scripted::from_fn(|request| {
            assert_eq!(request.messages.len(), 1);
            ScriptedReply::text("Yes.")
        }),
    )
    .await
    .unwrap();
    svit.start().unwrap();
    let answer = svit
        .inbox()
        .ask(Message::user("Still there?"))
        .await
        .unwrap();
    assert_eq!(answer.text(), Some("Yes."));
    let dead = svit.read("/thread/dead").unwrap().unwrap();
    let codes: Vec<_> = dead
        .as_map()
        .unwrap()
        .values()
        .map(|letter| letter.get("reason").unwrap().get("code").cloned())
        .collect();
    assert_eq!(codes, vec![Some(Value::from("bad_message")); 4]);
}

#[tokio::test(start_paused = true)]
async fn a_message_put_in_by_other_means_wakes_the_loop() {
    let svit = started(Scripted::from_fn(|_| ScriptedReply::text("Yes."))).await;
    let mut outbox = svit.outbox();
    // Time is only moved when everybody waits.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let message = Message::user("Hello.").to_value().unwrap();
    let enqueue = Submission::plain(Operation::Enqueue { message });
    svit.process().submit(enqueue).await.unwrap();
    assert_eq!(outbox.recv().await.unwrap().text(), Some("Yes."));
}

#[tokio::test(start_paused = true)]
async fn cancelling_when_no_turn_runs_does_not_touch_the_next() {
    let mut svit = started(Scripted::from_fn(|_| ScriptedReply::text("Yes."))).await;
    svit.cancel_turn();
    tokio::time::sleep(Duration::from_secs(1)).await;
    svit.cancel_turn();
    for _ in 0..2 {
        let inbox = svit.inbox();
        assert!(inbox.ask(Message::user("Hello?")).await.is_ok());
        // The turn is over; this is too late.
        svit.cancel_turn();
    }
    svit.block().await.unwrap();
    assert_eq!(svit.read("/thread/dead").unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn a_turn_is_cancelled_while_it_waits_for_another_attempt() {
    let model = Scripted::from_fn(|request| match request.messages[0].text() {
        Some("Hello?") if request.messages.len() == 1 => {
            ScriptedReply::error(ModelError::RateLimited {
                retry_after: Some(Duration::from_secs(1_000)),
                detail: String::new(),
            })
        }
        _ => ScriptedReply::text("Yes."),
    });
    let svit = started(model).await;
    let (inbox, mut outbox) = (svit.inbox(), svit.outbox());
    let first = inbox.send(Message::user("Hello?")).await.unwrap();
    inbox.send(Message::user("Anybody?")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(10)).await;
    let begun = Instant::now();
    svit.cancel_turn();
    match outbox.recv().await {
        Err(LoopError::TurnFailed {
            message,
            code,
            attempts,
            ..
        }) => {
            assert_eq!((message, code.as_str(), attempts), (first, "cancelled", 2));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(outbox.recv().await.unwrap().text(), Some("Yes."));
    assert!(begun.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_turn_is_cancelled_while_the_model_thinks() {
    let svit = started(crate::crash::Silent::after(
        Scripted::from_fn(|_| ScriptedReply::text("Yes.")),
        1,
    ))
    .await;
    let inbox = svit.inbox();
    let asking = inbox.ask(Message::user("Hello?"));
    let cancelling = async {
        tokio::time::sleep(Duration::from_secs(60)).await;
        svit.cancel_turn();
    };
    let (asked, ()) = tokio::join!(asking, cancelling);
    assert!(matches!(asked, Err(LoopError::TurnFailed { code, .. }) if code == "cancelled"));
    let kinds = svit.recent_events(10).await.unwrap();
    assert_eq!(kinds.last().unwrap().kind.as_str(), "turn.failed");
}

#[tokio::test(start_paused = true)]
async fn results_that_are_too_long_say_so_and_how_to_go_on() {
    let text = "é".repeat(100_000);
    let model = Scripted::from_fn(|request| match request.messages.len() {
        1 => ScriptedReply::call("read", value!({"path": "/memory/long"}))
            .and_call("discover", value!({"path": "/memory/many"}))
            .and_call(
                "exec",
                value!({"source": "(define (main input) (read \"/memory/long\"))"}),
            ),
        _ => ScriptedReply::text(results(request).join("\n")),
    });
    let many: Vec<_> = (0..1_000)
        .map(|n| (format!("{n:04}"), Value::Int(n)))
        .collect();
    let many = svit_value::Map::from_entries(many).unwrap();
    let process = Process::builder(ADDRESS)
        .unwrap()
        .memory("long", text)
        .memory("many", many)
        .build()
        .unwrap();
    let process = MemoryStore::new().create(process).await.unwrap();
    let svit = svit(process, model).await.unwrap();
    svit.start().unwrap();
    let answer = svit.inbox().ask(Message::user("Read.")).await.unwrap();
    let lines: Vec<_> = answer.text().unwrap().lines().collect();
    assert!(lines[0].contains("\"cut\":true"), "{}", &lines[0][..100]);
    assert!(lines[1].contains("\"more\":800"), "{}", lines[1]);
    assert!(lines[2].contains("\"version\":2"), "{}", &lines[2][..100]);
    for line in lines {
        assert!(line.len() < 70_000, "{} bytes", line.len());
    }
}
