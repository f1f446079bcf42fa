//! `cargo xtask examples`: builds every example and runs it as a stranger would.
//!
//! Each runs in an empty directory of its own, without a terminal, without any key or address of a model
//! server in the environment, and within a time limit. The list is made from `cargo metadata`: the examples
//! of `svit`, and every program of the packages in `examples/`.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::command;
use crate::workspace::{Package, Target, Workspace};

/// The crate whose `examples/` folder is run.
const FACADE: &str = "svit";
/// An example that takes longer than this is stopped and has failed.
const TIME_LIMIT: Duration = Duration::from_secs(120);
/// How much of a failed example's output is shown.
const SHOWN_LINES: usize = 40;

pub(crate) fn command(only: Option<&str>) -> Result<(), String> {
    let workspace = Workspace::load()?;
    let mut ran = 0_usize;
    let mut failed = Vec::new();
    for (package, target) in found(&workspace) {
        if only.is_some_and(|only| only != target.name) {
            continue;
        }
        let program = build(&workspace, package, target)?;
        let started = Instant::now();
        let outcome = run(&program, TIME_LIMIT);
        let word = if outcome.is_ok() { "ok" } else { "FAILED" };
        println!(
            "{word:6} {:>6.1} s  {}",
            started.elapsed().as_secs_f64(),
            target.name
        );
        ran += 1;
        if let Err(text) = outcome {
            println!("{text}");
            failed.push(target.name.as_str());
        }
    }
    match (ran, only, failed.as_slice()) {
        (0, Some(only), _) => Err(format!("no example called {only}")),
        (0, None, _) => Err("no example found".to_owned()),
        (_, _, []) => {
            println!("examples: {ran} ok");
            Ok(())
        }
        _ => Err(format!(
            "{} of {ran} examples failed: {}",
            failed.len(),
            failed.join(", ")
        )),
    }
}

fn found(workspace: &Workspace) -> Vec<(&Package, &Target)> {
    let mut found = Vec::new();
    for package in &workspace.packages {
        let larger = package.folder(&workspace.root).starts_with("examples/");
        for target in &package.targets {
            let single = package.name == FACADE && target.is("example");
            if single || (larger && (target.is("bin") || target.is("example"))) {
                found.push((package, target));
            }
        }
    }
    found
}

/// Builds one example and returns the program that cargo says it made.
fn build(workspace: &Workspace, package: &Package, target: &Target) -> Result<PathBuf, String> {
    let mut cargo = command::cargo(&workspace.root);
    cargo.args([
        "build",
        "--quiet",
        "--message-format",
        "json-render-diagnostics",
    ]);
    cargo.args(["--package", &package.name]);
    let kind = if target.is("example") {
        "--example"
    } else {
        "--bin"
    };
    cargo.args([kind, &target.name]);
    if !target.required_features.is_empty() {
        cargo.args(["--features", &target.required_features.join(",")]);
    }
    let messages = command::output(&mut cargo)?;
    executable(&messages, &target.name)
        .ok_or_else(|| format!("cargo named no program for {}", target.name))
}

/// The program of a target in cargo's messages, one JSON object a line.
fn executable(messages: &str, name: &str) -> Option<PathBuf> {
    messages.lines().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let is_it = message.pointer("/target/name")?.as_str()? == name;
        let program = message.get("executable")?.as_str()?;
        is_it.then(|| PathBuf::from(program))
    })
}

fn run(program: &Path, limit: Duration) -> Result<(), String> {
    let folder = Scratch::new()?;
    let output = folder.0.join("output.txt");
    let work = folder.0.join("work");
    std::fs::create_dir(&work).map_err(|error| error.to_string())?;
    let written = File::create(&output).map_err(|error| error.to_string())?;
    let also = written.try_clone().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command
        .current_dir(&work)
        .stdin(Stdio::null())
        .stdout(written)
        .stderr(also);
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    without_model_servers(&mut command, names);
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let started = Instant::now();
    loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(format!("{status}\n{}", tail(&output))),
            None if started.elapsed() >= limit => {
                // It may have ended between the two calls; then there is nothing to stop.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("not done after {limit:?}\n{}", tail(&output)));
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// Takes keys and addresses of model servers out of the environment.
fn without_model_servers(command: &mut Command, names: impl Iterator<Item = String>) {
    for name in names.filter(|name| name.ends_with("_API_KEY") || name.ends_with("_BASE_URL")) {
        command.env_remove(name);
    }
}

/// The last lines that a program wrote.
fn tail(output: &Path) -> String {
    let bytes = std::fs::read(output).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n")
}

/// An empty folder that goes away with the value.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self, String> {
        let base = std::env::temp_dir();
        let process = std::process::id();
        for number in 0..10_000 {
            let path = base.join(format!("svit-example-{process}-{number}"));
            match std::fs::create_dir(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(format!("cannot make {}: {error}", path.display())),
            }
        }
        Err(format!("no free folder name in {}", base.display()))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder left behind in the temporary directory harms nobody.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
