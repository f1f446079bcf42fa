//! `SpawnError`: why no child was asked, or its answer is not given.

use crate::PortFailure;

/// Why no child was asked, or its answer is not given. What goes wrong while a child runs has the code
/// and the words of that.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// The input is not what the manual says.
    #[error("{field}: {why}")]
    BadInput {
        /// The field, or `input` for the whole.
        field: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// The prompt is too large. No child was made.
    #[error("the prompt has {actual} bytes, at most {allowed} are allowed")]
    PromptTooLarge {
        /// The limit.
        allowed: u64,
        /// The size.
        actual: u64,
    },
    /// The answer is too large; nothing of it is given. It stands in the child's thread.
    #[error("the answer of {address} has {actual} bytes, at most {allowed} are given")]
    AnswerTooLarge {
        /// The child.
        address: String,
        /// The limit.
        allowed: u64,
        /// The size.
        actual: u64,
    },
    /// The process that calls is in no loop that could run a child.
    #[error("no child can be run here: the process is in no loop")]
    NoLoop,
}

impl SpawnError {
    /// A stable name for the sort of failure, in snake case.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::BadInput { .. } => "bad_input",
            Self::PromptTooLarge { .. } => "prompt_too_large",
            Self::AnswerTooLarge { .. } => "answer_too_large",
            Self::NoLoop => "no_loop",
        }
    }
}

impl From<SpawnError> for PortFailure {
    fn from(error: SpawnError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}
