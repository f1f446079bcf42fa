//! Diffs name exactly what differs, and new blocks are exactly what is missing.

use crate::values::{scalars, values};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use svit_value::{Digest, List, Map, Value};

fn check_maps(before: &Map, after: &Map) -> usize {
    let keys: BTreeSet<&str> = before
        .keys()
        .chain(after.keys())
        .map(|k| k.as_str())
        .collect();
    let expected: Vec<_> = keys
        .into_iter()
        .map(|key| (key, before.get(key), after.get(key)))
        .filter(|(_, before, after)| before != after)
        .collect();
    let found: Vec<_> = before
        .diff(after)
        .map(|change| (change.key.as_str(), change.before, change.after))
        .collect();
    assert_eq!(found, expected);
    found.len()
}

fn check_lists(before: &List, after: &List) -> usize {
    let expected: Vec<_> = (0..before.len().max(after.len()))
        .map(|index| (index, before.get(index), after.get(index)))
        .filter(|(_, before, after)| before != after)
        .collect();
    let found: Vec<_> = before
        .diff(after)
        .map(|change| (change.index, change.before, change.after))
        .collect();
    assert_eq!(found, expected);
    found.len()
}

fn digests(value: &Value) -> BTreeSet<Digest> {
    value.blocks().map(|(digest, _)| digest).collect()
}

/// What a store that holds `older` lacks of `newer`, found by looking at all of both.
fn lacking(newer: &Value, older: &Value) -> BTreeSet<Digest> {
    digests(newer)
        .difference(&digests(older))
        .copied()
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn maps_differ_where_their_entries_do(
        start in 0..700usize,
        edits in prop::collection::vec((0..900usize, prop::option::of(scalars())), 0..60),
        hashed in any::<bool>(),
    ) {
        let before = Map::from_entries((0..start).map(|i| (format!("k{i}"), i as i64))).unwrap();
        if hashed {
            let _ = before.digest();
        }
        let mut after = before.clone();
        for (key, value) in edits {
            let key = format!("k{key}");
            match value {
                Some(value) => drop(after.insert(key, value).unwrap()),
                None => drop(after.remove(&key)),
            }
        }
        check_maps(&before, &after);
        check_maps(&after, &before);
        let (older, newer) = (Value::from(before), Value::from(after));
        let found: BTreeSet<_> = newer.new_blocks(&older).map(|(digest, _)| digest).collect();
        // Values have no blocks of their own here unless they are long, and those may repeat.
        prop_assert!(found.is_superset(&lacking(&newer, &older)));
        prop_assert!(found.is_subset(&digests(&newer)));
    }

    #[test]
    fn new_blocks_of_maps_of_short_values_are_exactly_what_is_missing(
        start in 0..1500usize,
        step in 1..5usize,
        edits in prop::collection::vec((0..3000usize, prop::option::of(0..9i64)), 1..40),
    ) {
        let older = Map::from_entries((0..start).map(|i| (format!("k{}", i * step), 0))).unwrap();
        let mut newer = older.clone();
        for (key, value) in edits {
            let key = format!("k{key}");
            match value {
                Some(value) => drop(newer.insert(key, value).unwrap()),
                None => drop(newer.remove(&key)),
            }
        }
        let (older, newer) = (Value::from(older), Value::from(newer));
        let found: BTreeSet<_> = newer.new_blocks(&older).map(|(digest, _)| digest).collect();
        prop_assert_eq!(found, lacking(&newer, &older));
        let found: BTreeSet<_> = older.new_blocks(&newer).map(|(digest, _)| digest).collect();
        prop_assert_eq!(found, lacking(&older, &newer));
    }

    #[test]
    fn lists_differ_where_their_elements_do(
        lens in (0..300usize, prop_oneof![0..300usize, 4090..4100usize]),
        sets in prop::collection::vec((any::<usize>(), scalars()), 0..20),
        hashed in any::<bool>(),
    ) {
        let before = List::from_values((0..lens.0 as i64).map(Value::from)).unwrap();
        if hashed {
            let _ = before.digest();
        }
        let mut after = before.clone();
        after.truncate(lens.1);
        for i in after.len()..lens.1 {
            after.push(i as i64).unwrap();
        }
        for (i, value) in sets {
            if !after.is_empty() {
                after.set(i % after.len(), value).unwrap();
            }
        }
        check_lists(&before, &after);
        check_lists(&after, &before);
        let (older, newer) = (Value::from(before), Value::from(after));
        let found: BTreeSet<_> = newer.new_blocks(&older).map(|(digest, _)| digest).collect();
        prop_assert!(found.is_superset(&lacking(&newer, &older)));
        prop_assert!(found.is_subset(&digests(&newer)));
    }

    /// A store that has the older blocks and gets the new ones has all of the newer value.
    #[test]
    fn older_blocks_and_new_blocks_are_the_newer_value(older in values(), newer in values()) {
        let mut store: BTreeMap<_, _> = older.blocks().collect();
        store.extend(newer.new_blocks(&older));
        let limits = svit_value::ValueLimits::default();
        let mut source = |digest| store.get(&digest).cloned();
        prop_assert_eq!(Value::from_blocks(newer.digest(), &mut source, &limits).unwrap(), newer);
    }
}

#[test]
fn maps_built_apart_differ_only_where_their_entries_do() {
    let entries = || (0..5000).map(|i| (format!("k{i}"), i));
    let a = Map::from_entries(entries()).unwrap();
    let b = Map::from_entries(entries().filter(|(_, i)| i % 1000 != 3)).unwrap();
    assert_eq!(check_maps(&a, &b), 5);
    let _ = (a.digest(), b.digest());
    assert_eq!(check_maps(&a, &b), 5);
    assert_eq!(check_maps(&a, &Map::new()), 5000);
}

#[test]
fn a_deep_change_needs_only_the_blocks_on_its_path() {
    let inner = |n: i64| Map::from_entries((0..500).map(|i| (format!("i{i}"), i + n))).unwrap();
    let mut outer = Map::from_entries((0..500).map(|i| (format!("o{i}"), inner(i)))).unwrap();
    let older = Value::from(outer.clone());
    let mut changed = inner(77);
    changed.insert("i250", "changed").unwrap();
    outer.insert("o77", changed).unwrap();
    let newer = Value::from(outer);
    let found: BTreeSet<_> = newer.new_blocks(&older).map(|(digest, _)| digest).collect();
    assert_eq!(found, lacking(&newer, &older));
    assert!(found.len() < 12, "{}", found.len());
    assert_eq!(newer.new_blocks(&newer.clone()).count(), 0);
}
