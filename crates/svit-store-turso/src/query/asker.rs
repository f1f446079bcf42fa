//! The thread that reads a database, and how long it is waited for.

use std::fmt;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use svit_tree::mount::{MountError, MountPath};

use super::error::QueryError;
use super::rows::Table;
use crate::sql::SqlError;
use crate::sql::reader::{Interrupter, Reader};

/// Why something was not read, before it is known where.
#[derive(Debug)]
pub(super) enum Unread {
    /// What is there cannot be shown.
    Refused(String),
    TooLarge {
        unit: &'static str,
        allowed: u64,
        actual: u64,
    },
    /// The database is not to be had.
    Unavailable(String),
    Sql(SqlError),
}

impl From<SqlError> for Unread {
    fn from(error: SqlError) -> Self {
        Self::Sql(error)
    }
}

impl Unread {
    /// The same, in words that a script may see.
    pub(super) fn at(self, path: &MountPath) -> MountError {
        let path = path.clone();
        match self {
            Self::Refused(why) => MountError::Refused { path, why },
            Self::TooLarge {
                unit,
                allowed,
                actual,
            } => MountError::TooLarge {
                path,
                unit,
                allowed,
                actual,
            },
            Self::Unavailable(why) => MountError::Unavailable { path, why },
            Self::Sql(error) => {
                // SQLite's own words may name what is none of a script's business.
                tracing::warn!(%path, %error, "a query failed");
                let why = match error.primary() {
                    0 => "the query failed".to_owned(),
                    code => format!("the query failed (SQLite code {code})"),
                };
                MountError::Unavailable { path, why }
            }
        }
    }
}

type Job = Box<dyn FnOnce(&Reader) + Send>;

/// Asks the thread, and waits for it no longer than it should.
pub(super) struct Asker {
    jobs: Sender<(Arc<Turn>, Job)>,
    interrupter: Interrupter,
    timeout: Duration,
    file: File,
}

impl fmt::Debug for Asker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asker")
            .field("file", &self.file.path)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// How far a job is. The lock is held where that changes, so that an interrupt meets no other job.
#[derive(Default)]
struct Turn(Mutex<Stage>);

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Waits,
    Runs,
    /// It has ended, or nobody waits for it any more.
    Over,
}

impl Turn {
    fn lock(&self) -> MutexGuard<'_, Stage> {
        // A stage is replaced in one assignment, so a panic elsewhere cannot leave half of one.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens the database on a thread of its own, which ends with the asker.
pub(super) fn open(
    path: &Path,
    sql: String,
    patience: Duration,
) -> Result<(Asker, Table), QueryError> {
    let unreadable = |why: String| QueryError::Unreadable {
        path: path.to_owned(),
        why,
    };
    let file = File::of(path).map_err(|error| unreadable(error.to_string()))?;
    let (answer, answered) = sync_channel(1);
    let (jobs, waiting) = channel::<(Arc<Turn>, Job)>();
    let absolute = file.path.clone();
    let work = move || {
        let opened = Reader::open(&absolute, patience).map(|reader| {
            let table = Table::of(&reader, sql);
            (reader, table)
        });
        match opened {
            Ok((reader, Ok(table))) => {
                let told = answer.send(Ok((reader.interrupter(), table)));
                if told.is_ok() {
                    serve(&reader, &waiting);
                }
            }
            Ok((_, Err(error))) => drop(answer.send(Err(Opening::Query(error)))),
            Err(error) => drop(answer.send(Err(Opening::Database(error)))),
        }
    };
    std::thread::Builder::new()
        .name("svit-query".to_owned())
        .spawn(work)
        .map_err(|error| unreadable(error.to_string()))?;
    let gone = || unreadable("its thread ended early".to_owned());
    match answered.recv().map_err(|_| gone())? {
        Ok((interrupter, table)) => {
            let asker = Asker {
                jobs,
                interrupter,
                timeout: patience,
                file,
            };
            Ok((asker, table))
        }
        Err(Opening::Query(Unopened::Database(error)) | Opening::Database(error)) => {
            Err(unreadable(error.to_string()))
        }
        Err(Opening::Query(Unopened::Query(error))) => Err(error),
    }
}

/// Why a database was not opened.
enum Opening {
    Database(SqlError),
    Query(Unopened),
}

/// Why a query has no table.
pub(super) enum Unopened {
    Database(SqlError),
    Query(QueryError),
}

fn serve(reader: &Reader, jobs: &Receiver<(Arc<Turn>, Job)>) {
    for (turn, job) in jobs {
        let mut stage = turn.lock();
        if *stage == Stage::Over {
            continue;
        }
        *stage = Stage::Runs;
        drop(stage);
        // Whoever waits is told by the end of its channel.
        let _ = catch_unwind(AssertUnwindSafe(|| job(reader)));
        *turn.lock() = Stage::Over;
    }
}

impl Asker {
    pub(super) const fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    pub(super) fn ask<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Reader) -> Result<T, Unread> + Send + 'static,
    ) -> Result<T, Unread> {
        self.file.is_the_same()?;
        let (answer, answered) = sync_channel(1);
        let turn = Arc::new(Turn::default());
        let job: Job = Box::new(move |reader| drop(answer.send(read(reader))));
        let gone = || Unread::Unavailable("the query failed inside".to_owned());
        self.jobs
            .send((turn.clone(), job))
            .map_err(|_| Unread::Unavailable("its thread has ended".to_owned()))?;
        match answered.recv_timeout(self.timeout) {
            Ok(read) => read,
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => Err(gone()),
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                let mut stage = turn.lock();
                if *stage == Stage::Runs {
                    self.interrupter.interrupt();
                }
                *stage = Stage::Over;
                drop(stage);
                let millis = self.timeout.as_millis();
                Err(Unread::Unavailable(format!("no answer within {millis} ms")))
            }
        }
    }
}

/// The file that was opened: one that was put in its place would not be read.
struct File {
    path: PathBuf,
    identity: Option<Identity>,
}

type Identity = (u64, u64);

#[cfg(unix)]
fn identity(facts: &fs::Metadata) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    Some((facts.dev(), facts.ino()))
}

#[cfg(not(unix))]
fn identity(_: &fs::Metadata) -> Option<Identity> {
    None
}

impl File {
    fn of(path: &Path) -> std::io::Result<Self> {
        let path = fs::canonicalize(path)?;
        let facts = fs::metadata(&path)?;
        if !facts.is_file() {
            return Err(std::io::Error::other("it is no file"));
        }
        let identity = identity(&facts);
        Ok(Self { path, identity })
    }

    fn is_the_same(&self) -> Result<(), Unread> {
        let gone = |why: &str| Unread::Unavailable(why.to_owned());
        match fs::metadata(&self.path) {
            Err(_) => Err(gone("the database is not there any more")),
            Ok(facts) if identity(&facts) != self.identity => {
                Err(gone("another file was put in the place of the database"))
            }
            Ok(_) => Ok(()),
        }
    }
}
