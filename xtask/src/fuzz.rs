//! `cargo xtask fuzz [TARGET] [--seconds N]`: builds the fuzz targets and runs each for a while.
//!
//! The targets are those of `fuzz/Cargo.toml`, a workspace of its own. They are built with the stable
//! toolchain: coverage comes from the compiler's own pass, and instead of a sanitizer there are debug
//! assertions and overflow checks, since no crate of ours has `unsafe`. What a run learns stays in
//! `target/fuzz`: the corpus for the next one, and the input that broke a target.

use std::path::{Path, PathBuf};

use crate::command;
use crate::workspace::Workspace;

/// How long each target runs if nobody says otherwise.
const SECONDS: u64 = 60;

/// What makes a program tell libFuzzer which edges it took.
const COVERAGE: &[&str] = &[
    "--cfg=fuzzing",
    "-Ccodegen-units=1",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];

pub(crate) fn command(args: &[&str]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let root = Workspace::load()?.root;
    let fuzz = Workspace::load_at(&root.join("fuzz"))?;
    let mut names = targets(&fuzz);
    if let Some(only) = &options.only {
        names.retain(|name| name == only);
    }
    if names.is_empty() {
        return Err("no such fuzz target".to_owned());
    }
    let place = root.join("target").join("fuzz");
    let programs = build(&fuzz.root, &place)?;
    let mut failed = Vec::new();
    for name in names {
        println!("fuzz {name} for {} s", options.seconds);
        if let Err(text) = run(&programs.join(name), name, &place, options.seconds) {
            println!("{text}");
            failed.push(name);
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(format!(
        "found something: {}; the inputs are in {}",
        failed.join(", "),
        place.display()
    ))
}

#[derive(Debug, PartialEq, Eq)]
struct Options {
    only: Option<String>,
    seconds: u64,
}

impl Options {
    fn parse(args: &[&str]) -> Result<Self, String> {
        let mut options = Self {
            only: None,
            seconds: SECONDS,
        };
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            match (*arg, options.only.is_some()) {
                ("--seconds", _) => {
                    let seconds = rest.next().and_then(|text| text.parse().ok());
                    // Zero means for ever to libFuzzer.
                    let seconds = seconds.filter(|seconds| *seconds > 0);
                    options.seconds = seconds.ok_or("--seconds needs a number from 1")?;
                }
                (name, false) if !name.starts_with('-') => options.only = Some(name.to_owned()),
                _ => return Err(format!("fuzz does not know {arg}")),
            }
        }
        Ok(options)
    }
}

fn targets(fuzz: &Workspace) -> Vec<&str> {
    let targets = fuzz.packages.iter().flat_map(|package| &package.targets);
    let programs = targets.filter(|target| target.is("bin"));
    programs.map(|target| target.name.as_str()).collect()
}

/// Builds all targets and returns the folder of the programs.
fn build(fuzz: &Path, place: &Path) -> Result<PathBuf, String> {
    let host = host()?;
    let mut cargo = command::cargo(fuzz);
    // Naming the host's own target keeps the flags away from build scripts and macros.
    cargo.args(["build", "--release", "--bins", "--quiet", "--target", &host]);
    cargo.arg("--target-dir").arg(place);
    cargo.env("CARGO_ENCODED_RUSTFLAGS", COVERAGE.join("\u{1f}"));
    command::run(&mut cargo)?;
    Ok(place.join(host).join("release"))
}

/// The target that rustc builds for by itself.
fn host() -> Result<String, String> {
    let said = command::output(std::process::Command::new("rustc").arg("-vV"))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| "rustc -vV names no host".to_owned())
}

fn run(program: &Path, name: &str, place: &Path, seconds: u64) -> Result<(), String> {
    let corpus = place.join("corpus").join(name);
    std::fs::create_dir_all(&corpus)
        .map_err(|error| format!("cannot make {}: {error}", corpus.display()))?;
    let mut fuzzer = std::process::Command::new(program);
    fuzzer.arg(&corpus);
    fuzzer.arg(format!("-max_total_time={seconds}"));
    // The same inputs in the same order each time, so that a change that lands was tried on what the
    // next run tries; more seconds reach new ones.
    fuzzer.arg("-seed=1");
    fuzzer.arg(format!("-artifact_prefix={}/{name}-", place.display()));
    // Longer than this for one input is a finding, and so is more memory than this.
    fuzzer.args([
        "-timeout=20",
        "-rss_limit_mb=2048",
        "-print_final_stats=1",
        "-verbosity=0",
    ]);
    command::run(&mut fuzzer)
}

#[cfg(test)]
mod tests {
    use super::{Options, SECONDS, targets};
    use crate::workspace::{Package, Target, Workspace};

    fn parsed(args: &[&str]) -> Option<(Option<String>, u64)> {
        let options = Options::parse(args).ok()?;
        Some((options.only, options.seconds))
    }

    #[test]
    fn options_are_read_and_mistakes_named() {
        assert_eq!(parsed(&[]), Some((None, SECONDS)));
        assert_eq!(
            parsed(&["--seconds", "5", "car"]),
            Some((Some("car".to_owned()), 5))
        );
        assert_eq!(
            parsed(&["car", "--seconds", "5"]),
            Some((Some("car".to_owned()), 5))
        );
        for bad in [
            &["--seconds"][..],
            &["--seconds", "0"],
            &["--second", "5"],
            &["a", "b"],
        ] {
            assert_eq!(parsed(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn the_targets_are_the_programs() {
        let target = |name: &str, kind: &str| Target {
            name: name.to_owned(),
            kind: vec![kind.to_owned()],
            ..Target::default()
        };
        let fuzz = Workspace {
            root: "/w/fuzz".into(),
            packages: vec![Package {
                targets: vec![
                    target("svit_fuzz", "lib"),
                    target("car", "bin"),
                    target("path", "bin"),
                ],
                ..Package::default()
            }],
            unsafe_code: None,
        };
        assert_eq!(targets(&fuzz), ["car", "path"]);
    }
}
