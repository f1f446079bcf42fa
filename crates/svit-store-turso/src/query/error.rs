//! `QueryError`: why a query cannot be a mount.

use std::path::PathBuf;

/// Why a query cannot be a mount. For the host, so that it may name files.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// There is no such file, or it cannot be opened, or is no database.
    #[error("{} cannot be read as a database: {why}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// The text is not one query of this database.
    #[error("the text is not one query of this database: {why}")]
    NotAQuery {
        /// What SQLite says about it.
        why: String,
    },
    /// The query waits for parameters.
    #[error("the query has {count} parameters, and nobody to give them")]
    Parameters {
        /// How many.
        count: usize,
    },
    /// A column has a name that cannot be a key.
    #[error("column {column:?}: {why}")]
    BadColumn {
        /// The name.
        column: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The query has no column of this name.
    #[error("there is no column {column:?}; there are {}", .columns.join(", "))]
    NoColumn {
        /// The name.
        column: String,
        /// The columns that there are.
        columns: Vec<String>,
    },
}

impl QueryError {
    /// A stable name for the sort of failure, in snake case.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "unreadable",
            Self::NotAQuery { .. } => "not_a_query",
            Self::Parameters { .. } => "parameters",
            Self::BadColumn { .. } => "bad_column",
            Self::NoColumn { .. } => "no_column",
        }
    }
}
