//! A script answers the same request in the same way, wherever the program was stopped.

use futures_util::FutureExt;
use svit_value::value;

use super::*;
use crate::event::{ModelResponse, collect};
use crate::message::Message;
use crate::tool::ToolResult;

fn ask(scripted: &Scripted, messages: Vec<Message>) -> Result<ModelResponse, ModelError> {
    let request = ModelRequest {
        model: "m".into(),
        messages,
        ..ModelRequest::default()
    };
    async { collect(scripted.respond(request).await?, |_| {}).await }
        .now_or_never()
        .unwrap()
}

fn script() -> Scripted {
    Scripted::new([
        ScriptedReply::call("read", value!({"path": "/a"})).and_call("read", value!({})),
        ScriptedReply::text("One two."),
    ])
}

#[test]
fn the_answer_follows_from_the_request_alone() {
    let user = Message::user("Hi");
    let first = ask(&script(), vec![user.clone()]).unwrap();
    assert_eq!(first.finish, FinishReason::ToolCalls);
    let ids: Vec<_> = first
        .message
        .tool_calls()
        .map(|call| call.id.as_str())
        .collect();
    assert_eq!(ids, ["call_0_0", "call_0_1"]);
    // Asked twice, and by another instance: a restart.
    assert_eq!(ask(&script(), vec![user.clone()]).unwrap(), first);
    let results = Message::tool([
        ToolResult::new("call_0_0", 1),
        ToolResult::new("call_0_1", 2),
    ]);
    let history = vec![user, first.message, results];
    let second = ask(&script(), history.clone()).unwrap();
    assert_eq!(second.message, Message::assistant("One two."));
    assert!(second.usage.input_tokens > first.usage.input_tokens);
    let past = ask(
        &script(),
        [history, vec![second.message, Message::user("More")]].concat(),
    )
    .unwrap_err();
    assert!(matches!(
        past,
        ModelError::ScriptExhausted {
            answers: 2,
            asked: 2
        }
    ));
}

#[test]
fn errors_come_where_the_script_has_them() {
    let refused = || ModelError::Refused {
        detail: "no".into(),
    };
    let at_once = Scripted::new([ScriptedReply::error(refused())]);
    let request = || ModelRequest {
        messages: vec![Message::user("Hi")],
        ..ModelRequest::default()
    };
    assert!(at_once.respond(request()).now_or_never().unwrap().is_err());
    let later = Scripted::new([ScriptedReply::text("Well").and_error(refused())]);
    let stream = later
        .respond(request())
        .now_or_never()
        .unwrap()
        .ok()
        .unwrap();
    let mut seen = 0;
    let error = collect(stream, |_| seen += 1)
        .now_or_never()
        .unwrap()
        .unwrap_err();
    assert_eq!((error.code(), seen), ("refused", 1));
}

#[test]
fn a_closure_sees_the_request() {
    let scripted = Scripted::from_fn(|request| {
        ScriptedReply::text(format!("{} messages", request.messages.len()))
    })
    .context_tokens(10);
    assert_eq!(
        ask(&scripted, vec![Message::user("a")])
            .unwrap()
            .message
            .text(),
        Some("1 messages")
    );
    assert_eq!(scripted.limits("m").context_tokens, 10);
}
