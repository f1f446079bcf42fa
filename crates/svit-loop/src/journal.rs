//! The loop's hold on its thread: recording events, and knowing all that are recorded.
//!
//! Events are recorded only by who knows every event before them, so that two loops on one process
//! cannot both record the same step.

use std::sync::Arc;

use svit_txn::{
    DurableProcess, Error, EventQuery, Extras, Operation, Outcome, StoreError, Submission,
};
use svit_value::Value;

use crate::LoopError;
use crate::conversation::Conversation;
use crate::shared::Shared;
use crate::thread::{NewEvent, event, kind};

/// How many events are read at a time.
const PAGE: usize = 256;

/// A thread as its events tell it, and the only way to add to them.
#[derive(Debug)]
pub(crate) struct Journal {
    process: DurableProcess,
    shared: Arc<Shared>,
    conversation: Conversation,
    /// The number of the next event that the conversation has not taken in.
    seen: u64,
    /// The event that started this session.
    session: Option<u64>,
}

impl Journal {
    /// Reads the whole thread. O(events).
    pub(crate) async fn read(
        process: DurableProcess,
        shared: Arc<Shared>,
    ) -> Result<Self, LoopError> {
        let mut journal = Self {
            process,
            shared,
            conversation: Conversation::default(),
            seen: 0,
            session: None,
        };
        journal.catch_up().await?;
        Ok(journal)
    }

    pub(crate) const fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// How many events were taken in.
    pub(crate) const fn seen(&self) -> u64 {
        self.seen
    }

    /// Records that a loop with this model works on the thread from here on. An older loop that
    /// still runs sees it and stops.
    pub(crate) async fn begin_session(&mut self, model: &str) -> Result<(), LoopError> {
        while self.session.is_none() {
            let started = event(
                kind::SESSION_STARTED,
                [
                    ("model", Value::from(model)),
                    ("svit", Value::from(env!("CARGO_PKG_VERSION"))),
                ],
            )?;
            let number = self.seen;
            if self.note(vec![started]).await? {
                self.session = Some(number);
            }
        }
        Ok(())
    }

    /// Settles what a dropped future or a failing store left in flight, and takes it in.
    pub(crate) async fn settle(&mut self) -> Result<(), LoopError> {
        self.note(Vec::new()).await.map(drop)
    }

    /// Records events and takes them in. Returns whether it did: not if others were recorded that
    /// were not known; they are taken in instead, and what to do has to be decided again.
    pub(crate) async fn note(&mut self, events: Vec<NewEvent>) -> Result<bool, LoopError> {
        let (process, seen) = (self.process.clone(), self.seen);
        let mut recorded = false;
        let submission = Submission::plain(Operation::Note).recording(|_| {
            // This runs while nobody else can append, so that it is still true when it lands.
            recorded = process.events_end() == seen;
            Extras {
                outcome: Value::Null,
                events: if recorded { events } else { Vec::new() },
            }
        });
        self.process.submit(submission).await?;
        self.catch_up().await?;
        Ok(recorded)
    }

    /// Takes a message out of the inbox and records why, in one append. The events are made from
    /// the number of the first of them. That the message is gone already is no error.
    pub(crate) async fn end_turn(
        &mut self,
        operation: Operation,
        events: impl FnOnce(u64) -> Vec<NewEvent> + Send,
    ) -> Result<(), LoopError> {
        let process = self.process.clone();
        let submission = Submission::plain(operation).recording(|outcome| match outcome {
            Ok(_) => Extras {
                outcome: Value::Null,
                events: events(process.events_end()),
            },
            Err(_) => Extras::default(),
        });
        match self.submit(submission).await {
            Ok(_) | Err(LoopError::Process(Error::NoMessage { .. })) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Carries out a submission, and takes in what it recorded, also about a rejection.
    pub(crate) async fn submit(
        &mut self,
        submission: Submission<'_>,
    ) -> Result<Outcome, LoopError> {
        let result = self.process.submit(submission).await;
        self.catch_up().await?;
        Ok(result?)
    }

    /// Takes in the events that are not taken in yet, and tells those who wait.
    pub(crate) async fn catch_up(&mut self) -> Result<(), LoopError> {
        while self.seen < self.process.events_end() {
            let query = EventQuery {
                from: self.seen,
                limit: PAGE,
                newest_first: false,
            };
            let page = self.process.events(query).await?;
            if page.is_empty() {
                break;
            }
            for event in &page {
                if self.session.is_some() && &*event.kind == kind::SESSION_STARTED {
                    return Err(LoopError::Superseded);
                }
                self.conversation.apply(event)?;
                self.seen = event.seq + 1;
            }
        }
        self.shared.set_usage(self.conversation.usage());
        self.shared.set_keep_from(self.conversation.keep_from());
        Ok(())
    }
}

/// Whether an operation was refused for what it asks, as opposed to a store that failed.
pub(crate) fn is_rejection(error: &Error) -> bool {
    !matches!(
        error,
        Error::Store(_) | Error::Record { .. } | Error::History { .. } | Error::ReusedKey { .. }
    )
}

/// Whether the store only cannot take so much at once.
pub(crate) fn is_too_large(error: &LoopError) -> bool {
    matches!(
        error,
        LoopError::Process(Error::Store(StoreError::TooLarge { .. }))
    )
}

/// Whether the same may work later: the store does not answer for now.
pub(crate) fn may_pass(error: &LoopError) -> bool {
    matches!(
        error,
        LoopError::Process(Error::Store(
            StoreError::Unavailable { .. } | StoreError::Unknown { .. }
        ))
    )
}
