//! `store.verify()`: reads everything, checks everything, and says what is broken and where.
//!
//! It goes process by process and page by page, so that commits have their turn in between. Only
//! SQLite's own `quick_check` is one long step.

use std::ops::ControlFlow;

use svit_tree::Address;
use svit_txn::{EventQuery, ProcessStore, RecordQuery, StoreError, StoreResult};
use svit_value::Digest;

use crate::apply::fork_ref_sum;
use crate::fault::{Fault, at};
use crate::read::{self, Reading};
use crate::schema::int;
use crate::sql::{Bind, SqlError};
use crate::store::TursoProcessStore;
use crate::sums::Sum;

/// What [`TursoProcessStore::verify`] read, and what it found broken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verification {
    /// Processes read.
    pub processes: u64,
    /// Records read.
    pub records: u64,
    /// Thread events read.
    pub events: u64,
    /// Blocks read.
    pub blocks: u64,
    /// What is broken. Of one process at most the first damage of each sort is listed.
    pub damage: Vec<Damage>,
}

impl Verification {
    /// True if nothing is broken.
    pub fn is_whole(&self) -> bool {
        self.damage.is_empty()
    }
}

/// One thing that is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// What is wrong.
    pub what: String,
    /// Where: a table and a key, or a file.
    pub place: String,
}

/// Rows of one step over the blocks, the forks and the paths.
const STEP: i64 = 512;

impl TursoProcessStore {
    /// Reads the whole store and checks every digest, link and sum, SQLite's own structures, and
    /// that nothing is hidden by a damaged index. O(store); other callers are served meanwhile.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the store cannot be read at all. Damage is no error here: it
    /// is what the result lists.
    pub async fn verify(&self) -> StoreResult<Verification> {
        let mut found = Verification::default();
        let quick = self.read(quick_check).await;
        match found.note(quick)? {
            Some(lines) => found.damage.extend(lines),
            None => return Ok(found),
        }
        let whole = self
            .read(|reading| {
                reading.checked.forget();
                reading.checked.heads(reading.connection, reading.meta)?;
                reading.checked.blocks(reading.connection, reading.meta)
            })
            .await;
        found.note(whole)?;
        self.verify_blocks(&mut found).await?;
        let forks = self.read(fork_refs).await;
        if let Some(bad) = found.note(forks)? {
            found.damage.extend(bad);
        }
        let mut after = None;
        loop {
            let page = self.addresses(after.as_ref(), 256).await;
            let Some(addresses) = found.note(page)? else {
                break;
            };
            for address in &addresses {
                found.processes += 1;
                self.verify_process(address, &mut found).await?;
            }
            tracing::debug!(
                processes = found.processes,
                records = found.records,
                damage = found.damage.len(),
                "store scrub"
            );
            match addresses.into_iter().last() {
                Some(last) => after = Some(last),
                None => break,
            }
        }
        Ok(found)
    }

    async fn verify_blocks(&self, found: &mut Verification) -> StoreResult<()> {
        let mut after = Vec::new();
        loop {
            let from = after.clone();
            let step = self.read(move |reading| blocks(reading, &from)).await;
            let Some((read, last, damage)) = found.note(step)? else {
                return Ok(());
            };
            found.blocks += read;
            found.damage.extend(damage);
            match last {
                Some(last) => after = last,
                None => return Ok(()),
            }
        }
    }

    async fn verify_process(&self, address: &Address, found: &mut Verification) -> StoreResult<()> {
        let head = self.load(address).await;
        let Some(head) = found.note(head)? else {
            return Ok(());
        };
        let mut query = RecordQuery {
            from: 0,
            to: head.version,
            limit: STEP as usize,
        };
        loop {
            let page = self.records(address, query).await;
            let Some(records) = found.note(page)? else {
                break;
            };
            found.records += records.len() as u64;
            match records.last() {
                Some(last) => query.from = last.version + 1,
                None => break,
            }
        }
        let mut query = EventQuery {
            from: 0,
            limit: STEP as usize,
            newest_first: false,
        };
        loop {
            let page = self.events(address, query).await;
            let Some(events) = found.note(page)? else {
                break;
            };
            found.events += events.len() as u64;
            match events.last() {
                Some(last) => query.from = last.seq + 1,
                None => break,
            }
        }
        let (address, version) = (address.clone(), head.version);
        let paths = self
            .read(move |reading| record_paths(reading, &address, version))
            .await;
        if let Some(damage) = found.note(paths)? {
            found.damage.extend(damage);
        }
        Ok(())
    }
}

impl Verification {
    /// Keeps damage and gives nothing for it; lets every other error out.
    fn note<T>(&mut self, result: StoreResult<T>) -> StoreResult<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(StoreError::Corrupt { what, place }) => {
                self.damage.push(Damage { what, place });
                Ok(None)
            }
            Err(other) => Err(other),
        }
    }
}

fn quick_check(reading: &mut Reading<'_>) -> Result<Vec<Damage>, Fault> {
    // What is cached was good when it was read; the file is what is to be checked.
    reading.connection.pragma("PRAGMA shrink_memory")?;
    let mut damage = Vec::new();
    reading.connection.for_each(
        "SELECT CAST(quick_check AS BLOB) FROM pragma_quick_check LIMIT 20",
        &[],
        |mut row| {
            let line = row.blob(0)?;
            if line != b"ok" {
                damage.push(Damage {
                    what: String::from_utf8_lossy(&line).into_owned(),
                    place: "SQLite's structures".to_owned(),
                });
            }
            Ok::<_, SqlError>(ControlFlow::Continue(()))
        },
    )?;
    Ok(damage)
}

/// Checks the blocks behind `after`: how many, the last one's digest if there was one, the damage.
#[allow(clippy::type_complexity, reason = "used once, named here")]
fn blocks(
    reading: &mut Reading<'_>,
    after: &[u8],
) -> Result<(u64, Option<Vec<u8>>, Vec<Damage>), Fault> {
    let (mut read, mut last, mut damage) = (0, None, Vec::new());
    reading.connection.for_each(
        "SELECT digest, len, data FROM block WHERE digest>?1 ORDER BY digest LIMIT ?2",
        &[Bind::Blob(after), Bind::Int(STEP)],
        |mut row| {
            let (digest, len, data) = (row.array::<32>(0)?, row.count(1)?, row.blob(2)?);
            read += 1;
            last = Some(digest.to_vec());
            let digest = Digest::from_bytes(digest);
            if len != data.len() as u64 || Digest::of(&data) != digest {
                damage.push(Damage {
                    what: "a block that does not have its digest".to_owned(),
                    place: at("block", digest),
                });
            }
            Ok::<_, Fault>(ControlFlow::Continue(()))
        },
    )?;
    Ok((read, last, damage))
}

fn fork_refs(reading: &mut Reading<'_>) -> Result<Vec<Damage>, Fault> {
    let mut damage = Vec::new();
    reading.connection.for_each(
        "SELECT parent, version, child, record, sum FROM fork_ref",
        &[],
        |mut row| {
            let (parent, version, child) = (row.blob(0)?, row.count(1)?, row.blob(2)?);
            let record = Digest::from_bytes(row.array(3)?);
            let sum: Sum = row.array(4)?;
            if fork_ref_sum(&parent, version, &child, &record) != sum {
                damage.push(Damage {
                    what: "a fork that does not have its sum".to_owned(),
                    place: at("fork_ref", String::from_utf8_lossy(&parent)),
                });
            }
            Ok::<_, Fault>(ControlFlow::Continue(()))
        },
    )?;
    Ok(damage)
}

/// Compares the index of paths with the paths that the records carry, up to a version.
fn record_paths(
    reading: &mut Reading<'_>,
    address: &Address,
    version: u64,
) -> Result<Vec<Damage>, Fault> {
    let key = address.as_str().as_bytes();
    let mut wanted = Vec::new();
    reading.connection.for_each(
        "SELECT version, paths FROM record WHERE address=?1 AND version<=?2 ORDER BY version",
        &[Bind::Blob(key), Bind::Int(int(version)?)],
        |mut row| {
            let (version, paths) = (row.count(0)?, row.blob(1)?);
            wanted.extend(read::paths(&paths).map(|path| (path.to_vec(), version)));
            Ok::<_, Fault>(ControlFlow::Continue(()))
        },
    )?;
    wanted.sort_unstable();
    wanted.dedup();
    let mut found = Vec::with_capacity(wanted.len());
    reading.connection.for_each(
        "SELECT path, version FROM record_path WHERE address=?1 AND version<=?2",
        &[Bind::Blob(key), Bind::Int(int(version)?)],
        |mut row| {
            found.push((row.blob(0)?, row.count(1)?));
            Ok::<_, Fault>(ControlFlow::Continue(()))
        },
    )?;
    found.sort_unstable();
    if wanted == found {
        return Ok(Vec::new());
    }
    Ok(vec![Damage {
        what: "an index of paths that is not that of the records".to_owned(),
        place: at("record_path", address),
    }])
}
