//! A connection that only reads a database of somebody else's, whose rows may hold anything.
//!
//! What the connection of the store can take for granted does not hold here: cells have any type, and
//! text may hold NUL or be no UTF-8, on which `libsql` cuts or panics. So text is asked for as a blob, and
//! beside each cell stands what it is; see [`shapes`].

use std::fmt::Write;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;

use super::{SqlError, ready};

/// One cell of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shaped {
    Null,
    Int(i64),
    Real(f64),
    /// Text, which may be no UTF-8.
    Text(Vec<u8>),
    Blob(Vec<u8>),
    /// Text or a blob of so many bytes, which is more than was asked for.
    TooLarge(u64),
}

/// The columns that say what the cells `names` are: two for each, its kind or the negative of a size past
/// the parameter `?1`, and its value.
pub(crate) fn shapes<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let mut columns = String::new();
    for name in names {
        let comma = if columns.is_empty() { "" } else { ", " };
        let size = format!("length(CAST({name} AS BLOB))");
        // Writing to a string does not fail.
        let _ = write!(
            columns,
            "{comma}CASE typeof({name}) WHEN 'null' THEN 0 WHEN 'integer' THEN 1 WHEN 'real' THEN 2 \
             ELSE CASE WHEN {size} > ?1 THEN -{size} WHEN typeof({name}) = 'text' THEN 3 ELSE 4 END END, \
             CASE WHEN typeof({name}) IN ('text', 'blob') \
             THEN CASE WHEN {size} <= ?1 THEN CAST({name} AS BLOB) END ELSE {name} END"
        );
    }
    columns
}

/// A parameter.
#[derive(Clone, Debug)]
pub(crate) enum Given {
    Null,
    Int(i64),
    Text(String),
}

/// The connection.
pub(crate) struct Reader {
    inner: libsql::Connection,
    _database: libsql::Database,
}

/// Ends what its reader is at, from another thread.
pub(crate) struct Interrupter(libsql::Connection);

impl Interrupter {
    pub(crate) fn interrupt(&self) {
        // A local connection has nothing that could fail.
        let _ = self.0.interrupt();
    }
}

impl Reader {
    // THREAT[TM-MOUNT-4]: the flags, and the pragmas below.
    /// Opens a file that is there, for reading. `path` must be absolute. A writer is waited for as long as
    /// `patience`.
    pub(crate) fn open(path: &Path, patience: Duration) -> Result<Reader, SqlError> {
        let text = super::checked(path)?;
        let database = libsql::Builder::new_local(text)
            .flags(libsql::OpenFlags::SQLITE_OPEN_READ_ONLY)
            .build();
        let database = ready(database)?;
        let inner = database.connect().map_err(SqlError::from_libsql)?;
        inner
            .busy_timeout(patience)
            .map_err(SqlError::from_libsql)?;
        let reader = Reader {
            inner,
            _database: database,
        };
        // Views and triggers are of whoever made the file.
        for pragma in ["PRAGMA query_only = 1", "PRAGMA trusted_schema = 0"] {
            ready(reader.inner.query(pragma, ()))?;
        }
        Ok(reader)
    }

    pub(crate) fn interrupter(&self) -> Interrupter {
        Interrupter(self.inner.clone())
    }

    /// The names of the columns of a query, and how many parameters it has. The query is not run.
    pub(crate) fn columns(&self, sql: &str) -> Result<(Vec<String>, usize), SqlError> {
        let statement = ready(self.inner.prepare(sql))?;
        // `libsql` panics on a name that is no UTF-8, which a damaged schema can hold.
        let names = catch_unwind(AssertUnwindSafe(|| {
            let columns = statement.columns();
            let names = columns.iter().map(|column| column.name().to_owned());
            names.collect()
        }));
        let not_utf8 = |_| SqlError::Misuse("a name in the schema is not UTF-8".to_owned());
        Ok((names.map_err(not_utf8)?, statement.parameter_count()))
    }

    /// Gives each row of a query to `visit`, until it breaks or there are no more. The query's columns
    /// are [`shapes`].
    pub(crate) fn for_each<E: From<SqlError>>(
        &self,
        sql: &str,
        given: &[Given],
        mut visit: impl FnMut(Vec<Shaped>) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        let statement = ready(self.inner.prepare(sql))?;
        let given = given.iter().map(|given| match given {
            Given::Null => libsql::Value::Null,
            Given::Int(number) => libsql::Value::Integer(*number),
            Given::Text(text) => libsql::Value::Text(text.clone()),
        });
        let given = libsql::params::Params::Positional(given.collect());
        let mut rows = ready(statement.query(given))?;
        while let Some(row) = ready(rows.next())? {
            if visit(shaped(&row)?)?.is_break() {
                break;
            }
        }
        Ok(())
    }
}

fn shaped(row: &libsql::Row) -> Result<Vec<Shaped>, SqlError> {
    let columns = row.column_count();
    (0..columns / 2)
        .map(|cell| {
            let kind = match raw(row, cell * 2)? {
                libsql::Value::Integer(kind) => kind,
                _ => return Err(changed()),
            };
            Ok(match (kind, raw(row, cell * 2 + 1)?) {
                (0, libsql::Value::Null) => Shaped::Null,
                (1, libsql::Value::Integer(number)) => Shaped::Int(number),
                (2, libsql::Value::Real(number)) => Shaped::Real(number),
                (3, libsql::Value::Blob(bytes)) => Shaped::Text(bytes),
                (4, libsql::Value::Blob(bytes)) => Shaped::Blob(bytes),
                (size, libsql::Value::Null) if size < 0 => Shaped::TooLarge(size.unsigned_abs()),
                _ => return Err(changed()),
            })
        })
        .collect()
}

/// A cell of any type but text.
fn raw(row: &libsql::Row, column: i32) -> Result<libsql::Value, SqlError> {
    let kind = row.column_type(column).map_err(SqlError::from_libsql)?;
    match kind {
        libsql::ValueType::Text => Err(changed()),
        _ => row.get_value(column).map_err(SqlError::from_libsql),
    }
}

/// An expression such as `random()` may be another one each time it is looked at.
fn changed() -> SqlError {
    SqlError::Misuse("a cell is not the same each time it is read".to_owned())
}
