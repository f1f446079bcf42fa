//! The task that works on the inbox: one message after the other, tried again where that helps.
//!
//! Everything that it does is in the thread's events before it matters, so that a killed program
//! goes on where the events end.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use svit_model::Reasoner;
use svit_ports::Ports;
use svit_txn::{DurableProcess, Operation};
use svit_value::{Map, Value};

use crate::LoopError;
use crate::budget::{Budget, Deadline, Stopwatch};
use crate::failure::{Failure, TurnFailure};
use crate::journal::{Journal, is_rejection, is_too_large, may_pass};
use crate::shared::{Progress, Shared};
use crate::thread::{NewEvent, count, event, kind};
use crate::tools::ToolPolicy;
use crate::turn::Turned;

/// How long a failed turn, or a store that does not answer, is given before the next attempt:
/// doubled each time, up to the longest.
const FIRST_WAIT: Duration = Duration::from_millis(250);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// The longest wait that a provider may ask for.
const LONGEST_ASKED_WAIT: Duration = Duration::from_secs(3_600);

/// How often in a row the store may fail to answer before the loop stops.
const STORE_ATTEMPTS: u64 = 8;

/// What the loop works with.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) process: DurableProcess,
    pub(crate) shared: Arc<Shared>,
    pub(crate) reasoner: Reasoner,
    pub(crate) instructions: Option<String>,
    pub(crate) policy: ToolPolicy,
    pub(crate) budget: Budget,
    pub(crate) stopwatch: Stopwatch,
    pub(crate) ports: Arc<Ports>,
    pub(crate) journal: Journal,
}

/// Says that the loop has ended, however it did: also if it panicked, or if its runtime is gone.
struct Ending(Arc<Shared>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.set_progress(Progress::Stopped(
            "ended".to_owned(),
            "its task ended early: the model's provider panicked, or the runtime was shut down"
                .to_owned(),
        ));
    }
}

impl Worker {
    /// Works until the process can no longer be written.
    pub(crate) async fn run(mut self) {
        let ending = Ending(self.shared.clone());
        let error = self.work().await;
        tracing::error!(address = %self.process.address(), code = error.code(), "the loop stopped");
        let progress = Progress::Stopped(error.code().to_owned(), error.to_string());
        self.shared.set_progress(progress);
        // Not dropped: there is a better reason already.
        std::mem::forget(ending);
    }

    /// Works until something stops it for good. A store that does not answer is waited for.
    async fn work(&mut self) -> LoopError {
        let mut failures = 0;
        loop {
            let seen = self.journal.seen();
            let error = match self.session().await {
                Ok(never) => match never {},
                Err(error) => error,
            };
            if self.journal.seen() > seen {
                failures = 0;
            }
            failures += 1;
            if !may_pass(&error) || failures >= STORE_ATTEMPTS {
                return error;
            }
            tracing::warn!(code = error.code(), failures, "the store does not answer");
            tokio::time::sleep(backoff(failures)).await;
        }
    }

    async fn session(&mut self) -> Result<Infallible, LoopError> {
        self.journal.settle().await?;
        self.journal.begin_session(self.reasoner.model()).await?;
        // Watched before looking, so that no message in between is missed, whoever enqueued it.
        let mut news = self.process.observe(1);
        loop {
            self.journal.catch_up().await?;
            let waiting = self.waiting()?;
            self.shared
                .set_turn(waiting.as_ref().map(|(turn, _)| *turn));
            match waiting {
                Some((turn, message)) => {
                    self.shared.set_progress(Progress::Busy);
                    let waits = self.attend(turn, message).await? == Turned::Waits;
                    // Unless the host has answered by now. What has landed may be read before it is
                    // published.
                    if waits && self.journal.seen() >= self.process.events_end() {
                        self.shared.set_progress(Progress::Waiting);
                        let shared = self.shared.clone();
                        tokio::select! {
                            // The host's answer is among the news, sooner or later.
                            _ = news.recv() => {}
                            () = shared.unsettled.notified() => self.journal.settle().await?,
                            // Acted on where the turn goes on.
                            () = shared.cancelled(turn) => {}
                        }
                    }
                }
                None => {
                    self.shared.set_progress(Progress::Idle);
                    let shared = self.shared.clone();
                    tokio::select! {
                        // How many news there were, and which, does not matter.
                        _ = news.recv() => {}
                        () = shared.unsettled.notified() => self.journal.settle().await?,
                    }
                }
            }
        }
    }

    /// The oldest message of the inbox.
    fn waiting(&self) -> Result<Option<(u64, Value)>, LoopError> {
        let inbox = self.process.read("/inbox")?;
        let oldest = inbox.as_ref().and_then(Value::as_map).and_then(|inbox| {
            let (key, message) = inbox.iter().next()?;
            Some((key.parse().ok()?, message.clone()))
        });
        Ok(oldest)
    }

    fn is_waiting(&self, turn: u64) -> Result<bool, LoopError> {
        Ok(matches!(self.waiting()?, Some((oldest, _)) if oldest == turn))
    }

    /// Works on a message, and counts the time that it takes.
    async fn attend(&mut self, turn: u64, message: Value) -> Result<Turned, LoopError> {
        let deadline = self.stopwatch.deadline(turn, self.budget.wall);
        let begun = tokio::time::Instant::now();
        let attended = self.work_on(turn, message, deadline).await;
        self.stopwatch.add(begun.elapsed());
        attended
    }

    /// Works on a message until it is answered or given up, or waits for the host, or the turn failed
    /// for now.
    async fn work_on(
        &mut self,
        turn: u64,
        message: Value,
        deadline: Deadline,
    ) -> Result<Turned, LoopError> {
        let span = tracing::info_span!("turn", address = %self.process.address(), turn);
        let shared = self.shared.clone();
        let ended = {
            let turning = tracing::Instrument::instrument(self.turn(turn, &message), span);
            tokio::select! {
                biased;
                () = shared.cancelled(turn) => Err(Failure::cancelled()),
                () = deadline.passed() => Err(deadline.failure()),
                ended = turning => ended,
            }
        };
        let failure = match ended {
            Ok(turned) => return Ok(turned),
            Err(Failure::Fatal(error)) => return Err(*error),
            Err(Failure::Turn(failure)) => failure,
        };
        // A cancelled future may have left an append in flight; nothing is written before it is
        // settled, and nothing is decided before its events are known.
        self.journal.settle().await?;
        if self.is_waiting(turn)? {
            self.failed(turn, failure, deadline).await?;
        }
        Ok(Turned::Ended)
    }

    /// Records that a turn failed; then gives its message up, or waits before the next attempt.
    async fn failed(
        &mut self,
        turn: u64,
        failure: TurnFailure,
        deadline: Deadline,
    ) -> Result<(), LoopError> {
        let attempt = self.journal.conversation().failures(turn) + 1;
        let is_final = failure.is_final || attempt >= self.process.limits().max_turn_attempts;
        tracing::warn!(
            turn,
            attempt,
            is_final,
            code = failure.code,
            "a turn failed"
        );
        let failed = event(
            kind::TURN_FAILED,
            [
                ("turn", count(turn)),
                ("attempt", count(attempt)),
                ("code", Value::from(failure.code.as_str())),
                ("reason", Value::from(failure.reason.as_str())),
                ("final", Value::Bool(is_final)),
            ],
        )?;
        if is_final {
            return self.give_up(turn, failure, attempt, failed).await;
        }
        if self.journal.note(vec![failed]).await? {
            let asked = failure.wait.unwrap_or_default().min(LONGEST_ASKED_WAIT);
            let shared = self.shared.clone();
            tokio::select! {
                () = tokio::time::sleep(backoff(attempt).max(asked)) => {}
                // These are seen again, and acted on, where the next attempt would begin.
                () = deadline.passed() => {}
                () = shared.cancelled(turn) => {}
            }
        }
        Ok(())
    }

    /// Moves a message to the dead letters, and records why.
    async fn give_up(
        &mut self,
        turn: u64,
        failure: TurnFailure,
        attempts: u64,
        failed: NewEvent,
    ) -> Result<(), LoopError> {
        let reason = [
            ("code", Value::from(failure.code)),
            ("reason", Value::from(failure.reason)),
            ("attempts", count(attempts)),
        ];
        let bury = Operation::Bury {
            sequence: turn,
            reason: Map::from_entries(reason)?.into(),
        };
        let mut events = failure.events;
        events.push(failed.clone());
        match self.journal.end_turn(bury, |_| events).await {
            // No room for a dead letter. The message is in the thread's events all the same.
            Err(LoopError::Process(error)) if is_rejection(&error) => {}
            Err(error) if is_too_large(&error) => {}
            ended => return ended,
        }
        let acknowledge = Operation::Acknowledge { sequence: turn };
        self.journal.end_turn(acknowledge, |_| vec![failed]).await
    }
}

/// The wait after a number of failures, from 1.
fn backoff(failures: u64) -> Duration {
    let doubled = FIRST_WAIT.saturating_mul(1 << failures.saturating_sub(1).min(16));
    doubled.min(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let millis = |failures| backoff(failures).as_millis();
        assert_eq!([0, 1, 2, 3].map(millis), [250, 250, 500, 1_000]);
        assert_eq!(
            [7, 8, 100, u64::MAX].map(millis),
            [16_000, 30_000, 30_000, 30_000]
        );
    }
}
