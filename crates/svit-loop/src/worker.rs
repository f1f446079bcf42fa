//! The task that works on the inbox: one turn after the other, each resumable at any point.
//!
//! Everything that it does is in the thread's events before it matters, so that a killed program
//! goes on where the events end.

use std::sync::Arc;
use std::time::Duration;

use svit_model::{Message, ModelEvent, Reasoner, collect};
use svit_txn::{
    DurableProcess, EventQuery, Extras, Operation, Outcome, ReceiptKey, RequestKey, Submission,
};
use svit_value::{Map, Text, Value};

use crate::LoopError;
use crate::conversation::{Conversation, Next};
use crate::events::Delta;
use crate::failure::Failure;
use crate::shared::{Progress, Shared};
use crate::thread::{CallSite, NewEvent, count, event, kind, tool_finished, tool_started};
use crate::{prompt, tools};

/// Whose receipts those of tool calls are.
const CLIENT: &str = "thread";

/// How many events are read at a time.
const PAGE: usize = 256;

/// How long a failed turn waits before it is tried again: doubled each time, up to the longest.
const FIRST_WAIT: Duration = Duration::from_millis(250);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// What the loop works with.
#[derive(Debug)]
pub(crate) struct Worker {
    process: DurableProcess,
    shared: Arc<Shared>,
    reasoner: Reasoner,
    instructions: Option<String>,
    conversation: Conversation,
    /// The number of the next event that the conversation has not taken in.
    seen: u64,
}

impl Worker {
    pub(crate) fn new(
        process: DurableProcess,
        shared: Arc<Shared>,
        reasoner: Reasoner,
        instructions: Option<String>,
    ) -> Self {
        Self {
            process,
            shared,
            reasoner,
            instructions,
            conversation: Conversation::default(),
            seen: 0,
        }
    }

    /// Works until the process can no longer be written.
    pub(crate) async fn run(mut self) {
        let stopped = self.work().await;
        if let Err(error) = stopped {
            tracing::error!(address = %self.process.address(), code = error.code(), "the loop stopped");
            let progress = Progress::Stopped(error.code().to_owned(), error.to_string());
            self.shared.set_progress(progress);
        }
    }

    async fn work(&mut self) -> Result<(), LoopError> {
        self.catch_up().await?;
        let started = event(
            kind::SESSION_STARTED,
            [
                ("model", Value::from(self.reasoner.model())),
                ("svit", Value::from(env!("CARGO_PKG_VERSION"))),
            ],
        )?;
        self.note(vec![started]).await?;
        loop {
            // Registered before looking, so that a message in between is not missed.
            let shared = self.shared.clone();
            let woken = shared.wake.notified();
            match self.waiting()? {
                Some((turn, message)) => {
                    self.shared.set_progress(Progress::Busy);
                    self.attend(turn, message).await?;
                }
                None => {
                    self.shared.set_progress(Progress::Idle);
                    woken.await;
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

    /// Works on a message until it is answered or given up, or the turn failed for now.
    async fn attend(&mut self, turn: u64, message: Value) -> Result<(), LoopError> {
        let span = tracing::info_span!("turn", address = %self.process.address(), turn);
        let shared = self.shared.clone();
        let ended = {
            let turn = tracing::Instrument::instrument(self.turn(turn, &message), span);
            tokio::select! {
                ended = turn => ended,
                () = shared.cancel.notified() => Err(Failure::cancelled()),
            }
        };
        let failure = match ended {
            Ok(()) => return Ok(()),
            Err(Failure::Fatal(error)) => return Err(*error),
            Err(Failure::Turn(failure)) => failure,
        };
        // A cancelled future may have left an append in flight; nothing is written before it is
        // settled, and nothing is decided before its events are known.
        self.note(Vec::new()).await?;
        self.catch_up().await?;
        if !self.is_waiting(turn)? {
            return Ok(());
        }
        let attempt = self.conversation.failures(turn) + 1;
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
            let reason = [
                ("code", Value::from(failure.code)),
                ("reason", Value::from(failure.reason)),
                ("attempts", count(attempt)),
            ];
            let bury = Operation::Bury {
                sequence: turn,
                reason: Map::from_entries(reason)?.into(),
            };
            return self.submit(bury, vec![failed]).await;
        }
        self.note(vec![failed]).await?;
        let doubled = FIRST_WAIT.saturating_mul(1 << (attempt - 1).min(16));
        tokio::time::sleep(doubled.min(LONGEST_WAIT)).await;
        Ok(())
    }

    fn is_waiting(&self, turn: u64) -> Result<bool, LoopError> {
        Ok(matches!(self.waiting()?, Some((oldest, _)) if oldest == turn))
    }

    /// Runs a turn from where its events end.
    async fn turn(&mut self, turn: u64, message: &Value) -> Result<(), Failure> {
        loop {
            match self.conversation.next(turn) {
                Next::Start => self.start(turn, message).await?,
                Next::Ask { step } => {
                    if self.ask(turn, step).await? {
                        return Ok(());
                    }
                }
                Next::Run { site, call } => self.call_tool(site, &call).await?,
            }
        }
    }

    async fn start(&mut self, turn: u64, message: &Value) -> Result<(), Failure> {
        // A message that was enqueued by other means may be no message at all.
        let message = Message::from_value(message)
            .map_err(|error| Failure::last("bad_message", error.to_string()))?;
        let message = message.to_value().map_err(LoopError::from)?;
        let events = vec![
            event(kind::TURN_STARTED, [("turn", count(turn))])?,
            event(
                kind::MESSAGE_ACCEPTED,
                [("turn", count(turn)), ("message", message)],
            )?,
        ];
        Ok(self.note(events).await?)
    }

    /// Asks the model once. Returns whether it has answered, which ends the turn.
    async fn ask(&mut self, turn: u64, step: u64) -> Result<bool, Failure> {
        self.check_budget()?;
        let requested = event(
            kind::MODEL_REQUESTED,
            [
                ("turn", count(turn)),
                ("step", count(step)),
                ("model", Value::from(self.reasoner.model())),
            ],
        )?;
        self.note(vec![requested]).await?;
        let system = prompt::compose(&self.process, self.instructions.as_deref());
        let messages = self.conversation.messages().to_vec();
        let stream = self
            .reasoner
            .respond(Some(system), messages, tools::specs())
            .await?;
        let deltas = self.shared.deltas.clone();
        let response = collect(stream, |piece| {
            if let ModelEvent::TextDelta(text) = piece {
                let text = text.clone();
                // Nobody has to listen.
                let _ = deltas.send(Delta { turn, step, text });
            }
        })
        .await?;
        let calls = response.message.tool_calls().count();
        let responded = event(
            kind::MODEL_RESPONDED,
            [
                ("turn", count(turn)),
                ("step", count(step)),
                ("message", response.message.to_value()?),
                ("input_tokens", count(response.usage.input_tokens)),
                ("output_tokens", count(response.usage.output_tokens)),
                ("finish", Value::from(response.finish.as_str())),
            ],
        )?;
        if calls > 0 {
            self.note(vec![responded]).await?;
            return Ok(false);
        }
        // One append: the answer, the end of the turn, and the message leaving the inbox.
        let finished = event(
            kind::TURN_FINISHED,
            [
                ("turn", count(turn)),
                ("steps", count(step + 1)),
                ("answer", count(self.process.events_end())),
            ],
        )?;
        let acknowledge = Operation::Acknowledge { sequence: turn };
        self.submit(acknowledge, vec![responded, finished]).await?;
        Ok(true)
    }

    fn check_budget(&self) -> Result<(), Failure> {
        let limits = self.process.limits();
        let (steps, calls) = self.conversation.spent();
        if steps >= limits.max_turn_steps {
            return Err(Failure::last(
                "max_turn_steps",
                format!("the turn took {steps} model calls, which is all that it may take"),
            ));
        }
        if calls > limits.max_turn_tool_calls {
            let allowed = limits.max_turn_tool_calls;
            return Err(Failure::last(
                "max_turn_tool_calls",
                format!("the model made {calls} tool calls; {allowed} are allowed"),
            ));
        }
        Ok(())
    }

    /// Runs one tool call and records it. A call that changes the process lands in one append with
    /// its receipt and its event; after a crash the receipt says whether it has.
    async fn call_tool(
        &mut self,
        site: CallSite,
        call: &svit_model::ToolCall,
    ) -> Result<(), Failure> {
        self.check_budget()?;
        let operation = match tools::plan(&self.process, call) {
            tools::Plan::Answer(result) => {
                let events = vec![
                    tool_started(site, call)?,
                    tool_finished(site, call, &result, Value::Null)?,
                ];
                return Ok(self.note(events).await?);
            }
            tools::Plan::Commit(operation) => operation,
        };
        self.note(vec![tool_started(site, call)?]).await?;
        let request = RequestKey {
            key: ReceiptKey {
                client: Text::from(CLIENT),
                request: Text::from(site.request_id()),
            },
            content: content_of(call)?,
        };
        let submission = Submission::plain(operation)
            .keyed(request)
            .recording(|outcome| recorded(site, call, outcome));
        match self.process.submit(submission).await {
            Ok(Outcome::Replayed(receipt)) => {
                tracing::debug!(request = %receipt.key.request, "a tool call had been committed");
            }
            Ok(_) => {}
            // Rejected operations are recorded as results for the model to see.
            Err(error) if is_rejection(&error) => {}
            Err(error) => return Err(LoopError::from(error).into()),
        }
        Ok(self.catch_up().await?)
    }

    /// Records events and takes them in.
    async fn note(&mut self, events: Vec<NewEvent>) -> Result<(), LoopError> {
        self.submit(Operation::Note, events).await
    }

    async fn submit(
        &mut self,
        operation: Operation,
        events: Vec<NewEvent>,
    ) -> Result<(), LoopError> {
        let submission = Submission::plain(operation).recording(|outcome| match outcome {
            Ok(_) => Extras {
                outcome: Value::Null,
                events,
            },
            Err(_) => Extras::default(),
        });
        self.process.submit(submission).await?;
        self.catch_up().await
    }

    /// Takes in the events that are not taken in yet, and tells those who wait.
    async fn catch_up(&mut self) -> Result<(), LoopError> {
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
                self.conversation.apply(event)?;
                self.seen = event.seq + 1;
            }
        }
        self.shared.set_usage(self.conversation.usage());
        self.shared.tell();
        Ok(())
    }
}

/// The digest of what a call asks, whatever id the provider gave it.
fn content_of(call: &svit_model::ToolCall) -> Result<svit_value::Digest, LoopError> {
    let asked = [
        ("name", Value::from(call.name.as_str())),
        ("arguments", call.arguments.clone()),
    ];
    Ok(Value::Map(Map::from_entries(asked)?).digest())
}

/// Whether an operation was refused for what it asks, as opposed to a store that failed.
fn is_rejection(error: &svit_txn::Error) -> bool {
    use svit_txn::Error;
    !matches!(
        error,
        Error::Store(_) | Error::Record { .. } | Error::History { .. } | Error::ReusedKey { .. }
    )
}

/// The receipt's outcome and the event of a call that changes the process.
fn recorded(
    site: CallSite,
    call: &svit_model::ToolCall,
    outcome: Result<&Outcome, &svit_txn::Error>,
) -> Extras {
    let made = match outcome {
        Ok(outcome) => tools::committed(&call.id, outcome),
        Err(error) => {
            let refused = svit_model::ToolResult::error(call.id.as_str(), error.to_string());
            Ok((refused, Value::Null))
        }
    };
    // A result that is too deep to be nested in an event is said to be so, rather than lost.
    let (result, effect) = made.unwrap_or_else(|error| {
        let refused = svit_model::ToolResult::error(call.id.as_str(), error.to_string());
        (refused, Value::Null)
    });
    let finished = tool_finished(site, call, &result, effect);
    Extras {
        outcome: result.content,
        events: finished.into_iter().collect(),
    }
}
