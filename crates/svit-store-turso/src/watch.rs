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

/// What happened to a file of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loss {
    Removed,
    Replaced,
    Shortened,
}

impl Loss {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Loss::Removed => "removed",
            Loss::Replaced => "replaced",
            Loss::Shortened => "shortened",
        }
    }
}

/// One file and the identity it had when the store opened it.
#[derive(Debug)]
pub(crate) struct Watched {
    path: PathBuf,
    identity: Identity,
    /// The least length it may have: a database file never shrinks while the store is open, but
    /// its WAL does.
    len: Option<u64>,
}

impl Watched {
    /// Remembers a file that never shrinks.
    pub(crate) fn growing(path: &Path) -> io::Result<Watched> {
        let seen = look(path)?;
        Ok(Watched {
            path: path.to_owned(),
            identity: seen.identity,
            len: Some(seen.len),
        })
    }

    /// Remembers a file that may be cut and reused.
    pub(crate) fn reused(path: &Path) -> io::Result<Watched> {
        Ok(Watched {
            path: path.to_owned(),
            identity: look(path)?.identity,
            len: None,
        })
    }

    /// The file's path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Looks again. One `stat`, about a microsecond.
    pub(crate) fn check(&mut self) -> io::Result<Option<Loss>> {
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
