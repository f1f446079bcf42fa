//! Reading, writing, running scripts, and history.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::io::Read;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use serde_json::json;

use crate::console::{Console, said};

const COUNTER: &str = r#"{"source": "(define (main input) (let ((count (+ (read \"/memory/count\") (value-get input \"/by\")))) (do (write \"/memory/count\" count) (log-info! \"counted\" (value-map \"count\" count)) (value-map \"count\" count))))"}"#;

#[test]
fn what_is_written_is_there_in_the_next_run() {
    let console = Console::new();
    assert_eq!(
        console.says(&["log"]),
        "nothing has happened since version 0\n"
    );
    assert_eq!(
        console.says(&["write", "/memory/note", r#""two\nlines""#]),
        "version 1: changed /memory/note\n"
    );
    assert_eq!(console.says(&["show", "/memory/note"]), "two\nlines\n");
    console.says(&["write", "/memory/temperature", "-5"]);
    assert_eq!(
        console.says(&["show", "/memory"]),
        "{\n  \"note\": \"two\\nlines\",\n  \"temperature\": -5\n}\n"
    );
    assert!(console.database("default").is_file());
}

#[test]
fn instances_are_apart_and_the_folder_can_be_chosen() {
    let console = Console::new();
    console.says(&["--instance", "one", "write", "/memory/x", "1"]);
    console.says(&["--instance", "two", "write", "/memory/x", "2"]);
    assert_eq!(
        console.says(&["show", "/memory/x", "--instance", "one"]),
        "1\n"
    );
    let identity = console.json(&["--instance", "two", "show", "/system/identity"]);
    assert_eq!(identity, json!({"address": "svit://local/two"}));

    let elsewhere = tempfile::tempdir().unwrap();
    let chosen = elsewhere.path().join("deep/er");
    console.says(&[
        "--data-dir",
        chosen.to_str().unwrap(),
        "write",
        "/memory/x",
        "3",
    ]);
    assert!(chosen.join("default/svit.db").is_file());
    assert!(!console.database("default").exists());
}

#[cfg(all(unix, not(target_os = "macos")))]
#[test]
fn without_a_choice_it_is_the_users_data_folder_and_nobody_elses() {
    use std::os::unix::fs::PermissionsExt;

    let console = Console::new();
    let mut program = console.program(&["write", "/memory/x", "1"]);
    said(&program.env_remove("LAMPA_DATA_DIR").output().unwrap());
    let folder = console
        .folder
        .path()
        .join("home/.local/share/lampa/default");
    assert!(folder.join("svit.db").is_file());
    assert_eq!(
        folder.metadata().unwrap().permissions().mode() & 0o777,
        0o700
    );
}

#[test]
fn a_script_runs_and_commits_and_is_shown() {
    let console = Console::new();
    console.says(&["write", "/memory/count", "6"]);
    console.says(&["write", "/lib/counter", COUNTER]);
    let shown = console.says(&["exec", "/lib/counter", r#"{"by": 3}"#]);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(
        &lines[..4],
        ["{", "  \"count\": 9", "}", "info: counted {\"count\": 9}"],
        "{shown}"
    );
    // What is granted to it was committed in between.
    let granted = console.granted();
    let versions = format!("version {} to {}, ", 2 + granted, 3 + granted);
    assert!(
        lines[4].starts_with(&versions) && lines[4].contains(" of 1000000 ticks, 0 messages"),
        "{shown}"
    );
    assert!(lines[4].ends_with("changed: /memory/count"), "{shown}");

    let ran = console.json(&["exec", "/lib/counter", r#"{"by": 1}"#]);
    assert_eq!(ran["output"], json!({"count": 10}));
    assert_eq!(
        ran["logs"],
        json!([{"level": "info", "message": "counted", "fields": {"count": 10}}])
    );
    // The second time nothing had to be.
    assert_eq!(
        (&ran["before"], &ran["version"]),
        (&json!(3 + granted), &json!(4 + granted))
    );
    assert_eq!(ran["changed"], json!(["/memory/count"]));
    assert!(ran["ticks"].as_u64().unwrap() < ran["budget"].as_u64().unwrap());
    assert_eq!(console.says(&["show", "/memory/count"]), "10\n");
}

#[test]
fn every_version_can_be_listed_and_read() {
    let console = Console::new();
    for value in ["\"teal\"", "\"crimson\"", "\"grey\""] {
        console.says(&["write", "/memory/color", value]);
    }
    assert_eq!(
        console.says(&["show", "/memory/color", "--at", "1"]),
        "teal\n"
    );
    assert_eq!(
        console.json(&["show", "/memory/color", "--at", "2"]),
        json!("crimson")
    );

    let log = console.says(&["log"]);
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines.len(), 3);
    for (line, version) in lines.iter().zip(1..) {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[0], version.to_string());
        assert!(
            words[1].starts_with("20") && words[2].ends_with('Z'),
            "{line}"
        );
        assert_eq!(words[3..], ["host", "/memory/color"]);
    }

    assert_eq!(console.says(&["log", "/memory"]), log);
    let other = console.says(&["log", "/memory/colors"]);
    assert_eq!(
        other,
        "no version that is kept has changed /memory/colors\n"
    );

    let log = console.json(&["log"]);
    let entries = log.as_array().unwrap();
    assert_eq!(entries.len(), 3);
    assert_eq!(entries[2]["version"], json!(3));
    assert_eq!(entries[2]["changed"], json!(["/memory/color"]));
    assert_eq!(entries[2]["root"].as_str().unwrap().len(), 64);
    assert!(entries[0]["committed_at"].as_u64() > Some(1_600_000_000_000));
}

#[test]
fn json_is_exact_where_people_see_a_safe_form() {
    let console = Console::new();
    let odd = r#""\u001b[31mred\u001b[0m""#;
    let written = console.json(&["write", "/memory/odd", odd]);
    assert_eq!(
        (&written["version"], &written["changed"]),
        (&json!(1), &json!(["/memory/odd"]))
    );
    assert_eq!(
        console.says(&["show", "/memory/odd"]),
        "\\u{1b}[31mred\\u{1b}[0m\n"
    );
    assert_eq!(
        console.json(&["show", "/memory/odd"]),
        json!("\u{1b}[31mred\u{1b}[0m")
    );
}

#[test]
fn a_long_history_is_listed_whole_and_a_reader_may_stop_early() {
    let console = Console::new();
    let instance = svit_history(&console, 600);
    let log = console.says(&["--instance", &instance, "log"]);
    assert_eq!(log.lines().count(), 600);
    assert!(log.lines().last().unwrap().trim_start().starts_with("600 "));

    // The pipe is closed before all of the listing was read.
    let mut program = console.program(&["--instance", &instance, "log"]);
    let mut child = program
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut [0; 16]).unwrap();
    drop(out);
    let output = child.wait_with_output().unwrap();
    assert!(output.stderr.is_empty(), "{output:?}");
    assert!(output.status.success());
}

/// An instance with so many versions, made through the library.
fn svit_history(console: &Console, versions: i64) -> String {
    use svit::{Process, TursoProcessStore};

    let database = console.database("long");
    std::fs::create_dir(database.parent().unwrap()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = TursoProcessStore::open(&database).await.unwrap();
        let process = Process::builder("svit://local/long")
            .unwrap()
            .build()
            .unwrap();
        let process = store.create(process).await.unwrap();
        // Some hundred bytes a line: more than a pipe holds.
        let name = "n".repeat(200);
        for version in 0..versions {
            process
                .write(format!("/memory/{name}"), version)
                .await
                .unwrap();
        }
        drop(process);
        store.close().await.unwrap();
    });
    // Programs that other tests start at this moment hold the lock too, from their fork to their exec.
    let listed = || {
        console
            .program(&["--instance", "long", "log"])
            .output()
            .unwrap()
    };
    for _ in 0..500 {
        if listed().status.success() {
            break;
        }
        sleep(Duration::from_millis(20));
    }
    "long".to_owned()
}

#[test]
fn help_and_version_are_printed_and_make_nothing() {
    let console = Console::new();
    assert!(console.says(&["--help"]).contains("usage: lampa"));
    assert!(console.says(&["send", "-h"]).contains("usage: lampa"));
    assert!(console.says(&["--version"]).starts_with("lampa 0."));
    assert_eq!(std::fs::read_dir(console.folder.path()).unwrap().count(), 0);
}
