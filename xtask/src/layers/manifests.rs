//! What manifests declare and what crates reach, against the table.

use super::table::{
    By, EXAMPLES_MAY_USE, FEW_DEPENDENCIES, FORBIDDEN, FORBIDDEN_FEATURE_WORDS, FORBIDDEN_FEATURES,
    LAYERS, Layer, ONLY_BY_FEATURE, TESTKIT,
};
use crate::finding::Finding;
use crate::workspace::{Dependency, Package, Workspace};

pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    if workspace.unsafe_code.as_deref() != Some("forbid") {
        let text = "[workspace.lints.rust] must say unsafe_code = \"forbid\"";
        findings.push(Finding::new("unsafe", "Cargo.toml", text));
    }
    for package in &workspace.packages {
        let before = findings.len();
        if !package.inherits_lints {
            findings.push(Finding::new(
                "lints",
                &package.name,
                "must have [lints] workspace = true",
            ));
        }
        workspace_dependencies(workspace, package, &mut findings);
        third_parties(package, &mut findings);
        few_dependencies(package, &mut findings);
        feature_words(package, &mut findings);
        for finding in &mut findings[before..] {
            finding.place = format!("{}/Cargo.toml", package.folder(&workspace.root));
        }
    }
    findings
}

/// What a package may use of the workspace: its row, or the row that all examples share.
pub(super) fn may_use(workspace: &Workspace, package: &Package) -> Option<Allowed> {
    if let Some(layer) = LAYERS.iter().find(|layer| layer.name == package.name) {
        return Some(Allowed::of(layer));
    }
    let in_examples = package.folder(&workspace.root).starts_with("examples/");
    in_examples.then(|| Allowed {
        normal: EXAMPLES_MAY_USE.to_vec(),
        by_feature: Vec::new(),
        tests: Vec::new(),
    })
}

/// One row of the table, taken apart.
pub(super) struct Allowed {
    normal: Vec<&'static str>,
    by_feature: Vec<&'static str>,
    tests: Vec<&'static str>,
}

impl Allowed {
    fn of(layer: &Layer) -> Self {
        let (by_feature, normal): (Vec<&'static str>, Vec<&'static str>) =
            layer.may_use.iter().partition(|name| name.ends_with('?'));
        Self {
            normal,
            by_feature: by_feature
                .iter()
                .map(|name| name.trim_end_matches('?'))
                .collect(),
            tests: layer.tests_may_use.to_vec(),
        }
    }

    pub(super) fn names(&self, name: &str) -> bool {
        self.normal.contains(&name) || self.by_feature.contains(&name)
    }

    pub(super) fn names_in_tests(&self, name: &str) -> bool {
        self.names(name) || self.tests.contains(&name) || name == TESTKIT
    }
}

/// Whether a crate of this name is, or should be, in this workspace.
pub(super) fn is_ours(name: &str) -> bool {
    LAYERS.iter().any(|layer| layer.name == name) || name.starts_with("svit-")
}

fn workspace_dependencies(workspace: &Workspace, package: &Package, findings: &mut Vec<Finding>) {
    let Some(allowed) = may_use(workspace, package) else {
        let text = "is not in xtask/src/layers/table.rs: give it a place in the layers";
        findings.push(Finding::new("unknown", &package.name, text));
        return;
    };
    for dependency in package.dependencies.iter().filter(|one| is_ours(&one.name)) {
        let name = dependency.name.as_str();
        if let Some(text) = refusal(&allowed, dependency) {
            let text = format!("{} {text}", package.name);
            findings.push(Finding::new("above", name, text));
        }
    }
}

fn refusal(allowed: &Allowed, dependency: &Dependency) -> Option<String> {
    let name = dependency.name.as_str();
    if dependency.is_dev() {
        if !allowed.names_in_tests(name) {
            return Some(format!("may not use {name}, not even in its tests"));
        }
        let by_path = dependency.path.is_some() && dependency.req == "*";
        if name == TESTKIT && !by_path {
            return Some(format!("must use {name} by path and without a version"));
        }
        return None;
    }
    if name == TESTKIT {
        return Some(format!("may use {name} only as a dev-dependency"));
    }
    if !allowed.names(name) {
        return Some(format!("may not use {name}"));
    }
    (allowed.by_feature.contains(&name) && !dependency.optional)
        .then(|| format!("may use {name} only behind a feature (optional = true)"))
}

fn third_parties(package: &Package, findings: &mut Vec<Finding>) {
    let declared = || package.dependencies.iter().filter(|one| !one.is_dev());
    for rule in FORBIDDEN.iter().filter(|rule| rule.who.has(&package.name)) {
        let matches = |name: &&str| rule.what.iter().any(|pattern| fits(pattern, name));
        let found: Vec<&str> = match rule.by {
            By::Naming => declared()
                .map(|one| one.name.as_str())
                .filter(matches)
                .collect(),
            By::Reaching => package
                .reach
                .iter()
                .map(String::as_str)
                .filter(matches)
                .collect(),
        };
        let verb = if rule.by == By::Naming {
            "names"
        } else {
            "reaches"
        };
        for name in found {
            let text = format!("{} {verb} {name}: {}", package.name, rule.why);
            findings.push(Finding::new("forbidden", name, text));
        }
    }
    for rule in FORBIDDEN_FEATURES
        .iter()
        .filter(|rule| rule.who.has(&package.name))
    {
        for dependency in declared().filter(|one| one.name == rule.of) {
            for feature in dependency
                .features
                .iter()
                .filter(|one| rule.features.contains(&one.as_str()))
            {
                let text = format!(
                    "{} asks {} for `{feature}`: {}",
                    package.name, rule.of, rule.why
                );
                findings.push(Finding::new("forbidden", rule.of, text));
            }
        }
    }
    for (_, pattern) in ONLY_BY_FEATURE
        .iter()
        .filter(|(who, _)| *who == package.name)
    {
        for dependency in declared().filter(|one| fits(pattern, &one.name) && !one.optional) {
            let text = format!(
                "{} may use {} only behind a feature",
                package.name, dependency.name
            );
            findings.push(Finding::new("optional", &dependency.name, text));
        }
    }
}

/// Each dependency of the lowest layers is a decision, so a new one needs a word in the table.
fn few_dependencies(package: &Package, findings: &mut Vec<Finding>) {
    for (_, known) in FEW_DEPENDENCIES
        .iter()
        .filter(|(who, _)| *who == package.name)
    {
        let declared = package
            .dependencies
            .iter()
            .filter(|one| !one.is_dev() && !is_ours(&one.name));
        for dependency in declared.filter(|one| !known.contains(&one.name.as_str())) {
            let text = format!(
                "{} uses {}, which its row does not name",
                package.name, dependency.name
            );
            findings.push(Finding::new("few", &dependency.name, text));
        }
    }
}

/// A feature that names what the crate must not know is a `cfg` that knows it.
fn feature_words(package: &Package, findings: &mut Vec<Finding>) {
    for rule in FORBIDDEN_FEATURE_WORDS
        .iter()
        .filter(|rule| rule.who.has(&package.name))
    {
        for feature in package.features.keys() {
            let mut words = feature.split(|c: char| !c.is_ascii_alphanumeric());
            if let Some(word) = words.find(|word| rule.words.contains(word)) {
                let text = format!(
                    "the feature `{feature}` names {word}, which {} does not know",
                    package.name
                );
                findings.push(Finding::new("feature", &package.name, text));
            }
        }
    }
}

fn fits(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    }
}
