//! Callers that take the connection themselves, beside those that queue for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use svit_store_turso::{OpenOptions, TursoProcessStore};
use svit_txn::{Process, block_on};
use svit_value::Value;

use crate::common::{code, open, place};

const COUNTER: &str =
    r#"(define (main input) (let ((n (+ (read "/memory/n") 1))) (do (write "/memory/n" n) n)))"#;

fn counter(name: &str) -> Process {
    Process::builder(format!("svit://local/{name}"))
        .unwrap()
        .memory("n", 0)
        .library("counter", COUNTER)
        .build()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_that_wait_and_callers_that_queue_share_a_store() {
    let place = place();
    let options = OpenOptions::new().wal_pages(50).recent_records(9);
    let store = TursoProcessStore::open_with(&place.path, options)
        .await
        .unwrap();
    let done = Arc::new(AtomicU64::new(0));
    let mut threads = Vec::new();
    let mut tasks = Vec::new();
    for number in 0..6 {
        let process = store.create(counter(&format!("p{number}"))).await.unwrap();
        let (beside, done, store) = (process.clone(), done.clone(), store.clone());
        threads.push(thread::spawn(move || {
            for step in 0..60 {
                block_on(process.exec("/lib/counter", Value::Null)).unwrap();
                done.fetch_add(1, Ordering::SeqCst);
                if step % 20 == 0 {
                    // Reads go through the queue, also from here.
                    assert!(block_on(store.list()).unwrap().contains(process.address()));
                }
            }
        }));
        tasks.push(tokio::spawn(async move {
            for step in 0..40 {
                beside.write("/memory/step", step).await.unwrap();
                beside.exec("/lib/counter", Value::Null).await.unwrap();
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    tokio::task::spawn_blocking(move || {
        for thread in threads {
            thread.join().unwrap();
        }
    })
    .await
    .unwrap();
    assert_eq!(done.load(Ordering::SeqCst), 360);
    let verified = store.verify().await.unwrap();
    assert!(verified.is_whole(), "{verified:?}");
    store.close().await.unwrap();
    let store = open(&place.path).await;
    for number in 0..6 {
        let process = store
            .resume(format!("svit://local/p{number}"))
            .await
            .unwrap();
        assert_eq!(process.version(), 60 + 80);
        assert_eq!(process.read("/memory/n").unwrap(), Some(Value::Int(100)));
    }
}

#[test]
fn a_store_can_be_closed_and_dropped_while_callers_take_it() {
    for closes in [true, false] {
        let place = place();
        let store = block_on(open(&place.path));
        let (began, begun) = std::sync::mpsc::channel();
        let landed = thread::scope(|scope| {
            let running: Vec<_> = (0..3)
                .map(|number| {
                    let (store, began) = (store.clone(), began.clone());
                    scope.spawn(move || {
                        let process = counter(&format!("p{number}"));
                        let process = block_on(store.create(process)).unwrap();
                        began.send(()).unwrap();
                        let mut landed = 0;
                        for _ in 0..200 {
                            match block_on(process.exec("/lib/counter", Value::Null)) {
                                Ok(_) => landed += 1,
                                Err(error) => {
                                    assert!(closes, "{error}");
                                    assert_eq!(error.code(), "unavailable");
                                    break;
                                }
                            }
                        }
                        landed
                    })
                })
                .collect();
            drop(began);
            for _ in 0..3 {
                begun.recv().unwrap();
            }
            thread::sleep(std::time::Duration::from_millis(20));
            match closes {
                true => block_on(store.close()).unwrap(),
                false => drop(store),
            }
            let landed: Vec<i64> = running.into_iter().map(|it| it.join().unwrap()).collect();
            landed
        });
        let store = block_on(open(&place.path));
        for (number, landed) in landed.into_iter().enumerate() {
            let process = block_on(store.resume(format!("svit://local/p{number}"))).unwrap();
            assert_eq!(process.read("/memory/n").unwrap(), Some(Value::Int(landed)));
        }
        let bad = block_on(TursoProcessStore::open(&place.path));
        assert_eq!(code(bad.map(drop)), "in_use");
    }
}
