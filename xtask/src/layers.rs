//! `cargo xtask layers`: the workspace against the tables of `layers/table.rs`.
//!
//! Three kinds of facts are read: what each manifest declares, what each crate reaches (all features,
//! every platform, normal dependencies), and what the source text names. The checks are pure functions
//! over those facts.

mod manifests;
mod sources;
mod table;

use crate::finding::{Finding, report};
use crate::workspace::{TextFile, Workspace};

pub(crate) fn command() -> Result<(), String> {
    let mut workspace = Workspace::load()?;
    workspace.load_reach()?;
    let texts = workspace.texts()?;
    let looked_at = format!("layers of {} packages", workspace.packages.len());
    let mut findings = check(&workspace, &texts);
    findings.extend(sources::stale(table::FORBIDDEN_TEXT, &texts));
    report(findings, &looked_at)
}

fn check(workspace: &Workspace, texts: &[TextFile]) -> Vec<Finding> {
    let mut findings = manifests::check(workspace);
    findings.extend(sources::check(workspace, texts));
    findings
}

#[cfg(test)]
mod tests;
