//! Many callers, impatient callers, and a runtime that must not stall.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use svit_store_turso::{OpenOptions, TursoProcessStore, WhenFull};
use svit_txn::{Batch, BoxFuture, ProcessStore, RecordQuery, StoreResult};

use crate::common::{Model, code, open, place};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_that_wait_together_share_a_sync() {
    let place = place();
    let store = open(&place.path).await;
    let mut tasks = Vec::new();
    for number in 0..64 {
        let store = store.clone();
        tasks.push(tokio::spawn(async move {
            let mut model = Model::create(&format!("p{number}"), &store).await;
            for _ in 0..10 {
                model.commit(&store, 200).await.unwrap();
            }
            model
        }));
    }
    let mut models = Vec::new();
    for task in tasks {
        models.push(task.await.unwrap());
    }
    let stats = store.stats().await.unwrap();
    println!("{stats:?}");
    assert_eq!(stats.commits, 64 * 11);
    assert!(stats.batches < 64 * 11 / 4, "{stats:?}");
    assert!((8..=64).contains(&stats.largest_batch), "{stats:?}");
    store.close().await.unwrap();
    let store = open(&place.path).await;
    for model in models {
        model.check(&store).await.unwrap();
    }
}

#[tokio::test]
async fn one_write_that_fails_takes_no_other_of_its_batch_with_it() {
    let place = place();
    let store = open(&place.path).await;
    let mut models = Vec::new();
    for number in 0..10 {
        models.push(Model::create(&format!("p{number}"), &store).await);
    }
    let before = store.stats().await.unwrap().batches;
    let stale = models[0].batch(1);
    let mut calls: Vec<Call<'_>> = Vec::new();
    for model in &mut models {
        let batch = model.batch(100);
        let append = store.append(model.address(), model.digest, model.epoch, batch.clone());
        model.landed(&batch);
        calls.push(call(append, "ok"));
    }
    // Behind them: a lost race, a gap that shows after some rows were written, a repeat.
    let [first, second] = [&models[0], &models[1]];
    let lost = store.append(first.address(), svit_value::Digest::of(b"x"), 1, stale);
    calls.push(call(lost, "conflict"));
    let mut gap = second.batch(1);
    gap.events[0].seq += 1;
    let gap = store.append(second.address(), second.digest, second.epoch, gap);
    calls.push(call(gap, "bad_batch"));
    let exists = store.insert_base(
        first.base.clone(),
        vec![first.root.clone()],
        Batch::default(),
    );
    calls.push(call(exists, "already_exists"));
    answered(calls).await;
    let batches = store.stats().await.unwrap().batches - before;
    assert!(batches < 10, "{batches} batches");
    for model in &models {
        model.check(&store).await.unwrap();
    }
    assert!(store.verify().await.unwrap().is_whole());
}

#[tokio::test]
async fn a_claim_fences_what_was_sent_behind_it_and_nothing_before() {
    let place = place();
    let store = open(&place.path).await;
    let mut model = Model::create("one", &store).await;
    let others: Vec<_> = (0..5)
        .map(|number| Model::new(&format!("o{number}")))
        .collect();
    for _ in 0..20 {
        let epoch = model.epoch;
        let before = model.batch(10);
        let mut calls: Vec<Call<'_>> = Vec::new();
        let append = store.append(model.address(), model.digest, epoch, before.clone());
        calls.push(call(append, "ok"));
        model.landed(&before);
        calls.push(call(store.claim(model.address()), "ok"));
        let late = model.batch(10);
        let append = store.append(model.address(), model.digest, epoch, late);
        calls.push(call(append, "fenced"));
        model.epoch += 1;
        let after = model.batch(10);
        let append = store.append(model.address(), model.digest, epoch + 1, after.clone());
        calls.push(call(append, "ok"));
        model.landed(&after);
        // Company, so that all of it is one batch at times.
        for other in &others {
            calls.push(call(store.load(other.address()), "not_found"));
        }
        answered(calls).await;
    }
    model.check(&store).await.unwrap();
}

type Call<'a> = (BoxFuture<'a, &'static str>, &'static str);

/// A call, and the code that it must come to.
fn call<'a, T: 'a>(future: BoxFuture<'a, StoreResult<T>>, wanted: &'static str) -> Call<'a> {
    (Box::pin(async move { code(future.await) }), wanted)
}

/// Sends all calls in order, then looks at the answers.
async fn answered(mut calls: Vec<Call<'_>>) {
    // A first poll sends the command, so all are waiting before any is awaited.
    let mut context = Context::from_waker(Waker::noop());
    let mut answers = Vec::new();
    for (call, _) in &mut calls {
        answers.push(match call.as_mut().poll(&mut context) {
            Poll::Ready(answer) => Some(answer),
            Poll::Pending => None,
        });
    }
    for ((call, wanted), answer) in calls.into_iter().zip(answers) {
        let answer = match answer {
            Some(answer) => answer,
            None => call.await,
        };
        assert_eq!(answer, wanted);
    }
}

#[tokio::test]
async fn a_caller_that_goes_away_changes_nothing_for_others() {
    let place = place();
    let store = open(&place.path).await;
    let mut model = Model::create("one", &store).await;
    for _ in 0..50 {
        let batch = model.batch(100);
        {
            let mut append = pin!(model.try_append(&store, &batch));
            let mut context = Context::from_waker(Waker::noop());
            // Sent, and then forgotten; or answered already, which is as good.
            let _ = append.as_mut().poll(&mut context);
        }
        // What was sent before is there for whoever looks after: nothing lands later.
        let head = store.load(model.address()).await.unwrap();
        assert_eq!(head.digest, batch.records[0].digest);
        model.landed(&batch);
        model.commit(&store, 10).await.unwrap();
        model.check(&store).await.unwrap();
    }
}

#[tokio::test]
async fn a_full_queue_makes_callers_wait_or_refuses_them() {
    let place = place();
    for (when_full, all) in [(WhenFull::Wait, true), (WhenFull::Refuse, false)] {
        let options = OpenOptions::new().queue(1).batch(1).when_full(when_full);
        let store = TursoProcessStore::open_with(&place.path, options)
            .await
            .unwrap();
        let mut tasks = Vec::new();
        for number in 0..40 {
            let store = store.clone();
            tasks.push(tokio::spawn(async move {
                let mut model = Model::new(&format!("{all}{number}"));
                let made = store.insert_base(
                    model.base.clone(),
                    vec![model.root.clone()],
                    Batch::default(),
                );
                let made = made.await;
                model.epoch = *made.as_ref().unwrap_or(&0);
                (made, model)
            }));
        }
        let mut made = Vec::new();
        let mut refused = 0;
        for task in tasks {
            match task.await.unwrap() {
                (Ok(_), model) => made.push(model),
                (Err(error), _) => {
                    assert!(error.to_string().contains("busy"), "{error}");
                    refused += 1;
                }
            }
        }
        assert_eq!(refused == 0, all, "{refused} refused");
        assert!(!made.is_empty());
        for model in made {
            // What was refused did nothing; what was not, is there.
            while model.check(&store).await.is_err() {
                tokio::task::yield_now().await;
            }
        }
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_close_serves_what_is_waiting_and_refuses_the_rest() {
    let place = place();
    let store = TursoProcessStore::open_with(&place.path, OpenOptions::new().batch(4))
        .await
        .unwrap();
    let mut tasks = Vec::new();
    for number in 0..60 {
        let caller = store.clone();
        tasks.push(tokio::spawn(async move {
            let mut model = Model::new(&format!("p{number}"));
            let made = caller.insert_base(
                model.base.clone(),
                vec![model.root.clone()],
                Batch::default(),
            );
            let made = made.await;
            model.epoch = *made.as_ref().unwrap_or(&0);
            (made, model)
        }));
        if number == 29 {
            // Let the first thirty into the queue.
            tokio::task::yield_now().await;
            let store = store.clone();
            tokio::spawn(async move { store.close().await });
        }
    }
    let mut made = Vec::new();
    for task in tasks {
        match task.await.unwrap() {
            (Ok(_), model) => made.push(model),
            (Err(error), _) => assert_eq!(error.code(), "unavailable", "{error}"),
        }
    }
    assert!(
        made.len() >= 30,
        "{} of those that were waiting",
        made.len()
    );
    let store = open(&place.path).await;
    assert_eq!(store.stats().await.unwrap().processes, made.len() as u64);
    for model in made {
        model.check(&store).await.unwrap();
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_task_beside_a_commit_goes_on_running() {
    let place = place();
    let store = open(&place.path).await;
    let ticks = Arc::new(AtomicU64::new(0));
    let stop = Arc::new(AtomicBool::new(false));
    let ticker = tokio::spawn({
        let (ticks, stop) = (Arc::clone(&ticks), Arc::clone(&stop));
        async move {
            while !stop.load(Ordering::Relaxed) {
                ticks.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
            }
        }
    });
    let mut model = Model::create("one", &store).await;
    let mut still = 0;
    for _ in 0..50 {
        let before = ticks.load(Ordering::Relaxed);
        model.commit(&store, 5000).await.unwrap();
        // One turn is what a commit on this very thread would allow, on its way out.
        still += u64::from(ticks.load(Ordering::Relaxed) - before <= 2);
    }
    stop.store(true, Ordering::Relaxed);
    ticker.await.unwrap();
    assert!(
        still <= 5,
        "the ticker stood still in {still} of 50 commits"
    );
}

#[tokio::test]
async fn a_long_read_and_writes_do_not_wait_for_each_other() {
    let place = place();
    let store = open(&place.path).await;
    let mut long = Model::create("long", &store).await;
    for _ in 0..20 {
        let mut many = Batch::default();
        let mut ahead = long.clone();
        for _ in 0..100 {
            let record = ahead.record(2000);
            let one = Batch {
                records: vec![record],
                ..Batch::default()
            };
            ahead.landed(&one);
            many.records.extend(one.records);
        }
        long.try_append(&store, &many).await.unwrap();
        long.landed(&many);
    }
    let mut writer = Model::create("writer", &store).await;
    let reading = {
        let (store, address) = (store.clone(), long.address().clone());
        tokio::spawn(async move {
            let all = RecordQuery {
                from: 0,
                to: u64::MAX,
                limit: usize::MAX,
            };
            store.records(&address, all).await.unwrap()
        })
    };
    let mut during = 0;
    while !reading.is_finished() {
        writer.commit(&store, 10).await.unwrap();
        during += 1;
    }
    assert!(during > 1, "{during} commits went in between");
    assert!(reading.await.unwrap() == long.records);
    writer.check(&store).await.unwrap();
}

#[test]
fn no_runtime_is_needed() {
    let place = place();
    let mut work = pin!(async {
        let store = open(&place.path).await;
        let mut model = Model::create("one", &store).await;
        model.commit(&store, 10).await.unwrap();
        model.check(&store).await.unwrap();
        store.close().await.unwrap();
    });
    let mut context = Context::from_waker(Waker::noop());
    while work.as_mut().poll(&mut context).is_pending() {
        std::thread::yield_now();
    }
}
