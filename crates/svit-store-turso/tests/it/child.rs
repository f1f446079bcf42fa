//! The part of a test that runs in another program: this test executable starts itself again.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use svit_store_turso::TursoProcessStore;
use svit_txn::{Batch, ProcessStore};
use tokio::io::AsyncWriteExt;

use crate::common::{Model, address, busy_wal};

const ROLE: &str = "SVIT_STORE_TEST_ROLE";
const PATH: &str = "SVIT_STORE_TEST_PATH";
/// Where a child's random numbers begin.
pub(crate) const SEED: &str = "SVIT_STORE_TEST_SEED";

/// How many processes the committing child works on.
pub(crate) const PROCESSES: usize = 8;

/// The name of a committing child's process.
pub(crate) fn name(number: usize) -> String {
    format!("child/{number}")
}

/// How large the body of each record is: known to the parent, so that it can make them again.
pub(crate) fn size(version: u64) -> usize {
    usize::try_from(version * 37 % 3000).unwrap()
}

/// This executable, about to run only the function below.
pub(crate) fn command(role: &str, path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    arguments(&mut command, role, path);
    command
}

/// The same, started through another program such as a shell, which gets it as `"$@"`.
pub(crate) fn through(program: &[&str], role: &str, path: &Path) -> Command {
    let mut command = Command::new(program[0]);
    command.args(&program[1..]);
    command.arg(std::env::current_exe().unwrap());
    arguments(&mut command, role, path);
    command
}

fn arguments(command: &mut Command, role: &str, path: &Path) {
    command
        .args([
            "--exact",
            "child::in_another_program",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(ROLE, role)
        .env(PATH, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
}

/// The lines that a child prints after `> `, read while it runs.
pub(crate) fn lines(child: &mut Child) -> std::thread::JoinHandle<Vec<String>> {
    let out = BufReader::new(child.stdout.take().unwrap());
    std::thread::spawn(move || {
        out.lines()
            .map_while(Result::ok)
            // The harness has begun a line of its own when the first one is printed.
            .filter_map(|line| Some(line.split_once("> ")?.1.to_owned()))
            .collect()
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_another_program() {
    let (Ok(role), Some(path)) = (std::env::var(ROLE), std::env::var_os(PATH)) else {
        return;
    };
    let path = Path::new(&path);
    match role.as_str() {
        "open" => match TursoProcessStore::open(path).await {
            Ok(_) => say("ok").await,
            Err(error) => say(&format!("{} {error}", error.code())).await,
        },
        "hold" => {
            // The parent looks, by opening, whether this one has it yet.
            let _store = loop {
                match TursoProcessStore::open(path).await {
                    Ok(store) => break store,
                    Err(error) => assert_eq!(error.code(), "in_use", "{error}"),
                }
            };
            say("open").await;
            std::future::pending::<()>().await;
        }
        "commit" => commit(path).await,
        "many" => crate::many::many(path).await,
        "live" => {
            let seed = std::env::var(SEED).unwrap().parse().unwrap();
            crate::lives::live(path, seed).await;
        }
        "fill" => fill(path).await,
        other => panic!("no role {other}"),
    }
}

pub(crate) async fn say(line: &str) {
    // One write: a line is whole or not there when this program is killed.
    let mut out = tokio::io::stdout();
    out.write_all(format!("> {line}\n").as_bytes())
        .await
        .unwrap();
    out.flush().await.unwrap();
}

/// Commits to all processes at once, for ever, and says each version after it was acknowledged.
async fn commit(path: &Path) {
    let store = TursoProcessStore::open_with(path, busy_wal())
        .await
        .unwrap();
    let mut tasks = Vec::new();
    for number in 0..PROCESSES {
        let store = store.clone();
        tasks.push(tokio::spawn(async move {
            let mut model = own(&store, number).await;
            // For ever, as far as anybody waits.
            while model.version < u64::MAX {
                model.commit(&store, size(model.version)).await.unwrap();
                model.records.clear();
                model.events.clear();
                model.receipts.clear();
                say(&format!("{number} {}", model.version)).await;
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

async fn own(store: &TursoProcessStore, number: usize) -> Model {
    match store.claim(&address(&name(number))).await {
        Ok(head) => Model {
            version: head.version,
            digest: head.digest,
            epoch: head.epoch,
            next_event: head.next_event,
            ..Model::new(&name(number))
        },
        Err(_) => Model::create(&name(number), store).await,
    }
}

/// Commits large records until it fails, says how, tries again, and says what is acknowledged.
async fn fill(path: &Path) {
    let store = TursoProcessStore::open_with(path, busy_wal())
        .await
        .unwrap();
    let mut model = Model::new(&name(0));
    let mut failures = 0;
    for _ in 0..10 {
        let blocks = vec![model.root.clone()];
        let made = store
            .insert_base(model.base.clone(), blocks, Batch::default())
            .await;
        match made {
            Ok(_) => break,
            // One whose outcome was unknown has landed.
            Err(error) if error.code() == "already_exists" => break,
            Err(error) => say(&format!("start {} {error}", error.code())).await,
        }
    }
    for _ in 0..400 {
        match model.commit(&store, 20_000).await {
            Ok(()) => say(&format!("0 {}", model.version)).await,
            Err(error) => {
                failures += 1;
                say(&format!("failed {} {error}", error.code())).await;
                if failures == 3 {
                    break;
                }
                // It may have landed, if that is unknown.
                if let Ok(head) = store.load(model.address()).await
                    && head.version > model.version
                {
                    let batch = model.batch(20_000);
                    model.landed(&batch);
                }
            }
        }
    }
    match store.load(model.address()).await {
        Ok(head) => say(&format!("head {}", head.version)).await,
        Err(error) => say(&format!("no head: {} {error}", error.code())).await,
    }
}
