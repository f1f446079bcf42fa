//! One turn: ask the model, run the tools that it calls, until it answers. Each step goes on where
//! the thread's events end.

use svit_model::{
    FinishReason, Message, ModelError, ModelEvent, ModelResponse, ToolCall, ToolResult, ToolSpec,
    collect,
};
use svit_txn::{Extras, Operation, Outcome, ReceiptKey, RequestKey, Submission};
use svit_value::{Digest, Map, Text, Value};

use crate::LoopError;
use crate::conversation::Next;
use crate::events::Delta;
use crate::failure::Failure;
use crate::gate::Gate;
use crate::inbox::check_message;
use crate::journal::{is_rejection, is_too_large};
use crate::thread::{
    CallSite, NewEvent, count, event, kind, port_event, receipt_outcome, receipt_result,
    tool_finished, tool_started,
};
use crate::worker::Worker;
use crate::{prompt, tools};

/// Whose receipts those of tool calls are.
const CLIENT: &str = "thread";

/// How far a turn has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turned {
    /// Its message has left the inbox, or the attempt has failed.
    Ended,
    /// A call waits for the host.
    Waits,
}

impl Worker {
    /// Runs a turn from where its events end. Returns once its message has left the inbox, or once
    /// it waits for the host.
    pub(crate) async fn turn(&mut self, turn: u64, message: &Value) -> Result<Turned, Failure> {
        loop {
            match self.journal.conversation().next(turn) {
                Next::Start => self.start(turn, message).await?,
                Next::Ask { step } => {
                    if self.ask(turn, step).await? {
                        return Ok(Turned::Ended);
                    }
                }
                Next::Run {
                    site,
                    call,
                    started,
                    approval,
                    called,
                } => {
                    self.check_budget()?;
                    match self.gate(site, &call, started, &approval).await? {
                        Gate::Open => self.call_tool(site, &call, started, called).await?,
                        Gate::Waits => return Ok(Turned::Waits),
                        Gate::Recorded => {}
                    }
                }
                Next::Ended => {
                    // Its message left the inbox in the same append, unless somebody put it back.
                    let acknowledge = Operation::Acknowledge { sequence: turn };
                    self.journal.end_turn(acknowledge, |_| Vec::new()).await?;
                    return Ok(Turned::Ended);
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
        let system = prompt::compose(&self.process, &self.policy, self.instructions.as_deref());
        let specs = tools::specs(&self.policy);
        if let Some((part, room)) = self.older_part(&system, &specs, false) {
            self.compact(turn, step, part, room).await?;
            return Ok(false);
        }
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
        let response = match self.respond(turn, step, &system, &specs).await {
            Ok(response) => response,
            Err(error @ ModelError::ContextTooLong { .. }) => {
                let Some((part, room)) = self.older_part(&system, &specs, true) else {
                    return Err(error.into());
                };
                self.compact(turn, step, part, room).await?;
                return Ok(false);
            }
            Err(error) => return Err(error.into()),
        };
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

    async fn respond(
        &self,
        turn: u64,
        step: u64,
        system: &str,
        specs: &[ToolSpec],
    ) -> Result<ModelResponse, ModelError> {
        let messages = self.journal.conversation().messages().to_vec();
        let stream = self
            .reasoner
            .respond(Some(system.to_owned()), messages, specs.to_vec())
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
        response.await
    }

    fn check_budget(&self) -> Result<(), Failure> {
        let limits = self.process.limits();
        let spent = self.journal.conversation().spent();
        if spent.steps >= limits.max_turn_steps {
            return Err(Failure::last(
                "max_turn_steps",
                format!(
                    "the turn took {} model calls, which is all that it may take",
                    spent.steps
                ),
            ));
        }
        if spent.tool_calls > limits.max_turn_tool_calls {
            let allowed = limits.max_turn_tool_calls;
            return Err(Failure::last(
                "max_turn_tool_calls",
                format!(
                    "the model made {} tool calls; {allowed} are allowed",
                    spent.tool_calls
                ),
            ));
        }
        if spent.tokens >= self.budget.tokens {
            let allowed = self.budget.tokens;
            return Err(Failure::last(
                "max_turn_tokens",
                format!(
                    "the turn used {} tokens; {allowed} are allowed",
                    spent.tokens
                ),
            ));
        }
        Ok(())
    }

    /// Runs one tool call and records it. A call that changes the process lands in one append with
    /// its receipt and its event; after a crash the receipt says whether it has.
    // THREAT[TM-MODEL-4]
    async fn call_tool(
        &mut self,
        site: CallSite,
        call: &ToolCall,
        started: bool,
        called: Option<String>,
    ) -> Result<(), Failure> {
        let begins = if started {
            Vec::new()
        } else {
            vec![tool_started(site, call)?]
        };
        let operation = match self.plan(call).await {
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
        if let Some(port) = called
            && self
                .process
                .receipt(&request.key)
                .await
                .map_err(LoopError::from)?
                .is_none()
        {
            return self.interrupted(site, call, &port).await;
        }
        let writes_mount = tools::writes_mount(&operation);
        let ports = self.ports.clone();
        let repeatable = move |name: &str| ports.descriptor(name).is_some_and(|d| d.idempotent);
        let submission = Submission::plain(operation)
            .keyed(request)
            .pinned_by(site.turn)
            // An event of scalars is never too deep.
            .noting_ports(|stage| {
                let event = port_event(site, stage, &repeatable);
                event.ok().flatten().into_iter().collect()
            })
            .recording(|outcome| recorded(site, call, writes_mount, outcome));
        let (result, effect) = match self.journal.submit(submission).await {
            // The result is in the events already, unless they and the receipt were separated.
            Ok(Outcome::Replayed(receipt)) => {
                (receipt_result(&call.id, &receipt.outcome), Value::Null)
            }
            // Recorded already, unless it had writes below mounts, which are made by now.
            Ok(outcome) => result_of(call, Ok(&outcome)),
            Err(LoopError::Process(error @ svit_txn::Error::MountWrites { .. })) => {
                result_of(call, Err(&error))
            }
            // Rejected operations are recorded as results for the model to see.
            Err(LoopError::Process(error)) if is_rejection(&error) => return Ok(()),
            Err(error) if is_too_large(&error) => {
                (tools::error(&call.id, &error.to_string()), Value::Null)
            }
            Err(error) => return Err(error.into()),
        };
        if self.journal.conversation().awaits(site) {
            let finished = finished_or_said_why_not(site, call, &result, effect)?;
            self.journal.note(vec![finished]).await?;
        }
        Ok(())
    }

    /// Reads a call, and answers it if it only reads. A mount may take its time to be read.
    async fn plan(&self, call: &ToolCall) -> tools::Plan {
        if !tools::looks_at_mount(call) {
            return tools::plan(&self.process, &self.policy, call);
        }
        let (process, policy) = (self.process.clone(), self.policy.clone());
        let asked = call.clone();
        let planned = tokio::task::spawn_blocking(move || tools::plan(&process, &policy, &asked));
        planned.await.unwrap_or_else(|_| {
            tools::Plan::Answer(tools::error(&call.id, "the mount could not be read"))
        })
    }

    /// Records that a call was started before, called a port that must not be called again, and did
    /// not commit: nobody knows what came of it.
    async fn interrupted(
        &mut self,
        site: CallSite,
        call: &ToolCall,
        port: &str,
    ) -> Result<(), Failure> {
        let why = format!(
            "interrupted: it had called the port {port:?} when the program stopped, and what came of \
             that is not known. Nothing of it was committed, and it was not run again. Find out what \
             the port has done before you repeat it."
        );
        let result = tools::error(&call.id, &why);
        let finished = finished_or_said_why_not(site, call, &result, Value::Null)?;
        self.journal.note(vec![finished]).await?;
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
///
/// What a call writes below a mount is written after this is recorded. So its event comes later, with
/// what became of that; the receipt is for a program that does not live to see it.
fn recorded(
    site: CallSite,
    call: &ToolCall,
    writes_mount: bool,
    outcome: Result<&Outcome, &svit_txn::Error>,
) -> Extras {
    let is_pending = match outcome {
        Ok(Outcome::Activation(activation)) => !activation.mounts.is_empty(),
        Ok(_) => writes_mount,
        Err(_) => false,
    };
    if is_pending {
        let why = "committed; but the program stopped before it was known whether what was written \
                   below /mounts was made. Read it.";
        let result = tools::error(&call.id, why);
        return Extras {
            outcome: receipt_outcome(&result).unwrap_or_default(),
            events: Vec::new(),
        };
    }
    let (result, effect) = result_of(call, outcome);
    let finished = finished_or_said_why_not(site, call, &result, effect);
    Extras {
        outcome: receipt_outcome(&result).unwrap_or_default(),
        events: finished.into_iter().collect(),
    }
}

/// The result of a call for the model, and its effect for the trace.
fn result_of(call: &ToolCall, outcome: Result<&Outcome, &svit_txn::Error>) -> (ToolResult, Value) {
    let refused = |why: String| (tools::error(&call.id, &why), Value::Null);
    match outcome {
        Ok(outcome) => {
            tools::committed(&call.id, outcome).unwrap_or_else(|error| refused(error.to_string()))
        }
        Err(error) => refused(error.to_string()),
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
