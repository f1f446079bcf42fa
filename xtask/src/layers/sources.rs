//! What the source text names, against the table.

use super::manifests::{Allowed, is_ours};
use super::table::{FORBIDDEN_TEXT, ForbiddenText, NO_STATIC_CELLS, ONE_FILE};
use crate::finding::Finding;
use crate::source::{code_view, has_word, library_view, lines_with};
use crate::workspace::{Package, TextFile, Workspace};

pub(super) fn check(workspace: &Workspace, texts: &[TextFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in &workspace.packages {
        let folder = package.folder(&workspace.root);
        let files: Vec<&TextFile> = texts
            .iter()
            .filter(|file| file.is_rust() && inside(&file.path, &folder))
            .collect();
        for file in &files {
            crates_named(workspace, package, file, &mut findings);
        }
        if folder.starts_with("examples/") {
            continue;
        }
        let library: Vec<(&str, String)> = files
            .iter()
            .filter(|file| !file.is_test())
            .map(|file| (file.path.as_str(), library_view(&file.text)))
            .collect();
        for rule in FORBIDDEN_TEXT
            .iter()
            .filter(|rule| rule.who.has(&package.name))
        {
            forbidden_text(rule, &library, &mut findings);
        }
        seams(package, &library, &mut findings);
        statics(package, &library, &mut findings);
    }
    findings
}

fn inside(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// Crates of ours that the code names, whether or not the manifest knows them: a name behind a `cfg` counts.
fn crates_named(
    workspace: &Workspace,
    package: &Package,
    file: &TextFile,
    findings: &mut Vec<Finding>,
) {
    let Some(allowed) = Allowed::of(workspace, package) else {
        return;
    };
    let view = code_view(&file.text);
    for other in &workspace.packages {
        let name = other.name.as_str();
        let permitted = name == package.name
            || allowed.names(name)
            || (file_may_name_test_crates(file) && allowed.names_in_tests(name));
        if permitted || !is_ours(name) {
            continue;
        }
        for line in lines_naming(&view, &name.replace('-', "_")) {
            let text = format!("{} may not name {name}", package.name);
            findings.push(Finding::new("above", format!("{}:{line}", file.path), text));
        }
    }
}

/// The lines with a path that starts at this crate. A module of the same name is not the crate.
fn lines_naming(view: &str, name: &str) -> Vec<usize> {
    if has_word(view, &format!("mod {name}")) {
        return Vec::new();
    }
    let mut global = view.to_owned();
    for local in ["crate", "self", "super"] {
        global = global.replace(&format!("{local}::{name}::"), "");
    }
    lines_with(&global, &format!("{name}::"))
}

/// Test code inside a library file would not compile without the dev-dependency, which the manifest check judges.
fn file_may_name_test_crates(file: &TextFile) -> bool {
    file.is_test() || file.text.contains("#[cfg(test)]")
}

fn forbidden_text(rule: &ForbiddenText, library: &[(&str, String)], findings: &mut Vec<Finding>) {
    for (path, view) in library {
        if rule.except.iter().any(|(file, _)| file == path) {
            continue;
        }
        for word in rule.words {
            for line in lines_with(view, word) {
                let text = format!("`{word}`: {}", rule.why);
                findings.push(Finding::new(rule.rule, format!("{path}:{line}"), text));
            }
        }
    }
}

/// An exception for a file that is gone, or that no longer needs it, hides the next mistake.
pub(super) fn stale(rules: &[ForbiddenText], texts: &[TextFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in rules {
        for (path, reason) in rule.except {
            let needed = texts
                .iter()
                .find(|file| file.path == *path)
                .is_some_and(|file| {
                    let view = library_view(&file.text);
                    rule.words.iter().any(|word| has_word(&view, word))
                });
            if !needed {
                let text = format!(
                    "the exception from `{}` ({reason}) is not needed any more",
                    rule.rule
                );
                findings.push(Finding::new("stale", *path, text));
            }
        }
    }
    findings
}

fn seams(package: &Package, library: &[(&str, String)], findings: &mut Vec<Finding>) {
    for seam in ONE_FILE.iter().filter(|seam| seam.who == package.name) {
        let naming: Vec<&str> = library
            .iter()
            .filter(|(_, view)| has_word(view, seam.names))
            .map(|(path, _)| *path)
            .collect();
        if naming.len() > 1 {
            let text = format!(
                "{} is named in {}: {}",
                seam.names,
                naming.join(", "),
                seam.why
            );
            findings.push(Finding::new("seam", &package.name, text));
        }
    }
}

fn statics(package: &Package, library: &[(&str, String)], findings: &mut Vec<Finding>) {
    if !NO_STATIC_CELLS.contains(&package.name.as_str()) {
        return;
    }
    let cells = ["Lock", "Mutex", "Atomic", "Cell", "Once"];
    for (path, view) in library {
        for (number, line) in view.lines().enumerate() {
            let is_static = line
                .trim_start()
                .trim_start_matches("pub")
                .trim_start_matches("(crate)")
                .trim_start();
            if is_static.starts_with("static ") && cells.iter().any(|cell| line.contains(cell)) {
                let place = format!("{path}:{}", number + 1);
                findings.push(Finding::new(
                    "global",
                    place,
                    "svit-value and svit-tree have no global state",
                ));
            }
        }
    }
}
