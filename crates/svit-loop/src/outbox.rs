//! `Outbox`: answers, read from the thread's events, so that none is ever lost.

use std::sync::Arc;

use svit_model::{Message, MessageId};
use svit_txn::{DurableProcess, EventQuery, ThreadEvent};
use tokio::sync::watch;

use crate::LoopError;
use crate::shared::{Progress, Shared};
use crate::thread::{Body, kind};

/// How many events are read at a time.
const PAGE: usize = 64;

/// Receives answers, in order. It is a cursor over the thread's events: an answer that was committed
/// while nobody listened is still there, and a slow reader loses nothing.
#[derive(Debug)]
pub struct Outbox {
    process: DurableProcess,
    progress: watch::Receiver<Progress>,
    next: u64,
}

impl Outbox {
    pub(crate) fn new(process: DurableProcess, shared: &Arc<Shared>, next: u64) -> Self {
        Self {
            process,
            progress: shared.watch(),
            next,
        }
    }

    /// The sequence number of the next event that will be looked at. Kept by a program, it lets
    /// [`Svit::outbox_from`](crate::Svit::outbox_from) go on from here after a restart.
    pub const fn position(&self) -> u64 {
        self.next
    }

    /// The next answer. Dropping the future loses nothing.
    ///
    /// # Errors
    /// [`LoopError::TurnFailed`] for a message that was given up, after which it goes on;
    /// [`LoopError::Stopped`] and [`LoopError::Closed`] when no more will come.
    pub async fn recv(&mut self) -> Result<Message, LoopError> {
        loop {
            // Marked as seen before looking, so that no news in between is missed.
            let stopped = self.progress.borrow_and_update().stopped();
            while self.next < self.process.events_end() {
                let query = EventQuery {
                    from: self.next,
                    limit: PAGE,
                    newest_first: false,
                };
                let page = self.process.events(query).await?;
                if page.is_empty() {
                    break;
                }
                for event in page {
                    self.next = event.seq + 1;
                    if let Some(answer) = answer(&self.process, &event).await? {
                        return Ok(answer);
                    }
                }
            }
            if let Some(stopped) = stopped {
                return Err(stopped);
            }
            if self.progress.changed().await.is_err() {
                return Err(LoopError::Closed);
            }
        }
    }
}

/// The answer that an event publishes, if it does.
pub(crate) async fn answer(
    process: &DurableProcess,
    event: &ThreadEvent,
) -> Result<Option<Message>, LoopError> {
    let body = Body::of(event);
    match &*event.kind {
        kind::TURN_FINISHED => {
            let query = EventQuery {
                from: body.count("answer")?,
                limit: 1,
                newest_first: false,
            };
            let responded = process.events(query).await?;
            let Some(responded) = responded.first() else {
                return Ok(None);
            };
            let message = Body::of(responded).message("message")?;
            Ok(Some(
                message
                    .with_id(MessageId::new(event.seq))
                    .with_in_reply_to(MessageId::new(body.count("turn")?)),
            ))
        }
        kind::TURN_FAILED if body.flag("final")? => Err(LoopError::TurnFailed {
            message: MessageId::new(body.count("turn")?),
            code: body.text("code")?.to_owned(),
            reason: body.text("reason")?.to_owned(),
            attempts: body.count("attempt")?,
        }),
        _ => Ok(None),
    }
}
