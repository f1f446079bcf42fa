//! Mounts: attaching, reading through them, and writes that wait for their commit.

mod commits;
mod shelf;

use std::sync::Arc;

use futures_lite::future::block_on;
use svit_tree::mount::{Grant, Locality, MountProvider};
use svit_tree::{Access, Source};
use svit_txn::{DurableProcess, Error, LimitKind, Limits, MemoryStore, MountOutcome};
use svit_value::{Kind, Value, value};

use crate::steps::{Steps, builder, script, seen};
pub(crate) use shelf::{Shelf, Trouble};

/// A process with this shelf at `/mounts/box`.
pub(crate) async fn process(shelf: &Arc<Shelf>, limits: Limits) -> DurableProcess {
    let built = builder("svit://local/mounts").limits(limits).build();
    let store = MemoryStore::new();
    let process = store.create(built.unwrap()).await.unwrap();
    process.attach_mount("box", shelf.clone()).await.unwrap();
    process
}

pub(crate) async fn exec(
    process: &DurableProcess,
    source: &str,
) -> Result<svit_txn::Activation, Error> {
    process.write("/lib/row", script(source)).await.unwrap();
    process.exec("/lib/row", value!(null)).await
}

// THREAT[TM-MOUNT-3]
#[test]
fn attaching_commits_a_descriptor_and_what_is_restored_fails_closed() {
    block_on(async {
        let store = Arc::new(MemoryStore::new());
        let built = builder("svit://local/mounts")
            .library("looks", script("read /mounts/box/a"))
            .library("tries", script("write /mounts/box/a 2"));
        let process = store.create(built.build().unwrap()).await.unwrap();
        let shelf = Shelf::usual();
        let change = process.attach_mount("box", shelf.clone()).await.unwrap();
        let change = change.unwrap();
        assert_eq!((change.version, change.source), (1, Source::Host));
        let descriptor = value!({
            "kind": "shelf", "source": "a shelf of the tests", "locality": "local",
            "access": "read_write",
        });
        assert_eq!(
            process.read("/mounts").unwrap(),
            Some(value!({"box": (descriptor.clone())}))
        );
        assert_eq!(process.read("/mounts/box/a").unwrap(), Some(1.into()));
        assert!(
            process
                .attach_mount("box", shelf.clone())
                .await
                .unwrap()
                .is_none()
        );

        drop(process);
        let guests = [Steps::guest()];
        let process = DurableProcess::resume_with(store, "svit://local/mounts", guests);
        let process = process.await.unwrap();
        let before = seen(&process);
        // What stands there describes a mount. It is not the mount.
        assert_eq!(
            process.read("/mounts").unwrap(),
            Some(value!({"box": (descriptor)}))
        );
        let stat = process.stat("/mounts/box").unwrap().unwrap();
        assert_eq!((stat.access, stat.kind), (Access::Read, Kind::Map));
        assert!(!stat.mount.unwrap().attached);
        for path in [
            "/mounts/box",
            "/mounts/box/a",
            "/mounts/box/kind",
            "/mounts/box/none",
        ] {
            assert_eq!(
                process.read(path).unwrap_err().code(),
                "not_attached",
                "{path}"
            );
            assert_eq!(process.discover(path).unwrap_err().code(), "not_attached");
            assert_eq!(
                process.write(path, 1).await.unwrap_err().code(),
                "not_attached"
            );
            assert_eq!(
                process.remove(path).await.unwrap_err().code(),
                "not_attached"
            );
            if path != "/mounts/box" {
                assert_eq!(process.stat(path).unwrap_err().code(), "not_attached");
            }
        }
        for name in ["looks", "tries"] {
            let refused = process.exec(format!("/lib/{name}"), value!(null)).await;
            assert_eq!(refused.unwrap_err().code(), "not_attached");
        }
        assert_eq!(seen(&process), before);

        // The same again is no transition; another grant under the same name is one.
        assert!(
            process
                .attach_mount("box", shelf.clone())
                .await
                .unwrap()
                .is_none()
        );
        assert_eq!(process.read("/mounts/box/a").unwrap(), Some(1.into()));
        let narrow = Arc::new(Shelf::granting(value!({"a": 5}), Grant::Read));
        assert!(process.attach_mount("box", narrow).await.unwrap().is_some());
        assert_eq!(process.read("/mounts/box/a").unwrap(), Some(5.into()));
        let refused = process.exec("/lib/tries", value!(null)).await.unwrap_err();
        assert_eq!(refused.code(), "mount_denied");
        let refused = process.write("/mounts/box/a", 1).await.unwrap_err();
        assert_eq!(refused.code(), "mount_denied");
        assert_eq!(
            refused.to_string(),
            "/mounts/box/a: the mount does not grant writing"
        );

        // A child has the descriptor, and no authority.
        let child = process.fork("svit://local/child").await.unwrap();
        assert_eq!(
            child.read("/mounts/box/a").unwrap_err().code(),
            "not_attached"
        );

        assert!(process.detach_mount("box").await.unwrap().is_some());
        assert!(process.detach_mount("box").await.unwrap().is_none());
        assert_eq!(process.read("/mounts").unwrap(), Some(value!({})));
        assert_eq!(process.read("/mounts/box/a").unwrap(), None);
    });
}

#[test]
fn a_process_in_memory_reads_no_mount_and_a_bad_name_is_none() {
    block_on(async {
        let shelf = Shelf::usual();
        let process = process(&shelf, Limits::default()).await;
        let before = seen(&process);
        for name in ["", "..", ".", "a\0"] {
            let refused = process
                .attach_mount(name, Shelf::usual())
                .await
                .unwrap_err();
            assert_eq!(refused.code(), "bad_path", "{name:?}");
        }
        // A name may hold what stands for something in a path.
        let change = process.attach_mount("a/b~c", Shelf::usual()).await.unwrap();
        assert!(change.is_some());
        assert_eq!(process.read("/mounts/a~1b~0c/a").unwrap(), Some(1.into()));
        process.detach_mount("a/b~c").await.unwrap();
        assert_eq!(seen(&process).root, before.root);

        let snapshot = process.snapshot();
        drop(snapshot);
    });
    let alone = builder("svit://local/alone")
        .library("looks", script("read /mounts/box/a"))
        .library("tries", script("write /mounts/box/a 1"))
        .build()
        .unwrap();
    assert_eq!(alone.read("/mounts/box/a").unwrap(), None);
    assert!(alone.exec("/lib/looks", value!(null)).is_ok());
    assert_eq!(
        alone.exec("/lib/tries", value!(null)).unwrap_err().code(),
        "not_attached"
    );
    assert_eq!(
        alone.write("/mounts/box/a", 1).unwrap_err().code(),
        "not_attached"
    );
    assert_eq!(alone.write("/mounts", 1).unwrap_err().code(), "denied");
}

#[test]
fn a_mount_is_read_one_node_at_a_time_and_by_nobody_who_does_not_ask() {
    let shelf = Shelf::usual();
    block_on(async {
        let process = process(&shelf, Limits::default()).await;
        let root = process.root_digest();
        assert!(shelf.asked().is_empty());
        process.read("/").unwrap();
        process.read("/mounts").unwrap();
        process.stat("/mounts").unwrap();
        assert_eq!(process.discover("/mounts").unwrap(), ["box"]);
        assert!(shelf.asked().is_empty());

        assert_eq!(
            process.discover("/mounts/box").unwrap(),
            ["a", "deep", "list"]
        );
        assert_eq!(shelf.asked(), ["list /"]);
        assert_eq!(
            process.read("/mounts/box/deep/x").unwrap(),
            Some("text".into())
        );
        assert_eq!(shelf.asked(), ["read /deep/x"]);
        let stat = process.stat("/mounts/box/deep/x").unwrap().unwrap();
        assert_eq!(shelf.asked(), ["stat /deep/x"]);
        assert_eq!(
            (stat.kind, stat.access, stat.bytes, stat.digest),
            (Kind::Text, Access::ReadWrite, Some(4), None)
        );
        let mount = stat.mount.unwrap();
        assert_eq!((mount.attached, mount.locality), (true, Locality::Local));
        assert_eq!(&*mount.source, "a shelf of the tests");

        let first = process.discover_page("/mounts/box", None, 2).unwrap();
        assert_eq!(
            (first.names.len(), first.next.as_deref()),
            (2, Some("deep"))
        );
        let last = process
            .discover_page("/mounts/box", first.next.as_deref(), 2)
            .unwrap();
        assert_eq!((last.names.len(), last.next), (1, None));
        let gone = process.discover_page("/mounts/box", Some("b"), 9).unwrap();
        assert_eq!(gone.names, ["deep", "list"]);
        shelf.asked();

        for path in [
            "/mounts/none",
            "/mounts/none/x",
            "/mounts/box/none",
            "/mounts/box/a/b",
        ] {
            assert_eq!(process.read(path).unwrap(), None, "{path}");
            assert_eq!(process.stat(path).unwrap(), None, "{path}");
            assert!(process.discover(path).unwrap().is_empty(), "{path}");
        }
        shelf.asked();
        let activation = exec(
            &process,
            "read /mounts/box/a;discover /mounts/box/deep;stat /mounts/box",
        )
        .await
        .unwrap();
        assert_eq!(shelf.asked(), ["read /a", "list /deep", "stat /"]);
        let loaded = &activation.loaded[0];
        assert_eq!(loaded.path.to_string(), "/mounts/box/a");
        assert_eq!(loaded.digest, Some(value!(1).digest()));

        // It is in no version.
        let past = process
            .read_at(process.version() - 1, "/mounts/box/a")
            .await;
        assert_eq!(past.unwrap_err().code(), "not_attached");
        let described = process.read_at(process.version(), "/mounts").await.unwrap();
        assert!(described.unwrap().get("box").is_some());
        // What is in it reaches no digest.
        process.remove("/lib/row").await.unwrap();
        assert_eq!(process.root_digest(), root);
        process.write("/mounts/box/a", 99).await.unwrap();
        assert_eq!(process.root_digest(), root);
    });
}

#[test]
fn a_script_reads_what_it_has_written_before_anybody_else_does() {
    // What the script does, and what it reads at a path then; and what is there in the end.
    let rows: &[(&str, &str, Value)] = &[
        ("write /mounts/box/a 2", "/mounts/box/a", value!(2)),
        (
            "write /mounts/box/a 2;write /mounts/box/a 3",
            "/mounts/box/a",
            value!(3),
        ),
        ("remove /mounts/box/a", "/mounts/box/a", value!(null)),
        (
            "remove /mounts/box/a;write /mounts/box/a 4",
            "/mounts/box/a",
            value!(4),
        ),
        (
            "write /mounts/box/new {\"k\":[5]}",
            "/mounts/box/new/k/0",
            value!(5),
        ),
        (
            "write /mounts/box/new {\"k\":1};write /mounts/box/new/k 6",
            "/mounts/box/new",
            value!({"k": 6}),
        ),
        (
            "write /mounts/box/deep/y 7",
            "/mounts/box/deep",
            value!({"x": "text", "y": 7}),
        ),
        (
            "remove /mounts/box/deep;write /mounts/box/deep {}",
            "/mounts/box/deep/x",
            value!(null),
        ),
        (
            "remove /mounts/box/list/0",
            "/mounts/box/list",
            value!([2, 3]),
        ),
        ("remove /mounts/box/list/0", "/mounts/box/list/0", value!(2)),
        (
            "write /mounts/box {\"all\":8}",
            "/mounts/box",
            value!({"all": 8}),
        ),
        (
            "write /mounts/box {\"all\":8}",
            "/mounts/box/a",
            value!(null),
        ),
    ];
    for (source, path, expected) in rows {
        let shelf = Shelf::usual();
        block_on(async {
            let process = process(&shelf, Limits::default()).await;
            let source = format!("{source};give {path}");
            let activation = exec(&process, &source).await.unwrap();
            assert_eq!(activation.output, *expected, "{source}");
            assert!(
                activation
                    .mounts
                    .iter()
                    .all(|w| w.outcome == MountOutcome::Made),
                "{source}"
            );
            let now = process.read(*path).unwrap().unwrap_or_default();
            assert_eq!(now, *expected, "{source}: it was as the script saw it");
        });
    }
}

#[test]
fn what_a_script_writes_is_listed_and_described_as_well() {
    let shelf = Shelf::usual();
    block_on(async {
        let process = process(&shelf, Limits::default()).await;
        for (source, path, expected) in [
            (
                "write /mounts/box/b 1;remove /mounts/box/a",
                "/mounts/box",
                value!(["b", "deep", "list"]),
            ),
            (
                "write /mounts/box/new/far/away 1",
                "/mounts/box/new",
                value!(["far"]),
            ),
            (
                "write /mounts/box/new {\"x\":1};write /mounts/box/new/y 1",
                "/mounts/box/new",
                value!(["x", "y"]),
            ),
            (
                "remove /mounts/box/list/1",
                "/mounts/box/list",
                value!(["0", "1"]),
            ),
        ] {
            let source = format!("{source};names {path};runtime-with");
            let failed = exec(&process, &source).await.unwrap_err();
            assert_eq!(failed.to_string(), expected.to_string(), "{source}");
        }
        for (source, path, expected) in [
            ("write /mounts/box/b \"xyz\"", "/mounts/box/b", "text 3"),
            ("remove /mounts/box/a", "/mounts/box/a", "nothing"),
            (
                "write /mounts/box/deep/y 1",
                "/mounts/box/deep",
                "map unknown",
            ),
            (
                "write /mounts/box/new/y 1",
                "/mounts/box/new",
                "map unknown",
            ),
            ("remove /mounts/box/none", "/mounts/box/none", "nothing"),
        ] {
            let source = format!("{source};facts {path};runtime-with");
            let failed = exec(&process, &source).await.unwrap_err();
            assert_eq!(failed.to_string(), value!(expected).to_string(), "{source}");
        }
        assert_eq!(shelf.held(), Shelf::usual().held());
    });
}

fn limited(kind: LimitKind, chosen: i64) -> Limits {
    let mut rows = Limits::default().to_map();
    rows.insert(kind.name(), chosen).unwrap();
    Limits::from_map(&rows).unwrap()
}

#[test]
fn listings_and_writes_are_bounded_at_their_edges() {
    block_on(async {
        for (entries, fits) in [(4, true), (5, true), (6, false)] {
            let names = (0..entries).map(|n| (format!("n{n}"), 1));
            let shelf = Shelf::of(svit_value::Map::from_entries(names).unwrap().into());
            let process = process(&shelf, limited(LimitKind::MountEntries, 5)).await;
            let listed = process.discover("/mounts/box");
            assert_eq!(listed.is_ok(), fits, "{entries}");
            let ran = exec(&process, "discover /mounts/box").await;
            assert_eq!(ran.is_ok(), fits, "{entries}");
            if !fits {
                assert_eq!(listed.unwrap_err().code(), "max_mount_entries");
                let stopped = ran.unwrap_err();
                assert_eq!(stopped.code(), "max_mount_entries");
                assert!(stopped.to_string().contains("/mounts/box"), "{stopped}");
            }
            // What the script itself adds counts.
            let added = exec(&process, "write /mounts/box/z 1;discover /mounts/box").await;
            assert_eq!(added.is_ok(), entries < 5, "{entries}");
        }
        for (writes, fits) in [(2, true), (3, true), (4, false)] {
            for unit in [
                "write /mounts/box/a 1;",
                "exec writes;",
                "write /mounts/box/a 1;try fails;",
            ] {
                let shelf = Shelf::usual();
                let process = process(&shelf, limited(LimitKind::MountWrites, 3)).await;
                let inner = script("write /mounts/box/n 1");
                process.write("/lib/writes", inner).await.unwrap();
                // What was taken back does not count any more.
                let fails = script("write /mounts/box/n 1;runtime");
                process.write("/lib/fails", fails).await.unwrap();
                let before = shelf.held();
                let ran = exec(&process, &unit.repeat(writes)).await;
                // After three, there is no room for the nested one even for the moment.
                let fits = fits && !(unit.contains("fails") && writes == 3);
                assert_eq!(ran.is_ok(), fits, "{unit} {writes}");
                if let Err(error) = ran {
                    assert_eq!(error.code(), "max_mount_writes");
                    assert_eq!(shelf.held(), before);
                }
            }
        }
        // No script goes on after it.
        let shelf = Shelf::usual();
        let process = process(&shelf, limited(LimitKind::MountWrites, 1)).await;
        let twice = script("write /mounts/box/a 2;write /mounts/box/a 3");
        process.write("/lib/twice", twice).await.unwrap();
        let ran = exec(&process, "swallow twice;return 1").await.unwrap_err();
        assert_eq!(ran.code(), "max_mount_writes");
        assert_eq!(shelf.held(), Shelf::usual().held());
    });
}

/// Each removal of a numbered node may have moved the elements of a list, and each such list may have
/// been moved itself. Looking at all of them for each of them would take 2^28 looks here.
#[test]
fn removals_above_each_other_cost_no_more_than_their_number() {
    block_on(async {
        let shelf = Shelf::usual();
        let process = process(&shelf, Limits::default()).await;
        let at = |depth: usize| format!("/mounts/box{}", "/0".repeat(depth));
        let mut steps = vec![format!("write {} 1", at(29))];
        steps.extend((1..29).rev().map(|depth| format!("remove {}", at(depth))));
        steps.push(format!("read {}", at(29)));
        let ran = exec(&process, &steps.join(";")).await.unwrap();
        assert_eq!(ran.output, Value::Null);
    });
}

#[test]
fn what_is_read_or_written_is_within_the_limits_of_values() {
    block_on(async {
        let long = |len: usize| Value::from("x".repeat(len));
        for (len, fits) in [(599, true), (600, true), (601, false)] {
            let shelf = Shelf::of(value!({"t": (long(len))}));
            let process = process(&shelf, limited(LimitKind::TextBytes, 600)).await;
            assert_eq!(process.read("/mounts/box/t").is_ok(), fits, "{len}");
            let ran = exec(&process, "read /mounts/box/t;return 1").await;
            assert_eq!(ran.is_ok(), fits, "{len}");
            let written = process.write("/mounts/box/w", long(len)).await;
            assert_eq!(written.is_ok(), fits, "{len}");
            if !fits {
                // The mount says so before it reads; a script can go on with something else.
                assert_eq!(ran.unwrap_err().code(), "mount_too_large");
                assert_eq!(written.unwrap_err().code(), "max_text_bytes");
            }
        }
        let deep = |levels: usize| Value::from_json(&("[".repeat(levels) + &"]".repeat(levels)));
        for (levels, fits) in [(8, true), (9, true), (10, false)] {
            let shelf = Shelf::of(value!({"d": (deep(levels).unwrap())}));
            let process = process(&shelf, limited(LimitKind::ValueDepth, 9)).await;
            let read = process.read("/mounts/box/d");
            assert_eq!(read.is_ok(), fits, "{levels}");
            if let Err(error) = read {
                assert_eq!(error.code(), "max_value_depth");
            }
        }
    });
}

#[test]
fn a_mount_that_refuses_or_panics_is_a_failure_of_that_call() {
    let shelf = Shelf::of(value!({"panic": 1, "a": 1}));
    block_on(async {
        let process = process(&shelf, Limits::default()).await;
        let failed = process.read("/mounts/box/panic").unwrap_err();
        assert_eq!(failed.code(), "mount_unavailable");
        assert_eq!(
            failed.to_string(),
            "/mounts/box/panic: the mount failed inside"
        );
        let failed = exec(&process, "read /mounts/box/panic").await.unwrap_err();
        assert_eq!(failed.code(), "mount_unavailable");
        // Known to be refused before anything is committed.
        let before = seen(&process);
        let refused = process.write("/mounts/box/a", true).await.unwrap_err();
        assert_eq!(refused.code(), "mount_refused");
        assert_eq!(seen(&process), before);
        let refused = exec(&process, "add /memory/count 1;write /mounts/box/a true").await;
        assert_eq!(refused.unwrap_err().code(), "mount_refused");
        assert_eq!(process.read("/memory/count").unwrap(), Some(6.into()));

        struct NoDescriptor;
        impl MountProvider for NoDescriptor {
            fn descriptor(&self) -> svit_tree::mount::MountDescriptor {
                panic!("a mount panics, as told")
            }
            fn list(
                &self,
                _: &svit_tree::mount::MountPath,
                _: usize,
            ) -> Result<Vec<svit_value::Text>, svit_tree::mount::MountError> {
                Ok(Vec::new())
            }
            fn read(
                &self,
                _: &svit_tree::mount::MountPath,
                _: u64,
            ) -> Result<Option<Value>, svit_tree::mount::MountError> {
                Ok(None)
            }
            fn stat(
                &self,
                _: &svit_tree::mount::MountPath,
            ) -> Result<Option<svit_tree::mount::MountStat>, svit_tree::mount::MountError>
            {
                Ok(None)
            }
            fn write(
                &self,
                _: &svit_tree::mount::MountPath,
                _: &Value,
            ) -> Result<(), svit_tree::mount::MountError> {
                Ok(())
            }
            fn remove(
                &self,
                _: &svit_tree::mount::MountPath,
            ) -> Result<(), svit_tree::mount::MountError> {
                Ok(())
            }
        }
        let refused = process
            .attach_mount("none", Arc::new(NoDescriptor))
            .await
            .unwrap_err();
        assert_eq!(refused.code(), "mount_unavailable");
    });
}
