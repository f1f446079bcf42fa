//! Notices that somebody replaced, removed or cut the files under an open store: SQLite would go
//! on committing to a file that nobody will ever open again.
//!
//! On Linux the look does not ask for the file's times. Since kernel 6.13 a file whose times were
//! read gets a new, finer one at its next write, and the sync after that has to write the inode as
//! well: a commit took 45 us (40%) longer.

#[cfg(any(not(target_os = "linux"), test))]
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use svit_txn::StoreError;

use crate::fault::io as io_error;
use crate::mark::beside;

/// For how long a look at the files is good enough to write to them: no longer than a commit takes, in
/// which they may be taken away as well. What is acknowledged is looked at after its commit.
const GOOD_FOR: Duration = Duration::from_millis(1);

/// The files of an open database.
#[derive(Debug)]
pub(crate) struct Files {
    database: Watched,
    wal_path: PathBuf,
    /// None as long as there is none.
    wal: Option<Watched>,
    /// When they were last found to be those that were opened.
    looked: Option<Instant>,
}

impl Files {
    /// Remembers the database, which is about to be opened.
    pub(crate) fn of(database: &Path) -> Result<Files, StoreError> {
        let watched = Watched::growing(database);
        Ok(Files {
            database: watched.map_err(|error| io_error(database, "look at", &error))?,
            wal_path: beside(database, "-wal"),
            wal: None,
            looked: None,
        })
    }

    /// Remembers the WAL that an opened database has, if it has one already.
    pub(crate) fn opened(&mut self) {
        if self.wal.is_none() {
            self.wal = Watched::reused(&self.wal_path).ok();
        }
    }

    /// Looks, unless that was done a moment ago, whether the database is still the one that was opened. The
    /// inner error says what happened to it.
    pub(crate) fn look_again(&mut self) -> Result<Result<(), String>, StoreError> {
        match self.looked {
            Some(at) if at.elapsed() < GOOD_FOR => Ok(Ok(())),
            _ => self.look(false),
        }
    }

    /// Looks whether the database and its WAL are still those that were opened. The inner error says what
    /// happened to them. Two microseconds.
    pub(crate) fn look_at_both(&mut self) -> Result<Result<(), String>, StoreError> {
        self.opened();
        self.look(true)
    }

    fn look(&mut self, wal: bool) -> Result<Result<(), String>, StoreError> {
        let log = self.wal.as_mut().filter(|_| wal);
        for watched in [Some(&mut self.database), log].into_iter().flatten() {
            let loss = watched
                .check()
                .map_err(|error| io_error(&watched.path, "look at", &error))?;
            if let Some(loss) = loss {
                return Ok(Err(format!(
                    "{} was {} while the store was open; close the store and look at the file",
                    watched.path.display(),
                    loss.as_str()
                )));
            }
        }
        self.looked = Some(Instant::now());
        Ok(Ok(()))
    }
}

/// What happened to a file of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loss {
    Removed,
    Replaced,
    Shortened,
}

impl Loss {
    fn as_str(self) -> &'static str {
        match self {
            Loss::Removed => "removed",
            Loss::Replaced => "replaced",
            Loss::Shortened => "shortened",
        }
    }
}

/// One file and the identity it had when the store opened it.
#[derive(Debug)]
struct Watched {
    path: PathBuf,
    identity: Identity,
    /// The least length it may have: a database file never shrinks while the store is open, but
    /// its WAL does.
    len: Option<u64>,
}

impl Watched {
    /// Remembers a file that never shrinks.
    fn growing(path: &Path) -> io::Result<Watched> {
        let seen = look(path)?;
        Ok(Watched {
            path: path.to_owned(),
            identity: seen.identity,
            len: Some(seen.len),
        })
    }

    /// Remembers a file that may be cut and reused.
    fn reused(path: &Path) -> io::Result<Watched> {
        Ok(Watched {
            path: path.to_owned(),
            identity: look(path)?.identity,
            len: None,
        })
    }

    /// Looks again. One `stat`, about a microsecond.
    fn check(&mut self) -> io::Result<Option<Loss>> {
        let seen = match look(&self.path) {
            Ok(seen) => seen,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Some(Loss::Removed));
            }
            Err(error) => return Err(error),
        };
        if seen.identity != self.identity {
            return Ok(Some(Loss::Replaced));
        }
        if let Some(len) = &mut self.len {
            if seen.len < *len {
                return Ok(Some(Loss::Shortened));
            }
            *len = seen.len;
        }
        Ok(None)
    }
}

/// What one look at a path finds.
struct Seen {
    identity: Identity,
    len: u64,
}

#[derive(Debug, PartialEq, Eq)]
struct Identity {
    #[cfg(unix)]
    inode: (u64, u64),
    #[cfg(not(unix))]
    created: Option<std::time::SystemTime>,
}

#[cfg(target_os = "linux")]
fn look(path: &Path) -> io::Result<Seen> {
    use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
    let wanted = StatxFlags::TYPE | StatxFlags::INO | StatxFlags::SIZE;
    let found = statx(CWD, path, AtFlags::empty(), wanted)?;
    if found.stx_mask & wanted.bits() != wanted.bits() {
        return Err(io::Error::other("the system does not say which file it is"));
    }
    let device = u64::from(found.stx_dev_major) << 32 | u64::from(found.stx_dev_minor);
    Ok(Seen {
        identity: Identity {
            inode: (device, found.stx_ino),
        },
        len: found.stx_size,
    })
}

#[cfg(not(target_os = "linux"))]
fn look(path: &Path) -> io::Result<Seen> {
    let metadata = fs::metadata(path)?;
    Ok(Seen {
        identity: Identity::of(&metadata),
        len: metadata.len(),
    })
}

#[cfg(not(target_os = "linux"))]
impl Identity {
    fn of(metadata: &fs::Metadata) -> Identity {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            Identity {
                inode: (metadata.dev(), metadata.ino()),
            }
        }
        #[cfg(not(unix))]
        Identity {
            created: metadata.created().ok(),
        }
    }
}

#[cfg(test)]
mod tests;
