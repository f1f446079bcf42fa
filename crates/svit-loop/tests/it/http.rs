//! A turn over real HTTP, against a model server that is well, or not: it ends the same.

use std::sync::Arc;
use std::time::Duration;

use svit_loop::{LoopError, Svit};
use svit_model::{Message, OpenAI, Reasoner, Retry};
use svit_testkit::model_server::{Call, Fault, ModelServer, Reply, Script};
use svit_txn::MemoryStore;

use crate::common::{End, create, end_of};

const ADD: &str = r#"{"path": "/lib/add", "value": {"source": "(define (main input) (let ((n (+ (read \"/memory/count\") (value-get input \"/by\")))) (do (write \"/memory/count\" n) n)))"}}"#;

/// What the model says, twice after these faults: a third one would be the last attempt.
fn replies(faults: &[Fault]) -> Vec<Reply> {
    let replies = [
        Reply::calls([
            Call::raw("write", ADD),
            Call::raw("exec", r#"{"path": "/lib/add", "input": {"by": 7}}"#),
            Call::raw("read", r#"{"path": "/memory/count"#),
        ])
        .reasoning("First a script, then its use."),
        Reply::text("Once more.").and_call(Call::raw(
            "exec",
            r#"{"path": "/lib/add", "input": {"by": 3}}"#,
        )),
        Reply::text("It is ten.").usage(100, 5),
    ];
    let faults = [faults, faults, &[]];
    let with_faults =
        |(reply, faults): (Reply, &[Fault])| faults.iter().cloned().fold(reply, Reply::first);
    replies.into_iter().zip(faults).map(with_faults).collect()
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Format {
    Chat,
    Responses,
}

async fn play(format: Format, faults: &[Fault], retry: bool) -> (End, usize) {
    let server = ModelServer::start(Script::turns(replies(faults)))
        .await
        .unwrap();
    let provider = OpenAI::new(server.key()).base_url(server.url());
    let provider = match format {
        Format::Chat => provider,
        Format::Responses => provider.responses(),
    };
    let reasoner = if retry {
        let wait = Duration::from_millis(1);
        Reasoner::new(
            "loopback",
            Retry::new(provider).first_wait(wait).longest_wait(wait),
        )
    } else {
        Reasoner::new("loopback", provider)
    };
    let process = create(Arc::new(MemoryStore::new())).await;
    let builder = Svit::persisted(process.clone()).unwrap();
    let mut svit = builder.reasoner(reasoner).build().await.unwrap();
    svit.inbox()
        .send(Message::user("Count to ten."))
        .await
        .unwrap();
    svit.start().unwrap();
    svit.block().await.unwrap();
    assert_eq!(
        process.read("/memory/count").unwrap(),
        Some(10.into()),
        "{faults:?}"
    );
    (end_of(&process).await, server.journal().len())
}

fn unavailable() -> Fault {
    Fault::Status {
        status: 500,
        retry_after: None,
        code: "server_error".to_owned(),
        message: "Injected.".to_owned(),
    }
}

fn limited(retry_after: Option<&str>) -> Fault {
    Fault::Status {
        status: 429,
        retry_after: retry_after.map(str::to_owned),
        code: "rate_limit_exceeded".to_owned(),
        message: "Injected.".to_owned(),
    }
}

/// Attempts that failed are told in the thread; all else must be as if they had not been.
fn without_failures(mut end: End) -> End {
    end.events.retain(|event| !event.starts_with("turn.failed"));
    end
}

#[tokio::test]
async fn a_sick_server_ends_a_turn_as_a_well_one_does() {
    for format in [Format::Chat, Format::Responses] {
        let (well, asked) = play(format, &[], false).await;
        assert_eq!(well.answers, ["1: Some(\"It is ten.\")"]);
        assert_eq!(asked, 3);
        for fault in [
            unavailable(),
            limited(None),
            Fault::HangUp,
            Fault::CutAfter(0),
            Fault::CutAfter(2),
            Fault::EndAfter(2),
            Fault::MalformedJson(1),
        ] {
            let (sick, asked) = play(format, std::slice::from_ref(&fault), true).await;
            let when = format!("{format:?} with {fault:?}");
            without_failures(sick).assert_is(&well, &when);
            assert!(asked >= 5, "{when}: {asked}");
        }
    }
}

#[tokio::test]
async fn without_the_decorator_the_loop_tries_again_by_itself() {
    let (well, _) = play(Format::Chat, &[], false).await;
    let server_wait = limited(Some("1"));
    let begun = std::time::Instant::now();
    let replies: Vec<Reply> = replies(&[]);
    let mut replies = replies.into_iter();
    let first = replies.next().map(|reply| reply.first(Fault::CutAfter(1)));
    let second = replies.next().map(|reply| reply.first(server_wait));
    let script = first.into_iter().chain(second).chain(replies);
    let server = ModelServer::start(Script::turns(script)).await.unwrap();
    let provider = OpenAI::new(server.key()).base_url(server.url());
    let process = create(Arc::new(MemoryStore::new())).await;
    let builder = Svit::persisted(process.clone()).unwrap();
    let builder = builder.reasoner(Reasoner::new("loopback", provider));
    let mut svit = builder.build().await.unwrap();
    svit.start().unwrap();
    svit.inbox()
        .send(Message::user("Count to ten."))
        .await
        .unwrap();
    svit.block().await.unwrap();
    assert!(
        begun.elapsed() >= Duration::from_secs(1),
        "the server asked for a second"
    );
    without_failures(end_of(&process).await).assert_is(&well, "by itself");
}

#[tokio::test]
async fn a_wrong_key_ends_in_a_dead_letter_without_the_key() {
    let server = ModelServer::start(Script::turns(replies(&[])))
        .await
        .unwrap();
    let provider = OpenAI::new("sk-wrong-and-secret").base_url(server.url());
    let process = create(Arc::new(MemoryStore::new())).await;
    let builder = Svit::persisted(process.clone()).unwrap();
    let builder = builder.reasoner(Reasoner::new("loopback", provider));
    let svit = builder.build().await.unwrap();
    svit.start().unwrap();
    match svit.inbox().ask(Message::user("Hello?")).await {
        Err(LoopError::TurnFailed { code, .. }) => assert_eq!(code, "authentication"),
        other => panic!("{other:?}"),
    }
    let events = svit.recent_events(100).await.unwrap();
    let told = format!("{:?} {:?}", svit.read("/").unwrap(), events);
    assert!(!told.contains("sk-wrong-and-secret"));
}
