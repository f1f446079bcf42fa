//! Facts about paths, and who may write where.

use svit_value::{Digest, value};

use super::*;
use crate::Mutation;

fn path(text: &str) -> Path {
    Path::parse(text).unwrap()
}

#[test]
fn facts_are_those_of_the_value() {
    let held = value!({"l": [1, 2, 3], "s": "abc"});
    let tree = Tree::new()
        .apply(&[Mutation::set(path("/memory/x"), held.clone())])
        .unwrap();
    let stat = Stat::of(&tree, &path("/memory/x"), Caller::Host).unwrap();
    assert_eq!(
        stat,
        Stat {
            kind: Kind::Map,
            access: Access::ReadWrite,
            entries: Some(2),
            nodes: Some(6),
            bytes: Some(held.encode().len() as u64),
            digest: Some(held.digest()),
            mount: None,
        }
    );
    let shown = stat.to_value();
    assert_eq!(shown.get("kind"), Some(&value!("map")));
    assert_eq!(shown.get("access"), Some(&value!("read_write")));
    let digest = shown.get("digest").and_then(Value::as_str).unwrap();
    assert_eq!(digest.parse::<Digest>().unwrap(), held.digest());

    assert_eq!(
        Stat::of(&tree, &path("/memory/x/l"), Caller::Host)
            .unwrap()
            .entries,
        Some(3)
    );
    assert_eq!(
        Stat::of(&tree, &path("/memory/x/s"), Caller::Host)
            .unwrap()
            .entries,
        Some(0)
    );
    assert_eq!(Stat::of(&tree, &path("/memory/none"), Caller::Host), None);
    assert_eq!(
        Stat::of(&tree, &Path::root(), Caller::Host)
            .unwrap()
            .entries,
        Some(9)
    );
}

#[test]
fn of_a_mount_only_what_is_known_is_shown() {
    let descriptor = MountDescriptor {
        kind: "folder".into(),
        source: "the current folder".into(),
        locality: Locality::Local,
        grant: Grant::Read,
    };
    let node = MountStat {
        kind: Kind::Text,
        entries: None,
        bytes: Some(12),
    };
    assert_eq!(
        Stat::of_mount(&descriptor, &node).to_value(),
        value!({
            "kind": "text", "access": "read", "bytes": 12,
            "source": "the current folder", "locality": "local", "attached": true,
        })
    );
    assert_eq!(
        Stat::of_detached(&descriptor).to_value(),
        value!({
            "kind": "map", "access": "read",
            "source": "the current folder", "locality": "local", "attached": false,
        })
    );
    let writable = MountDescriptor {
        grant: Grant::ReadWrite,
        ..descriptor
    };
    assert_eq!(Stat::of_mount(&writable, &node).access, Access::ReadWrite);
}
