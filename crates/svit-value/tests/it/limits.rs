//! Nothing nests or grows past its bound, by whatever way it came to be.

use svit_value::{Limit, List, MAX_DEPTH, Map, Value, ValueError, ValueLimits, value};

/// Lists and maps in turn, `depth` deep.
fn nested(depth: u32) -> Value {
    let mut value = Value::from(1);
    for level in 1..depth {
        value = if level % 2 == 0 {
            List::from_values([value]).unwrap().into()
        } else {
            Map::from_entries([("k", value)]).unwrap().into()
        };
    }
    assert_eq!(value.measure().depth, depth);
    value
}

#[test]
fn no_container_takes_a_child_that_is_too_deep() {
    let deepest = nested(MAX_DEPTH);
    let expected = ValueError::LimitExceeded {
        limit: Limit::Depth,
        allowed: MAX_DEPTH.into(),
        actual: u64::from(MAX_DEPTH) + 1,
    };
    assert_eq!(List::from_values([deepest.clone()]).unwrap_err(), expected);
    assert_eq!(
        Map::from_entries([("k", deepest.clone())]).unwrap_err(),
        expected
    );
    for len in [0, 3, 64, 65, 5000] {
        let mut list = List::from_values(0..len).unwrap();
        let mut map = Map::from_entries((0..len).map(|i| (format!("k{i}"), i))).unwrap();
        let (digest_of_list, digest_of_map) = (list.digest(), map.digest());
        assert_eq!(list.push(deepest.clone()).unwrap_err(), expected);
        assert_eq!(
            list.extend([Value::Null, deepest.clone()]).unwrap_err(),
            expected
        );
        assert_eq!(map.insert("k1", deepest.clone()).unwrap_err(), expected);
        assert_eq!(map.insert("new", deepest.clone()).unwrap_err(), expected);
        if len > 0 {
            assert_eq!(list.set(0, deepest.clone()).unwrap_err(), expected);
        }
        assert_eq!((list.len() as i64, list.digest()), (len, digest_of_list));
        assert_eq!((map.len() as i64, map.digest()), (len, digest_of_map));
        list.push(nested(MAX_DEPTH - 1)).unwrap();
        map.insert("new", nested(MAX_DEPTH - 1)).unwrap();
        assert_eq!(list.measure().depth, MAX_DEPTH);
        assert_eq!(map.measure().depth, MAX_DEPTH);
    }
}

/// Well below the 2 MiB of a thread of the standard library, in a build that is not optimized.
fn on_small_stack(work: fn(Value)) {
    let thread = std::thread::Builder::new().stack_size(5 << 18);
    let thread = thread.spawn(move || work(nested(MAX_DEPTH)));
    thread.unwrap().join().unwrap();
}

// THREAT[TM-VALUE-1]
#[test]
fn the_deepest_value_works_everywhere_on_a_small_stack() {
    on_small_stack(drop);
    on_small_stack(|value| assert_eq!(value, nested(MAX_DEPTH)));
    on_small_stack(|value| assert_eq!(value.digest(), nested(MAX_DEPTH).digest()));
    on_small_stack(|value| {
        let bytes = value.encode();
        let again = Value::decode(&bytes, &ValueLimits::default()).unwrap();
        assert_eq!(again, value);
    });
    on_small_stack(|value| {
        let json = value.to_json().unwrap();
        assert_eq!(Value::from_json(&json).unwrap(), value);
    });
    on_small_stack(|value| assert_eq!(value.to::<Value>().unwrap(), value));
    on_small_stack(|value| assert_eq!(Value::from_serde(&value).unwrap(), value));
    on_small_stack(|value| {
        let blocks: std::collections::BTreeMap<_, _> = value.blocks().collect();
        let mut source = |digest| blocks.get(&digest).cloned();
        let again = Value::from_blocks(value.digest(), &mut source, &ValueLimits::default());
        assert_eq!(again.unwrap(), value);
    });
    on_small_stack(|value| assert!(value.new_blocks(&nested(MAX_DEPTH - 1)).count() > 0));
    on_small_stack(|value| assert!(!format!("{value} {value:?}").is_empty()));
}

#[test]
fn deep_input_is_refused_in_every_form() {
    let deep = MAX_DEPTH as usize;
    let json = format!("{}1{}", "[".repeat(deep), "]".repeat(deep));
    assert_eq!(Value::from_json(&json).unwrap_err().code(), "too_deep");
    let allowed = format!("{}1{}", "[".repeat(deep - 1), "]".repeat(deep - 1));
    assert_eq!(
        Value::from_json(&allowed).unwrap().measure().depth,
        MAX_DEPTH
    );
    let mut bytes = vec![0x81; deep];
    bytes.push(0x01);
    let limits = ValueLimits {
        max_depth: u32::MAX,
        ..ValueLimits::default()
    };
    assert_eq!(
        Value::decode(&bytes, &limits).unwrap_err().code(),
        "too_deep"
    );
    assert!(Value::decode(&bytes[1..], &limits).is_ok());
    assert_eq!(
        Value::from_json(&"[".repeat(1 << 20)).unwrap_err().code(),
        "too_deep"
    );
}

#[test]
fn one_value_shared_over_and_over_stays_cheap_and_bounded() {
    // Sixty-four times the size at each level, all of it shared.
    let mut value = value!(["x", 1]);
    let mut levels = 0;
    let error = loop {
        match List::from_values(vec![value.clone(); 64]) {
            Ok(list) => value = list.into(),
            Err(error) => break error,
        }
        levels += 1;
    };
    assert_eq!(error.code(), "too_many_nodes");
    assert!((8..11).contains(&levels), "{levels}");
    // A second one shares nothing with it: comparing and hashing must not walk all of it.
    let mut again = value!(["x", 1]);
    for _ in 0..levels {
        again = List::from_values(vec![again.clone(); 64]).unwrap().into();
    }
    assert_eq!(again, value);
    assert_eq!(again.digest(), value.digest());
    assert_eq!(value.blocks().count(), levels);
    assert!(value.to_string().len() < 1000);
    assert_eq!(
        ValueLimits::default().check(&again).unwrap_err().code(),
        "too_many_nodes"
    );
}
