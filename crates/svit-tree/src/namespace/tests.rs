//! The layout: which values are a tree, and which edits keep one.

use svit_value::{List, value};

use super::*;

fn path(text: &str) -> Path {
    Path::parse(text).unwrap()
}

fn with(name: &str, value: impl Into<Value>) -> Value {
    let mut map = Tree::new().root().as_map().unwrap().clone();
    map.insert(name, value).unwrap();
    Value::Map(map)
}

#[test]
fn an_empty_tree_holds_the_nine_nodes_in_key_order() {
    let tree = Tree::new();
    let names: Vec<Text> = tree.children(&Path::root());
    let expected: Vec<&str> = Node::ALL.iter().map(|node| node.name()).collect();
    assert_eq!(names.iter().map(|n| &**n).collect::<Vec<_>>(), expected);
    assert!(expected.is_sorted());
    for (index, node) in Node::ALL.into_iter().enumerate() {
        assert_eq!(node as usize, index);
        assert!(tree.node(node).is_empty());
    }
    assert_eq!(Tree::from_value(tree.root().clone()).unwrap(), tree);
}

#[test]
fn a_value_of_another_layout_is_refused() {
    for root in [value!(null), value!([]), value!("x"), value!(1)] {
        assert_eq!(Tree::from_value(root).unwrap_err().code(), "wrong_kind");
    }
    assert_eq!(Tree::from_value(value!({})).unwrap_err().code(), "missing");
    for node in Node::ALL {
        for other in [value!(null), value!([]), value!(1)] {
            let refused = Tree::from_value(with(node.name(), other)).unwrap_err();
            assert_eq!(refused.code(), "wrong_kind");
            assert!(
                refused.to_string().contains(&format!("/{}", node.name())),
                "{refused}"
            );
        }
        let mut map = Tree::new().root().as_map().unwrap().clone();
        map.remove(node.name());
        let missing = Tree::from_value(Value::Map(map)).unwrap_err();
        let place = path(&format!("/{}", node.name()));
        assert_eq!(missing, TreeError::Missing { path: place });
    }
    for stray in ["extra", "Memory", "", "memory/x", "zzz"] {
        let refused = Tree::from_value(with(stray, Map::new())).unwrap_err();
        assert_eq!(refused, TreeError::NotANode { name: stray.into() });
    }
}

#[test]
fn an_edit_cannot_change_the_layout() {
    let tree = Tree::new();
    let rows = [
        (Mutation::remove(path("/memory")), "missing"),
        (Mutation::remove(path("/")), "missing"),
        (Mutation::set(path("/memory"), 1), "wrong_kind"),
        (Mutation::set(path("/other"), Map::new()), "not_a_node"),
        (Mutation::set(path("/"), Map::new()), "missing"),
        (Mutation::set(path("/other/x"), 1), "no_parent"),
    ];
    for (edit, code) in rows {
        assert_eq!(
            tree.apply(std::slice::from_ref(&edit)).unwrap_err().code(),
            code,
            "{edit:?}"
        );
    }
    let whole = Mutation::set(path("/"), with("memory", value!({"x": 1})));
    assert_eq!(tree.apply(&[whole]).unwrap().node(Node::Memory).len(), 1);
}

#[test]
fn nodes_follow_edits_and_the_old_tree_stays() {
    let tree = Tree::new();
    let edited = tree
        .apply(&[Mutation::set(path("/lib/a"), value!({"source": "1"}))])
        .unwrap();
    assert_eq!(
        edited.node(Node::Lib),
        edited.root().get("lib").unwrap().as_map().unwrap()
    );
    assert!(tree.node(Node::Lib).is_empty() && tree != edited && tree.digest() != edited.digest());

    let same = tree
        .with(Node::Lib, edited.node(Node::Lib).clone())
        .unwrap();
    assert_eq!((same.digest(), &same), (edited.digest(), &edited));
}

#[test]
fn a_node_too_deep_for_one_more_level_is_refused() {
    let mut deep = Map::new();
    for _ in 1..svit_value::MAX_DEPTH {
        deep = Map::from_entries([("x", deep)]).unwrap();
    }
    assert_eq!(
        Tree::new()
            .with(Node::Memory, deep.clone())
            .unwrap_err()
            .code(),
        "value"
    );
    let Some(Value::Map(shallower)) = deep.get("x") else {
        panic!("no child");
    };
    assert!(Tree::new().with(Node::Memory, shallower.clone()).is_ok());
}

#[test]
fn children_are_keys_in_order_and_indexes_by_number() {
    let list = List::from_values(0..12).unwrap();
    let memory = value!({"l": list, "b": 1, "a~/": 2, "empty": {}});
    let tree = Tree::from_value(with("memory", memory)).unwrap();
    let names = |text: &str| {
        let names = tree.children(&path(text));
        names
            .iter()
            .map(|name| name.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(names("/memory"), ["a~/", "b", "empty", "l"]);
    assert_eq!(names("/memory/l")[9..], ["9", "10", "11"]);
    for nothing in [
        "/memory/b",
        "/memory/empty",
        "/memory/none",
        "/memory/b/c",
        "/none",
    ] {
        assert!(names(nothing).is_empty(), "{nothing}");
    }
}

#[test]
fn a_path_is_in_the_node_of_its_first_segment() {
    let rows = [
        ("/", None),
        ("/memory", Some(Node::Memory)),
        ("/memory/lib", Some(Node::Memory)),
        ("/lib/x/source", Some(Node::Lib)),
        ("/Memory", None),
        ("/memory~1lib", None),
    ];
    for (text, node) in rows {
        assert_eq!(Node::of(&path(text)), node, "{text}");
    }
}
