//! `StoreError`: why a store refused or failed.

use std::fmt;

use svit_tree::Address;
use svit_value::Digest;

/// Why a store refused or failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A process of this address is there already.
    #[error("{address} exists already")]
    AlreadyExists {
        /// The address.
        address: Address,
    },
    /// There is no process of this address.
    #[error("{address} is not in this store")]
    NotFound {
        /// The address.
        address: Address,
    },
    /// The head is another one than the caller expected.
    #[error("{address} stands at version {version}, record {actual}, not at record {expected}")]
    Conflict {
        /// The address.
        address: Address,
        /// The digest the caller expected.
        expected: Digest,
        /// The digest of the head.
        actual: Digest,
        /// The version of the head.
        version: u64,
    },
    /// Another owner has claimed the process since.
    #[error("{address} is owned by epoch {actual}; epoch {epoch} may no longer write")]
    Fenced {
        /// The address.
        address: Address,
        /// The caller's epoch.
        epoch: u64,
        /// The current epoch.
        actual: u64,
    },
    /// A fork depends on history that would be dropped.
    #[error("{address}: the fork {child} depends on version {version}")]
    Forked {
        /// The address.
        address: Address,
        /// The fork: it needs a checkpoint at its base first.
        child: Address,
        /// The version that it starts from.
        version: u64,
    },
    /// A batch that no history can take.
    #[error("{address}: bad batch: {why}")]
    BadBatch {
        /// The address.
        address: Address,
        /// What is wrong with it.
        why: String,
    },
    /// Something is larger than the store takes.
    #[error("{what} has {actual} bytes; at most {allowed} are allowed")]
    TooLarge {
        /// What it is.
        what: String,
        /// The limit, in bytes.
        allowed: u64,
        /// The size, in bytes.
        actual: u64,
    },
    /// Stored data is damaged.
    #[error("the store is damaged: {what} at {place}")]
    Corrupt {
        /// What is wrong.
        what: String,
        /// Where: a file, a table and key, or a record.
        place: String,
    },
    /// The store cannot say whether the operation took effect.
    #[error("it is not known whether the operation took effect: {why}")]
    Unknown {
        /// What happened.
        why: String,
    },
    /// The store cannot serve now. Nothing was done.
    #[error("the store is not available: {why}")]
    Unavailable {
        /// What happened.
        why: String,
    },
    /// Another program has the store open.
    #[error("{path} is in use by {}", Owner(*.pid))]
    InUse {
        /// The file.
        path: std::path::PathBuf,
        /// The other program, if its process id could be read.
        pid: Option<u32>,
    },
    /// The file is not a store of svit.
    #[error("{path} is not a svit store: {why}")]
    NotAStore {
        /// The file.
        path: std::path::PathBuf,
        /// How that was seen.
        why: String,
    },
    /// The file was written by a newer version of svit.
    #[error("{path} has format {found}; this version reads up to {supported}")]
    NewerFormat {
        /// The file.
        path: std::path::PathBuf,
        /// Its format number.
        found: i64,
        /// The newest format number that this version reads.
        supported: i64,
    },
}

struct Owner(Option<u32>);

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(pid) => write!(f, "process {pid}"),
            None => f.write_str("another process"),
        }
    }
}

impl StoreError {
    /// A stable name for the sort of failure, in snake case.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::AlreadyExists { .. } => "already_exists",
            Self::NotFound { .. } => "not_found",
            Self::Conflict { .. } => "conflict",
            Self::Fenced { .. } => "fenced",
            Self::Forked { .. } => "forked",
            Self::BadBatch { .. } => "bad_batch",
            Self::TooLarge { .. } => "too_large",
            Self::Corrupt { .. } => "corrupt",
            Self::Unknown { .. } => "unknown",
            Self::Unavailable { .. } => "unavailable",
            Self::InUse { .. } => "in_use",
            Self::NotAStore { .. } => "not_a_store",
            Self::NewerFormat { .. } => "newer_format",
        }
    }
}
