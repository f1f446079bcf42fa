//! Notices that somebody replaced, removed or cut the files under an open store: SQLite would go
//! on committing to a file that nobody will ever open again.

use std::fs::{self, Metadata};
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
        let metadata = fs::metadata(path)?;
        Ok(Watched {
            path: path.to_owned(),
            identity: Identity::of(&metadata),
            len: Some(metadata.len()),
        })
    }

    /// Remembers a file that may be cut and reused.
    pub(crate) fn reused(path: &Path) -> io::Result<Watched> {
        let metadata = fs::metadata(path)?;
        Ok(Watched {
            path: path.to_owned(),
            identity: Identity::of(&metadata),
            len: None,
        })
    }

    /// The file's path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Looks again. One `stat`, about a microsecond.
    pub(crate) fn check(&mut self) -> io::Result<Option<Loss>> {
        let metadata = match fs::metadata(&self.path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Some(Loss::Removed));
            }
            Err(error) => return Err(error),
        };
        if Identity::of(&metadata) != self.identity {
            return Ok(Some(Loss::Replaced));
        }
        if let Some(len) = &mut self.len {
            if metadata.len() < *len {
                return Ok(Some(Loss::Shortened));
            }
            *len = metadata.len();
        }
        Ok(None)
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Identity {
    #[cfg(unix)]
    inode: (u64, u64),
    #[cfg(not(unix))]
    created: Option<std::time::SystemTime>,
}

impl Identity {
    fn of(metadata: &Metadata) -> Identity {
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
