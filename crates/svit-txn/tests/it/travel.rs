//! Time travel: any version can be read, compared and forked, across forks too.

use futures_lite::future::block_on;
use svit_txn::{DurableProcess, Error, MemoryStore, Process};
use svit_value::Value;

async fn counted(store: &MemoryStore, to: i64) -> DurableProcess {
    let process = Process::builder("svit://local/travel").unwrap();
    let process = process.memory("count", 0).build().unwrap();
    let process = store.create(process).await.unwrap();
    for count in 1..=to {
        process.write("/memory/count", count).await.unwrap();
    }
    process
}

#[test]
fn every_version_reads_as_it_was() {
    block_on(async {
        let store = MemoryStore::new();
        let process = counted(&store, 5).await;
        for version in 0..=5_i64 {
            let count = process.read_at(version.unsigned_abs(), "/memory/count");
            assert_eq!(count.await.unwrap(), Some(Value::Int(version)));
        }
        let beyond = process.read_at(6, "/memory/count").await.unwrap_err();
        assert!(
            matches!(
                beyond,
                Error::NoVersion {
                    version: 6,
                    oldest: 0,
                    newest: 5
                }
            ),
            "{beyond}"
        );
    });
}

#[test]
fn a_difference_leads_from_one_version_to_the_other_in_both_directions() {
    block_on(async {
        let store = MemoryStore::new();
        let process = counted(&store, 3).await;
        let root = |version| process.read_at(version, "/");
        let (one, three) = (root(1).await.unwrap(), root(3).await.unwrap());
        let (one, three) = (one.unwrap(), three.unwrap());
        let forward = process.diff(1, 3).await.unwrap();
        assert_eq!(svit_tree::apply(&one, &forward).unwrap(), three);
        let back = process.diff(3, 1).await.unwrap();
        assert_eq!(svit_tree::apply(&three, &back).unwrap(), one);
        assert!(process.diff(2, 2).await.unwrap().is_empty());
    });
}

#[test]
fn a_fork_of_an_older_version_starts_there_and_survives() {
    block_on(async {
        let store = MemoryStore::new();
        let process = counted(&store, 5).await;
        let child = process.fork_at(2, "svit://local/child").await.unwrap();
        assert_eq!((child.base().version, child.version()), (2, 3));
        assert_eq!(child.read("/memory/count").unwrap(), Some(2.into()));
        child.write("/memory/count", 20).await.unwrap();
        drop(child);
        let child = store.resume("svit://local/child").await.unwrap();
        assert_eq!(child.read("/memory/count").unwrap(), Some(20.into()));
        // Before its base, a child's versions are its parent's, and can be forked again.
        assert_eq!(
            child.read_at(1, "/memory/count").await.unwrap(),
            Some(1.into())
        );
        let elder = child.fork_at(1, "svit://local/elder").await.unwrap();
        assert_eq!(elder.read("/memory/count").unwrap(), Some(1.into()));
        let parent = elder.read("/system/lineage/parent").unwrap();
        assert_eq!(parent, Some("svit://local/travel".into()));
        assert_eq!(process.read("/memory/count").unwrap(), Some(5.into()));
        let missing = process.fork_at(6, "svit://local/never").await.unwrap_err();
        assert_eq!(missing.code(), "no_version");
    });
}

#[test]
fn a_durable_snapshot_is_that_of_the_same_state_in_memory() {
    block_on(async {
        let store = MemoryStore::new();
        let process = counted(&store, 2).await;
        let restored = Process::restore(process.snapshot().as_bytes()).unwrap();
        assert_eq!(restored.root_digest(), process.root_digest());
        assert_eq!(restored.snapshot(), process.snapshot());
    });
}

#[test]
fn a_process_of_the_past_goes_on_by_itself() {
    block_on(async {
        let store = std::sync::Arc::new(MemoryStore::new());
        let process = crate::steps::builder("svit://local/travel")
            .build()
            .unwrap();
        let process = DurableProcess::create(store, process).await.unwrap();
        let mut roots = vec![process.root_digest()];
        for _ in 0..3 {
            process.exec("/lib/counter", 1).await.unwrap();
            roots.push(process.root_digest());
        }
        process.record_child("one", 1).await.unwrap();
        roots.push(process.root_digest());
        for (version, root) in (0..).zip(&roots) {
            let past = process.process_at(version).await.unwrap();
            assert_eq!((past.version(), past.root_digest()), (version, *root));
            assert_eq!(past.address(), *process.address());
            // With the guests of this one.
            let activation = past.exec("/lib/counter", 100).unwrap();
            assert_eq!(activation.version, version + 1);
            let restored = Process::restore(past.snapshot().as_bytes()).unwrap();
            assert_eq!(restored.root_digest(), past.root_digest());
        }
        assert_eq!(process.root_digest(), roots[4]);
        let beyond = process.process_at(5).await.unwrap_err();
        assert_eq!(beyond.code(), "no_version");

        // Before a fork it is the parent, from the fork on the child.
        let fork = process.fork("svit://local/fork").await.unwrap();
        fork.exec("/lib/counter", 1).await.unwrap();
        let named = async |version| {
            fork.process_at(version)
                .await
                .unwrap()
                .address()
                .to_string()
        };
        assert_eq!(named(4).await, "svit://local/travel");
        assert_eq!(named(5).await, "svit://local/fork");
        assert_eq!(named(6).await, "svit://local/fork");
        fork.cut(6).await.unwrap();
        assert_eq!(fork.process_at(5).await.unwrap_err().code(), "cut");
        assert_eq!(named(6).await, "svit://local/fork");
    });
}
