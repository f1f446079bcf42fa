//! `PortContext`: all that a running port can see of the process that called it.

use std::fmt;
use std::sync::Arc;

use svit_tree::guest::HostError;
use svit_tree::{Access, Caller, IntoPath, Path, Stat, Tree};
use svit_value::{Text, Value};

use crate::PortFailure;
#[cfg(feature = "model")]
use crate::spawn::ChildRunner;

/// A committed state of a process, to be read. It does not change while a port runs.
///
/// A [`Tree`] is one. The methods may block for as long as a read of a mount takes.
pub trait CommittedState: Send + Sync {
    /// The value at `path`, if there is one.
    ///
    /// # Errors
    /// A mount that is not attached or cannot be read.
    fn read(&self, path: &Path) -> Result<Option<Value>, HostError>;

    /// Facts about `path`; none where nothing is.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    fn stat(&self, path: &Path) -> Result<Option<Stat>, HostError>;

    /// The sorted names of the children of `path`; empty for a scalar and where nothing is.
    ///
    /// # Errors
    /// As [`read`](Self::read); more entries than a listing may have.
    fn discover(&self, path: &Path) -> Result<Vec<Text>, HostError>;
}

impl CommittedState for Tree {
    fn read(&self, path: &Path) -> Result<Option<Value>, HostError> {
        Ok(self.get(path).cloned())
    }

    fn stat(&self, path: &Path) -> Result<Option<Stat>, HostError> {
        Ok(Stat::of(self, path, Caller::Guest))
    }

    fn discover(&self, path: &Path) -> Result<Vec<Text>, HostError> {
        Ok(self.children(path))
    }
}

/// What a running port can see: the committed process, and the key of this call. It can change
/// nothing.
///
/// What an activation under way has written and not committed is not in it.
#[derive(Clone)]
pub struct PortContext {
    state: Arc<dyn CommittedState>,
    idempotency_key: Text,
    #[cfg(feature = "model")]
    children: Option<Arc<dyn ChildRunner>>,
}

impl PortContext {
    /// A context for one call. The same call, made again because its outcome is not known, has the
    /// same key; no two different calls have.
    pub fn new(state: Arc<dyn CommittedState>, idempotency_key: impl Into<Text>) -> Self {
        Self {
            state,
            idempotency_key: idempotency_key.into(),
            #[cfg(feature = "model")]
            children: None,
        }
    }

    /// The same, with what runs children of the process; for the port `spawn`.
    #[cfg(feature = "model")]
    #[must_use]
    pub fn with_children(mut self, children: Arc<dyn ChildRunner>) -> Self {
        self.children = Some(children);
        self
    }

    #[cfg(feature = "model")]
    pub(crate) fn children(&self) -> Option<&dyn ChildRunner> {
        self.children.as_deref()
    }

    /// The key of this call, for the far side to recognize a repeated one.
    pub fn idempotency_key(&self) -> &str {
        &self.idempotency_key
    }

    /// The value at `path` in the committed process, if there is one.
    ///
    /// # Errors
    /// The path is malformed, or [`CommittedState::read`] failed.
    pub fn read(&self, path: impl IntoPath) -> Result<Option<Value>, PortFailure> {
        Ok(self.state.read(&path.into_path()?)?)
    }

    /// Facts about `path` in the committed process; none where nothing is. Its access is
    /// [`Access::Read`] everywhere, since a port may do no more.
    ///
    /// # Errors
    /// The path is malformed, or [`CommittedState::stat`] failed.
    pub fn stat(&self, path: impl IntoPath) -> Result<Option<Stat>, PortFailure> {
        let stat = self.state.stat(&path.into_path()?)?;
        Ok(stat.map(|stat| Stat {
            access: Access::Read,
            ..stat
        }))
    }

    /// The sorted names of the children of `path` in the committed process.
    ///
    /// # Errors
    /// The path is malformed, or [`CommittedState::discover`] failed.
    pub fn discover(&self, path: impl IntoPath) -> Result<Vec<Text>, PortFailure> {
        Ok(self.state.discover(&path.into_path()?)?)
    }
}

impl fmt::Debug for PortContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PortContext")
            .field("idempotency_key", &self.idempotency_key.as_str())
            .finish_non_exhaustive()
    }
}
