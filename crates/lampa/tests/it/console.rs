//! A folder with instances, and the program to run over it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value as Json;
use tempfile::TempDir;

pub(crate) struct Console {
    pub(crate) folder: TempDir,
}

impl Console {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder }
    }

    /// lampa over this folder, with nothing of this machine's settings.
    pub(crate) fn program(&self, words: &[&str]) -> Command {
        let mut program = Command::new(env!("CARGO_BIN_EXE_lampa"));
        for variable in [
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_BASE_URL",
            "GEMINI_API_KEY",
            "GEMINI_BASE_URL",
            "OLLAMA_BASE_URL",
            "SVIT_MODEL",
            "XDG_DATA_HOME",
        ] {
            program.env_remove(variable);
        }
        program.env("LAMPA_DATA_DIR", self.folder.path());
        program.env("HOME", self.folder.path().join("home"));
        program.args(words);
        program
    }

    pub(crate) fn database(&self, instance: &str) -> PathBuf {
        self.folder.path().join(instance).join("svit.db")
    }

    /// What it prints when it succeeds.
    #[track_caller]
    pub(crate) fn says(&self, words: &[&str]) -> String {
        said(&self.program(words).output().unwrap())
    }

    /// The one JSON value that it prints with `--json`.
    #[track_caller]
    pub(crate) fn json(&self, words: &[&str]) -> Json {
        let text = self.says(&[&["--json"], words].concat());
        assert_eq!(text.lines().count(), 1, "{text}");
        serde_json::from_str(&text).unwrap()
    }

    /// How many versions only say what is granted.
    #[track_caller]
    pub(crate) fn granted(&self) -> usize {
        let log = self.says(&["log"]);
        let is_grant = |line: &&str| line.contains(" /mounts/") || line.contains(" /ports");
        log.lines().filter(is_grant).count()
    }

    /// The sentence that it refuses with.
    #[track_caller]
    pub(crate) fn refuses(&self, exit_code: i32, words: &[&str]) -> String {
        refused(&self.program(words).output().unwrap(), exit_code)
    }
}

/// What a run that succeeded printed.
#[track_caller]
pub(crate) fn said(output: &Output) -> String {
    let (out, err) = texts(output);
    assert_eq!((output.status.code(), &*err), (Some(0), ""), "{out}");
    out
}

/// The sentence of a run that was refused: one line on standard error, nothing on standard output.
#[track_caller]
pub(crate) fn refused(output: &Output, exit_code: i32) -> String {
    let (out, err) = texts(output);
    assert_eq!(
        (output.status.code(), &*out),
        (Some(exit_code), ""),
        "{err}"
    );
    assert_eq!(err.lines().count(), 1, "{err}");
    let sentence = err
        .strip_prefix("lampa: ")
        .and_then(|rest| rest.strip_suffix('\n'));
    sentence.unwrap_or_else(|| panic!("{err}")).to_owned()
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}
