//! Versioned atomic transitions of one process: in memory, and durable on any store.
//!
//! A [`Process`] is one tree of values (`svit-tree`) with scripts in it. Every change takes it from
//! version N to N+1 as a whole, or leaves it at N: a script's writes, staged scripts and message
//! intents are buffered in a private working copy, checked, and committed together. What is recorded
//! is the difference of the two roots ([`ProcessTransaction`]), chained by digest from a [`Base`].
//!
//! A [`DurableProcess`] is the same on top of a [`ProcessStore`]: nobody sees a version before the
//! store has it, an append whose outcome is unknown is settled before anything else happens, and a
//! process is owned by whoever claimed it last.
//!
//! ```
//! use svit_txn::{MemoryStore, Process};
//!
//! # futures_lite::future::block_on(async {
//! let store = MemoryStore::new();
//! let process = store.create(Process::builder("svit://local/demo")?.build()?).await?;
//! let change = process.write("/memory/color", "teal").await?;
//! assert_eq!((change.version, process.version()), (1, 1));
//!
//! let child = process.fork("svit://local/child").await?;
//! child.write("/memory/color", "red").await?;
//! assert_eq!(process.read("/memory/color")?, Some("teal".into()));
//!
//! drop(process);
//! let again = store.resume("svit://local/demo").await?;
//! assert_eq!(again.read("/memory/color")?, Some("teal".into()));
//! assert_eq!(again.read_at(0, "/memory/color").await?, None);
//! # Ok::<(), svit_txn::Error>(()) }).unwrap();
//! ```
//!
//! | you want | look at |
//! |---|---|
//! | a process in memory, with its scripts | [`Process`], [`ProcessBuilder`], [`Transaction`] |
//! | what a script's run did | [`Activation`], [`LogRecord`], [`Read`], [`Intent`] |
//! | what scripts want delivered | [`Process::intents`], [`DurableProcess::intents`] |
//! | a process that survives | [`DurableProcess`], [`MemoryStore`], [`ProcessStoreExt`] |
//! | to use all this without a runtime | [`block_on`] |
//! | a retry that is harmless, events in the same append | [`Submission`], [`RequestKey`], [`Extras`] |
//! | several clients, one process | [`control`] |
//! | to be told what was committed | [`Observer`] |
//! | scripts that call something outside | [`PortDispatch`], [`DurableProcess::attach_ports`] |
//! | a say before scripts run, a look after each commit | [`Hook`], [`Proposed`], [`Refusal`], [`Attachments`] |
//! | the past | [`HistoryQuery`], [`DurableProcess::read_at`], [`DurableProcess::diff`], [`DurableProcess::fork_at`] |
//! | to resume fast, and to forget | [`CheckpointPolicy`], [`DurableProcess::checkpoint`], [`DurableProcess::cut`], [`DurableProcess::delete`], [`ProcessStoreExt::collect_garbage`] |
//! | a whole process in one file | [`Snapshot`], [`Process::restore`], [`Process::export_json`] |
//! | how much of everything is allowed | [`Limits`], [`LimitKind`] |
//! | to write a store | [`KeyValueStore`] on an ordered map, or [`ProcessStore`] and [`check_batch`] |
//!
//! # What it does not do
//! No files and no sockets: a store is somebody else's crate. No models, and no ports or mounts but
//! those that a host attaches; no runtime of its own, no language but those that are given as a
//! [`Guest`](svit_tree::guest::Guest). The clock is read for `committed_at` and for the wall-clock
//! limit, and never reaches a root.
//!
//! # Features
//! `lisp` (default): the built-in guest language, `svit-lisp`. Without it a process runs only the
//! guests that are registered with [`ProcessBuilder::guest`] and [`Attachments::guest`].

pub mod control;

mod activation;
mod base;
mod calls;
mod codec;
mod committed;
mod durable;
mod error;
mod guests;
mod hooks;
mod ids;
mod key_value;
mod limits;
mod may_wait;
mod memory_store;
mod mounts;
mod outbox;
mod ports;
mod process;
mod record;
#[cfg(feature = "signatures")]
mod signature;
mod snapshot;
mod state;
mod store;
mod store_ext;
mod system;
mod transaction;
mod working;

pub use activation::Activation;
pub use base::{BASE_FORMAT, Base, BaseKind, SharedThread};
pub use codec::RecordError;
pub use committed::Committed;
pub use durable::{
    CheckpointPolicy, DurableProcess, Extras, HistoryEntry, HistoryQuery, ObserveError, Observer,
    Operation, Outcome, Published, RejectedCheckpoint, RequestKey, ResumeReport, Submission,
};
pub use error::Error;
pub use guests::DEFAULT_LANGUAGE;
pub use hooks::{Attachments, Hook, Proposed, ProposedCode, Refusal};
pub use key_value::{KeyChange, KeyPair, KeyScan, KeyValue, KeyValueStore};
pub use limits::{LimitExceeded, LimitKind, Limits};
pub use may_wait::block_on;
pub use memory_store::MemoryStore;
pub use mounts::{MountOutcome, MountWritten};
pub use outbox::Intent;
pub use ports::{PortCall, PortDispatch, PortEffect, PortOutcome, PortRequest, PortStage};
pub use process::{Process, ProcessBuilder};
pub use record::{ProcessTransaction, TRANSACTION_FORMAT};
#[cfg(feature = "signatures")]
pub use signature::{
    SIGNATURE_FORMAT, SignatureError, SigningKey, SnapshotSignature, VerifyingKey,
};
pub use snapshot::{EXPORT_FORMAT, SNAPSHOT_FORMAT, Snapshot};
pub use store::{
    Batch, Block, BoxFuture, Checkpoint, CheckpointPart, CheckpointRef, Collected, EventQuery,
    ForkRef, Head, ProcessStore, Receipt, ReceiptKey, RecordQuery, StoreError, StoreResult,
    StoredRecord, ThreadEvent, check_batch,
};
pub use store_ext::ProcessStoreExt;
pub use system::API_VERSION;
pub use transaction::Transaction;
pub use working::{LogRecord, Read};
