//! JSON without loss.

use svit_value::{Bytes, Float, Value, ValueLimits, value};

fn read(json: &str) -> Value {
    Value::from_json(json).unwrap_or_else(|error| panic!("{error}: {json}"))
}

#[test]
fn numbers_are_read_exactly() {
    assert_eq!(read("9223372036854775807"), value!(9223372036854775807));
    assert_eq!(read("-9223372036854775808"), i64::MIN.into());
    assert_eq!(read("9007199254740993"), value!(9_007_199_254_740_993));
    assert_eq!(read("-0"), value!(0));
    assert_eq!(read("-0.0"), value!(0.0));
    assert_eq!(read("1.0"), value!(1.0));
    assert_eq!(read("1e2"), value!(100.0));
    assert_eq!(read("1E+2"), value!(100.0));
    // Parsers that are not careful are one unit in the last place off here.
    for text in [
        "122.416294033786585",
        "5e-324",
        "2.2250738585072011e-308",
        "1.7976931348623157e308",
    ] {
        assert_eq!(read(text).as_float(), Some(text.parse().unwrap()));
    }
    assert_eq!(
        value!([1, 1.0, 1e300, -0.0, 1e16, 0.1]).to_json().unwrap(),
        "[1,1.0,1e300,0.0,1e16,0.1]"
    );
    for bits in [
        0x3ff0_0000_0000_0001u64,
        1,
        0x7fef_ffff_ffff_ffff,
        0x4340_0000_0000_0001,
    ] {
        let float = Float::new(f64::from_bits(bits)).unwrap();
        assert_eq!(read(&float.to_string()), Value::from(float));
    }
}

#[test]
fn what_is_not_lossless_json_is_refused_with_its_place() {
    for (json, code, at) in [
        ("", "json_truncated", 0),
        ("  ", "json_truncated", 2),
        ("nul", "json_truncated", 3),
        ("nulx", "json_unexpected", 3),
        ("tRue", "json_unexpected", 1),
        ("\u{feff}1", "json_unexpected", 0),
        ("NaN", "json_unexpected", 0),
        ("Infinity", "json_unexpected", 0),
        ("+1", "json_unexpected", 0),
        (".5", "json_unexpected", 0),
        ("1.", "json_truncated", 2),
        ("1.x", "json_number", 2),
        ("1e", "json_truncated", 2),
        ("1e+", "json_truncated", 3),
        ("-", "json_truncated", 1),
        ("-x", "json_number", 1),
        ("01", "json_number", 0),
        ("-01", "json_number", 1),
        ("00", "json_number", 0),
        ("1 2", "json_trailing", 2),
        ("1,", "json_trailing", 1),
        ("[1", "json_truncated", 2),
        ("[1,", "json_truncated", 3),
        ("[1,]", "json_unexpected", 3),
        ("[,]", "json_unexpected", 1),
        ("[1 2]", "json_unexpected", 3),
        ("{\"a\":1,}", "json_unexpected", 7),
        ("{\"a\" 1}", "json_unexpected", 5),
        ("{a:1}", "json_unexpected", 1),
        ("{\"a\":1,\"b\":2,\"a\":3}", "json_duplicate_key", 13),
        ("{\"a\":1,\"\\u0061\":3}", "json_duplicate_key", 7),
        ("9223372036854775808", "json_int_out_of_range", 0),
        ("[-9223372036854775809]", "json_int_out_of_range", 1),
        ("123456789012345678901234567890", "json_int_out_of_range", 0),
        ("1e400", "json_float_out_of_range", 0),
        ("-1e400", "json_float_out_of_range", 0),
        ("\"a", "json_truncated", 2),
        ("\"\n\"", "json_escape", 1),
        ("\"\\x\"", "json_escape", 1),
        ("\"\\u12\"", "json_escape", 5),
        ("\"\\ud800\"", "json_escape", 1),
        ("\"\\ud800\\u0041\"", "json_escape", 1),
        ("\"\\udc00\"", "json_escape", 1),
        ("{\"/\":1}", "json_reserved_key", 0),
        ("[{\"/\":{\"bytes\":\"AA==\"}}]", "json_reserved_key", 1),
        ("{\"/\":{\"bytes\":\"A\"}}", "json_reserved_key", 0),
        ("{\"/\":{\"bytes\":\"AB\"}}", "json_reserved_key", 0),
        ("{\"/\":{\"bytes\":\"AA\",\"x\":1}}", "json_reserved_key", 0),
    ] {
        let error = Value::from_json(json).unwrap_err();
        assert_eq!(error.code(), code, "{json}: {error}");
        let svit_value::ValueError::Json { offset, .. } = error else {
            panic!("{json}: {error}");
        };
        assert_eq!(offset, at, "{json}");
    }
}

#[test]
fn texts_are_escaped_and_read_back() {
    let every: String = (0..0x80)
        .map(char::from)
        .chain("é水\u{10151}\u{2028}".chars())
        .collect();
    let value = Value::from(every.as_str());
    let json = value.to_json().unwrap();
    assert_eq!(read(&json), value);
    assert_eq!(serde_json::from_str::<String>(&json).unwrap(), every);
    assert_eq!(
        read(r#""\u0041\ud83d\ude00\/\b\f\n\r\t\\\"""#),
        "A😀/\u{8}\u{c}\n\r\t\\\"".into()
    );
}

#[test]
fn bytes_have_the_dag_json_form_and_no_map_can_be_taken_for_them() {
    for len in 0..20u8 {
        let bytes = Value::from(Bytes::from((0..len).collect::<Vec<_>>()));
        assert_eq!(read(&bytes.to_json().unwrap()), bytes);
    }
    assert_eq!(
        value!(b"\x00\xff").to_json().unwrap(),
        r#"{"/":{"bytes":"AP8"}}"#
    );
    assert_eq!(
        value!({"/": 1}).to_json().unwrap_err().code(),
        "reserved_key"
    );
    assert_eq!(
        value!([{"/": {"bytes": "AP8"}}])
            .to_json()
            .unwrap_err()
            .code(),
        "reserved_key"
    );
    let two = value!({"/": 1, "a": 2});
    assert_eq!(read(&two.to_json().unwrap()), two);
    assert!(serde_json::to_string(&value!({"/": 1})).is_err());
    assert!(serde_json::from_str::<Value>(r#"{"/":1}"#).is_err());
    assert!(serde_json::from_str::<Value>(r#"{"a":1,"a":2}"#).is_err());
}

#[test]
fn limits_hold_for_json() {
    let with = |limits| Value::from_json_with("[1, [\"ab\"]]", &limits);
    let exact = ValueLimits {
        max_depth: 3,
        max_nodes: 4,
        max_text_bytes: 2,
        max_bytes: 11,
    };
    assert_eq!(with(exact).unwrap(), value!([1, ["ab"]]));
    for (limits, code) in [
        (
            ValueLimits {
                max_depth: 2,
                ..exact
            },
            "too_deep",
        ),
        (
            ValueLimits {
                max_nodes: 3,
                ..exact
            },
            "too_many_nodes",
        ),
        (
            ValueLimits {
                max_text_bytes: 1,
                ..exact
            },
            "too_much_text",
        ),
        (
            ValueLimits {
                max_bytes: 10,
                ..exact
            },
            "too_long",
        ),
    ] {
        assert_eq!(with(limits).unwrap_err().code(), code);
    }
}

/// Found by fuzzing: the wrapper of bytes was counted as two levels and two nodes more.
#[test]
fn bytes_are_one_node_at_their_depth_whatever_their_form_in_json() {
    let mut deep = Value::Bytes(vec![1, 2].into());
    while deep.measure().depth < svit_value::MAX_DEPTH {
        deep = value!([deep]);
    }
    let json = deep.to_json().unwrap();
    assert_eq!(Value::from_json(&json), Ok(deep.clone()));
    let exact = ValueLimits {
        max_depth: svit_value::MAX_DEPTH,
        max_nodes: deep.measure().nodes,
        ..ValueLimits::default()
    };
    assert_eq!(Value::from_json_with(&json, &exact), Ok(deep));

    // Next to another key, "/" is a key like any other; alone it must be the whole form.
    for (json, good) in [
        (r#"{ "/" : { "bytes" : "AQI" } }"#, true),
        (r#"{"\/":{"b\u0079tes":"AQI"}}"#, true),
        (r#"{"/":{"bytes":"AQI"},"a":1}"#, true),
        (r#"{"a":1,"/":{"bytes":"AQI"}}"#, true),
        (r#"{"/":1,"a":1}"#, true),
        (r#"{"/":{"bytes":"AQI","a":1}}"#, false),
        (r#"{"/":{"bytes":"AQI="}}"#, false),
        (r#"{"/":{"bytes":7}}"#, false),
        (r#"{"/":{}}"#, false),
        (r#"{"/":"AQI"}"#, false),
        (r#"{"/":{"bytes":"AQI"}"#, false),
        (r#"{"/":{"bytes":"AQI"},}"#, false),
    ] {
        assert_eq!(Value::from_json(json).is_ok(), good, "{json}");
    }
}
