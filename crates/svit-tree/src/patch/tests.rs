//! `diff` and `apply` against each other, and the sizes of what `diff` records.

use proptest::prelude::*;
use svit_value::value;

use super::*;

fn path(text: &str) -> Path {
    Path::parse(text).unwrap()
}

fn edit(path: &str, op: Op) -> Mutation {
    Mutation {
        path: self::path(path),
        op,
    }
}

fn shown(edits: &[Mutation]) -> Vec<String> {
    let show = |edit: &Mutation| format!("{} {}", edit.op.name(), edit.path);
    edits.iter().map(show).collect()
}

/// The edits from one value to another, which must lead there.
fn recorded(before: &Value, after: &Value) -> Vec<String> {
    let edits = diff(before, after);
    let reached = apply(before, &edits).unwrap();
    assert_eq!((&reached, reached.digest()), (after, after.digest()));
    shown(&edits)
}

#[test]
fn what_is_recorded_is_what_differs() {
    let rows = [
        // Equal values, whatever led to them.
        (value!({"m": {"a": 1}}), value!({"m": {"a": 1}}), vec![]),
        (value!(1), value!(1), vec![]),
        // One scalar, however small the map around it is.
        (
            value!({"m": {"a": 1}}),
            value!({"m": {"a": 2}}),
            vec!["set /m/a"],
        ),
        (
            value!({"m": {"a": {"b": 1}}}),
            value!({"m": {"a": {"b": 2}}}),
            vec!["set /m/a/b"],
        ),
        (
            value!({"m": {"a": 1}}),
            value!({"m": {}}),
            vec!["remove /m/a"],
        ),
        (value!({"m": {}}), value!({"m": {"a": 1}}), vec!["set /m/a"]),
        (
            value!({"m": {"a": null}}),
            value!({"m": {}}),
            vec!["remove /m/a"],
        ),
        (
            value!({"m": {"a": 1}}),
            value!({"m": {"a": 1.0}}),
            vec!["set /m/a"],
        ),
        // Keys bytewise, indexes by number.
        (
            value!({"m": {"b": 1, "a": 1, "B": 1}}),
            value!({"m": {"b": 2, "a": 2, "B": 2}}),
            vec!["set /m/B", "set /m/a", "set /m/b"],
        ),
        // Another kind of value at a place.
        (
            value!({"m": {"a": {"x": 1}}}),
            value!({"m": {"a": [1]}}),
            vec!["set /m/a"],
        ),
        (
            value!({"m": {"a": []}}),
            value!({"m": {"a": {}}}),
            vec!["set /m/a"],
        ),
        // Lists grow and shrink at their end; a short one is set, which is shorter.
        (
            value!({"m": {"l": ["a long first element"]}}),
            value!({"m": {"l": ["a long first element", 2, 3]}}),
            vec!["append /m/l"],
        ),
        (
            value!({"m": {"l": [1]}}),
            value!({"m": {"l": [1, 2]}}),
            vec!["set /m/l"],
        ),
        // Keys that no path can name: the map around them, whole.
        (
            value!({"m": {"a": {"": 1}}}),
            value!({"m": {"a": {"": 2}}}),
            vec!["set /m/a"],
        ),
        (
            value!({"m": {"..": 1}}),
            value!({"m": {".": 2}}),
            vec!["set /m"],
        ),
        (value!({"": 1}), value!({"": 2}), vec!["set /"]),
        (
            value!({"m": {"a": {"": 1, "b": 1}}}),
            value!({"m": {"a": {"": 1, "b": 2}}}),
            vec!["set /m/a/b"],
        ),
        (
            value!({"m": {"a/b": 1, "~": 1}}),
            value!({"m": {"a/b": 2, "~": 1}}),
            vec!["set /m/a~1b"],
        ),
        // No container at all.
        (value!(1), value!({"m": 1}), vec!["set /"]),
    ];
    for (before, after, edits) in rows {
        assert_eq!(recorded(&before, &after), edits, "{before} to {after}");
    }
}

#[test]
fn one_more_key_in_a_large_map_is_one_set() {
    let entries = (0..10_000).map(|n| (format!("key-{n:05}"), n));
    let large = Map::from_entries(entries.clone()).unwrap();
    // A copy that shares nothing with it.
    let mut copy = Map::from_entries(entries).unwrap();
    copy.insert("key-05000-and-a-half", 1).unwrap();
    let (before, after) = (
        value!({"memory": {"m": large}}),
        value!({"memory": {"m": copy}}),
    );
    assert_eq!(
        recorded(&before, &after),
        ["set /memory/m/key-05000-and-a-half"]
    );
    assert_eq!(
        recorded(&after, &before),
        ["remove /memory/m/key-05000-and-a-half"]
    );
}

#[test]
fn many_small_edits_below_a_subtree_are_one_set_of_it() {
    let of = |n: i64, count: usize| {
        let map = Map::from_entries((0..count).map(|i| (format!("k{i}"), n))).unwrap();
        value!({"memory": {"m": map, "other": 1}})
    };
    assert_eq!(recorded(&of(1, 10), &of(2, 10)), ["set /memory/m"]);
    // The nodes of the layout are never replaced whole for brevity.
    let flat = |n: i64| value!({"memory": {"a": n, "b": n}, "lib": {"x": n}});
    assert_eq!(
        recorded(&flat(1), &flat(2)),
        ["set /lib/x", "set /memory/a", "set /memory/b"]
    );
}

#[test]
fn no_subtree_could_be_recorded_shorter_as_one_set() {
    let text = "x".repeat(100);
    let before = value!({"memory": {"m": {"a": 1, "b": 2, "keep": (text.clone())}}});
    let after = value!({"memory": {"m": {"a": 3, "b": 4, "keep": text}}});
    let edits = diff(&before, &after);
    assert_eq!(shown(&edits), ["set /memory/m/a", "set /memory/m/b"]);
    let length: u64 = edits.iter().map(Mutation::stored_len).sum();
    let whole = Mutation::set(
        path("/memory/m"),
        lookup(&after, &path("/memory/m")).unwrap().clone(),
    );
    assert!(length <= whole.stored_len());
}

#[test]
fn a_list_that_loses_an_element_is_shifted_or_set() {
    let of = |values: Vec<Value>| value!({"memory": {"l": (List::from_values(values).unwrap())}});
    let long = |range: std::ops::Range<i64>| range.map(Value::from).collect::<Vec<_>>();
    // At the end it is short.
    assert_eq!(
        recorded(&of(long(0..100)), &of(long(0..99))),
        ["truncate /memory/l"]
    );
    // At the front everything shifts, and the whole list is shorter than its edits.
    assert_eq!(
        recorded(&of(long(0..100)), &of(long(1..100))),
        ["set /memory/l"]
    );
    // Near the end of long texts only the last ones shift.
    let texts = |range: std::ops::Range<i64>| -> Vec<Value> {
        range.map(|n| Value::from(format!("{n:0100}"))).collect()
    };
    let mut shifted = texts(0..100);
    shifted.remove(98);
    assert_eq!(
        recorded(&of(texts(0..100)), &of(shifted)),
        ["set /memory/l/98", "truncate /memory/l"]
    );
}

#[test]
fn what_lies_deeper_than_a_path_reaches_is_set_from_above() {
    let nest = |levels: usize, leaf: i64| {
        (0..levels).fold(Value::from(leaf), |inner, _| {
            Map::from_entries([("d", inner)]).unwrap().into()
        })
    };
    for levels in [63, 64, 65, 100, 127] {
        let (before, after) = (nest(levels, 1), nest(levels, 2));
        let edits = diff(&before, &after);
        assert_eq!(apply(&before, &edits).unwrap(), after);
        assert_eq!((edits.len(), edits[0].path.len()), (1, levels.min(64)));
    }
    // The same by bytes: two keys of 3,000 bytes are longer than a path may be.
    let key = "k".repeat(3_000);
    let of = |leaf: i64| {
        let inner = Map::from_entries([(key.clone(), leaf)]).unwrap();
        Value::from(Map::from_entries([(key.clone(), inner)]).unwrap())
    };
    let edits = diff(&of(1), &of(2));
    assert_eq!((edits.len(), edits[0].path.len()), (1, 1));
    assert_eq!(apply(&of(1), &edits).unwrap(), of(2));
}

#[test]
fn edits_that_do_not_fit_are_refused() {
    let value = value!({"m": {"a": 1, "l": [1, 2], "t": "x"}});
    let one = List::from_values([1]).unwrap();
    let rows = [
        (Mutation::set(path("/m/none/x"), 1), "no_parent"),
        (Mutation::set(path("/m/a/x"), 1), "wrong_kind"),
        (Mutation::set(path("/m/t/0"), 1), "wrong_kind"),
        (Mutation::set(path("/m/l/2"), 1), "out_of_range"),
        (Mutation::set(path("/m/l/01"), 1), "out_of_range"),
        (Mutation::set(path("/m/l/+1"), 1), "out_of_range"),
        (Mutation::set(path("/m/l/-0"), 1), "out_of_range"),
        (Mutation::set(path("/m/l/x"), 1), "out_of_range"),
        (
            Mutation::set(path("/m/l/99999999999999999999999"), 1),
            "out_of_range",
        ),
        (Mutation::remove(path("/m/none")), "missing"),
        (Mutation::remove(path("/m/none/x")), "no_parent"),
        (Mutation::remove(path("/m/l/2")), "out_of_range"),
        (Mutation::remove(path("/")), "missing"),
        (edit("/m/none", Op::Append(one.clone())), "missing"),
        (edit("/m/a", Op::Append(one.clone())), "wrong_kind"),
        (edit("/m", Op::Append(one)), "wrong_kind"),
        (edit("/m", Op::Truncate(0)), "wrong_kind"),
        (edit("/m/l", Op::Truncate(2)), "out_of_range"),
        (edit("/m/l", Op::Truncate(3)), "out_of_range"),
        (edit("/m/l", Op::Truncate(u64::MAX)), "out_of_range"),
    ];
    for (edit, code) in rows {
        assert_eq!(
            apply(&value, std::slice::from_ref(&edit))
                .unwrap_err()
                .code(),
            code,
            "{edit:?}"
        );
        // One that does not fit spoils those before it.
        let good = Mutation::set(path("/m/a"), 2);
        assert!(apply(&value, &[good, edit]).is_err());
    }
    let Err(TreeError::NoParent { path, parent }) =
        apply(&value, &[Mutation::set(path("/m/none/x/y"), 1)])
    else {
        panic!("a missing parent was made");
    };
    assert_eq!(
        (path.to_string(), parent.to_string()),
        ("/m/none/x/y".into(), "/m/none".into())
    );
}

#[test]
fn edits_that_fit() {
    let value = value!({"l": [1, 2, [3]]});
    let rows = [
        (Mutation::remove(path("/l/0")), value!({"l": [2, [3]]})),
        (
            Mutation::set(path("/l/2/0"), "x"),
            value!({"l": [1, 2, ["x"]]}),
        ),
        (edit("/l", Op::Truncate(0)), value!({"l": []})),
        (
            edit("/l/2", Op::Append(List::from_values([4, 5]).unwrap())),
            value!({"l": [1, 2, [3, 4, 5]]}),
        ),
        (Mutation::set(path("/"), 1), value!(1)),
    ];
    for (edit, expected) in rows {
        assert_eq!(apply(&value, &[edit]).unwrap(), expected);
    }
}

#[test]
fn lookup_reads_one_text_form_of_an_index_only() {
    let value = value!({"l": ["a", "b"], "m": {"0": "c", "01": "d"}});
    for (text, found) in [
        ("/l/0", Some("a")),
        ("/l/1", Some("b")),
        ("/l/2", None),
        ("/l/00", None),
        ("/l/01", None),
        ("/l/+0", None),
        ("/l/ 0", None),
        ("/l/0/x", None),
        ("/m/0", Some("c")),
        ("/m/01", Some("d")),
    ] {
        assert_eq!(
            lookup(&value, &path(text)).and_then(Value::as_str),
            found,
            "{text}"
        );
    }
}

/// Values whose keys paths can and cannot name.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0_i64..4).prop_map(Value::from),
        "[a~/]{0,3}".prop_map(Value::from),
        Just(Value::from("long ".repeat(40))),
    ];
    leaf.prop_recursive(5, 60, 6, |inner| {
        let key = prop_oneof!["[a-c]", Just(String::new()), "[~/.]{1,2}", "[0-3]"];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6)
                .prop_map(|values| List::from_values(values).unwrap().into()),
            prop::collection::btree_map(key, inner, 0..6).prop_map(|entries| Map::from_entries(
                entries
            )
            .unwrap()
            .into()),
        ]
    })
}

/// Two values of which the second is often made from the first.
fn two_values() -> impl Strategy<Value = (Value, Value)> {
    let edited = (
        any_value(),
        prop::collection::vec((any::<prop::sample::Index>(), any_value()), 1..4),
    )
        .prop_map(|(before, edits)| {
            let mut after = before.clone();
            for (place, value) in edits {
                let paths = places(&after);
                let path = place.get(&paths).clone();
                after = apply(&after, &[Mutation::set(path, value)]).unwrap();
            }
            (before, after)
        });
    prop_oneof![(any_value(), any_value()), edited]
}

/// The paths of everything in a value that a path can name.
fn places(value: &Value) -> Vec<Path> {
    let mut found = vec![Path::root()];
    let mut next = 0;
    while let Some(path) = found.get(next).cloned() {
        next += 1;
        match lookup(value, &path) {
            Some(Value::Map(map)) => found.extend(map.keys().filter_map(|key| path.join(key).ok())),
            Some(Value::List(list)) => {
                found
                    .extend((0..list.len()).filter_map(|index| path.join(&index.to_string()).ok()));
            }
            _ => {}
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn applying_the_difference_gives_the_other_value((before, after) in two_values()) {
        let edits = diff(&before, &after);
        let reached = apply(&before, &edits).unwrap();
        prop_assert_eq!(&reached, &after);
        prop_assert_eq!(reached.digest(), after.digest());
        prop_assert_eq!(edits.is_empty(), before == after);
    }

    #[test]
    fn the_difference_survives_storage((before, after) in two_values()) {
        for edit in diff(&before, &after) {
            let bytes = edit.to_value().unwrap().encode();
            let read = Value::decode(&bytes, &svit_value::ValueLimits::default()).unwrap();
            prop_assert_eq!(Mutation::from_value(&read).unwrap(), edit);
        }
    }

    #[test]
    fn no_edit_stands_below_another_and_each_changes_something((before, after) in two_values()) {
        let edits = diff(&before, &after);
        for (index, edit) in edits.iter().enumerate() {
            let own = lookup(&after, &edit.path);
            prop_assert!(lookup(&before, &edit.path) != own, "{:?} changes nothing", edit);
            for other in &edits[index + 1..] {
                let whole = matches!(edit.op, Op::Set(_) | Op::Remove);
                prop_assert!(!(whole && other.path.starts_with(&edit.path)), "{:?} {:?}", edit, other);
            }
        }
    }

    #[test]
    fn below_the_layout_the_edits_of_a_subtree_are_never_longer_than_one_set((before, after) in two_values()) {
        let edits = diff(&before, &after);
        for place in places(&after).iter().filter(|path| path.len() >= LAYOUT) {
            let below = edits.iter().filter(|edit| edit.path.starts_with(place));
            let length: u64 = below.map(Mutation::stored_len).sum();
            let whole = Mutation::set(place.clone(), lookup(&after, place).unwrap().clone());
            prop_assert!(length <= whole.stored_len(), "{}", place);
        }
    }
}
