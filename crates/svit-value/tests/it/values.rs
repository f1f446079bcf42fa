//! Random values, and what must hold for all of them.

use proptest::prelude::*;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use svit_value::{Bytes, Kind, List, Map, Text, Value, ValueLimits, value};

/// Texts around every size at which something changes, some with letters that need care.
pub(crate) fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[a-c]{0,4}",
        2 => ".{0,8}",
        2 => prop::sample::select(vec![21usize, 22, 23, 24, 125, 126, 127, 128, 129, 255, 256, 300])
            .prop_map(|n| "x".repeat(n)),
        1 => Just("/".to_owned()),
        1 => Just("bytes".to_owned()),
        1 => Just("a\0".to_owned()),
        1 => Just("\u{7f}\u{80}\u{ffff}\u{10000}".to_owned()),
    ]
}

pub(crate) fn scalars() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-300..300i64).prop_map(Value::from),
        any::<f64>().prop_filter_map("finite", |f| Value::float(f).ok()),
        prop::sample::select(vec![0.0, 1.0, -1.5, 1e16, 1e300, 5e-324, 0.1])
            .prop_map(|f| Value::float(f).unwrap()),
        texts().prop_map(Value::from),
        prop::collection::vec(any::<u8>(), 0..200).prop_map(|b| Value::from(Bytes::from(b))),
    ]
}

pub(crate) fn values() -> impl Strategy<Value = Value> {
    scalars().prop_recursive(5, 120, 12, |inner| {
        prop_oneof![
            2 => prop::collection::vec(inner.clone(), 0..12)
                .prop_map(|v| Value::from(List::from_values(v).unwrap())),
            2 => prop::collection::vec((texts(), inner.clone()), 0..12)
                .prop_map(|e| Value::from(Map::from_entries(e).unwrap())),
            // Long containers, with one element that is not like the others.
            1 => (60..200usize, inner.clone()).prop_map(|(n, odd)| {
                let mut list = List::from_values((0..n as i64).map(Value::from)).unwrap();
                list.set(n / 2, odd).unwrap();
                Value::from(list)
            }),
            1 => (60..300usize, inner).prop_map(|(n, odd)| {
                let mut map = Map::from_entries((0..n).map(|i| (format!("k{i}"), i as i64))).unwrap();
                map.insert("k7", odd).unwrap();
                Value::from(map)
            }),
        ]
    })
}

fn hash(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The same value, built from its parts, sharing nothing.
fn rebuilt(value: &Value) -> Value {
    match value {
        Value::List(list) => List::from_values(list.iter().map(rebuilt)).unwrap().into(),
        Value::Map(map) => {
            let entries = map
                .iter()
                .map(|(key, value)| (key.as_str(), rebuilt(value)));
            Map::from_entries(entries).unwrap().into()
        }
        Value::Text(text) => Value::from(text.as_str()),
        Value::Bytes(bytes) => Value::from(Bytes::from(bytes.to_vec())),
        scalar => scalar.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_form_of_a_value_leads_back_to_it(value in values()) {
        let limits = ValueLimits::default();
        let bytes = value.encode();
        prop_assert_eq!(bytes.len() as u64, value.measure().cbor_len);
        prop_assert_eq!(&Value::decode(&bytes, &limits).unwrap(), &value);
        let again = rebuilt(&value);
        prop_assert_eq!(&again, &value);
        prop_assert_eq!(again.digest(), value.digest());
        prop_assert_eq!(again.block(), value.block());
        prop_assert_eq!(again.measure(), value.measure());
        prop_assert_eq!(hash(&again), hash(&value));
        if let Ok(json) = value.to_json() {
            prop_assert_eq!(&Value::from_json(&json).unwrap(), &value);
            let through_serde: Value = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(&through_serde, &value);
            // serde_json writes exponents in another way.
            let written = serde_json::to_string(&value).unwrap();
            prop_assert_eq!(&Value::from_json(&written).unwrap(), &value);
        }
        prop_assert_eq!(&Value::from_serde(&value).unwrap(), &value);
        prop_assert_eq!(&value.to::<Value>().unwrap(), &value);
        prop_assert!(value.to_string().chars().count() <= 201);
    }

    #[test]
    fn two_values_are_equal_exactly_when_their_digests_and_encodings_are(
        a in values(),
        b in values(),
    ) {
        let equal = a.encode() == b.encode();
        prop_assert_eq!(a == b, equal);
        prop_assert_eq!(a.digest() == b.digest(), equal);
        prop_assert_eq!(a == b, equal);
    }

    #[test]
    fn texts_order_as_strings_do(a in texts(), b in texts()) {
        let (x, y) = (Text::from(a.as_str()), Text::from(b.as_str()));
        prop_assert_eq!(x.cmp(&y), a.cmp(&b));
        prop_assert_eq!(x == y, a == b);
        prop_assert_eq!(x.as_str(), a.as_str());
        prop_assert_eq!(x.len(), a.len());
    }
}

#[test]
fn integers_and_floats_are_different_values() {
    let (int, float) = (value!(1), value!(1.0));
    assert_ne!(int, float);
    assert_ne!(int.digest(), float.digest());
    assert_eq!((int.kind(), float.kind()), (Kind::Int, Kind::Float));
    assert_eq!(float.as_int(), None);
}

#[test]
fn negative_zero_is_zero_and_what_is_not_finite_is_refused() {
    assert_eq!(Value::float(-0.0).unwrap(), value!(0.0));
    assert_eq!(value!(-0.0).encode(), value!(0.0).encode());
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(Value::float(bad).unwrap_err().code(), "not_finite");
        assert_eq!(Value::try_from(bad).unwrap_err().code(), "not_finite");
    }
}

#[test]
fn the_macro_takes_literals_expressions_and_nesting() {
    let name = String::from("ada");
    let count: u32 = 7;
    let some: Option<&str> = None;
    let made = value!({
        "null": null,
        "literals": [true, false, -1, 1.5, "text", 'c', b"\x00", 3_000_000_000],
        "expressions": [count, count as i64 + 1, some, -i64::from(count), name.as_str(), {"a": [null]}],
        (format!("{name}-key")): name.clone(),
        "moved": name,
        "trailing": [1, 2,],
    });
    assert_eq!(
        made.to_json().unwrap(),
        r#"{"ada-key":"ada","expressions":[7,8,null,-7,"ada",{"a":[null]}],"literals":[true,false,-1,1.5,"text","c",{"/":{"bytes":"AA"}},3000000000],"moved":"ada","null":null,"trailing":[1,2]}"#
    );
    assert_eq!(value!({"a": 1, "a": 2}), value!({"a": 2}));
    let n = 5i64;
    assert_eq!(
        value!({"a": -1, "b": -1.5, "c": -n, "d": -1 + n}),
        value!({"a": -1, "b": -1.5, "c": -5, "d": 4})
    );
    assert_eq!(
        (value!(-1), value!(-n), value!(-9223372036854775808)),
        ((-1).into(), (-5).into(), i64::MIN.into())
    );
    assert_eq!(value!([]), List::new().into());
    assert_eq!(value!({}), Map::new().into());
    assert_eq!(value!(null), Value::default());
    assert_eq!(value!([[1, 2].len() as i64, value!(3)]), value!([2, 3]));
}

#[test]
fn a_clone_shares_and_an_edit_of_it_leaves_the_original() {
    let mut map = Map::from_entries((0..1000).map(|i| (format!("k{i}"), i))).unwrap();
    let (before, digest) = (map.clone(), map.digest());
    assert!(map.ptr_eq(&before));
    map.insert("k5", "new").unwrap();
    map.remove("k6");
    assert!(!map.ptr_eq(&before));
    assert_eq!(before.digest(), digest);
    assert_eq!(before.get("k5"), Some(&Value::from(5)));
    assert_eq!(before.len(), 1000);
}

#[test]
fn values_can_be_sent_and_shared_between_threads() {
    fn check<T: Send + Sync + 'static>() {}
    check::<Value>();
    check::<Map>();
    check::<svit_value::Blocks>();
    let map = Map::from_entries((0..5000).map(|i| (format!("k{i}"), i))).unwrap();
    let digests: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| map.digest())).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert!(digests.iter().all(|digest| *digest == map.digest()));
}

#[test]
fn a_writer_that_fails_is_reported_and_a_large_value_is_written_in_pieces() {
    struct Writer {
        pieces: Vec<usize>,
        room: usize,
    }
    impl std::io::Write for Writer {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if self.pieces.iter().sum::<usize>() + bytes.len() > self.room {
                return Err(std::io::ErrorKind::StorageFull.into());
            }
            self.pieces.push(bytes.len());
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut map = Map::from_entries((0..50_000).map(|i| (format!("k{i}"), i))).unwrap();
    map.insert("list", List::from_values(0..50_000).unwrap())
        .unwrap();
    let value = Value::from(map);
    let mut writer = Writer {
        pieces: vec![],
        room: usize::MAX,
    };
    value.encode_to(&mut writer).unwrap();
    assert_eq!(
        writer.pieces.iter().sum::<usize>() as u64,
        value.measure().cbor_len
    );
    assert!(writer.pieces.len() > 5 && writer.pieces.iter().all(|piece| *piece < 70_000));
    let mut writer = Writer {
        pieces: vec![],
        room: 200_000,
    };
    let error = value.encode_to(&mut writer).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
}
