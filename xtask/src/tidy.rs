//! `cargo xtask tidy`: what a reader of the repository may rely on, file by file.
//!
//! Every Rust file opens with a `//!` line that says why it exists and stays short enough to read at once;
//! every lint exception and every ignored test has a reason; no file names a package registry's host.

use crate::finding::{Finding, report};
use crate::source::code_view;
use crate::workspace::{TextFile, Workspace};
use crate::{knowledge, links, threats};

/// Past this a file is named in the report.
const LONG: usize = 600;
/// Past this it is refused.
const TOO_LONG: usize = 800;

/// A file that may be longer, how long, and why.
struct LongFile {
    path: &'static str,
    lines: usize,
    why: &'static str,
}

const LONG_FILES: &[LongFile] = &[];

/// Hosts that no committed file may name, in two parts, so that this file does not name them either.
const REGISTRY_HOSTS: &[(&str, &str)] = &[
    ("crates", ".io"),
    ("pypi", ".org"),
    ("pythonhosted", ".org"),
    ("npmjs", ".org"),
    ("npmjs", ".com"),
    ("yarnpkg", ".com"),
    ("deb.debian", ".org"),
    ("proxy.golang", ".org"),
];

/// Files that may name a host, and why.
const MAY_NAME_A_HOST: &[(&str, &str)] = &[
    ("Cargo.lock", "cargo writes the registry's index name there"),
    (
        "fuzz/Cargo.lock",
        "cargo writes the registry's index name there",
    ),
];

pub(crate) fn command() -> Result<(), String> {
    let workspace = Workspace::load()?;
    let texts = workspace.texts()?;
    for (path, lines) in long_files(&texts) {
        println!(
            "note: {path} has {lines} lines; about {LONG} is where to look for a second concept"
        );
    }
    let mut findings = check(&texts, LONG_FILES);
    findings.extend(links::check(&texts, &workspace.files()?));
    findings.extend(threats::check(&texts));
    findings.extend(knowledge::check(&knowledge::files(&texts)));
    report(findings, &format!("tidy of {} files", texts.len()))
}

fn check(texts: &[TextFile], exceptions: &[LongFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in texts {
        if file.is_rust() {
            module_head(file, &mut findings);
            reasons(file, &mut findings);
            length(file, exceptions, &mut findings);
        }
        registry_hosts(file, &mut findings);
        conflict_marks(file, &mut findings);
    }
    for exception in exceptions {
        let lines = texts
            .iter()
            .find(|file| file.path == exception.path)
            .map(lines);
        if lines.is_none_or(|lines| lines <= TOO_LONG) {
            let text = format!("the exception is not needed any more ({})", exception.why);
            findings.push(Finding::new("length", exception.path, text));
        }
    }
    findings
}

fn lines(file: &TextFile) -> usize {
    file.text.lines().count()
}

fn long_files(texts: &[TextFile]) -> Vec<(&str, usize)> {
    let rust = texts.iter().filter(|file| file.is_rust());
    let sized = rust.map(|file| (file.path.as_str(), lines(file)));
    sized.filter(|(_, lines)| *lines > LONG).collect()
}

fn module_head(file: &TextFile, findings: &mut Vec<Finding>) {
    let says_why = file
        .text
        .lines()
        .next()
        .is_some_and(|line| line.starts_with("//! "));
    if !says_why {
        let text = "the first line must be `//! ` and say why the file exists";
        findings.push(Finding::new("head", &file.path, text));
    }
}

fn length(file: &TextFile, exceptions: &[LongFile], findings: &mut Vec<Finding>) {
    let exception = exceptions
        .iter()
        .find(|exception| exception.path == file.path);
    let allowed = exception.map_or(TOO_LONG, |exception| exception.lines);
    if lines(file) > allowed {
        let text = format!(
            "has {} lines, at most {allowed} are allowed: split it by concept",
            lines(file)
        );
        findings.push(Finding::new("length", &file.path, text));
    }
}

/// `#[allow(..)]`, `#[expect(..)]` and `#[ignore]` say why.
fn reasons(file: &TextFile, findings: &mut Vec<Finding>) {
    let view = code_view(&file.text);
    for start in [
        "#[allow(",
        "#![allow(",
        "#[expect(",
        "#![expect(",
        "#[ignore",
    ] {
        for (at, _) in view.match_indices(start) {
            let attribute = &view[at..at + view[at..].find(']').unwrap_or(0)];
            if !attribute.contains("reason =") && !attribute.contains("ignore =") {
                let line = view[..at].matches('\n').count() + 1;
                let text = format!("`{start}` without a reason");
                findings.push(Finding::new(
                    "reason",
                    format!("{}:{line}", file.path),
                    text,
                ));
            }
        }
    }
}

fn registry_hosts(file: &TextFile, findings: &mut Vec<Finding>) {
    if MAY_NAME_A_HOST.iter().any(|(path, _)| *path == file.path) {
        return;
    }
    let lower = file.text.to_lowercase();
    for (number, line) in lower.lines().enumerate() {
        for (name, domain) in REGISTRY_HOSTS {
            if line.contains(&format!("{name}{domain}")) {
                let place = format!("{}:{}", file.path, number + 1);
                let text = format!("names a package registry's host ({name})");
                findings.push(Finding::new("registry", place, text));
            }
        }
    }
}

fn conflict_marks(file: &TextFile, findings: &mut Vec<Finding>) {
    for (number, line) in file.text.lines().enumerate() {
        if line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> ") {
            let place = format!("{}:{}", file.path, number + 1);
            findings.push(Finding::new(
                "conflict",
                place,
                "a merge was left unfinished",
            ));
        }
    }
}

#[cfg(test)]
mod tests;
