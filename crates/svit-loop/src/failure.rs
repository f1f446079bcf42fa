//! Why a turn ended without an answer: for now, for good, or with the loop.

use std::time::Duration;

use svit_model::ModelError;

use crate::LoopError;
use crate::journal::is_too_large;
use crate::thread::NewEvent;

/// The longest reason that is kept, in characters.
const MAX_REASON: usize = 1_000;

/// Why a turn ended.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The turn failed; the loop goes on.
    Turn(TurnFailure),
    /// The process can no longer be written, or what is stored cannot be read.
    Fatal(Box<LoopError>),
}

/// A typed reason.
#[derive(Debug, Default)]
pub(crate) struct TurnFailure {
    pub(crate) code: String,
    pub(crate) reason: String,
    /// Whether another attempt can only end the same way.
    pub(crate) is_final: bool,
    /// How long the provider asked to wait.
    pub(crate) wait: Option<Duration>,
    /// What happened last and is not recorded yet.
    pub(crate) events: Vec<NewEvent>,
}

impl Failure {
    /// A failure that another attempt would only repeat.
    pub(crate) fn last(code: &str, reason: impl AsRef<str>) -> Self {
        Self::last_after(Vec::new(), code, reason)
    }

    /// The same, with what happened last.
    pub(crate) fn last_after(events: Vec<NewEvent>, code: &str, reason: impl AsRef<str>) -> Self {
        Self::Turn(TurnFailure {
            code: code.to_owned(),
            reason: sanitized(reason.as_ref()),
            is_final: true,
            wait: None,
            events,
        })
    }

    pub(crate) fn cancelled() -> Self {
        Self::last("cancelled", "the turn was cancelled by the host")
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
            reason: sanitized(&reason),
            is_final: false,
            wait: error.retry_after(),
            events: Vec::new(),
        })
    }
}

impl From<LoopError> for Failure {
    fn from(error: LoopError) -> Self {
        if is_too_large(&error) {
            return Self::last(error.code(), error.to_string());
        }
        Self::Fatal(Box::new(error))
    }
}

/// A value of the turn that cannot be held in an event ends the turn, not the loop.
impl From<svit_value::ValueError> for Failure {
    fn from(error: svit_value::ValueError) -> Self {
        Self::last(error.code(), error.to_string())
    }
}

/// A text of others, fit to be kept and shown: one line of bounded length, without control
/// characters, which a terminal might obey.
pub(crate) fn sanitized(text: &str) -> String {
    let mut clean: String = text
        .chars()
        .take(MAX_REASON)
        .map(|c| if is_harmful(c) { ' ' } else { c })
        .collect();
    if text.chars().nth(MAX_REASON).is_some() {
        clean.push('…');
    }
    clean
}

/// Control characters, line separators, and those that change the direction of what is shown.
pub(crate) fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests;
