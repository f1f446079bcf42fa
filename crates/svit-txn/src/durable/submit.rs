//! Operations on a durable process, and what lands in the same append with them.

use async_lock::MutexGuardArc;
use svit_tree::guest::Program;
use svit_tree::{Change, Path, Source};
use svit_value::{Digest, Text, Value};

use super::DurableProcess;
use super::activate::{Activated, Wanted};
use super::commit::Committer;
use crate::activation::Job;
use crate::calls::{NotePort, Notes};
use crate::guests::DEFAULT_LANGUAGE;
use crate::ids::{MAX_ID_BYTES, is_id};
use crate::mounts::{MountWrite, Mounts};
use crate::ports::PortStage;
use crate::state::{State, Transition};
use crate::store::{BoxFuture, Receipt, ReceiptKey};
use crate::transaction::Transaction;
use crate::{Activation, Error};

/// What to do to a process.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Operation {
    /// Run the script at `path`.
    Exec {
        /// `/lib/<name>`.
        path: Path,
        /// Its input.
        input: Value,
    },
    /// Run a script that is given and not kept.
    ExecSource {
        /// Its text, in the default language.
        source: Text,
        /// Its input.
        input: Value,
    },
    /// Set a value below `/memory` or `/lib`.
    Write {
        /// Where.
        path: Path,
        /// To what.
        value: Value,
    },
    /// Remove what is at a path below `/memory` or `/lib`.
    Remove {
        /// Where.
        path: Path,
    },
    /// Put a message behind the others in `/inbox`.
    Enqueue {
        /// The message.
        message: Value,
    },
    /// Take a message out of `/inbox`.
    Acknowledge {
        /// Its sequence number.
        sequence: u64,
    },
    /// Move a message from `/inbox` to `/thread/dead`.
    Bury {
        /// Its sequence number.
        sequence: u64,
        /// Why it was given up.
        reason: Value,
    },
    /// Take an intent out of `/system/outbox`, once it has been delivered.
    AcknowledgeIntent {
        /// Its id.
        id: Text,
        /// The digest of the message that was delivered.
        message: Digest,
    },
    /// Take a letter out of `/thread/dead`.
    ForgetDead {
        /// The sequence number of its message.
        sequence: u64,
    },
    /// Say something about a child, at `/children/<name>`.
    RecordChild {
        /// The name.
        name: Text,
        /// What is to stand there.
        entry: Value,
    },
    /// Take what is said about a child out of `/children`. The child itself stays.
    ForgetChild {
        /// The name.
        name: Text,
    },
    /// Change nothing; only the events land.
    Note,
}

impl Operation {
    /// Whether it waits for a running activation to end.
    const fn needs_turn(&self) -> bool {
        matches!(
            self,
            Self::Exec { .. } | Self::ExecSource { .. } | Self::Write { .. } | Self::Remove { .. }
        )
    }

    /// The message that it is the end of.
    const fn ends_message(&self) -> Option<u64> {
        match self {
            Self::Acknowledge { sequence } | Self::Bury { sequence, .. } => Some(*sequence),
            _ => None,
        }
    }

    fn job(&self) -> Option<(Job, Value)> {
        match self {
            Self::Exec { path, input } => Some((Job::Script(path.clone()), input.clone())),
            Self::ExecSource { source, input } => {
                let program = Program {
                    name: Text::from("/lib/(given)"),
                    source: source.clone(),
                    language: Text::from(DEFAULT_LANGUAGE),
                };
                Some((Job::Source(Box::new(program)), input.clone()))
            }
            _ => None,
        }
    }
}

/// What came of an operation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// A script ran and was committed.
    Activation(Box<Activation>),
    /// A host change was committed.
    Change(Box<Change>),
    /// A message is in the inbox.
    Enqueued {
        /// Its sequence number.
        sequence: u64,
    },
    /// Nothing but events and a receipt was recorded.
    Noted,
    /// The same request was made before; this is what came of it then.
    Replayed(Box<Receipt>),
}

impl Outcome {
    /// For callers that gave no request key and so cannot meet a replay.
    pub(crate) fn unexpected(&self) -> Error {
        Error::History {
            version: 0,
            why: format!("an operation ended as {self:?}"),
        }
    }
}

/// What identifies a request, so that a retry finds its outcome instead of doing it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestKey {
    /// The client and its id for the request.
    pub key: ReceiptKey,
    /// The digest of what is asked: the same key with other content is refused.
    pub content: Digest,
}

/// What lands in the same append as the operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extras {
    /// The outcome to remember under the request's key, if it has one.
    pub outcome: Value,
    /// Thread events, in order: kind and body.
    pub events: Vec<(Text, Value)>,
}

type Recorder<'a> = Box<dyn FnOnce(Result<&Outcome, &Error>) -> Extras + Send + 'a>;

/// An operation with its key and with what to record about it.
#[must_use = "a submission does nothing until it is submitted"]
pub struct Submission<'a> {
    operation: Operation,
    key: Option<RequestKey>,
    pinned_by: Option<u64>,
    expected: Option<u64>,
    record: Option<Recorder<'a>>,
    note_port: Option<NotePort<'a>>,
}

impl std::fmt::Debug for Submission<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Submission")
            .field("operation", &self.operation)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

impl<'a> Submission<'a> {
    /// An operation that records nothing besides itself.
    pub fn plain(operation: Operation) -> Self {
        Self {
            operation,
            key: None,
            pinned_by: None,
            expected: None,
            record: None,
            note_port: None,
        }
    }

    /// Thread events about the ports that the operation calls: each call's are appended before the
    /// port is called, and again when it has answered and before the script goes on. What is
    /// recorded so is durable whatever becomes of the activation.
    ///
    /// An append that fails ends the activation with the store's error.
    pub fn noting_ports(
        mut self,
        note: impl Fn(PortStage<'_>) -> Vec<(Text, Value)> + Send + Sync + 'a,
    ) -> Self {
        self.note_port = Some(Box::new(note));
        self
    }

    /// A key under which the outcome is remembered. A rejection is remembered too, except
    /// [`Error::Contended`].
    pub fn keyed(mut self, key: RequestKey) -> Self {
        self.key = Some(key);
        self
    }

    /// The sequence number of the inbox message whose turn makes this request: its outcome is kept,
    /// however many others there are, until that message is acknowledged or buried. One that is not
    /// in the inbox pins nothing.
    pub fn pinned_by(mut self, sequence: u64) -> Self {
        self.pinned_by = Some(sequence);
        self
    }

    /// The version that the process must be at when the operation begins; at another one it is an
    /// [`Error::Conflict`], of which nothing is remembered.
    pub fn expecting(mut self, version: u64) -> Self {
        self.expected = Some(version);
        self
    }

    /// What to record, made from the outcome before it is durable. Called at most once; not called
    /// for a replay.
    pub fn recording(
        mut self,
        record: impl FnOnce(Result<&Outcome, &Error>) -> Extras + Send + 'a,
    ) -> Self {
        self.record = Some(Box::new(record));
        self
    }
}

impl DurableProcess {
    /// Carries out an operation: one atomic, durable append of its transition, its receipt and its
    /// events, published afterwards. A rejected operation appends its receipt and events alone.
    ///
    /// # Errors
    /// Why the operation was rejected, or why the store refused: nothing has changed then. After
    /// [`StoreError::Unknown`](crate::StoreError::Unknown) it may have; the next operation settles
    /// it, and with a key, so does the same submission made again. [`Error::ReusedKey`] if the key
    /// stands for another request.
    pub async fn submit(&self, submission: Submission<'_>) -> Result<Outcome, Error> {
        self.submitted(submission).await
    }

    /// On the heap: a port may run a script of another process, whose port runs one of a third, and
    /// each level is polled on the stack of the one above it.
    fn submitted<'a>(
        &'a self,
        submission: Submission<'a>,
    ) -> BoxFuture<'a, Result<Outcome, Error>> {
        Box::pin(self.carry_out(submission))
    }

    async fn carry_out(&self, submission: Submission<'_>) -> Result<Outcome, Error> {
        let Submission {
            operation,
            key,
            pinned_by,
            expected,
            record,
            note_port,
        } = submission;
        let notes = Notes {
            process: self,
            note: note_port.as_ref(),
        };
        if let Some(request) = &key {
            check_key(&request.key)?;
        }
        let _delivery = self.inner.news.delivery();
        let _turn = if operation.needs_turn() {
            Some(self.inner.turn.lock().await)
        } else {
            None
        };
        let (mut committer, prepared) = match operation.job() {
            Some((job, input)) => {
                let wanted = Wanted {
                    job,
                    input,
                    key: key.as_ref(),
                    expected,
                    notes,
                    is_plain: key.is_none() && record.is_none(),
                };
                match self.activation_prepared(wanted).await? {
                    Activated::UnderLock(committer, prepared) => (committer, prepared),
                    Activated::Landed(outcome, version) => {
                        return self.with_mounts_made(outcome, version).await;
                    }
                }
            }
            None => {
                let write = self.mount_write(&operation).await?;
                self.prepare_change(&operation, write, key.as_ref(), expected)
                    .await?
            }
        };
        let (step, result) = match prepared {
            Ok(Prepared::Replayed(receipt)) => return Ok(Outcome::Replayed(receipt)),
            Ok(Prepared::Step(step, outcome)) => (step.map(|step| *step), Ok(outcome)),
            Err(rejected) => (None, Err(rejected)),
        };
        let extras = record.map_or_else(Extras::default, |record| record(result.as_ref()));
        let version = step
            .as_ref()
            .map_or(committer.state.version, |step| step.after.version);
        // A conflict is no outcome: the same request may well succeed when it is made again.
        let is_conflict = matches!(
            result,
            Err(Error::Contended { .. } | Error::Conflict { .. })
        );
        let key = key.filter(|_| !is_conflict);
        let receipt = key.map(|request| Receipt {
            key: request.key,
            content: request.content,
            outcome: extras.outcome,
            version,
            pinned_by: pinned_by.filter(|message| committer.state.has_message(*message)),
        });
        let done_with = operation.ends_message().filter(|_| result.is_ok());
        self.land_unpinning(&mut committer, step, receipt, extras.events, done_with)
            .await?;
        drop(committer);
        match result {
            Ok(outcome) if operation.needs_turn() => self.with_mounts_made(outcome, version).await,
            result => result,
        }
    }

    /// The outcome of what was committed as `version`, once its writes below mounts are made.
    async fn with_mounts_made(&self, outcome: Outcome, version: u64) -> Result<Outcome, Error> {
        match outcome {
            Outcome::Activation(mut activation) if !activation.mounts.is_empty() => {
                let made = self.inner.attached.owed.made(Some(version)).await;
                activation.mounts = made.unwrap_or(activation.mounts);
                Ok(Outcome::Activation(activation))
            }
            outcome => {
                self.mounts_made(version).await?;
                Ok(outcome)
            }
        }
    }

    /// The outcome of an earlier request under the same key. To be asked under the commit lock, with
    /// nothing in flight: two senders may use one key at the same time, and a batch that is still in
    /// flight may be that of the earlier request.
    // THREAT[TM-TXN-3]
    pub(super) async fn replayed(
        &self,
        request: Option<&RequestKey>,
    ) -> Result<Option<Prepared>, Error> {
        let Some(request) = request else {
            return Ok(None);
        };
        match self.receipt(&request.key).await? {
            None => Ok(None),
            Some(receipt) if receipt.content == request.content => {
                Ok(Some(Prepared::Replayed(Box::new(receipt))))
            }
            Some(_) => Err(Error::ReusedKey {
                client: request.key.client.clone(),
                request: request.key.request.clone(),
            }),
        }
    }

    async fn prepare_change(
        &self,
        operation: &Operation,
        write: Result<Option<MountWrite>, Error>,
        key: Option<&RequestKey>,
        expected: Option<u64>,
    ) -> PreparedUnderLock {
        let committer = self.settled().await?;
        if let Some(replayed) = self.replayed(key).await? {
            return Ok((committer, Ok(replayed)));
        }
        let prepared = check_version(&committer.state, expected)
            .and(write)
            .and_then(|write| self.prepare_on(&committer.state, operation, write));
        Ok((committer, prepared))
    }

    fn prepare_on(
        &self,
        state: &State,
        operation: &Operation,
        write: Option<MountWrite>,
    ) -> Result<Prepared, Error> {
        let guests = &self.inner.guests;
        // Writes below mounts were looked at before; there are none here.
        let edited = |edit: &dyn Fn(&mut Transaction) -> Result<(), Error>| {
            Transaction::run(state, guests, Mounts::default(), edit).map(|edited| edited.tree)
        };
        let (source, tree, sequence) = match operation {
            Operation::Write { .. } | Operation::Remove { .. } if write.is_some() => {
                (Source::Host, state.tree.clone(), None)
            }
            Operation::Write { path, value } => {
                let tree = edited(&|tx| tx.write(path, value.clone()))?;
                (Source::Host, tree, None)
            }
            Operation::Remove { path } => (Source::Host, edited(&|tx| tx.remove(path))?, None),
            Operation::Enqueue { message } => {
                let (tree, sequence) = state.enqueue(message.clone())?;
                (Source::Inbox, tree, Some(sequence))
            }
            Operation::Acknowledge { sequence } => {
                (Source::Inbox, state.acknowledge(*sequence)?, None)
            }
            Operation::AcknowledgeIntent { id, message } => {
                (Source::Host, state.delivered(id, *message)?, None)
            }
            Operation::Bury { sequence, reason } => {
                (Source::Inbox, state.bury(*sequence, reason.clone())?, None)
            }
            Operation::ForgetDead { sequence } => {
                (Source::Thread, state.forget_dead(*sequence)?, None)
            }
            Operation::RecordChild { name, entry } => {
                (Source::Host, state.record_child(name, entry)?, None)
            }
            Operation::ForgetChild { name } => (Source::Host, state.forget_child(name)?, None),
            Operation::Note | Operation::Exec { .. } | Operation::ExecSource { .. } => {
                return Ok(Prepared::Step(None, Outcome::Noted));
            }
        };
        let mut step = state.prepare(source, tree)?;
        step.writes.extend(write);
        let outcome = match sequence {
            Some(sequence) => Outcome::Enqueued { sequence },
            None => Outcome::Change(Box::new(step.change.clone())),
        };
        Ok(Prepared::Step(Some(Box::new(step)), outcome))
    }
}

/// The commit lock, and what is to be committed under it.
pub(super) type PreparedUnderLock =
    Result<(MutexGuardArc<Committer>, Result<Prepared, Error>), Error>;

/// An operation that is ready to land, or one that landed before.
pub(super) enum Prepared {
    Step(Option<Box<Transition>>, Outcome),
    Replayed(Box<Receipt>),
}

/// Whether a process is at the version that a request expects.
pub(super) fn check_version(state: &State, expected: Option<u64>) -> Result<(), Error> {
    match expected {
        Some(expected) if expected != state.version => Err(Error::Conflict {
            expected,
            actual: state.version,
            root: state.tree.digest(),
        }),
        _ => Ok(()),
    }
}

fn check_key(key: &ReceiptKey) -> Result<(), Error> {
    for (what, text) in [("client", &key.client), ("request", &key.request)] {
        if !is_id(text) {
            return Err(Error::BadKey {
                what,
                text: Text::from(text.chars().take(MAX_ID_BYTES).collect::<String>()),
            });
        }
    }
    Ok(())
}
