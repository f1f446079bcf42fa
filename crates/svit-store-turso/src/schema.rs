//! The tables, as one list that both makes them and checks them at open.
//!
//! Rules: STRICT, NOT NULL, and no text: addresses, paths and names are blobs, so that NUL and
//! every other byte comes back as it went in. Rows whose content has no digest of its own carry a
//! sum (see `sums.rs`). Tables with bodies keep rowids, because SQLite spills a row of an index
//! tree past about a kilobyte into a page of its own.

use std::ops::ControlFlow;

use svit_value::Digest;

use crate::header::{APPLICATION_ID, USER_VERSION};
use crate::sql::{Bind, Connection, SqlError};
use crate::sums::{Sum, Summed, Tally};

/// Every table and its definition, exactly as SQLite keeps it.
pub(crate) const TABLES: [(&str, &str); 10] = [
    (
        "meta",
        "CREATE TABLE meta(id INTEGER NOT NULL PRIMARY KEY CHECK(id=1), store BLOB NOT NULL, batch INTEGER NOT NULL, digest BLOB NOT NULL, heads INTEGER NOT NULL, heads_sum BLOB NOT NULL, blocks INTEGER NOT NULL, blocks_sum BLOB NOT NULL, sum BLOB NOT NULL) STRICT",
    ),
    (
        "head",
        "CREATE TABLE head(address BLOB NOT NULL PRIMARY KEY, version INTEGER NOT NULL, digest BLOB NOT NULL, root BLOB NOT NULL, epoch INTEGER NOT NULL, base BLOB NOT NULL, next_event INTEGER NOT NULL, receipts_made INTEGER NOT NULL, receipts INTEGER NOT NULL, receipts_sum BLOB NOT NULL, sum BLOB NOT NULL) STRICT, WITHOUT ROWID",
    ),
    (
        "base",
        "CREATE TABLE base(address BLOB NOT NULL PRIMARY KEY, digest BLOB NOT NULL, body BLOB NOT NULL) STRICT, WITHOUT ROWID",
    ),
    (
        "record",
        "CREATE TABLE record(address BLOB NOT NULL, version INTEGER NOT NULL, digest BLOB NOT NULL, previous BLOB NOT NULL, root BLOB NOT NULL, paths BLOB NOT NULL, body BLOB NOT NULL, sum BLOB NOT NULL, PRIMARY KEY(address, version)) STRICT",
    ),
    (
        "record_path",
        "CREATE TABLE record_path(address BLOB NOT NULL, path BLOB NOT NULL, version INTEGER NOT NULL, PRIMARY KEY(address, path, version)) STRICT, WITHOUT ROWID",
    ),
    (
        "receipt",
        "CREATE TABLE receipt(address BLOB NOT NULL, client BLOB NOT NULL, request BLOB NOT NULL, content BLOB NOT NULL, outcome BLOB NOT NULL, version INTEGER NOT NULL, made INTEGER NOT NULL, pinned INTEGER NOT NULL, sum BLOB NOT NULL, PRIMARY KEY(address, client, request)) STRICT, WITHOUT ROWID",
    ),
    (
        "thread_event",
        "CREATE TABLE thread_event(address BLOB NOT NULL, thread INTEGER NOT NULL, seq INTEGER NOT NULL, kind BLOB NOT NULL, body BLOB NOT NULL, sum BLOB NOT NULL, PRIMARY KEY(address, thread, seq)) STRICT",
    ),
    (
        "block",
        "CREATE TABLE block(digest BLOB NOT NULL PRIMARY KEY, len INTEGER NOT NULL, data BLOB NOT NULL) STRICT",
    ),
    (
        "checkpoint",
        "CREATE TABLE checkpoint(address BLOB NOT NULL, version INTEGER NOT NULL, record BLOB NOT NULL, root BLOB NOT NULL, sum BLOB NOT NULL, PRIMARY KEY(address, version)) STRICT, WITHOUT ROWID",
    ),
    (
        "fork_ref",
        "CREATE TABLE fork_ref(parent BLOB NOT NULL, version INTEGER NOT NULL, child BLOB NOT NULL, record BLOB NOT NULL, sum BLOB NOT NULL, PRIMARY KEY(parent, version, child)) STRICT, WITHOUT ROWID",
    ),
];

/// The one row of `meta`: what is true of the whole store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Meta {
    /// Drawn at creation: which store this is.
    pub(crate) store: [u8; 16],
    /// Committed batches.
    pub(crate) batch: u64,
    /// The digest of the newest batch and, through it, of all before.
    pub(crate) digest: Digest,
    /// All rows of `head`.
    pub(crate) heads: Tally,
    /// All rows of `block`, each summed by its digest.
    pub(crate) blocks: Tally,
}

impl Meta {
    fn sum(&self) -> Sum {
        Summed::row("meta")
            .bytes(&self.store)
            .number(self.batch)
            .digest(&self.digest)
            .number(self.heads.rows)
            .bytes(&self.heads.sum)
            .number(self.blocks.rows)
            .bytes(&self.blocks.sum)
            .sum()
    }

    /// Reads it; none if the row is missing or does not have its sum.
    pub(crate) fn read(connection: &mut Connection) -> Result<Option<Meta>, SqlError> {
        let row = connection.row(
            "SELECT store, batch, digest, heads, heads_sum, blocks, blocks_sum, sum FROM meta",
            &[],
        )?;
        let Some(mut row) = row else {
            return Ok(None);
        };
        let meta = Meta {
            store: row.array(0)?,
            batch: row.count(1)?,
            digest: Digest::from_bytes(row.array(2)?),
            heads: Tally {
                rows: row.count(3)?,
                sum: row.array(4)?,
            },
            blocks: Tally {
                rows: row.count(5)?,
                sum: row.array(6)?,
            },
        };
        Ok((meta.sum() == row.array(7)?).then_some(meta))
    }

    /// Writes it back.
    pub(crate) fn write(&self, connection: &mut Connection) -> Result<(), SqlError> {
        let changed = connection.execute(
            "UPDATE meta SET batch=?1, digest=?2, heads=?3, heads_sum=?4, blocks=?5, blocks_sum=?6, sum=?7",
            &[
                Bind::Int(int(self.batch)?),
                Bind::Blob(self.digest.as_bytes()),
                Bind::Int(int(self.heads.rows)?),
                Bind::Blob(&self.heads.sum),
                Bind::Int(int(self.blocks.rows)?),
                Bind::Blob(&self.blocks.sum),
                Bind::Blob(&self.sum()),
            ],
        )?;
        match changed {
            1 => Ok(()),
            other => Err(SqlError::Misuse(format!("meta has {other} rows"))),
        }
    }
}

/// Makes the tables of a new store in an empty database.
pub(crate) fn create(connection: &mut Connection, store: [u8; 16]) -> Result<(), SqlError> {
    connection.execute_once("BEGIN IMMEDIATE")?;
    for (_, sql) in TABLES {
        connection.execute_once(sql)?;
    }
    let meta = Meta {
        store,
        batch: 0,
        digest: Digest::of(&store),
        heads: Tally::default(),
        blocks: Tally::default(),
    };
    connection.execute(
        "INSERT INTO meta VALUES(1, ?1, 0, ?2, 0, ?3, 0, ?3, ?4)",
        &[
            Bind::Blob(&meta.store),
            Bind::Blob(meta.digest.as_bytes()),
            Bind::Blob(&[0; 16]),
            Bind::Blob(&meta.sum()),
        ],
    )?;
    connection.execute_once(&format!("PRAGMA application_id={APPLICATION_ID}"))?;
    connection.execute_once(&format!("PRAGMA user_version={USER_VERSION}"))?;
    connection.execute_once("COMMIT")
}

/// The name of the first table whose definition is not the one above, if any.
pub(crate) fn differs(connection: &mut Connection) -> Result<Option<String>, SqlError> {
    let mut found = Vec::new();
    connection.for_each(
        "SELECT CAST(type AS BLOB), CAST(name AS BLOB), CAST(sql AS BLOB) FROM sqlite_schema WHERE sql IS NOT NULL",
        &[],
        |mut row| {
            found.push((row.blob(0)?, row.blob(1)?, row.blob(2)?));
            Ok::<_, SqlError>(ControlFlow::Continue(()))
        },
    )?;
    for (name, sql) in TABLES {
        let at = found.iter().position(|(kind, its_name, its_sql)| {
            kind == b"table" && its_name == name.as_bytes() && its_sql == sql.as_bytes()
        });
        match at {
            Some(at) => drop(found.swap_remove(at)),
            None => return Ok(Some(name.to_owned())),
        }
    }
    Ok(found
        .first()
        .map(|(_, name, _)| String::from_utf8_lossy(name).into_owned()))
}

/// A count as SQLite keeps it. One that does not fit is refused: it would come back negative.
pub(crate) fn int(count: u64) -> Result<i64, SqlError> {
    i64::try_from(count).map_err(|_| SqlError::Misuse(format!("{count} does not fit 63 bits")))
}
