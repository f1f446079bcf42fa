//! A conversation that outgrows the model's window goes on with a summary of its older part, which is
//! made once, wherever the program is stopped, and hides nothing from people.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use svit_loop::{LoopError, Svit};
use svit_model::{
    ContentPart, FinishReason, Message, ModelError, ModelRequest, Provider, Role, Scripted,
    ScriptedReply,
};
use svit_txn::{DurableProcess, EventQuery, MemoryStore, ProcessStore, ThreadEvent};
use svit_value::{Digest, Value, value};

use crate::anywhere::stopped_anywhere;
use crate::common::{create, reasoner, resume, svit};

/// Smaller than all that the story says, and larger than what each step needs.
const WINDOW: u64 = 2_400;

fn is_summary(request: &ModelRequest) -> bool {
    request.tools.is_empty()
}

/// A summary that names what it was made of, so that another part would be another summary.
fn summary_of(request: &ModelRequest) -> ScriptedReply {
    let part = request.messages[0].text().unwrap();
    let bound = request.max_output_tokens.unwrap();
    assert!(u64::from(bound) <= WINDOW / 4, "{bound}");
    assert!(part.len() as u64 <= WINDOW * 2 + 100, "{}", part.len());
    let digest = Digest::of(part.as_bytes());
    ScriptedReply::text(format!("What was said was {digest}."))
}

/// Checks what every provider checks, and that the newest question is there as it was asked.
fn check(request: &ModelRequest) {
    let messages = &request.messages;
    assert_eq!(messages[0].role, Role::User, "{messages:?}");
    for (at, message) in messages.iter().enumerate() {
        let calls: Vec<&str> = message.tool_calls().map(|call| call.id.as_str()).collect();
        if !calls.is_empty() {
            let results = messages[at + 1].tool_results();
            let results: Vec<&str> = results.map(|result| result.call_id.as_str()).collect();
            assert_eq!(calls, results, "{messages:?}");
        }
        if message.role == Role::Tool {
            let called = messages[at - 1].tool_calls().next();
            assert!(called.is_some(), "{messages:?}");
        }
    }
    let is_framed = |message: &&Message| message.text().unwrap().contains("<summary>");
    let summaries = messages
        .iter()
        .filter(|m| m.role == Role::User)
        .filter(is_framed);
    assert!(summaries.count() <= 1, "{messages:?}");
}

/// The newest question, and how many steps were made since, which the newest step says.
fn place(request: &ModelRequest) -> (&str, i64) {
    let newest = request.messages.iter().rposition(|m| m.role == Role::User);
    let newest = newest.unwrap();
    let question = request.messages[newest].text().unwrap();
    let call = request.messages[newest..]
        .iter()
        .rev()
        .find_map(|message| message.tool_calls().next());
    let step = call.and_then(|call| call.arguments.get("value")?.get("step")?.as_int());
    (question, step.unwrap_or(0))
}

/// Two calls, of about 330 tokens.
fn step(number: i64) -> ScriptedReply {
    let padding = "word ".repeat(250);
    ScriptedReply::call(
        "write",
        value!({"path": "/memory/facts/step", "value": {"step": number, "padding": padding}}),
    )
    .and_call("read", value!({"path": "/memory/count"}))
}

/// Long turns, one that is given up within, and short ones.
fn story() -> Scripted {
    let model = Scripted::from_fn(|request| {
        if is_summary(request) {
            return summary_of(request);
        }
        check(request);
        match place(request) {
            ("Work long.", done @ 0..6) | ("Fail.", done @ 0..1) | ("Work.", done @ 0..3) => {
                step(done + 1)
            }
            ("Fail.", 1) => ScriptedReply::error(ModelError::Refused {
                detail: "never".to_owned(),
            }),
            ("Work long." | "Work." | "Rest.", done) => {
                ScriptedReply::text(format!("{done} steps."))
            }
            other => panic!("asked at {other:?}"),
        }
    });
    model.context_tokens(WINDOW)
}

const QUESTIONS: [&str; 3] = ["Work long.", "Fail.", "Work."];

const ANSWERS: [&str; 3] = [
    "1: Some(\"6 steps.\")",
    "message 2 was given up after 3 attempts: the model refused: never",
    "3: Some(\"3 steps.\")",
];

async fn play(store: Arc<dyn ProcessStore>) -> Result<(), LoopError> {
    let mut svit = svit(resume(store).await?, story()).await?;
    let inbox = svit.inbox();
    for (number, text) in QUESTIONS.iter().enumerate() {
        let key = format!("key-{number}");
        inbox.send_keyed(key, Message::user(*text)).await?;
    }
    drop(inbox);
    svit.start()?;
    svit.block().await
}

async fn events(process: &DurableProcess) -> Vec<ThreadEvent> {
    let query = EventQuery {
        from: 0,
        limit: 10_000,
        newest_first: false,
    };
    process.events(query).await.unwrap()
}

fn int(event: &ThreadEvent, field: &str) -> i64 {
    event.body.get(field).and_then(Value::as_int).unwrap()
}

/// The story, played to its end.
async fn played() -> (MemoryStore, DurableProcess) {
    let memory = MemoryStore::new();
    create(Arc::new(memory.clone())).await;
    play(Arc::new(memory.clone())).await.unwrap();
    let process = resume(Arc::new(memory.clone())).await.unwrap();
    (memory, process)
}

#[tokio::test(start_paused = true)]
async fn a_summary_is_made_once_wherever_the_program_is_stopped() {
    let end = stopped_anywhere(play).await;
    assert_eq!(end.answers, ANSWERS);
    let is_compacted = |event: &&String| event.starts_with("context.compacted");
    assert!(end.events.iter().filter(is_compacted).count() >= 2);
}

#[tokio::test(start_paused = true)]
async fn people_see_all_that_was_said() {
    let (_, process) = played().await;
    let svit = Svit::persisted(process.clone())
        .unwrap()
        .build()
        .await
        .unwrap();
    let shown = svit.recent_messages(100).await.unwrap();
    let shown: Vec<_> = shown.iter().map(|m| m.text().unwrap()).collect();
    let expected = ["Work long.", "6 steps.", "Fail.", "Work.", "3 steps."];
    assert_eq!(shown, expected);
    assert_eq!(crate::common::answers(&process).await, ANSWERS);
    // What summaries cost is counted.
    let of_calls = events(&process)
        .await
        .iter()
        .fold(0, |sum, event| match &*event.kind {
            "model.responded" | "context.compacted" => {
                sum + int(event, "input_tokens") + int(event, "output_tokens")
            }
            _ => sum,
        });
    assert_eq!(svit.usage().total(), of_calls.unsigned_abs());
}

#[tokio::test(start_paused = true)]
async fn what_was_compacted_can_be_forgotten_and_no_more() {
    let (memory, process) = played().await;
    let before = events(&process).await;
    let quiet = Svit::persisted(process.clone())
        .unwrap()
        .build()
        .await
        .unwrap();
    let usage = quiet.usage();
    let keep_from = quiet.trim_compacted().await.unwrap();
    assert!(keep_from > 0);
    let first = before.iter().find(|event| event.seq == keep_from).unwrap();
    assert_eq!(
        &*first.kind, "turn.started",
        "turns are forgotten as a whole"
    );
    let after = events(&process).await;
    assert_eq!(after[0].seq, keep_from);
    assert_eq!(after.len() as u64, before.len() as u64 - keep_from);

    // The next request is the same with the events and without them.
    let next_request = async |process: DurableProcess| {
        let asked = Arc::new(std::sync::Mutex::new(None));
        let seen = asked.clone();
        let model = Scripted::from_fn(move |request| {
            seen.lock().unwrap().get_or_insert_with(|| request.clone());
            ScriptedReply::text("Yes.")
        });
        let svit = svit(process, model).await.unwrap();
        assert_eq!(svit.usage(), usage);
        svit.start().unwrap();
        svit.inbox()
            .ask(Message::user("Still there?"))
            .await
            .unwrap();
        let request = asked.lock().unwrap().take().unwrap();
        check(&request);
        request.messages
    };
    let (_, whole) = played().await;
    let whole = next_request(whole).await;
    assert!(
        whole[0].text().unwrap().contains("What was said was"),
        "{whole:?}"
    );
    drop((quiet, process));
    let trimmed = resume(Arc::new(memory)).await.unwrap();
    assert_eq!(next_request(trimmed.clone()).await, whole);
    // What is left can still be shown.
    let svit = Svit::persisted(trimmed).unwrap().build().await.unwrap();
    let shown = svit.recent_messages(2).await.unwrap();
    assert_eq!(shown[1].text(), Some("Yes."));
    let mut outbox = svit.outbox_from(0);
    drop(svit);
    let mut last = None;
    loop {
        match outbox.recv().await {
            Ok(message) => last = message.text().map(str::to_owned),
            Err(LoopError::TurnFailed { .. }) => {}
            Err(error) => break assert_eq!(error.code(), "closed"),
        }
    }
    assert_eq!(last.as_deref(), Some("Yes."));
}

/// At any event of the story, what is said to be kept is enough to go on.
#[tokio::test(start_paused = true)]
async fn a_turn_under_way_is_never_forgotten() {
    let (_, process) = played().await;
    let all = events(&process).await;
    let mut open = 0;
    let mut compacted = 0;
    let mut within = 0;
    for event in &all {
        match &*event.kind {
            "turn.started" => open = i64::try_from(event.seq).unwrap(),
            "context.compacted" => {
                compacted += 1;
                let (before, keep_from) = (int(event, "before"), int(event, "keep_from"));
                assert!(keep_from <= open && keep_from < before, "{event:?}");
                within += usize::from(before > open + 1);
            }
            _ => {}
        }
    }
    assert!(within > 0 && within < compacted, "{within} of {compacted}");
}

/// A model whose summaries fail, or are none.
fn no_summary(reply: impl Fn() -> ScriptedReply + Send + Sync + 'static) -> Scripted {
    let model = Scripted::from_fn(move |request| {
        if is_summary(request) {
            return reply();
        }
        check(request);
        match place(request) {
            (_, done @ 0..9) => step(done + 1),
            _ => ScriptedReply::text("Done."),
        }
    });
    model.context_tokens(WINDOW)
}

#[tokio::test(start_paused = true)]
async fn without_a_summary_the_turn_fails_and_nothing_is_lost() {
    type Reply = fn() -> ScriptedReply;
    let replies: [(&str, Reply); 5] = [
        ("limits the rate", || {
            ScriptedReply::error(ModelError::RateLimited {
                retry_after: None,
                detail: String::new(),
            })
        }),
        ("refused", || {
            ScriptedReply::error(ModelError::Refused {
                detail: String::new(),
            })
        }),
        ("gave none", || ScriptedReply::text(" \n")),
        ("gave none", || {
            ScriptedReply::call("write", value!({"path": "/memory/facts/x", "value": 1}))
        }),
        ("too long", || ScriptedReply::text("x".repeat(5_000))),
    ];
    for (why, reply) in replies {
        let store = MemoryStore::new();
        let process = create(Arc::new(store.clone())).await;
        let svit = svit(process.clone(), no_summary(reply)).await.unwrap();
        svit.start().unwrap();
        match svit.inbox().ask(Message::user("Work long.")).await {
            Err(LoopError::TurnFailed {
                code,
                attempts,
                reason,
                ..
            }) => {
                assert_eq!((code.as_str(), attempts), ("context_too_long", 3), "{why}");
                assert!(
                    reason.contains("summarized") && reason.contains(why),
                    "{reason}"
                );
            }
            other => panic!("{why}: {other:?}"),
        }
        let kinds: Vec<_> = events(&process)
            .await
            .iter()
            .map(|e| e.kind.clone())
            .collect();
        assert!(kinds.iter().all(|kind| &**kind != "context.compacted"));
        assert_eq!(svit.read("/memory/facts/x").unwrap(), None);
        // The message is not lost, and a larger window goes on with the conversation as it was.
        let dead = svit.read("/thread/dead/0000000000000001").unwrap().unwrap();
        let message = Message::from_value(dead.get("message").unwrap()).unwrap();
        assert_eq!(message.text(), Some("Work long."));
        drop(svit);
        let larger = crate::common::svit(
            process,
            Scripted::from_fn(|request| {
                let asked = request.messages.iter().filter(|m| m.role == Role::User);
                assert_eq!(asked.count(), 2);
                ScriptedReply::text("Yes.")
            }),
        );
        let larger = larger.await.unwrap();
        larger.start().unwrap();
        let answer = larger.inbox().ask(Message::user("And now?")).await.unwrap();
        assert_eq!(answer.text(), Some("Yes."));
    }
}

/// A provider that claims a larger window than it has.
#[tokio::test(start_paused = true)]
async fn a_request_that_is_refused_as_too_long_is_compacted_too() {
    let refused = Arc::new(AtomicUsize::new(0));
    let counted = refused.clone();
    let model = Scripted::from_fn(move |request| {
        if is_summary(request) {
            return ScriptedReply::text("Some steps were made.");
        }
        check(request);
        let octets: u64 = request
            .messages
            .iter()
            .flat_map(|message| &message.parts)
            .map(|part| match part {
                ContentPart::ToolCall(call) => call.arguments.measure().cbor_len,
                _ => 0,
            })
            .sum();
        if octets > 8_000 {
            counted.fetch_add(1, Ordering::SeqCst);
            return ScriptedReply::error(ModelError::ContextTooLong {
                detail: "no room".to_owned(),
            });
        }
        match place(request) {
            (_, done @ 0..20) => step(done + 1),
            (_, done) => ScriptedReply::text(format!("{done} steps.")),
        }
    });
    let process = create(Arc::new(MemoryStore::new())).await;
    let svit = svit(process, model).await.unwrap();
    svit.start().unwrap();
    let answer = svit.inbox().ask(Message::user("Work long.")).await.unwrap();
    assert_eq!(answer.text(), Some("20 steps."));
    let refused = refused.load(Ordering::SeqCst);
    assert!((1..10).contains(&refused), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_fits_no_window_fails_and_the_next_one_is_answered() {
    let model = Scripted::from_fn(|request| {
        if is_summary(request) {
            return ScriptedReply::text("A long message was given up.").finish(FinishReason::Stop);
        }
        let octets: usize = request
            .messages
            .iter()
            .flat_map(Message::texts)
            .map(str::len)
            .sum();
        if octets as u64 > WINDOW * 4 {
            return ScriptedReply::error(ModelError::ContextTooLong {
                detail: String::new(),
            });
        }
        ScriptedReply::text("Yes.")
    });
    let process = create(Arc::new(MemoryStore::new())).await;
    let svit = svit(process, model.context_tokens(WINDOW)).await.unwrap();
    svit.start().unwrap();
    let inbox = svit.inbox();
    assert!(inbox.ask(Message::user("Hello?")).await.is_ok());
    match inbox.ask(Message::user("x".repeat(100_000))).await {
        Err(LoopError::TurnFailed { code, .. }) => assert_eq!(code, "context_too_long"),
        other => panic!("{other:?}"),
    }
    let answer = inbox.ask(Message::user("And now?")).await.unwrap();
    assert_eq!(answer.text(), Some("Yes."));
}

#[tokio::test(start_paused = true)]
async fn summaries_are_of_the_turns_budget() {
    let process = create(Arc::new(MemoryStore::new())).await;
    let model = no_summary(|| ScriptedReply::text("Steps.").usage(1_000_000, 1));
    let svit = Svit::persisted(process)
        .unwrap()
        .reasoner(reasoner(model))
        .max_turn_tokens(900_000)
        .max_turn_wall(Duration::MAX)
        .build()
        .await
        .unwrap();
    svit.start().unwrap();
    match svit.inbox().ask(Message::user("Work long.")).await {
        Err(LoopError::TurnFailed { code, .. }) => assert_eq!(code, "max_turn_tokens"),
        other => panic!("{other:?}"),
    }
    assert!(svit.usage().total() > 1_000_000);
}

/// The model goes silent in the middle of its summary, and the host loses patience.
#[tokio::test(start_paused = true)]
async fn a_turn_is_cancelled_while_its_summary_is_made() {
    struct SilentSummaries(Scripted);
    impl Provider for SilentSummaries {
        fn respond(
            &self,
            request: ModelRequest,
        ) -> svit_model::BoxFuture<'_, Result<svit_model::ModelStream, ModelError>> {
            if is_summary(&request) {
                return Box::pin(std::future::pending());
            }
            self.0.respond(request)
        }

        fn limits(&self, model: &str) -> svit_model::ModelLimits {
            self.0.limits(model)
        }
    }
    let process = create(Arc::new(MemoryStore::new())).await;
    let svit = svit(process, SilentSummaries(story())).await.unwrap();
    svit.start().unwrap();
    let inbox = svit.inbox();
    let cancelling = async {
        tokio::time::sleep(Duration::from_secs(60)).await;
        svit.cancel_turn();
    };
    let (asked, ()) = tokio::join!(inbox.ask(Message::user("Work long.")), cancelling);
    assert!(matches!(asked, Err(LoopError::TurnFailed { code, .. }) if code == "cancelled"));
    let answer = inbox.ask(Message::user("Rest."));
    let waits = tokio::time::timeout(Duration::from_secs(60), answer).await;
    assert!(waits.is_err(), "it needs room, and waits for its summary");
}
