//! A conversation, folded from the thread's events: the messages so far, and what comes next.

use std::collections::BTreeMap;

use svit_model::{Message, ToolCall, ToolResult, Usage};
use svit_txn::ThreadEvent;

use crate::LoopError;
use crate::context::{Room, may_begin, newest, tokens_of, tokens_of_told};
use crate::thread::{Body, CallSite, kind};

/// The messages of a thread, and the turn that is under way.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    /// Whole steps: every tool call is followed by its result. What was compacted is not here; its
    /// summary is the first.
    messages: Vec<Message>,
    /// Where each message comes from.
    origins: Vec<Origin>,
    /// What the provider counted for the newest answer.
    counted: Option<Counted>,
    /// The number of the event that started the newest turn.
    turn_started: u64,
    /// The number of the first event that has more to tell than the summary.
    keep_from: u64,
    open: Option<OpenTurn>,
    usage: Usage,
    /// How often the turn of each message failed; only messages that still wait matter.
    failures: BTreeMap<u64, u64>,
    /// The newest turn that has ended for good. Messages are worked on in order.
    ended: Option<u64>,
}

/// Where a message comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Origin {
    /// The event that completed it; none for a summary.
    event: Option<u64>,
    /// The event that started its turn.
    turn_started: u64,
}

/// How many tokens so many messages take, the frame included.
#[derive(Clone, Copy, Debug)]
struct Counted {
    tokens: u64,
    messages: usize,
}

/// Messages that a summary is to stand for, and where they end.
#[derive(Debug, PartialEq)]
pub(crate) struct OlderPart {
    /// In order, an earlier summary included.
    pub(crate) messages: Vec<Message>,
    /// The number of the event that made the first message behind them.
    pub(crate) before: u64,
    /// The number of the first event that is needed beside the summary: where the turn began in which
    /// they end.
    pub(crate) keep_from: u64,
}

/// A turn that has started and not ended.
#[derive(Debug)]
struct OpenTurn {
    turn: u64,
    /// The event with its message.
    question: Option<u64>,
    steps: u64,
    tool_calls: u64,
    tokens: u64,
    /// The calls of the newest answer.
    pending: Vec<Pending>,
}

/// What the host says about a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Approval {
    /// It was not asked.
    #[default]
    NotAsked,
    /// Nothing yet.
    Waits,
    /// Yes.
    Given,
    /// No, and why.
    Denied(String),
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
    approval: Approval,
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
        /// What the host says about it.
        approval: Approval,
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
                self.close(event.seq);
                self.failures.clear();
                self.turn_started = event.seq;
                self.open = Some(OpenTurn {
                    turn: body.count("turn")?,
                    question: None,
                    steps: 0,
                    tool_calls: 0,
                    tokens: 0,
                    pending: Vec::new(),
                });
            }
            kind::MESSAGE_ACCEPTED => {
                if let Some(open) = &mut self.open {
                    open.question = Some(event.seq);
                }
                self.push(body.message("message")?, event.seq);
            }
            kind::MODEL_RESPONDED => self.responded(&body, event.seq)?,
            kind::CONTEXT_COMPACTED => self.compacted(&body)?,
            kind::TOOL_STARTED => {
                let site = body.site()?;
                if let Some(pending) = self.pending_mut(site) {
                    pending.started = true;
                }
            }
            kind::APPROVAL_REQUESTED => {
                if let Some(pending) = self.pending_mut(body.site()?)
                    && pending.approval == Approval::NotAsked
                {
                    pending.approval = Approval::Waits;
                }
            }
            kind::APPROVAL_ANSWERED => {
                let (approved, reason) = (body.flag("approved")?, body.text("reason")?);
                if let Some(pending) = self.pending_mut(body.site()?)
                    && pending.approval == Approval::Waits
                {
                    pending.approval = if approved {
                        Approval::Given
                    } else {
                        Approval::Denied(reason.to_owned())
                    };
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
            kind::TOOL_FINISHED => self.finished(body.site()?, body.result()?, event.seq),
            kind::TURN_FINISHED => self.end(body.count("turn")?, event.seq),
            kind::TURN_FAILED => {
                let turn = body.count("turn")?;
                if body.flag("final")? {
                    self.end(turn, event.seq);
                } else {
                    *self.failures.entry(turn).or_default() += 1;
                }
            }
            // Events of no consequence for what comes next, those of later versions included.
            _ => {}
        }
        Ok(())
    }

    fn push(&mut self, message: Message, event: u64) {
        self.messages.push(message);
        self.origins.push(Origin {
            event: Some(event),
            turn_started: self.turn_started,
        });
    }

    /// Puts a summary in place of the messages before an event; but what the open turn was asked
    /// stays as it was asked.
    fn compacted(&mut self, body: &Body<'_>) -> Result<(), LoopError> {
        let before = body.count("before")?;
        let summary = body.text("summary")?;
        let usage = body.usage()?;
        let question = self.open.as_ref().and_then(|open| open.question);
        let messages = std::mem::take(&mut self.messages);
        let origins = std::mem::take(&mut self.origins);
        self.messages.push(Message::user(format!(
            "This stands for the conversation so far:\n<summary>\n{summary}\n</summary>"
        )));
        self.origins.push(Origin {
            event: None,
            turn_started: self.turn_started,
        });
        for (message, origin) in messages.into_iter().zip(origins) {
            let is_newer = origin.event.is_some_and(|event| event >= before);
            if is_newer || (origin.event.is_some() && origin.event == question) {
                self.messages.push(message);
                self.origins.push(origin);
            }
        }
        self.counted = None;
        self.keep_from = body.count("keep_from")?;
        // Older events may be gone by now, and their tokens with them.
        self.usage = body.thread_usage()?;
        let turn = body.count("turn")?;
        if let Some(open) = self.open.as_mut().filter(|open| open.turn == turn) {
            open.tokens = open.tokens.saturating_add(usage.total());
        }
        Ok(())
    }

    fn responded(&mut self, body: &Body<'_>, event: u64) -> Result<(), LoopError> {
        let message = body.message("message")?;
        let usage = body.usage()?;
        self.usage += usage;
        // Without the beginning of its turn, which was forgotten, it would have no results.
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        open.steps = body.count("step")? + 1;
        let calls = message.tool_calls().cloned();
        open.pending = calls
            .map(|call| Pending {
                call,
                started: false,
                approval: Approval::NotAsked,
                called: None,
                result: None,
            })
            .collect();
        open.tool_calls += open.pending.len() as u64;
        open.tokens = open.tokens.saturating_add(usage.total());
        let tokens = usage.input_tokens.saturating_add(tokens_of(&message));
        self.push(message, event);
        self.counted = (usage.input_tokens > 0).then_some(Counted {
            tokens,
            messages: self.messages.len(),
        });
        Ok(())
    }

    /// The call at a site, if it belongs to the newest answer.
    fn pending_mut(&mut self, site: CallSite) -> Option<&mut Pending> {
        let open = self.open.as_mut().filter(|open| open.is_at(site))?;
        open.pending.get_mut(usize::try_from(site.index).ok()?)
    }

    fn finished(&mut self, site: CallSite, result: ToolResult, event: u64) {
        let Some(pending) = self.pending_mut(site) else {
            return;
        };
        pending.result = Some(result);
        if let Some(open) = &mut self.open
            && open.pending.iter().all(|call| call.result.is_some())
        {
            let results = open.pending.drain(..).filter_map(|call| call.result);
            let results = Message::tool(results);
            self.push(results, event);
        }
    }

    fn end(&mut self, turn: u64, event: u64) {
        self.failures.remove(&turn);
        self.ended = self.ended.max(Some(turn));
        self.close(event);
    }

    /// Ends the open turn. Calls that were never run get a result that says so, since a model
    /// refuses a call without one.
    fn close(&mut self, event: u64) {
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
            let results = Message::tool(results);
            self.push(results, event);
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
                approval: pending.approval.clone(),
                called: pending.called.clone(),
            },
            None => Next::Ask { step: open.steps },
        }
    }

    /// The calls of the newest answer that have no result, and about which the host was not asked.
    pub(crate) fn unasked(&self) -> Vec<(CallSite, ToolCall)> {
        let Some(open) = &self.open else {
            return Vec::new();
        };
        let calls = (0..).zip(&open.pending).filter(|(_, pending)| {
            pending.result.is_none() && !pending.started && pending.approval == Approval::NotAsked
        });
        let sited = calls.map(|(index, pending)| {
            let site = CallSite {
                turn: open.turn,
                step: open.steps.saturating_sub(1),
                index,
            };
            (site, pending.call.clone())
        });
        sited.collect()
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

    /// About how many tokens a request with all messages takes, in a frame of so many.
    pub(crate) fn tokens(&self, frame: u64) -> u64 {
        let (known, from) = self
            .counted
            .map_or((frame, 0), |counted| (counted.tokens, counted.messages));
        let added = self.messages[from.min(self.messages.len())..].iter();
        added.map(tokens_of).fold(known, u64::saturating_add)
    }

    /// The messages that are to be compacted to make room, if there are any that can be: not the
    /// newest step, nor what the open turn was asked, nor a summary alone.
    pub(crate) fn older_part(&self, room: Room) -> Option<OlderPart> {
        let question = self.open.as_ref().and_then(|open| open.question);
        let tells = |origin: &Origin| origin.event.is_some() && origin.event != question;
        let newest = newest(&self.messages, room.keep);
        let mut end = None;
        let mut taken = 0;
        let mut sum = 0_u64;
        for at in 1..=newest {
            sum = sum.saturating_add(tokens_of_told(&self.messages[at - 1]));
            taken += usize::from(tells(&self.origins[at - 1]));
            // At least something, however long.
            if sum > room.take && end.is_some() {
                break;
            }
            let ends = self.messages.get(at).is_none_or(may_begin);
            if taken > 0 && ends {
                end = Some(at);
            }
        }
        let end = end?;
        let first = self.origins.get(end)?;
        let mut keep_from = first.turn_started;
        if self.open.is_some() {
            keep_from = keep_from.min(self.turn_started);
        }
        Some(OlderPart {
            messages: self.messages[..end].to_vec(),
            before: first.event?,
            keep_from,
        })
    }

    /// The number of the first event that has more to tell than the newest summary.
    pub(crate) const fn keep_from(&self) -> u64 {
        self.keep_from
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
