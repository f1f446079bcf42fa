//! Tests of what people see.

use svit::{Bytes, Value, value};

use super::{date, time};

#[test]
fn texts_are_shown_as_they_are_and_the_rest_as_indented_json() {
    assert_eq!(
        super::value(&value!("(define (main) 1)\n")),
        "(define (main) 1)\n\n"
    );
    assert_eq!(super::value(&value!([])), "[]\n");
    assert_eq!(
        super::value(&value!({"a \"b\"": [1, {"c": null}], "d": {}, "e": "two\nlines"})),
        "{\n  \"a \\\"b\\\"\": [\n    1,\n    {\n      \"c\": null\n    }\n  ],\n  \"d\": {},\n  \"e\": \"two\\nlines\"\n}\n"
    );
    assert_eq!(super::value(&value!({"/": 1})), "{\n  \"/\": 1\n}\n");
    let bytes = Value::from(Bytes::from(&b"hi"[..]));
    assert_eq!(super::value(&bytes), "{\"/\":{\"bytes\":\"aGk\"}}\n");
}

#[test]
fn the_deepest_value_can_be_shown() {
    let deep = (1..svit_max_depth()).fold(value!(1), |inner, _| value!([inner]));
    assert!(super::value(&deep).len() > 60_000);
}

/// As deep as values can be.
fn svit_max_depth() -> u32 {
    let mut deep = value!(1);
    let mut depth = 1;
    while let Ok(list) = svit::List::from_values([deep.clone()]) {
        deep = list.into();
        depth += 1;
    }
    depth
}

#[test]
fn times_are_utc() {
    assert_eq!(time(0), "1970-01-01 00:00:00Z");
    assert_eq!(time(951_827_696_999), "2000-02-29 12:34:56Z");
    assert_eq!(time(1_796_067_124_000), "2026-11-30 19:32:04Z");
    assert_eq!(time(253_402_300_799_000), "9999-12-31 23:59:59Z");
    assert!(time(u64::MAX).ends_with('Z'));
}

#[test]
fn dates_go_through_every_day_of_four_centuries() {
    let mut last = date(0);
    for day in 1..=146_097 {
        let next = date(day);
        assert!(next > last && next.2 <= 31 && next.1 <= 12, "{next:?}");
        last = next;
    }
    assert_eq!(last, (2370, 1, 1));
}
