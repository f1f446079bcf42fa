//! `cargo xtask features`: every crate by itself, without features, with each alone, and with all.
//!
//! The list is made from `cargo metadata`, so it cannot go stale. Clippy is used rather than `cargo check`
//! because its `-D warnings` reaches only the crate in question and rebuilds no dependency: a combination that
//! leaves an unused import behind fails too.

use std::time::Instant;

use crate::command;
use crate::workspace::{Package, Workspace};

pub(crate) fn command(only: Option<&str>) -> Result<(), String> {
    let workspace = Workspace::load()?;
    let mut checked = 0_usize;
    let mut failed = Vec::new();
    for package in &workspace.packages {
        if only.is_some_and(|only| only != package.name) {
            continue;
        }
        for combination in combinations(package) {
            let started = Instant::now();
            let mut cargo = command::cargo(&workspace.root);
            cargo.args(["clippy", "--quiet", "--no-deps", "--package", &package.name]);
            cargo.args(&combination);
            cargo.args(["--", "-D", "warnings"]);
            let shown = format!("{} {}", package.name, combination.join(" "));
            let outcome = command::run(&mut cargo);
            let word = if outcome.is_ok() { "ok" } else { "FAILED" };
            println!(
                "{word:6} {:>6.1} s  {shown}",
                started.elapsed().as_secs_f64()
            );
            checked += 1;
            if outcome.is_err() {
                failed.push(shown);
            }
        }
    }
    match (checked, failed.as_slice()) {
        (0, _) => Err(format!("no package called {}", only.unwrap_or("anything"))),
        (_, []) => {
            println!("features: {checked} combinations ok");
            Ok(())
        }
        _ => Err(format!(
            "{} of {checked} combinations failed:\n  {}",
            failed.len(),
            failed.join("\n  ")
        )),
    }
}

/// The arguments for each combination, no two alike. A crate without features has one.
fn combinations(package: &Package) -> Vec<Vec<&str>> {
    let features = package.own_features();
    let mut combinations = vec![vec!["--no-default-features"]];
    if let [_, _, ..] = features.as_slice() {
        let alone = features
            .iter()
            .map(|one| vec!["--no-default-features", "--features", *one]);
        combinations.extend(alone);
    }
    if !features.is_empty() {
        combinations.push(vec!["--all-features"]);
    }
    combinations
}

#[cfg(test)]
mod tests {
    use super::combinations;
    use crate::workspace::Package;

    fn with(features: &[&str]) -> Vec<String> {
        let package = Package {
            features: features
                .iter()
                .map(|name| ((*name).to_owned(), Vec::new()))
                .collect(),
            ..Package::default()
        };
        combinations(&package)
            .iter()
            .map(|args| args.join(" "))
            .collect()
    }

    #[test]
    fn each_combination_is_tried_once() {
        assert_eq!(with(&[]), ["--no-default-features"]);
        assert_eq!(
            with(&["default", "jq"]),
            ["--no-default-features", "--all-features"]
        );
        assert_eq!(
            with(&["default", "jq", "search"]),
            [
                "--no-default-features",
                "--no-default-features --features jq",
                "--no-default-features --features search",
                "--all-features",
            ]
        );
    }
}
