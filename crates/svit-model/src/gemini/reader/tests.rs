//! Frames as the service sends them, and as it should not.

use serde_json::json;

use super::*;
use crate::gemini::FORM;
use crate::http::endpoint::Endpoint;

fn read(frames: &[Json]) -> Result<Vec<ModelEvent>, ModelError> {
    let redact = Redact::new(None, &Endpoint::standard(&FORM));
    let mut reader = GeminiReader::default();
    let mut out = VecDeque::new();
    for frame in frames {
        reader.frame(&frame.to_string(), &redact, &mut out)?;
    }
    Ok(out.into())
}

#[test]
fn reasons_and_refusals_are_told_apart() {
    for (reason, expected) in [
        ("STOP", Ok(FinishReason::Stop)),
        ("MAX_TOKENS", Ok(FinishReason::Length)),
        ("LANGUAGE", Ok(FinishReason::Other("LANGUAGE".into()))),
        (
            "FUNCTION_CALL",
            Ok(FinishReason::Other("FUNCTION_CALL".into())),
        ),
        ("SAFETY", Err("refused")),
        ("MALFORMED_FUNCTION_CALL", Err("transient")),
        ("MISSING_THOUGHT_SIGNATURE", Err("invalid")),
    ] {
        let read = read(&[json!({"candidates": [{"finishReason": reason}]})]);
        let last = read.map(|mut events| events.pop().unwrap());
        let last = last.map_err(|error| error.code());
        assert_eq!(last, expected.map(ModelEvent::Finish), "{reason}");
    }
    for reason in ["STOP", "FUNCTION_CALL"] {
        let call = json!({"functionCall": {"name": "read", "args": {}}});
        let parts = json!({"role": "model", "parts": [call]});
        let read = read(&[json!({"candidates": [{"content": parts, "finishReason": reason}]})]);
        let last = read.unwrap().pop();
        assert_eq!(
            last,
            Some(ModelEvent::Finish(FinishReason::ToolCalls)),
            "{reason}"
        );
    }
    let blocked = read(&[json!({"promptFeedback": {"blockReason": "SAFETY"}})]);
    assert_eq!(blocked.unwrap_err().code(), "refused");
}

#[test]
fn errors_say_how_long_to_wait_and_whether_it_helps() {
    let error = |details: Json| {
        let error = json!({"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED", "details": details});
        read(&[json!({"error": error})]).unwrap_err()
    };
    let waited = error(json!([{"retryDelay": "34.5s"}]));
    assert_eq!(waited.code(), "rate_limited");
    assert_eq!(waited.retry_after().unwrap().as_millis(), 34_500);
    let spent = error(json!([{"violations": [{"quotaId": "GenerateRequestsPerDayPerProject"}]}]));
    assert_eq!(spent.code(), "quota_exhausted");
    let key = error(json!([{"reason": "API_KEY_INVALID"}]));
    assert_eq!(key.code(), "authentication");
}
