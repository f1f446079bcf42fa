//! Everything that can go wrong around the loop.

use svit_model::{MessageId, ModelError};
use svit_txn::StoreError;

use crate::approvals::ApprovalId;

/// Why the loop, its inbox or its outbox could not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoopError {
    /// The process refused.
    #[error(transparent)]
    Process(#[from] svit_txn::Error),
    /// A message or a model is not usable.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The ports that were to be granted are not usable.
    #[error(transparent)]
    Ports(#[from] svit_ports::PortError),
    /// `start` was called outside a tokio runtime.
    #[error("`start` needs a tokio runtime with time enabled; call it inside one")]
    NoRuntime,
    /// `start` was called twice.
    #[error("the loop runs already")]
    AlreadyStarted,
    /// Messages wait, and nothing works on them.
    #[error("{waiting} messages wait and the loop was not started; call `start` first")]
    NotStarted {
        /// How many wait.
        waiting: u64,
    },
    /// A reasoner is needed to answer messages.
    #[error("no reasoner: give one with `.reasoner(..)` before `build`")]
    NoReasoner,
    /// A setter that only a new process has.
    #[error("`.{setter}(..)` is for a new process; this one was persisted with its own")]
    NotForPersisted {
        /// The setter's name.
        setter: &'static str,
    },
    /// Only a user's message can be sent.
    #[error("an inbox takes messages of the user, not of the {role}")]
    NotFromUser {
        /// The role of the message.
        role: &'static str,
    },
    /// A message holds something else than text.
    #[error("an inbox takes text; part {part} of the message is something else")]
    NotText {
        /// The index of the part, from 0.
        part: usize,
    },
    /// The same key was used before, and the message was refused then. Use another key.
    #[error("the message was refused when this key was used first: {reason}")]
    Refused {
        /// A stable name for the reason, in snake case.
        code: String,
        /// The reason.
        reason: String,
    },
    /// A turn was given up. The message is at `/thread/dead/<id>` with the reason.
    #[error("message {message} was given up after {}: {reason}", Attempts(*.attempts))]
    TurnFailed {
        /// The message.
        message: MessageId,
        /// A stable name for the reason, in snake case.
        code: String,
        /// The reason, fit for people.
        reason: String,
        /// How often it was tried.
        attempts: u64,
    },
    /// The loop has stopped because the process can no longer be written.
    #[error("the loop has stopped: {reason}")]
    Stopped {
        /// A stable name for the reason, in snake case.
        code: String,
        /// The reason.
        reason: String,
    },
    /// Another loop was started on the same process, and works on its messages now.
    #[error("another loop was started on the same process and took over")]
    Superseded,
    /// A turn cannot be read back.
    #[error("the turn of message {message} is not recorded: {why}")]
    NotRecorded {
        /// Its message.
        message: MessageId,
        /// What is missing.
        why: &'static str,
    },
    /// A child's model called a tool that waits for the host's yes or no, which nobody can give there.
    #[error("the child called a tool that needs an approval, and nobody can give it there")]
    ChildAsks,
    /// No call of this name waits for the host, or none does any more.
    #[error("call {id} does not wait for approval")]
    NotWaiting {
        /// The call.
        id: ApprovalId,
    },
    /// The host has answered already, and otherwise.
    #[error("call {id} was {} before", if *.approved { "approved" } else { "denied" })]
    AlreadyAnswered {
        /// The call.
        id: ApprovalId,
        /// What it was answered.
        approved: bool,
    },
    /// A text that names no call.
    #[error("{text:?} is not the name of a call, such as \"3.0.1\"")]
    BadApprovalId {
        /// Its beginning.
        text: String,
    },
    /// A policy names a tool that there is not.
    #[error("there is no tool {name:?} to ask about; there are {}", crate::tools::NAMES.join(", "))]
    UnknownTool {
        /// The name.
        name: String,
    },
    /// Nothing more will come.
    #[error("closed: the `Svit` behind it was stopped or is gone")]
    Closed,
    /// So many events were lost because they were not read in time. Read the process, then go on.
    #[error("{0} events were lost because they were not read in time")]
    Lagged(u64),
    /// A stored thread event is not one of ours.
    #[error("thread event {seq} ({kind}): {why}")]
    BadEvent {
        /// Its number.
        seq: u64,
        /// Its kind.
        kind: String,
        /// What is wrong with it.
        why: String,
    },
}

impl LoopError {
    /// A stable name for the sort of failure, in snake case.
    pub fn code(&self) -> &str {
        match self {
            Self::Process(e) => e.code(),
            Self::Model(e) => e.code(),
            Self::Ports(e) => e.code(),
            Self::NoRuntime => "no_runtime",
            Self::AlreadyStarted => "already_started",
            Self::NotStarted { .. } => "not_started",
            Self::NoReasoner => "no_reasoner",
            Self::NotForPersisted { .. } => "not_for_persisted",
            Self::NotFromUser { .. } => "not_from_user",
            Self::NotText { .. } => "not_text",
            Self::Refused { .. } => "refused",
            Self::TurnFailed { .. } => "turn_failed",
            Self::Stopped { .. } => "stopped",
            Self::Superseded => "superseded",
            Self::NotRecorded { .. } => "not_recorded",
            Self::ChildAsks => "needs_approval",
            Self::NotWaiting { .. } => "not_waiting",
            Self::AlreadyAnswered { .. } => "already_answered",
            Self::BadApprovalId { .. } => "bad_approval_id",
            Self::UnknownTool { .. } => "unknown_tool",
            Self::Closed => "closed",
            Self::Lagged(_) => "lagged",
            Self::BadEvent { .. } => "bad_event",
        }
    }
}

impl From<StoreError> for LoopError {
    fn from(error: StoreError) -> Self {
        Self::Process(error.into())
    }
}

impl From<svit_value::ValueError> for LoopError {
    fn from(error: svit_value::ValueError) -> Self {
        Self::Process(error.into())
    }
}

impl From<svit_tree::TreeError> for LoopError {
    fn from(error: svit_tree::TreeError) -> Self {
        Self::Process(error.into())
    }
}

/// A number of attempts in words.
struct Attempts(u64);

impl std::fmt::Display for Attempts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            1 => f.write_str("1 attempt"),
            n => write!(f, "{n} attempts"),
        }
    }
}
