//! Time travel: what was there, and what differs.

use svit_tree::{IntoPath, Mutation, diff};
use svit_value::Value;

use super::DurableProcess;
use super::replay::{self, Loaded};
use crate::committed::Committed;
use crate::mounts::Mounts;
use crate::state::State;
use crate::{Error, Process, Snapshot};

impl DurableProcess {
    pub(super) async fn state_at(&self, version: u64) -> Result<Loaded, Error> {
        self.is_there()?;
        replay::state_at(&*self.inner.store, &self.inner.address, version).await
    }

    /// The same, from memory if it is the newest.
    async fn tree_at(&self, version: u64) -> Result<State, Error> {
        let newest = self.current()?;
        if version == newest.version {
            return Ok(newest);
        }
        Ok(self.state_at(version).await?.state)
    }

    /// The value at `path` at a version that is kept. O(state + records since the checkpoint below
    /// the version). What is below a mount is in no version, and is [`Error::NotAttached`].
    ///
    /// # Errors
    /// [`Error::NoVersion`]; [`Error::Cut`]; a damaged history.
    pub async fn read_at(&self, version: u64, path: impl IntoPath) -> Result<Option<Value>, Error> {
        let path = path.into_path()?;
        let state = self.tree_at(version).await?;
        Committed::new(state, Mounts::default()).read(path)
    }

    /// The process as it was at a version that is kept: in memory and by itself, with the guests of this
    /// one, and without hooks, ports and mounts. What is done to it is seen nowhere else. The cost is
    /// that of [`read_at`](Self::read_at).
    ///
    /// Of a version before this process was forked it is the parent, by its own address.
    ///
    /// # Errors
    /// [`Error::NoVersion`]; [`Error::Cut`]; a damaged history.
    ///
    /// ```
    /// # futures_lite::future::block_on(async {
    /// use svit_txn::{MemoryStore, Process};
    ///
    /// let process = Process::builder("svit://local/demo")?.memory("count", 6).build()?;
    /// let process = MemoryStore::new().create(process).await?;
    /// process.write("/memory/count", 7).await?;
    ///
    /// let before = process.process_at(0).await?;
    /// assert_eq!(before.read("/memory/count")?, Some(6.into()));
    /// before.write("/memory/count", 8)?;
    /// assert_eq!(process.read("/memory/count")?, Some(7.into()));
    /// # Ok::<(), svit_txn::Error>(()) }).unwrap();
    /// ```
    pub async fn process_at(&self, version: u64) -> Result<Process, Error> {
        let state = self.tree_at(version).await?;
        Process::alone(state, self.inner.guests.clone())
    }

    /// The edits that lead from one version to another, older or newer. The cost is that of
    /// [`read_at`](Self::read_at), twice, and O(changes * log n) to compare them.
    ///
    /// # Errors
    /// [`Error::NoVersion`]; [`Error::Cut`]; a damaged history.
    pub async fn diff(&self, from: u64, to: u64) -> Result<Vec<Mutation>, Error> {
        let (from, to) = (self.tree_at(from).await?, self.tree_at(to).await?);
        Ok(diff(from.tree.root(), to.tree.root()))
    }

    /// The newest published version as a file. O(size).
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::of(&self.published())
    }
}
