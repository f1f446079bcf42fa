//! Many senders, scripts that run long, and forks meanwhile.

use std::time::Duration;

use svit::{Limits, Message, Process, Svit, Value};

use super::{Place, code, counting, process, soon};

async fn many_senders(senders: usize, each: usize) {
    let place = Place::new();
    let store = place.open().await.unwrap();
    let process = store.create(process("svit://local/many")).await.unwrap();
    let mut svit = Svit::persisted(process)
        .unwrap()
        .reasoner(counting())
        .build()
        .await
        .unwrap();
    let mut outbox = svit.outbox();
    svit.start().unwrap();
    let senders: Vec<_> = (0..senders)
        .map(|sender| {
            let inbox = svit.inbox();
            tokio::spawn(async move {
                let mut ids = Vec::new();
                for message in 0..each {
                    let text = format!("{sender}.{message}");
                    ids.push(inbox.send(Message::user(text)).await.unwrap());
                }
                ids
            })
        })
        .collect();
    let mut sent = Vec::new();
    for sender in senders {
        let ids = sender.await.unwrap();
        assert!(ids.is_sorted());
        sent.extend(ids);
    }
    sent.sort();
    soon(svit.block()).await.unwrap();
    let mut answered = Vec::new();
    for n in 1..=sent.len() {
        let answer = soon(outbox.recv()).await.unwrap();
        assert_eq!(answer.text(), Some(format!("answer {n}").as_str()));
        answered.push(answer.in_reply_to().unwrap());
    }
    assert_eq!(answered, sent);
    assert!(svit.discover("/inbox").unwrap().is_empty());
}

#[tokio::test]
async fn many_senders_on_one_thread_are_answered_once_and_in_order() {
    many_senders(20, 5).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_senders_on_many_threads_are_answered_once_and_in_order() {
    many_senders(50, 4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_sends_at_once_fill_the_inbox_and_no_more() {
    let svit = Svit::builder("svit://local/flood")
        .unwrap()
        .reasoner(counting())
        .build()
        .await
        .unwrap();
    let allowed = svit.process().limits().max_inbox as usize;
    let sends: Vec<_> = (0..allowed + 100)
        .map(|n| {
            let inbox = svit.inbox();
            tokio::spawn(async move { code(inbox.send(Message::user(n.to_string())).await) })
        })
        .collect();
    let mut codes = std::collections::BTreeMap::new();
    for send in sends {
        *codes.entry(send.await.unwrap()).or_insert(0) += 1;
    }
    assert_eq!(
        codes.into_iter().collect::<Vec<_>>(),
        [("max_inbox".to_owned(), 100), ("ok".to_owned(), allowed)]
    );
    let error = svit
        .inbox()
        .send(Message::user("one more"))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("max_inbox"), "{error}");
}

fn slow(address: &str) -> Process {
    Process::builder(address)
        .unwrap()
        .memory("count", 0)
        .library(
            "slow",
            "(define (main n) (spin n)) (define (spin n) (spin n))",
        )
        .limits(Limits {
            max_ticks: 1_000_000_000,
            max_execution_millis: 60_000,
            ..Limits::default()
        })
        .build()
        .unwrap()
}

/// Sends, reads and forks while a script runs for longer than all of it takes.
async fn beside_a_slow_script() {
    let place = Place::new();
    let store = place.open().await.unwrap();
    let process = store.create(slow("svit://local/slow")).await.unwrap();
    let svit = Svit::persisted(process.clone())
        .unwrap()
        .reasoner(counting())
        .build()
        .await
        .unwrap();
    svit.start().unwrap();
    let running = tokio::spawn({
        let process = process.clone();
        async move { code(process.exec("/lib/slow", Value::Null).await) }
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    let inbox = svit.inbox();
    for n in 0..10 {
        let answer = inbox.ask(Message::user("Quick.")).await.unwrap();
        assert_eq!(answer.text(), Some(format!("answer {}", n + 1).as_str()));
    }
    let child = process.fork("svit://local/slow-child").await.unwrap();
    child.write("/memory/count", 7).await.unwrap();
    assert_eq!(process.read("/memory/count").unwrap(), Some(0.into()));
    assert!(!running.is_finished(), "the script should still run");
    // A script whose caller has gone is stopped, and the next one has its turn.
    running.abort();
    soon(process.write("/memory/count", 8)).await.unwrap();
}

#[tokio::test]
async fn nothing_waits_for_a_slow_script_on_one_thread() {
    beside_a_slow_script().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_waits_for_a_slow_script_on_many_threads() {
    beside_a_slow_script().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn forks_of_forks_of_a_busy_process_are_each_one_state_of_it() {
    let place = Place::new();
    let store = place.open().await.unwrap();
    let parent = store.create(process("svit://local/fork-0")).await.unwrap();
    let busy = tokio::spawn({
        let parent = parent.clone();
        async move {
            for _ in 0..40 {
                parent.exec("/lib/count", 1).await.unwrap();
            }
        }
    });
    let mut newest = parent.clone();
    let mut family = vec![];
    for n in 1..=20 {
        let child = newest
            .fork(format!("svit://local/fork-{n}").as_str())
            .await
            .unwrap();
        let had = newest
            .read("/memory/count")
            .unwrap()
            .unwrap()
            .as_int()
            .unwrap();
        let got = child
            .read("/memory/count")
            .unwrap()
            .unwrap()
            .as_int()
            .unwrap();
        // Only the first parent goes on meanwhile.
        assert!(if n == 1 { got <= had } else { got == had });
        child.exec("/lib/count", 100).await.unwrap();
        family.push((child.address().clone(), got + 100));
        newest = child;
    }
    busy.await.unwrap();
    assert_eq!(parent.read("/memory/count").unwrap(), Some(40.into()));
    drop((parent, newest, store));
    let store = place.open().await.unwrap();
    for (address, count) in family.into_iter().rev() {
        let child = store.resume(&address).await.unwrap();
        assert_eq!(
            child.read("/memory/count").unwrap(),
            Some(count.into()),
            "{address}"
        );
    }
}
