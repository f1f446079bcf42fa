//! The stored form: lossless, and strict.

use proptest::prelude::*;
use svit_value::value;

use super::*;
use crate::error::ModelError;

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,12}".prop_map(|text| Value::from(text.as_str())),
        prop::num::f64::NORMAL.prop_map(|number| Value::float(number).unwrap()),
        prop::collection::vec(any::<u8>(), 0..8).prop_map(|octets| Value::Bytes(octets.into())),
    ];
    leaf.prop_recursive(3, 24, 4, |inside| {
        prop_oneof![
            prop::collection::vec(inside.clone(), 0..4)
                .prop_map(|items| svit_value::List::from_values(items).unwrap().into()),
            prop::collection::btree_map(".{0,6}", inside, 0..4)
                .prop_map(|entries| svit_value::Map::from_entries(entries).unwrap().into()),
        ]
    })
}

fn part() -> impl Strategy<Value = ContentPart> {
    prop_oneof![
        ".{0,20}".prop_map(ContentPart::Text),
        (".{0,8}", ".{0,8}", json()).prop_map(|(id, name, arguments)| ContentPart::ToolCall(
            ToolCall {
                id,
                name,
                arguments
            }
        )),
        (".{0,8}", json(), any::<bool>()).prop_map(|(call_id, content, is_error)| {
            ContentPart::ToolResult(ToolResult {
                call_id,
                content,
                is_error,
            })
        }),
        (".{0,8}", json()).prop_map(|(kind, data)| ContentPart::Opaque { kind, data }),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    let role = prop_oneof![Just(Role::User), Just(Role::Assistant), Just(Role::Tool)];
    let id = || prop::option::of((0..=i64::MAX as u64).prop_map(MessageId::new));
    (role, prop::collection::vec(part(), 0..5), id(), id()).prop_map(
        |(role, parts, id, in_reply_to)| Message {
            role,
            parts,
            id,
            in_reply_to,
        },
    )
}

proptest! {
    #[test]
    fn a_message_survives_its_stored_form(message in message()) {
        let stored = message.to_value().unwrap();
        prop_assert_eq!(&Message::from_value(&stored).unwrap(), &message);
        // And that form survives the disk.
        let octets = stored.encode();
        let read = Value::decode(&octets, &svit_value::ValueLimits::default()).unwrap();
        prop_assert_eq!(&Message::from_value(&read).unwrap(), &message);
    }
}

#[test]
fn the_stored_form_is_this_one() {
    let message = Message::new(
        Role::Assistant,
        vec![
            ContentPart::Text("Hm.".into()),
            ContentPart::ToolCall(ToolCall::new("c1", "read", value!({"path": "/"}))),
            ContentPart::Opaque {
                kind: "x".into(),
                data: value!([1]),
            },
        ],
    )
    .with_id(MessageId::new(7))
    .with_in_reply_to(MessageId::new(6));
    assert_eq!(
        message.to_value().unwrap(),
        value!({
            "role": "assistant",
            "parts": [
                {"kind": "text", "text": "Hm."},
                {"kind": "tool_call", "id": "c1", "name": "read", "arguments": {"path": "/"}},
                {"kind": "opaque", "of": "x", "data": [1]},
            ],
            "id": 7,
            "in_reply_to": 6,
        })
    );
    let result = Message::tool([ToolResult::error("c1", "no")]);
    assert_eq!(
        result.to_value().unwrap(),
        value!({
            "role": "tool",
            "parts": [{"kind": "tool_result", "call_id": "c1", "content": "no", "is_error": true}],
        })
    );
}

#[test]
fn what_is_not_known_is_refused_with_its_place() {
    let text = || value!({"kind": "text", "text": "x"});
    let cases = [
        (value!(1), "message"),
        (value!({}), "message/role"),
        (value!({"role": "system", "parts": []}), "message/role"),
        (value!({"role": 1, "parts": []}), "message/role"),
        (value!({"role": "user"}), "message/parts"),
        (value!({"role": "user", "parts": {}}), "message/parts"),
        (
            value!({"role": "user", "parts": [], "mood": 1}),
            "message/mood",
        ),
        (
            value!({"role": "user", "parts": [], "id": (-1)}),
            "message/id",
        ),
        (
            value!({"role": "user", "parts": [], "id": "1"}),
            "message/id",
        ),
        (
            value!({"role": "user", "parts": [], "in_reply_to": null}),
            "message/in_reply_to",
        ),
        (
            value!({"role": "user", "parts": [(text()), 1]}),
            "parts/1/kind",
        ),
        (
            value!({"role": "user", "parts": [{"kind": "image"}]}),
            "parts/0/kind",
        ),
        (
            value!({"role": "user", "parts": [{"kind": "text"}]}),
            "parts/0/text",
        ),
        (
            value!({"role": "user", "parts": [{"kind": "text", "text": 1}]}),
            "parts/0/text",
        ),
        (
            value!({"role": "user", "parts": [{"kind": "text", "text": "", "x": 1}]}),
            "parts/0/x",
        ),
        (
            value!({"role": "tool", "parts": [{"kind": "tool_result", "call_id": "", "content": 1}]}),
            "parts/0/is_error",
        ),
        (
            value!({"role": "tool", "parts": [{"kind": "tool_result", "call_id": "", "content": 1, "is_error": 0}]}),
            "parts/0/is_error",
        ),
    ];
    for (value, expected) in cases {
        match Message::from_value(&value) {
            Err(ModelError::InvalidMessage { place, .. }) => {
                assert_eq!(place, expected, "{value:?}")
            }
            other => panic!("{value:?}: {other:?}"),
        }
    }
}

#[test]
fn what_cannot_be_stored_is_an_error() {
    let mut deep = value!(1);
    while let Ok(list) = svit_value::List::from_values([deep.clone()]) {
        deep = list.into();
    }
    let message = Message::tool([ToolResult::new("c", deep)]);
    assert_eq!(message.to_value().unwrap_err().code(), "value");
    let message = Message::user("x").with_id(MessageId::new(u64::MAX));
    assert_eq!(message.to_value().unwrap_err().code(), "value");
}

#[test]
fn ids_are_numbers() {
    assert_eq!("12".parse::<MessageId>().unwrap(), MessageId::new(12));
    assert_eq!(MessageId::new(12).to_string(), "12");
    assert!("x".parse::<MessageId>().is_err());
}
