//! What `cargo` and `git` say about this workspace, cut down to the facts that the checks use.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::command;

/// The answer of `cargo metadata --no-deps`, with the manifests' lint tables beside it.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    pub(crate) packages: Vec<Package>,
    /// The level of `unsafe_code` in `[workspace.lints.rust]`.
    pub(crate) unsafe_code: Option<String>,
}

/// One package of the workspace.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) manifest_path: PathBuf,
    #[serde(default)]
    pub(crate) dependencies: Vec<Dependency>,
    #[serde(default)]
    pub(crate) features: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    pub(crate) targets: Vec<Target>,
    /// `[lints] workspace = true`.
    #[serde(skip)]
    pub(crate) inherits_lints: bool,
    /// Every crate reached through normal dependencies, on every platform, with all features.
    #[serde(skip)]
    pub(crate) reach: BTreeSet<String>,
}

impl Package {
    /// The folder of the package, relative to the workspace root, with `/` between segments.
    pub(crate) fn folder(&self, root: &Path) -> String {
        let folder = self.manifest_path.parent().unwrap_or(Path::new(""));
        let relative = folder.strip_prefix(root).unwrap_or(folder);
        relative.to_string_lossy().replace('\\', "/")
    }

    /// The features that somebody can ask for, without `default`.
    pub(crate) fn own_features(&self) -> Vec<&str> {
        let names = self.features.keys().map(String::as_str);
        names.filter(|name| *name != "default").collect()
    }
}

/// One line of a dependency table.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// None is a normal dependency, else `dev` or `build`.
    #[serde(default)]
    pub(crate) kind: Option<String>,
    #[serde(default)]
    pub(crate) req: String,
    #[serde(default)]
    pub(crate) optional: bool,
    #[serde(default)]
    pub(crate) features: Vec<String>,
    #[serde(default)]
    pub(crate) path: Option<PathBuf>,
}

impl Dependency {
    pub(crate) fn is_dev(&self) -> bool {
        self.kind.as_deref() == Some("dev")
    }
}

/// One thing that cargo can build.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) kind: Vec<String>,
    #[serde(default, rename = "required-features")]
    pub(crate) required_features: Vec<String>,
}

impl Target {
    pub(crate) fn is(&self, kind: &str) -> bool {
        self.kind.iter().any(|one| one == kind)
    }
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_root: PathBuf,
}

impl Workspace {
    /// Asks cargo about the workspace around the current directory. Cheap: nothing is resolved.
    pub(crate) fn load() -> Result<Self, String> {
        let here =
            std::env::current_dir().map_err(|error| format!("no current directory: {error}"))?;
        Self::load_at(&here)
    }

    pub(crate) fn load_at(folder: &Path) -> Result<Self, String> {
        let mut cargo = command::cargo(folder);
        cargo.args(["metadata", "--format-version", "1", "--no-deps"]);
        let metadata: Metadata = serde_json::from_str(&command::output(&mut cargo)?)
            .map_err(|error| format!("cargo metadata: {error}"))?;
        let root = metadata.workspace_root;
        let manifest = read_toml(&root.join("Cargo.toml"))?;
        let unsafe_code = at(&manifest, &["workspace", "lints", "rust", "unsafe_code"])
            .and_then(lint_level)
            .map(str::to_owned);
        let mut packages = metadata.packages;
        for package in &mut packages {
            let manifest = read_toml(&package.manifest_path)?;
            package.inherits_lints =
                at(&manifest, &["lints", "workspace"]).and_then(toml::Value::as_bool) == Some(true);
        }
        Ok(Self {
            root,
            packages,
            unsafe_code,
        })
    }

    /// Fills in [`Package::reach`], one `cargo tree` each. `cargo metadata` would not do: it resolves
    /// the features of the whole workspace at once, so one crate would seem to reach what another asked for.
    pub(crate) fn load_reach(&mut self) -> Result<(), String> {
        for package in &mut self.packages {
            let mut cargo = command::cargo(&self.root);
            cargo.args(["tree", "--package", &package.name, "--all-features"]);
            cargo.args(["--edges", "normal", "--target", "all"]);
            cargo.args(["--prefix", "none", "--format", "{p}"]);
            let tree = command::output(&mut cargo)?;
            package.reach = tree
                .lines()
                .filter_map(|line| line.split_whitespace().next())
                .filter(|name| *name != package.name)
                .map(str::to_owned)
                .collect();
        }
        Ok(())
    }

    /// Every file that git tracks or would add, relative to the root, sorted.
    pub(crate) fn files(&self) -> Result<Vec<String>, String> {
        let mut git = std::process::Command::new("git");
        git.current_dir(&self.root).args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ]);
        let listed = command::output(&mut git)?;
        let mut files: Vec<String> = listed
            .split('\0')
            .filter(|name| !name.is_empty() && self.root.join(name).is_file())
            .map(str::to_owned)
            .collect();
        files.sort();
        files.dedup();
        Ok(files)
    }

    /// The files that are UTF-8 text, with their contents.
    pub(crate) fn texts(&self) -> Result<Vec<TextFile>, String> {
        let mut texts = Vec::new();
        for path in self.files()? {
            if let Ok(text) = std::fs::read_to_string(self.root.join(&path)) {
                texts.push(TextFile { path, text });
            }
        }
        Ok(texts)
    }
}

/// A text file of the repository.
#[derive(Debug, Clone)]
pub(crate) struct TextFile {
    /// Relative to the root, with `/` between segments.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl TextFile {
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether only tests, benches or examples contain this file.
    pub(crate) fn is_test(&self) -> bool {
        let mut segments = self.path.split('/');
        let inside = segments.any(|one| matches!(one, "tests" | "benches" | "examples"));
        inside || self.path.ends_with("/tests.rs")
    }
}

pub(crate) fn read_toml(path: &Path) -> Result<toml::Value, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}

/// The value below a chain of keys.
pub(crate) fn at<'a>(value: &'a toml::Value, keys: &[&str]) -> Option<&'a toml::Value> {
    keys.iter().try_fold(value, |value, key| value.get(key))
}

/// A lint is `"level"` or `{ level = "level", priority = .. }`.
fn lint_level(lint: &toml::Value) -> Option<&str> {
    lint.as_str().or_else(|| lint.get("level")?.as_str())
}
