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

    assert_eq!(
        Stat::of(&tree, &path("/memory/x/l"), Caller::Host)
            .unwrap()
            .entries,
        3
    );
    assert_eq!(
        Stat::of(&tree, &path("/memory/x/s"), Caller::Host)
            .unwrap()
            .entries,
        0
    );
    assert_eq!(Stat::of(&tree, &path("/memory/none"), Caller::Host), None);
    assert_eq!(
        Stat::of(&tree, &Path::root(), Caller::Host)
            .unwrap()
            .entries,
        9
    );
}
