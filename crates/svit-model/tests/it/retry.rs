//! Trying again, over real HTTP.

use std::time::{Duration, Instant};

use serde_json::json;
use svit_model::{Message, ModelRequest, OpenAI, Provider, Retry, collect};
use svit_testkit::model_server::{Fault, ModelServer, Reply, Script};

fn provider(server: &ModelServer) -> Retry<OpenAI> {
    Retry::new(OpenAI::new(server.key()).base_url(server.url()))
        .first_wait(Duration::from_millis(2))
        .longest_wait(Duration::from_secs(2))
}

fn request() -> ModelRequest {
    ModelRequest {
        model: "m".into(),
        messages: vec![Message::user("Hello?")],
        ..ModelRequest::default()
    }
}

#[tokio::test]
async fn faults_before_the_answer_are_survived() {
    let reply = Reply::text("At last.")
        .first(Fault::status(503))
        .first(Fault::HangUp)
        .first(Fault::CutAfter(0))
        .first(Fault::EndAfter(1));
    let server = ModelServer::start(Script::turns([reply])).await.unwrap();
    let stream = provider(&server).respond(request()).await.unwrap();
    let answer = collect(stream, |_| {}).await.unwrap();
    assert_eq!(answer.message.text(), Some("At last."));
    assert_eq!(server.journal().len(), 5);
}

#[tokio::test]
async fn the_servers_wait_is_honored() {
    let server = ModelServer::start(Script::turns([
        Reply::text("Now.").first(Fault::rate_limited(1))
    ]))
    .await
    .unwrap();
    let begun = Instant::now();
    let stream = provider(&server).respond(request()).await.unwrap();
    drop(stream);
    assert!(begun.elapsed() >= Duration::from_secs(1));
    assert_eq!(server.journal().len(), 2);
}

#[tokio::test]
async fn too_long_a_wait_is_left_to_the_caller() {
    let server = ModelServer::start(Script::turns([
        Reply::text("Now.").first(Fault::rate_limited(3600))
    ]))
    .await
    .unwrap();
    let error = provider(&server).respond(request()).await.err().unwrap();
    assert_eq!(error.retry_after(), Some(Duration::from_secs(3600)));
    assert_eq!(server.journal().len(), 1);
}

#[tokio::test]
async fn nothing_is_asked_again_once_something_was_passed_on() {
    for reply in [
        Reply::text("One two three.").with_fault(Fault::CutAfter(3)),
        Reply::call("write", &json!({}))
            .and_text("One two")
            .with_fault(Fault::CutAfter(4)),
    ] {
        let server = ModelServer::start(Script::turns([reply])).await.unwrap();
        let stream = provider(&server).respond(request()).await.unwrap();
        let mut seen = 0;
        let error = collect(stream, |_| seen += 1).await.unwrap_err();
        assert!(seen > 0);
        assert_eq!(error.code(), "transient");
        assert_eq!(server.journal().len(), 1);
    }
}

#[tokio::test]
async fn what_will_not_pass_is_not_tried_again() {
    let server = ModelServer::start(Script::turns([Reply::fault(Fault::status(400))]))
        .await
        .unwrap();
    let error = provider(&server).respond(request()).await.err().unwrap();
    assert_eq!(error.code(), "invalid");
    assert_eq!(server.journal().len(), 1);
}

#[tokio::test]
async fn attempts_are_bounded() {
    let server = ModelServer::start(Script::turns([Reply::fault(Fault::status(500))]))
        .await
        .unwrap();
    let error = provider(&server)
        .attempts(3)
        .respond(request())
        .await
        .err()
        .unwrap();
    assert_eq!(error.code(), "transient");
    assert_eq!(server.journal().len(), 3);
}
