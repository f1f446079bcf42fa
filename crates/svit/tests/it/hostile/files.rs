//! What happens to a store's file behind the back of the program that has it open, and kills.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use svit::{Message, StoreError, Svit, TursoProcessStore};

use super::{Place, code, counting, process};

#[tokio::test]
async fn one_file_is_opened_once_whatever_it_is_called() {
    let place = Place::new();
    let store = place.open().await.unwrap();
    let folder = place.folder.path();
    let link = folder.join("link.db");
    std::os::unix::fs::symlink(place.file(), &link).unwrap();
    let hard = folder.join("hard.db");
    std::fs::hard_link(place.file(), &hard).unwrap();
    let around = folder
        .join("..")
        .join(folder.file_name().unwrap())
        .join("store.db");
    for other in [place.file(), link, hard, around] {
        match TursoProcessStore::open(&other).await {
            // Under another name of the file the lock does not say who holds it.
            Err(StoreError::InUse { pid, .. }) => {
                assert!(pid.is_none_or(|pid| pid == std::process::id()));
            }
            other => panic!("{other:?}"),
        }
    }
    // A process keeps the store open; without it the file can be opened again.
    let process = store.create(process("svit://local/once")).await.unwrap();
    drop(store);
    assert_eq!(code(place.open().await), "in_use");
    drop(process);
    place.open().await.unwrap();
}

#[tokio::test]
async fn a_file_deleted_while_it_is_open_is_noticed() {
    let place = Place::new();
    let store = place.open().await.unwrap();
    let process = store.create(process("svit://local/deleted")).await.unwrap();
    process.exec("/lib/count", 1).await.unwrap();
    std::fs::remove_file(place.file()).unwrap();
    let error = process.exec("/lib/count", 1).await.unwrap_err();
    assert!(error.to_string().contains("was removed"), "{error}");
    // Nobody saw a version that no file has.
    assert_eq!(process.version(), 1);
    assert_eq!(process.read("/memory/count").unwrap(), Some(1.into()));
}

/// What the program does that is killed: counts, sends and forks until it has done all.
async fn work(file: &std::path::Path) -> svit::Result<()> {
    const STEPS: i64 = 12;
    let store = TursoProcessStore::open(file).await?;
    let address = "svit://local/killed";
    let parent = match store.resume(address).await {
        Err(svit::ProcessError::Store(StoreError::NotFound { .. })) => {
            store.create(process(address)).await?
        }
        other => other?,
    };
    let mut svit = Svit::persisted(parent.clone())?
        .reasoner(counting())
        .build()
        .await?;
    svit.start()?;
    let inbox = svit.inbox();
    for step in 0..STEPS {
        inbox
            .send_keyed(
                format!("step-{step}"),
                Message::user(format!("step {step}")),
            )
            .await?;
        let child = format!("{address}-{step}");
        match parent.fork(child.as_str()).await {
            Ok(child) => drop(child.exec("/lib/count", 1).await?),
            Err(svit::ProcessError::Store(StoreError::AlreadyExists { .. })) => {
                let child = store.resume(child.as_str()).await?;
                if child.read("/memory/count")? == Some(0.into()) {
                    child.exec("/lib/count", 1).await?;
                }
            }
            Err(other) => return Err(other.into()),
        }
    }
    drop(inbox);
    svit.block().await?;
    svit.stop().await?;
    let answers = svit.recent_messages(1_000).await?;
    let texts: Vec<_> = answers
        .iter()
        .filter_map(Message::text)
        .map(str::to_owned)
        .collect();
    let expected: Vec<_> = (0..STEPS)
        .flat_map(|step| [format!("step {step}"), format!("answer {}", step + 1)])
        .collect();
    let (questions, replies): (Vec<_>, Vec<_>) =
        texts.into_iter().partition(|text| text.starts_with("step"));
    let (expected_questions, expected_replies): (Vec<_>, Vec<_>) = expected
        .into_iter()
        .partition(|text| text.starts_with("step"));
    assert_eq!(questions, expected_questions);
    assert_eq!(replies, expected_replies);
    for step in 0..STEPS {
        let child = store.resume(format!("{address}-{step}").as_str()).await?;
        assert_eq!(child.read("/memory/count")?, Some(1.into()));
    }
    assert_eq!(parent.version(), 2 * STEPS as u64);
    Ok(())
}

const FILE: &str = "SVIT_TEST_KILLED_FILE";

/// The program that is killed: this test by itself, with the file in its environment.
#[test]
fn the_program_that_is_killed() {
    let Some(file) = std::env::var_os(FILE) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(work(file.as_ref())).unwrap();
}

fn program(place: &Place) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--exact",
            "hostile::files::the_program_that_is_killed",
            "--nocapture",
        ])
        .env(FILE, place.file())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

fn finish(place: &Place) -> Duration {
    let started = Instant::now();
    let output = program(place).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    started.elapsed()
}

#[test]
fn killed_between_sends_and_forks_it_does_each_once() {
    let mut whole = finish(&Place::new());
    let mut interrupted = 0;
    for moment in 1..=8_u32 {
        let place = Place::new();
        for kill in 0..3 {
            let mut child = program(&place).spawn().unwrap();
            std::thread::sleep(whole * (moment + 3 * kill) / 20);
            if child.try_wait().unwrap().is_none() {
                interrupted += 1;
            } else {
                // It ran faster than when it was measured, on a machine with other work.
                whole = whole * 3 / 4;
            }
            child.kill().unwrap();
            child.wait().unwrap();
        }
        finish(&place);
    }
    assert!(interrupted >= 8, "only {interrupted} kills came in time");
}
