//! Programs that do well, fail, hang, or look for a key.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::{executable, found, run, without_model_servers};
use crate::workspace::{Package, Target, Workspace};

/// Runs a shell script as if it were an example.
fn script(text: &str, limit: Duration) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("example");
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    // Another test's fork may still hold the file open for writing; the kernel then says "busy".
    for _ in 0..100 {
        match run(&path, limit) {
            Err(text) if text.contains("busy") => std::thread::sleep(Duration::from_millis(10)),
            outcome => return outcome,
        }
    }
    run(&path, limit)
}

const LONG: Duration = Duration::from_secs(30);

#[test]
fn an_example_that_ends_well_is_fine_and_starts_in_an_empty_directory_without_input() {
    assert_eq!(
        script(
            "test -z \"$(ls -A)\" && ! read line && touch left-behind",
            LONG
        ),
        Ok(())
    );
}

#[test]
fn an_example_that_fails_shows_its_last_words() {
    let text = script("echo first; echo last words >&2; exit 3", LONG).unwrap_err();
    assert!(text.contains("3") && text.contains("last words"), "{text}");
}

#[test]
fn an_example_that_hangs_is_stopped() {
    let started = Instant::now();
    let text = script("echo waiting; exec sleep 60", Duration::from_millis(300)).unwrap_err();
    assert!(
        text.contains("not done") && text.contains("waiting"),
        "{text}"
    );
    assert!(started.elapsed() < Duration::from_secs(30));
}

#[test]
fn keys_and_addresses_of_model_servers_are_taken_away() {
    let names = [
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "ANTHROPIC_API_KEY",
        "PATH",
    ];
    let mut command = Command::new("example");
    without_model_servers(&mut command, names.iter().map(|name| (*name).to_owned()));
    let mut removed: Vec<_> = command
        .get_envs()
        .filter(|(_, value)| value.is_none())
        .filter_map(|(name, _)| name.to_str())
        .collect();
    removed.sort_unstable();
    assert_eq!(
        removed,
        ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"]
    );
}

#[test]
fn the_examples_are_those_of_the_facade_and_of_the_examples_folder() {
    let package = |name: &str, folder: &str, kind: &str| Package {
        name: name.to_owned(),
        manifest_path: PathBuf::from(format!("/w/{folder}/Cargo.toml")),
        targets: vec![Target {
            name: format!("{name}-program"),
            kind: vec![kind.to_owned()],
            ..Target::default()
        }],
        ..Package::default()
    };
    let workspace = Workspace {
        root: PathBuf::from("/w"),
        packages: vec![
            package("svit", "crates/svit", "example"),
            package("svit", "crates/svit", "lib"),
            package("custom", "examples/custom", "bin"),
            package("lampa", "crates/lampa", "bin"),
            package("svit-value", "crates/svit-value", "example"),
        ],
        unsafe_code: None,
    };
    let names: Vec<&str> = found(&workspace)
        .iter()
        .map(|(_, target)| target.name.as_str())
        .collect();
    assert_eq!(names, ["svit-program", "custom-program"]);
}

#[test]
fn cargo_says_where_the_program_is() {
    let messages = "{\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"dep\"},\"executable\":null}\n\
                    {\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"one\"},\"executable\":\"/t/one\"}\n\
                    {\"reason\":\"build-finished\",\"success\":true}\n";
    assert_eq!(
        executable(messages, "one").as_deref(),
        Some(Path::new("/t/one"))
    );
    assert_eq!(executable(messages, "dep"), None);
}
