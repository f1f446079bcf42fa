//! One open database on its owner thread: opening it, committing a batch, and settling a commit
//! whose outcome SQLite could not tell.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use svit_txn::StoreError;
use svit_value::Digest;

use crate::apply::{Applying, Written};
use crate::checks::Checked;
use crate::fault::{Fault, again, io as io_error, refused, unavailable};
use crate::header::{APPLICATION_ID, Header, USER_VERSION};
use crate::mark::{Found, LockError, Mark, Sidecar, beside};
use crate::options::{OpenOptions, Synchronous};
use crate::prepared::Write;
use crate::read::Reading;
use crate::schema::{self, Meta};
use crate::sql::{Connection, SqlError, code};
use crate::stats::Counters;
use crate::sums::Sum;
use crate::watch::{Loss, Watched};

/// An open database.
pub(crate) struct Session {
    path: PathBuf,
    options: OpenOptions,
    sidecar: Sidecar,
    state: State,
    meta: Meta,
    checked: Checked,
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
}

enum State {
    Live(Box<Live>),
    /// The connection was dropped after a failure. The next command tries to open it again.
    Lost {
        why: String,
    },
    /// Nothing more is done with this file.
    Stopped {
        why: String,
    },
}

struct Live {
    connection: Connection,
    database: Watched,
    wal: Option<Watched>,
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

/// The one name under which the file is known: absolute, and without links.
pub(crate) fn canonical(path: &Path) -> Result<PathBuf, StoreError> {
    let (Some(name), Some(parent)) = (path.file_name(), path.parent()) else {
        return Err(unavailable(format!("{} names no file", path.display())));
    };
    if let Ok(whole) = fs::canonicalize(path) {
        return Ok(whole);
    }
    let parent = match parent.as_os_str().is_empty() {
        true => Path::new("."),
        false => parent,
    };
    let folder = fs::canonicalize(parent).map_err(|error| io_error(parent, "find", &error))?;
    Ok(folder.join(name))
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
        let (mut live, meta) = open_live(path, options)?;
        if let Err(error) = judge(path, &found, &meta, options) {
            keep_wal(path);
            return Err(OpenError::Store(error));
        }
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
        };
        let result = read(&mut reading);
        if let Err(Fault::Sql(error)) = &result
            && error.primary() == code::IOERR
        {
            self.lose(error);
        }
        result.map_err(|fault| fault.into_store(&self.path))
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

    /// Commits the writes in one transaction, a savepoint each, and answers each.
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
        self.check_files()?.map_err(unavailable)?;
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
        if let Err(why) = self.check_files()? {
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
        tracing::debug!(
            batch = after.batch,
            writes = writes.len(),
            landed,
            sync_us = u64::try_from(sync.as_micros()).unwrap_or(u64::MAX),
            "store batch"
        );
        Ok(applied.answers)
    }

    /// Begins a transaction and applies each write in its savepoint. The transaction is left open
    /// if any write took effect; otherwise there is nothing to commit and it is ended.
    fn apply_all(&mut self, writes: &[Write]) -> Result<Applied, SqlError> {
        let State::Live(live) = &mut self.state else {
            return Err(SqlError::Misuse("no connection".to_owned()));
        };
        live.connection.execute("BEGIN IMMEDIATE", &[])?;
        let mut applying = Applying {
            connection: &mut live.connection,
            checked: &mut self.checked,
            meta: self.meta,
            receipts_per_client: self.options.receipts_per_client,
        };
        let mut sums = Vec::with_capacity(writes.len());
        let mut answers = Vec::with_capacity(writes.len());
        for write in writes {
            let before = applying.meta;
            applying.connection.execute("SAVEPOINT one", &[])?;
            match applying.apply(write) {
                Ok((written, sum)) => {
                    sums.push(sum);
                    answers.push(Ok(written));
                }
                Err(fault) => {
                    if let Fault::Sql(error) = &fault
                        && (applying.connection.is_autocommit() || ends_batch(error))
                    {
                        return Err(error.clone());
                    }
                    applying.connection.execute("ROLLBACK TO one", &[])?;
                    applying.checked.forget_counts();
                    applying.meta = before;
                    answers.push(Err(fault.into_store(&self.path)));
                }
            }
            applying.connection.execute("RELEASE one", &[])?;
        }
        if sums.is_empty() {
            applying.connection.execute("ROLLBACK", &[])?;
            return Ok(Applied {
                answers,
                meta: None,
            });
        }
        let mut meta = applying.meta;
        meta.batch += 1;
        meta.digest = batch_digest(&self.meta.digest, meta.batch, &sums);
        Ok(Applied {
            answers,
            meta: Some(meta),
        })
    }

    fn finish(&mut self, after: &Meta) -> Result<(), SqlError> {
        let State::Live(live) = &mut self.state else {
            return Err(SqlError::Misuse("no connection".to_owned()));
        };
        after.write(&mut live.connection)?;
        #[cfg(test)]
        if self.injected == Some(Injected::NotLanded) {
            self.injected = None;
            return Err(injected());
        }
        live.connection.execute("COMMIT", &[])?;
        #[cfg(test)]
        if self.injected.take() == Some(Injected::Landed) {
            return Err(injected());
        }
        Ok(())
    }

    /// Finds out whether a commit that failed has landed. The whole batch is one transaction and
    /// raises the batch number, so the number and digest in the reopened database decide it for
    /// every write at once.
    fn settle(&mut self, after: &Meta, error: &SqlError) -> Result<(), StoreError> {
        tracing::warn!(%error, batch = after.batch, "a commit of unknown outcome is being settled");
        self.lose(error);
        let landed = match self.reopen(&[self.meta, *after]) {
            Ok(found) => found == *after,
            Err(reopening) => {
                return Err(StoreError::Unknown {
                    why: format!("{error}; then {reopening}"),
                });
            }
        };
        if !landed {
            return Err(refused(&self.path, error));
        }
        // The sync may be what failed. Copying the WAL into the database syncs anew, and through
        // other pages: only after that is the batch known to be durable.
        self.checkpoint().map_err(|error| {
            self.lose(&error);
            StoreError::Unknown {
                why: format!("the batch landed but could not be synced again: {error}"),
            }
        })
    }

    fn checkpoint(&mut self) -> Result<(), SqlError> {
        let State::Live(live) = &mut self.state else {
            return Err(SqlError::Misuse("no connection".to_owned()));
        };
        match live
            .connection
            .pragma("PRAGMA wal_checkpoint(TRUNCATE)")?
            .as_str()
        {
            "0" => Ok(()),
            busy => Err(SqlError::Misuse(format!("checkpoint was busy: {busy}"))),
        }
    }

    /// Ends a transaction that cannot go on. Nothing of it was committed.
    fn abandon(&mut self, error: &SqlError) {
        self.checked.forget_counts();
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

    /// Drops the connection; the next command opens it again.
    fn lose(&mut self, error: &SqlError) {
        self.checked = Checked::default();
        self.state = State::Lost {
            why: error.to_string(),
        };
    }

    fn ensure_open(&mut self) -> Result<(), StoreError> {
        match &self.state {
            State::Live(_) => Ok(()),
            State::Stopped { .. } => Err(self.closed()),
            State::Lost { .. } => {
                let last = self.meta;
                self.reopen(&[last]).map(drop)
            }
        }
    }

    /// Opens the connection again. The database must stand at one of the `expected` states;
    /// anything else means that it lost or gained commits, and stops the store.
    fn reopen(&mut self, expected: &[Meta]) -> Result<Meta, StoreError> {
        let (live, meta) = open_live(&self.path, &self.options)?;
        if !expected.contains(&meta) {
            let why = format!(
                "{} stood at batch {} and now stands at batch {}",
                self.path.display(),
                self.meta.batch,
                meta.batch
            );
            self.state = State::Stopped { why: why.clone() };
            return Err(StoreError::Corrupt {
                what: why,
                place: self.path.display().to_string(),
            });
        }
        self.state = State::Live(Box::new(live));
        self.meta = meta;
        Ok(meta)
    }

    fn closed(&self) -> StoreError {
        match &self.state {
            State::Stopped { why } | State::Lost { why } => unavailable(why),
            State::Live(_) => unavailable("open"),
        }
    }

    /// Looks whether the files are still those that were opened. The inner error says what
    /// happened to them; the store has stopped then.
    fn check_files(&mut self) -> Result<Result<(), String>, StoreError> {
        let State::Live(live) = &mut self.state else {
            return Err(self.closed());
        };
        if live.wal.is_none() {
            live.wal = Watched::reused(&beside(&self.path, "-wal")).ok();
        }
        let mut lost = None;
        for watched in [Some(&mut live.database), live.wal.as_mut()]
            .into_iter()
            .flatten()
        {
            let loss = watched
                .check()
                .map_err(|error| io_error(watched.path(), "look at", &error))?;
            if let Some(loss) = loss {
                lost = Some(loss_text(watched.path(), loss));
                break;
            }
        }
        let Some(why) = lost else {
            return Ok(Ok(()));
        };
        tracing::error!(%why, "the store stops");
        let stopped = State::Stopped { why: why.clone() };
        // Closing the connection would delete, by name, a WAL that may be somebody else's now.
        // The one leaked connection is the price.
        std::mem::forget(std::mem::replace(&mut self.state, stopped));
        Ok(Err(why))
    }
}

struct Applied {
    answers: Vec<Result<Written, StoreError>>,
    /// What `meta` must say after the commit; none if nothing is to be committed.
    meta: Option<Meta>,
}

/// Failures that concern the file, not the one write that met them.
fn ends_batch(error: &SqlError) -> bool {
    matches!(
        error.primary(),
        code::FULL | code::IOERR | code::READONLY | code::NOTADB | code::BUSY
    )
}

fn loss_text(path: &Path, loss: Loss) -> String {
    format!(
        "{} was {} while the store was open; close the store and look at the file",
        path.display(),
        loss.as_str()
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

/// Sees that the file is a store, or makes a new one where nothing is.
fn prepare_file(path: &Path, found: &Found, options: &OpenOptions) -> Result<(), StoreError> {
    match Header::read(path).map_err(|error| io_error(path, "read", &error))? {
        Header::Absent => {
            let wal = beside(path, "-wal");
            if fs::metadata(&wal).is_ok_and(|metadata| metadata.len() > 0) {
                return Err(StoreError::Corrupt {
                    what: "the database is missing, but its WAL is there".to_owned(),
                    place: path.display().to_string(),
                });
            }
            if let Found::Written {
                mark: Some(mark), ..
            } = found
                && mark.batch > 0
                && !options.accept_older
            {
                return Err(behind(
                    path,
                    &format!(
                        "is missing, but its mark in {} says that it had {} batches; remove both to begin anew",
                        Sidecar::path_for(path).display(),
                        mark.batch
                    ),
                ));
            }
            create(path)
        }
        Header::Foreign => Err(StoreError::NotAStore {
            path: path.to_owned(),
            why: "it does not begin like an SQLite database".to_owned(),
        }),
        Header::Sqlite { application_id, .. } if application_id != APPLICATION_ID => {
            Err(StoreError::NotAStore {
                path: path.to_owned(),
                why: format!("it belongs to application {application_id:#010x}"),
            })
        }
        Header::Sqlite { user_version, .. } => {
            check_version(path, i64::from(user_version))?;
            check_writable(path)
        }
    }
}

fn check_version(path: &Path, found: i64) -> Result<(), StoreError> {
    let supported = i64::from(USER_VERSION);
    if found > supported {
        return Err(StoreError::NewerFormat {
            path: path.to_owned(),
            found,
            supported,
        });
    }
    if found < supported {
        return Err(StoreError::NotAStore {
            path: path.to_owned(),
            why: format!("it has format {found}, which was never released"),
        });
    }
    Ok(())
}

/// SQLite opens a read-only file without a word and fails at the first write: say it at open.
fn check_writable(path: &Path) -> Result<(), StoreError> {
    let read_only = fs::metadata(path)
        .map_err(|error| io_error(path, "look at", &error))?
        .permissions()
        .readonly();
    if read_only {
        return Err(unavailable(format!("{} is read-only", path.display())));
    }
    File::options()
        .read(true)
        .write(true)
        .open(path)
        .map(drop)
        .map_err(|error| io_error(path, "write to", &error))
}

/// Makes a new store beside its place, whole and synced, and moves it there: whoever finds a file
/// there finds a store.
fn create(path: &Path) -> Result<(), StoreError> {
    let draft = beside(path, "-new");
    for suffix in ["", "-wal", "-journal"] {
        match fs::remove_file(beside(&draft, suffix)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(io_error(&draft, "remove", &error));
            }
            _ => {}
        }
    }
    let mut connection = Connection::open(&draft).map_err(|error| refused(&draft, &error))?;
    make(&mut connection).map_err(|error| refused(&draft, &error))?;
    drop(connection);
    let failed = |error: io::Error| io_error(path, "create", &error);
    File::open(&draft)
        .and_then(|file| file.sync_all())
        .map_err(failed)?;
    fs::rename(&draft, path).map_err(failed)?;
    sync_folder(path).map_err(failed)
}

fn make(connection: &mut Connection) -> Result<(), SqlError> {
    connection.pragma("PRAGMA page_size=4096")?;
    connection.pragma("PRAGMA locking_mode=EXCLUSIVE")?;
    connection.pragma("PRAGMA journal_mode=WAL")?;
    schema::create(connection, draw())?;
    connection
        .pragma("PRAGMA wal_checkpoint(TRUNCATE)")
        .map(drop)
}

/// Sixteen bytes that no other store has.
fn draw() -> [u8; 16] {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let mut bytes = [0; 16];
    for half in bytes.chunks_mut(8) {
        half.copy_from_slice(&RandomState::new().build_hasher().finish().to_le_bytes());
    }
    bytes
}

/// Makes a rename in the folder of `path` durable.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}

/// Opens the connection, sets it up, and reads `meta`.
fn open_live(path: &Path, options: &OpenOptions) -> Result<(Live, Meta), StoreError> {
    // Before the connection: what is replaced while it opens is noticed at the first batch.
    let database = Watched::growing(path).map_err(|error| io_error(path, "look at", &error))?;
    let failed = |error: SqlError| match error.primary() {
        code::BUSY | code::LOCKED => StoreError::InUse {
            path: path.to_owned(),
            pid: None,
        },
        // Its own statements are right, so a plain error means that the schema is not.
        1 => StoreError::Corrupt {
            what: error.to_string(),
            place: path.display().to_string(),
        },
        _ => refused(path, &error),
    };
    let mut connection = Connection::open(path).map_err(failed)?;
    configure(&mut connection, options).map_err(failed)?;
    let version = connection.pragma("PRAGMA user_version").map_err(failed)?;
    check_version(path, version.parse().unwrap_or(0))?;
    if let Some(table) = schema::differs(&mut connection).map_err(failed)? {
        return Err(StoreError::Corrupt {
            what: format!("the definition of {table} is not the one that was made"),
            place: format!("{} sqlite_schema", path.display()),
        });
    }
    let Some(meta) = Meta::read(&mut connection).map_err(failed)? else {
        return Err(StoreError::Corrupt {
            what: "the row that describes the store is damaged".to_owned(),
            place: format!("{} meta", path.display()),
        });
    };
    let wal = Watched::reused(&beside(path, "-wal")).ok();
    let live = Live {
        connection,
        database,
        wal,
    };
    Ok((live, meta))
}

/// Sets the pragmas, in this order, and sees that each took effect: SQLite ignores what it cannot
/// do without an error.
fn configure(connection: &mut Connection, options: &OpenOptions) -> Result<(), SqlError> {
    let synchronous = match options.synchronous {
        Synchronous::Full => 2,
        Synchronous::Normal => 1,
    };
    // A WAL that has once grown large is cut to this when it is reused.
    let journal_size = u64::from(options.wal_pages) * 4096 * 4;
    let pragmas = [
        (
            "locking_mode",
            "EXCLUSIVE".to_owned(),
            "exclusive".to_owned(),
        ),
        ("journal_mode", "WAL".to_owned(), "wal".to_owned()),
        (
            "synchronous",
            synchronous.to_string(),
            synchronous.to_string(),
        ),
        ("foreign_keys", "ON".to_owned(), "1".to_owned()),
        (
            "wal_autocheckpoint",
            options.wal_pages.to_string(),
            options.wal_pages.to_string(),
        ),
        (
            "journal_size_limit",
            journal_size.to_string(),
            journal_size.to_string(),
        ),
        ("cell_size_check", "ON".to_owned(), "1".to_owned()),
    ];
    for (name, value, wanted) in pragmas {
        let said = connection.pragma(&format!("PRAGMA {name}={value}"))?;
        let found = match said.is_empty() {
            true => connection.pragma(&format!("PRAGMA {name}"))?,
            false => said,
        };
        if found != wanted {
            return Err(SqlError::Misuse(format!(
                "PRAGMA {name}={value} left it at {found:?}"
            )));
        }
    }
    Ok(())
}

/// Compares the database with the mark that was written before its last acknowledgement.
fn judge(path: &Path, found: &Found, meta: &Meta, options: &OpenOptions) -> Result<(), StoreError> {
    let sidecar = Sidecar::path_for(path);
    let error = match found {
        Found::Nothing | Found::Written { mark: None, .. } => return Ok(()),
        Found::Damaged => StoreError::Corrupt {
            what: "the mark is damaged".to_owned(),
            place: sidecar.display().to_string(),
        },
        Found::Written {
            mark: Some(mark), ..
        } if mark.store != meta.store => behind(
            path,
            &format!(
                "is not the store that the mark in {} belongs to",
                sidecar.display()
            ),
        ),
        Found::Written {
            mark: Some(mark), ..
        } if meta.batch < mark.batch => behind(
            path,
            &format!(
                "is behind its mark: it holds {} batches of the {} that were acknowledged; a WAL was lost or damaged",
                meta.batch, mark.batch
            ),
        ),
        Found::Written {
            mark: Some(mark), ..
        } if meta.batch == mark.batch && meta.digest != mark.digest => behind(
            path,
            &format!("has another batch {} than its mark", mark.batch),
        ),
        Found::Written { .. } => return Ok(()),
    };
    if options.accept_older {
        tracing::warn!(%error, "accepted on request");
        return Ok(());
    }
    Err(error)
}

/// Gives the WAL a second name, `-wal-kept`: closing the connection copies what is readable of it
/// into the database and deletes it, and with it whatever could have been mended by hand.
fn keep_wal(path: &Path) {
    let wal = beside(path, "-wal");
    if fs::metadata(&wal).is_ok_and(|metadata| metadata.len() > 0) {
        let kept = beside(path, "-wal-kept");
        match fs::hard_link(&wal, &kept) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                tracing::warn!(%error, kept = %kept.display(), "the damaged WAL could not be kept");
            }
            _ => tracing::warn!(kept = %kept.display(), "the damaged WAL is kept"),
        }
    }
}

fn behind(path: &Path, what: &str) -> StoreError {
    StoreError::Corrupt {
        what: format!("the database {what}"),
        place: path.display().to_string(),
    }
}

fn quick_check(path: &Path, connection: &mut Connection) -> Result<(), StoreError> {
    let said = connection
        .pragma("PRAGMA quick_check(1)")
        .map_err(|error| refused(path, &error))?;
    match said.as_str() {
        "ok" => Ok(()),
        other => Err(StoreError::Corrupt {
            what: other.to_owned(),
            place: path.display().to_string(),
        }),
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
