//! Bodies that the service takes, and those that it refuses, by the place that is wrong.

use serde_json::json;

use super::*;

fn body(messages: Value) -> Value {
    json!({"model": "m", "messages": messages})
}

fn call(id: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "t", "arguments": "{}"}})
}

fn accepts(body: &Value) {
    assert_eq!(check(body), Ok(()), "{body}");
}

fn refuses(body: &Value, place: &str) {
    let refusal = check(body).expect_err(&body.to_string());
    assert_eq!(refusal.param, place, "{body}: {}", refusal.message);
}

#[test]
fn right_bodies_pass() {
    let user = || json!({"role": "user", "content": "Hi"});
    accepts(&body(json!([user()])));
    accepts(&body(
        json!([{"role": "system", "content": "x"}, {"role": "user", "content": [{"type": "text", "text": "x"}]}]),
    ));
    accepts(&body(json!([
        user(),
        {"role": "assistant", "content": "", "tool_calls": [call("a"), call("b")]},
        {"role": "tool", "tool_call_id": "b", "content": "1"},
        {"role": "tool", "tool_call_id": "a", "content": "2"},
    ])));
    // The ids of one turn may come back in the next.
    accepts(&body(json!([
        user(),
        {"role": "assistant", "content": null, "tool_calls": [call("a")]},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "assistant", "content": "done", "tool_calls": [call("a")]},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
    ])));
    let mut full = body(json!([user()]));
    full["stream"] = json!(true);
    full["stream_options"] = json!({"include_usage": true});
    full["temperature"] = json!(0.5);
    full["tools"] = json!([{"type": "function", "function": {"name": "t", "parameters": {"type": "object"}, "strict": false}}]);
    accepts(&full);
}

#[test]
fn wrong_messages_are_refused() {
    let user = || json!({"role": "user", "content": "Hi"});
    let asks = |calls: Value| json!({"role": "assistant", "content": null, "tool_calls": calls});
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "1"});
    refuses(&json!([]), "body");
    refuses(&json!({"messages": [user()]}), "body.model");
    refuses(&json!({"model": "m"}), "body.messages");
    refuses(&body(json!([])), "body.messages");
    refuses(
        &body(json!([{"role": "robot", "content": "x"}])),
        "messages[0].role",
    );
    refuses(&body(json!([{"role": "user"}])), "messages[0].content");
    refuses(
        &body(json!([{"role": "user", "content": "x", "mood": 1}])),
        "messages[0].mood",
    );
    refuses(
        &body(json!([{"role": "user", "content": []}])),
        "messages[0].content",
    );
    refuses(
        &body(json!([{"role": "user", "content": [{"type": "input_text", "text": ""}]}])),
        "messages[0].content[0]",
    );
    refuses(
        &body(json!([user(), {"role": "assistant", "content": null}])),
        "messages[1].content",
    );
    refuses(
        &body(json!([user(), {"role": "assistant", "content": "x"}])),
        "messages",
    );
    // Calls and results.
    refuses(&body(json!([user(), result("a")])), "messages[1]");
    refuses(&body(json!([user(), asks(json!([call("a")]))])), "messages");
    refuses(
        &body(json!([user(), asks(json!([call("a")])), user()])),
        "messages[2]",
    );
    refuses(
        &body(json!([
            user(),
            asks(json!([call("a"), call("b")])),
            result("a"),
            user()
        ])),
        "messages[3]",
    );
    refuses(
        &body(json!([
            user(),
            asks(json!([call("a")])),
            result("a"),
            result("a")
        ])),
        "messages[3]",
    );
    refuses(
        &body(json!([user(), asks(json!([call("a")])), result("b")])),
        "messages[2]",
    );
    refuses(
        &body(json!([
            user(),
            asks(json!([call("a"), call("a")])),
            result("a")
        ])),
        "messages[1].tool_calls[1]",
    );
    refuses(
        &body(json!([user(), asks(json!([]))])),
        "messages[1].tool_calls",
    );
    for arguments in [json!({}), json!("{"), json!("[]")] {
        let call = json!({"id": "a", "type": "function", "function": {"name": "t", "arguments": arguments}});
        refuses(
            &body(json!([user(), asks(json!([call])), result("a")])),
            "messages[1].tool_calls[0].arguments",
        );
    }
}

#[test]
fn wrong_tools_and_settings_are_refused() {
    let with = |field: &str, value: Value| {
        let mut body = body(json!([{"role": "user", "content": "Hi"}]));
        body[field] = value;
        body
    };
    let tool = |name: &str, parameters: Value| json!([{"type": "function", "function": {"name": name, "parameters": parameters}}]);
    refuses(&with("tools", json!([])), "body.tools");
    refuses(
        &with("tools", tool("a b", json!({"type": "object"}))),
        "tools[0].function.name",
    );
    refuses(
        &with("tools", tool("t", json!(true))),
        "tools[0].function.parameters",
    );
    refuses(
        &with("tools", tool("t", json!({"type": "string"}))),
        "tools[0].function.parameters",
    );
    let inside = json!({"type": "object", "properties": {"x": {"type": "array", "items": true}}});
    refuses(
        &with("tools", tool("t", inside)),
        "tools[0].function.parameters.properties.x.items",
    );
    let twice = json!([
        tool("t", json!({"type": "object"}))[0],
        tool("t", json!({"type": "object"}))[0]
    ]);
    refuses(&with("tools", twice), "tools");
    refuses(&with("temperature", json!(3)), "temperature");
    refuses(&with("max_tokens", json!(0)), "max_tokens");
    refuses(&with("stream", json!("yes")), "stream");
    refuses(&with("stream_options", json!({})), "stream_options");
    refuses(&with("input", json!("x")), "body.input");
}
