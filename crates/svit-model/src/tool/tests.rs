//! Specs that providers take, and arguments that are none.

use svit_value::value;

use super::*;

#[test]
fn a_schema_is_maps_all_the_way_down() {
    let right = [
        value!({"type": "object"}),
        value!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false}),
        value!({"type": "object", "properties": {"a": {}, "b": {"type": "array", "items": {"anyOf": [{}, {}]}}}}),
    ];
    for schema in right {
        assert!(
            ToolSpec::new("t", "", schema.clone()).check().is_ok(),
            "{schema:?}"
        );
    }
    let wrong = [
        (value!(true), "type"),
        (value!({}), "type"),
        (value!({"type": "string"}), "type"),
        (
            value!({"type": "object", "properties": {"a": true}}),
            "properties/a",
        ),
        (value!({"type": "object", "properties": []}), "properties"),
        (
            value!({"type": "object", "properties": {"a": {"items": true}}}),
            "properties/a/items",
        ),
        (value!({"type": "object", "anyOf": [{}, 1]}), "anyOf"),
        (
            value!({"type": "object", "additionalProperties": 1}),
            "additionalProperties",
        ),
    ];
    for (schema, place) in wrong {
        let error = ToolSpec::new("t", "", schema.clone())
            .check()
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(&format!("{place}\"")) || error.contains("type must be"),
            "{schema:?}: {error}"
        );
    }
}

#[test]
fn a_name_is_one_that_providers_take() {
    for (name, right) in [
        ("read", true),
        ("a-B_9", true),
        ("", false),
        ("a b", false),
        ("ä", false),
        ("a.b", false),
    ] {
        assert_eq!(
            ToolSpec::new(name, "", value!({"type": "object"}))
                .check()
                .is_ok(),
            right,
            "{name}"
        );
    }
    assert!(
        ToolSpec::new("x".repeat(65), "", value!({"type": "object"}))
            .check()
            .is_err()
    );
}

// THREAT[TM-MODEL-3]
#[test]
fn malformed_arguments_are_kept_and_explained() {
    let call = ToolCall::from_json("1", "t", r#" {"a": [1.5, "x"]} "#);
    assert_eq!(call.arguments, value!({"a": [1.5, "x"]}));
    assert_eq!(call.input().unwrap().len(), 1);
    for none in ["", " \n"] {
        assert_eq!(ToolCall::from_json("1", "t", none).arguments, value!({}));
    }
    for (raw, said) in [
        ("{\"a\": ", ""),
        ("[1]", "of kind list"),
        ("null", "of kind null"),
        ("\"{}\"", "of kind text"),
        ("{} {}", ""),
        ("{\"a\": 1e999}", ""),
    ] {
        let call = ToolCall::from_json("1", "t", raw);
        assert_eq!(call.arguments.as_str(), Some(raw));
        let error = call.input().unwrap_err();
        assert_eq!(error.code(), "malformed_arguments");
        assert!(
            error.to_string().contains(said) && error.to_string().contains("\"t\""),
            "{error}"
        );
    }
    assert!(ToolCall::new("1", "t", value!(3)).input().is_err());
}
