//! Both formats, streaming and not: answers, tool calls, history.

use serde_json::json;
use svit_model::{
    ContentPart, FinishReason, Message, ModelEvent, ModelRequest, OpenAI, Provider, Role, ToolCall,
    ToolResult, ToolSpec, Usage, collect,
};
use svit_testkit::model_server::{Call, ModelServer, Reply, Script, Wire};
use svit_value::value;

use crate::ask::{MODES, ask, provider, request, tool};

#[tokio::test]
async fn an_answer_comes_with_its_text_usage_and_reason() {
    for mode in MODES {
        let reply = Reply::text("Grün ist schön 🌿, isn't it?").usage(12, 5);
        let server = ModelServer::start(Script::turns([reply])).await.unwrap();
        let mut asked = request(vec![Message::user("Which color?")]);
        asked.system = Some("Be brief.".into());
        asked.max_output_tokens = Some(77);
        let mut deltas = Vec::new();
        let stream = provider(&server, mode).respond(asked).await.unwrap();
        let answer = collect(stream, |event| {
            if let ModelEvent::TextDelta(text) = event {
                deltas.push(text.clone());
            }
        })
        .await
        .unwrap();
        assert_eq!(
            answer.message,
            Message::assistant("Grün ist schön 🌿, isn't it?"),
            "{mode:?}"
        );
        assert_eq!(
            answer.usage,
            Usage {
                input_tokens: 12,
                output_tokens: 5
            },
            "{mode:?}"
        );
        assert_eq!(answer.finish, FinishReason::Stop, "{mode:?}");
        assert_eq!(
            deltas.len(),
            if mode.1 { 6 } else { 1 },
            "{mode:?}: {deltas:?}"
        );

        let journal = server.journal();
        assert_eq!(journal.len(), 1);
        let body = journal[0].body.clone().unwrap();
        match mode.0 {
            Wire::ChatCompletions => {
                assert_eq!(journal[0].path, "/v1/chat/completions");
                let expected = json!([
                    {"role": "system", "content": "Be brief."},
                    {"role": "user", "content": "Which color?"},
                ]);
                assert_eq!(body["messages"], expected);
                assert_eq!(body["max_tokens"], 77);
            }
            _ => {
                assert_eq!(journal[0].path, "/v1/responses");
                assert_eq!(body["instructions"], "Be brief.");
                assert_eq!(
                    body["input"],
                    json!([{"role": "user", "content": "Which color?"}])
                );
                assert_eq!(body["store"], false);
                assert_eq!(body["max_output_tokens"], 77);
            }
        }
        assert_eq!(body["stream"], mode.1);
        for absent in [
            "reasoning",
            "reasoning_effort",
            "include",
            "temperature",
            "tools",
        ] {
            assert!(body.get(absent).is_none(), "{mode:?}: {absent}");
        }
    }
}

#[tokio::test]
async fn tools_are_called_and_their_results_go_back() {
    for mode in MODES {
        let server = ModelServer::start(Script::turns([
            Reply::text("Let me write.")
                .and_call(Call::new(
                    "write",
                    &json!({"path": "/memory/a", "value": {"n": 1.5, "s": "ä\n"}}),
                ))
                .and_call(Call::raw("write", "")),
            Reply::text("Both done."),
        ]))
        .await
        .unwrap();
        let openai = provider(&server, mode);
        let mut asked = request(vec![Message::user("Write it.")]);
        asked.tools = vec![tool()];
        let answer = ask(&openai, asked.clone()).await.unwrap();
        assert_eq!(answer.finish, FinishReason::ToolCalls, "{mode:?}");
        assert_eq!(
            answer.message.parts,
            [
                ContentPart::Text("Let me write.".into()),
                ContentPart::ToolCall(ToolCall::new(
                    "call_0_0",
                    "write",
                    value!({"path": "/memory/a", "value": {"n": 1.5, "s": "ä\n"}}),
                )),
                ContentPart::ToolCall(ToolCall::new("call_0_1", "write", value!({}))),
            ],
            "{mode:?}"
        );

        // The results in another order than the calls: the server pairs them by id.
        asked.messages.push(answer.message);
        asked.messages.push(Message::tool([
            ToolResult::error("call_0_1", "path is missing"),
            ToolResult::new("call_0_0", value!({"written": true})),
        ]));
        let answer = ask(&openai, asked).await.unwrap();
        assert_eq!(answer.message.text(), Some("Both done."));
        let body = server.journal()[1].body.clone().unwrap();
        let said = body.to_string();
        assert!(said.contains(r#"{\"written\":true}"#), "{said}");
        assert!(
            said.contains(r#"{\"error\":\"path is missing\"}"#),
            "{said}"
        );
        let function = if mode.0 == Wire::Responses {
            &body["tools"][0]
        } else {
            &body["tools"][0]["function"]
        };
        assert_eq!(function["name"], "write");
        assert_eq!(function["strict"], false);
        assert_eq!(
            function["parameters"]["properties"]["path"],
            json!({"type": "string"})
        );
    }
}

#[tokio::test]
async fn malformed_arguments_can_be_answered() {
    for mode in MODES {
        for raw in [
            "{\"path\": ",
            "[1]",
            "\"text\"",
            "{\"n\": 99999999999999999999}",
            "{\"a\":1,\"a\":2}",
        ] {
            let replies = [
                Reply::calls([Call::raw("write", raw)]),
                Reply::text("Sorry."),
            ];
            let server = ModelServer::start(Script::turns(replies)).await.unwrap();
            let openai = provider(&server, mode);
            let mut asked = request(vec![Message::user("Write it.")]);
            asked.tools = vec![tool()];
            let answer = ask(&openai, asked.clone()).await.unwrap();
            let call = answer.message.tool_calls().next().unwrap().clone();
            assert_eq!(call.arguments.as_str(), Some(raw), "{mode:?}");
            let error = call.input().unwrap_err();
            assert_eq!(error.code(), "malformed_arguments");
            asked.messages.push(answer.message);
            asked.messages.push(Message::tool([ToolResult::error(
                call.id,
                error.to_string(),
            )]));
            // The server refuses a history whose arguments are no JSON object, as strict ones do.
            assert_eq!(
                ask(&openai, asked).await.unwrap().message.text(),
                Some("Sorry."),
                "{mode:?} {raw}"
            );
        }
    }
}

#[tokio::test]
async fn sealed_reasoning_is_given_back_word_for_word() {
    for streaming in [true, false] {
        let server = ModelServer::start(Script::turns([
            Reply::call("write", &json!({"path": "/a"})).reasoning("It must be written."),
            Reply::text("Done.").reasoning("It was."),
            Reply::text("Yes."),
        ]))
        .await
        .unwrap();
        let openai = provider(&server, (Wire::Responses, streaming));
        let mut asked = request(vec![Message::user("Write it.")]);
        asked.model = "gpt-5-mini".into();
        asked.tools = vec![tool()];
        let first = ask(&openai, asked.clone()).await.unwrap();
        assert!(
            matches!(&first.message.parts[0], ContentPart::Opaque { kind, .. } if kind == "openai.responses.item"),
            "reasoning comes before the call it led to"
        );
        asked.messages.push(first.message);
        asked
            .messages
            .push(Message::tool([ToolResult::new("call_0_0", "ok")]));
        let second = ask(&openai, asked.clone()).await.unwrap();
        assert_eq!(second.message.text(), Some("Done."));
        // Through the stored form, as the loop does it. The server checks the seal.
        asked
            .messages
            .push(Message::from_value(&second.message.to_value().unwrap()).unwrap());
        asked.messages.push(Message::user("Sure?"));
        assert_eq!(
            ask(&openai, asked).await.unwrap().message.text(),
            Some("Yes.")
        );

        let body = server.journal()[2].body.clone().unwrap();
        assert_eq!(body["include"], json!(["reasoning.encrypted_content"]));
        assert!(body.get("reasoning").is_none(), "no summary is asked for");
        let kinds: Vec<_> = body["input"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["type"].as_str().unwrap_or("user"))
            .collect();
        assert_eq!(
            kinds,
            [
                "user",
                "reasoning",
                "function_call",
                "function_call_output",
                "reasoning",
                "message",
                "user"
            ]
        );
        assert_eq!(body["input"][1]["id"], "rs_0");
    }
}

#[tokio::test]
async fn reasoning_of_chat_servers_is_shown_and_given_back() {
    for streaming in [true, false] {
        let replies = [
            Reply::call("write", &json!({})).reasoning("I think so."),
            Reply::text("Done."),
        ];
        let server = ModelServer::start(Script::turns(replies)).await.unwrap();
        let openai = provider(&server, (Wire::ChatCompletions, streaming));
        let mut asked = request(vec![Message::user("Write it.")]);
        let mut shown = String::new();
        let stream = openai.respond(asked.clone()).await.unwrap();
        let answer = collect(stream, |event| {
            if let ModelEvent::ReasoningDelta(text) = event {
                shown.push_str(text);
            }
        });
        let answer = answer.await.unwrap();
        assert_eq!(shown, "I think so.");
        assert_eq!(
            answer.message.text(),
            None,
            "reasoning is no part of the answer"
        );
        asked.messages.push(answer.message);
        asked
            .messages
            .push(Message::tool([ToolResult::new("call_0_0", "ok")]));
        ask(&openai, asked).await.unwrap();
        let body = server.journal()[1].body.clone().unwrap();
        assert_eq!(body["messages"][1]["reasoning_content"], "I think so.");
    }
}

#[tokio::test]
async fn the_models_name_goes_out_as_it_was_given() {
    for mode in MODES {
        for name in [
            "qwen-max",
            "o3-high",
            "vendor::model-low",
            "org/model:latest",
        ] {
            let server = ModelServer::start(Script::turns([Reply::text("Hi.")]))
                .await
                .unwrap();
            let mut asked = request(vec![Message::user("Hello?")]);
            asked.model = name.into();
            ask(&provider(&server, mode).keep_reasoning(false), asked)
                .await
                .unwrap();
            let body = server.journal()[0].body.clone().unwrap();
            assert_eq!(body["model"], name, "{mode:?}");
            assert!(
                body.get("reasoning_effort").is_none() && body.get("reasoning").is_none(),
                "{mode:?} {name}"
            );
        }
    }
}

#[tokio::test]
async fn a_query_in_the_base_url_is_sent() {
    let server = ModelServer::start(Script::turns([Reply::text("Hi.")]))
        .await
        .unwrap();
    let openai = OpenAI::new(server.key()).base_url(format!("{}/?api-version=1", server.url()));
    ask(&openai, request(vec![Message::user("Hello?")]))
        .await
        .unwrap();
    assert_eq!(
        server.journal()[0].path,
        "/v1/chat/completions?api-version=1"
    );
}

#[tokio::test]
async fn what_would_be_refused_or_dropped_is_not_sent() {
    let server = ModelServer::start(Script::turns([])).await.unwrap();
    let openai = provider(&server, (Wire::ChatCompletions, true));
    let hello = || vec![Message::user("Hello?")];
    let bad_schema = ToolSpec::new(
        "t",
        "",
        value!({"type": "object", "properties": {"x": true}}),
    );
    let cases = [
        ModelRequest {
            model: String::new(),
            ..request(hello())
        },
        request(vec![]),
        request(vec![Message::new(
            Role::User,
            vec![ContentPart::ToolCall(ToolCall::new("a", "b", value!({})))],
        )]),
        request(vec![Message::new(
            Role::Tool,
            vec![ContentPart::Text("x".into())],
        )]),
        ModelRequest {
            tools: vec![bad_schema],
            ..request(hello())
        },
        ModelRequest {
            tools: vec![ToolSpec::new("a b", "", value!({"type": "object"}))],
            ..request(hello())
        },
        ModelRequest {
            tools: vec![ToolSpec::new("t", "", value!({}))],
            ..request(hello())
        },
    ];
    for case in cases {
        let error = ask(&openai, case.clone()).await.unwrap_err();
        assert_eq!(error.code(), "invalid", "{case:?}");
    }
    assert!(server.journal().is_empty());
}
