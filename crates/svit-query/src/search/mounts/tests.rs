//! Searches through mounts: order, bounds, failures, loops, and what is no text; against the same contents in memory.

use std::cell::RefCell;
use std::sync::Mutex;

use proptest::prelude::*;
use svit_tree::guest::{HostError, Meter};
use svit_tree::lookup;
use svit_tree::mount::{Grant, Locality, MountDescriptor, MountStat};
use svit_value::{Bytes, List, Map, value};

use super::*;
use crate::QueryError;
use crate::search::{
    Bound, Found, MAX_FAILURES, MOUNT_TICKS, Pattern, SearchOptions, search, search_mounted,
};

/// A resource that is a value, some of whose nodes fail, and that says what it was asked.
#[derive(Default)]
struct Fake {
    value: Value,
    broken: Vec<&'static str>,
    asked: Mutex<Vec<String>>,
}

impl Fake {
    fn new(value: Value) -> Self {
        Self {
            value,
            ..Self::default()
        }
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }

    fn at(&self, path: &MountPath) -> Result<Option<&Value>, MountError> {
        let text = path.to_string();
        self.asked.lock().unwrap().push(text.clone());
        if self.broken.contains(&text.as_str()) {
            return Err(MountError::Unavailable {
                path: path.clone(),
                why: "the cable is out".into(),
            });
        }
        Ok(lookup(&self.value, &Path::parse(&text).unwrap()))
    }
}

impl MountProvider for Fake {
    fn descriptor(&self) -> MountDescriptor {
        MountDescriptor {
            kind: "fake".into(),
            source: "a value".into(),
            locality: Locality::Local,
            grant: Grant::Read,
        }
    }

    fn list(&self, path: &MountPath, limit: usize) -> Result<Vec<Text>, MountError> {
        let names: Vec<Text> = match self.at(path)? {
            Some(Value::Map(map)) => map.keys().cloned().collect(),
            _ => Vec::new(),
        };
        if names.len() > limit {
            return Err(MountError::TooLarge {
                path: path.clone(),
                unit: "entries",
                allowed: limit as u64,
                actual: names.len() as u64,
            });
        }
        Ok(names)
    }

    /// Does not keep to the limit, which a search must then.
    fn read(&self, path: &MountPath, _: u64) -> Result<Option<Value>, MountError> {
        Ok(self.at(path)?.cloned())
    }

    fn stat(&self, path: &MountPath) -> Result<Option<MountStat>, MountError> {
        Ok(self.at(path)?.map(|value| MountStat {
            kind: value.kind(),
            entries: value.as_list().map(|list| list.len() as u64),
            bytes: None,
        }))
    }

    fn write(&self, path: &MountPath, _: &Value) -> Result<(), MountError> {
        Err(MountError::Denied { path: path.clone() })
    }

    fn remove(&self, path: &MountPath) -> Result<(), MountError> {
        Err(MountError::Denied { path: path.clone() })
    }
}

const MANY: u64 = 1 << 40;

/// A process with two mounts, `a` and `b`, and other nodes around them.
fn root() -> Value {
    value!({
        "memory": {"x": "x"},
        "mounts": {"a": {"kind": "fake x"}, "b": {"kind": "fake x"}},
        "system": {"x": 1},
    })
}

fn run(
    mounts: &dyn MountSource,
    at: &str,
    options: &SearchOptions,
) -> Result<(Found, u64), QueryError> {
    let meter = Meter::new(MANY);
    let x = Pattern::text("x").unwrap();
    let path = Path::parse(at).unwrap();
    let found = search_mounted(&root(), mounts, &path, &x, options, &meter)?;
    Ok((found, meter.used()))
}

fn hits(found: &Found) -> Vec<String> {
    let hits = found.hits.iter();
    hits.map(|hit| format!("{} {}", hit.path, hit.part.as_str()))
        .collect()
}

fn failures(found: &Found) -> Vec<String> {
    let failures = found.failures.iter();
    failures
        .map(|failure| format!("{} {}", failure.at, failure.why.code))
        .collect()
}

#[test]
fn contents_are_found_where_the_descriptor_is_in_the_order_of_paths() {
    let list = List::from_values((0..11).map(|_| "x")).unwrap();
    let a = Fake::new(
        value!({"sub": {"x": "x", "a": "x"}, "list": list, "bytes": Bytes::from(&b"xx"[..]), "n": 1}),
    );
    let b = Fake::new("one x".into());
    let mounts = AttachedMounts::new().with("b", &b).with("a", &a);
    let (found, _) = run(&mounts, "/", &SearchOptions::default()).unwrap();
    let mut expected = vec!["/memory/x key".to_owned(), "/memory/x text".into()];
    expected.extend((0..11).map(|at| format!("/mounts/a/list/{at} text")));
    expected.extend(
        [
            "/mounts/a/sub/a text",
            "/mounts/a/sub/x key",
            "/mounts/a/sub/x text",
            "/mounts/b text",
            "/system/x key",
        ]
        .map(str::to_owned),
    );
    assert_eq!(hits(&found), expected);
    assert_eq!((found.cut, found.failures), (None, vec![]));
    // Without its mounts, a process is searched as it is committed.
    let x = Pattern::text("x").unwrap();
    let found = search(
        &root(),
        &Path::root(),
        &x,
        &SearchOptions::default(),
        &Meter::new(MANY),
    );
    assert!(hits(&found.unwrap()).contains(&"/mounts/a/kind text".to_owned()));
}

/// A script's host with one mount, `a`, and with no `b`.
struct Script {
    a: Fake,
    meter: Meter,
}

impl Script {
    fn inside(&self, path: &Path) -> Result<MountPath, HostError> {
        match MountPath::split(path) {
            Some((name, inside)) if name.as_str() == "a" => Ok(inside),
            _ => Err(HostError::soft("not_attached", "no such mount is attached")),
        }
    }
}

impl Host for Script {
    fn meter(&self) -> &Meter {
        &self.meter
    }

    fn discover(&self, path: &Path) -> Result<Vec<Text>, HostError> {
        let names = self.a.list(&self.inside(path)?, usize::MAX);
        names.map_err(|error| failed(&error))
    }

    fn read(&self, path: &Path) -> Result<Option<Value>, HostError> {
        let value = self.a.read(&self.inside(path)?, u64::MAX);
        value.map_err(|error| failed(&error))
    }

    fn stat(&self, path: &Path) -> Result<Value, HostError> {
        if path.to_string() == "/mounts/b" {
            return Ok(value!({"kind": "map", "attached": false}));
        }
        let stat = self.a.stat(&self.inside(path)?);
        let stat = stat.map_err(|error| failed(&error))?;
        Ok(stat.map_or(Value::Null, |stat| {
            let kind = Value::from(stat.kind.to_string());
            match stat.entries {
                Some(entries) => value!({"kind": kind, "entries": entries as i64}),
                None => value!({"kind": kind}),
            }
        }))
    }

    fn write(&self, _: &Path, _: Value) -> Result<(), HostError> {
        panic!("a search does not write")
    }

    fn remove(&self, _: &Path) -> Result<bool, HostError> {
        panic!("a search does not remove")
    }

    fn exec(&self, _: &Path, _: Value) -> Result<Value, HostError> {
        panic!("a search runs nothing")
    }

    fn log(&self, _: svit_tree::guest::LogLevel, _: Text, _: Value) -> Result<(), HostError> {
        panic!("a search logs nothing")
    }

    fn send(&self, _: Value) -> Result<(), HostError> {
        panic!("a search sends nothing")
    }

    fn port_call(&self, _: &str, _: Value) -> Result<Value, HostError> {
        panic!("a search calls nothing")
    }
}

#[test]
fn a_guest_searches_what_its_host_shows() {
    let list = List::from_values((0..11).map(|_| "x")).unwrap();
    let value = value!({"list": list, "sub": {"x": "x"}, "n": 1, "broken": "x"});
    let broken = vec!["/broken"];
    let fake = || Fake {
        broken: broken.clone(),
        ..Fake::new(value.clone())
    };
    let (a, script) = (
        fake(),
        Script {
            a: fake(),
            meter: Meter::new(MANY),
        },
    );
    let attached = AttachedMounts::new().with("a", &a);
    let options = SearchOptions::default();
    let (by_host, _) = run(&attached, "/", &options).unwrap();
    let (by_script, _) = run(&HostMounts::new(&script), "/", &options).unwrap();
    assert_eq!(by_script.hits, by_host.hits);
    assert_eq!(
        failures(&by_script),
        [
            "/mounts/a/broken mount_unavailable",
            "/mounts/b not_attached"
        ]
    );
    let found = run(&HostMounts::new(&script), "/mounts/a/none", &options);
    assert_eq!(found.unwrap_err().code(), "missing");
}

#[test]
fn a_search_may_start_in_a_mount() {
    let a = Fake::new(value!({"sub": {"x": "x"}, "other": "x"}));
    let mounts = AttachedMounts::new().with("a", &a);
    let at =
        |path: &str| run(&mounts, path, &SearchOptions::default()).map(|(found, _)| hits(&found));
    assert_eq!(
        at("/mounts/a/sub").unwrap(),
        ["/mounts/a/sub/x key", "/mounts/a/sub/x text"]
    );
    assert_eq!(at("/mounts/a/sub/x").unwrap(), ["/mounts/a/sub/x text"]);
    assert_eq!(at("/mounts/a/no").unwrap_err().code(), "missing");
    assert_eq!(at("/nowhere").unwrap_err().code(), "missing");
    let (found, _) = run(&mounts, "/mounts/b/sub", &SearchOptions::default()).unwrap();
    assert_eq!(failures(&found), ["/mounts/b/sub mount_not_attached"]);
}

#[test]
fn nodes_are_asked_for_one_at_a_time_and_no_more_than_the_bound_allows() {
    let names = (0..50).map(|n| (format!("{n:02}"), Value::from("x")));
    let a = Fake::new(Map::from_entries(names).unwrap().into());
    let mounts = AttachedMounts::new().with("a", &a);
    let options = |max_nodes, max_hits| SearchOptions {
        max_nodes,
        max_hits,
        ..SearchOptions::default()
    };
    let (found, _) = run(&mounts, "/mounts", &options(12, 100)).unwrap();
    // `/mounts`, `a`, and ten of its children, each looked at and then read.
    assert_eq!((found.nodes, found.hits.len()), (12, 10));
    let cut = found.cut.unwrap();
    assert_eq!(
        (cut.bound, cut.at.to_string().as_str()),
        (Bound::Nodes, "/mounts/a/10")
    );
    assert_eq!(a.asked().len(), 2 + 2 * 10);
    let (found, _) = run(&mounts, "/mounts", &options(100, 3)).unwrap();
    let cut = found.cut.unwrap();
    assert_eq!(
        (cut.bound, cut.at.to_string().as_str()),
        (Bound::Hits, "/mounts/a/03")
    );
    assert_eq!(a.asked().len(), 2 + 2 * 4);
}

#[test]
fn a_node_that_fails_is_told_and_the_search_goes_on() {
    let mut a = Fake::new(value!({"a": {"x": "x"}, "b": "x", "c": "x"}));
    a.broken = vec!["/a", "/b"];
    let mounts = AttachedMounts::new().with("a", &a);
    let (found, _) = run(&mounts, "/mounts", &SearchOptions::default()).unwrap();
    assert_eq!(hits(&found), ["/mounts/a/c text"]);
    assert_eq!(
        failures(&found),
        [
            "/mounts/a/a mount_unavailable",
            "/mounts/a/b mount_unavailable",
            "/mounts/b mount_not_attached"
        ]
    );
    assert_eq!(found.failures[0].why.message, "/a: the cable is out");
    assert_eq!((found.nodes, found.cut), (6, None));
}

#[test]
fn of_many_failures_the_first_are_told_and_all_are_counted() {
    let mounts = |path: &Path, _: MountLimits| {
        if path.len() == 2 {
            let names = (0..500).map(|n| Text::from(format!("{n:03}")));
            return Ok(Some(MountNode::Entries(names.collect())));
        }
        Err(HostError::soft("no", "no"))
    };
    let (found, _) = run(&mounts, "/mounts/a", &SearchOptions::default()).unwrap();
    assert_eq!(found.failures.len(), MAX_FAILURES);
    assert_eq!(found.more_failures, 500 - MAX_FAILURES as u64);
    assert_eq!(found.failures[99].at.to_string(), "/mounts/a/099");
}

#[test]
fn a_hard_error_ends_the_search() {
    let mounts = |_: &Path, _: MountLimits| Err(HostError::hard("timeout", "out of time"));
    let error = run(&mounts, "/", &SearchOptions::default()).unwrap_err();
    assert_eq!(
        (error.code(), error.is_hard(), error.to_string().as_str()),
        ("stopped", true, "out of time")
    );
}

#[test]
fn what_is_too_large_is_a_failure_whatever_the_other_side_keeps_to() {
    let names = (0..20).map(|n| (format!("{n}"), Value::Null));
    let a = Fake::new(value!({
        "bytes": Bytes::from(vec![0; 101]),
        "fits": "x".repeat(100),
        "huge": "x".repeat(101),
        "list": List::from_values((0..20).map(Value::from)).unwrap(),
        "wide": Map::from_entries(names).unwrap(),
    }));
    let mounts = AttachedMounts::new().with("a", &a);
    let options = SearchOptions {
        mount_limits: MountLimits {
            max_entries: 19,
            max_bytes: 100,
        },
        ..SearchOptions::default()
    };
    let (found, _) = run(&mounts, "/mounts/a", &options).unwrap();
    assert_eq!(
        failures(&found),
        ["bytes", "huge", "list", "wide"].map(|name| format!("/mounts/a/{name} mount_too_large"))
    );
    assert_eq!(
        found.failures[1].why.message,
        "/huge: 101 bytes; at most 100 are allowed"
    );
    assert_eq!(found.hits.len(), 100);
}

#[test]
fn a_folder_that_contains_itself_ends_where_paths_do() {
    let asked = RefCell::new(0);
    let mounts = |_: &Path, _: MountLimits| {
        *asked.borrow_mut() += 1;
        Ok(Some(MountNode::Entries(vec!["x".into()])))
    };
    let (found, _) = run(&mounts, "/mounts/a", &SearchOptions::default()).unwrap();
    assert_eq!((found.hits.len(), found.nodes, found.unnamed), (62, 63, 1));
    assert_eq!((*asked.borrow(), &found.cut), (63, &None));
    // Two ways in each: 2^62 paths, and the bound on nodes.
    let mounts =
        |_: &Path, _: MountLimits| Ok(Some(MountNode::Entries(vec!["x".into(), "y".into()])));
    let options = SearchOptions {
        max_nodes: 1_000,
        max_hits: 1_000,
        ..SearchOptions::default()
    };
    let (found, ticks) = run(&mounts, "/mounts/a", &options).unwrap();
    assert_eq!(
        (found.nodes, found.cut.unwrap().bound),
        (1_000, Bound::Nodes)
    );
    assert!(ticks < 1_000 * (MOUNT_TICKS + 10));
}

#[test]
fn names_that_are_unsorted_or_no_names_are_put_right() {
    let mounts = |path: &Path, _: MountLimits| {
        Ok(match path.len() {
            2 => Some(MountNode::Entries(
                ["x2", "..", "x1", "", "x2", "gone"].map(Text::from).into(),
            )),
            _ if path.name() == Some("gone") => None,
            _ => Some(MountNode::Value(value!({"x": "x"}))),
        })
    };
    let (found, _) = run(&mounts, "/mounts/a", &SearchOptions::default()).unwrap();
    let expected =
        ["x1", "x2"].map(|name| ["", "/x", "/x"].map(|inside| format!("/mounts/a/{name}{inside}")));
    let paths: Vec<_> = found.hits.iter().map(|hit| hit.path.to_string()).collect();
    assert_eq!(paths, expected.concat());
    assert_eq!(
        (found.unnamed, failures(&found)),
        (2, vec!["/mounts/a/gone mount_missing".to_owned()])
    );
}

#[test]
fn prices_are_pinned() {
    let price = |value: Value| {
        let a = Fake::new(value);
        let mounts = AttachedMounts::new().with("a", &a);
        run(&mounts, "/mounts/a", &SearchOptions::default())
            .unwrap()
            .1
    };
    assert_eq!(price(Value::Null), 1 + MOUNT_TICKS);
    assert_eq!(price("b".repeat(64).into()), 1 + MOUNT_TICKS + 1 + 2);
    assert_eq!(
        price(Bytes::from(vec![0; 640]).into()),
        1 + MOUNT_TICKS + 10
    );
    // A folder with two names, and two nodes with a look at their names.
    assert_eq!(
        price(value!({"a": 1, "b": 2})),
        3 * (1 + MOUNT_TICKS) + 2 + 2
    );
}

fn contents() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => "[xy]{0,4}".prop_map(Value::from),
        1 => Just(Value::Null),
        1 => Just(Value::from(Bytes::from(&b"x"[..]))),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..12).prop_map(|values| List::from_values(
                values
            )
            .unwrap()
            .into()),
            prop::collection::vec(("[xyz.]{0,2}", inner), 0..6)
                .prop_map(|entries| Map::from_entries(entries).unwrap().into()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// A mount answers as if its contents were committed; budgets of ticks stop it exactly.
    #[test]
    fn it_finds_what_the_same_contents_in_memory_have(
        a in contents(), b in contents(), max_nodes in 0u64..60, max_hits in 0usize..20, part in 0.0f64..1.0
    ) {
        let options = SearchOptions { max_nodes, max_hits, ..SearchOptions::default() };
        let (fake_a, fake_b) = (Fake::new(a.clone()), Fake::new(b.clone()));
        let mounts = AttachedMounts::new().with("a", &fake_a).with("b", &fake_b);
        let (found, ticks) = run(&mounts, "/", &options).unwrap();
        let flat = value!({"memory": {"x": "x"}, "mounts": {"a": a, "b": b}, "system": {"x": 1}});
        let x = Pattern::text("x").unwrap();
        let meter = Meter::new(MANY);
        prop_assert_eq!(&found, &search(&flat, &Path::root(), &x, &options, &meter).unwrap());
        prop_assert!(ticks >= meter.used());
        prop_assert_eq!(&run(&mounts, "/", &options).unwrap(), &(found, ticks));
        let short = Meter::new((ticks as f64 * part) as u64);
        let stopped = search_mounted(&root(), &mounts, &Path::root(), &x, &options, &short);
        prop_assert_eq!(stopped.is_err(), short.budget() < ticks);
    }
}
