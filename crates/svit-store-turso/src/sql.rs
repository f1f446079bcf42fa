//! The only code that touches `libsql`: it turns the sharp edges of that API into checked calls.
//!
//! What it rules out: a statement run twice without a reset (which re-inserts the old parameters),
//! missing or surplus parameters (which become NULL or the previous value), text cut at NUL or
//! panicking on invalid UTF-8 (all text is stored as blobs), numbers that wrap, rows left open.
//! A local `libsql` connection does its work inside the first poll, so no runtime is needed.

#[cfg(feature = "turso-mount")]
pub(crate) mod reader;

use std::collections::HashMap;
use std::future::Future;
use std::ops::ControlFlow;
use std::path::Path;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// The longest blob that is bound or read, in bytes: 64 MiB.
pub(crate) const MAX_BLOB: usize = 64 << 20;

/// A cached statement keeps a copy of what was last bound; past this size it is not kept.
const MAX_CACHED_BIND: usize = 256 << 10;

/// What went wrong below us, with SQLite's extended result code.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum SqlError {
    /// SQLite reported a failure.
    #[error("SQLite code {code}: {message}")]
    Failure {
        /// The extended result code; its low byte is the primary code.
        code: i32,
        /// SQLite's own words.
        message: String,
    },
    /// A blob is longer than the store accepts.
    #[error("a blob of {size} bytes is longer than the allowed {allowed}")]
    TooBig {
        /// Its size in bytes.
        size: usize,
        /// The most that is allowed, in bytes.
        allowed: usize,
    },
    /// A row holds another type, or another number of columns, than the schema promises.
    #[error("column {column} holds {found}, not {wanted}")]
    Type {
        /// The column's index.
        column: usize,
        /// What the schema promises.
        wanted: &'static str,
        /// What is there.
        found: &'static str,
    },
    /// The store called SQLite wrongly: a defect in this crate.
    #[error("wrong use of SQLite: {0}")]
    Misuse(String),
}

/// SQLite's primary result codes that the store tells apart.
pub(crate) mod code {
    pub(crate) const BUSY: i32 = 5;
    pub(crate) const LOCKED: i32 = 6;
    pub(crate) const READONLY: i32 = 8;
    pub(crate) const IOERR: i32 = 10;
    pub(crate) const CORRUPT: i32 = 11;
    pub(crate) const CONSTRAINT: i32 = 19;
    pub(crate) const FULL: i32 = 13;
    pub(crate) const NOTADB: i32 = 26;
}

impl SqlError {
    /// The primary result code, or 0 if SQLite was not the one to complain.
    pub(crate) fn primary(&self) -> i32 {
        match self {
            SqlError::Failure { code, .. } => code & 0xff,
            _ => 0,
        }
    }

    /// True if the stored bytes are at fault, as far as SQLite can tell.
    pub(crate) fn is_damage(&self) -> bool {
        matches!(self, SqlError::Type { .. })
            || matches!(self.primary(), code::CORRUPT | code::NOTADB)
    }

    fn from_libsql(error: libsql::Error) -> SqlError {
        match error {
            libsql::Error::SqliteFailure(code, message) => SqlError::Failure { code, message },
            // The message ends in the code: `Unable to open connection to local database P: 14`.
            libsql::Error::ConnectionFailed(message) => SqlError::Failure {
                code: message
                    .rsplit(' ')
                    .next()
                    .and_then(|code| code.parse().ok())
                    .unwrap_or(1),
                message,
            },
            other => SqlError::Misuse(other.to_string()),
        }
    }
}

/// One bound parameter. There is no text: names and paths are bound as bytes.
// THREAT[TM-STORE-5]
#[derive(Debug, Clone, Copy)]
pub(crate) enum Bind<'a> {
    Int(i64),
    Blob(&'a [u8]),
}

/// One row, decoded: only integers and blobs exist.
#[derive(Debug)]
pub(crate) struct Row {
    cells: Vec<Cell>,
}

#[derive(Debug)]
enum Cell {
    Int(i64),
    Blob(Vec<u8>),
}

impl Cell {
    fn kind(&self) -> &'static str {
        match self {
            Cell::Int(_) => "an integer",
            Cell::Blob(_) => "a blob",
        }
    }
}

impl Row {
    fn cell(&mut self, column: usize, wanted: &'static str) -> Result<&mut Cell, SqlError> {
        self.cells.get_mut(column).ok_or(SqlError::Type {
            column,
            wanted,
            found: "nothing",
        })
    }

    /// The integer in this column.
    pub(crate) fn int(&mut self, column: usize) -> Result<i64, SqlError> {
        let wanted = "an integer";
        match self.cell(column, wanted)? {
            Cell::Int(value) => Ok(*value),
            other => Err(SqlError::Type {
                column,
                wanted,
                found: other.kind(),
            }),
        }
    }

    /// The count in this column: an integer that is not negative.
    pub(crate) fn count(&mut self, column: usize) -> Result<u64, SqlError> {
        u64::try_from(self.int(column)?).map_err(|_| SqlError::Type {
            column,
            wanted: "a count",
            found: "a negative integer",
        })
    }

    /// Takes the blob out of this column.
    pub(crate) fn blob(&mut self, column: usize) -> Result<Vec<u8>, SqlError> {
        let wanted = "a blob";
        match self.cell(column, wanted)? {
            Cell::Blob(bytes) => Ok(std::mem::take(bytes)),
            other => Err(SqlError::Type {
                column,
                wanted,
                found: other.kind(),
            }),
        }
    }

    /// Takes a blob of exactly `N` bytes out of this column.
    pub(crate) fn array<const N: usize>(&mut self, column: usize) -> Result<[u8; N], SqlError> {
        self.blob(column)?.try_into().map_err(|_| SqlError::Type {
            column,
            wanted: "a blob of fixed length",
            found: "a blob of another length",
        })
    }
}

/// The one connection to one file, with its statements.
pub(crate) struct Connection {
    // Statements are declared, and so dropped, before the connection that made them.
    cache: HashMap<Cached, libsql::Statement>,
    /// Counts what `execute` ran.
    executed: u64,
    inner: libsql::Connection,
    _database: libsql::Database,
}

impl Connection {
    /// Opens, or creates, the file. `path` must be absolute: a relative one could be read as a URI
    /// or as `:memory:`.
    pub(crate) fn open(path: &Path) -> Result<Connection, SqlError> {
        let text = checked(path)?;
        let database = ready(libsql::Builder::new_local(text).build())?;
        let inner = database.connect().map_err(SqlError::from_libsql)?;
        Ok(Connection {
            cache: HashMap::new(),
            executed: 0,
            inner,
            _database: database,
        })
    }

    /// True outside a transaction: SQLite ends one by itself on some failures.
    pub(crate) fn is_autocommit(&self) -> bool {
        self.inner.is_autocommit()
    }

    /// How many statements that may have changed something were run so far.
    pub(crate) fn executed(&self) -> u64 {
        self.executed
    }

    /// Runs a statement that returns no rows; gives the number of rows it changed, which means
    /// something only for INSERT, UPDATE and DELETE.
    pub(crate) fn execute(
        &mut self,
        sql: &'static str,
        binds: &[Bind<'_>],
    ) -> Result<u64, SqlError> {
        self.executed += 1;
        let keep = keeps(binds);
        let result = {
            let running = self.prepare(sql, binds)?;
            let values = owned(binds)?;
            ready(running.0.execute(values)).map(|changed| changed as u64)
        };
        if !keep {
            self.cache.remove(&cached(sql));
        }
        result
    }

    /// Runs something in a transaction, which is gone if it fails.
    pub(crate) fn within<T, E: From<SqlError>>(
        &mut self,
        run: impl FnOnce(&mut Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        self.execute("BEGIN", &[])?;
        let result = run(self).and_then(|value| {
            self.execute("COMMIT", &[])?;
            Ok(value)
        });
        // SQLite has ended it by itself after some failures.
        if result.is_err() && !self.is_autocommit() {
            self.execute("ROLLBACK", &[])?;
        }
        result
    }

    /// Runs one statement that is not cached and takes no parameters: schema, `VACUUM INTO`.
    pub(crate) fn execute_once(&mut self, sql: &str) -> Result<(), SqlError> {
        let statement = ready(self.inner.prepare(sql))?;
        let running = Running(&statement);
        ready(running.0.run(()))
    }

    /// Gives each row to `visit`, until it breaks or there are no more.
    pub(crate) fn for_each<E: From<SqlError>>(
        &mut self,
        sql: &'static str,
        binds: &[Bind<'_>],
        mut visit: impl FnMut(Row) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        let running = self.prepare(sql, binds)?;
        let values = owned(binds)?;
        let mut rows = ready(running.0.query(values))?;
        while let Some(row) = ready(rows.next())? {
            if visit(decode(&row)?)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The one row that this query gives, or none.
    pub(crate) fn row(
        &mut self,
        sql: &'static str,
        binds: &[Bind<'_>],
    ) -> Result<Option<Row>, SqlError> {
        let mut found = None;
        self.for_each(sql, binds, |row| {
            if found.replace(row).is_some() {
                return Err(SqlError::Misuse(format!("more than one row from `{sql}`")));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }

    /// Runs a pragma and gives the first column of its first row as text: an integer in decimal,
    /// and empty if there is no row.
    pub(crate) fn pragma(&mut self, sql: &str) -> Result<String, SqlError> {
        let statement = ready(self.inner.prepare(sql))?;
        let running = Running(&statement);
        let mut rows = ready(running.0.query(()))?;
        let Some(row) = ready(rows.next())? else {
            return Ok(String::new());
        };
        match row.get_value(0).map_err(SqlError::from_libsql)? {
            libsql::Value::Integer(number) => Ok(number.to_string()),
            libsql::Value::Text(text) => Ok(text),
            libsql::Value::Blob(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            libsql::Value::Null | libsql::Value::Real(_) => Ok(String::new()),
        }
    }

    fn prepare(&mut self, sql: &'static str, binds: &[Bind<'_>]) -> Result<Running<'_>, SqlError> {
        use std::collections::hash_map::Entry;
        let statement = match self.cache.entry(cached(sql)) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(ready(self.inner.prepare(sql))?),
        };
        let wanted = statement.parameter_count();
        if wanted != binds.len() {
            return Err(SqlError::Misuse(format!(
                "{} parameters given, {wanted} wanted by `{sql}`",
                binds.len()
            )));
        }
        Ok(Running(statement))
    }
}

/// Where the text of a statement lies, which is cheaper to look up than the text. The same text in
/// two places makes two statements.
type Cached = (usize, usize);

fn cached(sql: &'static str) -> Cached {
    (sql.as_ptr().addr(), sql.len())
}

/// Resets its statement when it goes, whichever way the call ended: an unreset statement would
/// keep its old parameters and pin the WAL.
struct Running<'a>(&'a libsql::Statement);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.reset();
    }
}

fn keeps(binds: &[Bind<'_>]) -> bool {
    binds.iter().all(|bind| match bind {
        Bind::Int(_) => true,
        Bind::Blob(bytes) => bytes.len() <= MAX_CACHED_BIND,
    })
}

fn owned(binds: &[Bind<'_>]) -> Result<libsql::params::Params, SqlError> {
    if binds.is_empty() {
        return Ok(libsql::params::Params::None);
    }
    let values = binds
        .iter()
        .map(|bind| match bind {
            Bind::Int(value) => Ok(libsql::Value::Integer(*value)),
            Bind::Blob(bytes) if bytes.len() > MAX_BLOB => Err(SqlError::TooBig {
                size: bytes.len(),
                allowed: MAX_BLOB,
            }),
            Bind::Blob(bytes) => Ok(libsql::Value::Blob(bytes.to_vec())),
        })
        .collect::<Result<Vec<_>, _>>()?;
    Ok(libsql::params::Params::Positional(values))
}

/// Looks at each column's type before asking for its value: `get_value` panics on text that is not
/// UTF-8, which a damaged row can hold.
fn decode(row: &libsql::Row) -> Result<Row, SqlError> {
    let columns = row.column_count();
    let mut cells = Vec::with_capacity(usize::try_from(columns).unwrap_or(0));
    for column in 0..columns {
        let kind = row.column_type(column).map_err(SqlError::from_libsql)?;
        let found = match kind {
            libsql::ValueType::Integer | libsql::ValueType::Blob => {
                match row.get_value(column).map_err(SqlError::from_libsql)? {
                    libsql::Value::Integer(value) => {
                        cells.push(Cell::Int(value));
                        continue;
                    }
                    libsql::Value::Blob(bytes) => {
                        cells.push(Cell::Blob(bytes));
                        continue;
                    }
                    _ => "another type than it said",
                }
            }
            libsql::ValueType::Null => "null",
            libsql::ValueType::Real => "a float",
            libsql::ValueType::Text => "text",
        };
        return Err(SqlError::Type {
            column: usize::try_from(column).unwrap_or(0),
            wanted: "an integer or a blob",
            found,
        });
    }
    Ok(Row { cells })
}

/// The text of a path that cannot be taken for anything else than one.
fn checked(path: &Path) -> Result<&str, SqlError> {
    path.to_str()
        .filter(|text| path.is_absolute() && !text.contains('\0'))
        .ok_or_else(|| {
            SqlError::Misuse(format!(
                "{} is not an absolute UTF-8 path without NUL",
                path.display()
            ))
        })
}

/// Runs a future that never waits, as those of a local connection are.
fn ready<T>(future: impl Future<Output = libsql::Result<T>>) -> Result<T, SqlError> {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(result) => result.map_err(SqlError::from_libsql),
        Poll::Pending => Err(SqlError::Misuse(
            "a local statement waited for a reactor".to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests;
