//! svit: a runtime for AI agents with *memory and behavior, committed together*.
mod error;

pub use error::{Error, Result};
#[cfg(feature = "lisp")]
pub use svit_lisp::Script;
pub use svit_loop::{Delta, Events, Inbox, LoopError, Outbox, Svit, SvitBuilder, SvitEvent};
#[cfg(feature = "providers")]
pub use svit_model::OpenAI;
pub use svit_model::{
    ContentPart, FinishReason, Message, MessageId, ModelError, ModelEvent, ModelLimits,
    ModelRequest, ModelStream, Provider, Reasoner, Retry, Role, Scripted, ScriptedReply, ToolCall,
    ToolResult, ToolSpec, Usage,
};
#[cfg(feature = "persistence-turso")]
pub use svit_store_turso::TursoProcessStore;
pub use svit_tree::{
    Address, Change, ChangedPath, Mutation, Op, Path, Source, Stat, TreeError, guest,
};
pub use svit_txn::{
    Activation, Base, BaseKind, DurableProcess, Error as ProcessError, EventQuery, HistoryEntry,
    HistoryQuery, Intent, LimitExceeded, LimitKind, Limits, LogRecord, MemoryStore, Process,
    ProcessBuilder, ProcessStore, ProcessStoreExt, ProcessTransaction, StoreError, ThreadEvent,
    Transaction,
};
pub use svit_value::{Bytes, Digest, Float, Kind, List, Map, Text, Value, ValueError, value};
