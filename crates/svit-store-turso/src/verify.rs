//! `store.verify()`: reads everything, checks everything, and says what is broken and where.
//!
//! It goes process by process and page by page, so that commits have their turn in between. Only
//! SQLite's own checks are long steps: one of all pages, and one of each table with its indexes.

use std::ops::ControlFlow;

use svit_tree::Address;
use svit_txn::{EventQuery, ProcessStore, RecordQuery, StoreError, StoreResult};
use svit_value::Digest;

use crate::fault::{Fault, ascends, at};
use crate::fork::{self, Link};
use crate::head::HeadRow;
use crate::read::{self, Reading};
use crate::schema::int;
use crate::sql::{Bind, Connection, SqlError};
use crate::store::TursoProcessStore;
use crate::{checkpoint, delete};

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
    /// Checkpoints read.
    pub checkpoints: u64,
    /// Forks read.
    pub forks: u64,
    /// Blocks that nothing reaches: a collection removes them. No damage.
    pub unreachable: u64,
    /// Rows of forgotten history that a crash has left: a collection removes them. No damage.
    pub leftovers: u64,
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
pub(crate) const STEP: i64 = 512;

impl TursoProcessStore {
    /// Reads the whole store and checks every digest, link and sum, SQLite's own structures, that
    /// nothing is hidden by a damaged index, and that every base and checkpoint has all its blocks.
    /// O(store); other callers are served meanwhile.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the store cannot be read at all. Damage is no error here: it
    /// is what the result lists.
    pub async fn verify(&self) -> StoreResult<Verification> {
        self.verify_with(|_| {}).await
    }

    /// As [`verify`](Self::verify), and tells `progress` what was read so far, after every step of
    /// at most a few hundred rows. [`stats`](Self::stats) says how much there is.
    ///
    /// # Errors
    /// As [`verify`](Self::verify).
    ///
    /// ```
    /// # use svit_store_turso::TursoProcessStore;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// let store = TursoProcessStore::open(folder.path().join("svit.db")).await?;
    /// let mut steps = 0;
    /// let found = store.verify_with(|so_far| {
    ///     steps += 1;
    ///     assert!(so_far.is_whole());
    /// });
    /// assert!(found.await?.is_whole());
    /// assert!(steps > 0);
    /// # Ok(()) }
    /// ```
    pub async fn verify_with(
        &self,
        mut progress: impl FnMut(&Verification) + Send,
    ) -> StoreResult<Verification> {
        let mut found = Verification::default();
        let quick = self.read(quick_check).await;
        match found.note(quick)? {
            Some(lines) => found.damage.extend(lines),
            None => return Ok(found),
        }
        progress(&found);
        for sql in INDEXED {
            let checked = self
                .read(move |reading| structures(reading.connection, sql))
                .await;
            let lines = found.note(checked)?;
            found.damage.extend(lines.into_iter().flatten());
            progress(&found);
        }
        self.verify_tallies(&mut found).await?;
        self.verify_blocks(&mut found, &mut progress).await?;
        let forks = self.read(forks).await;
        if let Some((read, bad)) = found.note(forks)? {
            found.forks = read;
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
                progress(&found);
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
        self.verify_gone(&mut found, &mut progress).await?;
        self.verify_reach(&mut found, &mut progress).await?;
        Ok(found)
    }

    /// Checks that no table hides a row.
    async fn verify_tallies(&self, found: &mut Verification) -> StoreResult<()> {
        type Check = fn(&mut Reading<'_>) -> Result<(), Fault>;
        let checks: [Check; 4] = [
            |reading| {
                reading.checked.forget();
                reading.checked.heads(reading.connection, reading.meta)
            },
            |reading| reading.checked.blocks(reading.connection, reading.meta),
            |reading| {
                reading
                    .checked
                    .checkpoints(reading.connection, reading.meta)
            },
            |reading| reading.checked.forks(reading.connection, reading.meta),
        ];
        for check in checks {
            let whole = self.read(check).await;
            found.note(whole)?;
        }
        Ok(())
    }

    /// Counts what deletions have left.
    async fn verify_gone(
        &self,
        found: &mut Verification,
        progress: &mut (impl FnMut(&Verification) + Send),
    ) -> StoreResult<()> {
        let mut after = Vec::new();
        loop {
            let from = after.clone();
            let step = self
                .read(move |reading| {
                    let (gone, last) = delete::gone(reading.connection, &from, None, STEP as u64)?;
                    let mut rows = 0;
                    for address in gone {
                        rows += delete::rows_of_gone(reading.connection, &address)?;
                    }
                    Ok((rows, last))
                })
                .await;
            let Some((rows, last)) = found.note(step)? else {
                return Ok(());
            };
            found.leftovers += rows;
            progress(found);
            match last {
                Some(last) => after = last,
                None => return Ok(()),
            }
        }
    }

    /// Follows every base and checkpoint to all its blocks.
    async fn verify_reach(
        &self,
        found: &mut Verification,
        progress: &mut (impl FnMut(&Verification) + Send),
    ) -> StoreResult<()> {
        let begun = self.session(|session| session.scrub()).await;
        let mut scrub = found.note(begun)?;
        while let Some(mut step) = scrub.take() {
            let stepped = self
                .read(move |reading| {
                    let ended = step.step(reading)?;
                    Ok((step, ended))
                })
                .await;
            let Some((mut step, ended)) = found.note(stepped)? else {
                return Ok(());
            };
            found.damage.append(&mut step.damage);
            found.unreachable = step.unreachable;
            if !ended {
                scrub = Some(step);
            }
            progress(found);
        }
        Ok(())
    }

    async fn verify_blocks(
        &self,
        found: &mut Verification,
        progress: &mut (impl FnMut(&Verification) + Send),
    ) -> StoreResult<()> {
        let mut after = Vec::new();
        loop {
            let from = after.clone();
            let step = self.read(move |reading| blocks(reading, &from)).await;
            let Some((read, last, damage)) = found.note(step)? else {
                return Ok(());
            };
            found.blocks += read;
            found.damage.extend(damage);
            progress(found);
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
        type Check = fn(&mut Reading<'_>, &Address, &HeadRow) -> Result<Checked, Fault>;
        let checks: [Check; 3] = [record_paths, checkpoints, rest];
        for check in checks {
            let address = address.clone();
            let checked = self
                .read(move |reading| {
                    let head = reading.head(&address)?;
                    check(reading, &address, &head)
                })
                .await;
            if let Some(checked) = found.note(checked)? {
                found.checkpoints += checked.checkpoints;
                found.leftovers += checked.leftovers;
                found.damage.extend(checked.damage);
            }
        }
        Ok(())
    }
}

/// What one check of a process found.
#[derive(Default)]
struct Checked {
    checkpoints: u64,
    leftovers: u64,
    damage: Option<Damage>,
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
    structures(
        reading.connection,
        "SELECT CAST(quick_check AS BLOB) FROM pragma_quick_check LIMIT 20",
    )
}

/// That each row of a table is found through its index, which `quick_check` does not look at. The
/// tables without rowid are their own index.
const INDEXED: [&str; 4] = [
    "SELECT CAST(integrity_check AS BLOB) FROM pragma_integrity_check('record') LIMIT 20",
    "SELECT CAST(integrity_check AS BLOB) FROM pragma_integrity_check('thread_event') LIMIT 20",
    "SELECT CAST(integrity_check AS BLOB) FROM pragma_integrity_check('block') LIMIT 20",
    "SELECT CAST(integrity_check AS BLOB) FROM pragma_integrity_check('receipt') LIMIT 20",
];

/// Runs one of SQLite's own checks.
fn structures(connection: &mut Connection, sql: &'static str) -> Result<Vec<Damage>, Fault> {
    let mut damage = Vec::new();
    connection.for_each(sql, &[], |mut row| {
        let line = row.blob(0)?;
        if line != b"ok" {
            damage.push(Damage {
                what: String::from_utf8_lossy(&line).into_owned(),
                place: "SQLite's structures".to_owned(),
            });
        }
        Ok::<_, SqlError>(ControlFlow::Continue(()))
    })?;
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
            ascends(last.as_deref().unwrap_or(after), &digest, "block")?;
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

/// Checks the row of each fork against its child, and against its parent if it depends on it.
fn forks(reading: &mut Reading<'_>) -> Result<(u64, Vec<Damage>), Fault> {
    let mut links = Vec::new();
    reading.connection.for_each(fork::ALL, &[], |row| {
        links.push(Link::decode(row)?);
        Ok::<_, Fault>(ControlFlow::Continue(()))
    })?;
    let mut damage = Vec::new();
    for link in &links {
        if let Err(fault) = fork(reading, link) {
            let Fault::Store(StoreError::Corrupt { what, place }) = fault else {
                return Err(fault);
            };
            damage.push(Damage { what, place });
        }
    }
    Ok((links.len() as u64, damage))
}

fn fork(reading: &mut Reading<'_>, link: &Link) -> Result<(), Fault> {
    let wrong = |what: &str| {
        crate::fault::corrupt(
            what,
            at("fork_ref", format!("{} {}", link.parent, link.child)),
        )
    };
    let child = HeadRow::read(reading.connection, &link.child)?;
    let child = child.ok_or_else(|| wrong("a fork without a head"))?;
    let shared = child.shared.as_ref();
    if shared.is_none_or(|it| it.thread.parent != link.parent || it.at != link.version) {
        return Err(wrong("a fork that is not the one of its head"));
    }
    if !link.depends {
        return Ok(());
    }
    let parent = HeadRow::read(reading.connection, &link.parent)?;
    let parent = parent.ok_or_else(|| wrong("a fork that depends on a process that is gone"))?;
    let base = read::base(reading.connection, &link.child, &child)?;
    let found = read::point(
        reading.connection,
        reading.checked,
        &link.parent,
        &parent,
        link.version,
    )?;
    match found == Some((link.record, base.root)) {
        true => Ok(()),
        false => Err(wrong("a fork of a version that its parent does not have")),
    }
}

/// Compares the index of paths with the paths that the records of its history carry.
fn record_paths(
    reading: &mut Reading<'_>,
    address: &Address,
    head: &HeadRow,
) -> Result<Checked, Fault> {
    let base = read::base(reading.connection, address, head)?;
    let recent = reading.checked.recent.first(reading.connection, address)?;
    let last = recent.map_or(head.version, |first| first.saturating_sub(1));
    let binds = [
        Bind::Blob(address.as_str().as_bytes()),
        Bind::Int(int(base.version)?),
        Bind::Int(int(last)?),
    ];
    let mut wanted = Vec::new();
    reading.connection.for_each(
        "SELECT version, paths FROM record WHERE address=?1 AND version>?2 AND version<=?3 ORDER BY version",
        &binds,
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
        "SELECT path, version FROM record_path WHERE address=?1 AND version>?2 AND version<=?3",
        &binds,
        |mut row| {
            found.push((row.blob(0)?, row.count(1)?));
            Ok::<_, Fault>(ControlFlow::Continue(()))
        },
    )?;
    found.sort_unstable();
    Ok(Checked {
        damage: (wanted != found).then(|| Damage {
            what: "an index of paths that is not that of the records".to_owned(),
            place: at("record_path", address),
        }),
        ..Checked::default()
    })
}

/// Checks that each checkpoint is of a version that the history has.
fn checkpoints(
    reading: &mut Reading<'_>,
    address: &Address,
    head: &HeadRow,
) -> Result<Checked, Fault> {
    let found = checkpoint::list(reading.connection, address, u64::MAX, usize::MAX)?;
    let mut checked = Checked {
        checkpoints: found.len() as u64,
        ..Checked::default()
    };
    for (checkpoint, _) in found {
        let wanted = Some((checkpoint.record, checkpoint.root));
        let found = read::point(
            reading.connection,
            reading.checked,
            address,
            head,
            checkpoint.version,
        )?;
        if found != wanted {
            checked.damage = Some(Damage {
                what: "a checkpoint of a version that the history does not have".to_owned(),
                place: at(
                    "checkpoint",
                    format!("{address} version {}", checkpoint.version),
                ),
            });
        }
    }
    Ok(checked)
}

/// Checks that a head that names a parent has its row, and counts what a cut has left.
fn rest(reading: &mut Reading<'_>, address: &Address, head: &HeadRow) -> Result<Checked, Fault> {
    if let Some(shared) = &head.shared {
        Link::of(reading.connection, address, shared)?;
    }
    let base = read::base(reading.connection, address, head)?;
    Ok(Checked {
        leftovers: read::leftovers(reading.connection, reading.checked, address, head, &base)?,
        ..Checked::default()
    })
}
