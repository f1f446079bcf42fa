//! Both formats, streaming and not: everything that goes wrong.

use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use serde_json::json;
use svit_model::{FinishReason, Message, ModelError, OpenAI, Provider, TransientCause};
use svit_testkit::model_server::{Call, Fault, ModelServer, Outcome, Reply, Script};
use svit_value::value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::ask::{MODES, ask, failure, failure_of, is_broken, provider, request};

#[tokio::test]
async fn an_answer_cut_by_the_token_bound_says_so() {
    for mode in MODES {
        let cut = Reply::text("And then")
            .and_call(Call::raw("write", "{\"path\": \"/mem"))
            .finish("length");
        let server = ModelServer::start(Script::turns([cut])).await.unwrap();
        let answer = ask(
            &provider(&server, mode),
            request(vec![Message::user("Go on.")]),
        )
        .await
        .unwrap();
        assert_eq!(answer.finish, FinishReason::Length, "{mode:?}");
        assert!(
            answer.message.tool_calls().next().unwrap().input().is_err(),
            "{mode:?}"
        );
    }
}

#[tokio::test]
async fn refusals_and_filters_are_errors_of_their_own() {
    for mode in MODES {
        for reply in [
            Reply::refusal("I cannot help with that."),
            Reply::text("Well,").finish("content_filter"),
        ] {
            let error = failure(mode, reply).await;
            assert_eq!(error.code(), "refused", "{mode:?}: {error}");
            assert!(!error.is_retryable());
        }
    }
}

#[tokio::test]
async fn http_errors_are_told_apart() {
    let status = |status, code: &str, message: &str| Fault::Status {
        status,
        retry_after: None,
        code: code.into(),
        message: message.into(),
    };
    let cases = [
        (
            status(400, "context_length_exceeded", "Too long."),
            "context_too_long",
            false,
        ),
        (
            status(
                400,
                "x",
                "This model's maximum context length is 8192 tokens.",
            ),
            "context_too_long",
            false,
        ),
        (status(400, "x", "Bad."), "invalid", false),
        (
            status(400, "content_policy_violation", "No."),
            "refused",
            false,
        ),
        (
            status(401, "invalid_api_key", "Wrong key."),
            "authentication",
            false,
        ),
        (status(403, "x", "Not here."), "authentication", false),
        (
            status(404, "model_not_found", "No such model."),
            "invalid",
            false,
        ),
        (status(408, "x", "Slow."), "transient", true),
        (status(409, "x", "Conflict."), "transient", true),
        (status(413, "x", "Large."), "context_too_long", false),
        (
            status(429, "rate_limit_exceeded", "Wait."),
            "rate_limited",
            true,
        ),
        (
            status(429, "insufficient_quota", "Pay."),
            "quota_exhausted",
            false,
        ),
        (status(500, "server_error", "Oops."), "transient", true),
        (status(503, "x", "Overloaded."), "transient", true),
    ];
    for mode in MODES {
        for (fault, code, retryable) in &cases {
            let error = failure(mode, Reply::fault(fault.clone())).await;
            assert_eq!(error.code(), *code, "{mode:?} {fault:?}: {error}");
            assert_eq!(error.is_retryable(), *retryable, "{mode:?} {fault:?}");
        }
    }
}

#[tokio::test]
async fn the_asked_wait_is_kept() {
    for mode in MODES {
        for (asked, expected) in [
            ("7", Some(7)),
            ("Mon, 16 Jun 2025 12:00:30 GMT", Some(30)),
            ("soon", None),
        ] {
            let error = failure(
                mode,
                Reply::fault(Fault::Status {
                    status: 429,
                    retry_after: Some(asked.into()),
                    code: "rate_limit_exceeded".into(),
                    message: "Slow down.".into(),
                }),
            )
            .await;
            assert_eq!(error.code(), "rate_limited");
            assert_eq!(
                error.retry_after(),
                expected.map(Duration::from_secs),
                "{mode:?} {asked}"
            );
        }
    }
}

#[tokio::test]
async fn no_broken_answer_passes_for_a_whole_one() {
    // Each answer is broken at each of its events: with text, and with tool calls and reasoning.
    let replies = [
        Reply::text("One two three."),
        Reply::call("write", &json!({"path": "/memory/x"}))
            .reasoning("Hm.")
            .usage(1, 1),
    ];
    let patient = OpenAI::new("loopback-key").idle_timeout(Duration::from_secs(30));
    let impatient = patient.clone().idle_timeout(Duration::from_millis(700));
    let mut all = Vec::new();
    for mode in MODES {
        for reply in &replies {
            let whole = ModelServer::start(Script::requests([reply.clone()]))
                .await
                .unwrap();
            ask(
                &provider(&whole, mode),
                request(vec![Message::user("Hello?")]),
            )
            .await
            .unwrap();
            let Outcome::Answered { events, .. } = whole.journal()[0].outcome else {
                panic!("not answered");
            };
            let events = if mode.1 { events } else { 1 };
            let faults = (0..events).flat_map(|at| {
                [
                    Fault::CutAfter(at),
                    Fault::EndAfter(at),
                    Fault::MalformedJson(at),
                    Fault::Stall(at),
                ]
            });
            let (patient, impatient) = (&patient, &impatient);
            let cases = faults.map(|fault| async move {
                let openai = if matches!(fault, Fault::Stall(_)) {
                    impatient
                } else {
                    patient
                };
                let error = failure_of(openai, mode, reply.clone().with_fault(fault.clone())).await;
                let right = match fault {
                    Fault::Stall(_) => {
                        matches!(
                            error,
                            ModelError::Transient {
                                cause: TransientCause::Timeout,
                                ..
                            }
                        )
                    }
                    _ => is_broken(&error),
                };
                assert!(right, "{mode:?} {fault:?}: {error:?}");
            });
            all.extend(cases);
        }
    }
    futures_util::future::join_all(all).await;
}

#[tokio::test]
async fn a_connection_closed_before_the_answer_is_transient() {
    for mode in MODES {
        let error = failure(mode, Reply::fault(Fault::HangUp)).await;
        assert!(is_broken(&error), "{mode:?}: {error:?}");
    }
}

#[tokio::test]
async fn an_error_in_the_middle_of_an_answer_keeps_its_kind() {
    let cases = [
        ("server_error", "transient"),
        ("rate_limit_exceeded", "rate_limited"),
        ("context_length_exceeded", "context_too_long"),
    ];
    for mode in MODES {
        for (code, expected) in cases {
            let fault = Fault::ErrorAfter {
                events: 3,
                code: code.into(),
                message: "Injected.".into(),
            };
            let error = failure(mode, Reply::text("One two three.").with_fault(fault)).await;
            assert_eq!(error.code(), expected, "{mode:?}: {error:?}");
        }
    }
}

#[tokio::test]
async fn slow_octets_change_nothing() {
    for mode in MODES {
        let text = "Grün 🌿 ist schön.";
        let reply = Reply::text(text)
            .and_call(Call::new("write", &json!({"path": "/ä"})))
            .with_fault(Fault::Slow {
                octets: 3,
                pause: Duration::from_micros(200),
            });
        let server = ModelServer::start(Script::turns([reply])).await.unwrap();
        let answer = ask(
            &provider(&server, mode),
            request(vec![Message::user("Hello?")]),
        )
        .await
        .unwrap();
        assert_eq!(answer.message.text(), Some(text), "{mode:?}");
        assert_eq!(
            answer.message.tool_calls().next().unwrap().arguments,
            value!({"path": "/ä"}),
            "{mode:?}"
        );
    }
}

#[tokio::test]
async fn dropping_the_stream_or_the_future_closes_the_connection() {
    for mode in MODES {
        for at in [0, 3] {
            let reply = Reply::text("One two.").with_fault(Fault::Stall(at));
            let server = ModelServer::start(Script::turns([reply])).await.unwrap();
            let openai = provider(&server, mode);
            let asked = openai.respond(request(vec![Message::user("Hello?")]));
            let reached = async {
                while server.journal().is_empty() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            };
            tokio::select! {
                // The answer has begun: the stream holds the connection.
                stream = asked => {
                    let stream = stream.unwrap();
                    assert_eq!(server.open_connections(), 1, "{mode:?}");
                    drop(stream);
                }
                // It has not: the future holds it, and is dropped here.
                () = reached => {}
            }
            for _ in 0..200 {
                if server.open_connections() == 0 {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            assert_eq!(server.open_connections(), 0, "{mode:?} {at}");
        }
    }
}

#[tokio::test]
async fn an_unreachable_server_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1?token=hidden", listener.local_addr().unwrap());
    drop(listener);
    for url in [url.as_str(), "http://no-such-host.invalid/v1"] {
        for streaming in [true, false] {
            let openai = OpenAI::new("some-key").base_url(url).streaming(streaming);
            let error = ask(&openai, request(vec![Message::user("Hello?")]))
                .await
                .unwrap_err();
            assert_eq!(error.code(), "unreachable", "{error:?}");
            assert!(error.is_retryable());
            assert!(std::error::Error::source(&error).is_some());
            let said = format!("{error} {error:?}");
            assert!(
                said.contains("http://") && !said.contains("hidden"),
                "{said}"
            );
        }
    }
}

#[test]
fn a_stream_polled_outside_its_runtime_is_an_error_and_no_panic() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let mut stream = runtime.block_on(async {
        let reply = Reply::text("One two three.").with_fault(Fault::Stall(3));
        let server = ModelServer::start(Script::turns([reply])).await.unwrap();
        let openai = provider(&server, MODES[0]);
        let asked = request(vec![Message::user("Hello?")]);
        let stream = openai.respond(asked).await.unwrap();
        // The server must outlive this block for the connection to stay open.
        std::mem::forget(server);
        stream
    });
    let error = loop {
        match stream.next().now_or_never() {
            Some(Some(Ok(_))) => {}
            Some(Some(Err(error))) => break error,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(error.code(), "no_runtime");
    assert!(stream.next().now_or_never().unwrap().is_none());
}

/// The base URL of a listener that answers every connection with these octets, or holds it open for `None`.
async fn canned(answer: Option<&'static str>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            match answer {
                Some(answer) => drop(stream.write_all(answer.as_bytes()).await),
                None => held.push(stream),
            }
        }
    });
    format!("http://{address}/v1")
}

#[tokio::test]
async fn what_is_no_model_server_is_told_apart() {
    let html =
        "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 15\r\n\r\n<html>Hi</html>";
    let away = "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n";
    let empty = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
    let teapot = "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 5\r\n\r\nOops.";
    for (answer, code) in [
        (Some(html), "transient"),
        (Some(away), "invalid"),
        (Some(empty), "transient"),
        (Some(teapot), "transient"),
        (Some("SSH-2.0-OpenSSH\r\n"), "transient"),
        (None, "transient"),
    ] {
        let url = canned(answer).await;
        for streaming in [true, false] {
            for openai in [OpenAI::new("some-key"), OpenAI::new("some-key").responses()] {
                let openai = openai
                    .base_url(&url)
                    .streaming(streaming)
                    .idle_timeout(Duration::from_millis(500));
                let error = ask(&openai, request(vec![Message::user("Hello?")]))
                    .await
                    .unwrap_err();
                assert_eq!(error.code(), code, "{answer:?} {streaming} {error:?}");
            }
        }
        let secure = OpenAI::new("some-key").base_url(url.replace("http:", "https:"));
        let secure = secure.idle_timeout(Duration::from_millis(500));
        let error = ask(&secure, request(vec![Message::user("Hello?")]))
            .await
            .unwrap_err();
        // Nothing is said at all: whether that is a slow connection or a slow answer is anybody's guess.
        let timeout = answer.is_none() && error.code() == "transient";
        assert!(
            timeout || error.code() == "unreachable",
            "{answer:?} {error:?}"
        );
    }
}

// THREAT[TM-MODEL-2]
#[tokio::test]
async fn an_answer_without_end_is_stopped() {
    // 70 words of 1 MiB each.
    let text = format!("{} ", "x".repeat(1 << 20)).repeat(70);
    let server = ModelServer::start(Script::turns([Reply::text(text)]))
        .await
        .unwrap();
    let asked = request(vec![Message::user("Hello?")]);
    let error = ask(&provider(&server, MODES[0]), asked).await.unwrap_err();
    assert_eq!(error.code(), "answer_too_large");
}
