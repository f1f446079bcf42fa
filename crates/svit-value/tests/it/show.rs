//! What people see of values is short and safe.

use expect_test::expect;
use svit_value::{Bytes, List, Map, Text, Value, value};

#[test]
fn values_print_like_json_and_cut() {
    let value = value!({
        "n": [1, 1.0, 1e300, null, true],
        "t": "line\nbreak \"quoted\" \u{1b}[31m \u{202e}",
        "b": Bytes::from(vec![0xab; 40]),
    });
    expect![[
        r#"{"b": bytes[40] abababababababababababababababababababababababababababababababab…, "n": [1, 1.0, 1e300, null, true], "t": "line\nbreak \"quoted\" \u{1b}[31m \u{202e}"}"#
    ]]
    .assert_eq(&value.to_string());
    assert_eq!(format!("{value:?}"), value.to_string());
    let long = List::from_values(0..1_000_000).unwrap();
    assert!(long.to_string().starts_with("[0, 1, 2, "));
    assert!(long.to_string().ends_with('…'));
    assert_eq!(long.to_string().chars().count(), 201);
    let text = Value::from("水".repeat(1 << 20));
    assert_eq!(format!("{text:?}").chars().count(), 201);
    assert_eq!(
        format!("{:?}", Text::from("y".repeat(1000)))
            .chars()
            .count(),
        201
    );
    let exact = Value::from("y".repeat(198));
    assert_eq!(exact.to_string(), format!("\"{}\"", "y".repeat(198)));
    assert_eq!(format!("{:?}", Map::new()), "{}");
}
