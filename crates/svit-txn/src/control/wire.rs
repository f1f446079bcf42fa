//! Requests and responses, and their JSON.

use svit_tree::{Address, Path, TreeError};
use svit_value::{Digest, List, Map, Text, Value, ValueError, ValueLimits};

use crate::codec::count;

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
            Self::Operation { .. } => "unknown_operation",
            Self::Tree(e) => e.code(),
        }
    }
}

/// The fields of a frame. Unknown ones are ignored, as the protocol says.
struct Frame(Value);

impl Frame {
    /// A frame is bounded before it is decoded.
    fn parse(json: &str) -> Result<Self, RequestError> {
        if json.len() > MAX_FRAME_BYTES {
            return Err(RequestError::TooLong {
                allowed: MAX_FRAME_BYTES,
                actual: json.len(),
            });
        }
        let frame = Self(Value::from_json_with(json, &ValueLimits::default())?);
        let protocol = frame.text("protocol")?;
        if protocol.as_str() != PROTOCOL {
            return Err(RequestError::Protocol {
                found: cut(&protocol),
            });
        }
        Ok(frame)
    }

    fn get(&self, field: &'static str) -> Result<&Value, RequestError> {
        self.0.get(field).ok_or(RequestError::Field {
            field,
            why: "missing",
        })
    }

    fn text(&self, field: &'static str) -> Result<Text, RequestError> {
        let text = self.get(field)?.as_text().cloned();
        text.ok_or(RequestError::Field {
            field,
            why: "not text",
        })
    }

    fn count(&self, field: &'static str) -> Result<u64, RequestError> {
        let number = self.get(field)?.as_int();
        number
            .and_then(|n| u64::try_from(n).ok())
            .ok_or(RequestError::Field {
                field,
                why: "not a count",
            })
    }

    fn digest(&self, field: &'static str) -> Result<Digest, RequestError> {
        self.text(field)?.parse().map_err(|_| RequestError::Field {
            field,
            why: "not a digest of 64 hex digits",
        })
    }

    fn list(&self, field: &'static str) -> Result<&List, RequestError> {
        self.get(field)?.as_list().ok_or(RequestError::Field {
            field,
            why: "not a list",
        })
    }

    fn address(&self) -> Result<Address, RequestError> {
        Ok(Address::parse(&self.text("process_id")?)?)
    }
}

fn cut(text: &str) -> String {
    text.chars().take(64).collect()
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
        let frame = Frame::parse(json)?;
        let command = Frame(frame.get("command")?.clone());
        let operation = command.text("operation")?;
        let command = match operation.as_str() {
            "activate" => Command::Activate {
                script: Path::parse(&command.text("script")?)?,
                input: command.get("input")?.clone(),
            },
            other => {
                return Err(RequestError::Operation {
                    operation: cut(other),
                });
            }
        };
        Ok(Self {
            client_id: frame.text("client_id")?,
            request_id: frame.text("request_id")?,
            process_id: frame.address()?,
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
        let frame = Frame::parse(json)?;
        let replayed = frame.get("replayed")?.as_bool();
        Ok(Self {
            client_id: frame.text("client_id")?,
            request_id: frame.text("request_id")?,
            process_id: frame.address()?,
            replayed: replayed.ok_or(RequestError::Field {
                field: "replayed",
                why: "not a boolean",
            })?,
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
        let frame = Frame(value.clone());
        let status = frame.text("status")?;
        Ok(match status.as_str() {
            "committed" => Self::Committed {
                version: frame.count("version")?,
                root: frame.digest("root")?,
                output: frame.get("output")?.clone(),
                logs: frame.list("logs")?.iter().cloned().collect(),
                changed: frame
                    .list("changed")?
                    .iter()
                    .map(|path| Path::parse(path.as_str().unwrap_or_default()))
                    .collect::<Result<_, _>>()?,
                ticks: frame.count("ticks")?,
            },
            "conflict" => Self::Conflict {
                expected: frame.count("expected")?,
                actual: frame.count("actual")?,
                root: frame.digest("root")?,
            },
            "rejected" => Self::Rejected {
                version: frame.count("version")?,
                root: frame.digest("root")?,
                code: frame.text("code")?,
                message: frame.text("message")?,
            },
            _ => {
                return Err(RequestError::Field {
                    field: "status",
                    why: "unknown",
                });
            }
        })
    }
}
