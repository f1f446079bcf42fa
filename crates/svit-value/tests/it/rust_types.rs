//! Rust types as values, and back.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Debug;
use svit_value::{Bytes, Digest, List, Map, Text, Value, value};

#[derive(Serialize, Deserialize, PartialEq, Debug, Clone)]
enum Shape {
    Unit,
    Newtype(i32),
    Tuple(u8, String),
    Struct { x: f64, y: Option<bool> },
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Everything {
    unit: (),
    letter: char,
    small: u8,
    large: u64,
    float: f32,
    text: String,
    value: Value,
    bytes: Bytes,
    map: Map,
    list: List,
    key: Text,
    digest: Digest,
    shapes: Vec<Shape>,
    by_number: BTreeMap<u16, bool>,
    by_shape: BTreeMap<bool, i8>,
    nested: Option<Option<(i64, [u8; 2])>>,
    boxed: Box<Newtype>,
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Newtype(i64);

fn round<T: Serialize + for<'de> Deserialize<'de> + PartialEq + Debug>(item: &T) -> Value {
    let value = Value::from_serde(item).unwrap();
    assert_eq!(&value.to::<T>().unwrap(), item);
    value
}

#[test]
fn a_type_of_every_kind_comes_back() {
    let all = Everything {
        unit: (),
        letter: '水',
        small: 255,
        large: i64::MAX as u64,
        float: 0.1,
        text: "text".into(),
        value: value!({"b": b"\x01", "deep": [1, 1.0, null]}),
        bytes: Bytes::from(b"octets"),
        map: Map::from_entries([("k", 1)]).unwrap(),
        list: List::from_values([1, 2]).unwrap(),
        key: Text::from("key"),
        digest: Digest::of(b""),
        shapes: vec![
            Shape::Unit,
            Shape::Newtype(-1),
            Shape::Tuple(1, "a".into()),
            Shape::Struct { x: 1.5, y: None },
        ],
        by_number: BTreeMap::from([(7, true)]),
        by_shape: BTreeMap::from([(false, -1)]),
        nested: Some(Some((1, [2, 3]))),
        boxed: Box::new(Newtype(5)),
    };
    let value = round(&all);
    assert_eq!(value.get("by_number"), Some(&value!({"7": true})));
    assert_eq!(
        value.get("shapes"),
        Some(
            &value!(["Unit", {"Newtype": -1}, {"Tuple": [1, "a"]}, {"Struct": {"x": 1.5, "y": null}}])
        )
    );
    // The same through JSON text.
    let json = serde_json::to_string(&all).unwrap();
    assert_eq!(serde_json::from_str::<Everything>(&json).unwrap(), all);
}

/// Data that somebody else chose must not make a record unreadable.
#[test]
fn values_inside_types_stay_as_they_are() {
    #[derive(Serialize, Deserialize, PartialEq, Debug)]
    struct Record {
        payload: Value,
        map: Map,
        all: Vec<Value>,
    }
    let odd = value!({"/": {"bytes": "AA"}});
    let record = Record {
        payload: odd.clone(),
        map: odd.as_map().unwrap().clone(),
        all: vec![
            value!({"/": 1}),
            value!({"/": {"/": {"/": null}}}),
            value!(b"\x00"),
        ],
    };
    let stored = round(&record);
    assert_eq!(stored.get("payload"), Some(&odd));
    assert!(serde_json::to_string(&record).is_err());
    let bytes = value!(b"\x01\x02");
    assert_eq!(
        serde_json::to_string(&bytes).unwrap(),
        r#"{"/":{"bytes":"AQI"}}"#
    );
    assert_eq!(
        serde_json::from_str::<Value>(r#"{"/":{"bytes":"AQI"}}"#).unwrap(),
        bytes
    );
}

#[test]
fn what_would_be_lost_is_an_error() {
    let code = |result: Result<Value, svit_value::ValueError>| result.unwrap_err().code();
    assert_eq!(code(Value::from_serde(&u64::MAX)), "int_out_of_range");
    assert_eq!(code(Value::from_serde(&i128::MIN)), "int_out_of_range");
    assert_eq!(code(Value::from_serde(&f64::NAN)), "not_finite");
    assert_eq!(code(Value::from_serde(&f32::INFINITY)), "not_finite");
    assert_eq!(
        code(Value::from_serde(&BTreeMap::from([((1, 2), 3)]))),
        "serde"
    );
    assert_eq!(
        code(Value::from_serde(&BTreeMap::from([("/", 3)]))),
        "reserved_key"
    );
    assert!(value!(300).to::<u8>().is_err());
    assert!(value!(-1).to::<u64>().is_err());
    assert!(value!(1.5).to::<i64>().is_err());
    assert!(value!([1, 2, 3]).to::<(i64, i64)>().is_err());
    assert!(value!({"Nope": 1}).to::<Shape>().is_err());
    assert!(value!("01").to::<BTreeMap<u8, u8>>().is_err());
    assert!(value!({"01": 1}).to::<BTreeMap<u8, u8>>().is_err());
    assert!(serde_json::from_str::<Value>("18446744073709551615").is_err());
}

/// A type that nests without adding depth: it must end in an error, not in the stack's end.
#[derive(Debug)]
struct Endless;

impl Serialize for Endless {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_some(&Endless)
    }
}

impl<'de> Deserialize<'de> for Endless {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Endless;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("endless")
            }
            fn visit_some<D: serde::Deserializer<'de>>(self, d: D) -> Result<Endless, D::Error> {
                Endless::deserialize(d)
            }
        }
        deserializer.deserialize_option(Visitor)
    }
}

#[test]
fn types_that_nest_without_end_are_refused() {
    assert_eq!(Value::from_serde(&Endless).unwrap_err().code(), "too_deep");
    assert_eq!(value!(1).to::<Endless>().unwrap_err().code(), "too_deep");
}
