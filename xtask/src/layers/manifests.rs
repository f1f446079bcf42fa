//! What manifests declare and what crates reach, against the table.

use super::table::{
    By, EXAMPLES_MAY_USE, FEW_DEPENDENCIES, FORBIDDEN, FORBIDDEN_FEATURE_WORDS, FORBIDDEN_FEATURES,
    LAYERS, ONLY_BY_FEATURE, TESTKIT,
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
        let place = format!("{}/Cargo.toml", package.folder(&workspace.root));
        let broken = broken_rules(workspace, package).into_iter();
        findings.extend(broken.map(|(rule, text)| Finding::new(rule, &place, text)));
    }
    findings
}

/// A rule's name and what breaks it.
type Broken = (&'static str, String);

fn broken_rules(workspace: &Workspace, package: &Package) -> Vec<Broken> {
    let mut broken = Vec::new();
    if !package.inherits_lints {
        broken.push(("lints", "must have [lints] workspace = true".to_owned()));
    }
    workspace_dependencies(workspace, package, &mut broken);
    third_parties(package, &mut broken);
    third_party_features(package, &mut broken);
    few_dependencies(package, &mut broken);
    own_features(package, &mut broken);
    broken
}

/// What a package may name of the workspace: its row, or the row that all examples share.
pub(super) struct Allowed(&'static [&'static str]);

impl Allowed {
    /// None if the package has no place in the layers.
    pub(super) fn of(workspace: &Workspace, package: &Package) -> Option<Self> {
        let layer = LAYERS.iter().find(|layer| layer.name == package.name);
        let in_examples = package.folder(&workspace.root).starts_with("examples/");
        match layer {
            Some(layer) => Some(Self(layer.may_use)),
            None => in_examples.then_some(Self(EXAMPLES_MAY_USE)),
        }
    }

    pub(super) fn names(&self, name: &str) -> bool {
        self.0.iter().any(|one| one.trim_end_matches('?') == name)
    }

    pub(super) fn names_in_tests(&self, name: &str) -> bool {
        self.names(name) || name == TESTKIT
    }

    fn only_by_feature(&self, name: &str) -> bool {
        self.0.iter().any(|one| one.strip_suffix('?') == Some(name))
    }
}

/// Whether a crate of this name is, or should be, in this workspace.
pub(super) fn is_ours(name: &str) -> bool {
    LAYERS.iter().any(|layer| layer.name == name) || name.starts_with("svit-")
}

fn workspace_dependencies(workspace: &Workspace, package: &Package, broken: &mut Vec<Broken>) {
    let Some(allowed) = Allowed::of(workspace, package) else {
        let text = format!(
            "{} is not in xtask/src/layers/table.rs: give it a place in the layers",
            package.name
        );
        broken.push(("unknown", text));
        return;
    };
    for dependency in package.dependencies.iter().filter(|one| is_ours(&one.name)) {
        if let Some(text) = refusal(&allowed, dependency) {
            broken.push(("above", format!("{} {text}", package.name)));
        }
    }
}

fn refusal(allowed: &Allowed, dependency: &Dependency) -> Option<String> {
    let name = dependency.name.as_str();
    if dependency.is_dev() {
        let by_path = dependency.path.is_some() && dependency.req == "*";
        return if !allowed.names_in_tests(name) {
            Some(format!("may not use {name}, not even in its tests"))
        } else if name == TESTKIT && !by_path {
            Some(format!("must use {name} by path and without a version"))
        } else {
            None
        };
    }
    if name == TESTKIT {
        Some(format!("may use {name} only as a dev-dependency"))
    } else if !allowed.names(name) {
        Some(format!("may not use {name}"))
    } else if allowed.only_by_feature(name) && !dependency.optional {
        Some(format!("may use {name} only behind a feature"))
    } else {
        None
    }
}

/// The normal and build dependencies of a package.
fn declared(package: &Package) -> impl Iterator<Item = &Dependency> {
    package.dependencies.iter().filter(|one| !one.is_dev())
}

fn third_parties(package: &Package, broken: &mut Vec<Broken>) {
    let owner = &package.name;
    for rule in FORBIDDEN.iter().filter(|rule| rule.who.has(owner)) {
        let (verb, names): (&str, Vec<&str>) = match rule.by {
            By::Naming => (
                "names",
                declared(package).map(|one| one.name.as_str()).collect(),
            ),
            By::Reaching => (
                "reaches",
                package.reach.iter().map(String::as_str).collect(),
            ),
        };
        for name in names {
            if rule.what.iter().any(|pattern| fits(pattern, name)) {
                broken.push(("forbidden", format!("{owner} {verb} {name}: {}", rule.why)));
            }
        }
    }
    for (_, pattern) in ONLY_BY_FEATURE.iter().filter(|(who, _)| who == owner) {
        for one in declared(package).filter(|one| fits(pattern, &one.name) && !one.optional) {
            let text = format!("{owner} may use {} only behind a feature", one.name);
            broken.push(("optional", text));
        }
    }
}

fn third_party_features(package: &Package, broken: &mut Vec<Broken>) {
    let owner = &package.name;
    for rule in FORBIDDEN_FEATURES.iter().filter(|rule| rule.who.has(owner)) {
        let features = declared(package)
            .filter(|one| one.name == rule.of)
            .flat_map(|one| &one.features);
        for feature in features.filter(|one| rule.features.contains(&one.as_str())) {
            let text = format!("{owner} asks {} for `{feature}`: {}", rule.of, rule.why);
            broken.push(("forbidden", text));
        }
    }
}

/// Each dependency of the lowest layers is a decision, so a new one needs a word in the table.
fn few_dependencies(package: &Package, broken: &mut Vec<Broken>) {
    let owner = &package.name;
    for (_, known) in FEW_DEPENDENCIES.iter().filter(|(who, _)| who == owner) {
        for one in declared(package).filter(|one| !is_ours(&one.name)) {
            if !known.contains(&one.name.as_str()) {
                let text = format!("{owner} uses {}, which its row does not name", one.name);
                broken.push(("few", text));
            }
        }
    }
}

/// A feature that names what the crate must not know is a `cfg` that knows it.
fn own_features(package: &Package, broken: &mut Vec<Broken>) {
    let owner = &package.name;
    let rules = FORBIDDEN_FEATURE_WORDS.iter();
    for rule in rules.filter(|rule| rule.who.has(owner)) {
        for feature in package.features.keys() {
            let mut words = feature.split(|c: char| !c.is_ascii_alphanumeric());
            if let Some(word) = words.find(|word| rule.words.contains(word)) {
                let text = format!("the feature `{feature}` names {word}, unknown to {owner}");
                broken.push(("feature", text));
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
