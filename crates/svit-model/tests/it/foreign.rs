//! Servers that we did not write, when `tests/foreign_servers.sh` has started them. They judge our requests by
//! their reading of the formats, and answer by it.

use std::time::Duration;

use serde_json::{Value, json};
use svit_model::{
    Anthropic, FinishReason, Gemini, Message, ModelError, ModelRequest, ModelResponse, Ollama,
    OpenAI, Provider, Retry, ToolResult, ToolSpec, collect,
};
use svit_value::value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The server's address, or `None` after saying why the test is skipped.
fn server(variable: &str) -> Option<String> {
    let url = std::env::var(variable).ok();
    if url.is_none() {
        println!("skipped: {variable} is not set; run crates/svit-model/tests/foreign_servers.sh");
    }
    url
}

fn modes(url: &str) -> impl Iterator<Item = OpenAI> {
    let openai = OpenAI::new("any-key")
        .base_url(format!("{url}/v1"))
        .idle_timeout(Duration::from_secs(5));
    let both = [openai.clone(), openai.responses()];
    both.into_iter()
        .flat_map(|openai| [openai.clone(), openai.streaming(false)])
}

fn request(text: &str) -> ModelRequest {
    ModelRequest {
        model: "gpt-4o-mini".into(),
        system: Some("Be brief.".into()),
        messages: vec![Message::user(text)],
        ..ModelRequest::default()
    }
}

fn write() -> ToolSpec {
    let schema = value!({
        "type": "object",
        "properties": {"path": {"type": "string"}, "value": {"description": "any value"}},
        "required": ["path", "value"],
        "additionalProperties": false,
    });
    ToolSpec::new("write", "Writes a value below a path.", schema)
}

async fn ask(provider: &impl Provider, request: ModelRequest) -> Result<ModelResponse, ModelError> {
    collect(provider.respond(request).await?, |_| {}).await
}

/// A request by hand: the servers' own controls.
async fn control(url: &str, method: &str, path: &str, body: &Value) -> Value {
    let host = url.trim_start_matches("http://");
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let mut stream = TcpStream::connect(host).await.unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let start = answer.find("\r\n\r\n").unwrap();
    let json = answer[start..]
        .find(['{', '['])
        .map_or("null", |at| &answer[start + at..]);
    let end = json.rfind(['}', ']']).map_or(json.len(), |at| at + 1);
    serde_json::from_str(&json[..end]).unwrap_or(Value::Null)
}

/// The other providers, streaming and not, with the name of each.
fn others(url: &str) -> Vec<(String, bool, Box<dyn Provider>)> {
    let idle = Duration::from_secs(5);
    let modes = [true, false].into_iter().flat_map(|streaming| {
        let anthropic = Anthropic::new("any-key").base_url(url).streaming(streaming);
        let gemini = Gemini::new("any-key").base_url(url).streaming(streaming);
        let ollama = Ollama::new().base_url(url).streaming(streaming);
        let all: [(&str, Box<dyn Provider>); 3] = [
            ("anthropic", Box::new(anthropic.idle_timeout(idle))),
            ("gemini", Box::new(gemini.idle_timeout(idle))),
            ("ollama", Box::new(ollama.idle_timeout(idle))),
        ];
        all.map(|(name, provider)| {
            (
                format!("{name}, streaming {streaming}"),
                streaming,
                provider,
            )
        })
    });
    modes.collect()
}

#[tokio::test]
async fn aimock_takes_the_requests_of_the_other_providers_too() {
    let Some(url) = server("SVIT_TEST_AIMOCK") else {
        return;
    };
    for (name, streaming, provider) in others(&url) {
        let mut asked = request("Please remember the release color.");
        asked.tools = vec![write()];
        let first = ask(&provider, asked.clone()).await.unwrap();
        assert_eq!(first.finish, FinishReason::ToolCalls, "{name}");
        let said: String = first.message.texts().collect();
        assert_eq!(said, "I will note it.", "{name}");
        let calls: Vec<_> = first.message.tool_calls().cloned().collect();
        let arguments: Vec<_> = calls.iter().map(|call| call.arguments.clone()).collect();
        let expected = [
            value!({"path": "/memory/release_color", "value": "grün"}),
            value!({"path": "/memory/count", "value": 3}),
        ];
        assert_eq!(arguments, expected, "{name}");
        asked.messages.push(first.message);
        asked.messages.push(Message::tool(
            calls
                .iter()
                .map(|call| ToolResult::new(call.id.as_str(), "ok")),
        ));
        let second = ask(&provider, asked).await.unwrap();
        assert_eq!(second.message.text(), Some("Noted: grün."), "{name}");
        assert_eq!(second.finish, FinishReason::Stop, "{name}");

        let error = ask(&provider, request("This is too often.")).await;
        assert_eq!(error.unwrap_err().code(), "rate_limited", "{name}");
        if streaming {
            let error = ask(&provider, request("This will be cut short.")).await;
            assert_eq!(error.unwrap_err().code(), "transient", "{name}");
        }
    }
}

#[tokio::test]
async fn aimock_takes_our_requests_and_we_its_answers() {
    let Some(url) = server("SVIT_TEST_AIMOCK") else {
        return;
    };
    for openai in modes(&url) {
        let mut asked = request("Please remember the release color.");
        asked.tools = vec![write()];
        let first = ask(&openai, asked.clone()).await.unwrap();
        assert_eq!(first.finish, FinishReason::ToolCalls, "{openai:?}");
        assert_eq!(first.message.text(), Some("I will note it."));
        let calls: Vec<_> = first.message.tool_calls().cloned().collect();
        assert_eq!(calls.len(), 2);
        assert_eq!(
            calls[0].arguments,
            value!({"path": "/memory/release_color", "value": "grün"})
        );
        assert_eq!(
            calls[1].arguments,
            value!({"path": "/memory/count", "value": 3})
        );
        asked.messages.push(first.message);
        asked.messages.push(Message::tool(
            calls
                .iter()
                .map(|call| ToolResult::new(call.id.as_str(), "ok")),
        ));
        let second = ask(&openai, asked).await.unwrap();
        assert_eq!(second.message.text(), Some("Noted: grün."), "{openai:?}");
        assert_eq!(second.finish, FinishReason::Stop);

        let error = ask(&openai, request("This is too often."))
            .await
            .unwrap_err();
        assert_eq!(error.code(), "rate_limited", "{openai:?}: {error:?}");
    }
    for openai in modes(&url).step_by(2) {
        let error = ask(&openai, request("This will be cut short."))
            .await
            .unwrap_err();
        assert_eq!(error.code(), "transient", "{openai:?}: {error:?}");
    }
    let journal = control(&url, "GET", "/__aimock/journal", &Value::Null).await;
    assert!(
        journal.to_string().contains("release_color"),
        "the journal holds our requests"
    );
}

#[tokio::test]
async fn llmock_finds_nothing_wrong_with_us() {
    let Some(url) = server("SVIT_TEST_LLMOCK") else {
        return;
    };
    for openai in modes(&url) {
        let retry = Retry::new(openai.clone()).first_wait(Duration::from_millis(20));
        // A whole turn with its tool.
        let mut asked = request("Write something.");
        asked.tools = vec![write()];
        let first = ask(&retry, asked.clone()).await.unwrap();
        let calls: Vec<_> = first.message.tool_calls().cloned().collect();
        assert!(
            !calls.is_empty() && calls.iter().all(|call| call.input().is_ok()),
            "{openai:?}: {first:?}"
        );
        asked.messages.push(first.message);
        asked.messages.push(Message::tool(
            calls
                .iter()
                .map(|call| ToolResult::new(call.id.as_str(), "ok")),
        ));
        let second = ask(&retry, asked.clone()).await.unwrap();
        assert!(
            second.message.text().is_some() && second.usage.total() > 0,
            "{openai:?}: {second:?}"
        );

        // A rate limit with its wait, and an error that passes.
        scenario(
            &url,
            &json!([{"type": "fail", "status": 429, "retry_after": 1, "times": 1}]),
        )
        .await;
        ask(&retry, request("Rate limit.")).await.unwrap();
        scenario(&url, &json!([{"type": "fail", "status": 503, "times": 2}])).await;
        ask(&retry, request("Overloaded.")).await.unwrap();
        // One that does not.
        scenario(&url, &json!([{"type": "fail", "status": 400, "times": 1}])).await;
        assert_eq!(
            ask(&retry, request("Wrong.")).await.unwrap_err().code(),
            "invalid"
        );

        // Arguments that are no JSON.
        scenario(
            &url,
            &json!([{"type": "tool_fault", "kind": "malformed_arguments", "times": 1}]),
        )
        .await;
        let mut asked = request("Malformed.");
        asked.tools = vec![write()];
        let answer = ask(&retry, asked).await.unwrap();
        let call = answer.message.tool_calls().next().unwrap();
        assert_eq!(
            call.input().unwrap_err().code(),
            "malformed_arguments",
            "{openai:?}"
        );
    }
    for openai in modes(&url).step_by(2) {
        for kind in ["disconnect", "truncate", "malformed", "stall"] {
            let fault = json!({"type": "stream_fault", "kind": kind, "after_chunks": 3, "times": 1, "stall_seconds": 20});
            scenario(&url, &json!([fault])).await;
            let openai = openai.clone().idle_timeout(Duration::from_millis(500));
            let asked = || request(&format!("Broken by {kind}."));
            let error = ask(&openai, asked()).await.unwrap_err();
            assert_eq!(error.code(), "transient", "{openai:?} {kind}: {error:?}");
            // What the loop does with such an error: the server cannot see otherwise that we noticed.
            tokio::time::sleep(Duration::from_millis(50)).await;
            ask(&openai, asked()).await.unwrap();
        }
    }
    let verdict = control(&url, "GET", "/_llmock/verdict", &Value::Null).await;
    println!("verdict of llmock: {verdict}");
    assert_eq!(verdict["passed"], true, "{verdict}");
    for finding in verdict["findings"].as_array().into_iter().flatten() {
        // A short answer may be sent to its end before our hanging up arrives: then it looks read.
        assert_eq!(finding["code"], "malformed_chunk_ignored", "{verdict}");
    }
}

async fn scenario(url: &str, behaviors: &Value) {
    control(
        url,
        "POST",
        "/_llmock/scenario",
        &json!({"behaviors": behaviors}),
    )
    .await;
}
