//! Runs other programs: `cargo` and `git`. A program that fails is an error with its own words in it.

use std::path::Path;
use std::process::{Command, Stdio};

/// `cargo`, the one that runs us, in the workspace root.
pub(crate) fn cargo(root: &Path) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root).stdin(Stdio::null());
    command
}

/// Runs to the end and returns standard output.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let shown = shown(command);
    let output = command
        .output()
        .map_err(|error| format!("cannot start {shown}: {error}"))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{shown} failed ({}):\n{words}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("{shown} printed invalid UTF-8"))
}

/// Runs to the end with our own standard output and error.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let shown = shown(command);
    let status = command
        .status()
        .map_err(|error| format!("cannot start {shown}: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{shown} failed ({status})"))
    }
}

fn shown(command: &Command) -> String {
    let mut text = Path::new(command.get_program())
        .file_name()
        .unwrap_or(command.get_program())
        .to_string_lossy()
        .into_owned();
    for arg in command.get_args() {
        text.push(' ');
        text.push_str(&arg.to_string_lossy());
    }
    text
}
