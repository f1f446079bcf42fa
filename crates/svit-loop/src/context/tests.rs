//! What is kept and what is taken, as tables.

use svit_model::{ToolCall, ToolResult};
use svit_value::value;

use super::*;

/// Messages by letter: a user's, an answer with calls, and results, each of about 100 tokens.
fn messages(roles: &str) -> Vec<Message> {
    let long = "x".repeat(384);
    roles
        .chars()
        .map(|role| match role {
            'u' => Message::user(long.as_str()),
            'a' => Message::new(
                Role::Assistant,
                vec![ContentPart::ToolCall(ToolCall::new(
                    "1",
                    "read",
                    value!({"path": long.as_str()}),
                ))],
            ),
            't' => Message::tool([ToolResult::new("1", long.as_str())]),
            other => panic!("{other}"),
        })
        .collect()
}

#[test]
fn the_newest_messages_begin_where_they_may() {
    for (roles, keep, expected) in [
        ("", 1_000, 0),
        ("u", 0, 0),
        ("uatat", 0, 3),
        ("uatat", 150, 3),
        ("uatat", 250, 3),
        // The results alone would fit; their calls do not.
        ("uatat", 350, 3),
        ("uatat", 450, 1),
        ("uatat", 1_000, 0),
        ("uatu", 50, 3),
        ("uatu", 150, 3),
        ("uatu", 250, 3),
        ("uatu", 350, 1),
    ] {
        let found = newest(&messages(roles), keep);
        assert_eq!(found, expected, "{roles} within {keep}");
    }
}

#[test]
fn a_window_is_neared_at_three_quarters() {
    for (window, request, needed) in [
        (0, u64::MAX, false),
        (1_000, 750, false),
        (1_000, 751, true),
        (1_000, u64::MAX, true),
        (1, 0, false),
        (1, 1, true),
        (u64::MAX, u64::MAX / 2, false),
    ] {
        assert_eq!(Room::needed(window, request).is_some(), needed, "{window}");
    }
    // Where it was refused, what is known of the window is not true, or not known.
    assert_eq!(Room::for_refused(128_000, 4_000).keep, 1_000);
    assert_eq!(Room::for_refused(0, 4_000).take, 2_000);
    assert_eq!(Room::for_refused(8_000, 9_000).take, 4_000);
}

#[test]
fn a_transcript_tells_who_said_what_and_is_bounded() {
    let mut said = messages("u");
    said.push(Message::new(
        Role::Assistant,
        vec![
            ContentPart::Text("Look.".to_owned()),
            ContentPart::ToolCall(ToolCall::new("1", "read", value!({"path": "/memory"}))),
            ContentPart::Opaque {
                kind: "sealed".to_owned(),
                data: "secret".into(),
            },
        ],
    ));
    said.push(Message::tool([
        ToolResult::new("1", value!([1, 2])),
        ToolResult::error("2", "no"),
    ]));
    said.push(Message::user("é".repeat(MAX_PART + 1)));
    let text = transcript(&said, u64::MAX);
    let expected = "[assistant] Look.\n[call of read] {\"path\":\"/memory\"}\n[result] [1,2]\n\
                    [error] \"no\"\n";
    assert!(text.contains(expected), "{text}");
    assert!(!text.contains("secret"), "{text}");
    assert!(text.ends_with("é … (cut; 8002 octets in all)\n"), "{text}");
    assert_eq!(text.matches('é').count(), MAX_PART);
    for most in 0..2_200 {
        let text = transcript(&said, most);
        assert!(
            tokens(text.len() as u64) <= most + 4,
            "{most}: {}",
            text.len()
        );
    }
}
