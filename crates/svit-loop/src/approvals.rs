//! `Approvals`: tool calls that wait for the host's yes or no, and the host's answers.
//!
//! Both are events of the thread. So a call waits for as long as it takes, over restarts too, while
//! nothing holds the process; and whoever has a handle can answer.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use svit_model::{MessageId, ToolCall};
use svit_txn::{DurableProcess, EventQuery, Extras, Observer, Operation, Submission, ThreadEvent};
use svit_value::{Text, Value};
use tokio::sync::watch;

use crate::LoopError;
use crate::inbox::Unsettled;
use crate::shared::{Progress, Shared};
use crate::thread::{Body, CallSite, approval_answered, kind};

/// How many events are read at a time.
const PAGE: usize = 64;

/// The name of a tool call in its process: the message, the step and the call, such as `3.0.1`. Text
/// and back, so that it can travel to whoever decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ApprovalId(CallSite);

impl fmt::Display for ApprovalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.request_id())
    }
}

impl FromStr for ApprovalId {
    type Err = LoopError;

    fn from_str(text: &str) -> Result<Self, LoopError> {
        let bad = || LoopError::BadApprovalId {
            text: text.chars().take(64).collect(),
        };
        let mut numbers = text.split('.').map(|number| {
            // One text for each id.
            let number: u64 = number
                .parse()
                .ok()
                .filter(|n: &u64| n.to_string() == number)?;
            Some(number)
        });
        let mut next = || numbers.next().flatten();
        let (Some(turn), Some(step), Some(index)) = (next(), next(), next()) else {
            return Err(bad());
        };
        if numbers.next().is_some() {
            return Err(bad());
        }
        Ok(Self(CallSite { turn, step, index }))
    }
}

/// A tool call that waits for the host.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// Its name, for the answer.
    pub id: ApprovalId,
    /// The message that is being worked on.
    pub message: MessageId,
    /// The tool: `write`, `remove`, `exec`, or one that reads.
    pub tool: String,
    /// What the model calls it with, as the model wrote it: data, not to be trusted.
    pub arguments: Value,
}

/// The calls that wait for the host's yes or no, as [`ToolPolicy::ask`](crate::ToolPolicy::ask) has
/// them wait. A handle; as many as one likes, also of a `Svit` that is not started.
///
/// ```
/// use svit_loop::{Svit, ToolPolicy};
/// use svit_model::{Message, Reasoner, Scripted, ScriptedReply};
/// use svit_value::value;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let model = Scripted::new([
///     ScriptedReply::call("write", value!({"path": "/memory/color", "value": "teal"})),
///     ScriptedReply::text("Noted."),
/// ]);
/// let svit = Svit::builder("svit://local/careful")?
///     .tools(ToolPolicy::new().ask(["write", "remove", "exec"]))
///     .reasoner(Reasoner::new("scripted", model))
///     .build()
///     .await?;
/// let (mut approvals, mut outbox) = (svit.approvals(), svit.outbox());
/// svit.start()?;
/// svit.inbox().send(Message::user("The color is teal.")).await?;
///
/// let call = approvals.recv().await?;
/// assert_eq!(call.tool, "write");
/// assert_eq!(svit.read("/memory/color")?, None);
/// approvals.approve(call.id).await?;
/// assert_eq!(outbox.recv().await?.text(), Some("Noted."));
/// assert_eq!(svit.read("/memory/color")?, Some("teal".into()));
/// # Ok::<(), svit_loop::LoopError>(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct Approvals {
    process: DurableProcess,
    shared: Arc<Shared>,
    /// Wakes it when anything was published. What it says is not looked at.
    news: Observer,
    progress: watch::Receiver<Progress>,
    /// The last one that `recv` gave out. Calls are made in order.
    given: Option<ApprovalId>,
}

impl Clone for Approvals {
    fn clone(&self) -> Self {
        let mut clone = Self::new(self.process.clone(), self.shared.clone());
        clone.given = self.given;
        clone
    }
}

impl Approvals {
    pub(crate) fn new(process: DurableProcess, shared: Arc<Shared>) -> Self {
        Self {
            news: process.observe(1),
            progress: shared.watch(),
            process,
            shared,
            given: None,
        }
    }

    /// The calls that wait, in the order in which they will be made: those of the newest answer of the
    /// model that are not answered yet. O(events of the step).
    ///
    /// # Errors
    /// Those of the store; an event that cannot be read.
    pub async fn waiting(&self) -> Result<Vec<ApprovalRequest>, LoopError> {
        let asked = look(&self.process).await?.asked.into_iter();
        let waiting = asked.filter(|asked| asked.approved.is_none() && !asked.is_finished);
        Ok(waiting.map(|asked| asked.request).collect())
    }

    /// The next call that waits and that this handle has not given out yet. Dropping the future loses
    /// nothing. It waits for as long as the `Svit` lives.
    ///
    /// # Errors
    /// [`LoopError::Stopped`] and [`LoopError::Closed`] when no more will come; those of the store,
    /// after which it can be asked again.
    pub async fn recv(&mut self) -> Result<ApprovalRequest, LoopError> {
        loop {
            // Marked as seen before looking, so that no news in between is missed.
            let stopped = self.progress.borrow_and_update().stopped();
            let waiting = self.waiting().await?.into_iter();
            let mut fresh = waiting.filter(|call| Some(call.id) > self.given);
            if let Some(call) = fresh.next() {
                self.given = Some(call.id);
                return Ok(call);
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

    /// Lets a call that waits be made. It is made once, also after a crash. When this returns, the
    /// answer survives one. Approving it again is harmless.
    ///
    /// # Errors
    /// [`LoopError::NotWaiting`] if there is no such call (any more); [`LoopError::AlreadyAnswered`] if
    /// it was denied; those of the store.
    pub async fn approve(&self, id: ApprovalId) -> Result<(), LoopError> {
        self.answer(id, true, "").await
    }

    /// Refuses a call that waits. The model is told that it was denied and why, and goes on. Denying it
    /// again is harmless.
    ///
    /// # Errors
    /// [`LoopError::NotWaiting`] if there is no such call (any more); [`LoopError::AlreadyAnswered`] if
    /// it was approved; those of the store.
    pub async fn deny(&self, id: ApprovalId, reason: impl AsRef<str>) -> Result<(), LoopError> {
        self.answer(id, false, reason.as_ref()).await
    }

    async fn answer(&self, id: ApprovalId, approve: bool, reason: &str) -> Result<(), LoopError> {
        loop {
            let seen = look(&self.process).await?;
            let asked = seen.asked.iter().find(|asked| asked.request.id == id);
            match asked.map(|asked| (asked.approved, asked.is_finished)) {
                Some((Some(approved), _)) if approved == approve => return Ok(()),
                Some((Some(approved), _)) => {
                    return Err(LoopError::AlreadyAnswered { id, approved });
                }
                Some((None, false)) => {}
                Some((None, true)) | None => return Err(LoopError::NotWaiting { id }),
            }
            let answered = approval_answered(id.0, approve, reason)?;
            let process = self.process.clone();
            let mut recorded = false;
            // This runs while nobody else can append: the first answer is the one.
            let submission = Submission::plain(Operation::Note).recording(|_| {
                recorded = process.events_end() == seen.end;
                Extras {
                    outcome: Value::Null,
                    events: if recorded { vec![answered] } else { Vec::new() },
                }
            });
            let unsettled = Unsettled(&self.shared);
            self.process.submit(submission).await?;
            std::mem::forget(unsettled);
            if recorded {
                self.shared.answered();
                return Ok(());
            }
        }
    }
}

/// The calls of the newest answer that were asked about, and how far the thread was looked at.
struct Seen {
    end: u64,
    asked: Vec<Asked>,
}

struct Asked {
    request: ApprovalRequest,
    approved: Option<bool>,
    is_finished: bool,
}

/// What is asked, read from the newest events back to the answer of the model that makes the calls.
async fn look(process: &DurableProcess) -> Result<Seen, LoopError> {
    let end = process.events_end();
    let nothing = Seen {
        end,
        asked: Vec::new(),
    };
    let mut about = About::default();
    let mut from = end;
    while from > 0 {
        let query = EventQuery {
            from: from - 1,
            limit: PAGE,
            newest_first: true,
        };
        let page = process.events(query).await?;
        for event in &page {
            from = event.seq;
            let body = Body::of(event);
            match &*event.kind {
                kind::MODEL_RESPONDED => {
                    let asked = about.of_answer(event)?;
                    return Ok(Seen { end, asked }).map(|seen| match seen.asked.first() {
                        // The calls of a fork's parent are not the fork's.
                        Some(first) if is_in_hand(process, first.request.message) => seen,
                        _ => nothing,
                    });
                }
                kind::TURN_STARTED | kind::TURN_FINISHED => return Ok(nothing),
                kind::TURN_FAILED if body.flag("final")? => return Ok(nothing),
                kind::APPROVAL_REQUESTED => {
                    about.requested.insert(body.site()?);
                }
                kind::APPROVAL_ANSWERED => {
                    about.answered.insert(body.site()?, body.flag("approved")?);
                }
                kind::TOOL_FINISHED => {
                    about.finished.insert(body.site()?);
                }
                _ => {}
            }
        }
        if page.is_empty() {
            break;
        }
    }
    Ok(nothing)
}

/// Whether a message is the one that is worked on: the oldest of the inbox.
fn is_in_hand(process: &DurableProcess, message: MessageId) -> bool {
    let oldest = process.discover_page("/inbox", None, 1);
    let oldest = oldest.ok().and_then(|page| page.names.first().cloned());
    oldest.and_then(|name: Text| name.parse().ok()) == Some(message.get())
}

/// What is said about calls behind the answer that makes them.
#[derive(Default)]
struct About {
    requested: BTreeSet<CallSite>,
    answered: BTreeMap<CallSite, bool>,
    finished: BTreeSet<CallSite>,
}

impl About {
    /// The calls of an answer that were asked about.
    fn of_answer(&self, event: &ThreadEvent) -> Result<Vec<Asked>, LoopError> {
        let body = Body::of(event);
        let (turn, step) = (body.count("turn")?, body.count("step")?);
        let message = body.message("message")?;
        let asked = |(index, call): (u64, &ToolCall)| {
            let site = CallSite { turn, step, index };
            self.requested.contains(&site).then(|| Asked {
                request: ApprovalRequest {
                    id: ApprovalId(site),
                    message: MessageId::new(turn),
                    tool: call.name.clone(),
                    arguments: call.arguments.clone(),
                },
                approved: self.answered.get(&site).copied(),
                is_finished: self.finished.contains(&site),
            })
        };
        Ok((0..).zip(message.tool_calls()).filter_map(asked).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_texts_and_back() {
        let id = ApprovalId(CallSite {
            turn: 3,
            step: 0,
            index: 12,
        });
        assert_eq!(id.to_string(), "3.0.12");
        assert_eq!("3.0.12".parse::<ApprovalId>().unwrap(), id);
        for text in [
            "", "3", "3.0", "3.0.", "3.0.12.", "3.0.12.1", "03.0.12", "+3.0.12", "a.b.c",
        ] {
            let error = text.parse::<ApprovalId>().unwrap_err();
            assert_eq!(error.code(), "bad_approval_id", "{text}");
        }
    }
}
