//! `ToolPolicy`: what a host lets a model do with its tools.

use std::collections::BTreeSet;

use svit_tree::{IntoPath, Path, TreeError};
use svit_value::Text;

use super::NAMES;
use crate::LoopError;

/// What a model may do with its tools; by default everything that the namespace allows. Each setting
/// narrows it. A call that is refused changes nothing, and its result says what is allowed.
///
/// A policy is the host's and is no part of the process: it binds the model that works on this
/// `Svit`, not scripts. Where a model is kept from reading or writing somewhere, it may therefore
/// run only scripts that the host has chosen, and cannot change these.
///
/// ```
/// use svit_loop::{Svit, ToolPolicy};
///
/// // Reads below /memory/orders, and changes it only through one script.
/// let policy = ToolPolicy::new()
///     .read_only()
///     .scripts(["place_order"])
///     .paths(["/memory/orders"])?;
/// let svit = Svit::builder("svit://local/shop")?.tools(policy);
/// # Ok::<(), svit_loop::LoopError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolPolicy {
    read_only: bool,
    scripts: Option<BTreeSet<Text>>,
    paths: Option<BTreeSet<Path>>,
    asked: BTreeSet<Text>,
}

impl ToolPolicy {
    /// Everything is allowed.
    pub fn new() -> Self {
        Self::default()
    }

    /// No `write` and no `remove`; no `exec` either, except of scripts that are
    /// [chosen](Self::scripts).
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// `exec` runs only these scripts, by their names below `/lib`, and no source that the model
    /// wrote; nothing below `/lib` can be changed. Called again, it adds to them.
    #[must_use]
    pub fn scripts(mut self, names: impl IntoIterator<Item = impl Into<Text>>) -> Self {
        let names = names.into_iter().map(Into::into);
        self.scripts.get_or_insert_default().extend(names);
        self
    }

    /// `discover`, `read`, `stat`, `write` and `remove` reach only these paths and what is below
    /// them; no `exec`, except of scripts that are [chosen](Self::scripts). Called again, it adds to
    /// them.
    ///
    /// # Errors
    /// A path is malformed.
    pub fn paths(
        mut self,
        paths: impl IntoIterator<Item = impl IntoPath>,
    ) -> Result<Self, TreeError> {
        let paths: Result<Vec<Path>, _> = paths.into_iter().map(IntoPath::into_path).collect();
        self.paths.get_or_insert_default().extend(paths?);
        Ok(self)
    }

    /// A call of one of these tools (`discover`, `read`, `stat`, `write`, `remove`, `exec`) waits,
    /// durably, until the host [approves or denies](crate::Approvals) it; but one that the policy
    /// refuses, or that is malformed, is refused at once. A port is called by `exec`. What a script does
    /// within one `exec` is covered by the answer about that. Called again, it adds to them.
    ///
    /// There is no time limit but the host's own patience. Should the host attach another policy after a
    /// restart, that one decides about calls that were not begun yet.
    ///
    /// A name that is no tool is an error of [`SvitBuilder::build`](crate::SvitBuilder::build).
    #[must_use]
    pub fn ask(mut self, tools: impl IntoIterator<Item = impl Into<Text>>) -> Self {
        self.asked.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Whether everything that it names is there.
    pub(crate) fn check(&self) -> Result<(), LoopError> {
        let unknown = self
            .asked
            .iter()
            .find(|name| !NAMES.contains(&name.as_str()));
        match unknown {
            Some(name) => Err(LoopError::UnknownTool {
                name: name.to_string(),
            }),
            None => Ok(()),
        }
    }

    /// Whether calls of a tool wait for the host.
    pub(crate) fn asks(&self, tool: &str) -> bool {
        self.asked.contains(tool)
    }

    /// The tools whose calls wait for the host.
    pub(crate) const fn asked(&self) -> &BTreeSet<Text> {
        &self.asked
    }

    /// Whether the model can use `write` and `remove` at all.
    pub(crate) const fn writes(&self) -> bool {
        !self.read_only
    }

    /// Which scripts `exec` runs.
    pub(crate) fn runs(&self) -> Runs<'_> {
        match &self.scripts {
            Some(names) => Runs::Chosen(names),
            None if self.read_only || self.paths.is_some() => Runs::Nothing,
            None => Runs::Everything,
        }
    }

    /// The paths that the model's tools reach, if they are narrowed.
    pub(crate) const fn reached(&self) -> Option<&BTreeSet<Path>> {
        self.paths.as_ref()
    }

    /// Why the model may not look at a path.
    pub(super) fn refuses_read(&self, path: &Path) -> Option<String> {
        let paths = self.paths.as_ref()?;
        if paths.iter().any(|allowed| path.starts_with(allowed)) {
            return None;
        }
        Some(format!("{path} is not allowed here; {}", allowed(paths)))
    }

    /// Why the model may not change what is at a path.
    pub(super) fn refuses_write(&self, path: &Path) -> Option<String> {
        if self.read_only {
            return Some("nothing can be written here: the host allows reading only".to_owned());
        }
        if self.scripts.is_some() && path.segments().next() == Some("lib") {
            return Some(format!(
                "{path} is not allowed here: the host has chosen the scripts"
            ));
        }
        self.refuses_read(path)
    }

    /// Why the model may not run a script; without a path, source of its own.
    pub(super) fn refuses_exec(&self, path: Option<&Path>) -> Option<String> {
        match self.runs() {
            Runs::Everything => None,
            Runs::Nothing => Some("no script can be run here".to_owned()),
            Runs::Chosen(names) => {
                let is_chosen = path.is_some_and(|path| {
                    let mut segments = path.segments();
                    segments.next() == Some("lib")
                        && segments.next().is_some_and(|name| names.contains(name))
                        && segments.next().is_none()
                });
                if is_chosen {
                    return None;
                }
                let what = path.map_or_else(|| "`source`".to_owned(), Path::to_string);
                let names: Vec<String> = names.iter().map(|name| format!("/lib/{name}")).collect();
                Some(format!(
                    "{what} cannot be run here; these can: {}",
                    names.join(", ")
                ))
            }
        }
    }
}

/// Which scripts a model can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runs<'a> {
    /// All of `/lib`, and what it writes itself.
    Everything,
    /// Those of these names below `/lib`.
    Chosen(&'a BTreeSet<Text>),
    /// None.
    Nothing,
}

fn allowed(paths: &BTreeSet<Path>) -> String {
    let paths: Vec<String> = paths.iter().map(Path::to_string).collect();
    format!("allowed is what is at or below {}", paths.join(", "))
}
