//! One error for everything, so that a program needs one `?`.

use svit_loop::LoopError;
use svit_model::ModelError;
use svit_ports::PortError;
use svit_tree::TreeError;
use svit_tree::mount::MountError;
use svit_txn::StoreError;
use svit_value::ValueError;

/// Whatever can go wrong in svit. Each layer's own error is inside, with its fields.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A value, or an encoded value.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// A path, an address or an edit.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// A process or one of its transitions.
    #[error(transparent)]
    Process(svit_txn::Error),
    /// A store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A model or its provider.
    #[error(transparent)]
    Model(ModelError),
    /// A port, or a call of one.
    #[error(transparent)]
    Port(#[from] PortError),
    /// A mount.
    #[error(transparent)]
    Mount(#[from] MountError),
    /// The loop around a process.
    #[error(transparent)]
    Loop(LoopError),
}

/// A result with svit's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// A stable name for the sort of failure, in snake case.
    pub fn code(&self) -> &str {
        match self {
            Self::Value(e) => e.code(),
            Self::Tree(e) => e.code(),
            Self::Process(e) => e.code(),
            Self::Store(e) => e.code(),
            Self::Model(e) => e.code(),
            Self::Port(e) => e.code(),
            Self::Mount(e) => e.code(),
            Self::Loop(e) => e.code(),
        }
    }
}

// An error of a lower layer keeps its own variant, however many layers it came through.

impl From<svit_txn::Error> for Error {
    fn from(error: svit_txn::Error) -> Self {
        match error {
            svit_txn::Error::Value(e) => Self::Value(e),
            svit_txn::Error::Tree(e) => Self::Tree(e),
            svit_txn::Error::Store(e) => Self::Store(e),
            other => Self::Process(other),
        }
    }
}

impl From<ModelError> for Error {
    fn from(error: ModelError) -> Self {
        Self::Model(error)
    }
}

impl From<LoopError> for Error {
    fn from(error: LoopError) -> Self {
        match error {
            LoopError::Process(e) => e.into(),
            LoopError::Model(e) => Self::Model(e),
            LoopError::Ports(e) => Self::Port(e),
            other => Self::Loop(other),
        }
    }
}
