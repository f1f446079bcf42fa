//! `Transaction`: several edits of a host that become one transition.

use std::sync::Arc;

use svit_tree::{Caller, IntoPath, Mutation, Node, Tree, TreeError};
use svit_value::{Digest, Text, Value};

#[cfg(doc)]
use crate::Process;
use crate::guests::Guests;
use crate::mounts::{MountWrite, Mounts, View, is_mounted};
use crate::state::State;
use crate::working::{check_access, check_scripts};
use crate::{Error, Limits};

/// Several edits of a host that become one transition. See [`Process::transact`].
#[derive(Debug)]
pub struct Transaction {
    tree: Tree,
    limits: Arc<Limits>,
    staged: Vec<Text>,
    mounts: Mounts,
    writes: Vec<MountWrite>,
}

/// What a transaction comes to.
#[derive(Debug)]
pub(crate) struct Edited {
    pub(crate) tree: Tree,
    /// To be made once the transition is durable.
    pub(crate) writes: Vec<MountWrite>,
}

impl Transaction {
    pub(crate) fn run(
        state: &State,
        guests: &Guests,
        mounts: Mounts,
        edit: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<Edited, Error> {
        let mut tx = Self {
            tree: state.tree.clone(),
            limits: state.limits.clone(),
            staged: Vec::new(),
            mounts,
            writes: Vec::new(),
        };
        edit(&mut tx)?;
        let wall = std::time::Duration::from_millis(state.limits.max_execution_millis);
        check_scripts(&tx.tree, &tx.staged, guests, &tx.limits.guest_limits(wall))?;
        Ok(Edited {
            tree: tx.tree,
            writes: tx.writes,
        })
    }

    fn view(&self) -> View<'_> {
        View {
            tree: &self.tree,
            mounts: &self.mounts,
            limits: &self.limits,
            writes: &self.writes,
        }
    }

    /// The value at `path`, the edits so far included. Blocks below a mount.
    ///
    /// # Errors
    /// The path is malformed; below a mount, it is not attached or fails.
    pub fn read(&self, path: impl IntoPath) -> Result<Option<Value>, Error> {
        self.view().read(&path.into_path()?)
    }

    /// Sets the value at `path`. A write below a mount waits until the transition is committed.
    ///
    /// # Errors
    /// As [`Process::write`]; below a mount, it is not attached or does not grant it.
    pub fn write(&mut self, path: impl IntoPath, value: impl Into<Value>) -> Result<(), Error> {
        let (path, value) = (path.into_path()?, value.into());
        if is_mounted(&path) {
            let write = self.view().write(&path, Some(value))?;
            self.writes.push(write);
            return Ok(());
        }
        check_access(&path, Caller::Host)?;
        self.limits.check_value(&value, Some(&path))?;
        self.edit(Mutation::set(path, value))
    }

    /// Sets the value at `path` if what is there has this digest; `None` expects nothing there.
    ///
    /// # Errors
    /// As [`Process::write_if`].
    pub fn write_if(
        &mut self,
        path: impl IntoPath,
        value: impl Into<Value>,
        expected: Option<Digest>,
    ) -> Result<(), Error> {
        let path = path.into_path()?;
        let actual = self.read(&path)?.as_ref().map(Value::digest);
        if actual == expected {
            return self.write(path, value);
        }
        Err(match expected {
            Some(expected) => Error::Changed {
                path,
                expected,
                actual,
            },
            None => Error::Occupied { path },
        })
    }

    /// Removes what is at `path`.
    ///
    /// # Errors
    /// As [`Process::remove`].
    pub fn remove(&mut self, path: impl IntoPath) -> Result<(), Error> {
        let path = path.into_path()?;
        if is_mounted(&path) {
            let write = self.view().remove(&path)?;
            let write = write.ok_or_else(|| TreeError::Missing { path })?;
            self.writes.push(write);
            return Ok(());
        }
        check_access(&path, Caller::Host)?;
        self.edit(Mutation::remove(path))
    }

    fn edit(&mut self, edit: Mutation) -> Result<(), Error> {
        let tree = self.tree.apply(std::slice::from_ref(&edit))?;
        if Node::of(&edit.path) == Some(Node::Lib) {
            self.staged
                .extend(edit.path.segments().nth(1).map(Text::from));
        }
        self.tree = tree;
        Ok(())
    }
}
