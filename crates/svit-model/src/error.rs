//! Everything that can go wrong between a request and an answer, by what a caller can do about it.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use svit_value::ValueError;

/// The cause of an error, kept for people: its text is free of keys.
pub type ErrorSource = Arc<dyn Error + Send + Sync>;

/// Why a model gave no answer.
///
/// The kinds say what helps: waiting ([`is_retryable`](Self::is_retryable)), another key, a shorter
/// conversation, another request. `detail` is the provider's own text, cut to 600 characters.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// Too many requests or tokens for now.
    #[error("the provider limits the rate of requests{}: {detail}", Wait(*retry_after))]
    RateLimited {
        /// The wait that the provider asked for.
        retry_after: Option<Duration>,
        /// The provider's text.
        detail: String,
    },
    /// The account has nothing left: waiting does not help.
    #[error("the account's quota is used up: {detail}")]
    QuotaExhausted {
        /// The provider's text.
        detail: String,
    },
    /// A failure that may be gone next time.
    #[error("the model call failed for now ({cause}): {detail}")]
    Transient {
        /// What happened.
        cause: TransientCause,
        /// The wait that the provider asked for.
        retry_after: Option<Duration>,
        /// The provider's text, or ours.
        detail: String,
        /// The cause, if another error was behind it.
        #[source]
        source: Option<ErrorSource>,
    },
    /// No connection to the provider: wrong address, no network, nothing listening.
    #[error("cannot reach {endpoint}")]
    Unreachable {
        /// The base URL, without its query.
        endpoint: String,
        /// Why.
        #[source]
        source: Option<ErrorSource>,
    },
    /// The key is wrong, or may not do this.
    #[error("the provider refused the key: {detail}")]
    Authentication {
        /// The provider's text, without the key.
        detail: String,
    },
    /// No key was given.
    #[error("no key: set {variable}")]
    MissingKey {
        /// The environment variable that should hold it.
        variable: &'static str,
    },
    /// The conversation does not fit the model's window.
    #[error("the conversation is longer than the model's context: {detail}")]
    ContextTooLong {
        /// The provider's text.
        detail: String,
    },
    /// The request is wrong, and will be the next time too.
    #[error("invalid model request: {detail}")]
    Invalid {
        /// What is wrong.
        detail: String,
    },
    /// The model, or its provider's filter, will not answer this.
    #[error("the model refused: {detail}")]
    Refused {
        /// Its text.
        detail: String,
    },
    /// An answer larger than we take.
    #[error("the answer is larger than {limit} octets")]
    AnswerTooLarge {
        /// The bound, in octets on the wire.
        limit: u64,
    },
    /// The model wrote tool arguments that are not a JSON object. The text is meant for the model.
    #[error(
        "the arguments of tool {tool:?} are not a JSON object: {problem}. Call it again with a valid JSON object"
    )]
    MalformedArguments {
        /// The tool's name.
        tool: String,
        /// What is wrong with them.
        problem: String,
    },
    /// A stored message that is not one of ours.
    #[error("invalid stored message at {place}: {problem}")]
    InvalidMessage {
        /// The place in the value, such as `parts/2/kind`.
        place: String,
        /// What is wrong there.
        problem: String,
    },
    /// A value that cannot be held or written.
    #[error("a value in a message cannot be kept")]
    Value {
        /// Why.
        #[source]
        source: Arc<ValueError>,
    },
    /// The budget that the host gave is used up; see [`Budgeted`](crate::Budgeted). Nothing was asked.
    #[error("the budget of tokens is used up: {used} were used, {allowed} are allowed")]
    BudgetUsedUp {
        /// The tokens used so far.
        used: u64,
        /// The tokens that are allowed.
        allowed: u64,
    },
    /// A [`Scripted`](crate::Scripted) or [`Recorded`](crate::Recorded) model was asked for more than
    /// its list holds.
    #[error("the script has {answers} answers, and was asked for answer {}", .asked + 1)]
    ScriptExhausted {
        /// How many it has.
        answers: usize,
        /// The number asked for, from 0.
        asked: usize,
    },
    /// This provider needs a tokio runtime with time and I/O, and was polled outside one.
    #[error("this provider works only inside a tokio runtime")]
    NoRuntime,
}

/// What made a call fail for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TransientCause {
    /// An HTTP status: 408, 409 or 5xx.
    Status(u16),
    /// The answer broke off before its end marker, or could not be read.
    BrokenStream,
    /// Nothing came for too long.
    Timeout,
    /// The provider reported an error in the middle of an answer.
    Reported,
}

impl ModelError {
    /// A stable name of the kind, for logs, stored reasons and programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::RateLimited { .. } => "rate_limited",
            Self::QuotaExhausted { .. } => "quota_exhausted",
            Self::Transient { .. } => "transient",
            Self::Unreachable { .. } => "unreachable",
            Self::Authentication { .. } => "authentication",
            Self::MissingKey { .. } => "missing_key",
            Self::ContextTooLong { .. } => "context_too_long",
            Self::Invalid { .. } => "invalid",
            Self::Refused { .. } => "refused",
            Self::AnswerTooLarge { .. } => "answer_too_large",
            Self::MalformedArguments { .. } => "malformed_arguments",
            Self::InvalidMessage { .. } => "invalid_message",
            Self::Value { .. } => "value",
            Self::BudgetUsedUp { .. } => "budget_used_up",
            Self::ScriptExhausted { .. } => "script_exhausted",
            Self::NoRuntime => "no_runtime",
        }
    }

    /// Whether the same request may succeed later.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::RateLimited { .. } | Self::Transient { .. } | Self::Unreachable { .. }
        )
    }

    /// How long the provider asked to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } | Self::Transient { retry_after, .. } => {
                *retry_after
            }
            _ => None,
        }
    }

    /// A stream that ended too early or could not be read.
    pub(crate) fn broken(detail: impl Into<String>) -> Self {
        Self::Transient {
            cause: TransientCause::BrokenStream,
            retry_after: None,
            detail: detail.into(),
            source: None,
        }
    }

    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self::Invalid {
            detail: detail.into(),
        }
    }
}

impl From<ValueError> for ModelError {
    fn from(source: ValueError) -> Self {
        Self::Value {
            source: Arc::new(source),
        }
    }
}

impl fmt::Display for TransientCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "status {status}"),
            Self::BrokenStream => f.write_str("broken stream"),
            Self::Timeout => f.write_str("timeout"),
            Self::Reported => f.write_str("reported by the provider"),
        }
    }
}

struct Wait(Option<Duration>);

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(wait) => write!(f, " (wait {:.1} s)", wait.as_secs_f64()),
            None => Ok(()),
        }
    }
}
