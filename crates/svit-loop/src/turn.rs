//! One turn: ask the model, run the tools that it calls, until it answers. Each step goes on where
//! the thread's events end.

use svit_model::{FinishReason, Message, ModelEvent, ModelResponse, ToolCall, ToolResult, collect};
use svit_txn::{Extras, Operation, Outcome, ReceiptKey, RequestKey, Submission};
use svit_value::{Digest, Map, Text, Value};

use crate::LoopError;
use crate::conversation::Next;
use crate::events::Delta;
use crate::failure::Failure;
use crate::inbox::check_message;
use crate::journal::{is_rejection, is_too_large};
use crate::thread::{
    CallSite, NewEvent, count, event, kind, receipt_outcome, receipt_result, tool_finished,
    tool_started,
};
use crate::worker::Worker;
use crate::{prompt, tools};

/// Whose receipts those of tool calls are.
const CLIENT: &str = "thread";

impl Worker {
    /// Runs a turn from where its events end. Returns once its message has left the inbox.
    pub(crate) async fn turn(&mut self, turn: u64, message: &Value) -> Result<(), Failure> {
        loop {
            match self.journal.conversation().next(turn) {
                Next::Start => self.start(turn, message).await?,
                Next::Ask { step } => {
                    if self.ask(turn, step).await? {
                        return Ok(());
                    }
                }
                Next::Run {
                    site,
                    call,
                    started,
                } => self.call_tool(site, &call, started).await?,
                Next::Ended => {
                    // Its message left the inbox in the same append, unless somebody put it back.
                    let acknowledge = Operation::Acknowledge { sequence: turn };
                    return Ok(self.journal.end_turn(acknowledge, |_| Vec::new()).await?);
                }
            }
        }
    }

    async fn start(&mut self, turn: u64, message: &Value) -> Result<(), Failure> {
        // A message that was enqueued by other means may be no message at all.
        let message = Message::from_value(message)
            .map_err(LoopError::from)
            .and_then(|message| check_message(&message).map(|()| message))
            .map_err(|error| Failure::last("bad_message", error.to_string()))?;
        let message = message.to_value()?;
        let events = vec![
            event(kind::TURN_STARTED, [("turn", count(turn))])?,
            event(
                kind::MESSAGE_ACCEPTED,
                [("turn", count(turn)), ("message", message)],
            )?,
        ];
        self.journal.note(events).await?;
        Ok(())
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
        if !self.journal.note(vec![requested]).await? {
            return Ok(false);
        }
        let response = self.respond(turn, step).await?;
        let responded = responded(turn, step, &response)?;
        if response.message.tool_calls().next().is_some() {
            // Calls that were cut off are malformed, and the model is told so.
            self.journal.note(vec![responded]).await?;
            return Ok(false);
        }
        if response.finish == FinishReason::Length {
            // Half an answer is not passed off as one. It is kept in the thread's events.
            let reason = "the answer was cut: it reached the bound on the length of an answer";
            return Err(Failure::last_after(vec![responded], "answer_cut", reason));
        }
        let finished = |answer| {
            event(
                kind::TURN_FINISHED,
                [
                    ("turn", count(turn)),
                    ("steps", count(step + 1)),
                    ("answer", count(answer)),
                ],
            )
        };
        // One append: the answer, the end of the turn, and the message leaving the inbox.
        let acknowledge = Operation::Acknowledge { sequence: turn };
        let events = |first| {
            [Ok(responded), finished(first)]
                .into_iter()
                .flatten()
                .collect()
        };
        self.journal.end_turn(acknowledge, events).await?;
        Ok(true)
    }

    async fn respond(&self, turn: u64, step: u64) -> Result<ModelResponse, Failure> {
        let system = prompt::compose(&self.process, &self.policy, self.instructions.as_deref());
        let messages = self.journal.conversation().messages().to_vec();
        let stream = self
            .reasoner
            .respond(Some(system), messages, tools::specs(&self.policy))
            .await?;
        let deltas = &self.shared.deltas;
        let place = self.process.events_end();
        let response = collect(stream, |piece| {
            if let ModelEvent::TextDelta(text) = piece {
                let text = text.clone();
                // Nobody has to listen.
                let _ = deltas.send((place, Delta { turn, step, text }));
            }
        });
        Ok(response.await?)
    }

    fn check_budget(&self) -> Result<(), Failure> {
        let limits = self.process.limits();
        let (steps, calls) = self.journal.conversation().spent();
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
        call: &ToolCall,
        started: bool,
    ) -> Result<(), Failure> {
        self.check_budget()?;
        let begins = if started {
            Vec::new()
        } else {
            vec![tool_started(site, call)?]
        };
        let operation = match tools::plan(&self.process, &self.policy, call) {
            tools::Plan::Answer(result) => {
                let mut events = begins;
                events.push(finished_or_said_why_not(site, call, &result, Value::Null)?);
                self.journal.note(events).await?;
                return Ok(());
            }
            tools::Plan::Commit(operation) => operation,
        };
        if !begins.is_empty() && !self.journal.note(begins).await? {
            return Ok(());
        }
        let request = RequestKey {
            key: ReceiptKey {
                client: Text::from(CLIENT),
                request: Text::from(site.request_id()),
            },
            content: content_of(call)?,
        };
        let submission = Submission::plain(operation)
            .keyed(request)
            .pinned_by(site.turn)
            .recording(|outcome| recorded(site, call, outcome));
        let result = match self.journal.submit(submission).await {
            // The result is in the events already, unless they and the receipt were separated.
            Ok(Outcome::Replayed(receipt)) => receipt_result(&call.id, &receipt.outcome),
            Ok(_) => return Ok(()),
            // Rejected operations are recorded as results for the model to see.
            Err(LoopError::Process(error)) if is_rejection(&error) => return Ok(()),
            Err(error) if is_too_large(&error) => tools::error(&call.id, &error.to_string()),
            Err(error) => return Err(error.into()),
        };
        if self.journal.conversation().awaits(site) {
            let finished = finished_or_said_why_not(site, call, &result, Value::Null)?;
            self.journal.note(vec![finished]).await?;
        }
        Ok(())
    }
}

fn responded(turn: u64, step: u64, response: &ModelResponse) -> Result<NewEvent, Failure> {
    Ok(event(
        kind::MODEL_RESPONDED,
        [
            ("turn", count(turn)),
            ("step", count(step)),
            ("message", response.message.to_value()?),
            ("input_tokens", count(response.usage.input_tokens)),
            ("output_tokens", count(response.usage.output_tokens)),
            ("finish", Value::from(response.finish.as_str())),
        ],
    )?)
}

/// The digest of what a call asks, whatever id the provider gave it.
fn content_of(call: &ToolCall) -> Result<Digest, Failure> {
    let asked = [
        ("name", Value::from(call.name.as_str())),
        ("arguments", call.arguments.clone()),
    ];
    Ok(Value::Map(Map::from_entries(asked)?).digest())
}

/// The receipt's outcome and the event of a call that changes the process.
fn recorded(
    site: CallSite,
    call: &ToolCall,
    outcome: Result<&Outcome, &svit_txn::Error>,
) -> Extras {
    let refused = |why: String| (tools::error(&call.id, &why), Value::Null);
    let (result, effect) = match outcome {
        Ok(outcome) => {
            tools::committed(&call.id, outcome).unwrap_or_else(|error| refused(error.to_string()))
        }
        Err(error) => refused(error.to_string()),
    };
    let finished = finished_or_said_why_not(site, call, &result, effect);
    Extras {
        outcome: receipt_outcome(&result).unwrap_or_default(),
        events: finished.into_iter().collect(),
    }
}

/// A result that is too deep to be nested in an event is said to be so, rather than lost.
fn finished_or_said_why_not(
    site: CallSite,
    call: &ToolCall,
    result: &ToolResult,
    effect: Value,
) -> Result<NewEvent, svit_value::ValueError> {
    tool_finished(site, call, result, effect).or_else(|error| {
        let refused = tools::error(&call.id, &error.to_string());
        tool_finished(site, call, &refused, Value::Null)
    })
}
