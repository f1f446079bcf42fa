//! Edit sequences against a `BTreeMap` and a `Vec`: contents, order, measures, blocks and digests are
//! those of a container that is built from scratch.

use std::collections::BTreeMap;

use arbitrary::Arbitrary;
use svit_tree::{apply, diff};
use svit_value::{List, Map, Value};

/// A few small scalars, and texts that are blocks of their own.
#[derive(Clone, Copy, Debug, Arbitrary)]
pub enum Leaf {
    /// An integer.
    Int(i16),
    /// A text of so many bytes.
    Text(u8),
    /// A list of so many nulls.
    List(u8),
}

/// One edit of a map and a list.
#[derive(Clone, Copy, Debug, Arbitrary)]
pub enum Edit {
    /// Sets a key.
    Insert(u16, Leaf),
    /// Removes a key.
    Remove(u16),
    /// Sets so many keys in a row: containers grow past one block only this way.
    InsertMany(u16, u8),
    /// Removes so many keys in a row.
    RemoveMany(u16, u8),
    /// Adds an element.
    Push(Leaf),
    /// Adds so many elements.
    PushMany(u8),
    /// Replaces an element.
    Set(u16, Leaf),
    /// Shortens the list.
    Truncate(u16),
    /// Removes an element.
    Drop(u16),
}

/// A sequence of edits.
pub type Input = Vec<Edit>;

fn leaf(leaf: Leaf) -> Value {
    match leaf {
        Leaf::Int(n) => Value::from(i64::from(n)),
        Leaf::Text(n) => Value::from("t".repeat(usize::from(n))),
        Leaf::List(n) => {
            let nulls = (0..n % 8).map(|_| Value::Null);
            List::from_values(nulls).expect("a short list").into()
        }
    }
}

fn key(n: u16) -> String {
    format!("k{}", n % 2_048)
}

/// Applies the edits to both, and compares.
pub fn check(edits: Input) {
    let (mut map, mut list) = (Map::new(), List::new());
    let (mut keys, mut elements) = (BTreeMap::new(), Vec::new());
    for edit in edits.into_iter().take(400) {
        let before = whole(&map, &list);
        step(&mut map, &mut list, &mut keys, &mut elements, edit);
        let after = whole(&map, &list);
        let patch = diff(&before, &after);
        assert_eq!(apply(&before, &patch).as_ref(), Ok(&after));
    }
    let fresh_map = Map::from_entries(keys.clone()).expect("small entries");
    let fresh_list = List::from_values(elements.clone()).expect("small elements");
    assert_eq!(map.measure(), fresh_map.measure());
    assert_eq!(list.measure(), fresh_list.measure());
    let (edited, fresh) = (whole(&map, &list), whole(&fresh_map, &fresh_list));
    assert_eq!(edited.digest(), fresh.digest());
    assert!(edited.blocks().eq(fresh.blocks()));
    assert!(
        map.iter()
            .map(|(k, v)| (k.to_string(), v))
            .eq(keys.iter().map(|(k, v)| (k.clone(), v)))
    );
    assert!(list.iter().eq(elements.iter()));
}

fn whole(map: &Map, list: &List) -> Value {
    let entries = [
        ("map", Value::from(map.clone())),
        ("list", Value::from(list.clone())),
    ];
    Map::from_entries(entries).expect("two entries").into()
}

fn step(
    map: &mut Map,
    list: &mut List,
    keys: &mut BTreeMap<String, Value>,
    elements: &mut Vec<Value>,
    edit: Edit,
) {
    let mut insert = |n: u16, value: Value| {
        let old = map.insert(key(n), value.clone()).expect("a small value");
        assert_eq!(old, keys.insert(key(n), value));
    };
    match edit {
        Edit::Insert(n, value) => insert(n, leaf(value)),
        Edit::InsertMany(n, count) => {
            for n in (0..u16::from(count)).map(|i| n.wrapping_add(i)) {
                insert(n, Value::from(i64::from(n)));
            }
        }
        Edit::Remove(n) => assert_eq!(map.remove(&key(n)), keys.remove(&key(n))),
        Edit::RemoveMany(n, count) => {
            for n in (0..u16::from(count)).map(|i| n.wrapping_add(i)) {
                assert_eq!(map.remove(&key(n)), keys.remove(&key(n)));
            }
        }
        Edit::Push(value) => {
            list.push(leaf(value)).expect("a small value");
            elements.push(leaf(value));
        }
        Edit::PushMany(count) => {
            for n in 0..i64::from(count) {
                list.push(n).expect("a small value");
                elements.push(n.into());
            }
        }
        Edit::Set(n, value) => {
            let set = list.set(usize::from(n), leaf(value));
            match elements.get_mut(usize::from(n)) {
                Some(element) => assert_eq!(set, Ok(std::mem::replace(element, leaf(value)))),
                None => assert!(set.is_err()),
            }
        }
        Edit::Truncate(n) => {
            list.truncate(usize::from(n));
            elements.truncate(usize::from(n));
        }
        Edit::Drop(n) => {
            let n = usize::from(n);
            let expected = (n < elements.len()).then(|| elements.remove(n));
            assert_eq!(list.remove(n), expected);
        }
    }
}
