//! Running an example of this crate as a program of its own.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// An example that cargo has built beside this test.
pub(crate) fn program(name: &str) -> Command {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).unwrap();
    let file = profile
        .join("examples")
        .join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(
        file.exists(),
        "{} is not built: run `cargo build -p svit --examples`",
        file.display()
    );
    let mut command = Command::new(file);
    for variable in ["OPENAI_API_KEY", "OPENAI_BASE_URL", "SVIT_MODEL"] {
        command.env_remove(variable);
    }
    command
}

/// A folder for one run of the quickstart.
pub(crate) struct Quickstart {
    folder: tempfile::TempDir,
}

impl Quickstart {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder }
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.folder.path().join("store.db")
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = program("quickstart");
        command.arg("--store").arg(self.store());
        command
    }

    pub(crate) fn start(&self) -> Child {
        let mut command = self.command();
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    }

    /// Runs it to its end.
    pub(crate) fn finish(&self) -> String {
        said(&self.command().output().unwrap())
    }
}

/// What a program printed; it must have ended well.
pub(crate) fn said(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);
    String::from_utf8(output.stdout.clone()).unwrap()
}
