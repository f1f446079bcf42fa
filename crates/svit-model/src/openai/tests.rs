//! Settings: the environment, base URLs, which format is used.

use futures_util::FutureExt;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::message::Message;

fn from(variables: &[(&str, &str)]) -> Result<OpenAI, ModelError> {
    let find = |name: &str| {
        variables
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| (*value).to_owned())
    };
    OpenAI::from_variables(find)
}

#[test]
fn the_environment_gives_key_and_url() {
    for none in [
        &[][..],
        &[(KEY_VARIABLE, "")],
        &[(KEY_VARIABLE, " \n")],
        &[(URL_VARIABLE, "http://x/v1")],
    ] {
        assert!(matches!(
            from(none),
            Err(ModelError::MissingKey {
                variable: KEY_VARIABLE
            })
        ));
    }
    let openai = from(&[(KEY_VARIABLE, "sk-1\n")]).unwrap();
    assert_eq!(openai.key.expose_secret(), "sk-1");
    assert!(openai.endpoint.unwrap().is_standard());
    let openai = from(&[
        (KEY_VARIABLE, "sk-1"),
        (URL_VARIABLE, "http://127.0.0.1:1/v1"),
    ])
    .unwrap();
    assert_eq!(
        openai.endpoint.unwrap().joinable(),
        "http://127.0.0.1:1/v1/"
    );
    let error = from(&[(KEY_VARIABLE, "sk-1"), (URL_VARIABLE, "127.0.0.1:1/v1")]).unwrap_err();
    assert_eq!(error.code(), "invalid");
}

#[test]
fn base_urls_are_made_joinable_or_refused() {
    for (text, expected) in [
        ("http://h/v1", "http://h/v1/"),
        ("http://h/v1//", "http://h/v1/"),
        (" https://h:8/a/b/ ", "https://h:8/a/b/"),
        ("http://h", "http://h/"),
        ("http://h/v1?api-version=1", "http://h/v1/?api-version=1"),
    ] {
        assert_eq!(
            Endpoint::parse(text, &FORM).unwrap().joinable(),
            expected,
            "{text}"
        );
    }
    for text in [
        "",
        "h/v1",
        "ftp://h/v1",
        "file:///v1",
        "http://user:pass@h/v1",
        "http://h/v1#x",
        "http://h/v1/chat/completions",
        "http://h/v1/responses/",
    ] {
        let error = Endpoint::parse(text, &FORM).unwrap_err();
        assert_eq!(error.code(), "invalid", "{text}");
        assert!(!error.to_string().contains("pass@"), "{error}");
    }
    assert!(
        !Endpoint::parse("http://h/v1?token=t", &FORM)
            .unwrap()
            .shown()
            .contains("token")
    );
}

#[test]
fn the_endpoint_decides_the_format_unless_it_is_chosen() {
    let wire = |openai: OpenAI| openai.wire(openai.endpoint.as_ref().unwrap());
    let other = || OpenAI::new("k").base_url("http://h/v1");
    assert_eq!(wire(OpenAI::new("k")), Wire::Responses);
    assert_eq!(
        wire(OpenAI::new("k").base_url("https://api.openai.com/v1")),
        Wire::Responses
    );
    assert_eq!(wire(OpenAI::new("k").chat_completions()), Wire::Chat);
    assert_eq!(wire(other()), Wire::Chat);
    assert_eq!(wire(other().responses()), Wire::Responses);
}

#[test]
fn reasoning_models_are_known_by_name() {
    for (name, expected) in [
        ("o3-mini", true),
        ("o1", true),
        ("gpt-5", true),
        ("gpt-5.1-codex", true),
        ("gpt-6-mini", true),
        ("codex-mini", true),
        ("openai/gpt-5", true),
        ("gpt-5-chat-latest", false),
        ("gpt-4o", false),
        ("omni", false),
        ("qwen3", false),
    ] {
        assert_eq!(request::is_reasoning_model(name), expected, "{name}");
    }
}

#[test]
fn outside_a_runtime_there_is_an_error_and_no_panic() {
    let openai = OpenAI::new("k").base_url("http://127.0.0.1:1/v1");
    let request = ModelRequest {
        model: "m".into(),
        messages: vec![Message::user("x")],
        ..ModelRequest::default()
    };
    assert_eq!(
        openai
            .respond(request)
            .now_or_never()
            .unwrap()
            .err()
            .unwrap()
            .code(),
        "no_runtime"
    );
}

/// JSON that looks like events here and there.
fn event() -> impl Strategy<Value = serde_json::Value> {
    let word = prop_oneof![
        Just("response.output_item.done"),
        Just("response.output_text.delta"),
        Just("response.completed"),
        Just("completed"),
        Just("function_call"),
        Just("message"),
        Just("{"),
        Just("stop"),
    ];
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<i64>().prop_map(|number| json!(number)),
        (-2_i64..3).prop_map(|number| json!(number)),
        word.prop_map(|word| json!(word)),
    ];
    let field = prop::sample::select(vec![
        "type",
        "choices",
        "delta",
        "message",
        "tool_calls",
        "index",
        "id",
        "function",
        "name",
        "arguments",
        "item",
        "output_index",
        "response",
        "output",
        "status",
        "usage",
        "error",
        "finish_reason",
        "content",
        "text",
    ]);
    leaf.prop_recursive(6, 40, 5, move |inside| {
        prop_oneof![
            prop::collection::vec(inside.clone(), 0..4).prop_map(|items| json!(items)),
            prop::collection::btree_map(field.clone(), inside, 0..6)
                .prop_map(|fields| json!(fields)),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_a_server_sends_there_is_one_end_or_an_error(
        events in prop::collection::vec(event(), 0..6),
    ) {
        let redact = Redact::new(Some(&SecretString::from("key")), &Endpoint::standard(&FORM));
        let mut chat = chat::ChatReader::default();
        let mut responses = responses::ResponsesReader::default();
        for event in &events {
            let mut out = std::collections::VecDeque::new();
            let text = event.to_string();
            for result in [chat.frame(&text, &redact, &mut out), responses.frame(&text, &redact, &mut out)] {
                if result.is_err() {
                    continue;
                }
                let ends = out.iter().filter(|event| matches!(event, crate::ModelEvent::Finish(_))).count();
                prop_assert!(ends <= 1);
            }
        }
    }
}
