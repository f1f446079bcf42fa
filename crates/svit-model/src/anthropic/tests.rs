//! Settings, and bodies.

use secrecy::ExposeSecret;
use serde_json::json;
use svit_value::value;

use super::*;
use crate::message::{ContentPart, Message, Role};
use crate::tool::{ToolCall, ToolResult, ToolSpec};

fn from(variables: &[(&str, &str)]) -> Result<Anthropic, ModelError> {
    Anthropic::from_variables(|name| {
        let found = variables.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| (*value).to_owned())
    })
}

#[test]
fn the_environment_gives_key_and_url() {
    for none in [
        &[][..],
        &[("ANTHROPIC_API_KEY", " ")],
        &[("ANTHROPIC_BASE_URL", "http://x")],
    ] {
        let error = from(none).unwrap_err();
        assert_eq!(error.to_string(), "no key: set ANTHROPIC_API_KEY");
    }
    let set = from(&[("ANTHROPIC_API_KEY", "sk-1\n")]).unwrap();
    assert_eq!(set.remote.key.as_ref().unwrap().expose_secret(), "sk-1");
    assert_eq!(set.remote.shown().unwrap(), "https://api.anthropic.com/v1/");
    let url = ("ANTHROPIC_BASE_URL", "http://127.0.0.1:1");
    let set = from(&[("ANTHROPIC_API_KEY", "sk-1"), url]).unwrap();
    assert_eq!(set.remote.shown().unwrap(), "http://127.0.0.1:1/v1/");
    let wrong = ("ANTHROPIC_BASE_URL", "127.0.0.1:1");
    let error = from(&[("ANTHROPIC_API_KEY", "sk-1"), wrong]).unwrap_err();
    assert_eq!(error.code(), "invalid");
    assert!(!format!("{set:?}").contains("sk-1"));
}

fn request(messages: Vec<Message>) -> ModelRequest {
    ModelRequest {
        model: "claude-x".into(),
        messages,
        ..ModelRequest::default()
    }
}

#[test]
fn a_conversation_of_any_provider_becomes_blocks() {
    let thinking = value!({"type": "thinking", "thinking": "Hm.", "signature": "c2ln"});
    let foreign = value!({"type": "reasoning"});
    let opaque = |kind: &str, data| ContentPart::Opaque {
        kind: kind.into(),
        data,
    };
    let mut asked = request(vec![
        Message::user("Write."),
        Message::new(
            Role::Assistant,
            vec![
                opaque(request::BLOCK, thinking),
                opaque("openai.responses.item", foreign),
                ContentPart::Text(" \n".into()),
                ContentPart::ToolCall(ToolCall::new("call#1", "write", value!({"a": 1}))),
                ContentPart::ToolCall(ToolCall::from_json("c2", "write", "{\"a\"")),
            ],
        ),
        Message::tool([
            ToolResult::new("call#1", value!({"ok": true})),
            ToolResult::error("c2", "mend it"),
        ]),
        Message::assistant(""),
        Message::user("And now?"),
    ]);
    asked.system = Some("Be brief.".into());
    let schema = value!({"type": "object"});
    asked.tools = vec![ToolSpec::new("write", "Writes.", schema)];
    let body = request::body(&asked, Some(50), None, true).unwrap();
    assert_eq!(
        body,
        json!({
            "model": "claude-x", "max_tokens": 50, "stream": true, "system": "Be brief.",
            "tools": [{"name": "write", "description": "Writes.", "input_schema": {"type": "object"}}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Write."}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                    {"type": "tool_use", "id": "call_1", "name": "write", "input": {"a": 1}},
                    {"type": "tool_use", "id": "c2", "name": "write", "input": {"malformed_arguments": "{\"a\""}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "call_1", "content": "{\"ok\":true}"},
                    {"type": "tool_result", "tool_use_id": "c2", "content": "mend it", "is_error": true},
                ]},
                {"role": "user", "content": [{"type": "text", "text": "And now?"}]},
            ],
        })
    );
}

#[test]
fn the_bound_on_output_leaves_room_for_an_answer() {
    for (model, bound, thinking, expected) in [
        ("claude-3-haiku-20240307", None, None, 4096),
        ("claude-3-5-sonnet-latest", None, None, 8192),
        ("claude-3-7-sonnet-latest", None, None, 32_000),
        ("claude-sonnet-4-5", None, None, 32_000),
        ("claude-sonnet-4-5", Some(7), None, 7),
        (
            "claude-sonnet-4-5",
            Some(7),
            Some(Thinking::Tokens(2000)),
            6096,
        ),
        ("claude-sonnet-4-5", Some(7), Some(Thinking::Adaptive), 7),
    ] {
        let mut asked = request(vec![Message::user("Hi.")]);
        asked.model = model.into();
        let body = request::body(&asked, bound, thinking, true).unwrap();
        assert_eq!(body["max_tokens"], expected, "{model}");
        assert_eq!(body.get("thinking").is_some(), thinking.is_some());
    }
}

#[test]
fn what_no_server_would_take_is_not_sent() {
    for asked in [request(vec![]), request(vec![Message::user(" ")])] {
        let error = request::body(&asked, None, None, true).unwrap_err();
        assert_eq!(error.code(), "invalid");
    }
}
