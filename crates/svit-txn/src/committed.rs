//! `Committed`: one committed version of a process, to be read.

use svit_tree::{Address, Caller, IntoPath, Listing, Stat};
use svit_value::{Digest, Text, Value};

use crate::Error;
use crate::state::State;

/// A committed version of a process. It stays as it is, whatever the process does next; what is
/// below `/mounts` is the exception, as it is outside of the process. Cloning is O(1).
#[derive(Clone, Debug)]
pub struct Committed {
    state: State,
}

impl Committed {
    pub(crate) const fn new(state: State) -> Self {
        Self { state }
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

    /// The value at `path`, if there is one. O(depth * log n).
    ///
    /// # Errors
    /// The path is malformed.
    pub fn read(&self, path: impl IntoPath) -> Result<Option<Value>, Error> {
        let path = path.into_path()?;
        Ok(self.state.tree.get(&path).cloned())
    }

    /// The sorted names of the children of `path`.
    ///
    /// # Errors
    /// The path is malformed.
    pub fn discover(&self, path: impl IntoPath) -> Result<Vec<Text>, Error> {
        let path = path.into_path()?;
        Ok(self.state.tree.children(&path))
    }

    /// One page of the names of the children of `path`: those behind `after`, at most `limit`. A
    /// large listing costs only the page.
    ///
    /// # Errors
    /// The path is malformed.
    pub fn discover_page(
        &self,
        path: impl IntoPath,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Listing, Error> {
        let path = path.into_path()?;
        Ok(self.state.tree.discover(&path, after, limit))
    }

    /// Facts about `path`, as `caller` would see them; none where nothing is.
    ///
    /// # Errors
    /// The path is malformed.
    pub fn stat(&self, path: impl IntoPath, caller: Caller) -> Result<Option<Stat>, Error> {
        let path = path.into_path()?;
        Ok(Stat::of(&self.state.tree, &path, caller))
    }
}
