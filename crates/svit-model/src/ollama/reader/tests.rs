//! Lines as the server sends them, and as it should not.

use serde_json::json;

use super::*;
use crate::http::endpoint::Endpoint;
use crate::ollama::FORM;

fn read(line: &Json) -> Result<Vec<ModelEvent>, ModelError> {
    let redact = Redact::new(None, &Endpoint::standard(&FORM));
    let mut out = VecDeque::new();
    OllamaReader::default().frame(&line.to_string(), &redact, &mut out)?;
    Ok(out.into())
}

#[test]
fn the_last_line_says_why_it_is_done() {
    for (reason, expected) in [
        ("stop", Ok(FinishReason::Stop)),
        ("length", Ok(FinishReason::Length)),
        ("other", Ok(FinishReason::Other("other".into()))),
        ("load", Err("transient")),
    ] {
        let read = read(&json!({"done": true, "done_reason": reason}));
        let last = read.map(|mut events| events.pop().unwrap());
        let last = last.map_err(|error| error.code());
        assert_eq!(last, expected.map(ModelEvent::Finish), "{reason}");
    }
    assert!(read(&json!({"done": false})).unwrap().is_empty());
}

#[test]
fn an_error_in_a_stream_is_an_error() {
    let error = read(&json!({"error": "the input exceeds the context length"}));
    assert_eq!(error.unwrap_err().code(), "context_too_long");
    assert_eq!(
        read(&json!({"error": "runner died"})).unwrap_err().code(),
        "transient"
    );
}
