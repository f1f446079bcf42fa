//! The canonical events of a thread, `svit-thread@1`: their names, their bodies, and reading them.
//!
//! Events are the truth about a conversation. What people and models see is derived from them.

use svit_model::{Message, ToolCall, ToolResult, Usage};
use svit_txn::{PortRequest, PortStage, ThreadEvent};
use svit_value::{Map, Text, Value, ValueError};

use crate::LoopError;

/// The names of the canonical events.
pub(crate) mod kind {
    pub(crate) const SESSION_STARTED: &str = "session.started";
    pub(crate) const TURN_STARTED: &str = "turn.started";
    pub(crate) const MESSAGE_ACCEPTED: &str = "message.accepted";
    pub(crate) const MODEL_REQUESTED: &str = "model.requested";
    pub(crate) const MODEL_RESPONDED: &str = "model.responded";
    pub(crate) const TOOL_STARTED: &str = "tool.started";
    pub(crate) const TOOL_FINISHED: &str = "tool.finished";
    pub(crate) const PORT_STARTED: &str = "port.started";
    pub(crate) const PORT_FINISHED: &str = "port.finished";
    pub(crate) const TURN_FINISHED: &str = "turn.finished";
    pub(crate) const TURN_FAILED: &str = "turn.failed";
    pub(crate) const APPROVAL_REQUESTED: &str = "approval.requested";
    pub(crate) const APPROVAL_ANSWERED: &str = "approval.answered";
    pub(crate) const CONTEXT_COMPACTED: &str = "context.compacted";
}

/// An event that is not numbered yet.
pub(crate) type NewEvent = (Text, Value);

/// Makes an event.
pub(crate) fn event<const N: usize>(
    kind: &str,
    body: [(&str, Value); N],
) -> Result<NewEvent, ValueError> {
    Ok((Text::from(kind), Map::from_entries(body)?.into()))
}

/// A count as a value; past `i64` it stays at the largest.
pub(crate) fn count(n: u64) -> Value {
    Value::Int(i64::try_from(n).unwrap_or(i64::MAX))
}

/// Where a tool call stands: turn, step and index. It names the call for good, whatever ids the
/// provider chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CallSite {
    pub(crate) turn: u64,
    pub(crate) step: u64,
    pub(crate) index: u64,
}

impl CallSite {
    /// The request id of the call's receipt.
    pub(crate) fn request_id(self) -> String {
        format!("{}.{}.{}", self.turn, self.step, self.index)
    }

    /// The fields that every tool event begins with.
    pub(crate) fn fields(self) -> [(&'static str, Value); 3] {
        [
            ("turn", count(self.turn)),
            ("step", count(self.step)),
            ("index", count(self.index)),
        ]
    }
}

/// Reads the body of an event, with errors that name it.
pub(crate) struct Body<'a> {
    event: &'a ThreadEvent,
}

impl<'a> Body<'a> {
    pub(crate) const fn of(event: &'a ThreadEvent) -> Self {
        Self { event }
    }

    fn bad(&self, why: String) -> LoopError {
        LoopError::BadEvent {
            seq: self.event.seq,
            kind: self.event.kind.to_string(),
            why,
        }
    }

    pub(crate) fn get(&self, field: &str) -> Result<&'a Value, LoopError> {
        let value = self.event.body.get(field);
        value.ok_or_else(|| self.bad(format!("`{field}` is missing")))
    }

    pub(crate) fn count(&self, field: &str) -> Result<u64, LoopError> {
        let value = self.get(field)?.as_int();
        value
            .and_then(|n| u64::try_from(n).ok())
            .ok_or_else(|| self.bad(format!("`{field}` is not a count")))
    }

    pub(crate) fn text(&self, field: &str) -> Result<&'a str, LoopError> {
        let value = self.get(field)?.as_str();
        value.ok_or_else(|| self.bad(format!("`{field}` is not text")))
    }

    pub(crate) fn flag(&self, field: &str) -> Result<bool, LoopError> {
        let value = self.get(field)?.as_bool();
        value.ok_or_else(|| self.bad(format!("`{field}` is not a boolean")))
    }

    pub(crate) fn message(&self, field: &str) -> Result<Message, LoopError> {
        Message::from_value(self.get(field)?).map_err(|e| self.bad(e.to_string()))
    }

    pub(crate) fn usage(&self) -> Result<Usage, LoopError> {
        Ok(Usage {
            input_tokens: self.count("input_tokens")?,
            output_tokens: self.count("output_tokens")?,
        })
    }

    /// The tokens of the whole thread, as an event that stands for older ones remembers them.
    pub(crate) fn thread_usage(&self) -> Result<Usage, LoopError> {
        let thread = self.get("thread")?;
        let tokens = |field: &str| {
            let count = thread.get(field).and_then(Value::as_int);
            count
                .and_then(|n| u64::try_from(n).ok())
                .ok_or_else(|| self.bad(format!("`thread/{field}` is not a count")))
        };
        Ok(Usage {
            input_tokens: tokens("input_tokens")?,
            output_tokens: tokens("output_tokens")?,
        })
    }

    pub(crate) fn site(&self) -> Result<CallSite, LoopError> {
        Ok(CallSite {
            turn: self.count("turn")?,
            step: self.count("step")?,
            index: self.count("index")?,
        })
    }

    pub(crate) fn result(&self) -> Result<ToolResult, LoopError> {
        Ok(ToolResult {
            call_id: self.text("call_id")?.to_owned(),
            content: self.get("result")?.clone(),
            is_error: self.flag("is_error")?,
        })
    }
}

/// The event that says a tool call begins.
pub(crate) fn tool_started(site: CallSite, call: &ToolCall) -> Result<NewEvent, ValueError> {
    let [turn, step, index] = site.fields();
    event(
        kind::TOOL_STARTED,
        [
            turn,
            step,
            index,
            ("call_id", Value::from(call.id.as_str())),
            ("name", Value::from(call.name.as_str())),
        ],
    )
}

/// The event that says that a tool call waits for the host.
pub(crate) fn approval_requested(site: CallSite, call: &ToolCall) -> Result<NewEvent, ValueError> {
    let [turn, step, index] = site.fields();
    let call_id = ("call_id", Value::from(call.id.as_str()));
    let name = ("name", Value::from(call.name.as_str()));
    event(kind::APPROVAL_REQUESTED, [turn, step, index, call_id, name])
}

/// The event that says what the host answered.
pub(crate) fn approval_answered(
    site: CallSite,
    approved: bool,
    reason: &str,
) -> Result<NewEvent, ValueError> {
    let [turn, step, index] = site.fields();
    let approved = ("approved", Value::Bool(approved));
    let reason = ("reason", Value::from(reason));
    event(
        kind::APPROVAL_ANSWERED,
        [turn, step, index, approved, reason],
    )
}

/// The event that says how a tool call ended. `effect` is what it committed, or null.
pub(crate) fn tool_finished(
    site: CallSite,
    call: &ToolCall,
    result: &ToolResult,
    effect: Value,
) -> Result<NewEvent, ValueError> {
    let [turn, step, index] = site.fields();
    event(
        kind::TOOL_FINISHED,
        [
            turn,
            step,
            index,
            ("call_id", Value::from(call.id.as_str())),
            ("name", Value::from(call.name.as_str())),
            ("result", result.content.clone()),
            ("is_error", Value::Bool(result.is_error)),
            ("effect", effect),
        ],
    )
}

/// The event about a port that a tool call calls: before, and after it has answered.
pub(crate) fn port_event(
    site: CallSite,
    stage: PortStage<'_>,
    is_idempotent: impl Fn(&str) -> bool,
) -> Result<Option<NewEvent>, ValueError> {
    let [turn, step, index] = site.fields();
    let common = |request: &PortRequest| {
        let call = ("call", count(request.index));
        let name = ("name", Value::from(request.name.clone()));
        (call, name)
    };
    Ok(match stage {
        PortStage::Started(request) => {
            let (call, name) = common(request);
            let input = ("input", Value::from(request.input.digest().to_string()));
            let key = ("key", Value::from(request.key.clone()));
            let idempotent = ("idempotent", Value::Bool(is_idempotent(&request.name)));
            let body = [turn, step, index, call, name, input, key, idempotent];
            Some(event(kind::PORT_STARTED, body)?)
        }
        PortStage::Finished(request, outcome) => {
            let (call, name) = common(request);
            let ended = ("outcome", Value::from(outcome.as_str()));
            let digest = ("digest", Value::from(outcome.digest().to_string()));
            let body = [turn, step, index, call, name, ended, digest];
            Some(event(kind::PORT_FINISHED, body)?)
        }
        _ => None,
    })
}

/// What a call's receipt remembers of its result.
pub(crate) fn receipt_outcome(result: &ToolResult) -> Result<Value, ValueError> {
    let fields = [
        ("result", result.content.clone()),
        ("is_error", Value::Bool(result.is_error)),
    ];
    Ok(Map::from_entries(fields)?.into())
}

/// The result that a receipt remembers.
pub(crate) fn receipt_result(call_id: &str, outcome: &Value) -> ToolResult {
    ToolResult {
        call_id: call_id.to_owned(),
        content: outcome.get("result").cloned().unwrap_or_default(),
        is_error: outcome.get("is_error").and_then(Value::as_bool) == Some(true),
    }
}
