//! Anthropic, Gemini and Ollama over HTTP: streaming and not, whole answers, histories, faults, keys.

use std::time::Duration;

use serde_json::{Value, json};
use svit_model::{
    Anthropic, FinishReason, Gemini, Message, ModelError, ModelRequest, ModelResponse, Ollama,
    Provider, ToolResult, Usage, collect,
};
use svit_testkit::model_server::{Call, Fault, ModelServer, Outcome, Reply, Script, Wire};
use svit_value::value;

use crate::ask::{request, tool};

const KEY: &str = "loopback-key";
const MODES: [(Wire, bool); 6] = [
    (Wire::Messages, true),
    (Wire::Messages, false),
    (Wire::Gemini, true),
    (Wire::Gemini, false),
    (Wire::Ollama, true),
    (Wire::Ollama, false),
];

fn provider(url: &str, (wire, streaming): (Wire, bool), idle: Duration) -> Box<dyn Provider> {
    match wire {
        Wire::Messages => Box::new(
            Anthropic::new(KEY)
                .base_url(url)
                .streaming(streaming)
                .idle_timeout(idle),
        ),
        Wire::Gemini => Box::new(
            Gemini::new(KEY)
                .base_url(url)
                .streaming(streaming)
                .idle_timeout(idle),
        ),
        _ => Box::new(
            Ollama::new()
                .base_url(url)
                .streaming(streaming)
                .idle_timeout(idle),
        ),
    }
}

async fn ask(provider: &dyn Provider, asked: ModelRequest) -> Result<ModelResponse, ModelError> {
    collect(provider.respond(asked).await?, |_| {}).await
}

async fn failure(mode: (Wire, bool), reply: Reply) -> ModelError {
    let idle = match reply.fault {
        Some(Fault::Stall(_)) => Duration::from_millis(500),
        _ => Duration::from_secs(20),
    };
    let script = Script::from_fn(move |_| reply.clone());
    let server = ModelServer::start(script).await.unwrap();
    let provider = provider(&server.root(), mode, idle);
    let asked = request(vec![Message::user("Hello?")]);
    ask(&provider, asked).await.unwrap_err()
}

#[tokio::test]
async fn a_turn_with_thoughts_and_tools_goes_there_and_back() {
    for mode in MODES {
        let server = ModelServer::start(Script::turns([
            Reply::call("write", &json!({"path": "/ä", "value": 1.5}))
                .and_text("Let me see 🌿.")
                .and_call(Call::new("write", &json!({})))
                .reasoning("I must write it.")
                .usage(12, 5),
            Reply::text("Grün it is.")
                .reasoning("Done now.")
                .usage(30, 4),
            Reply::text("Bye."),
        ]))
        .await
        .unwrap();
        let provider = provider(&server.root(), mode, Duration::from_secs(20));
        let mut asked = request(vec![Message::user("Write it.")]);
        asked.system = Some("Be brief.".into());
        asked.tools = vec![tool()];
        asked.max_output_tokens = Some(99);
        let first = ask(&provider, asked.clone()).await.unwrap();
        assert_eq!(first.finish, FinishReason::ToolCalls, "{mode:?}");
        let usage = Usage {
            input_tokens: 12,
            output_tokens: 5,
        };
        assert_eq!(first.usage, usage, "{mode:?}");
        let said: String = first.message.texts().collect();
        assert_eq!(said, "Let me see 🌿.", "{mode:?}");
        let calls: Vec<_> = first.message.tool_calls().cloned().collect();
        assert_eq!(calls.len(), 2);
        assert_eq!(calls[0].arguments, value!({"path": "/ä", "value": 1.5}));
        assert_ne!(calls[0].id, calls[1].id);

        // The stored form keeps what must go back unchanged; the server refuses anything else.
        let stored = first.message.to_value().unwrap();
        asked.messages.push(Message::from_value(&stored).unwrap());
        asked.messages.push(Message::tool([
            ToolResult::new(calls[0].id.as_str(), "ok"),
            ToolResult::error(calls[1].id.as_str(), "no path"),
        ]));
        let second = ask(&provider, asked.clone()).await.unwrap();
        assert_eq!(second.message.text(), Some("Grün it is."), "{mode:?}");
        assert_eq!(second.finish, FinishReason::Stop);
        asked.messages.push(second.message);
        asked.messages.push(Message::user("Thanks."));
        let third = ask(&provider, asked).await.unwrap();
        assert_eq!(third.message.text(), Some("Bye."), "{mode:?}");

        let sent: Vec<Value> = (server.journal().iter())
            .map(|exchange| exchange.body.clone().unwrap())
            .collect();
        let sent = json!(sent).to_string();
        let kept: &[&str] = match mode.0 {
            Wire::Messages => &[
                "\"signature\":\"sealed:",
                "\"is_error\":true",
                "I must write it.",
            ],
            Wire::Gemini => &["\"thoughtSignature\":\"sealed:", "\"error\":\"no path\""],
            _ => &["\"thinking\":\"I must write it.\"", "\"num_ctx\":32768"],
        };
        for kept in kept {
            assert!(sent.contains(kept), "{mode:?}: {kept}: {sent}");
        }
    }
}

#[tokio::test]
async fn errors_are_of_their_kind() {
    let status = |status, code: &str, message: &str| Fault::Status {
        status,
        retry_after: Some("7".into()),
        code: code.into(),
        message: message.into(),
    };
    for mode in MODES {
        for (status_code, code, message, expected) in [
            (429, "rate_limit_error", "Slow down.", "rate_limited"),
            (529, "overloaded_error", "Overloaded.", "transient"),
            (503, "UNAVAILABLE", "Overloaded.", "transient"),
            (401, "authentication_error", "Wrong key.", "authentication"),
            (413, "request_too_large", "Too large.", "context_too_long"),
            (400, "x", "prompt is too long: 9 tokens", "context_too_long"),
            (
                400,
                "x",
                "The input token count exceeds the maximum number of tokens allowed",
                "context_too_long",
            ),
            (400, "invalid_request_error", "tools.0: wrong", "invalid"),
            (404, "not_found_error", "no such model", "invalid"),
        ] {
            let fault = status(status_code, code, message);
            let error = failure(mode, Reply::fault(fault)).await;
            assert_eq!(error.code(), expected, "{mode:?} {status_code}: {error:?}");
            if matches!(expected, "rate_limited" | "transient") {
                assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
            }
        }
        let filtered = Reply::text("No.").finish("content_filter");
        if mode.0 != Wire::Ollama {
            assert_eq!(failure(mode, filtered).await.code(), "refused", "{mode:?}");
        }
    }
}

#[tokio::test]
async fn no_broken_answer_passes_for_a_whole_one() {
    for mode in MODES {
        let reply = Reply::call("write", &json!({"path": "/memory/x"}))
            .and_text("One two.")
            .reasoning("Hm.");
        let script = Script::requests([reply.clone()]);
        let whole = ModelServer::start(script).await.unwrap();
        let provider = provider(&whole.root(), mode, Duration::from_secs(20));
        ask(&provider, request(vec![Message::user("Hello?")]))
            .await
            .unwrap();
        let Outcome::Answered { events, .. } = whole.journal()[0].outcome else {
            panic!("not answered");
        };
        let events = if mode.1 { events } else { 1 };
        let mut all = Vec::new();
        for at in 0..events {
            let octets = |octets: &[u8]| Fault::Octets {
                events: at,
                octets: octets.to_vec(),
            };
            for fault in [
                Fault::CutAfter(at),
                Fault::EndAfter(at),
                Fault::MalformedJson(at),
                Fault::Stall(at),
                octets(b"data: \xff\xfe\n\n"),
                octets(b"<html>data: no</html>\n\n"),
                octets(b"data: {\"type\": \"content_block_stop\", \"index\": 77}\n\n"),
            ] {
                let reply = reply.clone().with_fault(fault.clone());
                all.push(async move {
                    let error = failure(mode, reply).await;
                    assert_eq!(error.code(), "transient", "{mode:?} {fault:?}: {error:?}");
                });
            }
        }
        futures_util::future::join_all(all).await;
        let error = failure(mode, Reply::fault(Fault::HangUp)).await;
        assert_eq!(error.code(), "transient", "{mode:?}");
    }
}

#[tokio::test]
async fn a_frame_without_end_is_stopped() {
    for mode in MODES {
        let octets = vec![b'x'; 65 << 20];
        let fault = Fault::Octets { events: 0, octets };
        let error = failure(mode, Reply::text("Hi.").with_fault(fault)).await;
        let expected = if mode.1 { 16 << 20 } else { 64 << 20 };
        assert!(
            matches!(error, ModelError::AnswerTooLarge { limit } if limit == expected),
            "{mode:?}: {error:?}"
        );
    }
}

#[tokio::test]
async fn slow_octets_and_malformed_arguments_are_read() {
    for mode in MODES {
        let call = Call::raw("write", "{\"path\": ");
        let reply = Reply::text("Grün 🌿.")
            .and_call(call)
            .with_fault(Fault::Slow {
                octets: 3,
                pause: Duration::from_micros(100),
            });
        let server = ModelServer::start(Script::turns([reply])).await.unwrap();
        let provider = provider(&server.root(), mode, Duration::from_secs(20));
        let answer = ask(&provider, request(vec![Message::user("Hello?")]))
            .await
            .unwrap();
        let said: String = answer.message.texts().collect();
        assert_eq!(said, "Grün 🌿.", "{mode:?}");
        let call = answer.message.tool_calls().next().unwrap();
        // One document holds arguments as JSON: there they cannot be malformed.
        if mode != (Wire::Messages, false) {
            let error = call.input().unwrap_err();
            assert_eq!(error.code(), "malformed_arguments", "{mode:?}");
        }
    }
}

#[tokio::test]
async fn keys_stay_in_their_headers() {
    for mode in MODES {
        let echo = Fault::Status {
            status: 400,
            retry_after: None,
            code: "x".into(),
            message: format!("You sent {KEY}."),
        };
        let error = failure(mode, Reply::fault(echo)).await;
        // Ollama has no key to hide.
        if mode.0 != Wire::Ollama {
            assert!(!format!("{error} {error:?}").contains(KEY), "{mode:?}");
        }
    }
    assert!(!format!("{:?} {:?}", Anthropic::new(KEY), Gemini::new(KEY)).contains(KEY));
    let gemini = Gemini::new("two words");
    let error = ask(&gemini, request(vec![Message::user("Hi.")]))
        .await
        .unwrap_err();
    assert_eq!(error.code(), "authentication");
}
