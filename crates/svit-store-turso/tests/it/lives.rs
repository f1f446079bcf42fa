//! Eight processes that commit, checkpoint, cut, fork and delete beside a collection, in a program
//! that is killed again and again: nothing acknowledged is missing, and every state is whole.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use svit_store_turso::TursoProcessStore;
use svit_tree::Address;
use svit_txn::{
    CheckpointPolicy, DurableProcess, Extras, Operation, Outcome, Process, ProcessStore,
    ReceiptKey, RequestKey, Submission,
};
use svit_value::{Digest, Map, Value, value};

use crate::child::{self, PROCESSES, say};
use crate::common::{address, busy_wal, open, place};
use crate::grown::{Dice, collect};

/// Each count is also written to one of so many slots, so that a torn state shows.
const SLOTS: i64 = 300;

const COUNTER: &str = r#"
(define (main input)
  (let ((count (value-get input "/count")))
    (do (write "/memory/count" count)
        (write (value-get input "/slot") count)
        count)))
"#;

fn name(number: usize) -> String {
    format!("live/{number}")
}

fn slot(count: i64) -> String {
    format!("s{}", count % SLOTS)
}

fn key(count: i64) -> ReceiptKey {
    ReceiptKey {
        client: "client".into(),
        request: format!("count-{count}").into(),
    }
}

fn counter(process: &DurableProcess) -> i64 {
    let count = process.read("/memory/count").unwrap().unwrap();
    count.as_int().unwrap()
}

/// Raises the count by one.
async fn count(process: &DurableProcess) -> i64 {
    let next = counter(process) + 1;
    let slot = format!("/memory/slots/{}", slot(next));
    let submission = Submission::plain(Operation::Exec {
        path: "/lib/counter".parse().unwrap(),
        input: value!({"count": next, "slot": slot}),
    });
    let key = RequestKey {
        key: key(next),
        content: Digest::of(&next.to_le_bytes()),
    };
    let outcome = process
        .submit(submission.keyed(key).recording(|result| {
            let outcome = match result {
                Ok(Outcome::Activation(activation)) => activation.output.clone(),
                other => panic!("{other:?}"),
            };
            Extras {
                events: vec![("turn.finished".into(), outcome.clone())],
                outcome,
            }
        }))
        .await
        .unwrap();
    assert!(matches!(outcome, Outcome::Activation(_)), "{outcome:?}");
    next
}

async fn own(store: &TursoProcessStore, number: usize) -> DurableProcess {
    let address = address(&name(number));
    let process = match store.resume(&address).await {
        Ok(process) => process,
        Err(_) => {
            let slots = (0..SLOTS).map(|n| (format!("s{n}"), 0));
            let process = Process::builder(&address)
                .unwrap()
                .memory("count", 0)
                .memory("slots", Map::from_entries(slots).unwrap())
                .library("counter", COUNTER)
                .build()
                .unwrap();
            store.create(process).await.unwrap()
        }
    };
    process.set_checkpoint_policy(CheckpointPolicy {
        records: 12,
        bytes: u64::MAX,
    });
    process
}

/// What the child does until it is killed.
pub(crate) async fn live(path: &Path, seed: u64) {
    let store = TursoProcessStore::open_with(path, busy_wal())
        .await
        .unwrap();
    let mut tasks = Vec::new();
    for number in 0..PROCESSES {
        let store = store.clone();
        let dice = Dice(seed.wrapping_mul(64).wrapping_add(number as u64));
        tasks.push(tokio::spawn(live_one(store, number, dice)));
    }
    tasks.push(tokio::spawn(async move {
        let collected = AtomicU64::new(0);
        // For ever, as far as anybody waits.
        while collected.load(Ordering::Relaxed) < u64::MAX {
            let piece = store.collect(100).await.unwrap();
            collected.fetch_add(piece.blocks, Ordering::Relaxed);
            if piece.done {
                say("collected").await;
            }
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
    }));
    for task in tasks {
        task.await.unwrap();
    }
}

async fn live_one(store: TursoProcessStore, number: usize, mut dice: Dice) {
    let process = own(&store, number).await;
    while process.version() < u64::MAX {
        let next = count(&process).await;
        say(&format!("{number} {next}")).await;
        match dice.roll(60) {
            0..2 => drop(process.checkpoint().await.unwrap()),
            2 => {
                let at = process.version().saturating_sub(dice.roll(20));
                if at > process.base().version {
                    process.cut(at).await.unwrap();
                    say("cut").await;
                }
            }
            3 => {
                let before = process.events_end().saturating_sub(30);
                process.trim_events(before).await.unwrap();
            }
            4 => {
                // The name says from which count, and is taken once.
                let fork = format!("svit://local/fork/{number}/{next}");
                let fork = process.fork(fork).await.unwrap();
                count(&fork).await;
                say("forked").await;
            }
            5 => {
                if let Some(old) = forks(&store, number).await.first() {
                    store.resume(old).await.unwrap().delete().await.unwrap();
                    say("deleted").await;
                }
            }
            _ => {}
        }
    }
}

async fn forks(store: &TursoProcessStore, number: usize) -> Vec<Address> {
    let prefix = format!("svit://local/fork/{number}/");
    let all = store.addresses(None, usize::MAX).await.unwrap();
    all.into_iter()
        .filter(|address| address.as_str().starts_with(&prefix))
        .collect()
}

/// Checks that a state is one that was committed: its slots say what its count says.
fn check_state(process: &DurableProcess) -> i64 {
    let count = counter(process);
    let slots = process.read("/memory/slots").unwrap().unwrap();
    let slots = slots.as_map().unwrap();
    assert_eq!(slots.len() as i64, SLOTS);
    for at in (count - SLOTS + 1..=count).filter(|at| *at > 0) {
        let found = slots.get(&slot(at)).and_then(Value::as_int);
        assert_eq!(found, Some(at), "{} at {count}", process.address());
    }
    count
}

#[derive(Debug, Default)]
struct Seen {
    cuts: usize,
    forks: usize,
    deletions: usize,
    collections: usize,
    from_checkpoints: usize,
    beyond: usize,
}

impl Seen {
    fn lines(&mut self, lines: &[String], acked: &mut [i64]) {
        for line in lines {
            match line.as_str() {
                "cut" => self.cuts += 1,
                "forked" => self.forks += 1,
                "deleted" => self.deletions += 1,
                "collected" => self.collections += 1,
                line => {
                    let (number, count) = line.split_once(' ').unwrap();
                    acked[number.parse::<usize>().unwrap()] = count.parse().unwrap();
                }
            }
        }
    }

    async fn check(&mut self, store: &TursoProcessStore, acked: &mut [i64], dice: &mut Dice) {
        for (number, acked) in acked.iter_mut().enumerate() {
            let Ok(process) = store.resume(&address(&name(number))).await else {
                assert_eq!(*acked, 0, "process {number} is gone");
                continue;
            };
            let report = process.resumed_from().unwrap();
            assert!(report.fallbacks.is_empty(), "{report:?}");
            self.from_checkpoints += usize::from(report.is_checkpoint);
            let count = check_state(&process);
            assert!(count >= *acked, "process {number}: {count} < {acked}");
            self.beyond += usize::from(count > *acked);
            *acked = count;
            // 1,024 receipts are kept.
            let some = 1 + dice.roll(1_000) as i64;
            for at in [count, count - some].into_iter().filter(|at| *at > 0) {
                let receipt = process.receipt(&key(at)).await.unwrap();
                assert_eq!(receipt.unwrap().outcome, Value::Int(at));
            }
            for fork in forks(store, number).await {
                let from: i64 = fork.as_str().rsplit('/').next().unwrap().parse().unwrap();
                let fork = store.resume(&fork).await.unwrap();
                let count = check_state(&fork);
                assert!(count == from || count == from + 1, "{count}, from {from}");
            }
        }
    }
}

#[tokio::test]
async fn lives_that_are_killed_go_on_whole() {
    let rounds: u64 = std::env::var("SVIT_KILL_ROUNDS")
        .ok()
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(25);
    let place = place();
    let mut acked = [0; PROCESSES];
    let (mut seen, mut dice) = (Seen::default(), Dice(rounds));
    for round in 0..rounds {
        let mut running = child::command("live", &place.path)
            .env(child::SEED, round.to_string())
            .spawn()
            .unwrap();
        let lines = child::lines(&mut running);
        tokio::time::sleep(Duration::from_millis(60 + dice.roll(240))).await;
        if let Some(status) = running.try_wait().unwrap() {
            let mut words = String::new();
            let errors = running.stderr.as_mut().unwrap();
            std::io::Read::read_to_string(errors, &mut words).unwrap();
            panic!("{status} before it was killed: {words}");
        }
        running.kill().unwrap();
        running.wait().unwrap();
        seen.lines(&lines.join().unwrap(), &mut acked);
        let store = open(&place.path).await;
        seen.check(&store, &mut acked, &mut dice).await;
        if round % 10 == 0 || round + 1 == rounds {
            let verified = store.verify().await.unwrap();
            assert!(verified.is_whole(), "{verified:?}");
        }
        store.close().await.unwrap();
    }
    let store = open(&place.path).await;
    collect(&store, 1_000).await;
    let verified = store.verify().await.unwrap();
    assert!(verified.is_whole(), "{verified:?}");
    assert_eq!((verified.unreachable, verified.leftovers), (0, 0));
    seen.check(&store, &mut acked, &mut dice).await;
    println!("{rounds} kills: {seen:?}; counts {acked:?}; {verified:?}");
    assert!(seen.cuts > 0 && seen.forks > 0 && seen.collections > 0);
}
