//! The tables and indexes, as one list that both makes them and checks them at open.
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

/// Something that SQLite keeps a definition of, exactly as it keeps it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Definition {
    kind: &'static str,
    name: &'static str,
    pub(crate) sql: &'static str,
}

pub(crate) const fn table(name: &'static str, sql: &'static str) -> Definition {
    let kind = "table";
    Definition { kind, name, sql }
}

pub(crate) const META: Definition = table(
    "meta",
    "CREATE TABLE meta(id INTEGER NOT NULL PRIMARY KEY CHECK(id=1), store BLOB NOT NULL, batch INTEGER NOT NULL, digest BLOB NOT NULL, heads INTEGER NOT NULL, heads_sum BLOB NOT NULL, blocks INTEGER NOT NULL, blocks_sum BLOB NOT NULL, checkpoints INTEGER NOT NULL, checkpoints_sum BLOB NOT NULL, forks INTEGER NOT NULL, forks_sum BLOB NOT NULL, sum BLOB NOT NULL) STRICT",
);

pub(crate) const HEAD: Definition = table(
    "head",
    "CREATE TABLE head(address BLOB NOT NULL PRIMARY KEY, version INTEGER NOT NULL, digest BLOB NOT NULL, root BLOB NOT NULL, epoch INTEGER NOT NULL, base BLOB NOT NULL, first_event INTEGER NOT NULL, next_event INTEGER NOT NULL, shared BLOB NOT NULL, shared_events INTEGER NOT NULL, shared_at INTEGER NOT NULL, receipts_made INTEGER NOT NULL, receipts INTEGER NOT NULL, receipts_sum BLOB NOT NULL, sum BLOB NOT NULL) STRICT, WITHOUT ROWID",
);

pub(crate) const FORK_REF: Definition = table(
    "fork_ref",
    "CREATE TABLE fork_ref(parent BLOB NOT NULL, version INTEGER NOT NULL, child BLOB NOT NULL, record BLOB NOT NULL, depends INTEGER NOT NULL, sum BLOB NOT NULL, PRIMARY KEY(parent, version, child)) STRICT, WITHOUT ROWID",
);

/// Finds the receipts that a message pins without looking at all others of the process.
pub(crate) const RECEIPT_PINNED: Definition = Definition {
    kind: "index",
    name: "receipt_pinned",
    sql: "CREATE INDEX receipt_pinned ON receipt(address, pinned) WHERE pinned>0",
};

/// Records that wait to be filed (see `recent.rs`).
pub(crate) const RECENT: Definition = table(
    "recent",
    "CREATE TABLE recent(id INTEGER NOT NULL PRIMARY KEY, address BLOB NOT NULL, version INTEGER NOT NULL, digest BLOB NOT NULL, previous BLOB NOT NULL, root BLOB NOT NULL, paths BLOB NOT NULL, body BLOB NOT NULL, sum BLOB NOT NULL) STRICT",
);

/// The definitions that have been the same in every format.
pub(crate) const LASTING: [Definition; 7] = [
    table(
        "base",
        "CREATE TABLE base(address BLOB NOT NULL PRIMARY KEY, digest BLOB NOT NULL, body BLOB NOT NULL) STRICT, WITHOUT ROWID",
    ),
    table(
        "record",
        "CREATE TABLE record(address BLOB NOT NULL, version INTEGER NOT NULL, digest BLOB NOT NULL, previous BLOB NOT NULL, root BLOB NOT NULL, paths BLOB NOT NULL, body BLOB NOT NULL, sum BLOB NOT NULL, PRIMARY KEY(address, version)) STRICT",
    ),
    table(
        "record_path",
        "CREATE TABLE record_path(address BLOB NOT NULL, path BLOB NOT NULL, version INTEGER NOT NULL, PRIMARY KEY(address, path, version)) STRICT, WITHOUT ROWID",
    ),
    table(
        "receipt",
        "CREATE TABLE receipt(address BLOB NOT NULL, client BLOB NOT NULL, request BLOB NOT NULL, content BLOB NOT NULL, outcome BLOB NOT NULL, version INTEGER NOT NULL, made INTEGER NOT NULL, pinned INTEGER NOT NULL, sum BLOB NOT NULL, PRIMARY KEY(address, client, request)) STRICT, WITHOUT ROWID",
    ),
    table(
        "thread_event",
        "CREATE TABLE thread_event(address BLOB NOT NULL, thread INTEGER NOT NULL, seq INTEGER NOT NULL, kind BLOB NOT NULL, body BLOB NOT NULL, sum BLOB NOT NULL, PRIMARY KEY(address, thread, seq)) STRICT",
    ),
    table(
        "block",
        "CREATE TABLE block(digest BLOB NOT NULL PRIMARY KEY, len INTEGER NOT NULL, data BLOB NOT NULL) STRICT",
    ),
    table(
        "checkpoint",
        "CREATE TABLE checkpoint(address BLOB NOT NULL, version INTEGER NOT NULL, record BLOB NOT NULL, root BLOB NOT NULL, sum BLOB NOT NULL, PRIMARY KEY(address, version)) STRICT, WITHOUT ROWID",
    ),
];

/// What is defined in this format besides [`LASTING`].
pub(crate) const CHANGED: [Definition; 5] = [META, HEAD, FORK_REF, RECEIPT_PINNED, RECENT];

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
    /// All rows of `checkpoint`.
    pub(crate) checkpoints: Tally,
    /// All rows of `fork_ref`.
    pub(crate) forks: Tally,
}

impl Meta {
    /// That of a store in which nothing is.
    fn new(store: [u8; 16]) -> Meta {
        Meta {
            store,
            batch: 0,
            digest: Digest::of(&store),
            heads: Tally::default(),
            blocks: Tally::default(),
            checkpoints: Tally::default(),
            forks: Tally::default(),
        }
    }

    fn sum(&self) -> Sum {
        let fixed = Summed::row("meta")
            .bytes(&self.store)
            .number(self.batch)
            .digest(&self.digest);
        [self.heads, self.blocks, self.checkpoints, self.forks]
            .iter()
            .fold(fixed, |summed, tally| {
                summed.number(tally.rows).bytes(&tally.sum)
            })
            .sum()
    }

    /// Reads it; none if the row is missing or does not have its sum.
    pub(crate) fn read(connection: &mut Connection) -> Result<Option<Meta>, SqlError> {
        let row = connection.row(
            "SELECT store, batch, digest, heads, heads_sum, blocks, blocks_sum, checkpoints, checkpoints_sum, forks, forks_sum, sum FROM meta",
            &[],
        )?;
        let Some(mut row) = row else {
            return Ok(None);
        };
        let meta = Meta {
            store: row.array(0)?,
            batch: row.count(1)?,
            digest: Digest::from_bytes(row.array(2)?),
            heads: Tally::read(&mut row, 3)?,
            blocks: Tally::read(&mut row, 5)?,
            checkpoints: Tally::read(&mut row, 7)?,
            forks: Tally::read(&mut row, 9)?,
        };
        Ok((meta.sum() == row.array(11)?).then_some(meta))
    }

    /// Writes it over the row that is there, which is `before`. Most batches change only heads.
    pub(crate) fn replace(
        &self,
        before: &Meta,
        connection: &mut Connection,
    ) -> Result<(), SqlError> {
        let only_heads = Meta {
            batch: self.batch,
            digest: self.digest,
            heads: self.heads,
            ..*before
        };
        if *self != only_heads {
            return self.write(connection);
        }
        let changed = connection.execute(
            "UPDATE meta SET batch=?1, digest=?2, heads=?3, heads_sum=?4, sum=?5",
            &[
                Bind::Int(int(self.batch)?),
                Bind::Blob(self.digest.as_bytes()),
                Bind::Int(int(self.heads.rows)?),
                Bind::Blob(&self.heads.sum),
                Bind::Blob(&self.sum()),
            ],
        )?;
        one_row(changed)
    }

    /// Writes it over the row that is there.
    pub(crate) fn write(&self, connection: &mut Connection) -> Result<(), SqlError> {
        let changed = connection.execute(
            "UPDATE meta SET batch=?1, digest=?2, heads=?3, heads_sum=?4, blocks=?5, blocks_sum=?6, checkpoints=?7, checkpoints_sum=?8, forks=?9, forks_sum=?10, sum=?11",
            &[
                Bind::Int(int(self.batch)?),
                Bind::Blob(self.digest.as_bytes()),
                Bind::Int(int(self.heads.rows)?),
                Bind::Blob(&self.heads.sum),
                Bind::Int(int(self.blocks.rows)?),
                Bind::Blob(&self.blocks.sum),
                Bind::Int(int(self.checkpoints.rows)?),
                Bind::Blob(&self.checkpoints.sum),
                Bind::Int(int(self.forks.rows)?),
                Bind::Blob(&self.forks.sum),
                Bind::Blob(&self.sum()),
            ],
        )?;
        one_row(changed)
    }

    /// Adds the row, to a table that has none.
    pub(crate) fn insert(&self, connection: &mut Connection) -> Result<(), SqlError> {
        connection.execute(
            "INSERT INTO meta VALUES(1, ?1, 0, x'', 0, x'', 0, x'', 0, x'', 0, x'', x'')",
            &[Bind::Blob(&self.store)],
        )?;
        self.write(connection)
    }
}

fn one_row(changed: u64) -> Result<(), SqlError> {
    match changed {
        1 => Ok(()),
        other => Err(SqlError::Misuse(format!("meta has {other} rows"))),
    }
}

/// Makes the tables of a new store in an empty database.
pub(crate) fn create(connection: &mut Connection, store: [u8; 16]) -> Result<(), SqlError> {
    connection.execute_once("BEGIN IMMEDIATE")?;
    for definition in LASTING.iter().chain(&CHANGED) {
        connection.execute_once(definition.sql)?;
    }
    Meta::new(store).insert(connection)?;
    connection.execute_once(&format!("PRAGMA application_id={APPLICATION_ID}"))?;
    connection.execute_once(&format!("PRAGMA user_version={USER_VERSION}"))?;
    connection.execute_once("COMMIT")
}

/// The name of the first thing whose definition is not one of [`LASTING`] and `changed`, if any.
pub(crate) fn differs(
    connection: &mut Connection,
    changed: &[Definition],
) -> Result<Option<String>, SqlError> {
    let mut found = Vec::new();
    connection.for_each(
        "SELECT CAST(type AS BLOB), CAST(name AS BLOB), CAST(sql AS BLOB) FROM sqlite_schema WHERE sql IS NOT NULL",
        &[],
        |mut row| {
            found.push((row.blob(0)?, row.blob(1)?, row.blob(2)?));
            Ok::<_, SqlError>(ControlFlow::Continue(()))
        },
    )?;
    for Definition { kind, name, sql } in LASTING.iter().chain(changed) {
        let at = found.iter().position(|(its_kind, its_name, its_sql)| {
            its_kind == kind.as_bytes() && its_name == name.as_bytes() && its_sql == sql.as_bytes()
        });
        match at {
            Some(at) => drop(found.swap_remove(at)),
            None => return Ok(Some((*name).to_owned())),
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
