//! What the script wants the model to say, and what should go wrong on the way.

use std::time::Duration;

use serde_json::Value;

/// One answer of the model, independent of the wire format.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// Reasoning, before everything else. Responses: a sealed item; Chat Completions: `reasoning_content`;
    /// Messages: a signed block; Gemini: a thought, and a signature on what follows; Ollama: `thinking`.
    pub reasoning: Option<String>,
    /// Text, streamed word by word.
    pub text: Option<String>,
    /// The refusal text of a model that will not answer.
    pub refusal: Option<String>,
    /// Tool calls, in order, after the text.
    pub calls: Vec<Call>,
    /// Input and output tokens reported at the end.
    pub usage: Option<(u64, u64)>,
    /// The finish reason in terms of Chat Completions (`length`, `content_filter`); found by itself if `None`.
    pub finish: Option<String>,
    /// Faults of the first attempts at this turn, one each; later attempts get [`fault`](Self::fault).
    pub first_faults: Vec<Fault>,
    /// The fault of every other attempt.
    pub fault: Option<Fault>,
}

/// A tool call that the model makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The call's id; made from its place if `None`.
    pub id: Option<String>,
    /// The tool's name.
    pub name: String,
    /// The arguments as the model writes them: normally the text of a JSON object, but models do fail.
    pub arguments: String,
}

impl Call {
    /// A call with arguments that are JSON.
    pub fn new(name: impl Into<String>, arguments: &Value) -> Self {
        Self::raw(name, arguments.to_string())
    }

    /// A call with arguments as text, which may be malformed.
    pub fn raw(name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self {
            id: None,
            name: name.into(),
            arguments: arguments.into(),
        }
    }
}

impl Reply {
    /// An answer in words.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: Some(text.into()),
            ..Self::default()
        }
    }

    /// A single tool call.
    pub fn call(name: impl Into<String>, arguments: &Value) -> Self {
        Self::calls([Call::new(name, arguments)])
    }

    /// Several tool calls.
    pub fn calls(calls: impl IntoIterator<Item = Call>) -> Self {
        Self {
            calls: calls.into_iter().collect(),
            ..Self::default()
        }
    }

    /// A refusal.
    pub fn refusal(text: impl Into<String>) -> Self {
        Self {
            refusal: Some(text.into()),
            ..Self::default()
        }
    }

    /// No answer at all: this goes wrong each time.
    pub fn fault(fault: Fault) -> Self {
        Self {
            fault: Some(fault),
            ..Self::default()
        }
    }

    /// Adds text (before the tool calls).
    #[must_use]
    pub fn and_text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// Adds a tool call.
    #[must_use]
    pub fn and_call(mut self, call: Call) -> Self {
        self.calls.push(call);
        self
    }

    /// Adds reasoning before the answer.
    #[must_use]
    pub fn reasoning(mut self, text: impl Into<String>) -> Self {
        self.reasoning = Some(text.into());
        self
    }

    /// Sets the reported tokens.
    #[must_use]
    pub fn usage(mut self, input: u64, output: u64) -> Self {
        self.usage = Some((input, output));
        self
    }

    /// Sets the finish reason, in terms of Chat Completions.
    #[must_use]
    pub fn finish(mut self, reason: impl Into<String>) -> Self {
        self.finish = Some(reason.into());
        self
    }

    /// Makes every attempt go wrong like this.
    #[must_use]
    pub fn with_fault(mut self, fault: Fault) -> Self {
        self.fault = Some(fault);
        self
    }

    /// Makes the first attempt go wrong like this, the next one by the next call of this, and so on.
    #[must_use]
    pub fn first(mut self, fault: Fault) -> Self {
        self.first_faults.push(fault);
        self
    }

    /// The fault of one attempt, counted from 0.
    pub(super) fn fault_of(&self, attempt: usize) -> Option<&Fault> {
        self.first_faults.get(attempt).or(self.fault.as_ref())
    }
}

/// Something that goes wrong. Events are those of the stream, counted from 0; an answer that is not
/// streamed counts as a single one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// An HTTP error instead of an answer.
    Status {
        /// The status code.
        status: u16,
        /// The `Retry-After` header as sent: seconds, or a date.
        retry_after: Option<String>,
        /// The error's `code`, such as `rate_limit_exceeded`.
        code: String,
        /// The error's text.
        message: String,
    },
    /// The connection is closed before a response.
    HangUp,
    /// The connection is cut after so many events: the body has no end.
    CutAfter(usize),
    /// The body ends in good order after so many events, without the end marker.
    EndAfter(usize),
    /// So many events are right, the next is not JSON.
    MalformedJson(usize),
    /// An error event after so many events.
    ErrorAfter {
        /// How many events come before.
        events: usize,
        /// The error's `code`.
        code: String,
        /// The error's text.
        message: String,
    },
    /// These octets after so many events, and then the end.
    Octets {
        /// How many events come before.
        events: usize,
        /// Whatever a server should never send.
        octets: Vec<u8>,
    },
    /// Nothing more after so many events, with the connection open.
    Stall(usize),
    /// The whole answer, a few octets at a time.
    Slow {
        /// Octets at a time (at least 1).
        octets: usize,
        /// The pause between them.
        pause: Duration,
    },
}

impl Fault {
    /// Status 429 with the wait in seconds.
    pub fn rate_limited(seconds: u64) -> Self {
        Self::Status {
            status: 429,
            retry_after: Some(seconds.to_string()),
            code: "rate_limit_exceeded".into(),
            message: "Rate limit reached.".into(),
        }
    }

    /// An HTTP error with no more than its status.
    pub fn status(status: u16) -> Self {
        Self::Status {
            status,
            retry_after: None,
            code: "server_error".into(),
            message: format!("Injected status {status}."),
        }
    }

    /// The name for journals.
    pub fn name(&self) -> String {
        match self {
            Self::Status { status, .. } => format!("status {status}"),
            Self::HangUp => "hang up".into(),
            Self::CutAfter(events) => format!("cut after {events}"),
            Self::EndAfter(events) => format!("end after {events}"),
            Self::MalformedJson(events) => format!("malformed after {events}"),
            Self::ErrorAfter { events, code, .. } => format!("error {code} after {events}"),
            Self::Octets { events, octets } => format!("{} octets after {events}", octets.len()),
            Self::Stall(events) => format!("stall after {events}"),
            Self::Slow { .. } => "slow".into(),
        }
    }
}
