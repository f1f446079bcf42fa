//! Why a turn ended without an answer: for now, for good, or with the loop.

use svit_model::ModelError;

use crate::LoopError;

/// Why a turn ended.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The turn failed; the loop goes on.
    Turn(TurnFailure),
    /// The process can no longer be written, or what is stored cannot be read.
    Fatal(Box<LoopError>),
}

/// A typed reason.
#[derive(Debug)]
pub(crate) struct TurnFailure {
    pub(crate) code: String,
    pub(crate) reason: String,
    /// Whether another attempt can only end the same way.
    pub(crate) is_final: bool,
}

impl Failure {
    /// A failure that another attempt would only repeat.
    pub(crate) fn last(code: &str, reason: String) -> Self {
        Self::Turn(TurnFailure {
            code: code.to_owned(),
            reason,
            is_final: true,
        })
    }

    pub(crate) fn cancelled() -> Self {
        Self::last("cancelled", "the turn was cancelled by the host".to_owned())
    }
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        let mut reason = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(error) = cause {
            reason.push_str(": ");
            reason.push_str(&error.to_string());
            cause = error.source();
        }
        Self::Turn(TurnFailure {
            code: error.code().to_owned(),
            reason,
            is_final: false,
        })
    }
}

impl From<LoopError> for Failure {
    fn from(error: LoopError) -> Self {
        Self::Fatal(Box::new(error))
    }
}

impl From<svit_value::ValueError> for Failure {
    fn from(error: svit_value::ValueError) -> Self {
        LoopError::from(error).into()
    }
}
