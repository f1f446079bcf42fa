//! Whole processes in the store: created, changed, closed, resumed, forked.

use svit_store_turso::{OpenOptions, TursoProcessStore};
use svit_txn::{DurableProcess, EventQuery, Extras, Operation, Process, Submission};
use svit_value::{Value, value};

use crate::common::{address, open, place};

async fn create(store: &TursoProcessStore) -> DurableProcess {
    let process = Process::builder("svit://local/demo")
        .unwrap()
        .memory("count", 6)
        .build()
        .unwrap();
    store.create(process).await.unwrap()
}

#[tokio::test]
async fn a_process_outlives_the_variable_of_its_store_and_the_store_itself() {
    let place = place();
    let process = {
        let store = open(&place.path).await;
        create(&store).await
    };
    let start = process.version();
    for count in 7..20 {
        process.write("/memory/count", count).await.unwrap();
    }
    process
        .write("/memory/large", Value::from("x".repeat(300_000)))
        .await
        .unwrap();
    let (version, root) = (process.version(), process.root_digest());
    assert_eq!(version, start + 14);
    drop(process);

    let store = open(&place.path).await;
    assert_eq!(store.list().await.unwrap(), [address("demo")]);
    let process = store.resume("svit://local/demo").await.unwrap();
    assert_eq!((process.version(), process.root_digest()), (version, root));
    assert_eq!(process.read("/memory/count").unwrap(), Some(Value::Int(19)));
    let found = store.verify().await.unwrap();
    assert!(found.is_whole(), "{found:?}");
}

#[tokio::test]
async fn a_fork_goes_its_own_way_across_a_reopen() {
    let place = place();
    let store = open(&place.path).await;
    let parent = create(&store).await;
    parent.write("/memory/count", 7).await.unwrap();
    let child = parent.fork("svit://local/child").await.unwrap();
    child.write("/memory/count", 100).await.unwrap();
    parent.write("/memory/count", 8).await.unwrap();
    let grandchild = child.fork("svit://local/grandchild").await.unwrap();
    grandchild
        .write("/memory/other", value!({"a": [1, 2]}))
        .await
        .unwrap();
    drop((parent, child, grandchild));
    store.close().await.unwrap();

    let store = open(&place.path).await;
    let read = async |name: &str| {
        let process = store.resume(format!("svit://local/{name}")).await.unwrap();
        process.read("/memory/count").unwrap()
    };
    assert_eq!(read("demo").await, Some(Value::Int(8)));
    assert_eq!(read("child").await, Some(Value::Int(100)));
    assert_eq!(read("grandchild").await, Some(Value::Int(100)));
    assert!(store.verify().await.unwrap().is_whole());
}

#[tokio::test]
async fn an_earlier_owner_can_no_longer_write() {
    let place = place();
    let store = open(&place.path).await;
    let first = create(&store).await;
    let second = store.resume("svit://local/demo").await.unwrap();
    second.write("/memory/count", 1).await.unwrap();
    let refused = first.write("/memory/count", 2).await.unwrap_err();
    assert!(refused.to_string().contains("epoch"), "{refused}");
    assert_eq!(second.read("/memory/count").unwrap(), Some(Value::Int(1)));
    let again = create_error(&store).await;
    assert!(again.contains("exists already"), "{again}");
    let nobody = store.resume("svit://local/nobody").await.unwrap_err();
    assert!(nobody.to_string().contains("not in this store"), "{nobody}");
}

async fn create_error(store: &TursoProcessStore) -> String {
    let process = Process::builder("svit://local/demo")
        .unwrap()
        .build()
        .unwrap();
    store.create(process).await.unwrap_err().to_string()
}

/// A deletion hands events over some at a time: whoever reads meanwhile sees each of them once.
#[tokio::test]
async fn events_that_are_handed_over_are_seen_once_by_those_who_read_meanwhile() {
    let place = place();
    // Long pages: a read is a few steps, and pieces of the deletion come between those.
    let options = OpenOptions::new().page_rows(9_999);
    let store = TursoProcessStore::open_with(&place.path, options)
        .await
        .unwrap();
    let parent = create(&store).await;
    let told = |count: u64| {
        Submission::plain(Operation::Note).recording(move |_| Extras {
            events: (0..count)
                .map(|_| ("turn.finished".into(), value!(null)))
                .collect(),
            ..Extras::default()
        })
    };
    parent.submit(told(6_000)).await.unwrap();
    let child = parent.fork("svit://local/child").await.unwrap();
    child.submit(told(3)).await.unwrap();
    let wanted: Vec<u64> = (0..6_003).collect();
    let is_gone = std::cell::Cell::new(false);
    let deletion = async {
        parent.delete().await.unwrap();
        is_gone.set(true);
    };
    let reading = async {
        let mut reads = 0;
        loop {
            let ended = is_gone.get();
            for (newest_first, from) in [(false, 0), (true, u64::MAX)] {
                let query = EventQuery {
                    from,
                    limit: 9_999,
                    newest_first,
                };
                let events = child.events(query).await.unwrap();
                let mut seqs: Vec<u64> = events.iter().map(|event| event.seq).collect();
                if newest_first {
                    seqs.reverse();
                }
                let told = (seqs.len(), seqs.first(), seqs.last());
                assert!(seqs == wanted, "newest first: {newest_first}, {told:?}");
                reads += 1;
            }
            if ended {
                return reads;
            }
        }
    };
    let ((), reads) = tokio::join!(deletion, reading);
    println!("{reads} reads");
    assert!(store.verify().await.unwrap().is_whole());
}
