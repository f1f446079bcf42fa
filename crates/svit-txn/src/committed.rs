//! `Committed`: one committed version of a process, to be read.

use svit_tree::{Address, Caller, IntoPath, Listing, Path, Stat, TreeError};
use svit_value::{Digest, Text, Value};

use crate::Error;
use crate::mounts::{MountWrite, Mounts, View};
use crate::state::State;

/// A committed version of a process. It stays as it is, whatever the process does next; what is
/// below `/mounts` is the exception, as it is outside of the process. Cloning is O(1).
#[derive(Clone, Debug)]
pub struct Committed {
    state: State,
    mounts: Mounts,
}

impl Committed {
    pub(crate) const fn new(state: State, mounts: Mounts) -> Self {
        Self { state, mounts }
    }

    fn view(&self) -> View<'_> {
        View {
            tree: &self.state.tree,
            mounts: &self.mounts,
            limits: &self.state.limits,
            writes: &[],
        }
    }

    /// The write of a value below a mount, or the removal for none. May block.
    pub(crate) fn mount_write(
        &self,
        path: &Path,
        value: Option<Value>,
    ) -> Result<MountWrite, Error> {
        match value {
            Some(value) => self.view().write(path, Some(value)),
            None => {
                let path = path.clone();
                let write = self.view().remove(&path)?;
                Ok(write.ok_or(TreeError::Missing { path })?)
            }
        }
    }

    /// The process.
    pub const fn address(&self) -> &Address {
        &self.state.address
    }

    /// The version.
    pub const fn version(&self) -> u64 {
        self.state.version
    }

    /// The digest of `/` at this version.
    pub fn root_digest(&self) -> Digest {
        self.state.tree.digest()
    }

    /// The value at `path`, if there is one. O(depth * log n); below a mount it blocks for as long
    /// as the mount takes.
    ///
    /// # Errors
    /// The path is malformed; the mount is not attached, or fails.
    pub fn read(&self, path: impl IntoPath) -> Result<Option<Value>, Error> {
        self.view().read(&path.into_path()?)
    }

    /// The sorted names of the children of `path`.
    ///
    /// # Errors
    /// As [`read`](Self::read); more than `max_mount_entries` names in a mount.
    pub fn discover(&self, path: impl IntoPath) -> Result<Vec<Text>, Error> {
        self.view().discover(&path.into_path()?)
    }

    /// One page of the names of the children of `path`: those behind `after`, at most `limit`. A
    /// large listing costs only the page.
    ///
    /// # Errors
    /// As [`discover`](Self::discover).
    pub fn discover_page(
        &self,
        path: impl IntoPath,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Listing, Error> {
        self.view().discover_page(&path.into_path()?, after, limit)
    }

    /// Facts about `path`, as `caller` would see them; none where nothing is.
    ///
    /// # Errors
    /// As [`read`](Self::read). A mount itself says that it is not attached.
    pub fn stat(&self, path: impl IntoPath, caller: Caller) -> Result<Option<Stat>, Error> {
        self.view().stat(&path.into_path()?, caller)
    }
}
