//! Facts about paths, and who may write where.

use svit_value::{Digest, value};

use super::*;
use crate::Mutation;

fn path(text: &str) -> Path {
    Path::parse(text).unwrap()
}

#[test]
fn only_what_is_below_memory_and_lib_can_be_written() {
    let rows = [
        ("/", Access::Read),
        ("/memory", Access::Read),
        ("/memory/x", Access::ReadWrite),
        ("/memory/x/y/0", Access::ReadWrite),
        ("/lib", Access::Read),
        ("/lib/s", Access::ReadWrite),
        ("/lib/s/source", Access::ReadWrite),
        ("/other", Access::Read),
        ("/other/x", Access::Read),
    ];
    for (text, access) in rows {
        assert_eq!(Access::at(&path(text)), access, "{text}");
    }
    for node in Node::ALL {
        let below = path(&format!("/{}/x", node.name()));
        let expected = if node.is_writable() {
            Access::ReadWrite
        } else {
            Access::Read
        };
        assert_eq!(Access::at(&below), expected);
    }
}

#[test]
fn facts_are_those_of_the_value() {
    let held = value!({"l": [1, 2, 3], "s": "abc"});
    let tree = Tree::new()
        .apply(&[Mutation::set(path("/memory/x"), held.clone())])
        .unwrap();
    let stat = Stat::of(&tree, &path("/memory/x")).unwrap();
    assert_eq!(
        stat,
        Stat {
            kind: Kind::Map,
            access: Access::ReadWrite,
            entries: 2,
            nodes: 6,
            bytes: held.encode().len() as u64,
            digest: held.digest(),
        }
    );
    let shown = stat.to_value();
    assert_eq!(shown.get("kind"), Some(&value!("map")));
    assert_eq!(shown.get("access"), Some(&value!("read_write")));
    let digest = shown.get("digest").and_then(Value::as_str).unwrap();
    assert_eq!(digest.parse::<Digest>().unwrap(), held.digest());

    assert_eq!(Stat::of(&tree, &path("/memory/x/l")).unwrap().entries, 3);
    assert_eq!(Stat::of(&tree, &path("/memory/x/s")).unwrap().entries, 0);
    assert_eq!(Stat::of(&tree, &path("/memory/none")), None);
    assert_eq!(Stat::of(&tree, &Path::root()).unwrap().entries, 9);
}
