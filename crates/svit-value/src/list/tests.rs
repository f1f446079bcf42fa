//! A list edited in any way is the list built at once, node by node.

use super::node::{Body, Node};
use super::{List, Root};
use crate::{Value, value};
use proptest::prelude::*;

fn same_shape(edited: &Node, built: &Node) {
    assert_eq!(edited.sums, built.sums);
    match (&edited.body, &built.body) {
        (Body::Leaf(a), Body::Leaf(b)) => assert!(a.iter().eq(b.iter())),
        (Body::Index(l, a), Body::Index(m, b)) => {
            assert_eq!((l, a.len()), (m, b.len()));
            let pairs = a.iter().flatten().zip(b.iter().flatten());
            pairs.for_each(|(a, b)| same_shape(a, b));
        }
        _ => panic!("a leaf beside an index node"),
    }
}

fn check(list: &List, oracle: &[Value]) {
    let built = List::from_values(oracle.iter().cloned()).unwrap();
    match (&list.root, &built.root) {
        (Root::Flat(a), Root::Flat(b)) => assert!(a.sums == b.sums && a.items == b.items),
        (Root::Tree(a), Root::Tree(b)) => same_shape(a, b),
        _ => panic!("a flat list beside a tree"),
    }
    assert_eq!(list.measure(), built.measure());
    assert_eq!(list.digest(), built.digest());
    assert_eq!(list.len(), oracle.len());
    assert!(list.iter().eq(oracle.iter()));
    assert!(list.iter().rev().eq(oracle.iter().rev()));
}

#[derive(Clone, Debug)]
enum Edit {
    Push(Value),
    Extend(usize),
    Set(usize, Value),
    Remove(usize),
    Truncate(usize),
    Fork,
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let small = || {
        prop_oneof![
            any::<i64>().prop_map(Value::from),
            Just(value!([1, [2]])),
            (0..200usize).prop_map(|n| Value::from("x".repeat(n))),
        ]
    };
    let edit = prop_oneof![
        6 => small().prop_map(Edit::Push),
        1 => (0..90usize).prop_map(Edit::Extend),
        6 => (any::<usize>(), small()).prop_map(|(i, v)| Edit::Set(i, v)),
        1 => any::<usize>().prop_map(Edit::Remove),
        1 => any::<usize>().prop_map(Edit::Truncate),
        1 => Just(Edit::Fork),
    ];
    prop::collection::vec(edit, 0..80)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_edits_give_what_building_at_once_gives(
        start in prop_oneof![0..200usize, 4000..4200usize],
        edits in edits(),
    ) {
        let mut oracle: Vec<Value> = (0..start as i64).map(Value::from).collect();
        let mut list = List::from_values(oracle.iter().cloned()).unwrap();
        let mut forks = vec![];
        for edit in edits {
            let len = oracle.len();
            match edit {
                Edit::Push(value) => {
                    list.push(value.clone()).unwrap();
                    oracle.push(value);
                }
                Edit::Extend(n) => {
                    list.extend((0..n as i64).map(Value::from)).unwrap();
                    oracle.extend((0..n as i64).map(Value::from));
                }
                Edit::Set(i, value) if len > 0 => {
                    let old = list.set(i % len, value.clone()).unwrap();
                    prop_assert_eq!(old, std::mem::replace(&mut oracle[i % len], value));
                }
                Edit::Set(i, value) => {
                    prop_assert_eq!(list.set(i, value).unwrap_err().code(), "index_out_of_range");
                }
                Edit::Remove(i) if len > 0 => {
                    // Near the end, or most of the time would go into moving elements.
                    let i = len - 1 - i % len.min(100);
                    prop_assert_eq!(list.remove(i), Some(oracle.remove(i)));
                }
                Edit::Remove(i) => prop_assert_eq!(list.remove(i), None),
                Edit::Truncate(n) => {
                    let n = len.saturating_sub(n % 150);
                    list.truncate(n);
                    oracle.truncate(n);
                }
                Edit::Fork => {
                    if forks.len() % 2 == 0 {
                        let _ = list.digest();
                    }
                    forks.push((list.clone(), oracle.clone()));
                }
            }
        }
        forks.push((list, oracle));
        for (list, oracle) in &forks {
            check(list, oracle);
        }
    }
}

#[test]
fn pushing_and_truncating_over_every_level_stays_canonical() {
    let mut list = List::new();
    let mut oracle = vec![];
    for i in 0..4200 {
        list.push(i).unwrap();
        oracle.push(Value::from(i));
        if !(200..4090).contains(&i) {
            check(&list, &oracle);
        }
    }
    for len in [
        4199, 4097, 4096, 4095, 4033, 4032, 129, 128, 65, 64, 63, 1, 0,
    ] {
        let mut cut = list.clone();
        cut.truncate(len);
        check(&cut, &oracle[..len]);
    }
    check(&list, &oracle);
}

#[test]
fn the_depth_falls_when_the_deepest_element_goes() {
    for len in [3, 64, 70, 5000] {
        let mut oracle: Vec<Value> = (0..len).map(Value::from).collect();
        let mut list = List::from_values(oracle.iter().cloned()).unwrap();
        for (index, value) in [
            (1, value!([[1]])),
            (2, value!([[2]])),
            (1, value!(1)),
            (2, value!([])),
            (0, value!([[[0]]])),
            (0, value!(0)),
        ] {
            list.set(index, value.clone()).unwrap();
            oracle[index] = value;
            check(&list, &oracle);
        }
    }
}

#[test]
fn ranges_are_clamped_and_walk_from_both_ends() {
    let list = List::from_values(0..300).unwrap();
    let ints = |range| {
        list.range(range)
            .map(|v| v.as_int().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(ints(62..66), [62, 63, 64, 65]);
    assert_eq!(ints(298..1000), [298, 299]);
    assert_eq!(ints(400..500), []);
    #[expect(clippy::reversed_empty_ranges, reason = "must be empty, not a panic")]
    let reversed = ints(5..2);
    assert_eq!(reversed, []);
    let mut both = list.range(60..70);
    assert_eq!(both.len(), 10);
    assert_eq!(both.next_back(), list.get(69));
    assert_eq!(both.next(), list.get(60));
    assert_eq!(both.len(), 8);
    assert!(both.eq((61..69).filter_map(|i| list.get(i))));
}
