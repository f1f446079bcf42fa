//! The newest records of all processes, in the order in which they came.
//!
//! In `record` and `record_path`, which are ordered by process, each commit would change two pages of
//! its own, and writing pages is most of what a commit costs beside the sync. So a record is first
//! written behind the one before it, whoever's that was, to `recent`, where it shares a page with its
//! neighbours; it is filed, with many others, once so many have come. Which row is whose is known in
//! memory, and read from the table when the database is opened.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

use svit_tree::Address;
use svit_txn::StoreError;

use crate::fault::{Fault, at, corrupt};
use crate::head::{HeadRow, parse};
use crate::prepared::{self, RecordRow};
use crate::read;
use crate::schema::int;
use crate::sql::{Bind, Connection, Row, code};

/// Bytes of bodies that wait to be filed: the next record files them all.
const MAX_BYTES: usize = 1 << 20;
/// A longer body is filed at once, so that it is not written twice.
const MAX_BODY: usize = 64 << 10;

/// Which records wait to be filed. Known once it was read, and forgotten when what was written with
/// it was rolled back.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    known: Option<Known>,
    /// Whether the batch under way, and the write under way, have changed it.
    batch: bool,
    write: bool,
}

#[derive(Debug, Default)]
struct Known {
    /// Of each process the newest records in order: the version of the first, and the row of each.
    rows: HashMap<Address, (u64, Vec<i64>)>,
    count: usize,
    bytes: usize,
    /// The newest row.
    last: i64,
    /// Rows that are damaged, and stay where they are.
    stuck: usize,
}

impl Known {
    fn is_full(&self, rows: usize) -> bool {
        self.count - self.stuck >= rows || self.bytes > MAX_BYTES
    }

    /// Notes a row. False if it does not follow the one before it of its process.
    fn add(&mut self, address: &Address, version: u64, row: i64, bytes: usize) -> bool {
        let (first, rows) = match self.rows.get_mut(address) {
            Some(rows) => rows,
            None => self
                .rows
                .entry(address.clone())
                .or_insert((version, Vec::new())),
        };
        let follows = *first + rows.len() as u64 == version;
        if follows {
            rows.push(row);
        }
        self.count += 1;
        self.bytes += bytes;
        self.last = self.last.max(row);
        follows
    }
}

impl Recent {
    /// Says that a batch begins.
    pub(crate) fn begin_batch(&mut self) {
        self.batch = false;
    }

    /// Says that a write begins.
    pub(crate) fn begin(&mut self) {
        self.write = false;
    }

    /// Takes back what the write under way did.
    pub(crate) fn roll_back(&mut self) {
        if self.write {
            self.known = None;
        }
    }

    /// Takes back what the batch under way did.
    pub(crate) fn roll_back_batch(&mut self) {
        if self.batch {
            self.known = None;
        }
    }

    fn changed(&mut self) {
        self.write = true;
        self.batch = true;
    }

    fn known(&mut self, connection: &mut Connection) -> Result<&mut Known, Fault> {
        let known = match self.known.take() {
            Some(known) => known,
            None => load(connection)?,
        };
        Ok(self.known.insert(known))
    }

    /// The version of the oldest record of a process that waits to be filed.
    pub(crate) fn first(
        &mut self,
        connection: &mut Connection,
        address: &Address,
    ) -> Result<Option<u64>, Fault> {
        let known = self.known(connection)?;
        Ok(known.rows.get(address).map(|(first, _)| *first))
    }

    /// How many records of a process wait to be filed, up to a version.
    pub(crate) fn count(
        &mut self,
        connection: &mut Connection,
        address: &Address,
        up_to: u64,
    ) -> Result<u64, Fault> {
        let known = self.known(connection)?;
        Ok(known.rows.get(address).map_or(0, |(first, rows)| {
            (up_to + 1).saturating_sub(*first).min(rows.len() as u64)
        }))
    }

    /// A record that waits to be filed, in the columns of [`read::record`].
    pub(crate) fn row(
        &mut self,
        connection: &mut Connection,
        address: &Address,
        version: u64,
    ) -> Result<Option<Row>, Fault> {
        let known = self.known(connection)?;
        let row = known.rows.get(address).and_then(|(first, rows)| {
            let index = usize::try_from(version.checked_sub(*first)?).ok()?;
            rows.get(index).copied()
        });
        let Some(row) = row else {
            return Ok(None);
        };
        Ok(connection.row(ONE, &[Bind::Int(row)])?)
    }

    /// Writes the next record of a process, after filing those that wait if they are so many.
    pub(crate) fn insert(
        &mut self,
        connection: &mut Connection,
        address: &Address,
        record: &RecordRow,
        rows: usize,
    ) -> Result<(), Fault> {
        if record.body.len() > MAX_BODY || rows == 0 {
            self.file(connection)?;
            // What is damaged stays, and what comes behind it too.
            if self.first(connection, address)?.is_none() {
                return insert_filed(connection, address, record);
            }
        }
        if self.known(connection)?.is_full(rows) {
            self.file(connection)?;
        }
        let row = self.known(connection)?.last + 1;
        self.changed();
        connection.execute(
            "INSERT INTO recent(id, address, version, digest, previous, root, paths, body, sum) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            &[
                Bind::Int(row),
                Bind::Blob(address.as_str().as_bytes()),
                Bind::Int(int(record.version)?),
                Bind::Blob(record.digest.as_bytes()),
                Bind::Blob(record.previous.as_bytes()),
                Bind::Blob(record.root.as_bytes()),
                Bind::Blob(&record.paths),
                Bind::Blob(&record.body),
                Bind::Blob(&record.sum),
            ],
        )?;
        let known = self.known(connection)?;
        if !known.add(address, record.version, row, record.body.len()) {
            return Err(misplaced(address, record.version));
        }
        Ok(())
    }

    /// Files what waits, if any of it is a record of this process up to a version.
    pub(crate) fn file_up_to(
        &mut self,
        connection: &mut Connection,
        address: &Address,
        up_to: u64,
    ) -> Result<(), Fault> {
        match self.count(connection, address, up_to)? {
            0 => Ok(()),
            _ => self.file(connection),
        }
    }

    /// Files what waits of a process that is about to go, and removes what cannot be filed.
    pub(crate) fn let_go(
        &mut self,
        connection: &mut Connection,
        address: &Address,
    ) -> Result<(), Fault> {
        self.file_up_to(connection, address, i64::MAX as u64)?;
        if self.known(connection)?.stuck > 0 {
            self.changed();
            let key = Bind::Blob(address.as_str().as_bytes());
            connection.execute("DELETE FROM recent WHERE address=?1", &[key])?;
            self.known = None;
        }
        Ok(())
    }

    /// Moves all that waits to where it is kept, ordered by process.
    fn file(&mut self, connection: &mut Connection) -> Result<(), Fault> {
        let known = self.known(connection)?;
        let (wanted, stuck) = (known.count as u64, known.stuck);
        if wanted == stuck as u64 {
            return Ok(());
        }
        self.changed();
        let counted = connection.row("SELECT count(*) FROM recent", &[])?;
        let found = counted.map(|mut row| row.count(0)).transpose()?;
        if stuck > 0 || found != Some(wanted) {
            return self.file_each(connection);
        }
        match connection.execute(FILE, &[]) {
            Ok(_) => {}
            // It has undone what it did: a row is not what it was.
            Err(error) if error.primary() == code::CONSTRAINT => return self.file_each(connection),
            Err(error) => return Err(error.into()),
        }
        file_paths(connection)?;
        connection.execute("DELETE FROM recent", &[])?;
        self.known = Some(Known::default());
        tracing::trace!(records = wanted, "filed");
        Ok(())
    }

    /// The same process by process. The records of one of which any is damaged stay, where its readers
    /// meet the damage, and keep no other process from going on.
    fn file_each(&mut self, connection: &mut Connection) -> Result<(), Fault> {
        let known = self.known.take().unwrap_or_default();
        for (address, (first, rows)) in &known.rows {
            match whole(connection, address, *first, rows) {
                Ok(records) => {
                    for (record, row) in records.iter().zip(rows) {
                        insert_filed(connection, address, record)?;
                        let row = [Bind::Int(*row)];
                        connection.execute("DELETE FROM recent WHERE id=?1", &row)?;
                    }
                }
                Err(Fault::Store(error)) => {
                    tracing::error!(%address, %error, "records stay unfiled")
                }
                Err(fault) => return Err(fault),
            }
        }
        let mut left = load(connection)?;
        // None of it is tried again before the database is opened again.
        left.stuck = left.count;
        left.bytes = 0;
        self.known = Some(left);
        Ok(())
    }
}

const ONE: &str =
    "SELECT version, digest, previous, root, paths, body, sum FROM recent WHERE id=?1";
const FILE: &str = "INSERT INTO record(address, version, digest, previous, root, paths, body, sum) SELECT address, version, digest, previous, root, paths, body, sum FROM recent ORDER BY address, version";

/// Reads which rows there are. Of each process those count that lead up to its head without a gap; others
/// are damaged.
fn load(connection: &mut Connection) -> Result<Known, Fault> {
    let mut known = Known::default();
    let mut found: BTreeMap<Vec<u8>, BTreeMap<u64, Vec<i64>>> = BTreeMap::new();
    connection.for_each(
        "SELECT id, address, version, length(body) FROM recent ORDER BY id",
        &[],
        |mut row| {
            let (id, address, version) = (row.int(0)?, row.blob(1)?, row.count(2)?);
            known.count += 1;
            known.bytes += usize::try_from(row.count(3)?).unwrap_or(MAX_BYTES);
            known.last = id;
            let versions = found.entry(address).or_default();
            versions.entry(version).or_default().push(id);
            Ok::<_, Fault>(ControlFlow::Continue(()))
        },
    )?;
    known.stuck = known.count;
    let bytes = std::mem::take(&mut known.bytes);
    for (stored, mut versions) in found {
        let Some(address) = parse(&stored) else {
            continue;
        };
        let head = match HeadRow::read(connection, &address) {
            Ok(Some(head)) => head,
            Ok(None) | Err(Fault::Store(_)) => continue,
            Err(fault) => return Err(fault),
        };
        let mut rows = Vec::new();
        let mut next = head.version;
        while let Some(ids) = versions.remove(&next) {
            let Some(row) = only(connection, &address, &ids)? else {
                break;
            };
            rows.push(row);
            next = next.saturating_sub(1);
        }
        rows.reverse();
        known.stuck -= rows.len();
        if !rows.is_empty() {
            known.rows.insert(address, (next + 1, rows));
        }
    }
    // Those of damaged rows never go: counted, they would have each record filed at once.
    if known.stuck == 0 {
        known.bytes = bytes;
    }
    Ok(known)
}

/// The row that holds a version: of several, one that is whole.
fn only(connection: &mut Connection, address: &Address, ids: &[i64]) -> Result<Option<i64>, Fault> {
    if let [id] = ids {
        return Ok(Some(*id));
    }
    for id in ids {
        let row = connection.row(ONE, &[Bind::Int(*id)])?;
        match row.map(|row| read::record(address, row)).transpose() {
            Ok(Some(_)) => return Ok(Some(*id)),
            Ok(None) | Err(Fault::Store(_)) => {}
            Err(fault) => return Err(fault),
        }
    }
    Ok(None)
}

/// The records of a process that wait to be filed, if they can be.
fn whole(
    connection: &mut Connection,
    address: &Address,
    first: u64,
    rows: &[i64],
) -> Result<Vec<RecordRow>, Fault> {
    let key = Bind::Blob(address.as_str().as_bytes());
    let filed = connection.row(
        "SELECT count(*) FROM record WHERE address=?1 AND version>=?2",
        &[key, Bind::Int(int(first)?)],
    )?;
    if filed.map(|mut row| row.count(0)).transpose()? != Some(0) {
        return Err(misplaced(address, first));
    }
    let mut records = Vec::with_capacity(rows.len());
    for (version, row) in (first..).zip(rows) {
        let row = connection.row(ONE, &[Bind::Int(*row)])?;
        let record = row.map(|row| read::record(address, row)).transpose()?;
        match record {
            Some(record) if record.version == version => {
                let bad = |what| StoreError::Corrupt {
                    what,
                    place: place(address, version),
                };
                records.push(prepared::record_row(address, record, &bad)?);
            }
            _ => return Err(misplaced(address, version)),
        }
    }
    Ok(records)
}

/// Writes a record where it is kept.
fn insert_filed(
    connection: &mut Connection,
    address: &Address,
    record: &RecordRow,
) -> Result<(), Fault> {
    let key = Bind::Blob(address.as_str().as_bytes());
    let version = Bind::Int(int(record.version)?);
    connection.execute(
        "INSERT INTO record(address, version, digest, previous, root, paths, body, sum) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        &[
            key,
            version,
            Bind::Blob(record.digest.as_bytes()),
            Bind::Blob(record.previous.as_bytes()),
            Bind::Blob(record.root.as_bytes()),
            Bind::Blob(&record.paths),
            Bind::Blob(&record.body),
            Bind::Blob(&record.sum),
        ],
    )?;
    for path in read::paths(&record.paths) {
        connection.execute(FILE_PATH, &[key, Bind::Blob(path), version])?;
    }
    Ok(())
}

const FILE_PATH: &str =
    "INSERT OR IGNORE INTO record_path(address, path, version) VALUES(?1, ?2, ?3)";

/// Files the paths of all rows, in the order in which they are kept: in one statement for rows that have
/// one, which most have.
fn file_paths(connection: &mut Connection) -> Result<(), Fault> {
    connection.execute(
        "INSERT OR IGNORE INTO record_path(address, path, version) SELECT address, paths, version FROM recent WHERE paths<>x'' AND instr(paths, x'00')=0 ORDER BY address, paths, version",
        &[],
    )?;
    let mut entries = Vec::new();
    connection.for_each(
        "SELECT address, version, paths FROM recent WHERE instr(paths, x'00')>0",
        &[],
        |mut row| {
            let (address, version, stored) = (row.blob(0)?, row.int(1)?, row.blob(2)?);
            entries
                .extend(read::paths(&stored).map(|path| (address.clone(), path.to_vec(), version)));
            Ok::<_, Fault>(ControlFlow::Continue(()))
        },
    )?;
    entries.sort_unstable();
    for (address, path, version) in &entries {
        let binds = [Bind::Blob(address), Bind::Blob(path), Bind::Int(*version)];
        connection.execute(FILE_PATH, &binds)?;
    }
    Ok(())
}

fn place(address: &Address, version: u64) -> String {
    at("record", format!("{address} version {version}"))
}

fn misplaced(address: &Address, version: u64) -> Fault {
    corrupt(
        "a recent record that is not where it was written",
        place(address, version),
    )
}

#[cfg(test)]
mod tests;
