//! What the server was sent, kept word for word, so that a test can say what a client put on the wire.

use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

/// One request and what the server made of it.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The HTTP method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The header fields in the order of arrival, names in lower case, without `authorization`.
    pub headers: Vec<(String, String)>,
    /// Whether the right key was sent.
    pub authorized: bool,
    /// The body's octets.
    pub raw: Vec<u8>,
    /// The body as JSON; `None` if it is not JSON.
    pub body: Option<Value>,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It was right, and the script answered.
    Answered {
        /// How many model turns the request already held.
        turn: usize,
        /// How many times this turn had been asked for before.
        attempt: usize,
        /// How many events the whole answer has as a stream, with its end marker.
        events: usize,
        /// The fault that was injected, by name.
        fault: Option<String>,
    },
    /// It was refused.
    Refused {
        /// The HTTP status.
        status: u16,
        /// The text sent to the client.
        message: String,
    },
}

impl Exchange {
    /// The exchange as JSON: what `GET /journal` shows.
    pub fn to_json(&self) -> Value {
        let outcome = match &self.outcome {
            Outcome::Answered {
                turn,
                attempt,
                events,
                fault,
            } => {
                json!({"answered": {"turn": turn, "attempt": attempt, "events": events, "fault": fault}})
            }
            Outcome::Refused { status, message } => {
                json!({"refused": {"status": status, "message": message}})
            }
        };
        json!({
            "method": self.method,
            "path": self.path,
            "authorized": self.authorized,
            "body": self.body,
            "outcome": outcome,
        })
    }
}

/// The exchanges so far.
#[derive(Debug, Default)]
pub(super) struct Journal {
    exchanges: Mutex<Vec<Exchange>>,
}

impl Journal {
    pub(super) fn all(&self) -> Vec<Exchange> {
        self.exchanges
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(super) fn push(&self, exchange: Exchange) {
        self.exchanges
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(exchange);
    }
}
