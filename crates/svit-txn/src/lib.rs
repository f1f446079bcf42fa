//! Versioned atomic transitions of one process.
mod activation;
mod base;
mod codec;
mod error;
mod guests;
mod limits;
mod memory_store;
mod process;
mod record;
mod state;
mod store;
mod store_ext;
mod system;
mod working;

pub use activation::Activation;
pub use base::{BASE_FORMAT, Base, BaseKind};
pub use codec::RecordError;
pub use error::Error;
pub use guests::DEFAULT_LANGUAGE;
pub use limits::{LimitExceeded, LimitKind, Limits};
pub use memory_store::{MemoryStore, check_batch};
pub use process::{Process, ProcessBuilder, Transaction};
pub use record::{ProcessTransaction, TRANSACTION_FORMAT};
pub use state::Intent;
pub use store::{
    Batch, Block, BoxFuture, EventQuery, Head, ProcessStore, Receipt, ReceiptKey, RecordQuery,
    StoreError, StoreResult, StoredRecord, ThreadEvent,
};
pub use system::API_VERSION;
pub use working::{LogRecord, Read};
mod durable;
pub use durable::{
    DurableProcess, Extras, HistoryEntry, HistoryQuery, ObserveError, Observer, Operation, Outcome,
    Published, RequestKey, Submission,
};
pub use store_ext::ProcessStoreExt;
