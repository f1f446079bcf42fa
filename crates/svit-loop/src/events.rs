//! `Events`: everything that happens, as it happens, for consoles and logs.

use std::sync::Arc;

use svit_model::Message;
use svit_tree::Change;
use svit_txn::{DurableProcess, ObserveError, Observer, Published, ThreadEvent};
use tokio::sync::{broadcast, watch};

use crate::LoopError;
use crate::outbox::answer;
use crate::shared::{Progress, Shared};

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SvitEvent {
    /// A transition was committed.
    Committed(Box<Change>),
    /// A canonical event of the thread was recorded.
    CanonicalEvent(ThreadEvent),
    /// An answer was published.
    Message(Message),
    /// A piece of an answer, while it comes in. Not durable; it may be lost.
    Delta(Delta),
    /// A turn failed, or was given up.
    Failed {
        /// A stable name for the reason, in snake case.
        code: String,
        /// The reason, fit for people.
        reason: String,
    },
}

/// A piece of an answer, while it comes in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delta {
    /// The message that is being answered.
    pub turn: u64,
    /// The step of the turn, from 0.
    pub step: u64,
    /// More text.
    pub text: String,
}

/// Receives what happens, in order. Bounded: one that is not read in time loses the oldest.
#[derive(Debug)]
pub struct Events {
    process: DurableProcess,
    observer: Observer,
    deltas: broadcast::Receiver<Delta>,
    deltas_open: bool,
    progress: watch::Receiver<Progress>,
    /// What follows from an event that was already given out.
    derived: Option<SvitEvent>,
}

impl Events {
    pub(crate) fn new(process: DurableProcess, shared: &Arc<Shared>, capacity: usize) -> Self {
        Self {
            observer: process.observe(capacity),
            process,
            deltas: shared.deltas.subscribe(),
            deltas_open: true,
            progress: shared.watch(),
            derived: None,
        }
    }

    /// The next event.
    ///
    /// # Errors
    /// [`LoopError::Lagged`] if some were lost, after which it goes on; [`LoopError::Closed`].
    pub async fn recv(&mut self) -> Result<SvitEvent, LoopError> {
        if let Some(derived) = self.derived.take() {
            return Ok(derived);
        }
        loop {
            tokio::select! {
                biased;
                published = self.observer.recv() => return self.published(published).await,
                delta = self.deltas.recv(), if self.deltas_open => match delta {
                    Ok(delta) => return Ok(SvitEvent::Delta(delta)),
                    // Lost deltas are in the answer, which is durable.
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => self.deltas_open = false,
                },
                changed = self.progress.changed() => {
                    let closed = *self.progress.borrow_and_update() == Progress::Closed;
                    if closed || changed.is_err() {
                        return Err(LoopError::Closed);
                    }
                }
            }
        }
    }

    async fn published(
        &mut self,
        published: Result<Published, ObserveError>,
    ) -> Result<SvitEvent, LoopError> {
        let event = match published {
            Ok(Published::Change(change)) => return Ok(SvitEvent::Committed(change)),
            Ok(Published::Event(event)) => event,
            Ok(_) => return Err(LoopError::Lagged(1)),
            Err(ObserveError::Lagged(lost)) => return Err(LoopError::Lagged(lost)),
            Err(ObserveError::Closed) => return Err(LoopError::Closed),
        };
        self.derived = match answer(&self.process, &event).await {
            Ok(message) => message.map(SvitEvent::Message),
            Err(error @ LoopError::TurnFailed { .. }) => Some(SvitEvent::Failed {
                code: error.code().to_owned(),
                reason: error.to_string(),
            }),
            Err(error) => return Err(error),
        };
        Ok(SvitEvent::CanonicalEvent(event))
    }
}
