//! `Controller`: carries out requests on one process.

use svit_value::{Map, Text, Value};

use super::wire::{Command, Request, Response, ResponseOutcome};
use crate::durable::{DurableProcess, Extras, Operation, Outcome, RequestKey, Submission};
use crate::store::ReceiptKey;
use crate::{Activation, Error, LogRecord};

/// Carries out requests of many clients on one process, in the order in which they come.
///
/// A request names the version that its client has seen. At another version it is a conflict, no
/// guest code runs, and nothing is remembered. Otherwise the outcome, a rejection included, is
/// recorded in the same durable append as the transition, and an exact retry gets it again, also
/// after a crash. Clones work on the same process.
///
/// ```
/// use svit_txn::control::{Command, Controller, Request, ResponseOutcome};
/// use svit_txn::{MemoryStore, Process};
/// use svit_value::value;
///
/// # #[cfg(feature = "lisp")]
/// # futures_lite::future::block_on(async {
/// let process = Process::builder("svit://local/demo")?
///     .memory("count", 6)
///     .library("add", "(define (main by) (write \"/memory/count\" (+ (read \"/memory/count\") by)))")
///     .build()?;
/// let controller = Controller::new(MemoryStore::new().create(process).await?);
/// let request = Request {
///     client_id: "cli-1".into(),
///     request_id: "1".into(),
///     process_id: "svit://local/demo".parse()?,
///     expected_version: 0,
///     command: Command::Activate { script: "/lib/add".parse()?, input: 3.into() },
/// };
/// let first = controller.handle(&request).await?;
/// assert!(matches!(first.outcome, ResponseOutcome::Committed { version: 1, .. }));
/// let again = controller.handle(&request).await?;
/// assert!(again.replayed && again.outcome == first.outcome);
/// # Ok::<(), svit_txn::Error>(()) }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Controller {
    process: DurableProcess,
}

impl Controller {
    /// A controller of a process.
    pub const fn new(process: DurableProcess) -> Self {
        Self { process }
    }

    /// The process.
    pub const fn process(&self) -> &DurableProcess {
        &self.process
    }

    /// Carries out a request.
    ///
    /// # Errors
    /// Those of the store, after which the client must not assume either outcome and retries with
    /// the same ids. Everything that is about the request itself is a response.
    pub async fn handle(&self, request: &Request) -> Result<Response, Error> {
        let (replayed, outcome) = match self.submit(request).await {
            Ok(Outcome::Replayed(receipt)) => {
                let stored = ResponseOutcome::from_value(&receipt.outcome);
                let outcome = stored.map_err(|error| Error::History {
                    version: receipt.version,
                    why: format!("a stored outcome cannot be read: {error}"),
                })?;
                (true, outcome)
            }
            Ok(Outcome::Activation(activation)) => (false, committed(&activation)?),
            Ok(other) => return Err(other.unexpected()),
            Err(Error::Conflict {
                expected,
                actual,
                root,
            }) => (
                false,
                ResponseOutcome::Conflict {
                    expected,
                    actual,
                    root,
                },
            ),
            Err(error) if is_of_the_store(&error) => return Err(error),
            Err(error) => (false, self.rejected(&error)),
        };
        Ok(Response {
            client_id: request.client_id.clone(),
            request_id: request.request_id.clone(),
            process_id: request.process_id.clone(),
            replayed,
            outcome,
        })
    }

    /// Reads a frame, carries it out, and writes the answer.
    ///
    /// # Errors
    /// [`Error::Request`] for a frame that is no request, and as [`handle`](Self::handle).
    pub async fn handle_json(&self, frame: &str) -> Result<String, Error> {
        let request = Request::from_json(frame)?;
        Ok(self.handle(&request).await?.to_json()?)
    }

    async fn submit(&self, request: &Request) -> Result<Outcome, Error> {
        if request.process_id != *self.process.address() {
            return Err(Error::WrongProcess {
                address: request.process_id.clone(),
            });
        }
        let Command::Activate { script, input } = &request.command;
        let operation = Operation::Exec {
            path: script.clone(),
            input: input.clone(),
        };
        let key = RequestKey {
            key: ReceiptKey {
                client: request.client_id.clone(),
                request: request.request_id.clone(),
            },
            content: request.content()?,
        };
        let submission = Submission::plain(operation)
            .keyed(key)
            .expecting(request.expected_version)
            .recording(|outcome| Extras {
                outcome: self.stored(outcome),
                events: Vec::new(),
            });
        self.process.submit(submission).await
    }

    /// The outcome as its receipt keeps it. An output that is too deep to be nested in it becomes a
    /// rejection of the retry alone; it cannot be, as values that are written are far shallower.
    fn stored(&self, outcome: Result<&Outcome, &Error>) -> Value {
        let outcome = match outcome {
            Ok(Outcome::Activation(activation)) => committed(activation),
            Ok(_) => return Value::Null,
            Err(error) => Ok(self.rejected(error)),
        };
        outcome
            .and_then(|outcome| Ok(outcome.to_value()?))
            .unwrap_or_default()
    }

    fn rejected(&self, error: &Error) -> ResponseOutcome {
        ResponseOutcome::Rejected {
            version: self.process.version(),
            root: self.process.root_digest(),
            code: Text::from(error.code()),
            message: Text::from(error.to_string()),
        }
    }
}

fn committed(activation: &Activation) -> Result<ResponseOutcome, Error> {
    Ok(ResponseOutcome::Committed {
        version: activation.version,
        root: activation.root,
        output: activation.output.clone(),
        logs: activation
            .logs
            .iter()
            .map(log)
            .collect::<Result<_, Error>>()?,
        changed: activation.changed.clone(),
        ticks: activation.ticks,
    })
}

fn log(record: &LogRecord) -> Result<Value, Error> {
    let entries = [
        ("level", Value::from(record.level.as_str())),
        ("message", Value::Text(record.message.clone())),
        ("fields", record.fields.clone()),
    ];
    Ok(Map::from_entries(entries)?.into())
}

/// Whether an error says nothing about the request.
const fn is_of_the_store(error: &Error) -> bool {
    matches!(
        error,
        Error::Store(_) | Error::Record { .. } | Error::History { .. }
    )
}
