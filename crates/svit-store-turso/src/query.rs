//! `TursoQuery`: the rows of one query, as a mount.

mod asker;
mod error;
mod rows;

use std::path::Path;
use std::time::Duration;

use svit_tree::mount::{
    Grant, Locality, MountDescriptor, MountError, MountPath, MountProvider, MountStat,
};
use svit_value::{Kind, Text, Value};

use crate::sql::reader::Reader;
use asker::{Asker, Unread};
use rows::{Place, Table};

pub use error::QueryError;

/// How long an answer is waited for, unless the host says otherwise.
const PATIENCE: Duration = Duration::from_secs(5);

/// The rows of one query on a database that the host chose, to be read below a mount.
///
/// The mount is a list of rows in the query's order, `/0`, `/1` and so on, or with [`key`](Self::key) a
/// map by that column. A row is a map from the names of the columns to what is in them: NULL is null, and
/// an integer, a float, a text and a blob are the value of that kind. A cell can be read alone:
/// `/mounts/orders/17/price`.
///
/// Nothing is kept: each read asks the database, for what it reads alone, and sees what is committed there
/// by then. So two reads may be of two states, and a row of a list may have another number the next time;
/// with a key it keeps its name. A read by key is as fast as the query makes it: with an index, on the
/// column as the query gives it, one row is looked up.
///
/// # What keeps it from writing
/// The file is opened for reading only, and the query stands in parentheses as the source of a `SELECT`,
/// where SQL has no statement that writes. Extensions cannot be loaded. SQLite has to be able to make the
/// files `-wal` and `-shm` beside a database in WAL mode, if they are not there, and may leave them; the
/// database itself is not changed.
///
/// ```
/// use svit_store_turso::TursoQuery;
/// use svit_tree::mount::{MountPath, MountProvider};
/// use svit_value::value;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("shop.db");
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// # let database = libsql::Builder::new_local(&path).build().await.unwrap();
/// # database.connect().unwrap().execute_batch("CREATE TABLE goods (name TEXT PRIMARY KEY, price INTEGER); INSERT INTO goods VALUES ('tea', 3), ('oil', 9);").await.unwrap();
/// # });
/// let goods = TursoQuery::open(&path, "SELECT name, price FROM goods")?.key("name")?;
/// let root = MountPath::root();
/// assert_eq!(goods.list(&root, 10)?, ["oil", "tea"]);
///
/// let tea = MountPath::parse("/tea")?;
/// assert_eq!(goods.read(&tea, 1_000)?, Some(value!({"name": "tea", "price": 3})));
/// let price = MountPath::parse("/tea/price")?;
/// assert_eq!(goods.read(&price, 1_000)?, Some(3.into()));
/// assert!(goods.write(&price, &4.into()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Limitations
/// Text that is not UTF-8 and floats that are not finite are errors that name the row and the column, not
/// values. A database whose encoding is UTF-16 is refused, as is a query with parameters, with two columns
/// of one name, or with a name that no path can hold. The timeout is looked at between SQLite's own
/// steps: one call of a function that takes long is not ended.
#[derive(Debug)]
pub struct TursoQuery {
    asker: Asker,
    table: Table,
    source: Text,
}

impl TursoQuery {
    /// Opens a database that is there, and looks whether this is a query of it. Blocks.
    ///
    /// # Errors
    /// [`QueryError`]; nothing is made where nothing is.
    pub fn open(path: impl AsRef<Path>, sql: impl Into<String>) -> Result<Self, QueryError> {
        let (asker, table) = asker::open(path.as_ref(), sql.into(), PATIENCE)?;
        Ok(Self {
            asker,
            table,
            source: Text::from("a query of the host"),
        })
    }

    /// Names rows by what is in this column, text or integer, in place of their numbers.
    ///
    /// Whether each row has a key, and one of its own, is looked at when rows are read.
    ///
    /// # Errors
    /// [`QueryError::NoColumn`].
    pub fn key(mut self, column: &str) -> Result<Self, QueryError> {
        self.table.set_key(column)?;
        Ok(self)
    }

    /// How long a read may take, what it waits for other reads and for a writer included. Default 5 seconds;
    /// at least a millisecond.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.asker
            .set_timeout(timeout.max(Duration::from_millis(1)));
        self
    }

    /// Says in words which query it is. The words are committed.
    #[must_use]
    pub fn source(mut self, source: impl Into<Text>) -> Self {
        self.source = source.into();
        self
    }

    fn ask<T: Send + 'static>(
        &self,
        path: &MountPath,
        read: impl FnOnce(&Reader, &Table) -> Result<T, Unread> + Send + 'static,
    ) -> Result<T, MountError> {
        let table = self.table.clone();
        self.asker
            .ask(move |reader| read(reader, &table))
            .map_err(|unread| unread.at(path))
    }

    fn denied<T>(path: &MountPath) -> Result<T, MountError> {
        Err(MountError::Denied { path: path.clone() })
    }
}

impl MountProvider for TursoQuery {
    fn descriptor(&self) -> MountDescriptor {
        MountDescriptor {
            kind: Text::from("query"),
            source: self.source.clone(),
            locality: Locality::Local,
            grant: Grant::Read,
        }
    }

    fn list(&self, path: &MountPath, limit: usize) -> Result<Vec<Text>, MountError> {
        match self.table.place(path) {
            Some(Place::Table) => self.ask(path, move |reader, table| table.names(reader, limit)),
            Some(Place::Row(row)) => {
                let is_there = self.ask(path, move |reader, table| table.has(reader, &row))?;
                let names = if is_there {
                    self.table.sorted_columns()
                } else {
                    Vec::new()
                };
                match names.len() > limit {
                    true => Err(Unread::TooLarge {
                        unit: "columns",
                        allowed: limit as u64,
                        actual: names.len() as u64,
                    }
                    .at(path)),
                    false => Ok(names),
                }
            }
            Some(Place::Cell(..)) | None => Ok(Vec::new()),
        }
    }

    fn read(&self, path: &MountPath, max_bytes: u64) -> Result<Option<Value>, MountError> {
        match self.table.place(path) {
            Some(Place::Table) => self
                .ask(path, move |reader, table| table.all(reader, max_bytes))
                .map(Some),
            Some(Place::Row(row)) => self.ask(path, move |reader, table| {
                table.row(reader, &row, max_bytes)
            }),
            Some(Place::Cell(row, column)) => self.ask(path, move |reader, table| {
                table.cell(reader, &row, column, max_bytes)
            }),
            None => Ok(None),
        }
    }

    fn stat(&self, path: &MountPath) -> Result<Option<MountStat>, MountError> {
        let node = |kind, entries| MountStat {
            kind,
            entries,
            bytes: None,
        };
        match self.table.place(path) {
            Some(Place::Table) if self.table.has_key() => Ok(Some(node(Kind::Map, None))),
            Some(Place::Table) => Ok(Some(node(Kind::List, None))),
            Some(Place::Row(row)) => {
                let is_there = self.ask(path, move |reader, table| table.has(reader, &row))?;
                let columns = self.table.columns() as u64;
                Ok(is_there.then(|| node(Kind::Map, Some(columns))))
            }
            Some(Place::Cell(row, column)) => {
                self.ask(path, move |reader, table| table.facts(reader, &row, column))
            }
            None => Ok(None),
        }
    }

    fn check(&self, path: &MountPath, _: Option<&Value>) -> Result<(), MountError> {
        Self::denied(path)
    }

    fn write(&self, path: &MountPath, _: &Value) -> Result<(), MountError> {
        Self::denied(path)
    }

    fn remove(&self, path: &MountPath) -> Result<(), MountError> {
        Self::denied(path)
    }
}
