//! Ten thousand processes in one file: made, listed, resumed and changed, in memory that is bounded
//! by what is open. In a program of its own, so that its memory is its own.

use std::path::Path;

use svit_store_turso::{OpenOptions, Synchronous, TursoProcessStore};
use svit_txn::{Process, ProcessStore};
use svit_value::{Map, Value};

use crate::child::{self, say};
use crate::common::{open, place};
use crate::grown::{Dice, collect};

const MANY: usize = 10_000;
const CHANGES: i64 = 1_500;

fn name(number: u64) -> String {
    format!("svit://local/many/{number:05}")
}

/// Makes them and changes some, and says after each step how much memory the program has.
pub(crate) async fn many(path: &Path) {
    // What is measured is not the disk.
    let options = OpenOptions::new().synchronous(Synchronous::Normal);
    let store = TursoProcessStore::open_with(path, options).await.unwrap();
    for start in (0..MANY as u64).step_by(100) {
        let mut made = Vec::new();
        for number in start..start + 100 {
            let store = store.clone();
            made.push(tokio::spawn(async move {
                let notes = (0..20).map(|n| (format!("note {n}"), format!("of {number}")));
                let process = Process::builder(name(number))
                    .unwrap()
                    .memory("count", 0)
                    .memory("notes", Map::from_entries(notes).unwrap())
                    .build()
                    .unwrap();
                drop(store.create(process).await.unwrap());
            }));
        }
        for task in made {
            task.await.unwrap();
        }
        if start == 900 || start + 100 == MANY as u64 {
            say(&format!("made {} {}", start + 100, resident())).await;
        }
    }
    let mut dice = Dice(7);
    for change in 1..=CHANGES {
        let process = store.resume(name(dice.roll(MANY as u64))).await.unwrap();
        process.write("/memory/count", change).await.unwrap();
        if dice.roll(20) == 0 {
            let at = process.checkpoint().await.unwrap().version;
            process.cut(at).await.unwrap();
        }
    }
    say(&format!("changed {CHANGES} {}", resident())).await;
    assert_eq!(store.addresses(None, usize::MAX).await.unwrap().len(), MANY);
    collect(&store, 1_000).await;
    say(&format!("collected {MANY} {}", resident())).await;
    store.close().await.unwrap();
}

/// The program's memory in KiB, where the system says it.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0) * 4
}

#[tokio::test]
async fn ten_thousand_processes_live_in_one_file_and_in_bounded_memory() {
    let place = place();
    let mut running = child::command("many", &place.path).spawn().unwrap();
    let lines = child::lines(&mut running);
    let status = running.wait().unwrap();
    let lines = lines.join().unwrap();
    assert!(status.success(), "{status}: {lines:?}");
    println!("{lines:?}");
    let resident: Vec<u64> = lines
        .iter()
        .map(|line| line.rsplit(' ').next().unwrap().parse().unwrap())
        .collect();
    // A tenth of them has been made by the first line: nine thousand more, and all that follows,
    // take what the bounded caches take.
    for (line, found) in lines.iter().zip(&resident) {
        assert!(*found <= resident[0] + (32 << 10), "{line} KiB: {lines:?}");
    }

    // Each change is there, the last one of each process.
    let store = open(&place.path).await;
    let all = store.list().await.unwrap();
    assert_eq!(all.len(), MANY);
    assert!(all.is_sorted());
    let mut dice = Dice(7);
    let mut last = std::collections::BTreeMap::new();
    for change in 1..=CHANGES {
        last.insert(dice.roll(MANY as u64), change);
        dice.roll(20);
    }
    for (number, change) in last.iter().step_by(5) {
        let process = store.resume(name(*number)).await.unwrap();
        let count = process.read("/memory/count").unwrap();
        assert_eq!(count, Some(Value::Int(*change)));
    }
    let verified = store.verify().await.unwrap();
    assert!(verified.is_whole(), "{verified:?}");
    assert_eq!((verified.processes, verified.unreachable), (10_000, 0));
}
