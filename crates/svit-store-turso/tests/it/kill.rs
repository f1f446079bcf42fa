//! Programs that die, and disks that refuse: what was acknowledged stays.

use std::io::Read;
use std::path::Path;
use std::time::Duration;

use svit_store_turso::TursoProcessStore;
use svit_txn::ProcessStore;

use crate::child::{self, PROCESSES};
use crate::common::{Model, address, open, place};

/// Makes the history again that a child must have stored, up to where the store stands, and
/// compares. Gives the version at which each process stands.
async fn check_children(store: &TursoProcessStore, count: usize) -> Vec<u64> {
    let mut versions = Vec::new();
    for number in 0..count {
        let Ok(head) = store.load(&address(&child::name(number))).await else {
            versions.push(0);
            continue;
        };
        let mut model = Model::new(&child::name(number));
        model.epoch = head.epoch;
        while model.version < head.version {
            let batch = model.batch(child::size(model.version));
            model.landed(&batch);
        }
        model
            .receipts
            .retain(|receipt| receipt.version + 1000 > head.version);
        model.check(store).await.unwrap();
        versions.push(head.version);
    }
    versions
}

fn acknowledged(lines: &[String], acked: &mut [u64]) {
    for line in lines {
        let mut words = line.split(' ');
        let number: usize = words.next().unwrap().parse().unwrap();
        let version: u64 = words.next().unwrap().parse().unwrap();
        assert!(version > acked[number], "versions only rise");
        acked[number] = version;
    }
}

#[tokio::test]
async fn nothing_acknowledged_is_lost_when_the_program_is_killed() {
    let rounds: u64 = std::env::var("SVIT_KILL_ROUNDS")
        .ok()
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(12);
    let place = place();
    let mut acked = [0; PROCESSES];
    let (mut beyond, mut hot) = (0, 0);
    for round in 0..rounds {
        let mut running = child::command("commit", &place.path).spawn().unwrap();
        let lines = child::lines(&mut running);
        std::thread::sleep(Duration::from_millis(20 + round * 7919 % 230));
        running.kill().unwrap();
        running.wait().unwrap();
        acknowledged(&lines.join().unwrap(), &mut acked);
        hot += u64::from(std::fs::metadata(place.beside("-wal")).is_ok_and(|wal| wal.len() > 0));
        let store = open(&place.path).await;
        let found = check_children(&store, PROCESSES).await;
        for (number, (found, acked)) in found.iter().zip(acked).enumerate() {
            assert!(
                *found >= acked,
                "process {number}: {found} < {acked}, round {round}"
            );
            beyond += u64::from(*found > acked);
        }
        if round % 16 == 0 {
            let verified = store.verify().await.unwrap();
            assert!(verified.is_whole(), "{verified:?}");
        }
        acked.copy_from_slice(&found);
        store.close().await.unwrap();
    }
    println!(
        "{rounds} kills, {hot} with a hot WAL, {beyond} times a process was beyond its last acknowledgement; at versions {acked:?}"
    );
    assert!(acked.iter().sum::<u64>() > 0, "nothing was ever committed");
}

#[tokio::test]
async fn another_program_is_told_who_has_the_store() {
    let place = place();
    let store = open(&place.path).await;
    let mut second = child::command("open", &place.path).spawn().unwrap();
    let lines = child::lines(&mut second);
    second.wait().unwrap();
    let lines = lines.join().unwrap();
    let wanted = format!("in use by process {}", std::process::id());
    assert!(
        lines[0].starts_with("in_use") && lines[0].ends_with(&wanted),
        "{lines:?}"
    );
    store.close().await.unwrap();

    // And the other way round, until the other program is gone.
    let mut holder = child::command("hold", &place.path).spawn().unwrap();
    let error = loop {
        match TursoProcessStore::open(&place.path).await {
            Err(error) => break error,
            Ok(store) => store.close().await.unwrap(),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert_eq!(error.code(), "in_use");
    holder.kill().unwrap();
    holder.wait().unwrap();
    open(&place.path).await;
}

/// Runs the filling child through `program` and checks what it left. Gives what it said.
async fn filled(program: &[&str], path: &Path) -> Option<Vec<String>> {
    let mut running = child::through(program, "fill", path).spawn().ok()?;
    let lines = child::lines(&mut running);
    let status = running.wait().unwrap();
    let lines = lines.join().unwrap();
    let mut words = String::new();
    let errors = running.stderr.as_mut().unwrap();
    errors.read_to_string(&mut words).unwrap();
    assert!(status.success(), "{status}: {lines:#?} {words}");
    let acked = lines
        .iter()
        .filter_map(|line| line.strip_prefix("0 "))
        .map(|version| version.parse().unwrap())
        .max()
        .unwrap_or(0u64);
    let store = open(path).await;
    let found = store.load(&address(&child::name(0))).await.unwrap().version;
    assert!(found >= acked, "{found} < {acked}: {lines:#?}");
    let mut model = Model::new(&child::name(0));
    while model.version < found {
        let batch = model.batch(20_000);
        model.landed(&batch);
    }
    model.check(&store).await.unwrap();
    // With room again it goes on.
    model.commit(&store, 50_000).await.unwrap();
    assert!(store.verify().await.unwrap().is_whole());
    Some(lines)
}

fn failures(lines: &[String]) -> Vec<&str> {
    lines
        .iter()
        .filter_map(|line| line.strip_prefix("failed "))
        .collect()
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_that_may_not_grow_fails_commits_and_loses_none() {
    let place = place();
    // The limit is in KiB. Without the trap the signal would kill the program.
    let shell = [
        "bash",
        "-c",
        "trap '' XFSZ; ulimit -f 1000; exec \"$@\"",
        "sh",
    ];
    let Some(lines) = filled(&shell, &place.path).await else {
        println!("SKIPPED: no bash");
        return;
    };
    let failures = failures(&lines);
    assert_eq!(failures.len(), 3, "{lines:#?}");
    for failure in failures {
        assert!(
            failure.starts_with("unavailable") || failure.starts_with("unknown"),
            "{failure}"
        );
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_program_killed_by_the_file_size_signal_loses_nothing() {
    let place = place();
    let shell = ["bash", "-c", "ulimit -f 1000; exec \"$@\"", "sh"];
    let Ok(mut running) = child::through(&shell, "fill", &place.path).spawn() else {
        println!("SKIPPED: no bash");
        return;
    };
    let lines = child::lines(&mut running);
    let status = running.wait().unwrap();
    let lines = lines.join().unwrap();
    // A runtime may ignore the signal; then the failures are reported instead.
    println!("{status}, {} lines", lines.len());
    let acked = lines.iter().filter(|line| line.starts_with("0 ")).count() as u64;
    let store = open(&place.path).await;
    let head = store.load(&address(&child::name(0))).await.unwrap();
    assert!(head.version >= 3 + acked);
    assert!(store.verify().await.unwrap().is_whole());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_disk_fails_commits_and_works_again_with_room() {
    let place = place();
    let disk = place.folder.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"])
        .arg(&disk)
        .stderr(std::process::Stdio::null())
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        println!("SKIPPED: this test needs leave to mount a small tmpfs");
        return;
    }
    let path = disk.join("svit.db");
    let result = full_disk(&path, &disk.join("ballast")).await;
    let unmounted = std::process::Command::new("umount").arg(&disk).status();
    assert!(unmounted.unwrap().success());
    result.unwrap();
}

#[cfg(target_os = "linux")]
async fn full_disk(path: &Path, ballast: &Path) -> Result<(), String> {
    std::fs::write(ballast, vec![1; 600_000]).map_err(|error| error.to_string())?;
    let store = open(path).await;
    let mut model = Model::create("full", &store).await;
    let mut refused = 0;
    for _ in 0..200 {
        match model.commit(&store, 20_000).await {
            Ok(()) if refused > 0 => return Err("it grew although it was full".to_owned()),
            Ok(()) => {}
            Err(error) => {
                if error.code() != "unavailable" || !error.to_string().contains("space") {
                    return Err(error.to_string());
                }
                refused += 1;
            }
        }
        if refused == 5 {
            break;
        }
    }
    // It still reads, and writes again as soon as there is room.
    model
        .check(&store)
        .await
        .map_err(|error| error.to_string())?;
    std::fs::remove_file(ballast).map_err(|error| error.to_string())?;
    for _ in 0..5 {
        model
            .commit(&store, 20_000)
            .await
            .map_err(|error| error.to_string())?;
    }
    model
        .check(&store)
        .await
        .map_err(|error| error.to_string())?;
    store.close().await.map_err(|error| error.to_string())?;
    match refused {
        5 => Ok(()),
        other => Err(format!("refused {other} times")),
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_failing_sync_or_write_is_settled() {
    let strace = std::process::Command::new("strace")
        .arg("-V")
        .stdout(std::process::Stdio::null())
        .status();
    if !strace.is_ok_and(|status| status.success()) {
        println!("SKIPPED: no strace to inject failures of the system with");
        return;
    }
    for inject in [
        "fsync:error=EIO:when=20",
        "fsync:error=EIO:when=21+2",
        "fsync:error=EIO:when=22+3",
        "fsync:error=EIO:when=25+",
        "pwrite64:error=EIO:when=60",
        "pwrite64:error=EIO:when=200+90",
    ] {
        let place = place();
        let inject = format!("inject={inject}");
        let program = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", &inject];
        let lines = filled(&program, &place.path).await.unwrap();
        println!("{inject}: {} lines, {:#?}", lines.len(), failures(&lines));
        assert!(!lines.is_empty());
    }
}
