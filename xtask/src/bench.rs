//! `cargo xtask bench [--only NAME] [--json FILE]`: runs the benches and prints their rows as one table.
//!
//! Benches live beside their crate and measure; this only collects. The protocol between the two:
//!
//! 1. A bench that takes part is a `[[bench]]` target with `harness = false`, named in its package's
//!    manifest: `[package.metadata.svit] rows = ["bench-target"]`.
//! 2. It is run as `cargo bench --package P --bench B [--features F] -- --rows [--only NAME]`, with the features
//!    that the target says it requires (`required-features = ["F"]`; cargo adds `--bench`; arguments that it does
//!    not know it ignores). With `--only` it measures only the row of that name, or
//!    nothing if it has none.
//! 3. For each row it prints one line of JSON on standard output, flushed at once:
//!
//!    ```json
//!    {"row": "svit-bench@1", "name": "value-get", "unit": "ns", "ours": 41.2, "other": 45.8,
//!     "ratio": 0.9, "target": "<= 1.5", "ok": true}
//!    ```
//!
//!    (on one line). `ours` and `other` are medians in `unit`, taken in turn in the same run; `other` and
//!    `ratio` are null where there is nothing to compare with; `ratio` is whatever the target speaks of;
//!    `target` is a short text, `ok` says whether it was met, null if the row is only for information.
//!    An optional `note` is printed below the table. Unknown keys are refused, so that a typing mistake is seen.
//! 4. Lines that do not begin with `{` are remarks and are passed on. Progress goes to standard error.
//!
//! A row that falls short is not an error of the run: speed depends on the machine. `--json` writes the rows
//! with machine and time, for a note or for the README.

mod row;

use std::path::PathBuf;
use std::process::Stdio;

use self::row::{Row, read, table};
use crate::command;
use crate::workspace::{Workspace, at, read_toml};

pub(crate) fn command(args: &[&str]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let workspace = Workspace::load()?;
    let mut rows = Vec::new();
    for bench in taking_part(&workspace)? {
        rows.extend(run(&workspace, &bench, options.only.as_deref())?);
        // No two benches have a row of one name, and building the rest takes long.
        if options.only.is_some() && !rows.is_empty() {
            break;
        }
    }
    if rows.is_empty() {
        return Err(match &options.only {
            Some(only) => format!("no bench has a row called {only}"),
            None => "no bench prints rows".to_owned(),
        });
    }
    print!("{}", table(&rows));
    match &options.json {
        Some(file) => write_json(&rows, file),
        None => Ok(()),
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    only: Option<String>,
    json: Option<PathBuf>,
}

impl Options {
    fn parse(args: &[&str]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            let value = rest.next().ok_or_else(|| format!("{arg} needs a value"))?;
            match *arg {
                "--only" => options.only = Some((*value).to_owned()),
                "--json" => options.json = Some(PathBuf::from(value)),
                _ => return Err(format!("bench does not know {arg}")),
            }
        }
        Ok(options)
    }
}

/// A bench that prints rows.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Bench {
    package: String,
    name: String,
    /// The features that the target requires.
    features: Vec<String>,
}

/// The benches that packages name as row printers, each checked to exist.
fn taking_part(workspace: &Workspace) -> Result<Vec<Bench>, String> {
    let mut found = Vec::new();
    for package in &workspace.packages {
        let manifest = read_toml(&package.manifest_path)?;
        let Some(rows) = at(&manifest, &["package", "metadata", "svit", "rows"]) else {
            continue;
        };
        let names = rows.as_array().map(Vec::as_slice).unwrap_or_default();
        for name in names.iter().map(|name| name.as_str().unwrap_or_default()) {
            let mut targets = package.targets.iter();
            let target = targets.find(|target| target.is("bench") && target.name == name);
            let Some(target) = target else {
                return Err(format!("{} has no bench called `{name}`", package.name));
            };
            found.push(Bench {
                package: package.name.clone(),
                name: name.to_owned(),
                features: target.required_features.clone(),
            });
        }
    }
    Ok(found)
}

fn run(workspace: &Workspace, bench: &Bench, only: Option<&str>) -> Result<Vec<Row>, String> {
    let Bench { package, name, .. } = bench;
    eprintln!("bench {package} {name}");
    let mut cargo = command::cargo(&workspace.root);
    cargo.args(["bench", "--quiet", "--package", package, "--bench", name]);
    if !bench.features.is_empty() {
        cargo.args(["--features", &bench.features.join(",")]);
    }
    cargo.args(["--", "--rows"]);
    if let Some(only) = only {
        cargo.args(["--only", only]);
    }
    let printed = command::output(cargo.stderr(Stdio::inherit()))?;
    let mut rows = Vec::new();
    for line in printed.lines() {
        match read(line) {
            Ok(Some(row)) if only.is_none_or(|only| only == row.name) => rows.push(row),
            Ok(Some(_)) => {}
            Ok(None) => eprintln!("{line}"),
            Err(error) => {
                return Err(format!(
                    "{package} {name} printed a bad row: {error}\n{line}"
                ));
            }
        }
    }
    Ok(rows)
}

fn write_json(rows: &[Row], file: &PathBuf) -> Result<(), String> {
    let seconds = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let document = serde_json::json!({
        "format": row::FORMAT,
        "unix_seconds": seconds,
        "machine": { "processor": processor(), "cores": cores, "os": std::env::consts::OS },
        "rows": rows,
    });
    let text = serde_json::to_string_pretty(&document).map_err(|error| error.to_string())?;
    std::fs::write(file, text + "\n")
        .map_err(|error| format!("cannot write {}: {error}", file.display()))
}

/// The processor's name where the system says it.
fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("model name"));
    let name = line
        .and_then(|line| line.split_once(':'))
        .map(|(_, name)| name.trim());
    name.unwrap_or(std::env::consts::ARCH).to_owned()
}

#[cfg(test)]
mod tests;
