//! `Events`: everything that happens, as it happens, for consoles and logs.

use std::collections::VecDeque;
use std::future::ready;
use std::sync::Arc;

use svit_model::Message;
use svit_tree::Change;
use svit_txn::{DurableProcess, ObserveError, Observer, Published, ThreadEvent};
use tokio::sync::{broadcast, watch};

use crate::LoopError;
use crate::failure::sanitized;
use crate::outbox::answer;
use crate::shared::{PlacedDelta, Progress, Shared};
use crate::thread::{Body, kind};

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
    /// A turn failed for now, or was given up, or the loop has stopped.
    Failed {
        /// A stable name for the reason, in snake case.
        code: String,
        /// The reason, fit for people: one line of bounded length, without control characters.
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
    deltas: broadcast::Receiver<PlacedDelta>,
    deltas_open: bool,
    progress: watch::Receiver<Progress>,
    /// The number of the next thread event, as far as was told.
    next: u64,
    /// What is to be given out next, in order.
    ready: VecDeque<SvitEvent>,
    /// The event in `ready` that something follows from.
    ending: Option<ThreadEvent>,
    /// A delta that came in before the events that precede it.
    early: Option<PlacedDelta>,
    /// Whether it was said that the loop has stopped.
    told: bool,
}

impl Events {
    pub(crate) fn new(process: DurableProcess, shared: &Arc<Shared>, capacity: usize) -> Self {
        Self {
            observer: process.observe(capacity),
            deltas: shared.deltas.subscribe(),
            deltas_open: true,
            progress: shared.watch(),
            next: process.events_end(),
            process,
            ready: VecDeque::new(),
            ending: None,
            early: None,
            told: false,
        }
    }

    /// The next event. Dropping the future loses nothing.
    ///
    /// # Errors
    /// [`LoopError::Lagged`] if some were lost, after which it goes on; [`LoopError::Closed`] once
    /// the `Svit` was stopped or is gone; those of the store, after which it can be asked again.
    pub async fn recv(&mut self) -> Result<SvitEvent, LoopError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(event);
            }
            if let Some(event) = &self.ending {
                let derived = derived(&self.process, event).await;
                // Kept while the store fails, and while this future may be dropped.
                if !matches!(derived, Err(LoopError::Process(_))) {
                    self.ending = None;
                }
                self.ready.extend(derived?);
                continue;
            }
            if let Some((place, delta)) = self.early.take() {
                if place <= self.next {
                    return Ok(SvitEvent::Delta(delta));
                }
                self.early = Some((place, delta));
            }
            let now = self.progress.borrow_and_update().clone();
            let ended = match now {
                Progress::Closed => true,
                Progress::Stopped(..) => !self.told,
                Progress::Idle | Progress::Busy | Progress::Waiting => false,
            };
            tokio::select! {
                biased;
                delta = self.deltas.recv(), if self.deltas_open && self.early.is_none() => {
                    match delta {
                        Ok(delta) => self.early = Some(delta),
                        // Lost deltas are in the answer, which is durable.
                        Err(broadcast::error::RecvError::Lagged(_)) => {}
                        Err(broadcast::error::RecvError::Closed) => self.deltas_open = false,
                    }
                }
                published = self.observer.recv() => self.published(published)?,
                () = ready(()), if ended => match now {
                    Progress::Stopped(code, reason) => {
                        self.told = true;
                        let reason = sanitized(&reason);
                        return Ok(SvitEvent::Failed { code, reason });
                    }
                    _ => return Err(LoopError::Closed),
                },
                changed = self.progress.changed(), if !ended => if changed.is_err() {
                    return Err(LoopError::Closed);
                }
            }
        }
    }

    fn published(&mut self, published: Result<Published, ObserveError>) -> Result<(), LoopError> {
        match published {
            Ok(Published::Change(change)) => self.ready.push_back(SvitEvent::Committed(change)),
            Ok(Published::Event(event)) => {
                self.take_deltas_before(event.seq);
                self.next = event.seq + 1;
                if matches!(&*event.kind, kind::TURN_FINISHED | kind::TURN_FAILED) {
                    self.ending = Some(event.clone());
                }
                self.ready.push_back(SvitEvent::CanonicalEvent(event));
            }
            // Of a later version of the process layer, which says what it is in the events.
            Ok(_) => {}
            Err(ObserveError::Lagged(lost)) => {
                self.next = self.process.events_end();
                return Err(LoopError::Lagged(lost));
            }
            Err(ObserveError::Closed) => return Err(LoopError::Closed),
        }
        Ok(())
    }

    /// Puts the deltas in front of an event that were sent before it.
    fn take_deltas_before(&mut self, seq: u64) {
        loop {
            match self.early.take() {
                Some((place, delta)) if place <= seq => {
                    self.ready.push_back(SvitEvent::Delta(delta));
                }
                Some(later) => {
                    self.early = Some(later);
                    return;
                }
                None => match self.deltas.try_recv() {
                    Ok(delta) => self.early = Some(delta),
                    Err(broadcast::error::TryRecvError::Lagged(_)) => {}
                    Err(_) => return,
                },
            }
        }
    }
}

/// What follows from an event that ends a turn, or an attempt at it.
async fn derived(
    process: &DurableProcess,
    event: &ThreadEvent,
) -> Result<Option<SvitEvent>, LoopError> {
    let failed = |code: String, reason: String| SvitEvent::Failed {
        code,
        reason: sanitized(&reason),
    };
    if &*event.kind == kind::TURN_FAILED && !Body::of(event).flag("final")? {
        let body = Body::of(event);
        let (turn, attempt) = (body.count("turn")?, body.count("attempt")?);
        let (code, reason) = (body.text("code")?, body.text("reason")?);
        let reason = format!("attempt {attempt} at message {turn} failed: {reason}");
        return Ok(Some(failed(code.to_owned(), reason)));
    }
    match answer(process, event).await {
        Ok(message) => Ok(message.map(SvitEvent::Message)),
        Err(error) => match &error {
            LoopError::TurnFailed { code, .. } => Ok(Some(failed(code.clone(), error.to_string()))),
            _ => Err(error),
        },
    }
}
