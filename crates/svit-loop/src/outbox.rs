//! `Outbox`: answers, read from the thread's events, so that none is ever lost.

use std::sync::Arc;

use svit_model::{Message, MessageId};
use svit_txn::{DurableProcess, EventQuery, Observer, ThreadEvent};
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
    /// Wakes it when anything was published, whoever did it. What it says is not looked at.
    news: Observer,
    progress: watch::Receiver<Progress>,
    next: u64,
}

impl Outbox {
    pub(crate) fn new(process: DurableProcess, shared: &Arc<Shared>, next: u64) -> Self {
        Self {
            news: process.observe(1),
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

    /// The next answer. Dropping the future loses nothing. It waits for as long as the `Svit` lives:
    /// also where the loop was not started, and where every message is answered. After
    /// [`Svit::stop`](crate::Svit::stop) what is left comes first, then [`LoopError::Closed`].
    ///
    /// # Errors
    /// [`LoopError::TurnFailed`] for a message that was given up, after which it goes on;
    /// [`LoopError::Stopped`] and [`LoopError::Closed`] when no more will come; those of the store,
    /// after which it can be asked again.
    pub async fn recv(&mut self) -> Result<Message, LoopError> {
        loop {
            // Marked as seen before looking, so that no news in between is missed.
            let stopped = self.progress.borrow_and_update().stopped();
            if let Some(answer) = self.next_answer().await? {
                return Ok(answer);
            }
            if let Some(stopped) = stopped {
                return Err(stopped);
            }
            tokio::select! {
                _ = self.news.recv() => {}
                changed = self.progress.changed() => if changed.is_err() {
                    return Err(LoopError::Closed);
                }
            }
        }
    }

    /// The next answer among the events that are there.
    async fn next_answer(&mut self) -> Result<Option<Message>, LoopError> {
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
                let answer = answer(&self.process, &event).await;
                // Not passed before its answer is in hand: this future may be dropped while it is
                // fetched, and the store may fail.
                if !matches!(answer, Err(LoopError::Process(_))) {
                    self.next = event.seq + 1;
                }
                if let Some(answer) = answer? {
                    return Ok(Some(answer));
                }
            }
        }
        Ok(None)
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
            // It may have been forgotten, and then the next one is not it.
            let answers = |event: &&ThreadEvent| event.seq == query.from;
            let Some(responded) = responded.first().filter(answers) else {
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
