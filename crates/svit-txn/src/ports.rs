//! The seam to ports: what a host attaches so that scripts can call it ([`PortDispatch`]), what a
//! call is given ([`PortRequest`]), and what is recorded of it ([`PortCall`]).

use svit_tree::guest::HostError;
use svit_tree::{Node, Path};
use svit_value::{Bytes, Digest, List, Map, Text, Value};

use crate::codec::{self, Fields};
use crate::committed::Committed;
use crate::store::{BoxFuture, ReceiptKey};
use crate::{DurableProcess, Error, RecordError};

/// What a call of a port can do to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PortEffect {
    /// Nothing.
    Pure,
    /// It looks at the world.
    Read,
    /// It changes the world: an activation that has made such a call is never run a second time.
    Write,
}

/// The ports that a host grants to a process, and the one way to call them.
///
/// Attached with [`DurableProcess::attach_ports`](crate::DurableProcess::attach_ports); never
/// stored. `svit-ports` has an implementation with manuals, sizes and schemas.
///
/// ```
/// use std::sync::Arc;
/// use svit_tree::guest::HostError;
/// use svit_txn::{BoxFuture, MemoryStore, PortDispatch, PortEffect, PortRequest, Process};
/// use svit_value::{Map, Value, value};
///
/// struct Doubler;
///
/// impl PortDispatch for Doubler {
///     fn manuals(&self) -> Map {
///         Map::from_entries([("double", value!({"description": "Doubles an integer."}))])
///             .unwrap_or_default()
///     }
///     fn effect(&self, name: &str) -> Option<PortEffect> {
///         (name == "double").then_some(PortEffect::Pure)
///     }
///     fn call(&self, request: PortRequest) -> BoxFuture<'_, Result<Value, HostError>> {
///         Box::pin(async move {
///             match request.input.as_int() {
///                 Some(n) => Ok(Value::Int(n.wrapping_mul(2))),
///                 None => Err(HostError::soft("bad_input", "give an integer")),
///             }
///         })
///     }
/// }
///
/// # futures_lite::future::block_on(async {
/// let process = Process::builder("svit://local/demo")?
///     .library("twice", "(define (main input) (port-call \"double\" input))")
///     .build()?;
/// let process = MemoryStore::new().create(process).await?;
/// process.attach_ports(Arc::new(Doubler)).await?;
/// # #[cfg(feature = "lisp")]
/// assert_eq!(process.exec("/lib/twice", 21).await?.output, 42.into());
/// assert_eq!(process.exec("/ports/double", 4).await?.output, 8.into());
/// # Ok::<(), svit_txn::Error>(()) }).unwrap();
/// ```
pub trait PortDispatch: Send + Sync {
    /// The manuals, by name, as they stand at `/ports`. Asked when the ports are attached.
    fn manuals(&self) -> Map;

    /// What calls of the port `name` can do to the world; none if there is no such port.
    fn effect(&self, name: &str) -> Option<PortEffect>;

    /// Calls a port. Cancelled by dropping the future, which happens when nobody waits for the
    /// activation any more.
    ///
    /// Meanwhile the process is in the activation's turn: messages are sent and acknowledged as ever,
    /// but a port that writes to the process that called it, or runs a script in it, waits for
    /// itself.
    ///
    /// # Errors
    /// Why there is no answer. A soft error can be handled by the script; a hard one ends the
    /// activation.
    fn call(&self, request: PortRequest) -> BoxFuture<'_, Result<Value, HostError>>;

    /// The same for the process that calls: what is called instead of [`call`](Self::call), for ports
    /// that fork it. By default it is not looked at.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    fn call_for<'a>(
        &'a self,
        process: &'a DurableProcess,
        request: PortRequest,
    ) -> BoxFuture<'a, Result<Value, HostError>> {
        let _ = process;
        self.call(request)
    }
}

/// One call of a port.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PortRequest {
    /// The port.
    pub name: Text,
    /// Its input, within the limits of values.
    pub input: Value,
    /// The process as it was committed when the activation began.
    pub committed: Committed,
    /// The idempotency key, 64 hex digits: the same for the same call of the same keyed submission
    /// made again, and for no other.
    pub key: Text,
    /// The number of the call in its activation, from 0.
    pub index: u64,
    /// The key of the submission that the activation belongs to, if it has one.
    pub submission: Option<ReceiptKey>,
}

/// A moment of a port call at which whoever submitted the activation may record something; see
/// [`Submission::noting_ports`](crate::Submission::noting_ports).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum PortStage<'a> {
    /// The port is about to be called.
    Started(&'a PortRequest),
    /// It has answered.
    Finished(&'a PortRequest, PortOutcome),
}

/// What a transaction record says of a port call that its activation made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortCall {
    /// The port.
    pub name: Text,
    /// The digest of the input.
    pub input: Digest,
    /// How it ended.
    pub outcome: PortOutcome,
}

/// How a port call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortOutcome {
    /// With an answer, of this digest.
    Ok(Digest),
    /// With an error: the digest of `{code, message}`.
    Error(Digest),
}

impl PortOutcome {
    pub(crate) fn of(answer: &Result<Value, HostError>) -> Self {
        match answer {
            Ok(value) => Self::Ok(value.digest()),
            Err(error) => {
                let entries = [
                    ("code", error.code.clone()),
                    ("message", error.message.clone()),
                ];
                // Two texts in a map are two levels deep, so this cannot fail.
                let error = Map::from_entries(entries).unwrap_or_default();
                Self::Error(Value::Map(error).digest())
            }
        }
    }

    /// `ok` or `error`.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Ok(_) => "ok",
            Self::Error(_) => "error",
        }
    }

    /// The digest of the answer, or of the error.
    pub const fn digest(self) -> Digest {
        match self {
            Self::Ok(digest) | Self::Error(digest) => digest,
        }
    }
}

const WHAT: &str = "port call";

impl PortCall {
    pub(crate) fn to_value(&self) -> Result<Value, Error> {
        let entries = [
            ("name", Value::from(self.name.clone())),
            ("input", codec::digest(self.input)),
            ("outcome", Value::from(self.outcome.as_str())),
            ("digest", codec::digest(self.outcome.digest())),
        ];
        Ok(Map::from_entries(entries)?.into())
    }

    pub(crate) fn from_value(value: &Value) -> Result<Self, RecordError> {
        let fields = Fields::of(WHAT, value)?;
        fields.exactly(4)?;
        let name = fields.text("name")?;
        if name.is_empty() {
            return Err(fields.bad("name", "empty"));
        }
        let digest = fields.digest("digest")?;
        let outcome = match fields.text("outcome")? {
            "ok" => PortOutcome::Ok(digest),
            "error" => PortOutcome::Error(digest),
            other => return Err(fields.bad("outcome", &format!("unknown outcome {other:?}"))),
        };
        Ok(Self {
            name: Text::from(name),
            input: fields.digest("input")?,
            outcome,
        })
    }
}

/// What the idempotency keys of one activation are made from.
#[derive(Clone, Debug)]
pub(crate) struct CallKeys {
    seed: Digest,
}

impl CallKeys {
    /// Those of a submission that can be made again.
    pub(crate) fn of_submission(address: &str, key: &ReceiptKey) -> Self {
        Self::seeded([
            Value::from(address),
            Value::from(key.client.clone()),
            Value::from(key.request.clone()),
        ])
    }

    /// Those of a run that nobody can make again: `run` counts them under one epoch.
    pub(crate) fn of_run(address: &str, epoch: u64, run: u64) -> Self {
        Self::seeded([Value::from(address), codec::count(epoch), codec::count(run)])
    }

    fn seeded(parts: [Value; 3]) -> Self {
        Self {
            seed: digest_of(parts),
        }
    }

    /// The key of the call that is the `nth` with this name and input in its activation.
    pub(crate) fn key(&self, name: &str, input: Digest, nth: u64) -> Text {
        let octets = |digest: Digest| Value::from(Bytes::from(&digest.as_bytes()[..]));
        let parts = [
            octets(self.seed),
            Value::from(name),
            octets(input),
            codec::count(nth),
        ];
        Text::from(digest_of(parts).to_string())
    }
}

fn digest_of<const N: usize>(parts: [Value; N]) -> Digest {
    // Scalars in a list are two levels deep, so this cannot fail.
    Value::List(List::from_values(parts).unwrap_or_default()).digest()
}

/// The port that a path names, if it is `/ports/<name>`.
pub(crate) fn port_at(path: &Path) -> Option<&str> {
    let mut segments = path.segments();
    let name = segments.nth(1)?;
    (Node::of(path) == Some(Node::Ports) && segments.next().is_none()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_port_itself_is_one() {
        let at = |text: &str| port_at(&Path::parse(text).unwrap()).map(str::to_owned);
        assert_eq!(at("/ports/http"), Some("http".into()));
        for other in ["/", "/ports", "/ports/http/input", "/lib/http"] {
            assert_eq!(at(other), None, "{other}");
        }
    }

    #[test]
    fn no_two_calls_have_one_key() {
        let key = |client: &str, request: &str| ReceiptKey {
            client: client.into(),
            request: request.into(),
        };
        let seeds = [
            CallKeys::of_submission("svit://local/a", &key("a", "1")),
            CallKeys::of_submission("svit://local/b", &key("a", "1")),
            CallKeys::of_submission("svit://local/a", &key("b", "1")),
            CallKeys::of_submission("svit://local/a", &key("1", "a")),
            CallKeys::of_run("svit://local/a", 1, 1),
            CallKeys::of_run("svit://local/a", 1, 2),
            CallKeys::of_run("svit://local/a", 2, 1),
        ];
        let inputs = [Digest::of(b"x"), Digest::of(b"y")];
        let mut keys = std::collections::BTreeSet::new();
        for seed in &seeds {
            for name in ["p", "q"] {
                for input in inputs {
                    for nth in 0..3 {
                        assert!(keys.insert(seed.key(name, input, nth)));
                        assert_eq!(seed.key(name, input, nth), seed.key(name, input, nth));
                    }
                }
            }
        }
        assert_eq!(keys.len(), seeds.len() * 12);
    }
}
