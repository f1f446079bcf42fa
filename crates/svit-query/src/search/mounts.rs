//! The seam to mounts: what a search asks of whoever has them attached, one node at a time.

use std::collections::BTreeMap;
use std::fmt;

use svit_tree::Path;
use svit_tree::guest::{Host, HostError};
use svit_tree::mount::{MountError, MountPath, MountProvider};
use svit_value::{Kind, Text, Value};

/// What is at a path of a mount, without what is below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MountNode {
    /// A map or a folder: the names of its children, in any order.
    Entries(Vec<Text>),
    /// A list of so many elements.
    Elements(u64),
    /// A whole value, for one that has no children, or small ones.
    Value(Value),
}

/// How much of one node a search takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MountLimits {
    /// The most names in [`MountNode::Entries`].
    pub max_entries: usize,
    /// The most bytes of a [`MountNode::Value`].
    pub max_bytes: u64,
}

/// The contents of mounts, as a search asks for them.
///
/// A host that searches a committed state has [`AttachedMounts`]; a guest has [`HostMounts`], which shows what its
/// script has written to a mount and nobody has committed. A closure
/// `Fn(&Path, MountLimits) -> Result<Option<MountNode>, HostError>` is a source too.
pub trait MountSource {
    /// What is at `path`, which is below `/mounts` and begins with the name of a mount; none where nothing is.
    /// Asked at most once for each path of a search.
    ///
    /// # Errors
    /// A soft error is told in [`Found::failures`](super::Found::failures), and the search goes on with the next
    /// node: not attached, no access, larger than the limits. A hard one ends the search: cancelled, out of time.
    fn node(&self, path: &Path, limits: MountLimits) -> Result<Option<MountNode>, HostError>;
}

impl<F> MountSource for F
where
    F: Fn(&Path, MountLimits) -> Result<Option<MountNode>, HostError>,
{
    fn node(&self, path: &Path, limits: MountLimits) -> Result<Option<MountNode>, HostError> {
        self(path, limits)
    }
}

/// Mounts by their names, for a host that searches a committed state.
#[derive(Default)]
pub struct AttachedMounts<'a>(BTreeMap<Text, &'a dyn MountProvider>);

impl<'a> AttachedMounts<'a> {
    /// None.
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// One more, at `/mounts/<name>`.
    #[must_use]
    pub fn with(mut self, name: impl Into<Text>, provider: &'a dyn MountProvider) -> Self {
        self.0.insert(name.into(), provider);
        self
    }
}

impl fmt::Debug for AttachedMounts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Mounts as the script of an activation sees them, for a guest.
#[derive(Clone, Copy)]
pub struct HostMounts<'a>(&'a dyn Host);

impl<'a> HostMounts<'a> {
    /// Those of a host.
    pub const fn new(host: &'a dyn Host) -> Self {
        Self(host)
    }
}

impl fmt::Debug for HostMounts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HostMounts")
    }
}

impl MountSource for HostMounts<'_> {
    /// The limits are those of the host, which are tighter or are checked by the search.
    fn node(&self, path: &Path, _: MountLimits) -> Result<Option<MountNode>, HostError> {
        let stat = self.0.stat(path)?;
        let Some(kind) = stat.get("kind").and_then(Value::as_str) else {
            return Ok(None);
        };
        let known = stat.get("entries").and_then(Value::as_int);
        let known = known.and_then(|entries| u64::try_from(entries).ok());
        Ok(match (kind, known) {
            ("map", _) => Some(MountNode::Entries(self.0.discover(path)?)),
            ("list", Some(elements)) => Some(MountNode::Elements(elements)),
            ("list", None) => Some(MountNode::Elements(self.0.discover(path)?.len() as u64)),
            _ => self.0.read(path)?.map(MountNode::Value),
        })
    }
}

fn failed(error: &MountError) -> HostError {
    HostError::soft(error.code(), error.to_string())
}

impl MountSource for AttachedMounts<'_> {
    fn node(&self, path: &Path, limits: MountLimits) -> Result<Option<MountNode>, HostError> {
        let split = MountPath::split(path);
        let attached = split.and_then(|(name, inside)| Some((*self.0.get(&name)?, inside)));
        let Some((provider, inside)) = attached else {
            let message = format!("{path}: the mount is not attached");
            return Err(HostError::soft("mount_not_attached", message));
        };
        let node = || {
            let Some(stat) = provider.stat(&inside)? else {
                return Ok(None);
            };
            Ok(match (stat.kind, stat.entries) {
                (Kind::Map, _) => {
                    let names = provider.list(&inside, limits.max_entries)?;
                    Some(MountNode::Entries(names))
                }
                (Kind::List, Some(elements)) => Some(MountNode::Elements(elements)),
                (Kind::List, None) => {
                    let names = provider.list(&inside, limits.max_entries)?;
                    Some(MountNode::Elements(names.len() as u64))
                }
                _ => provider
                    .read(&inside, limits.max_bytes)?
                    .map(MountNode::Value),
            })
        };
        node().map_err(|error| failed(&error))
    }
}

#[cfg(test)]
mod tests;
