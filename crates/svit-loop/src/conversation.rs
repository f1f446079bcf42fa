//! A conversation, folded from the thread's events: the messages so far, and what comes next.

use std::collections::BTreeMap;

use svit_model::{Message, ToolCall, ToolResult, Usage};
use svit_txn::ThreadEvent;

use crate::LoopError;
use crate::thread::{Body, CallSite, kind};

/// The messages of a thread, and the turn that is under way.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    /// Whole steps: every tool call is followed by its result.
    messages: Vec<Message>,
    open: Option<OpenTurn>,
    usage: Usage,
    /// How often the turn of each message failed; only messages that still wait matter.
    failures: BTreeMap<u64, u64>,
}

/// A turn that has started and not ended.
#[derive(Debug)]
struct OpenTurn {
    turn: u64,
    steps: u64,
    tool_calls: u64,
    /// The calls of the newest answer, with the results that are known.
    pending: Vec<(ToolCall, Option<ToolResult>)>,
}

/// What a turn has to do next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Next {
    /// Start: nothing of this turn is recorded.
    Start,
    /// Ask the model; this is the number of the step, from 0.
    Ask {
        /// The step.
        step: u64,
    },
    /// Run a tool call of the newest answer.
    Run {
        /// Where it stands.
        site: CallSite,
        /// The call.
        call: ToolCall,
    },
}

impl Conversation {
    /// Takes in the next event.
    pub(crate) fn apply(&mut self, event: &ThreadEvent) -> Result<(), LoopError> {
        let body = Body::of(event);
        match &*event.kind {
            kind::TURN_STARTED => {
                self.close();
                self.open = Some(OpenTurn {
                    turn: body.count("turn")?,
                    steps: 0,
                    tool_calls: 0,
                    pending: Vec::new(),
                });
            }
            kind::MESSAGE_ACCEPTED => self.messages.push(body.message("message")?),
            kind::MODEL_RESPONDED => self.responded(&body)?,
            kind::TOOL_FINISHED => self.finished(body.site()?, body.result()?),
            kind::TURN_FINISHED => self.close(),
            kind::TURN_FAILED => {
                let turn = body.count("turn")?;
                *self.failures.entry(turn).or_default() += 1;
                if body.flag("final")? {
                    self.failures.remove(&turn);
                    self.close();
                }
            }
            // Events of no consequence for what comes next, those of later versions included.
            _ => {}
        }
        Ok(())
    }

    fn responded(&mut self, body: &Body<'_>) -> Result<(), LoopError> {
        let message = body.message("message")?;
        self.usage += body.usage()?;
        if let Some(open) = &mut self.open {
            open.steps = body.count("step")? + 1;
            open.pending = message
                .tool_calls()
                .map(|call| (call.clone(), None))
                .collect();
            open.tool_calls += open.pending.len() as u64;
        }
        self.messages.push(message);
        Ok(())
    }

    fn finished(&mut self, site: CallSite, result: ToolResult) {
        let Some(open) = &mut self.open else {
            return;
        };
        let slot = usize::try_from(site.index)
            .ok()
            .and_then(|index| open.pending.get_mut(index));
        if let Some((_, known)) = slot {
            *known = Some(result);
        }
        if open.pending.iter().all(|(_, known)| known.is_some()) {
            let results = open.pending.drain(..).filter_map(|(_, known)| known);
            self.messages.push(Message::tool(results));
        }
    }

    /// Ends the open turn. Calls that were never run get a result that says so, since a model
    /// refuses a call without one.
    fn close(&mut self) {
        if let Some(open) = self.open.take()
            && !open.pending.is_empty()
        {
            let results = open.pending.into_iter().map(|(call, known)| {
                known.unwrap_or_else(|| ToolResult::error(call.id, "not run: the turn had ended"))
            });
            self.messages.push(Message::tool(results));
        }
    }

    /// What the turn of an inbox message has to do next.
    pub(crate) fn next(&self, turn: u64) -> Next {
        let Some(open) = self.open.as_ref().filter(|open| open.turn == turn) else {
            return Next::Start;
        };
        let unfinished = open.pending.iter().zip(0..);
        let mut unfinished = unfinished.filter(|((_, known), _)| known.is_none());
        match unfinished.next() {
            Some(((call, _), index)) => Next::Run {
                site: CallSite {
                    turn,
                    step: open.steps - 1,
                    index,
                },
                call: call.clone(),
            },
            None => Next::Ask { step: open.steps },
        }
    }

    /// The messages for the model.
    pub(crate) fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Steps and tool calls of the open turn.
    pub(crate) fn spent(&self) -> (u64, u64) {
        let open = self.open.as_ref();
        open.map_or((0, 0), |open| (open.steps, open.tool_calls))
    }

    /// How often the turn of a message has failed so far.
    pub(crate) fn failures(&self, turn: u64) -> u64 {
        self.failures.get(&turn).copied().unwrap_or(0)
    }

    /// Tokens of the whole thread.
    pub(crate) const fn usage(&self) -> Usage {
        self.usage
    }
}
