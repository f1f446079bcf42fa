//! What is read with writes that are not made yet is what is read once they are.

use std::sync::Mutex;

use proptest::prelude::*;
use svit_tree::mount::Locality;
use svit_tree::{Mutation, apply, lookup};
use svit_value::value;

use super::*;

/// A mount that holds a value.
struct Held(Mutex<Value>);

impl Held {
    fn value(&self) -> Value {
        self.0.lock().unwrap().clone()
    }
}

impl MountProvider for Held {
    fn descriptor(&self) -> MountDescriptor {
        MountDescriptor {
            kind: "held".into(),
            source: "a value".into(),
            locality: Locality::Local,
            grant: Grant::ReadWrite,
        }
    }

    fn list(&self, path: &MountPath, _: usize) -> Result<Vec<Text>, MountError> {
        Ok(match lookup(&self.value(), path.as_path()) {
            Some(Value::Map(map)) => map.keys().cloned().collect(),
            Some(Value::List(list)) => (0..list.len()).map(|n| n.to_string().into()).collect(),
            _ => Vec::new(),
        })
    }

    fn read(&self, path: &MountPath, _: u64) -> Result<Option<Value>, MountError> {
        Ok(lookup(&self.value(), path.as_path()).cloned())
    }

    fn stat(&self, path: &MountPath) -> Result<Option<MountStat>, MountError> {
        Ok(
            lookup(&self.value(), path.as_path()).map(|value| MountStat {
                kind: value.kind(),
                entries: None,
                bytes: None,
            }),
        )
    }

    fn write(&self, path: &MountPath, value: &Value) -> Result<(), MountError> {
        self.edit(path, Mutation::set(path.as_path().clone(), value.clone()))
    }

    fn remove(&self, path: &MountPath) -> Result<(), MountError> {
        self.edit(path, Mutation::remove(path.as_path().clone()))
    }
}

impl Held {
    fn edit(&self, path: &MountPath, edit: Mutation) -> Result<(), MountError> {
        let mut held = self.0.lock().unwrap();
        *held = apply(&held, &[edit]).map_err(|e| MountError::Refused {
            path: path.clone(),
            why: e.to_string(),
        })?;
        Ok(())
    }
}

fn values() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(value!(1)),
        Just(value!("text")),
        Just(value!({})),
        Just(value!([])),
        Just(value!({"a": 1, "b": {"a": 2}})),
        Just(value!([1, {"a": 3}, [4]])),
    ]
}

fn paths() -> impl Strategy<Value = String> {
    let names = prop::sample::select(vec!["a", "b", "0", "1"]);
    prop::collection::vec(names, 0..4).prop_map(|names| {
        let names = names.into_iter().map(|name| format!("/{name}"));
        format!("/mounts/m{}", names.collect::<String>())
    })
}

struct World {
    tree: Tree,
    mounts: Mounts,
    limits: Limits,
}

impl World {
    fn view<'a>(&'a self, writes: &'a [MountWrite]) -> View<'a> {
        View {
            tree: &self.tree,
            mounts: &self.mounts,
            limits: &self.limits,
            writes,
        }
    }
}

proptest! {
    #[test]
    fn buffered_writes_read_as_made_ones(
        start in values(),
        edits in prop::collection::vec((paths(), prop::option::of(values())), 0..8),
        looks in prop::collection::vec(paths(), 1..12),
    ) {
        let held = Arc::new(Held(Mutex::new(start)));
        let mount = Mount::new("m", held.clone()).unwrap();
        let descriptor = mount.descriptor().to_value();
        let described = svit_value::Map::from_entries([("m", descriptor)]).unwrap();
        let tree = Tree::new().with(Node::Mounts, described).unwrap();
        let mut mounts = Mounts::default();
        mounts.attach("m", mount);
        let limits = Limits::default();
        let world = World { tree, mounts, limits };

        // Only writes that the value will take; what becomes of others is known when they are made.
        let mut writes = Vec::new();
        let mut model = held.value();
        for (path, value) in edits {
            let path = Path::parse(&path).unwrap();
            let (_, inside) = MountPath::split(&path).unwrap();
            let inside = inside.as_path().clone();
            let edit = match value.clone() {
                Some(value) => Mutation::set(inside, value),
                None => Mutation::remove(inside),
            };
            if let Ok(after) = apply(&model, &[edit]) {
                model = after;
                let write = world.view(&writes).write(&path, value).unwrap();
                writes.push(write);
            }
        }
        let seen = |writes: &[MountWrite]| -> Vec<_> {
            let look = |path: &String| {
                let path = Path::parse(path).unwrap();
                let view = world.view(writes);
                let kind = view.stat(&path, Caller::Host).unwrap().map(|stat| stat.kind);
                (view.read(&path).unwrap(), view.discover(&path).unwrap(), kind)
            };
            looks.iter().map(look).collect()
        };
        let before = seen(&writes);
        for write in &writes {
            write.mount.apply(&write.inside, write.value.as_ref()).unwrap();
        }
        prop_assert_eq!(held.value(), model);
        prop_assert_eq!(before, seen(&[]));
    }
}
