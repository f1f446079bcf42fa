//! One open database, for whoever sits at it: opening it, committing a batch, and settling a commit
//! whose outcome SQLite could not tell.

use std::path::{Path, PathBuf};
use std::time::Instant;

use svit_txn::StoreError;
use svit_value::Digest;

use crate::apply::{Applying, Written};
use crate::checks::Checked;
use crate::fault::{Fault, again, io as io_error, refused, unavailable};
use crate::mark::{LockError, Mark, Sidecar};
use crate::opening::{Live, judge, keep_wal, open_live, prepare_file, quick_check};
use crate::options::OpenOptions;
use crate::prepared::Write;
use crate::read::Reading;
use crate::schema::Meta;
use crate::scrub::Scrub;
use crate::sql::{Connection, SqlError, code};
use crate::stats::Counters;
use crate::sums::Sum;
use crate::underway::Underway;
use crate::watch::Files;

/// An open database.
pub(crate) struct Session {
    path: PathBuf,
    options: OpenOptions,
    sidecar: Sidecar,
    state: State,
    meta: Meta,
    checked: Checked,
    underway: Underway,
    pub(crate) counters: Counters,
    #[cfg(test)]
    pub(crate) injected: Option<Injected>,
}

/// A failure that a test asks of the next commit.
#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Injected {
    /// The commit fails and did not land.
    NotLanded,
    /// The commit lands, and then its success is lost.
    Landed,
    /// The database cannot be opened again.
    Unreadable,
}

enum State {
    Live(Box<Live>),
    /// The connection was dropped after a failure. The next command tries to open it again, and
    /// syncs anew what a failed sync may have left unwritten.
    Lost {
        why: String,
        resync: bool,
        /// The state after a commit whose outcome is open: the database may stand there as well.
        also: Option<Meta>,
    },
    /// Nothing more is done with this file.
    Stopped {
        why: String,
    },
}

/// What a failed lock or an open database came to.
pub(crate) enum OpenError {
    /// Another owner has it. In this very program, perhaps one that is just closing.
    Held {
        pid: Option<u32>,
    },
    Store(StoreError),
}

impl From<StoreError> for OpenError {
    fn from(error: StoreError) -> Self {
        OpenError::Store(error)
    }
}

impl Session {
    /// Opens or creates the store at a canonical path. O(1).
    pub(crate) fn open(path: &Path, options: &OpenOptions) -> Result<Session, OpenError> {
        let (mut sidecar, found) = Sidecar::take(path).map_err(|error| match error {
            LockError::Held { pid } => OpenError::Held { pid },
            LockError::Io(error) => {
                OpenError::Store(io_error(&Sidecar::path_for(path), "lock", &error))
            }
        })?;
        prepare_file(path, &found, options)?;
        let (mut live, meta) = open_live(path, options, |meta| {
            judge(path, &found, meta, options).inspect_err(|_| keep_wal(path))
        })?;
        if options.quick_check {
            quick_check(path, &mut live.connection)?;
        }
        sidecar
            .write(std::process::id(), Some(&mark_of(&meta)))
            .map_err(|error| io_error(sidecar.path(), "write", &error))?;
        Ok(Session {
            path: path.to_owned(),
            options: options.clone(),
            sidecar,
            state: State::Live(Box::new(live)),
            meta,
            checked: Checked::default(),
            underway: Underway::default(),
            counters: Counters::default(),
            #[cfg(test)]
            injected: None,
        })
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What is true of the whole store.
    pub(crate) fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Runs a read. A failure of the system drops the connection, for the next command to reopen.
    pub(crate) fn read<T>(
        &mut self,
        read: impl FnOnce(&mut Reading<'_>) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        self.ensure_open()?;
        let State::Live(live) = &mut self.state else {
            return Err(self.closed());
        };
        let mut reading = Reading {
            connection: &mut live.connection,
            checked: &mut self.checked,
            meta: &self.meta,
            page: self.options.page,
        };
        let result = read(&mut reading);
        self.told(result)
    }

    /// Marks for about so many blocks. True if sweeping is next.
    pub(crate) fn mark(&mut self, steps: u64) -> Result<bool, StoreError> {
        self.ensure_open()?;
        let State::Live(live) = &mut self.state else {
            return Err(self.closed());
        };
        let marked = self
            .underway
            .mark(&mut live.connection, &mut self.checked, &self.meta, steps);
        self.told(marked)
    }

    /// What a caller is told of a read. A failure of the system drops the connection.
    fn told<T>(&mut self, result: Result<T, Fault>) -> Result<T, StoreError> {
        if let Err(Fault::Sql(error)) = &result
            && error.primary() == code::IOERR
        {
            self.lose(error);
        }
        result.map_err(|fault| fault.into_store(&self.path))
    }

    /// Begins to follow every base and checkpoint.
    pub(crate) fn scrub(&mut self) -> Result<Scrub, StoreError> {
        self.ensure_open()?;
        self.counters.scrubs += 1;
        let State::Live(live) = &mut self.state else {
            return Err(self.closed());
        };
        let unfinished = self.underway.roots();
        let begun = Scrub::begin(&mut live.connection, self.counters.scrubs, unfinished);
        self.told(begun)
    }

    /// How many checkpoints are not whole yet.
    pub(crate) fn unfinished(&self) -> u64 {
        self.underway.unfinished()
    }

    /// Runs something outside a transaction.
    pub(crate) fn with_connection<T>(
        &mut self,
        run: impl FnOnce(&mut Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.ensure_open()?;
        match &mut self.state {
            State::Live(live) => run(&mut live.connection),
            _ => Err(self.closed()),
        }
    }

    /// Commits the writes in one transaction, each of them whole or not at all, and answers each.
    pub(crate) fn commit(&mut self, writes: &[Write]) -> Vec<Result<Written, StoreError>> {
        self.try_commit(writes)
            .unwrap_or_else(|error| writes.iter().map(|_| Err(again(&error))).collect())
    }

    /// Checkpoints and closes. The mark stays; the owner's process id goes.
    pub(crate) fn close(mut self) {
        let State::Live(live) = self.state else {
            return;
        };
        drop(live);
        let mark = mark_of(&self.meta);
        if let Err(error) = self.sidecar.write(0, Some(&mark)) {
            tracing::warn!(%error, "the mark could not be written at close");
        }
    }

    fn try_commit(
        &mut self,
        writes: &[Write],
    ) -> Result<Vec<Result<Written, StoreError>>, StoreError> {
        self.ensure_open()?;
        self.look(Files::look_again)?.map_err(unavailable)?;
        let applied = match self.apply_all(writes) {
            Ok(applied) => applied,
            Err(error) => {
                self.abandon(&error);
                return Err(refused(&self.path, &error));
            }
        };
        let Some(after) = applied.meta else {
            return Ok(applied.answers);
        };
        let started = Instant::now();
        if let Err(error) = self.finish(&after) {
            self.settle(&after, &error)?;
        }
        let sync = started.elapsed();
        self.meta = after;
        // The batch is in the file that is open. If that file cannot be looked at, or is another one by
        // now, nobody can say whether the next reader finds it.
        let looked = self
            .look(Files::look_at_both)
            .map_err(|error| error.to_string());
        if let Err(why) = looked.flatten() {
            return Err(StoreError::Unknown { why });
        }
        if let Err(error) = self
            .sidecar
            .write(std::process::id(), Some(&mark_of(&after)))
        {
            // What was committed is durable; only the next loss of a tail would go unnoticed.
            tracing::warn!(%error, "the mark could not be written");
        }
        let landed = applied
            .answers
            .iter()
            .filter(|answer| answer.is_ok())
            .count();
        self.counters.batch(landed, sync);
        for written in applied.answers.iter().flatten() {
            if let Written::Swept(collected) = written {
                self.counters.collected_blocks += collected.blocks;
                self.counters.collected_bytes += collected.bytes;
            }
        }
        tracing::debug!(
            batch = after.batch,
            writes = writes.len(),
            landed,
            sync_us = u64::try_from(sync.as_micros()).unwrap_or(u64::MAX),
            "store batch"
        );
        Ok(applied.answers)
    }

    /// Begins a transaction and applies the writes. It is left open if any of them took effect;
    /// otherwise there is nothing to commit and it is ended.
    ///
    /// Most writes do what they are asked or are refused before they have written anything. So there are no
    /// savepoints until a write fails half-way: then the batch is rolled back and applied again with them.
    fn apply_all(&mut self, writes: &[Write]) -> Result<Applied, SqlError> {
        match self.apply_each(writes, false)? {
            Some(applied) => Ok(applied),
            None => {
                let again = self.apply_each(writes, true)?;
                again.ok_or_else(|| SqlError::Misuse("a savepoint did not hold".to_owned()))
            }
        }
    }

    /// None, and no transaction, if a write that was in no savepoint failed half-way.
    fn apply_each(
        &mut self,
        writes: &[Write],
        savepoints: bool,
    ) -> Result<Option<Applied>, SqlError> {
        let State::Live(live) = &mut self.state else {
            return Err(SqlError::Misuse("no connection".to_owned()));
        };
        live.connection.execute("BEGIN IMMEDIATE", &[])?;
        self.checked.begin_batch();
        self.underway.begin_batch();
        let mut applying = Applying {
            connection: &mut live.connection,
            checked: &mut self.checked,
            underway: &mut self.underway,
            meta: self.meta,
            events_kept: self.options.events_per_process,
            recent_records: self.options.recent_records,
        };
        let mut sums = Vec::with_capacity(writes.len());
        let mut answers = Vec::with_capacity(writes.len());
        for write in writes {
            let (before, executed) = (applying.meta, applying.connection.executed());
            applying.checked.begin();
            applying.underway.begin();
            if savepoints {
                applying.connection.execute("SAVEPOINT one", &[])?;
            }
            match applying.apply(write) {
                Ok((written, sum)) => {
                    sums.extend(sum);
                    answers.push(Ok(written));
                }
                Err(fault) => {
                    if let Fault::Sql(error) = &fault
                        && (applying.connection.is_autocommit() || ends_batch(error))
                    {
                        return Err(error.clone());
                    }
                    let untouched = applying.connection.executed() == executed;
                    // A lone write is rolled back with its transaction.
                    if !savepoints && !untouched && writes.len() > 1 {
                        applying.connection.execute("ROLLBACK", &[])?;
                        self.checked.roll_back_batch();
                        self.underway.roll_back_batch();
                        return Ok(None);
                    }
                    if savepoints {
                        applying.connection.execute("ROLLBACK TO one", &[])?;
                    }
                    applying.checked.roll_back();
                    applying.underway.roll_back();
                    applying.meta = before;
                    answers.push(Err(fault.into_store(&self.path)));
                }
            }
            if savepoints {
                applying.connection.execute("RELEASE one", &[])?;
            }
        }
        if sums.is_empty() {
            applying.connection.execute("ROLLBACK", &[])?;
            // Records that were filed on the way are not.
            self.checked.recent.roll_back_batch();
            let meta = None;
            return Ok(Some(Applied { answers, meta }));
        }
        let mut meta = applying.meta;
        meta.batch += 1;
        meta.digest = batch_digest(&self.meta.digest, meta.batch, &sums);
        Ok(Some(Applied {
            answers,
            meta: Some(meta),
        }))
    }

    fn finish(&mut self, after: &Meta) -> Result<(), SqlError> {
        let State::Live(live) = &mut self.state else {
            return Err(SqlError::Misuse("no connection".to_owned()));
        };
        after.replace(&self.meta, &mut live.connection)?;
        #[cfg(test)]
        if self.injected == Some(Injected::NotLanded) {
            self.injected = None;
            return Err(injected());
        }
        live.connection.execute("COMMIT", &[])?;
        #[cfg(test)]
        match self.injected {
            Some(Injected::Landed) => {
                self.injected = None;
                return Err(injected());
            }
            Some(Injected::Unreadable) => return Err(injected()),
            _ => {}
        }
        Ok(())
    }

    /// Finds out whether a commit that failed has landed. The whole batch is one transaction and
    /// raises the batch number, so the number and digest in the reopened database decide it for
    /// every write at once.
    fn settle(&mut self, after: &Meta, error: &SqlError) -> Result<(), StoreError> {
        tracing::warn!(%error, batch = after.batch, "a commit of unknown outcome is being settled");
        self.lose(error);
        if let State::Lost { also, .. } = &mut self.state {
            *also = Some(*after);
        }
        let unknown = |then: StoreError| StoreError::Unknown {
            why: format!("{error}; then {then}"),
        };
        let found = self.reopen().map_err(unknown)?;
        if found != *after {
            return Err(refused(&self.path, error));
        }
        match resyncs(error) {
            true => Ok(()),
            false => self.resync().map_err(unknown),
        }
    }

    /// Copies the WAL into the database. That writes and syncs anew, and through other pages, what
    /// a failed sync left unwritten and the system has forgotten: only then does the next sync
    /// cover all that is read here.
    fn resync(&mut self) -> Result<(), StoreError> {
        let State::Live(live) = &mut self.state else {
            return Err(self.closed());
        };
        let error = match live.connection.pragma("PRAGMA wal_checkpoint(TRUNCATE)") {
            Ok(busy) if busy == "0" => return Ok(()),
            Ok(_) => SqlError::Misuse("the checkpoint was busy".to_owned()),
            Err(error) => error,
        };
        self.forget();
        self.state = State::Lost {
            why: error.to_string(),
            resync: true,
            also: None,
        };
        Err(refused(&self.path, &error))
    }

    /// Ends a transaction that cannot go on. Nothing of it was committed.
    fn abandon(&mut self, error: &SqlError) {
        self.forget();
        if let State::Live(live) = &mut self.state
            && !live.connection.is_autocommit()
            && let Err(error) = live.connection.execute("ROLLBACK", &[])
        {
            self.lose(&error);
            return;
        }
        if ends_batch(error) && error.primary() != code::FULL {
            self.lose(error);
        }
    }

    /// Forgets what was checked, and what was under way.
    fn forget(&mut self) {
        self.checked.forget();
        self.underway.forget();
    }

    /// Drops the connection; the next command opens it again.
    fn lose(&mut self, error: &SqlError) {
        self.forget();
        let (before, also) = match self.state {
            State::Lost { resync, also, .. } => (resync, also),
            State::Live(_) | State::Stopped { .. } => (false, None),
        };
        self.state = State::Lost {
            why: error.to_string(),
            resync: before || resyncs(error),
            also,
        };
    }

    fn ensure_open(&mut self) -> Result<(), StoreError> {
        match &self.state {
            State::Live(_) => Ok(()),
            State::Stopped { .. } => Err(self.closed()),
            State::Lost { .. } => self.reopen().map(drop),
        }
    }

    /// Opens a lost connection again. The database must stand where it was left, or where the
    /// commit whose outcome is open would have brought it; anything else means that it lost or
    /// gained commits, and stops the store.
    fn reopen(&mut self) -> Result<Meta, StoreError> {
        let State::Lost { resync, also, .. } = self.state else {
            return Err(self.closed());
        };
        #[cfg(test)]
        if self.injected == Some(Injected::Unreadable) {
            self.injected = None;
            return Err(unavailable("injected by a test"));
        }
        let (live, found) = open_live(&self.path, &self.options, |_| Ok(()))?;
        if found != self.meta && Some(found) != also {
            let why = format!(
                "{} stood at batch {} and now stands at batch {}",
                self.path.display(),
                self.meta.batch,
                found.batch
            );
            self.state = State::Stopped { why: why.clone() };
            return Err(StoreError::Corrupt {
                what: why,
                place: self.path.display().to_string(),
            });
        }
        self.meta = found;
        self.state = State::Live(Box::new(live));
        if resync {
            self.resync()?;
        }
        Ok(found)
    }

    fn closed(&self) -> StoreError {
        match &self.state {
            State::Stopped { why } | State::Lost { why, .. } => unavailable(why),
            State::Live(_) => unavailable("open"),
        }
    }

    /// Looks whether the files are still those that were opened. The inner error says what happened to
    /// them; the store has stopped then.
    fn look(
        &mut self,
        look: impl FnOnce(&mut Files) -> Result<Result<(), String>, StoreError>,
    ) -> Result<Result<(), String>, StoreError> {
        let State::Live(live) = &mut self.state else {
            return Err(self.closed());
        };
        let looked = look(&mut live.files)?;
        if let Err(why) = &looked {
            tracing::error!(%why, "the store stops");
            let stopped = State::Stopped { why: why.clone() };
            // Closing the connection would delete, by name, a WAL that may be somebody else's now.
            // The one leaked connection is the price.
            std::mem::forget(std::mem::replace(&mut self.state, stopped));
        }
        Ok(looked)
    }
}

struct Applied {
    answers: Vec<Result<Written, StoreError>>,
    /// What `meta` must say after the commit; none if nothing is to be committed.
    meta: Option<Meta>,
}

/// A full disk refuses to write; only other failures can leave unwritten what was to be synced.
fn resyncs(error: &SqlError) -> bool {
    error.primary() != code::FULL
}

/// Failures that concern the file, not the one write that met them.
fn ends_batch(error: &SqlError) -> bool {
    matches!(
        error.primary(),
        code::FULL | code::IOERR | code::READONLY | code::NOTADB | code::BUSY
    )
}

fn batch_digest(previous: &Digest, batch: u64, sums: &[Sum]) -> Digest {
    let mut bytes = Vec::with_capacity(40 + 16 * sums.len());
    bytes.extend_from_slice(previous.as_bytes());
    bytes.extend_from_slice(&batch.to_le_bytes());
    for sum in sums {
        bytes.extend_from_slice(sum);
    }
    Digest::of(&bytes)
}

fn mark_of(meta: &Meta) -> Mark {
    Mark {
        store: meta.store,
        batch: meta.batch,
        digest: meta.digest,
    }
}

#[cfg(test)]
fn injected() -> SqlError {
    SqlError::Failure {
        code: code::IOERR,
        message: "injected by a test".to_owned(),
    }
}

#[cfg(test)]
mod tests;
