//! `Port`: one thing that a host lets a process do, and how it says that it could not.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use svit_tree::TreeError;
use svit_tree::guest::HostError;
use svit_value::{Text, Value, ValueError};

use crate::{PortContext, PortDescriptor};

/// A future that can be sent between threads, so that ports of many kinds fit one list.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One thing that a host lets a process do.
///
/// See the [crate's page](crate) for an example.
pub trait Port: Send + Sync {
    /// What it is called, what it does and what it may be given. Asked once, when it is added.
    fn descriptor(&self) -> PortDescriptor;

    /// Does it. `input` is within the descriptor's size and otherwise whatever the caller gave.
    ///
    /// Calls may run at the same time. A call is cancelled by dropping the future, so a port with
    /// effects must be able to stop at each of its waits. A panic ends the call as
    /// [`PortError::Panicked`](crate::PortError::Panicked), and the port is called again later: what
    /// it keeps across calls must stand that.
    ///
    /// # Errors
    /// Why it could not, in words fit for a script and for a model, and free of secrets.
    fn call<'a>(
        &'a self,
        ctx: &'a PortContext,
        input: Value,
    ) -> BoxFuture<'a, Result<Value, PortFailure>>;
}

impl<P: Port + ?Sized> Port for Arc<P> {
    fn descriptor(&self) -> PortDescriptor {
        (**self).descriptor()
    }

    fn call<'a>(
        &'a self,
        ctx: &'a PortContext,
        input: Value,
    ) -> BoxFuture<'a, Result<Value, PortFailure>> {
        (**self).call(ctx, input)
    }
}

/// Why a port could not do what it was asked: the port's own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortFailure {
    /// A stable name for the reason, in snake case.
    pub code: Text,
    /// One sentence for a script or a model. Cut at 1 KiB when it is reported.
    pub message: Text,
}

impl PortFailure {
    /// A failure.
    pub fn new(code: impl Into<Text>, message: impl Into<Text>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
        }
    }
}

impl fmt::Display for PortFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for PortFailure {}

// So that a port's author can use `?` on what a context and a value give.

impl From<HostError> for PortFailure {
    fn from(error: HostError) -> Self {
        Self::new(error.code, error.message)
    }
}

impl From<TreeError> for PortFailure {
    fn from(error: TreeError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}

impl From<ValueError> for PortFailure {
    fn from(error: ValueError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}
