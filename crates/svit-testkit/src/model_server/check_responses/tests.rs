//! Bodies that the service takes, and those that it refuses, by the place that is wrong.

use serde_json::json;

use super::*;

fn body(input: Value) -> Value {
    json!({"model": "m", "input": input})
}

fn call(id: &str) -> Value {
    json!({"type": "function_call", "call_id": id, "name": "t", "arguments": "{}"})
}

fn output(id: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": "1"})
}

fn sealed(id: &str, text: &str) -> Value {
    let summary = json!([{"type": "summary_text", "text": text}]);
    json!({"type": "reasoning", "id": id, "summary": summary, "encrypted_content": seal(id, &summary)})
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
    let said = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]});
    accepts(&body(json!("Hi")));
    accepts(&body(json!([user()])));
    accepts(&body(json!([
        user(),
        call("a"),
        call("b"),
        output("b"),
        output("a")
    ])));
    accepts(&body(json!([
        user(),
        sealed("rs_1", "hm"),
        said,
        call("a"),
        output("a"),
        user()
    ])));
    // The ids of one turn may come back in the next.
    accepts(&body(json!([
        user(),
        call("a"),
        output("a"),
        call("a"),
        output("a")
    ])));
    let mut full = body(json!([user()]));
    full["tools"] = json!([{"type": "function", "name": "t", "parameters": {"type": "object"}}]);
    full["include"] = json!(["reasoning.encrypted_content"]);
    full["instructions"] = json!("Be brief.");
    accepts(&full);
}

#[test]
fn wrong_input_is_refused() {
    let user = || json!({"role": "user", "content": "Hi"});
    refuses(&body(json!([])), "body.input");
    refuses(&body(json!([{"content": "x"}])), "input[0]");
    refuses(
        &body(json!([{"role": "robot", "content": "x"}])),
        "input[0].role",
    );
    refuses(
        &body(json!([{"role": "user", "content": [{"type": "text", "text": "x"}]}])),
        "input[0].content[0]",
    );
    refuses(&body(json!([{"type": "picture"}])), "input[0]");
    refuses(
        &body(json!([user(), {"role": "assistant", "content": "x"}])),
        "input",
    );
    refuses(&body(json!([user(), call("a")])), "input");
    refuses(&body(json!([user(), call("a"), user()])), "input");
    refuses(&body(json!([user(), output("a")])), "input[1]");
    refuses(
        &body(json!([user(), call("a"), output("a"), output("a")])),
        "input[3]",
    );
    refuses(
        &body(json!([user(), call("a"), call("a"), output("a")])),
        "input[2]",
    );
    let malformed = json!({"type": "function_call", "call_id": "a", "name": "t", "arguments": "{"});
    refuses(
        &body(json!([user(), malformed, output("a")])),
        "input[1].arguments",
    );
}

#[test]
fn reasoning_must_come_back_as_it_was() {
    let user = || json!({"role": "user", "content": "Hi"});
    let with = |reasoning: Value| body(json!([user(), reasoning, user()]));
    accepts(&with(sealed("rs_1", "hm")));
    let changed = |field: &str, value: Value| {
        let mut item = sealed("rs_1", "hm");
        item[field] = value;
        with(item)
    };
    refuses(&changed("id", json!("rs_2")), "input[1]");
    refuses(&changed("summary", json!([])), "input[1]");
    refuses(&changed("encrypted_content", json!("x")), "input[1]");
    refuses(&changed("encrypted_content", Value::Null), "input[1]");
    refuses(&changed("id", Value::Null), "input[1].id");
}

#[test]
fn wrong_settings_are_refused() {
    let with = |field: &str, value: Value| {
        let mut body = body(json!("Hi"));
        body[field] = value;
        body
    };
    refuses(&with("include", json!(["everything"])), "include");
    refuses(&with("messages", json!([])), "body.messages");
    refuses(&with("store", json!(1)), "store");
    refuses(
        &with(
            "tools",
            json!([{"type": "function", "function": {"name": "t"}}]),
        ),
        "tools[0].function",
    );
    refuses(&with("reasoning", json!({"power": 1})), "reasoning.power");
}
