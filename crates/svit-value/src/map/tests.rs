//! The tree of a map edited in any way is the tree of the same map built at once, node by node.

use super::node::{Body, Node, rank};
use super::{Map, Root};
use crate::{Text, Value, value};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Bound;

fn same_shape(edited: &Node, built: &Node) {
    assert_eq!(edited.sums, built.sums);
    assert_eq!(edited.level(), built.level());
    match (&edited.body, &built.body) {
        (Body::Leaf(a), Body::Leaf(b)) => assert!(a.iter().eq(b.iter())),
        (Body::Index(a), Body::Index(b)) => {
            assert_eq!(a.keys, b.keys);
            for (a, b) in a.nodes.iter().zip(&b.nodes) {
                same_shape(a, b);
            }
        }
        _ => panic!("a leaf beside an index node"),
    }
}

/// The map has these entries, and is what they make at once.
fn check(map: &Map, oracle: &BTreeMap<String, Value>) {
    let built = Map::from_entries(oracle.iter().map(|(k, v)| (k.as_str(), v.clone()))).unwrap();
    assert_eq!(map.len(), oracle.len());
    match (&map.root, &built.root) {
        (Root::Flat(a), Root::Flat(b)) => {
            assert_eq!(a.sums, b.sums);
            assert!(a.items == b.items);
        }
        (Root::Tree(a), Root::Tree(b)) => same_shape(a, b),
        _ => panic!("a flat map beside a tree"),
    }
    assert_eq!(map.measure(), built.measure());
    assert_eq!(map.digest(), built.digest());
    let entries = map.iter().map(|(key, value)| (key.as_str(), value));
    assert!(entries.eq(oracle.iter().map(|(key, value)| (key.as_str(), value))));
}

/// Keys of every rank that a few thousand give, high ones more often than by chance.
fn keys() -> Vec<String> {
    let all = (0..40_000).map(|i| format!("k{i}"));
    let mut common = 0;
    all.filter(|key| {
        common += 1;
        rank(&Text::from(key.as_str())) > 1 || common % 50 == 0
    })
    .collect()
}

#[derive(Clone, Debug)]
enum Edit {
    Insert(usize, Value),
    Remove(usize),
    RemoveRange(usize, usize),
    Fork,
}

fn edits(count: usize) -> impl Strategy<Value = Vec<Edit>> {
    let key = || 0..10_000usize;
    let small = prop_oneof![
        any::<i64>().prop_map(Value::from),
        Just(value!([])),
        Just(value!([1, [2]])),
        (0..200usize).prop_map(|n| Value::from("x".repeat(n))),
    ];
    let edit = prop_oneof![
        8 => (key(), small).prop_map(|(k, v)| Edit::Insert(k, v)),
        5 => key().prop_map(Edit::Remove),
        1 => (key(), 1..40usize).prop_map(|(k, n)| Edit::RemoveRange(k, n)),
        1 => Just(Edit::Fork),
    ];
    prop::collection::vec(edit, 0..count)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_edits_give_what_building_at_once_gives(
        start in 0..900usize,
        step in 1..9usize,
        edits in edits(120),
    ) {
        let keys = keys();
        let key = |i: usize| &keys[i % keys.len()];
        let mut oracle: BTreeMap<String, Value> =
            (0..start).map(|i| (key(i * step).clone(), Value::from(1))).collect();
        let mut map = Map::from_entries(oracle.iter().map(|(k, v)| (k.clone(), v.clone()))).unwrap();
        let mut forks = vec![(map.clone(), oracle.clone())];
        for edit in edits {
            match edit {
                Edit::Insert(i, value) => {
                    let old = map.insert(key(i), value.clone()).unwrap();
                    prop_assert_eq!(old, oracle.insert(key(i).clone(), value));
                }
                Edit::Remove(i) => {
                    prop_assert_eq!(map.remove(key(i)), oracle.remove(key(i)));
                }
                // Neighbours in key order, so that whole leaves go.
                Edit::RemoveRange(i, n) => {
                    let from = (Bound::Included(key(i).clone()), Bound::Unbounded);
                    let gone: Vec<_> = oracle.range(from).take(n).map(|e| e.0.clone()).collect();
                    for key in gone {
                        prop_assert_eq!(map.remove(&key), oracle.remove(&key));
                    }
                }
                Edit::Fork => {
                    // Half of the forks have digests, so that stale ones would show.
                    if forks.len() % 2 == 0 {
                        let _ = map.digest();
                    }
                    forks.push((map.clone(), oracle.clone()));
                }
            }
        }
        forks.push((map, oracle));
        for (map, oracle) in &forks {
            check(map, oracle);
        }
    }
}

/// A small deterministic generator, for orders and choices.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

#[test]
fn a_large_map_filled_and_emptied_at_random_stays_canonical() {
    let mut random = Random(7);
    let mut map = Map::new();
    let mut oracle = BTreeMap::new();
    for i in 0..6000 {
        let key = format!("{:x}", random.below(1 << 30));
        map.insert(key.as_str(), i).unwrap();
        oracle.insert(key, Value::from(i));
        if i % 500 == 70 {
            check(&map, &oracle);
        }
    }
    let mut keys: Vec<String> = oracle.keys().cloned().collect();
    for i in (1..keys.len()).rev() {
        keys.swap(i, random.below(i + 1));
    }
    for (i, key) in keys.iter().enumerate() {
        assert_eq!(map.remove(key), oracle.remove(key));
        assert_eq!(map.remove(key), None);
        if i % 500 == 70 || oracle.len() < 70 {
            check(&map, &oracle);
        }
    }
    assert!(map.is_empty());
}

// THREAT[TM-VALUE-5]
#[test]
fn keys_that_start_no_leaf_make_one_large_leaf_that_is_correct() {
    let starts_none = |key: &String| rank(&Text::from(key.as_str())) == 0;
    let chosen = (0..).map(|i| format!("k{i}")).filter(starts_none);
    let chosen: Vec<String> = chosen.take(3_000).collect();
    let mut oracle = BTreeMap::new();
    let mut map = Map::new();
    for (at, key) in chosen.iter().enumerate() {
        let value = Value::Int(at as i64);
        map.insert(key.as_str(), value.clone()).unwrap();
        oracle.insert(key.clone(), value);
        if at % 500 == 499 {
            check(&map, &oracle);
        }
    }
    for key in chosen.iter().step_by(3) {
        assert_eq!(map.remove(key.as_str()), oracle.remove(key));
    }
    check(&map, &oracle);
    let back = Value::decode(
        &Value::from(map.clone()).encode(),
        &crate::ValueLimits::default(),
    );
    assert_eq!(back.unwrap().digest(), Value::from(map).digest());
}

#[test]
fn removing_from_either_end_keeps_the_tree_canonical() {
    let keys: Vec<String> = keys().into_iter().take(400).collect();
    for front in [true, false] {
        let mut oracle: BTreeMap<String, Value> =
            keys.iter().map(|key| (key.clone(), Value::Null)).collect();
        let mut map = Map::from_entries(keys.iter().map(|key| (key, Value::Null))).unwrap();
        while let Some(key) = oracle.keys().next().cloned() {
            let key = if front {
                key
            } else {
                oracle.keys().next_back().cloned().unwrap()
            };
            assert_eq!(
                map.first_key().map(Text::as_str),
                oracle.keys().next().map(String::as_str)
            );
            assert_eq!(
                map.last_key().map(Text::as_str),
                oracle.keys().next_back().map(String::as_str)
            );
            oracle.remove(&key);
            map.remove(&key);
            check(&map, &oracle);
        }
    }
}

#[test]
fn inserting_in_front_keeps_the_tree_canonical() {
    let keys = keys();
    let mut oracle = BTreeMap::new();
    let mut map = Map::new();
    let mut sorted: Vec<_> = keys.iter().take(500).collect();
    sorted.sort();
    for key in sorted.into_iter().rev() {
        oracle.insert(key.clone(), Value::Null);
        map.insert(key, Value::Null).unwrap();
        check(&map, &oracle);
    }
}

#[test]
fn ranges_are_those_of_a_btree_map() {
    let keys: Vec<String> = keys().into_iter().take(700).collect();
    let mut random = Random(3);
    for size in [0, 1, 5, 64, 65, 200, 600] {
        let oracle: BTreeMap<&str, i64> = keys
            .iter()
            .take(size)
            .map(|key| (key.as_str(), 1))
            .collect();
        let map = Map::from_entries(oracle.iter().map(|(k, v)| (*k, *v))).unwrap();
        for _ in 0..300 {
            let mut bound = || {
                let key = keys[random.below(keys.len())].as_str();
                match random.below(5) {
                    0 => Bound::Unbounded,
                    1 | 2 => Bound::Included(key),
                    _ => Bound::Excluded(key),
                }
            };
            let (from, to) = (bound(), bound());
            let after = |key: &str| match from {
                Bound::Unbounded => true,
                Bound::Included(bound) => key >= bound,
                Bound::Excluded(bound) => key > bound,
            };
            let before = |key: &str| match to {
                Bound::Unbounded => true,
                Bound::Included(bound) => key <= bound,
                Bound::Excluded(bound) => key < bound,
            };
            let expected: Vec<&str> = oracle
                .keys()
                .copied()
                .filter(|key| after(key) && before(key))
                .collect();
            let range = map.range(from, to);
            assert_eq!(range.len(), expected.len());
            let found: Vec<&str> = range.map(|(key, _)| key.as_str()).collect();
            assert_eq!(found, expected, "{from:?} {to:?}");
        }
    }
}

#[test]
fn an_edit_of_a_fork_shares_all_but_its_path() {
    let map = Map::from_entries((0..100_000).map(|i| (format!("k{i:06}"), i))).unwrap();
    let mut fork = map.clone();
    assert!(fork.ptr_eq(&map));
    fork.insert("k050000", -1).unwrap();
    let (Root::Tree(a), Root::Tree(b)) = (&map.root, &fork.root) else {
        panic!("not a tree");
    };
    assert!(own_nodes(a, b) <= a.level() as usize + 1);
}

/// How many nodes of `b` are not shared with `a`, which has the same shape.
fn own_nodes(a: &std::sync::Arc<Node>, b: &std::sync::Arc<Node>) -> usize {
    if std::sync::Arc::ptr_eq(a, b) {
        return 0;
    }
    match (&a.body, &b.body) {
        (Body::Index(a), Body::Index(b)) => {
            1 + a
                .nodes
                .iter()
                .zip(&b.nodes)
                .map(|(a, b)| own_nodes(a, b))
                .sum::<usize>()
        }
        _ => 1,
    }
}
