//! Time travel: what was there, what differs, and a fork from there.

use svit_tree::{Address, IntoAddress, IntoPath, Mutation, diff};
use svit_value::Value;

use super::{DurableProcess, replay};
use crate::hooks::{Attachments, Hooks};
use crate::process::fork_state;
use crate::state::State;
use crate::store::Batch;
use crate::{Error, Snapshot};

impl DurableProcess {
    async fn state_at(&self, version: u64) -> Result<State, Error> {
        let newest = self.published();
        if version == newest.version {
            return Ok(newest);
        }
        replay::state_at(&*self.inner.store, &self.inner.address, version).await
    }

    /// The value at `path` at a version that is kept. O(history up to it).
    ///
    /// # Errors
    /// [`Error::NoVersion`]; a damaged history.
    pub async fn read_at(&self, version: u64, path: impl IntoPath) -> Result<Option<Value>, Error> {
        let path = path.into_path()?;
        let state = self.state_at(version).await?;
        Ok(state.tree.get(&path).cloned())
    }

    /// The edits that lead from one version to another, older or newer. O(history) to find the two,
    /// O(changes * log n) to compare them.
    ///
    /// # Errors
    /// [`Error::NoVersion`]; a damaged history.
    pub async fn diff(&self, from: u64, to: u64) -> Result<Vec<Mutation>, Error> {
        let (from, to) = (self.state_at(from).await?, self.state_at(to).await?);
        Ok(diff(from.tree.root(), to.tree.root()))
    }

    /// A child that starts with this process as it was at a version that is kept; otherwise as
    /// [`fork`](Self::fork). Its thread starts fresh. O(history up to the version).
    ///
    /// # Errors
    /// [`Error::NoVersion`], and as [`fork`](Self::fork).
    pub async fn fork_at(&self, version: u64, address: impl IntoAddress) -> Result<Self, Error> {
        let address = address.into_address()?;
        let parent = self.state_at(version).await?;
        self.fork_from(parent, address, 0).await
    }

    /// Puts a child of a stored state into the store.
    pub(super) async fn fork_from(
        &self,
        parent: State,
        address: Address,
        events: u64,
    ) -> Result<Self, Error> {
        let (base, transition) = fork_state(&parent, address, events)?;
        let batch = Batch {
            records: vec![transition.record],
            ..Batch::default()
        };
        let store = self.inner.store.clone();
        let epoch = store.insert_base(base.clone(), Vec::new(), batch).await?;
        let attached = Attachments {
            guests: self.inner.guests.clone(),
            hooks: Hooks::default(),
        };
        let state = transition.after;
        Ok(Self::new(store, attached, base, state, epoch, events))
    }

    /// The newest published version as a file. O(size).
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::of(&self.published())
    }
}
