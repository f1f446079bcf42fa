//! The key gets into the `authorization` header, and nowhere else.

use std::error::Error;
use std::io::Write;
use std::sync::{Arc, Mutex};

use svit_model::{Message, ModelError, ModelRequest, OpenAI, Provider, collect};
use svit_testkit::model_server::{Fault, ModelServer, Reply, Script};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

const KEY: &str = "sk-very-secret-key-0123456789";

fn request() -> ModelRequest {
    ModelRequest {
        model: "m".into(),
        messages: vec![Message::user("The harbour is blue.")],
        ..ModelRequest::default()
    }
}

fn everything(error: &ModelError) -> String {
    let mut text = format!("{error} {error:?}");
    let mut source = error.source();
    while let Some(cause) = source {
        text += &format!(" {cause} {cause:?}");
        source = cause.source();
    }
    text
}

async fn ask(openai: &OpenAI) -> Result<(), ModelError> {
    collect(openai.respond(request()).await?, |_| {})
        .await
        .map(drop)
}

// THREAT[TM-MODEL-1]
#[tokio::test]
async fn a_key_echoed_by_the_server_is_taken_out() {
    for streaming in [true, false] {
        for status in [400, 401, 403, 404, 429, 500] {
            let echo = Fault::Status {
                status,
                retry_after: None,
                code: "x".into(),
                message: format!("Incorrect API key provided: {KEY}. {}", "x".repeat(5000)),
            };
            let script = Script::from_fn(move |_| Reply::fault(echo.clone())).with_key(KEY);
            let server = ModelServer::start(script).await.unwrap();
            let openai = OpenAI::new(KEY).base_url(server.url()).streaming(streaming);
            let text = everything(&ask(&openai).await.unwrap_err());
            assert!(!text.contains(KEY) && text.contains("[redacted]"), "{text}");
            assert!(text.len() < 4000, "cut");
            assert!(!format!("{openai:?}").contains(KEY));
        }
    }
}

#[tokio::test]
async fn a_wrong_key_is_an_authentication_error() {
    for streaming in [true, false] {
        let server = ModelServer::start(Script::turns([Reply::text("Hi.")]))
            .await
            .unwrap();
        for key in ["wrong-key", "two words", "line\nbreak", "schlüssel"] {
            let openai = OpenAI::new(key).base_url(server.url()).streaming(streaming);
            let error = ask(&openai).await.unwrap_err();
            assert_eq!(error.code(), "authentication", "{error:?}");
            assert!(!everything(&error).contains(key));
        }
        assert_eq!(
            server.journal().len(),
            1,
            "keys that no header can hold are not sent"
        );
        assert!(!server.journal()[0].authorized);
    }
}

/// Writes every event of this thread down, with all its fields.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Visit for Log {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        write!(self.0.lock().unwrap(), "{field}={value:?} ").unwrap();
    }
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        attributes.record(&mut self.clone());
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut self.clone());
    }
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        write!(self.0.lock().unwrap(), "\n[{}] ", event.metadata().target()).unwrap();
        event.record(&mut self.clone());
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[test]
fn logs_hold_neither_keys_nor_what_was_said() {
    let log = Log::default();
    tracing::subscriber::with_default(log.clone(), || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let replies = [
                Reply::text("Yes, blue."),
                Reply::text("Yes, blue.").with_fault(Fault::MalformedJson(4)),
                Reply::text("Yes, blue.").with_fault(Fault::CutAfter(4)),
                Reply::fault(Fault::Status {
                    status: 500,
                    retry_after: None,
                    code: "x".into(),
                    message: KEY.into(),
                }),
            ];
            // Other tests run beside this one, without a subscriber. A place that logs for the first time there
            // may be remembered as silent, so: once to make all places known, then ask for all of them again.
            let server = ModelServer::start(Script::requests([])).await.unwrap();
            let _ = ask(&OpenAI::new(KEY).base_url(server.url())).await;
            tracing::callsite::rebuild_interest_cache();
            for streaming in [true, false] {
                for responses in [true, false] {
                    let server =
                        ModelServer::start(Script::requests(replies.clone()).with_key(KEY))
                            .await
                            .unwrap();
                    let openai = OpenAI::new(KEY).base_url(server.url()).streaming(streaming);
                    let openai = if responses {
                        openai.responses()
                    } else {
                        openai
                    };
                    for _ in &replies {
                        let _ = ask(&openai).await;
                    }
                    assert_eq!(server.journal().len(), replies.len());
                }
            }
        });
    });
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let ours = text.matches("[svit_model::").count();
    assert!(
        ours >= 2 * 4 * 4,
        "a line before and after each call: {text}"
    );
    for secret in [KEY, "harbour", "blue", "broken\\"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}
