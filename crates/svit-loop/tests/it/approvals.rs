//! Calls that wait for the host: durably, without holding anything, and each is made at most once.

use std::sync::Arc;
use std::time::Duration;

use svit_loop::{ApprovalRequest, Approvals, LoopError, Svit, ToolPolicy};
use svit_model::{Message, Role, Scripted, ScriptedReply};
use svit_testkit::fault::{Fault, FaultyStore};
use svit_txn::{DurableProcess, MemoryStore, Operation, Outcome, ProcessStore, Submission};
use svit_value::{Value, value};

use crate::anywhere::stopped_anywhere;
use crate::common::{answers, create, place, reasoner, resume};
use crate::crash::hangs;
use crate::handles::code;

const ADD: &str = "(define (main input) (let ((n (+ (read \"/memory/count\") 1))) \
     (do (write \"/memory/count\" n) n)))";

fn careful() -> ToolPolicy {
    ToolPolicy::new().ask(["write", "remove", "exec"])
}

async fn with_policy(
    process: DurableProcess,
    model: Scripted,
    policy: ToolPolicy,
) -> Result<Svit, LoopError> {
    Svit::persisted(process)?
        .reasoner(reasoner(model))
        .tools(policy)
        .max_turn_wall(Duration::MAX)
        .build()
        .await
}

/// The newest results, as JSON, with `!` in front of errors.
fn results(request: &svit_model::ModelRequest) -> String {
    let newest = request.messages.iter().rfind(|m| m.role == Role::Tool);
    let results = newest.into_iter().flat_map(Message::tool_results);
    let shown = results.map(|result| {
        let sign = if result.is_error { "!" } else { "" };
        format!("{sign}{}", result.content.to_json().unwrap())
    });
    shown.collect::<Vec<_>>().join("\n")
}

/// Calls that wait, calls that do not, mistakes, and one that will be denied; then the same again.
fn story() -> Scripted {
    Scripted::from_fn(|request| match place(request) {
        (1, 0) => ScriptedReply::call("exec", value!({"source": ADD}))
            .and_call("read", value!({"path": "/memory/count"}))
            .and_call("write", value!({"path": "nowhere", "value": 1}))
            .and_call(
                "write",
                value!({"path": "/memory/facts/secret", "value": 1}),
            )
            .and_call(
                "write",
                value!({"path": "/memory/facts/color", "value": "teal"}),
            ),
        (1, 1) => {
            let told = results(request);
            let lines: Vec<&str> = told.lines().collect();
            assert!(lines[0].contains("\"output\":1"), "{told}");
            assert_eq!(lines[1], "1", "{told}");
            assert!(lines[2].starts_with("!\""), "{told}");
            let why = "!\"the host denied this call, and nothing of it was done: not yours\"";
            assert_eq!(lines[3], why);
            assert!(lines[4].contains("/memory/facts/color"), "{told}");
            ScriptedReply::call("exec", value!({"source": ADD}))
        }
        (1, 2) => ScriptedReply::text("Two."),
        (2, 0) => ScriptedReply::call("remove", value!({"path": "/memory/facts/color"})),
        (2, 1) => ScriptedReply::text("Gone."),
        other => panic!("asked at {other:?}"),
    })
}

/// A host that answers all calls that wait at a time, the last one first: so what is recorded does not
/// depend on who is faster.
async fn decide(mut approvals: Approvals) -> Result<(), LoopError> {
    loop {
        approvals.recv().await?;
        while let Some(call) = approvals.waiting().await?.pop() {
            if call.arguments.get("path") == Some(&"/memory/facts/secret".into()) {
                approvals.deny(call.id, "not yours").await?;
            } else {
                approvals.approve(call.id).await?;
            }
        }
    }
}

async fn play(store: Arc<dyn ProcessStore>) -> Result<(), LoopError> {
    let mut svit = with_policy(resume(store).await?, story(), careful()).await?;
    let inbox = svit.inbox();
    inbox.send_keyed("one", Message::user("Count.")).await?;
    inbox.send_keyed("two", Message::user("Forget.")).await?;
    drop(inbox);
    svit.start()?;
    let approvals = svit.approvals();
    tokio::select! {
        blocked = svit.block() => blocked,
        decided = decide(approvals) => decided,
    }
}

#[tokio::test(start_paused = true)]
async fn approved_calls_are_made_once_wherever_the_program_is_stopped() {
    let end = stopped_anywhere(play).await;
    assert_eq!(end.answers, ["1: Some(\"Two.\")", "2: Some(\"Gone.\")"]);
    let of_kind = |kind: &str| end.events.iter().filter(|e| e.starts_with(kind)).count();
    assert_eq!(of_kind("approval.requested"), 5);
    assert_eq!(of_kind("approval.answered"), 5);
    assert_eq!(of_kind("tool.finished"), 7);
}

/// Asks for one write, and says what came of it.
fn writer() -> Scripted {
    Scripted::from_fn(|request| match place(request) {
        (_, 0) => ScriptedReply::call("write", value!({"path": "/memory/count", "value": 5})),
        _ => ScriptedReply::text(results(request)),
    })
}

/// A process in which a write waits for its host.
async fn waiting() -> (MemoryStore, Svit, ApprovalRequest) {
    let store = MemoryStore::new();
    // Lets others go on between looking and answering.
    let slow = FaultyStore::new(Arc::new(store.clone()));
    slow.give_way();
    let process = create(Arc::new(slow)).await;
    let svit = with_policy(process, writer(), careful()).await.unwrap();
    svit.start().unwrap();
    svit.inbox().send(Message::user("Write.")).await.unwrap();
    let call = svit.approvals().recv().await.unwrap();
    (store, svit, call)
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_says_what_it_is_and_changes_nothing() {
    let (_, svit, call) = waiting().await;
    assert_eq!(
        (call.id.to_string().as_str(), call.message.get()),
        ("1.0.0", 1)
    );
    assert_eq!(call.tool, "write");
    assert_eq!(
        call.arguments,
        value!({"path": "/memory/count", "value": 5})
    );
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    assert_eq!(svit.read("/memory/count").unwrap(), Some(0.into()));
    assert_eq!(
        svit.approvals().waiting().await.unwrap().first(),
        Some(&call)
    );

    // Nothing of the process is held meanwhile.
    svit.process().write("/memory/facts/host", 1).await.unwrap();
    let run = Submission::plain(Operation::ExecSource {
        source: "(define (main input) 7)".into(),
        input: Value::Null,
    });
    let ran = svit.process().submit(run).await.unwrap();
    assert!(matches!(ran, Outcome::Activation(ran) if ran.output == 7.into()));
    assert_eq!(svit.approvals().waiting().await.unwrap(), [call]);
}

#[tokio::test(start_paused = true)]
async fn a_denied_call_is_not_made_and_the_model_is_told_why() {
    for (reason, told) in [
        ("too early", "nothing of it was done: too early\""),
        ("", "nothing of it was done\""),
    ] {
        let (_, svit, call) = waiting().await;
        let mut outbox = svit.outbox();
        svit.approvals().deny(call.id, reason).await.unwrap();
        let answer = outbox.recv().await.unwrap();
        assert!(answer.text().unwrap().ends_with(told), "{answer:?}");
        assert_eq!(svit.read("/memory/count").unwrap(), Some(0.into()));
        assert_eq!(svit.approvals().waiting().await.unwrap(), []);
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_answer_counts() {
    let (_, svit, call) = waiting().await;
    let mut outbox = svit.outbox();
    let approvals = svit.approvals();
    let missing = "1.0.1".parse().unwrap();
    assert_eq!(code(approvals.approve(missing).await), "not_waiting");
    let (yes, no) = tokio::join!(approvals.approve(call.id), approvals.deny(call.id, "late"));
    yes.unwrap();
    // Looked at again, it was answered, or even over.
    assert!(["already_answered", "not_waiting"].contains(&code(no).as_str()));
    assert!(
        outbox
            .recv()
            .await
            .unwrap()
            .text()
            .unwrap()
            .contains("version")
    );
    assert_eq!(svit.read("/memory/count").unwrap(), Some(5.into()));
    // Its turn is over.
    assert_eq!(code(approvals.approve(call.id).await), "not_waiting");
    assert_eq!(
        svit.process().version(),
        3,
        "the message, the write, the answer"
    );
}

#[tokio::test(start_paused = true)]
async fn an_answer_can_be_given_before_the_loop_is_started_again() {
    let (store, svit, call) = waiting().await;
    drop(svit);
    let process = resume(Arc::new(store)).await.unwrap();
    let again = with_policy(process, writer(), careful()).await.unwrap();
    let mut approvals = again.approvals();
    assert_eq!(approvals.recv().await.unwrap(), call);
    approvals.approve(call.id).await.unwrap();
    approvals.approve(call.id).await.unwrap();
    assert_eq!(
        code(approvals.deny(call.id, "late").await),
        "already_answered"
    );
    assert_eq!(again.read("/memory/count").unwrap(), Some(0.into()));
    let mut outbox = again.outbox_from(0);
    again.start().unwrap();
    assert!(
        outbox
            .recv()
            .await
            .unwrap()
            .text()
            .unwrap()
            .contains("version")
    );
    assert_eq!(again.read("/memory/count").unwrap(), Some(5.into()));
}

#[tokio::test(start_paused = true)]
async fn another_policy_after_a_restart_decides_anew() {
    let (store, svit, _) = waiting().await;
    drop(svit);
    let process = resume(Arc::new(store)).await.unwrap();
    let again = with_policy(process, writer(), ToolPolicy::new())
        .await
        .unwrap();
    let mut outbox = again.outbox_from(0);
    again.start().unwrap();
    assert!(
        outbox
            .recv()
            .await
            .unwrap()
            .text()
            .unwrap()
            .contains("version")
    );
}

/// It may have been made already, so there is nothing left to ask about.
#[tokio::test(start_paused = true)]
async fn a_call_that_was_begun_is_not_asked_about_after_a_restart() {
    for fault in [Fault::HangLost, Fault::HangLanded] {
        let memory = MemoryStore::new();
        let store = Arc::new(FaultyStore::new(Arc::new(memory.clone())));
        let process = create(store.clone()).await;
        let free = with_policy(process, writer(), ToolPolicy::new())
            .await
            .unwrap();
        free.inbox().send(Message::user("Write.")).await.unwrap();
        // The session, the turn, the request, the answer, the beginning of the call; then the call.
        store.at_write(store.writes() + 6, fault);
        free.start().unwrap();
        hangs(store).await;
        drop(free);

        let process = resume(Arc::new(memory)).await.unwrap();
        let kinds = process.recent_events(10).await.unwrap();
        assert!(kinds.iter().any(|event| &*event.kind == "tool.started"));
        let again = with_policy(process, writer(), careful()).await.unwrap();
        let mut outbox = again.outbox_from(0);
        again.start().unwrap();
        let patience = Duration::from_secs(10);
        let answer = tokio::time::timeout(patience, outbox.recv()).await;
        let answer = answer.unwrap_or_else(|_| panic!("{fault:?}: it waits"));
        assert!(
            answer.unwrap().text().unwrap().contains("version"),
            "{fault:?}"
        );
        assert_eq!(again.process().version(), 3, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn stop_does_not_wait_for_the_host_and_loses_nothing() {
    let (store, mut svit, call) = waiting().await;
    let inbox = svit.inbox();
    inbox.send(Message::user("Behind it.")).await.unwrap();
    svit.stop().await.unwrap();
    assert_eq!(
        svit.approvals().waiting().await.unwrap().first(),
        Some(&call)
    );
    assert_eq!(svit.discover("/inbox").unwrap().len(), 2);
    drop((svit, inbox));

    let process = resume(Arc::new(store)).await.unwrap();
    let mut again = with_policy(process.clone(), writer(), careful())
        .await
        .unwrap();
    again.start().unwrap();
    let mut approvals = again.approvals();
    assert_eq!(approvals.recv().await.unwrap(), call);
    approvals.approve(call.id).await.unwrap();
    let second = approvals.recv().await.unwrap();
    assert_eq!(second.id.to_string(), "2.0.0");
    approvals.approve(second.id).await.unwrap();
    again.stop().await.unwrap();
    assert_eq!(answers(&process).await.len(), 2);
    assert!(matches!(approvals.recv().await, Err(LoopError::Closed)));
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_waits_can_be_cancelled() {
    let (_, mut svit, call) = waiting().await;
    let mut outbox = svit.outbox();
    tokio::time::sleep(Duration::from_secs(60)).await;
    svit.cancel_turn();
    match outbox.recv().await {
        Err(LoopError::TurnFailed { code, .. }) => assert_eq!(code, "cancelled"),
        other => panic!("{other:?}"),
    }
    let approvals = svit.approvals();
    assert_eq!(approvals.waiting().await.unwrap(), []);
    assert_eq!(code(approvals.approve(call.id).await), "not_waiting");
    // The next message asks for itself.
    svit.inbox().send(Message::user("Again.")).await.unwrap();
    let next = svit.approvals().recv().await.unwrap();
    assert!(next.id > call.id && next.message > call.message);
    svit.approvals().approve(next.id).await.unwrap();
    svit.block().await.unwrap();
    assert_eq!(svit.read("/memory/count").unwrap(), Some(5.into()));
}

#[tokio::test(start_paused = true)]
async fn waiting_is_no_time_of_the_turn() {
    let process = create(Arc::new(MemoryStore::new())).await;
    let svit = Svit::persisted(process)
        .unwrap()
        .reasoner(reasoner(writer()))
        .tools(careful())
        .max_turn_wall(Duration::from_secs(10))
        .build()
        .await
        .unwrap();
    svit.start().unwrap();
    let mut outbox = svit.outbox();
    svit.inbox().send(Message::user("Write.")).await.unwrap();
    let call = svit.approvals().recv().await.unwrap();
    tokio::time::sleep(Duration::from_secs(3_600 * 24)).await;
    svit.approvals().approve(call.id).await.unwrap();
    assert!(
        outbox
            .recv()
            .await
            .unwrap()
            .text()
            .unwrap()
            .contains("version")
    );
}

#[tokio::test(start_paused = true)]
async fn only_calls_that_could_be_made_are_asked_about() {
    let model = Scripted::from_fn(|request| match place(request) {
        (_, 0) => ScriptedReply::call("write", value!({"path": "/lib/x", "value": 1}))
            .and_call("exec", value!({"source": ADD}))
            .and_call("write", value!({"path": "/memory/count"}))
            .and_call("fly", value!({}))
            .and_call("stat", value!({"path": "/memory"}))
            .and_call("read", value!({"path": "/memory/count"})),
        _ => ScriptedReply::text(results(request)),
    });
    // Scripts are chosen, so `/lib` cannot be written and no source be run; reading is asked about.
    let policy = ToolPolicy::new()
        .scripts(["known"])
        .ask(["write", "exec"])
        .ask(["read"]);
    let process = create(Arc::new(MemoryStore::new())).await;
    let svit = with_policy(process, model, policy).await.unwrap();
    svit.start().unwrap();
    let mut outbox = svit.outbox();
    svit.inbox().send(Message::user("Go.")).await.unwrap();
    let call = svit.approvals().recv().await.unwrap();
    assert_eq!(
        (call.tool.as_str(), call.id.to_string().as_str()),
        ("read", "1.0.5")
    );
    assert_eq!(svit.approvals().waiting().await.unwrap().len(), 1);
    svit.approvals().approve(call.id).await.unwrap();
    let answer = outbox.recv().await.unwrap();
    let lines: Vec<&str> = answer.text().unwrap().lines().collect();
    assert!(
        lines[..4].iter().all(|line| line.starts_with('!')),
        "{lines:?}"
    );
    assert_eq!(lines[5], "0");
}

#[tokio::test]
async fn a_tool_that_there_is_not_is_refused_at_once() {
    let builder = Svit::builder("svit://local/typo").unwrap();
    let policy = ToolPolicy::new().ask(["exec", "writes"]);
    let error = builder.tools(policy).build().await.unwrap_err();
    assert_eq!(error.code(), "unknown_tool");
    assert!(error.to_string().contains("\"writes\""), "{error}");
}

/// An answer whose outcome is not known, or whose sender lost patience, is found by the loop; made
/// again, it is harmless.
#[tokio::test(start_paused = true)]
async fn an_answer_that_landed_unnoticed_is_acted_on() {
    for fault in [
        Fault::ForgetLanded,
        Fault::HangLanded,
        Fault::ForgetLost,
        Fault::HangLost,
    ] {
        let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
        let process = create(store.clone()).await;
        let svit = with_policy(process, writer(), careful()).await.unwrap();
        svit.start().unwrap();
        let mut outbox = svit.outbox();
        svit.inbox().send(Message::user("Write.")).await.unwrap();
        let call = svit.approvals().recv().await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        store.at_write(store.writes() + 1, fault);
        let approvals = svit.approvals();
        let patience = Duration::from_secs(10);
        let first = tokio::time::timeout(patience, approvals.approve(call.id)).await;
        let hangs = matches!(fault, Fault::HangLanded | Fault::HangLost);
        assert_eq!(first.is_err(), hangs, "{fault:?}");
        // Whoever comes next settles what was in flight, and that is the loop.
        let answer = tokio::time::timeout(patience, outbox.recv()).await;
        let answer = answer.unwrap_or_else(|_| panic!("{fault:?}: it still waits"));
        assert!(
            answer.unwrap().text().unwrap().contains("version"),
            "{fault:?}"
        );
        assert_eq!(svit.process().version(), 3, "{fault:?}");
    }
}

/// A fork shares the events of a turn that failed for now, and none of its calls.
#[tokio::test(start_paused = true)]
async fn a_fork_has_no_call_that_waits_for_its_parents_host() {
    let (_, svit, call) = waiting().await;
    let fork = svit.fork("svit://local/fork").await.unwrap();
    let fork = with_policy(fork, writer(), careful()).await.unwrap();
    assert_eq!(fork.approvals().waiting().await.unwrap(), []);
    assert_eq!(code(fork.approvals().approve(call.id).await), "not_waiting");
    assert_eq!(svit.approvals().waiting().await.unwrap(), [call]);
}
