//! Requests and responses, and their JSON.

use svit_tree::{Address, Path, TreeError};
use svit_value::{Digest, List, Map, Text, Value, ValueError, ValueLimits};

use super::shape::{COMMAND, Field, Frame, OUTCOME, REQUEST, RESPONSE};
use crate::codec::count;
use crate::ids::MAX_ID_BYTES;

/// The name of the protocol, which every frame carries.
pub const PROTOCOL: &str = "svit-control@1";

/// The longest frame that is decoded, in bytes.
pub const MAX_FRAME_BYTES: usize = 16 << 20;

/// What a client asks.
///
/// ```
/// use svit_txn::control::Request;
///
/// let request = Request::from_json(r#"{
///     "protocol": "svit-control@1", "client_id": "cli-1", "request_id": "r.7",
///     "process_id": "svit://local/demo", "expected_version": 3,
///     "command": {"operation": "activate", "script": "/lib/plan", "input": {"by": 1}}
/// }"#)?;
/// assert_eq!(request.expected_version, 3);
/// assert_eq!(Request::from_json(&request.to_json()?)?, request);
/// # Ok::<(), svit_txn::control::RequestError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Who asks: 1 to 128 of `A-Z a-z 0-9 - _ .`. For correlation only, never proof of identity.
    pub client_id: Text,
    /// The client's id for this request, of the same form. An exact retry repeats it.
    pub request_id: Text,
    /// The process.
    pub process_id: Address,
    /// The version that the client has seen.
    pub expected_version: u64,
    /// What to do.
    pub command: Command,
}

/// What to do.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Command {
    /// Run a script.
    Activate {
        /// `/lib/<name>`.
        script: Path,
        /// Its input.
        input: Value,
    },
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// The request's.
    pub client_id: Text,
    /// The request's.
    pub request_id: Text,
    /// The request's.
    pub process_id: Address,
    /// Whether this is the stored outcome of the same request made before.
    pub replayed: bool,
    /// The outcome.
    pub outcome: ResponseOutcome,
}

/// How a request ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ResponseOutcome {
    /// The script ran, and what it did is committed.
    Committed {
        /// The version after it.
        version: u64,
        /// The root digest after it.
        root: Digest,
        /// What the script returned.
        output: Value,
        /// Its log records: maps of `level`, `message` and `fields`.
        logs: Vec<Value>,
        /// The paths that it changed.
        changed: Vec<Path>,
        /// Ticks used.
        ticks: u64,
    },
    /// Another transition came first. No guest code ran, and nothing is remembered.
    Conflict {
        /// The version that the client had seen.
        expected: u64,
        /// The version that the process is at.
        actual: u64,
        /// Its root digest.
        root: Digest,
    },
    /// The request was refused, or the script failed. Nothing was changed.
    Rejected {
        /// The version that the process is at.
        version: u64,
        /// Its root digest.
        root: Digest,
        /// A stable name for the reason, in snake case.
        code: Text,
        /// The reason, fit for people.
        message: Text,
    },
}

/// Why a frame is no request or response.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// It is longer than any frame may be.
    #[error("a frame of {actual} bytes; at most {allowed} are allowed")]
    TooLong {
        /// The limit, in bytes.
        allowed: usize,
        /// The length, in bytes.
        actual: usize,
    },
    /// It is not JSON, or holds what no value can.
    #[error(transparent)]
    Json(#[from] ValueError),
    /// It is of another protocol.
    #[error("protocol {found:?}; this is {PROTOCOL}")]
    Protocol {
        /// What it names, cut at 64 characters.
        found: String,
    },
    /// A field is missing or of another kind.
    #[error("field `{field}`: {why}")]
    Field {
        /// The field.
        field: &'static str,
        /// What is wrong.
        why: &'static str,
    },
    /// An id is empty, too long, or of characters that are not allowed.
    #[error("`{field}` {text:?} must be 1 to {MAX_ID_BYTES} of `A-Z a-z 0-9 - _ .`")]
    Id {
        /// The field.
        field: &'static str,
        /// What it holds, cut at 64 characters.
        text: String,
    },
    /// The operation is none of this version.
    #[error("unknown operation {operation:?}")]
    Operation {
        /// What it names, cut at 64 characters.
        operation: String,
    },
    /// A path or an address is malformed.
    #[error(transparent)]
    Tree(#[from] TreeError),
}

impl RequestError {
    /// A stable name for the sort of failure, in snake case.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TooLong { .. } => "frame_too_long",
            Self::Json(_) => "bad_json",
            Self::Protocol { .. } => "unknown_protocol",
            Self::Field { .. } => "bad_field",
            Self::Id { .. } => "bad_key",
            Self::Operation { .. } => "unknown_operation",
            Self::Tree(e) => e.code(),
        }
    }
}

/// Decodes a frame, which is bounded before.
fn parse(json: &str) -> Result<Value, RequestError> {
    if json.len() > MAX_FRAME_BYTES {
        return Err(RequestError::TooLong {
            allowed: MAX_FRAME_BYTES,
            actual: json.len(),
        });
    }
    Ok(Value::from_json_with(json, &ValueLimits::default())?)
}

/// The fields of a frame, the protocol first: of another one the rest means nothing.
fn frame<'a>(value: &'a Value, fields: &'static [Field]) -> Result<Frame<'a>, RequestError> {
    let frame = Frame::of("frame", value, fields)?;
    frame.get("protocol")?;
    Ok(frame)
}

fn map<const N: usize>(entries: [(&str, Value); N]) -> Result<Value, ValueError> {
    Ok(Map::from_entries(entries)?.into())
}

impl Request {
    /// Reads a frame.
    ///
    /// # Errors
    /// [`RequestError`]; unknown fields are ignored, unknown operations are not.
    pub fn from_json(json: &str) -> Result<Self, RequestError> {
        let value = parse(json)?;
        let frame = frame(&value, REQUEST)?;
        let command = match frame.case("command", &COMMAND)? {
            ("activate", activate) => Command::Activate {
                script: activate.path("script")?,
                input: activate.get("input")?.clone(),
            },
            (other, _) => return Err((COMMAND.unknown)(other)),
        };
        Ok(Self {
            client_id: frame.text("client_id")?,
            request_id: frame.text("request_id")?,
            process_id: frame.address("process_id")?,
            expected_version: frame.count("expected_version")?,
            command,
        })
    }

    /// Writes a frame.
    ///
    /// # Errors
    /// [`RequestError::Json`] for an input that JSON cannot hold.
    pub fn to_json(&self) -> Result<String, RequestError> {
        let frame = map([
            ("protocol", Value::from(PROTOCOL)),
            ("client_id", Value::Text(self.client_id.clone())),
            ("request_id", Value::Text(self.request_id.clone())),
            ("process_id", Value::from(self.process_id.as_str())),
            ("expected_version", count(self.expected_version)),
            ("command", self.command.to_value()?),
        ])?;
        Ok(frame.to_json()?)
    }

    /// The digest of what is asked, without the ids: the same key with other content is refused.
    pub(crate) fn content(&self) -> Result<Digest, ValueError> {
        let content = map([
            ("process_id", Value::from(self.process_id.as_str())),
            ("expected_version", count(self.expected_version)),
            ("command", self.command.to_value()?),
        ])?;
        Ok(content.digest())
    }
}

impl Command {
    fn to_value(&self) -> Result<Value, ValueError> {
        match self {
            Self::Activate { script, input } => map([
                ("operation", Value::from("activate")),
                ("script", Value::from(script.to_string())),
                ("input", input.clone()),
            ]),
        }
    }
}

impl Response {
    /// Writes a frame.
    ///
    /// # Errors
    /// [`RequestError::Json`] for an output that JSON cannot hold.
    pub fn to_json(&self) -> Result<String, RequestError> {
        let frame = map([
            ("protocol", Value::from(PROTOCOL)),
            ("client_id", Value::Text(self.client_id.clone())),
            ("request_id", Value::Text(self.request_id.clone())),
            ("process_id", Value::from(self.process_id.as_str())),
            ("replayed", Value::Bool(self.replayed)),
            ("outcome", self.outcome.to_value()?),
        ])?;
        Ok(frame.to_json()?)
    }

    /// Reads a frame.
    ///
    /// # Errors
    /// [`RequestError`].
    pub fn from_json(json: &str) -> Result<Self, RequestError> {
        let value = parse(json)?;
        let frame = frame(&value, RESPONSE)?;
        Ok(Self {
            client_id: frame.text("client_id")?,
            request_id: frame.text("request_id")?,
            process_id: frame.address("process_id")?,
            replayed: frame.flag("replayed")?,
            outcome: ResponseOutcome::from_value(frame.get("outcome")?)?,
        })
    }
}

impl ResponseOutcome {
    pub(crate) fn to_value(&self) -> Result<Value, ValueError> {
        let root = |digest: &Digest| Value::from(digest.to_string());
        match self {
            Self::Committed {
                version,
                root: digest,
                output,
                logs,
                changed,
                ticks,
            } => map([
                ("status", Value::from("committed")),
                ("version", count(*version)),
                ("root", root(digest)),
                ("output", output.clone()),
                ("logs", List::from_values(logs.iter().cloned())?.into()),
                (
                    "changed",
                    List::from_values(changed.iter().map(Path::to_string))?.into(),
                ),
                ("ticks", count(*ticks)),
            ]),
            Self::Conflict {
                expected,
                actual,
                root: digest,
            } => map([
                ("status", Value::from("conflict")),
                ("expected", count(*expected)),
                ("actual", count(*actual)),
                ("root", root(digest)),
            ]),
            Self::Rejected {
                version,
                root: digest,
                code,
                message,
            } => map([
                ("status", Value::from("rejected")),
                ("version", count(*version)),
                ("root", root(digest)),
                ("code", Value::Text(code.clone())),
                ("message", Value::Text(message.clone())),
            ]),
        }
    }

    pub(crate) fn from_value(value: &Value) -> Result<Self, RequestError> {
        Ok(match OUTCOME.case("outcome", value)? {
            ("committed", committed) => Self::Committed {
                version: committed.count("version")?,
                root: committed.digest("root")?,
                output: committed.get("output")?.clone(),
                logs: committed.items("logs")?.cloned().collect(),
                changed: committed
                    .items("changed")?
                    .map(|path| Path::parse(path.as_str().unwrap_or_default()))
                    .collect::<Result<_, _>>()?,
                ticks: committed.count("ticks")?,
            },
            ("conflict", conflict) => Self::Conflict {
                expected: conflict.count("expected")?,
                actual: conflict.count("actual")?,
                root: conflict.digest("root")?,
            },
            ("rejected", rejected) => Self::Rejected {
                version: rejected.count("version")?,
                root: rejected.digest("root")?,
                code: rejected.text("code")?,
                message: rejected.text("message")?,
            },
            (other, _) => return Err((OUTCOME.unknown)(other)),
        })
    }
}
