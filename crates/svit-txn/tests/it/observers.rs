//! What was committed, in order, to whoever reads fast enough.

use futures_lite::future::block_on;
use svit_txn::{DurableProcess, Extras, ObserveError, Operation, Published, Submission};
use svit_value::value;

use crate::steps::builder;

async fn make() -> DurableProcess {
    let (_, store) = crate::steps::store();
    DurableProcess::create(store, builder("svit://local/seen").build().unwrap())
        .await
        .unwrap()
}

fn with_events(operation: Operation, kinds: &'static [&'static str]) -> Submission<'static> {
    Submission::plain(operation).recording(|_| Extras {
        events: kinds
            .iter()
            .map(|&kind| (kind.into(), value!(null)))
            .collect(),
        ..Extras::default()
    })
}

fn shown(news: &Published) -> String {
    match news {
        Published::Change(change) => format!("version {}", change.version),
        Published::Event(event) => format!("event {} {}", event.seq, event.kind),
        other => format!("{other:?}"),
    }
}

#[test]
fn changes_and_events_come_in_the_order_in_which_they_landed() {
    block_on(async {
        let process = make().await;
        process.write("/memory/before", 1).await.unwrap();
        let mut observers = [process.observe(99), process.observe(99)];
        process
            .submit(with_events(
                Operation::Enqueue { message: 1.into() },
                &["a", "b"],
            ))
            .await
            .unwrap();
        process
            .submit(with_events(Operation::Note, &["c"]))
            .await
            .unwrap();
        // A rejection is no change, and its events are news all the same.
        process
            .submit(with_events(Operation::Acknowledge { sequence: 99 }, &["d"]))
            .await
            .unwrap_err();
        process.exec("/lib/none", 1).await.unwrap_err();
        process.exec("/lib/counter", 1).await.unwrap();
        let expected = [
            "version 2",
            "event 0 a",
            "event 1 b",
            "event 2 c",
            "event 3 d",
            "version 3",
        ];
        for observer in &mut observers {
            for expected in expected {
                assert_eq!(shown(&observer.recv().await.unwrap()), expected);
            }
        }
        let mut late = process.observe(9);
        process.write("/memory/x", 1).await.unwrap();
        let Published::Change(change) = late.recv().await.unwrap() else {
            panic!("no change");
        };
        assert_eq!((change.version, change.root), (4, process.root_digest()));
        assert!(change.touches(&"/memory/x".parse().unwrap()));
    });
}

#[test]
fn a_slow_observer_is_told_how_much_it_lost_and_holds_nobody_up() {
    block_on(async {
        let process = make().await;
        let (mut slow, mut quick) = (process.observe(3), process.observe(99));
        for n in 1..=10 {
            process.write("/memory/n", n).await.unwrap();
        }
        assert_eq!(slow.recv().await, Err(ObserveError::Lagged(7)));
        for version in 8..=10 {
            assert_eq!(
                shown(&slow.recv().await.unwrap()),
                format!("version {version}")
            );
        }
        for version in 1..=10 {
            assert_eq!(
                shown(&quick.recv().await.unwrap()),
                format!("version {version}")
            );
        }
        // It goes on from there.
        process.write("/memory/n", 11).await.unwrap();
        assert_eq!(shown(&slow.recv().await.unwrap()), "version 11");
        // A capacity of none is one.
        let mut least = process.observe(0);
        process.write("/memory/n", 12).await.unwrap();
        assert_eq!(shown(&least.recv().await.unwrap()), "version 12");
    });
}

#[test]
fn an_observer_gets_what_is_left_when_the_process_is_gone() {
    block_on(async {
        let process = make().await;
        let mut observer = process.observe(9);
        let other = process.clone();
        process.write("/memory/n", 1).await.unwrap();
        drop(process);
        assert_eq!(shown(&observer.recv().await.unwrap()), "version 1");
        assert!(
            futures_lite::future::poll_once(observer.recv())
                .await
                .is_none()
        );
        drop(other);
        assert_eq!(observer.recv().await, Err(ObserveError::Closed));
    });
}

#[test]
fn nothing_is_told_before_the_store_has_it() {
    use std::sync::Arc;
    use svit_testkit::fault::{Fault, FaultyStore};
    block_on(async {
        let store = Arc::new(FaultyStore::new(Arc::new(svit_txn::MemoryStore::new())));
        let built = builder("svit://local/seen").build().unwrap();
        let process = DurableProcess::create(store.clone(), built).await.unwrap();
        let mut observer = process.observe(9);
        store.at_write(store.writes() + 1, Fault::CutLanded);
        process
            .submit(with_events(
                Operation::Enqueue { message: 1.into() },
                &["a"],
            ))
            .await
            .unwrap_err();
        assert!(
            futures_lite::future::poll_once(observer.recv())
                .await
                .is_none()
        );
        store.restore();
        process.write("/memory/x", 1).await.unwrap();
        for expected in ["version 1", "event 0 a", "version 2"] {
            assert_eq!(shown(&observer.recv().await.unwrap()), expected);
        }
    });
}
