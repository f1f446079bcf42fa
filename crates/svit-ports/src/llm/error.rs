//! `LlmError`: why a model was not asked, or gave no text.

use std::time::Duration;

use svit_model::{FinishReason, ModelError};

use crate::PortFailure;

/// Why a model was not asked, or gave no text.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LlmError {
    /// The input is not what the manual says.
    #[error("{field}: {why}")]
    BadInput {
        /// The field, or `input` for the whole.
        field: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// The prompt is too large. The model was not asked.
    #[error("prompt and system have {actual} bytes, at most {allowed} are allowed")]
    PromptTooLarge {
        /// The limit.
        allowed: u64,
        /// The size of both together.
        actual: u64,
    },
    /// The answer is too large; nothing of it is given. The model was asked, and that was paid.
    #[error("the answer is larger than {allowed} bytes; ask for less, or give max_output_tokens")]
    AnswerTooLarge {
        /// The limit.
        allowed: u64,
    },
    /// The model ended and had said nothing.
    #[error("the model gave no text ({})", .finish.as_str())]
    NoText {
        /// Why it ended.
        finish: FinishReason,
    },
    /// It took too long. The model may go on, and be paid for.
    #[error("no complete answer within {} ms", .0.as_millis())]
    Timeout(Duration),
    /// The call was made where no time can be measured.
    #[error("the port works only inside a tokio runtime with time")]
    NoRuntime,
    /// The model's own failure; its text is free of keys.
    #[error(transparent)]
    Model(#[from] ModelError),
}

impl LlmError {
    /// A stable name for the sort of failure, in snake case; a model's failure has
    /// [its own](ModelError::code).
    pub fn code(&self) -> &'static str {
        match self {
            Self::BadInput { .. } => "bad_input",
            Self::PromptTooLarge { .. } => "prompt_too_large",
            Self::AnswerTooLarge { .. } => "answer_too_large",
            Self::NoText { .. } => "no_text",
            Self::Timeout(_) => "timeout",
            Self::NoRuntime => "no_runtime",
            Self::Model(error) => error.code(),
        }
    }
}

impl From<LlmError> for PortFailure {
    fn from(error: LlmError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}
