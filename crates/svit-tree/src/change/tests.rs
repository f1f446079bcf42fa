//! What a change says about paths.

use svit_value::value;

use super::*;
use crate::{Op, diff};

fn path(text: &str) -> Path {
    Path::parse(text).unwrap()
}

fn change(before: svit_value::Value, after: svit_value::Value) -> Change {
    Change::new(7, Source::Host, diff(&before, &after), &after)
}

#[test]
fn a_change_touches_what_is_at_above_and_below_it() {
    let before = value!({"memory": {"a": {"b": 1, "c": 2}, "ab": 1}, "lib": {}});
    let after = value!({"memory": {"a": {"b": 9, "c": 2}, "ab": 1}, "lib": {}});
    let change = change(before, after);
    let rows = [
        ("/", true),
        ("/memory", true),
        ("/memory/a", true),
        ("/memory/a/b", true),
        ("/memory/a/b/x/y", true),
        ("/memory/a/c", false),
        ("/memory/ab", false),
        ("/memory/a~1b", false),
        ("/memory/A", false),
        ("/lib", false),
        ("/mem", false),
    ];
    for (text, expected) in rows {
        assert_eq!(change.touches(&path(text)), expected, "{text}");
    }
}

#[test]
fn nothing_changed_touches_nothing_not_even_the_root() {
    let tree = value!({"memory": {}});
    let change = change(tree.clone(), tree);
    assert!(change.paths.is_empty() && !change.touches(&Path::root()));
}

#[test]
fn changed_paths_are_sorted_once_each_with_what_is_there_afterwards() {
    let before = value!({"memory": {"gone": 1, "list": [1, 2, 3], "kept": "x"}});
    let after = value!({"memory": {"list": [9, 2], "kept": "x", "new": true}});
    let change = change(before, after.clone());
    let found: Vec<(String, Option<Digest>)> = change
        .paths
        .iter()
        .map(|changed| (changed.path.to_string(), changed.digest))
        .collect();
    let digest = |text: &str| lookup(&after, &path(text)).map(svit_value::Value::digest);
    assert_eq!(
        found,
        [
            ("/memory/gone".to_owned(), None),
            ("/memory/list".to_owned(), digest("/memory/list")),
            ("/memory/new".to_owned(), digest("/memory/new")),
        ]
    );
    assert_eq!((change.version, change.root), (7, after.digest()));
}

#[test]
fn one_path_that_two_edits_name_is_reported_once() {
    let list = path("/memory/l");
    let edits = [
        Mutation {
            path: list.clone(),
            op: Op::Truncate(1),
        },
        Mutation::set(path("/memory/a"), 1),
        Mutation {
            path: list.clone(),
            op: Op::Append(svit_value::List::new()),
        },
    ];
    assert_eq!(touched(&edits), [path("/memory/a"), list]);
}

#[test]
fn sources_round_trip_and_unknown_ones_are_none() {
    for source in Source::ALL {
        assert_eq!(Source::parse(source.as_str()), Some(source));
    }
    for text in ["", "Host", "host ", "unknown"] {
        assert_eq!(Source::parse(text), None);
    }
}
