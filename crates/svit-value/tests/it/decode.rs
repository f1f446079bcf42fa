//! The decoder accepts exactly what the encoder writes.

use crate::values::values;
use ciborium_ll::{Decoder, Header};
use proptest::prelude::*;
use svit_value::{List, Map, Value, ValueError, ValueLimits, value};

fn decode(bytes: &[u8]) -> Result<Value, ValueError> {
    Value::decode(bytes, &ValueLimits::default())
}

/// Every flipped bit is refused, or makes another value with its own canonical bytes.
fn check_flips(value: &Value) {
    let bytes = value.encode();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            if let Ok(other) = decode(&flipped) {
                assert_eq!(other.encode(), flipped);
                assert_ne!(&other, value);
                assert_ne!(other.digest(), value.digest());
            }
        }
    }
}

/// What an independent reader sees, written as text.
fn read_by_ciborium(bytes: &[u8]) -> String {
    let mut decoder = Decoder::from(bytes);
    let mut out = String::new();
    let mut open = vec![1usize];
    while let Some(left) = open.last_mut() {
        if *left == 0 {
            open.pop();
            continue;
        }
        *left -= 1;
        match decoder.pull().unwrap() {
            Header::Positive(n) => out += &format!("{n} "),
            Header::Negative(n) => out += &format!("-1-{n} "),
            Header::Float(f) => out += &format!("{f:?} "),
            Header::Simple(n) => out += &format!("simple{n} "),
            Header::Text(Some(len)) => {
                let mut text = String::new();
                let mut segments = decoder.text(Some(len));
                while let Some(mut segment) = segments.pull().unwrap() {
                    let mut buffer = [0; 64];
                    while let Some(chunk) = segment.pull(&mut buffer).unwrap() {
                        text += chunk;
                    }
                }
                out += &format!("{text:?} ");
            }
            Header::Bytes(Some(len)) => {
                let mut octets = vec![];
                let mut segments = decoder.bytes(Some(len));
                while let Some(mut segment) = segments.pull().unwrap() {
                    let mut buffer = [0; 64];
                    while let Some(chunk) = segment.pull(&mut buffer).unwrap() {
                        octets.extend_from_slice(chunk);
                    }
                }
                out += &format!("{octets:?} ");
            }
            Header::Array(Some(len)) => {
                out += &format!("array{len} ");
                open.push(len);
            }
            Header::Map(Some(len)) => {
                out += &format!("map{len} ");
                open.push(2 * len);
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(decoder.offset(), bytes.len());
    out
}

/// The same text from the value.
fn expected(value: &Value, out: &mut String) {
    match value {
        Value::Null => *out += "simple22 ",
        Value::Bool(bool) => *out += if *bool { "simple21 " } else { "simple20 " },
        Value::Int(int) if *int < 0 => *out += &format!("-1-{} ", !int),
        Value::Int(int) => *out += &format!("{int} "),
        Value::Float(float) => *out += &format!("{:?} ", float.get()),
        Value::Text(text) => *out += &format!("{:?} ", text.as_str()),
        Value::Bytes(bytes) => *out += &format!("{:?} ", bytes.to_vec()),
        Value::List(list) => {
            *out += &format!("array{} ", list.len());
            list.iter().for_each(|value| expected(value, out));
        }
        Value::Map(map) => {
            *out += &format!("map{} ", map.len());
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| key.len());
            for (key, value) in entries {
                *out += &format!("{:?} ", key.as_str());
                expected(value, out);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_flipped_bit_is_refused_or_another_value(value in values()) {
        if value.measure().cbor_len < 400 {
            check_flips(&value);
        }
    }

    #[test]
    fn every_truncation_and_every_extension_is_refused(value in values(), more in any::<u8>()) {
        let mut bytes = value.encode();
        for len in 0..bytes.len().min(300) {
            let error = decode(&bytes[..len]).unwrap_err();
            prop_assert_eq!(error.code(), "cbor_truncated");
        }
        bytes.push(more);
        prop_assert_eq!(
            decode(&bytes).unwrap_err(),
            ValueError::Cbor {
                offset: bytes.len() - 1,
                problem: svit_value::CborProblem::Trailing,
            }
        );
    }

    #[test]
    fn an_independent_reader_reads_the_same(value in values()) {
        let mut text = String::new();
        expected(&value, &mut text);
        prop_assert_eq!(read_by_ciborium(&value.encode()), text);
    }

    #[test]
    fn random_bytes_are_refused_or_canonical(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        if let Ok(value) = decode(&bytes) {
            prop_assert_eq!(value.encode(), bytes);
        }
    }

    /// Random bytes are seldom close to CBOR: these are.
    #[test]
    fn mixed_heads_are_refused_or_canonical(
        heads in prop::collection::vec(
            prop::sample::select(vec![
                0x00u8, 0x17, 0x18, 0x19, 0x20, 0x38, 0x40, 0x41, 0x60, 0x61, 0x62, 0x78, 0x80, 0x81,
                0x82, 0x98, 0xa0, 0xa1, 0xa2, 0xb8, 0xc0, 0xd8, 0xf4, 0xf6, 0xf7, 0xf9, 0xfb, 0xff,
            ]),
            0..12,
        ),
    ) {
        if let Ok(value) = decode(&heads) {
            prop_assert_eq!(value.encode(), heads);
        }
    }
}

#[test]
fn flips_in_values_of_every_kind_and_size() {
    let long = List::from_values((0..70).map(|i| format!("{i}"))).unwrap();
    let wide = Map::from_entries((0..70).map(|i| (format!("k{i}"), i * 9))).unwrap();
    for value in [
        value!([
            null,
            true,
            1,
            -25,
            300,
            70_000,
            5_000_000_000,
            1.5,
            "ab",
            b"ab"
        ]),
        value!({"a": {"b": [], "cc": {}}, "aa": 1.0, "é": "水"}),
        long.into(),
        wide.into(),
    ] {
        check_flips(&value);
    }
}

// THREAT[TM-VALUE-3]
#[test]
fn what_is_not_canonical_is_refused_with_its_place() {
    // (bytes in hex, code, offset)
    let table = [
        ("", "cbor_truncated", 0),
        ("18", "cbor_truncated", 1),
        ("1817", "cbor_not_shortest", 0),
        ("1900ff", "cbor_not_shortest", 0),
        ("1a0000ffff", "cbor_not_shortest", 0),
        ("1b00000000ffffffff", "cbor_not_shortest", 0),
        ("3800", "cbor_not_shortest", 0),
        ("5801aa", "cbor_not_shortest", 0),
        ("780161", "cbor_not_shortest", 0),
        ("980100", "cbor_not_shortest", 0),
        ("b8016100f6", "cbor_not_shortest", 0),
        ("1b8000000000000000", "cbor_int_out_of_range", 0),
        ("1bffffffffffffffff", "cbor_int_out_of_range", 0),
        ("3b8000000000000000", "cbor_int_out_of_range", 0),
        ("1c", "cbor_reserved", 0),
        ("1d", "cbor_reserved", 0),
        ("5e", "cbor_reserved", 0),
        ("fc", "cbor_reserved", 0),
        ("1f", "cbor_indefinite", 0),
        ("5f41aaff", "cbor_indefinite", 0),
        ("7f6161ff", "cbor_indefinite", 0),
        ("9f01ff", "cbor_indefinite", 0),
        ("bf616101ff", "cbor_indefinite", 0),
        ("ff", "cbor_indefinite", 0),
        ("f93c00", "cbor_float_width", 0),
        ("fa3f800000", "cbor_float_width", 0),
        ("fb7ff8000000000000", "cbor_bad_float", 0),
        ("fb7ff0000000000000", "cbor_bad_float", 0),
        ("fbfff0000000000000", "cbor_bad_float", 0),
        ("fb8000000000000000", "cbor_bad_float", 0),
        ("81fb8000000000000000", "cbor_bad_float", 1),
        ("f7", "cbor_simple", 0),
        ("e0", "cbor_simple", 0),
        ("f8ff", "cbor_simple", 0),
        ("f814", "cbor_simple", 0),
        ("c001", "cbor_tag", 0),
        ("d82a4100", "cbor_tag", 0),
        ("81c1fb41d452d9e20000", "cbor_tag", 1),
        ("61ff", "cbor_utf8", 1),
        ("62c080", "cbor_utf8", 1),
        ("63eda080", "cbor_utf8", 1),
        ("6261ff", "cbor_utf8", 2),
        ("a10001", "cbor_key_not_text", 1),
        ("a1410001", "cbor_key_not_text", 1),
        ("a1f601", "cbor_key_not_text", 1),
        ("a26162016161f6", "cbor_key_order", 4),
        ("a262616101616202", "cbor_key_order", 5),
        ("a26161016161f6", "cbor_duplicate_key", 4),
        ("a1", "cbor_truncated", 1),
        ("a16161", "cbor_truncated", 3),
        ("8201", "cbor_truncated", 2),
        ("9bffffffffffffffff", "cbor_truncated", 9),
        ("bb7fffffffffffffff", "cbor_truncated", 9),
        ("5bffffffffffffffff", "cbor_truncated", 9),
        ("7a7fffffff", "cbor_truncated", 5),
        ("0000", "cbor_trailing", 1),
        ("f6ff", "cbor_trailing", 1),
    ];
    for (hex, code, at) in table {
        let bytes: Vec<u8> = (0..hex.len())
            .step_by(2)
            .map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap())
            .collect();
        let error = decode(&bytes).unwrap_err();
        assert_eq!(error.code(), code, "{hex}: {error}");
        let ValueError::Cbor { offset, .. } = error else {
            panic!("{hex}: {error}");
        };
        assert_eq!(offset, at, "{hex}");
    }
}

// THREAT[TM-VALUE-2]
#[test]
fn nested_length_bombs_fail_before_they_take_memory() {
    // Each head claims more elements than the bytes that are left can be.
    let mut bytes = vec![];
    for _ in 0..127 {
        bytes.extend([0x9a, 0x00, 0x10, 0x00, 0x00]);
    }
    bytes.resize(bytes.len() + (1 << 20), 0x00);
    let error = decode(&bytes).unwrap_err();
    assert_eq!(error.code(), "cbor_truncated");
    let mut deep = vec![0x81; 1 << 20];
    deep.push(0x00);
    assert_eq!(decode(&deep).unwrap_err().code(), "too_deep");
    let mut deep = b"\xa1\x61a".repeat(1 << 20);
    deep.push(0x00);
    assert_eq!(decode(&deep).unwrap_err().code(), "too_deep");
}

#[test]
fn limits_are_exact_when_decoding() {
    let value = value!({"ab": [1, "cde", b"f"], "g": null});
    let measure = value.measure();
    let bytes = value.encode();
    let exact = ValueLimits {
        max_depth: measure.depth,
        max_nodes: measure.nodes,
        max_text_bytes: measure.text_bytes,
        max_bytes: measure.cbor_len,
    };
    assert_eq!(Value::decode(&bytes, &exact).unwrap(), value);
    assert_eq!(exact.check(&value), Ok(()));
    for (limits, code) in [
        (
            ValueLimits {
                max_depth: measure.depth - 1,
                ..exact
            },
            "too_deep",
        ),
        (
            ValueLimits {
                max_nodes: measure.nodes - 1,
                ..exact
            },
            "too_many_nodes",
        ),
        (
            ValueLimits {
                max_text_bytes: measure.text_bytes - 1,
                ..exact
            },
            "too_much_text",
        ),
        (
            ValueLimits {
                max_bytes: measure.cbor_len - 1,
                ..exact
            },
            "too_long",
        ),
    ] {
        assert_eq!(Value::decode(&bytes, &limits).unwrap_err().code(), code);
        assert_eq!(limits.check(&value).unwrap_err().code(), code);
    }
}
