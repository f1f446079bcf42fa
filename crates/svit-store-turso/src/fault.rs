//! What can stop an operation on the owner thread, and how callers are told.

use std::fmt::Display;
use std::path::Path;

use svit_txn::StoreError;

use crate::sql::{SqlError, code};

/// SQLite's failure, or already the caller's error.
#[derive(Debug)]
pub(crate) enum Fault {
    Sql(SqlError),
    Store(StoreError),
}

impl From<SqlError> for Fault {
    fn from(error: SqlError) -> Self {
        Fault::Sql(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Fault::Store(error)
    }
}

impl Fault {
    /// What the caller is told of an operation that did nothing.
    pub(crate) fn into_store(self, path: &Path) -> StoreError {
        match self {
            Fault::Store(error) => error,
            Fault::Sql(error) => refused(path, &error),
        }
    }
}

/// Damage, named.
pub(crate) fn corrupt(what: impl Display, place: impl Display) -> Fault {
    Fault::Store(StoreError::Corrupt {
        what: what.to_string(),
        place: place.to_string(),
    })
}

/// Sees that a scan in pages goes on: an index whose order is damaged would lead it in a circle.
pub(crate) fn ascends(before: &[u8], next: &[u8], table: &'static str) -> Result<(), Fault> {
    match before < next {
        true => Ok(()),
        false => Err(corrupt("an index that is not in order", table)),
    }
}

/// A table and a key in it.
pub(crate) fn at(table: &'static str, key: impl Display) -> String {
    format!("{table} {key}")
}

/// The error for an operation that SQLite refused and that therefore did nothing.
pub(crate) fn refused(path: &Path, error: &SqlError) -> StoreError {
    if let SqlError::TooBig { size, allowed } = error {
        return StoreError::TooLarge {
            what: "a stored blob".to_owned(),
            allowed: *allowed as u64,
            actual: *size as u64,
        };
    }
    if error.is_damage() {
        return StoreError::Corrupt {
            what: error.to_string(),
            place: path.display().to_string(),
        };
    }
    let what = match error.primary() {
        code::FULL => "no space is left for",
        code::READONLY => "no permission to write",
        code::IOERR => "the system failed to read or write",
        code::BUSY | code::LOCKED => "another program holds",
        _ => "SQLite failed on",
    };
    unavailable(format!("{what} {}: {error}", path.display()))
}

/// The store cannot serve now; nothing was done.
pub(crate) fn unavailable(why: impl Display) -> StoreError {
    StoreError::Unavailable {
        why: why.to_string(),
    }
}

/// A failure of the file system, with the file.
pub(crate) fn io(path: &Path, doing: &str, error: &std::io::Error) -> StoreError {
    unavailable(format!("cannot {doing} {}: {error}", path.display()))
}

/// The same error again, for another caller of the same batch.
pub(crate) fn again(error: &StoreError) -> StoreError {
    match error {
        StoreError::Corrupt { what, place } => StoreError::Corrupt {
            what: what.clone(),
            place: place.clone(),
        },
        StoreError::Unknown { why } => StoreError::Unknown { why: why.clone() },
        StoreError::Unavailable { why } => unavailable(why),
        other => unavailable(other),
    }
}
