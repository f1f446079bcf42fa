//! The stored form of an edit: there and back, its length, and every way in which it can be wrong.

use proptest::prelude::*;
use svit_value::value;

use super::*;

fn path(text: &str) -> Path {
    Path::parse(text).unwrap()
}

fn op(path: &str, op: Op) -> Mutation {
    Mutation {
        path: self::path(path),
        op,
    }
}

fn list(len: i64) -> List {
    List::from_values(0..len).unwrap()
}

#[test]
fn stored_forms_are_these() {
    let rows = [
        (
            Mutation::set(path("/memory/a~1b"), value!({"x": [1]})),
            value!({"op": "set", "path": "/memory/a~1b", "value": {"x": [1]}}),
        ),
        (
            Mutation::set(path("/"), Value::Null),
            value!({"op": "set", "path": "/", "value": null}),
        ),
        (
            Mutation::remove(path("/memory/x")),
            value!({"op": "remove", "path": "/memory/x"}),
        ),
        (
            op("/memory/l", Op::Append(list(2))),
            value!({"op": "append", "path": "/memory/l", "values": [0, 1]}),
        ),
        (
            op("/memory/l", Op::Truncate(3)),
            value!({"length": 3, "op": "truncate", "path": "/memory/l"}),
        ),
    ];
    for (edit, stored) in rows {
        assert_eq!(edit.to_value().unwrap(), stored);
        assert_eq!(Mutation::from_value(&stored).unwrap(), edit);
    }
}

#[test]
fn every_other_form_is_refused() {
    let rows = [
        value!(null),
        value!([]),
        value!({}),
        value!({"op": "set", "path": "/memory/x"}),
        value!({"op": "set", "value": 1}),
        value!({"path": "/memory/x", "value": 1}),
        value!({"op": 1, "path": "/memory/x", "value": 1}),
        value!({"op": "set", "path": 1, "value": 1}),
        value!({"op": "set", "path": "memory", "value": 1}),
        value!({"op": "set", "path": "", "value": 1}),
        value!({"op": "set", "path": "/memory/x", "value": 1, "why": "x"}),
        value!({"op": "set", "path": "/memory/x", "values": [1]}),
        value!({"op": "SET", "path": "/memory/x", "value": 1}),
        value!({"op": "move", "path": "/memory/x", "value": 1}),
        value!({"op": "remove", "path": "/memory/x", "value": 1}),
        value!({"op": "append", "path": "/memory/x", "values": 1}),
        value!({"op": "append", "path": "/memory/x", "value": [1]}),
        value!({"op": "truncate", "path": "/memory/x", "length": (-1)}),
        value!({"op": "truncate", "path": "/memory/x", "length": 1.0}),
        value!({"op": "truncate", "path": "/memory/x", "length": "1"}),
    ];
    for stored in rows {
        let refused = Mutation::from_value(&stored).unwrap_err();
        assert!(
            matches!(refused.code(), "bad_mutation" | "bad_path"),
            "{stored}: {refused}"
        );
    }
    let long = value!({"op": "x".repeat(10_000), "path": "/"});
    assert!(Mutation::from_value(&long).unwrap_err().to_string().len() < 300);
}

#[test]
fn a_value_as_deep_as_values_may_be_cannot_be_stored() {
    let nest = |levels: u32| {
        (1..levels).fold(value!([]), |inner, _| {
            Value::List(List::from_values([inner]).unwrap())
        })
    };
    let deep = Mutation::set(path("/memory/x"), nest(svit_value::MAX_DEPTH));
    assert_eq!(deep.to_value().unwrap_err().code(), "value");
    let fits = Mutation::set(path("/memory/x"), nest(svit_value::MAX_DEPTH - 1));
    assert_eq!(
        Mutation::from_value(&fits.to_value().unwrap()).unwrap(),
        fits
    );
}

#[test]
fn the_stored_length_is_exact_at_every_width_of_a_number() {
    let lengths = [
        0,
        23,
        24,
        255,
        256,
        65_535,
        65_536,
        u64::from(u32::MAX),
        1 << 32,
        1 << 62,
    ];
    for length in lengths {
        let edit = op("/memory/l", Op::Truncate(length));
        let stored = edit.to_value().unwrap();
        assert_eq!(edit.stored_len(), stored.measure().cbor_len, "{length}");
        assert_eq!(Mutation::from_value(&stored).unwrap(), edit);
    }
}

proptest! {
    #[test]
    fn the_stored_length_is_that_of_the_stored_form(
        segments in prop::collection::vec("[a~/]{1,90}", 0..4),
        text in ".{0,300}",
        len in 0_i64..40,
        sort in 0..4,
    ) {
        let path = segments.iter().try_fold(Path::root(), |path, segment| path.join(segment)).unwrap();
        let op = match sort {
            0 => Op::Set(Value::from(text)),
            1 => Op::Remove,
            2 => Op::Append(list(len)),
            _ => Op::Truncate(len as u64),
        };
        let edit = Mutation { path, op };
        let stored = edit.to_value().unwrap();
        prop_assert_eq!(edit.stored_len(), stored.encode().len() as u64);
        prop_assert_eq!(Mutation::from_value(&stored).unwrap(), edit);
    }
}
