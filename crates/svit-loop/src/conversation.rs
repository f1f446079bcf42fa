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
    /// The newest turn that has ended for good. Messages are worked on in order.
    ended: Option<u64>,
}

/// A turn that has started and not ended.
#[derive(Debug)]
struct OpenTurn {
    turn: u64,
    steps: u64,
    tool_calls: u64,
    tokens: u64,
    /// The calls of the newest answer.
    pending: Vec<Pending>,
}

/// What a turn has cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    pub(crate) steps: u64,
    pub(crate) tool_calls: u64,
    /// As the provider counted them.
    pub(crate) tokens: u64,
}

/// A tool call of the newest answer.
#[derive(Debug)]
struct Pending {
    call: ToolCall,
    started: bool,
    /// The first port that it has called and that must not be called again.
    called: Option<String>,
    result: Option<ToolResult>,
}

impl OpenTurn {
    /// Whether a site is within the newest answer.
    const fn is_at(&self, site: CallSite) -> bool {
        self.turn == site.turn && self.steps == site.step.saturating_add(1)
    }
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
        /// Whether its start is recorded.
        started: bool,
        /// A port that it has called before, and that must not be called again.
        called: Option<String>,
    },
    /// Nothing: this turn ended before.
    Ended,
}

impl Conversation {
    /// Takes in the next event.
    pub(crate) fn apply(&mut self, event: &ThreadEvent) -> Result<(), LoopError> {
        let body = Body::of(event);
        match &*event.kind {
            kind::TURN_STARTED => {
                self.close();
                self.failures.clear();
                self.open = Some(OpenTurn {
                    turn: body.count("turn")?,
                    steps: 0,
                    tool_calls: 0,
                    tokens: 0,
                    pending: Vec::new(),
                });
            }
            kind::MESSAGE_ACCEPTED => self.messages.push(body.message("message")?),
            kind::MODEL_RESPONDED => self.responded(&body)?,
            kind::TOOL_STARTED => {
                let site = body.site()?;
                if let Some(pending) = self.pending_mut(site) {
                    pending.started = true;
                }
            }
            kind::PORT_STARTED => {
                let (site, name) = (body.site()?, body.text("name")?);
                let repeatable = body.flag("idempotent")?;
                if let Some(pending) = self.pending_mut(site)
                    && !repeatable
                {
                    pending.called.get_or_insert_with(|| name.to_owned());
                }
            }
            kind::TOOL_FINISHED => self.finished(body.site()?, body.result()?),
            kind::TURN_FINISHED => self.end(body.count("turn")?),
            kind::TURN_FAILED => {
                let turn = body.count("turn")?;
                if body.flag("final")? {
                    self.end(turn);
                } else {
                    *self.failures.entry(turn).or_default() += 1;
                }
            }
            // Events of no consequence for what comes next, those of later versions included.
            _ => {}
        }
        Ok(())
    }

    fn responded(&mut self, body: &Body<'_>) -> Result<(), LoopError> {
        let message = body.message("message")?;
        let usage = body.usage()?;
        self.usage += usage;
        if let Some(open) = &mut self.open {
            open.steps = body.count("step")? + 1;
            let calls = message.tool_calls().cloned();
            open.pending = calls
                .map(|call| Pending {
                    call,
                    started: false,
                    called: None,
                    result: None,
                })
                .collect();
            open.tool_calls += open.pending.len() as u64;
            open.tokens = open.tokens.saturating_add(usage.total());
        }
        self.messages.push(message);
        Ok(())
    }

    /// The call at a site, if it belongs to the newest answer.
    fn pending_mut(&mut self, site: CallSite) -> Option<&mut Pending> {
        let open = self.open.as_mut().filter(|open| open.is_at(site))?;
        open.pending.get_mut(usize::try_from(site.index).ok()?)
    }

    fn finished(&mut self, site: CallSite, result: ToolResult) {
        let Some(pending) = self.pending_mut(site) else {
            return;
        };
        pending.result = Some(result);
        if let Some(open) = &mut self.open
            && open.pending.iter().all(|call| call.result.is_some())
        {
            let results = open.pending.drain(..).filter_map(|call| call.result);
            self.messages.push(Message::tool(results));
        }
    }

    fn end(&mut self, turn: u64) {
        self.failures.remove(&turn);
        self.ended = self.ended.max(Some(turn));
        self.close();
    }

    /// Ends the open turn. Calls that were never run get a result that says so, since a model
    /// refuses a call without one.
    fn close(&mut self) {
        if let Some(open) = self.open.take()
            && !open.pending.is_empty()
        {
            let results = open
                .pending
                .into_iter()
                .map(|Pending { call, result, .. }| {
                    result.unwrap_or_else(|| {
                        ToolResult::error(call.id, "not run: the turn had ended")
                    })
                });
            self.messages.push(Message::tool(results));
        }
    }

    /// What the turn of an inbox message has to do next.
    pub(crate) fn next(&self, turn: u64) -> Next {
        let Some(open) = self.open.as_ref().filter(|open| open.turn == turn) else {
            return if self.ended >= Some(turn) {
                Next::Ended
            } else {
                Next::Start
            };
        };
        let mut unfinished = (0..).zip(&open.pending);
        match unfinished.find(|(_, pending)| pending.result.is_none()) {
            Some((index, pending)) => Next::Run {
                site: CallSite {
                    turn,
                    step: open.steps.saturating_sub(1),
                    index,
                },
                call: pending.call.clone(),
                started: pending.started,
                called: pending.called.clone(),
            },
            None => Next::Ask { step: open.steps },
        }
    }

    /// Whether the result of a call is still missing.
    pub(crate) fn awaits(&self, site: CallSite) -> bool {
        let open = self.open.as_ref().filter(|open| open.is_at(site));
        let index = usize::try_from(site.index).ok();
        index
            .and_then(|index| open?.pending.get(index))
            .is_some_and(|pending| pending.result.is_none())
    }

    /// The messages for the model.
    pub(crate) fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// What the open turn has cost so far.
    pub(crate) fn spent(&self) -> Spent {
        let open = self.open.as_ref();
        open.map_or_else(Spent::default, |open| Spent {
            steps: open.steps,
            tool_calls: open.tool_calls,
            tokens: open.tokens,
        })
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

#[cfg(test)]
mod tests;
