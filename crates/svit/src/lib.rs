//! svit: a runtime for AI agents. *Memory and behavior, committed together.*
//!
//! One process holds structured memory, named scripts in a restricted Lisp, a durable inbox, message
//! intents and metadata. Everything that happens to it is a transition from version N to N+1,
//! complete, or nothing: a script, a host's write, a tool call of a model, a message that arrives.
//! Processes are stored as the chain of those transitions, survive `kill -9`, fork for nothing, and
//! can be read as they were at any version. A script has no authority that a host did not attach.
//!
//! # An agent
//! A model answers messages and works in the process through six path operations. Here a scripted
//! model plays its part, so that this runs without a key:
//!
//! ```
//! use svit::{Message, Reasoner, Result, Scripted, ScriptedReply, Svit, value};
//!
//! #[tokio::main]
//! async fn main() -> Result<()> {
//!     let model = Scripted::new([
//!         ScriptedReply::call(
//!             "write",
//!             value!({"path": "/memory/facts/release_color", "value": "teal"}),
//!         ),
//!         ScriptedReply::text("The release color is teal."),
//!     ]);
//!     let mut svit = Svit::builder("svit://local/quickstart")?
//!         .memory("facts", value!({}))
//!         .instructions("Keep facts below /memory/facts.")
//!         .reasoner(Reasoner::new("scripted", model))
//!         .build()
//!         .await?;
//!     let inbox = svit.inbox();
//!     let mut outbox = svit.outbox();
//!     svit.start()?;
//!     inbox.send(Message::user("The release color is teal.")).await?;
//!     let reply = outbox.recv().await?;
//!     drop(inbox);
//!     svit.block().await?;
//!
//!     println!("{}", reply.text().unwrap_or_default());
//!     assert_eq!(svit.read("/memory/facts/release_color")?, Some("teal".into()));
//!     Ok(())
//! }
//! ```
//!
//! With a real model only the reasoner differs (`OPENAI_API_KEY`, `OPENAI_BASE_URL`):
//!
//! ```no_run
//! # #[cfg(feature = "providers")]
//! # async fn demo() -> svit::Result<()> {
//! use svit::{OpenAI, Reasoner, Svit, value};
//!
//! let mut svit = Svit::builder("svit://local/quickstart")?
//!     .memory("facts", value!({}))
//!     .instructions("Keep facts below /memory/facts.")
//!     .reasoner(Reasoner::new("model-id", OpenAI::from_env()?))
//!     .build()
//!     .await?;
//! # Ok(()) }
//! ```
//!
//! # A process on disk
//! ```
//! # #[cfg(all(feature = "persistence-turso", feature = "lisp"))]
//! # #[tokio::main]
//! # async fn main() -> svit::Result<()> {
//! use svit::{Process, Reasoner, Result, Scripted, Svit, TursoProcessStore, value};
//!
//! /// The store's variable ends here; the process keeps the file open.
//! async fn open(file: &std::path::Path) -> Result<Svit> {
//!     let store = TursoProcessStore::open(file).await?;
//!     let durable = store.resume("svit://local/persisted/demo").await?;
//!     let reasoner = Reasoner::new("scripted", Scripted::new([]));
//!     Ok(Svit::persisted(durable)?.reasoner(reasoner).build().await?)
//! }
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let file = folder.path().join("svit.db");
//! let store = TursoProcessStore::open(&file).await?;
//! let process = Process::builder("svit://local/persisted/demo")?
//!     .memory("count", 6)
//!     .build()?;
//! store.create(process).await?;
//! drop(store);
//!
//! let svit = open(&file).await?;
//! assert_eq!(svit.read("/memory/count")?, Some(6.into()));
//! # Ok(()) }
//! # #[cfg(not(all(feature = "persistence-turso", feature = "lisp")))]
//! # fn main() {}
//! ```
//!
//! # A script, and a fork
//! ```
//! # #[cfg(feature = "lisp")] {
//! use svit::{Process, value};
//!
//! let process = Process::builder("svit://local/parent")?
//!     .memory("count", 6)
//!     .library(
//!         "counter",
//!         r#"(define (main input)
//!              (let ((count (+ (read "/memory/count") (value-get input "/by"))))
//!                (do (write "/memory/count" count)
//!                    (log-info! "counted" (value-map "count" count))
//!                    (value-map "count" count))))"#,
//!     )
//!     .build()?;
//! let activation = process.exec("/lib/counter", value!({"by": 3}))?;
//! assert_eq!(activation.output, value!({"count": 9}));
//! assert_eq!(activation.logs.len(), 1);
//! assert_eq!(activation.changed[0].to_string(), "/memory/count");
//! assert!(activation.ticks < activation.budget);
//!
//! let child = process.fork("svit://local/child")?;
//! child.write("/memory/count", 0)?;
//! assert_eq!(process.read("/memory/count")?, Some(9.into()));
//! # }
//! # Ok::<(), svit::Error>(())
//! ```
//!
//! # The parts
//! - values: [`Value`], [`Map`], [`List`], [`Text`], [`Bytes`], [`Digest`], [`value!`];
//! - places: [`Path`], [`Address`], [`Change`], [`Stat`];
//! - processes: [`Process`], [`Activation`], [`Limits`], [`ProcessTransaction`], [`Snapshot`];
//! - persistence: [`DurableProcess`], [`MemoryStore`], `TursoProcessStore`; [`ProcessStoreExt`] gives
//!   a store of your own its `create` and `resume`;
//! - retries that do nothing twice, and news: [`Submission`], [`RequestKey`], [`Observer`];
//! - several clients of one process: [`control`];
//! - to resume fast, and to forget: [`CheckpointPolicy`], [`DurableProcess::cut`],
//!   [`DurableProcess::delete`], [`ProcessStoreExt::collect_garbage`];
//! - a say before scripts run, a look after each commit: [`Hook`], [`Attachments`];
//! - models: [`Message`], [`Reasoner`], [`Scripted`], [`Retry`], [`Budgeted`], `OpenAI`;
//! - what a model answered, again and offline: [`Recording`], [`Recorded`], [`RecordedTurn`];
//! - the loop: [`Svit`], [`Inbox`], [`Outbox`], [`Events`], [`SvitEvent`], [`ToolPolicy`], [`Approvals`];
//! - what a host grants: [`Ports`] of [`Port`]s ([`port`]), [`Mount`]s ([`mount`]);
//! - HTTP requests within an allowlist: [`HttpAllowlist`], `Ports::http`, `ReqwestHttpTransport`, [`http`];
//! - one call of a model, for scripts: [`Ports::llm`], [`llm`]; a turn of a child: [`Ports::spawn`], [`spawn`];
//! - guests: [`guest`], `Script`, `svit_script!`, `svit_script_test!`;
//! - best matches first, for hosts: `rank`;
//! - failures: [`Error`], one type with every layer's own error inside. [`Error::code`] is stable.
//!
//! # What an agent may do outside
//! Nothing, unless the host grants it: a port is a function that is called by name, a mount is
//! something outside that is read and written by path.
//!
//! ```
//! use svit::{Message, Ports, Reasoner, Scripted, ScriptedReply, Svit, mount::ValueMount, value};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let model = Scripted::new([
//!     ScriptedReply::call("read", value!({"path": "/mounts/prices/tea"})),
//!     ScriptedReply::text("Tea is 3."),
//! ]);
//! let svit = Svit::builder("svit://local/shop")?
//!     .ports(Ports::new())
//!     .mount("prices", ValueMount::read_only(value!({"tea": 3})))
//!     .reasoner(Reasoner::new("scripted", model))
//!     .build()
//!     .await?;
//! svit.start()?;
//! let answer = svit.inbox().ask(Message::user("What is tea?")).await?;
//! assert_eq!(answer.text(), Some("Tea is 3."));
//! # Ok::<(), svit::Error>(()) }).unwrap();
//! ```
//!
//! # Parts of your own
//! A store is a [`ProcessStore`]; what it takes and gives is in [`store`]. A model is a [`Provider`].
//! A language is a [`guest::Guest`]. A port is a [`Port`], a mount is a [`Mount`]. Each is one trait,
//! and needs nothing but what is here.
//!
//! # Features
//! On by default: `persistence-turso` (libSQL, needs a C compiler), `lisp`, `macros`, `jq` and
//! `search` (both for scripts), `providers` (HTTP and TLS), `http` (the port of that name, with the same
//! client and TLS). Without any of them this is the adapter-neutral runtime: values, processes, the
//! store contract, the loop and scripted models.
//! `rank` (tantivy), `turso-mount` (`mount::TursoQuery`) and `signatures` (of snapshots) are off by
//! default.

pub mod store;

/// Ports: functions outside of a process that a host lets it call.
pub mod port {
    pub use svit_ports::{
        CommittedState, Direction, Effect, MAX_PORT_BYTES, PortContext, PortDescriptor, PortError,
        PortFailure, PortLimits,
    };
    pub use svit_txn::{PortCall, PortDispatch, PortEffect, PortOutcome, PortRequest, PortStage};
}

/// The port `http`: requests that a host grants by what their URLs begin with.
pub mod http {
    #[cfg(feature = "http")]
    pub use svit_ports::http::HttpResolver;
    pub use svit_ports::http::{
        AddressClass, AddressRule, HttpError, HttpHeader, HttpHost, HttpLimits, HttpMethod,
        HttpPort, HttpRequest, HttpResponse, HttpScheme, HttpTransport, HttpUrl, Network,
        SecretString, UrlProblem,
    };
}

/// The port `llm`: one bounded call of a model that a host grants.
pub mod llm {
    pub use svit_ports::llm::{LlmError, LlmLimits, LlmPort};
}

/// The port `spawn`: a child of the process answers a prompt.
pub mod spawn {
    pub use svit_ports::spawn::{
        ChildAnswer, ChildRun, ChildRunner, SpawnError, SpawnLimits, SpawnPort,
    };
}

/// Mounts: resources outside of a process that are seen below `/mounts`.
pub mod mount {
    #[cfg(unix)]
    pub use svit_ports::FolderMount;
    pub use svit_ports::ValueMount;
    #[cfg(feature = "turso-mount")]
    pub use svit_store_turso::{QueryError, TursoQuery};
    pub use svit_tree::Mounted;
    pub use svit_tree::mount::{
        Grant, Locality, MountDescriptor, MountError, MountPath, MountStat,
    };
    pub use svit_txn::{MountOutcome, MountWritten};
}

/// Signatures of snapshots: who vouches for one.
#[cfg(feature = "signatures")]
pub mod signature {
    pub use svit_txn::{
        SIGNATURE_FORMAT, SignatureError, SigningKey, SnapshotSignature, VerifyingKey,
    };
}

mod error;
#[cfg(feature = "macros")]
mod macros;

/// What the macros expand to.
#[cfg(feature = "macros")]
#[doc(hidden)]
pub mod __private {
    pub use crate::macros::run;
    pub use svit_macros::script;
}

pub use error::{Error, Result};
#[cfg(feature = "lisp")]
pub use svit_lisp::Script;
pub use svit_loop::{
    ApprovalId, ApprovalRequest, Approvals, Delta, Events, Inbox, LoopError, Outbox, RecordedTurn,
    Svit, SvitBuilder, SvitEvent, ToolPolicy,
};
#[cfg(feature = "providers")]
pub use svit_model::{Anthropic, Gemini, Ollama, OpenAI};
pub use svit_model::{
    Budgeted, ContentPart, FinishReason, Message, MessageId, ModelError, ModelEvent, ModelLimits,
    ModelRequest, ModelStream, Provider, Reasoner, Recorded, Recording, Retry, Role, Scripted,
    ScriptedReply, ToolCall, ToolResult, ToolSpec, Usage,
};
pub use svit_ports::http::HttpAllowlist;
#[cfg(feature = "http")]
pub use svit_ports::http::ReqwestHttpTransport;
pub use svit_ports::{Port, Ports};
#[cfg(feature = "rank")]
pub use svit_query::{QueryError, rank};
#[cfg(feature = "persistence-turso")]
pub use svit_store_turso::TursoProcessStore;
pub use svit_tree::mount::MountProvider as Mount;
pub use svit_tree::{
    Access, Address, Change, ChangedPath, IntoAddress, IntoPath, Listing, Mutation, Op, Path,
    Source, Stat, TreeError, guest,
};
pub use svit_txn::{
    Activation, Attachments, Base, BaseKind, BoxFuture, CheckpointPolicy, Committed,
    DurableProcess, Error as ProcessError, EventQuery, Extras, HistoryEntry, HistoryQuery, Hook,
    Intent, LimitExceeded, LimitKind, Limits, LogRecord, MemoryStore, ObserveError, Observer,
    Operation, Outcome, Process, ProcessBuilder, ProcessStore, ProcessStoreExt, ProcessTransaction,
    Proposed, ProposedCode, Published, Receipt, ReceiptKey, Refusal, RejectedCheckpoint,
    RequestKey, ResumeReport, Snapshot, StoreError, Submission, ThreadEvent, Transaction, block_on,
    control,
};
pub use svit_value::{
    Bytes, Digest, Float, Kind, List, Map, Measure, Text, Value, ValueError, ValueLimits, value,
};

/// The README's program compiles.
#[cfg(all(doctest, feature = "providers"))]
#[doc = include_str!("../../../README.md")]
struct Readme;
