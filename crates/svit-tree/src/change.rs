//! `Change`: what a transition did, for observers and for the stored record alike.

use svit_value::Digest;

use crate::{Mutation, Path, lookup};

/// Who made a transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Source {
    /// A script ran.
    Activation,
    /// The host wrote, or attached something.
    Host,
    /// A message was enqueued or acknowledged.
    Inbox,
    /// The loop changed `/thread`.
    Thread,
    /// A fork took its own identity.
    Fork,
}

impl Source {
    const ALL: [Self; 5] = [
        Self::Activation,
        Self::Host,
        Self::Inbox,
        Self::Thread,
        Self::Fork,
    ];

    /// The stored form, such as `activation`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Activation => "activation",
            Self::Host => "host",
            Self::Inbox => "inbox",
            Self::Thread => "thread",
            Self::Fork => "fork",
        }
    }

    /// Reads the stored form.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.as_str() == text)
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A path that a transition changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedPath {
    /// Where.
    pub path: Path,
    /// The digest of what is there afterwards; none if it was removed.
    pub digest: Option<Digest>,
}

/// One committed transition.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The version after it.
    pub version: u64,
    /// The root digest after it.
    pub root: Digest,
    /// Who made it.
    pub source: Source,
    /// The changed paths, in tree order, each once.
    pub paths: Vec<ChangedPath>,
    /// The edits that lead from the version before to this one.
    pub mutations: Vec<Mutation>,
}

impl Change {
    /// Folds edits into a change; `after` is the root that they lead to.
    pub fn new(
        version: u64,
        source: Source,
        mutations: Vec<Mutation>,
        after: &svit_value::Value,
    ) -> Self {
        let paths = touched(&mutations)
            .into_iter()
            .map(|path| ChangedPath {
                digest: lookup(after, &path).map(svit_value::Value::digest),
                path,
            })
            .collect();
        Self {
            version,
            root: after.digest(),
            source,
            paths,
            mutations,
        }
    }

    /// Whether something at, above or below `path` changed.
    pub fn touches(&self, path: &Path) -> bool {
        self.paths
            .iter()
            .any(|changed| changed.path.starts_with(path) || path.starts_with(&changed.path))
    }
}

/// The paths that edits name, sorted, each once.
pub fn touched(mutations: &[Mutation]) -> Vec<Path> {
    let mut paths: Vec<Path> = mutations.iter().map(|edit| edit.path.clone()).collect();
    paths.sort();
    paths.dedup();
    paths
}

#[cfg(test)]
mod tests;
