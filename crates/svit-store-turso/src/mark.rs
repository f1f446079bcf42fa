//! The sidecar file `<database>-lock`: who owns the store, and how far it had come.
//!
//! Nothing inside a database can tell that its tail is missing, because the older state is
//! consistent. So after each synced batch, and before anyone is told, the batch's number and
//! digest are written here. A database behind this mark has lost something. The write is not
//! synced: after a power failure the mark may be older than the database, which is harmless.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use svit_value::Digest;

/// The state that the mark speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Which store it is: drawn when the store was created.
    pub(crate) store: [u8; 16],
    /// How many batches it has committed.
    pub(crate) batch: u64,
    /// The digest of the newest batch, which covers the digest before it.
    pub(crate) digest: Digest,
}

/// What the sidecar file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing was ever written, or a power failure kept it from the disk.
    Nothing,
    /// Neither empty nor as it was written.
    Damaged,
    /// An owner's process id (0 if it closed the store), and its mark if it had one.
    Written { pid: u32, mark: Option<Mark> },
}

/// Why the sidecar file could not be taken.
#[derive(Debug)]
pub(crate) enum LockError {
    /// Another owner holds it; its process id if it could be read.
    Held {
        pid: Option<u32>,
    },
    Io(io::Error),
}

/// The sidecar file, locked for as long as this value lives.
#[derive(Debug)]
pub(crate) struct Sidecar {
    file: File,
    path: PathBuf,
}

impl Drop for Sidecar {
    /// Closing the file is not enough: a program that another thread is just starting has inherited
    /// the descriptor, and would hold the lock until its `exec`.
    fn drop(&mut self) {
        // If it cannot be unlocked, closing it is what is left.
        let _ = self.file.unlock();
    }
}

const LEN: usize = 256;
const MAGIC: &str = "svit-lock@1";

impl Sidecar {
    /// Where the sidecar of this database lies.
    pub(crate) fn path_for(database: &Path) -> PathBuf {
        beside(database, "-lock")
    }

    /// Creates the file if need be, locks it, and reads it.
    pub(crate) fn take(database: &Path) -> Result<(Sidecar, Found), LockError> {
        let path = Sidecar::path_for(database);
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(LockError::Io)?;
        // THREAT[TM-STORE-3]
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let pid = match read(&mut file) {
                    Ok(Found::Written { pid, .. }) if pid != 0 => Some(pid),
                    _ => None,
                };
                return Err(LockError::Held { pid });
            }
            Err(TryLockError::Error(error)) => return Err(LockError::Io(error)),
        }
        let found = read(&mut file).map_err(LockError::Io)?;
        Ok((Sidecar { file, path }, found))
    }

    /// Where it lies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes owner and mark, in one write and without a sync.
    pub(crate) fn write(&mut self, pid: u32, mark: Option<&Mark>) -> io::Result<()> {
        let text = render(pid, mark);
        #[cfg(unix)]
        {
            use std::os::unix::fs::FileExt;
            self.file.write_all_at(&text, 0)
        }
        #[cfg(not(unix))]
        {
            use std::io::Write;
            self.file.seek(SeekFrom::Start(0))?;
            self.file.write_all(&text)
        }
    }
}

/// The path of a file that belongs to the database: its name with `suffix` at the end.
pub(crate) fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn read(file: &mut File) -> io::Result<Found> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(2 * LEN as u64).read_to_end(&mut bytes)?;
    Ok(parse(&bytes))
}

/// Reads the sidecar of a database without taking it.
pub(crate) fn peek(database: &Path) -> io::Result<Found> {
    match File::open(Sidecar::path_for(database)) {
        Ok(mut file) => read(&mut file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Found::Nothing),
        Err(error) => Err(error),
    }
}

fn render(pid: u32, mark: Option<&Mark>) -> Vec<u8> {
    let mut text = Vec::with_capacity(LEN);
    text.extend_from_slice(MAGIC.as_bytes());
    text.extend_from_slice(b" pid=");
    decimal(&mut text, u64::from(pid), 10);
    match mark {
        Some(mark) => {
            text.extend_from_slice(b" store=");
            hex(&mut text, &mark.store);
            text.extend_from_slice(b" batch=");
            decimal(&mut text, mark.batch, 20);
            text.extend_from_slice(b" digest=");
            hex(&mut text, mark.digest.as_bytes());
        }
        None => text.extend_from_slice(b" new"),
    }
    let check = Digest::of(&text);
    text.extend_from_slice(b" check=");
    hex(&mut text, &check.as_bytes()[..16]);
    text.resize(LEN - 1, b' ');
    text.push(b'\n');
    text
}

fn parse(bytes: &[u8]) -> Found {
    if bytes.iter().all(|byte| *byte == 0) {
        return Found::Nothing;
    }
    fields(bytes).unwrap_or(Found::Damaged)
}

fn fields(bytes: &[u8]) -> Option<Found> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut words = text.split_ascii_whitespace();
    (words.next()? == MAGIC).then_some(())?;
    let pid: u32 = words.next()?.strip_prefix("pid=")?.parse().ok()?;
    let mark = match words.next()? {
        "new" => None,
        store => Some(Mark {
            store: unhex(store.strip_prefix("store=")?)?,
            batch: words.next()?.strip_prefix("batch=")?.parse().ok()?,
            digest: words.next()?.strip_prefix("digest=")?.parse().ok()?,
        }),
    };
    // Written again it must be the same bytes: that covers the check and every stray byte.
    (render(pid, mark.as_ref()) == bytes).then_some(Found::Written { pid, mark })
}

fn hex(text: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)]);
        text.push(DIGITS[usize::from(byte & 15)]);
    }
}

fn decimal(text: &mut Vec<u8>, number: u64, width: usize) {
    let start = text.len();
    text.resize(start + width, b'0');
    let mut rest = number;
    for digit in text[start..].iter_mut().rev() {
        *digit += (rest % 10) as u8;
        rest /= 10;
    }
}

fn unhex(text: &str) -> Option<[u8; 16]> {
    let mut bytes = [0; 16];
    if text.len() != 32 || !text.is_ascii() {
        return None;
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * index..2 * index + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests;
