//! Who decides what the model says: a list, a closure, or a file.

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::DEFAULT_KEY;
use super::reply::{Call, Fault, Reply};
use super::request::Request;

/// Answers requests, the same one in the same way.
#[derive(Clone)]
pub struct Script {
    key: String,
    answer: Arc<Answer>,
}

type Answer = dyn Fn(&Request) -> Option<Reply> + Send + Sync;

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script").finish_non_exhaustive()
    }
}

impl Script {
    /// The reply is chosen by how many model turns the conversation already holds, so that a client, or
    /// the server, can be stopped and started again at any point. Asking past the end is an error.
    pub fn turns(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies: Vec<Reply> = replies.into_iter().collect();
        Self::new(move |request| replies.get(request.turn).cloned())
    }

    /// The reply is chosen by the number of the request, whatever it says. Asking past the end is an error.
    pub fn requests(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies: Vec<Reply> = replies.into_iter().collect();
        Self::new(move |request| replies.get(request.number).cloned())
    }

    /// The reply is made from the request.
    pub fn from_fn(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::new(move |request| Some(answer(request)))
    }

    /// The key that the server accepts instead of [`DEFAULT_KEY`].
    #[must_use]
    pub fn with_key(mut self, key: impl Into<String>) -> Self {
        self.key = key.into();
        self
    }

    /// A script from its JSON form:
    ///
    /// ```
    /// # use svit_testkit::model_server::Script;
    /// let script = Script::from_json(r#"{
    ///   "key": "secret",
    ///   "by": "turns",
    ///   "replies": [
    ///     {"first": [{"status": 429, "retry_after": "1"}, {"cut_after": 2}],
    ///      "calls": [{"name": "write", "arguments": {"path": "/memory/x", "value": 1}}]},
    ///     {"reasoning": "It is stored.", "text": "Done.", "usage": [10, 2], "fault": {"slow": {"octets": 1, "pause_ms": 1}}}
    ///   ]
    /// }"#).unwrap();
    /// # let _ = script;
    /// ```
    ///
    /// `by` is `turns` (the default) or `requests`. A reply takes `reasoning text refusal calls usage
    /// finish first fault`, a call `id name` and `arguments` (JSON) or `raw_arguments` (text). A fault is one
    /// of `status` (with `retry_after code message`), `hang_up`, `cut_after`, `end_after`, `malformed_json`,
    /// `error_after` (with `code message`), `stall`, `slow` (with `octets pause_ms`).
    ///
    /// # Errors
    /// [`ScriptError`], with the place of the first thing that is wrong. Unknown fields are wrong.
    pub fn from_json(text: &str) -> Result<Self, ScriptError> {
        let script: Value =
            serde_json::from_str(text).map_err(|error| wrong("the file", error.to_string()))?;
        known(&script, "the file", &["key", "by", "replies"])?;
        let list = script["replies"]
            .as_array()
            .ok_or_else(|| wrong("replies", "must be a list"))?;
        let mut replies = Vec::with_capacity(list.len());
        for (index, reply) in list.iter().enumerate() {
            replies.push(read_reply(reply, &format!("replies[{index}]"))?);
        }
        let made = match script["by"].as_str() {
            None if script["by"].is_null() => Self::turns(replies),
            Some("turns") => Self::turns(replies),
            Some("requests") => Self::requests(replies),
            _ => return Err(wrong("by", "must be \"turns\" or \"requests\"")),
        };
        Ok(match string(&script, "key", "the file")? {
            Some(key) => made.with_key(key),
            None => made,
        })
    }

    pub(super) fn key(&self) -> &str {
        &self.key
    }

    pub(super) fn answer(&self, request: &Request) -> Option<Reply> {
        (self.answer)(request)
    }

    fn new(answer: impl Fn(&Request) -> Option<Reply> + Send + Sync + 'static) -> Self {
        Self {
            key: DEFAULT_KEY.into(),
            answer: Arc::new(answer),
        }
    }
}

/// What is wrong with a script file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    /// The place, such as `replies[2].calls[0]`.
    pub place: String,
    /// What is wrong there.
    pub problem: String,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

impl std::error::Error for ScriptError {}

fn wrong(place: &str, problem: impl Into<String>) -> ScriptError {
    ScriptError {
        place: place.into(),
        problem: problem.into(),
    }
}

fn known(value: &Value, place: &str, fields: &[&str]) -> Result<(), ScriptError> {
    let object = value
        .as_object()
        .ok_or_else(|| wrong(place, "must be an object"))?;
    match object.keys().find(|key| !fields.contains(&key.as_str())) {
        Some(key) => Err(wrong(place, format!("unknown field {key:?}"))),
        None => Ok(()),
    }
}

fn string(value: &Value, field: &str, place: &str) -> Result<Option<String>, ScriptError> {
    match &value[field] {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.clone())),
        _ => Err(wrong(place, format!("{field} must be a text"))),
    }
}

fn count(value: &Value, place: &str) -> Result<usize, ScriptError> {
    value
        .as_u64()
        .and_then(|number| usize::try_from(number).ok())
        .ok_or_else(|| wrong(place, "must be a whole number"))
}

fn read_reply(value: &Value, place: &str) -> Result<Reply, ScriptError> {
    known(
        value,
        place,
        &[
            "reasoning",
            "text",
            "refusal",
            "calls",
            "usage",
            "finish",
            "first",
            "fault",
        ],
    )?;
    let usage = match &value["usage"] {
        Value::Null => None,
        usage => match (usage[0].as_u64(), usage[1].as_u64()) {
            (Some(input), Some(output)) => Some((input, output)),
            _ => return Err(wrong(place, "usage must be [input tokens, output tokens]")),
        },
    };
    let mut reply = Reply {
        reasoning: string(value, "reasoning", place)?,
        text: string(value, "text", place)?,
        refusal: string(value, "refusal", place)?,
        finish: string(value, "finish", place)?,
        usage,
        ..Reply::default()
    };
    for (index, call) in list(value, "calls", place)?.iter().enumerate() {
        reply
            .calls
            .push(read_call(call, &format!("{place}.calls[{index}]"))?);
    }
    for (index, fault) in list(value, "first", place)?.iter().enumerate() {
        reply
            .first_faults
            .push(read_fault(fault, &format!("{place}.first[{index}]"))?);
    }
    if !value["fault"].is_null() {
        reply.fault = Some(read_fault(&value["fault"], &format!("{place}.fault"))?);
    }
    Ok(reply)
}

fn list<'a>(value: &'a Value, field: &str, place: &str) -> Result<&'a [Value], ScriptError> {
    match &value[field] {
        Value::Null => Ok(&[]),
        Value::Array(items) => Ok(items),
        _ => Err(wrong(place, format!("{field} must be a list"))),
    }
}

fn read_call(value: &Value, place: &str) -> Result<Call, ScriptError> {
    known(value, place, &["id", "name", "arguments", "raw_arguments"])?;
    let name = string(value, "name", place)?.ok_or_else(|| wrong(place, "name is missing"))?;
    let raw = string(value, "raw_arguments", place)?;
    let arguments = match (&value["arguments"], raw) {
        (Value::Null, Some(raw)) => raw,
        (Value::Null, None) => "{}".into(),
        (arguments, None) => arguments.to_string(),
        (_, Some(_)) => {
            return Err(wrong(
                place,
                "arguments and raw_arguments exclude each other",
            ));
        }
    };
    Ok(Call {
        id: string(value, "id", place)?,
        name,
        arguments,
    })
}

fn read_fault(value: &Value, place: &str) -> Result<Fault, ScriptError> {
    let object = value
        .as_object()
        .ok_or_else(|| wrong(place, "must be an object"))?;
    let text = |field: &str, default: &str| {
        string(value, field, place).map(|text| text.unwrap_or_else(|| default.to_owned()))
    };
    let has = |field: &str| object.contains_key(field);
    let (fault, fields): (Fault, &[&str]) = if has("status") {
        let status = value["status"]
            .as_u64()
            .and_then(|status| u16::try_from(status).ok())
            .filter(|status| (400..600).contains(status))
            .ok_or_else(|| wrong(place, "status must be from 400 to 599"))?;
        let retry_after = string(value, "retry_after", place)?;
        let (code, message) = (text("code", "server_error")?, text("message", "Injected.")?);
        (
            Fault::Status {
                status,
                retry_after,
                code,
                message,
            },
            &["status", "retry_after", "code", "message"],
        )
    } else if has("hang_up") {
        (Fault::HangUp, &["hang_up"])
    } else if has("cut_after") {
        (
            Fault::CutAfter(count(&value["cut_after"], place)?),
            &["cut_after"],
        )
    } else if has("end_after") {
        (
            Fault::EndAfter(count(&value["end_after"], place)?),
            &["end_after"],
        )
    } else if has("malformed_json") {
        (
            Fault::MalformedJson(count(&value["malformed_json"], place)?),
            &["malformed_json"],
        )
    } else if has("error_after") {
        let events = count(&value["error_after"], place)?;
        let (code, message) = (text("code", "server_error")?, text("message", "Injected.")?);
        (
            Fault::ErrorAfter {
                events,
                code,
                message,
            },
            &["error_after", "code", "message"],
        )
    } else if has("stall") {
        (Fault::Stall(count(&value["stall"], place)?), &["stall"])
    } else if has("slow") {
        known(&value["slow"], place, &["octets", "pause_ms"])?;
        let octets = count(&value["slow"]["octets"], place)?.max(1);
        let pause = value["slow"]["pause_ms"]
            .as_u64()
            .ok_or_else(|| wrong(place, "pause_ms is missing"))?;
        (
            Fault::Slow {
                octets,
                pause: Duration::from_millis(pause),
            },
            &["slow"],
        )
    } else {
        return Err(wrong(place, "no known fault"));
    };
    known(value, place, fields)?;
    Ok(fault)
}
