//! Everything that can be wrong with a process and its transitions.

use svit_tree::guest::{GuestError, HostError};
use svit_tree::mount::MountError;
use svit_tree::{Path, TreeError};
use svit_value::{Digest, Text, ValueError};

use crate::ids::MAX_ID_BYTES;
use crate::mounts::{MountOutcome, MountWritten};
use crate::{LimitExceeded, LimitKind, RecordError, StoreError};

/// Why a process could not be made, read or changed. Whatever it is, nothing was changed, except
/// where the variant says otherwise.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A path, an address or an edit is wrong.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// A value is wrong.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// A limit was passed.
    #[error(transparent)]
    Limit(LimitExceeded),
    /// A limit was chosen outside its range.
    #[error("{} cannot be {chosen}: it is from 1 to {}", .limit.name(), .limit.maximum())]
    BadLimit {
        /// Which.
        limit: LimitKind,
        /// The value that was chosen.
        chosen: u64,
    },
    /// A row of `/system/limits` that this version does not know.
    #[error("{name:?} is not a limit")]
    UnknownLimit {
        /// The name of the row.
        name: Text,
    },
    /// The caller may not write there.
    #[error("{path} cannot be written directly; what is below `/memory` and `/lib` can")]
    Denied {
        /// Where.
        path: Path,
    },
    /// There is no script at this path.
    #[error("there is no script at {path}")]
    NoScript {
        /// Where one was wanted.
        path: Path,
    },
    /// What stands in `/lib` is not a script.
    #[error("{path} is not a script: {why}")]
    BadScript {
        /// Where.
        path: Path,
        /// What is wrong with it.
        why: String,
    },
    /// No guest for this language is registered.
    #[error("{path} is written in {language:?}, and no guest for it is attached")]
    UnknownLanguage {
        /// The script.
        path: Path,
        /// Its language.
        language: Text,
    },
    /// A hook refused the activation before it ran.
    #[error("refused by {hook}: {message}")]
    Refused {
        /// The hook.
        hook: Text,
        /// The hook's name for the reason, in snake case; this is the error's [`code`](Self::code).
        code: Text,
        /// The hook's words for it.
        message: Text,
    },
    /// Nothing is attached below `/mounts` that holds this path.
    #[error("{path}: no such mount is attached")]
    NotAttached {
        /// Where.
        path: Path,
    },
    /// A mount refused, or failed.
    #[error("{mount}{failure}")]
    Mount {
        /// The mount, `/mounts/<name>`.
        mount: Path,
        /// Why, with the path inside the mount.
        failure: MountError,
    },
    /// A transition was committed, and one of its writes below mounts failed after that. Those before
    /// it were made, those behind it were not tried.
    #[error("version {version} is committed, but not all that it wrote below mounts: {}", First(.writes))]
    MountWrites {
        /// The version that was committed.
        version: u64,
        /// All writes, in order.
        writes: Vec<MountWritten>,
    },
    /// Nobody here could await a port: the process has none attached, or its methods block, as
    /// those of [`Process`](crate::Process) do.
    #[error("no ports are attached; a `DurableProcess` can have them, `Process::exec` cannot")]
    NoPorts,
    /// There is no such port.
    #[error("there is no port {port:?}")]
    NoPort {
        /// The name that was called.
        port: Text,
    },
    /// A port gave no answer. What it did before is not undone.
    #[error("{failure}")]
    Port {
        /// The port.
        port: Text,
        /// Why.
        failure: HostError,
    },
    /// Something that an activation read was changed while it ran, and it was not run again, because
    /// it had called a port that may have changed the world.
    #[error(
        "other transitions came first, and it was not run again, since it had called the port \
         {port:?}, which may have changed the world"
    )]
    NotRepeatable {
        /// The first such port.
        port: Text,
    },
    /// A script was refused, or stopped.
    #[error(transparent)]
    Guest(Box<GuestError>),
    /// The value at a path is not the expected one.
    #[error("{path} has digest {}, not the expected {expected}", Shown(.actual))]
    Changed {
        /// Where.
        path: Path,
        /// The expected digest.
        expected: Digest,
        /// The digest that is there; none if nothing is.
        actual: Option<Digest>,
    },
    /// Something stands where nothing was expected.
    #[error("something is at {path} already")]
    Occupied {
        /// Where.
        path: Path,
    },
    /// There is no such message in the inbox, or among the dead letters.
    #[error("there is no message {sequence} here")]
    NoMessage {
        /// Its sequence number.
        sequence: u64,
    },
    /// The process is at another version than the request expects. No guest code ran.
    #[error("the process is at version {actual}, not at the expected {expected}")]
    Conflict {
        /// The version that the request expects.
        expected: u64,
        /// The version that the process is at.
        actual: u64,
        /// The root digest at that version.
        root: Digest,
    },
    /// A request that names another process.
    #[error("the request is for {address}, which is another process")]
    WrongProcess {
        /// The process that it names.
        address: svit_tree::Address,
    },
    /// A frame of the control protocol that is no request.
    #[error(transparent)]
    Request(#[from] crate::control::RequestError),
    /// There is no such intent in the outbox.
    #[error("there is no intent {id:?} in the outbox")]
    NoIntent {
        /// As it was given.
        id: Text,
    },
    /// Another transition kept coming first.
    #[error("gave up after {attempts} attempts: other transitions came first each time")]
    Contended {
        /// How often it was tried.
        attempts: u32,
    },
    /// The same request key was used for another request.
    #[error("request {request:?} of client {client:?} was made before with other content")]
    ReusedKey {
        /// The client.
        client: Text,
        /// The request id.
        request: Text,
    },
    /// A key of a request is empty, too long, or of characters that are not allowed.
    #[error("{what} {text:?} must be 1 to {MAX_ID_BYTES} of `A-Z a-z 0-9 - _ .`")]
    BadKey {
        /// `client` or `request`.
        what: &'static str,
        /// As it was given.
        text: Text,
    },
    /// A stored record cannot be read.
    #[error("version {version}: {source}")]
    Record {
        /// The version of the record, or of the base.
        version: u64,
        /// What is wrong with it.
        source: RecordError,
    },
    /// Nobody who is trusted vouches for a snapshot.
    #[cfg(feature = "signatures")]
    #[error(transparent)]
    Signature(#[from] crate::SignatureError),
    /// A stored history does not hold together.
    #[error("the history is damaged at version {version}: {why}")]
    History {
        /// Where it was seen.
        version: u64,
        /// What was seen.
        why: String,
    },
    /// There is no such version.
    #[error("version {version} is not there; versions {oldest} to {newest} are")]
    NoVersion {
        /// The wanted version.
        version: u64,
        /// The oldest that is kept.
        oldest: u64,
        /// The newest.
        newest: u64,
    },
    /// The version was there and is not kept any more.
    #[error("version {version} is not kept any more; the oldest that is, is {oldest}")]
    Cut {
        /// The wanted version.
        version: u64,
        /// The oldest that is kept.
        oldest: u64,
    },
    /// The store refused or failed. After [`StoreError::Unknown`] the transition may have landed;
    /// the next operation settles it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<GuestError> for Error {
    fn from(error: GuestError) -> Self {
        Self::Guest(Box::new(error))
    }
}

struct Shown<'a>(&'a Option<Digest>);

impl std::fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(digest) => digest.fmt(f),
            None => f.write_str("none"),
        }
    }
}

struct First<'a>(&'a [MountWritten]);

impl std::fmt::Display for First<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let failed = self.0.iter().find_map(|write| match &write.outcome {
            MountOutcome::Failed(failure) => Some((&write.path, failure)),
            _ => None,
        });
        match failed {
            Some((path, failure)) => write!(f, "{path}: {failure}"),
            None => f.write_str("they were not made"),
        }
    }
}

impl Error {
    /// A stable name for the sort of failure, in snake case.
    pub fn code(&self) -> &str {
        match self {
            Self::Tree(e) => e.code(),
            Self::Value(e) => e.code(),
            Self::Limit(e) => e.limit.name(),
            Self::BadLimit { .. } => "bad_limit",
            Self::UnknownLimit { .. } => "unknown_limit",
            Self::Denied { .. } => "denied",
            Self::NoScript { .. } => "no_script",
            Self::BadScript { .. } => "bad_script",
            Self::UnknownLanguage { .. } => "unknown_language",
            Self::Refused { code, .. } => code,
            Self::NotAttached { .. } => "not_attached",
            Self::Mount { failure, .. } => failure.code(),
            Self::MountWrites { .. } => "mount_write_failed",
            Self::NoPorts => "unavailable",
            Self::NoPort { .. } => "no_such_port",
            Self::Port { failure, .. } => &failure.code,
            Self::NotRepeatable { .. } => "not_repeatable",
            Self::Guest(e) => &e.code,
            Self::Changed { .. } => "changed",
            Self::Occupied { .. } => "occupied",
            Self::NoMessage { .. } => "no_message",
            Self::NoIntent { .. } => "no_intent",
            Self::Conflict { .. } => "conflict",
            Self::WrongProcess { .. } => "wrong_process",
            Self::Request(e) => e.code(),
            Self::Contended { .. } => "contended",
            Self::ReusedKey { .. } => "reused_key",
            Self::BadKey { .. } => "bad_key",
            Self::Record { source, .. } => source.code(),
            #[cfg(feature = "signatures")]
            Self::Signature(e) => e.code(),
            Self::History { .. } => "damaged_history",
            Self::NoVersion { .. } => "no_version",
            Self::Cut { .. } => "cut",
            Self::Store(e) => e.code(),
        }
    }
}
