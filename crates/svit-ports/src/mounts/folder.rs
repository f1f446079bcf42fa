//! `FolderMount`: a folder of this machine, and nothing outside of it.
//!
//! Every call walks from the folder that was opened once, one segment at a time, each opened
//! relative to the one before and never through a symbolic link. So it does not matter what was
//! swapped for what between two calls, or within one: a name is only ever looked up in a folder that
//! was reached in this way.

use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use svit_tree::mount::{
    Grant, Locality, MountDescriptor, MountError, MountPath, MountProvider, MountStat,
};
use svit_value::{Bytes, Kind, Text, Value};

/// Names that a write uses before its file has its own; never shown.
const UNFINISHED: &str = ".svit-unfinished-";

/// How often a name for an unfinished file is taken before it is given up.
const NAME_ATTEMPTS: usize = 1_000;

/// A folder of this machine, as a mount.
///
/// A file is text if it is UTF-8, else bytes; a folder is a map of what is in it, which is listed and
/// not read as a whole. Symbolic links, devices, pipes and sockets are refused wherever they stand in
/// a path, and not listed; neither are names that are not UTF-8. What kind of value a file is, is not
/// known before it is read, so that facts about it say `text`.
///
/// A write replaces a file as a whole, by renaming a complete one over it, and makes the folders
/// above it that are not there. Writing an empty map makes a folder. A folder can be removed if it is
/// empty.
///
/// ```
/// use svit_ports::FolderMount;
/// use svit_tree::mount::{MountPath, MountProvider};
///
/// # let folder = std::env::temp_dir().join(format!("svit-doc-folder-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let notes = FolderMount::read_write(&folder)?.source("my notes");
/// let today = MountPath::parse("/2026/today.md")?;
/// notes.write(&today, &"Buy tea.".into())?;
/// assert_eq!(notes.read(&today, 1_000)?, Some("Buy tea.".into()));
/// assert_eq!(notes.list(&MountPath::root(), 10)?, ["2026"]);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Limitations
/// Unix only. Hard links and other file systems mounted inside the folder are followed, as they are
/// not links by name. Bytes that happen to be UTF-8 are read back as text. A file that stands behind
/// an unfinished write after a power cut, `.svit-unfinished-*`, stays until somebody removes it.
#[derive(Debug)]
pub struct FolderMount {
    folder: OwnedFd,
    grant: Grant,
    source: Text,
}

/// The next number for the name of an unfinished file.
static NUMBER: AtomicU64 = AtomicU64::new(0);

impl FolderMount {
    /// A folder to be read. Symbolic links on the way to it are followed: the host chose it.
    ///
    /// # Errors
    /// It is not there, is no folder, or cannot be opened.
    pub fn read_only(folder: impl AsRef<Path>) -> std::io::Result<Self> {
        Self::granting(folder.as_ref(), Grant::Read)
    }

    /// A folder to be read and written.
    ///
    /// # Errors
    /// As [`read_only`](Self::read_only).
    pub fn read_write(folder: impl AsRef<Path>) -> std::io::Result<Self> {
        Self::granting(folder.as_ref(), Grant::ReadWrite)
    }

    fn granting(folder: &Path, grant: Grant) -> std::io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self {
            folder: rustix::fs::open(folder, flags, Mode::empty())?,
            grant,
            source: Text::from("a folder"),
        })
    }

    /// Says in words which folder it is. The words are committed, so that a path of the machine is
    /// named only if the host does it here.
    #[must_use]
    pub fn source(mut self, source: impl Into<Text>) -> Self {
        self.source = source.into();
        self
    }

    /// The folder that holds the last segment of `path`, and that segment; none for the root.
    fn parent<'p>(&self, path: &'p MountPath) -> Result<Option<(OwnedFd, &'p str)>, Fault> {
        let mut segments = path.segments();
        let Some(name) = segments.next_back() else {
            return Ok(None);
        };
        check_name(name)?;
        let mut folder = self.folder.try_clone().map_err(|e| Fault::of(&e))?;
        for segment in segments {
            folder = folder_in(&folder, segment)?;
        }
        Ok(Some((folder, name)))
    }

    /// The same, making the folders that are not there.
    fn parent_made<'p>(&self, path: &'p MountPath) -> Result<(OwnedFd, &'p str), Fault> {
        let mut segments = path.segments();
        let Some(name) = segments.next_back() else {
            return Err(Fault::Refused("the folder itself cannot be replaced"));
        };
        check_name(name)?;
        let mut folder = self.folder.try_clone().map_err(|e| Fault::of(&e))?;
        for segment in segments {
            folder = match folder_in(&folder, segment) {
                Err(Fault::Missing) => {
                    match rustix::fs::mkdirat(&folder, segment, Mode::from_raw_mode(0o777)) {
                        // Somebody else has made something there meanwhile; it is looked at next.
                        Ok(()) | Err(Errno::EXIST) => folder_in(&folder, segment)?,
                        Err(error) => return Err(error.into()),
                    }
                }
                other => other?,
            };
        }
        Ok((folder, name))
    }

    fn open_folder(&self, path: &MountPath) -> Result<OwnedFd, Fault> {
        match self.parent(path)? {
            None => self.folder.try_clone().map_err(|e| Fault::of(&e)),
            Some((folder, name)) => folder_in(&folder, name),
        }
    }

    fn names(&self, path: &MountPath, limit: usize) -> Result<Vec<Text>, Fault> {
        let folder = match self.open_folder(path) {
            Ok(folder) => folder,
            Err(Fault::Missing | Fault::NotAFolder) => return Ok(Vec::new()),
            Err(fault) => return Err(fault),
        };
        let mut names = Vec::new();
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else {
                continue;
            };
            if matches!(name, "." | "..") || check_name(name).is_err() {
                continue;
            }
            let kind = match entry.file_type() {
                // Not every file system says it in the listing.
                FileType::Unknown => match kind_in(&folder, name) {
                    Ok(kind) => kind,
                    Err(Fault::Missing) => continue,
                    Err(fault) => return Err(fault),
                },
                kind => kind,
            };
            if !matches!(kind, FileType::RegularFile | FileType::Directory) {
                continue;
            }
            names.push(Text::from(name));
            if names.len() > limit {
                return Err(Fault::TooLarge("entries", limit as u64, names.len() as u64));
            }
        }
        names.sort();
        Ok(names)
    }

    fn contents(&self, path: &MountPath, max_bytes: u64) -> Result<Option<Value>, Fault> {
        let Some((folder, name)) = self.parent(path)? else {
            return Err(Fault::Refused(IS_A_FOLDER));
        };
        match kind_in(&folder, name)? {
            FileType::RegularFile => {}
            FileType::Directory => return Err(Fault::Refused(IS_A_FOLDER)),
            kind => return Err(refused(kind)),
        }
        // What is there may have been replaced since. A pipe would not hold up the opening, and
        // nothing is read of what is no file.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = rustix::fs::openat(&folder, name, flags | OFlags::CLOEXEC, Mode::empty())?;
        let stat = rustix::fs::fstat(&file)?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind != FileType::RegularFile {
            return Err(refused(kind));
        }
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        if size > max_bytes {
            return Err(Fault::TooLarge("bytes", max_bytes, size));
        }
        let mut octets = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        let mut file = std::fs::File::from(file).take(max_bytes.saturating_add(1));
        file.read_to_end(&mut octets).map_err(|e| Fault::of(&e))?;
        let read = octets.len() as u64;
        if read > max_bytes {
            return Err(Fault::TooLarge("bytes", max_bytes, read));
        }
        Ok(Some(match String::from_utf8(octets) {
            Ok(text) => Value::from(text),
            Err(other) => Value::from(Bytes::from(other.into_bytes())),
        }))
    }

    fn facts(&self, path: &MountPath) -> Result<MountStat, Fault> {
        let folder = MountStat {
            kind: Kind::Map,
            entries: None,
            bytes: None,
        };
        let Some((parent, name)) = self.parent(path)? else {
            return Ok(folder);
        };
        let stat = rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Ok(folder),
            FileType::RegularFile => Ok(MountStat {
                kind: Kind::Text,
                entries: Some(0),
                bytes: u64::try_from(stat.st_size).ok(),
            }),
            kind => Err(refused(kind)),
        }
    }

    fn check_grant(&self) -> Result<(), Fault> {
        match self.grant {
            Grant::ReadWrite => Ok(()),
            Grant::Read => Err(Fault::Denied),
        }
    }

    fn put(&self, path: &MountPath, value: &Value) -> Result<(), Fault> {
        self.check_grant()?;
        let content = Content::of(value)?;
        let (folder, name) = self.parent_made(path)?;
        let there = match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Some(stat),
            Err(Errno::NOENT) => None,
            Err(error) => return Err(error.into()),
        };
        let kind = there
            .as_ref()
            .map(|stat| FileType::from_raw_mode(stat.st_mode));
        match (content, kind) {
            (Content::Folder, Some(FileType::Directory)) => Ok(()),
            (Content::Folder, None) => Ok(rustix::fs::mkdirat(
                &folder,
                name,
                Mode::from_raw_mode(0o777),
            )?),
            (Content::Folder, Some(_)) => Err(Fault::Refused("a file is there")),
            (Content::Octets(_), Some(FileType::Directory)) => {
                Err(Fault::Refused("a folder is there"))
            }
            (Content::Octets(octets), None | Some(FileType::RegularFile)) => {
                let mode = there.map_or(0o666, |stat| stat.st_mode & 0o777);
                replace(
                    &folder,
                    name,
                    octets,
                    Mode::from_raw_mode(mode),
                    kind.is_some(),
                )
            }
            (Content::Octets(_), Some(kind)) => Err(refused(kind)),
        }
    }

    fn take(&self, path: &MountPath) -> Result<(), Fault> {
        self.check_grant()?;
        let Some((folder, name)) = self.parent(path)? else {
            return Err(Fault::Refused("the folder itself cannot be removed"));
        };
        // A link is refused although removing it would be harmless: it is not shown, so nobody can
        // mean it.
        let flags = match kind_in(&folder, name)? {
            FileType::RegularFile => AtFlags::empty(),
            FileType::Directory => AtFlags::REMOVEDIR,
            kind => return Err(refused(kind)),
        };
        match rustix::fs::unlinkat(&folder, name, flags) {
            Err(Errno::NOTEMPTY | Errno::EXIST) => Err(Fault::Refused("the folder is not empty")),
            other => Ok(other?),
        }
    }
}

impl MountProvider for FolderMount {
    fn descriptor(&self) -> MountDescriptor {
        MountDescriptor {
            kind: Text::from("folder"),
            source: self.source.clone(),
            locality: Locality::Local,
            grant: self.grant,
        }
    }

    fn list(&self, path: &MountPath, limit: usize) -> Result<Vec<Text>, MountError> {
        self.names(path, limit).map_err(|fault| fault.at(path))
    }

    fn read(&self, path: &MountPath, max_bytes: u64) -> Result<Option<Value>, MountError> {
        match self.contents(path, max_bytes) {
            Err(Fault::Missing | Fault::NotAFolder) => Ok(None),
            other => other.map_err(|fault| fault.at(path)),
        }
    }

    fn stat(&self, path: &MountPath) -> Result<Option<MountStat>, MountError> {
        match self.facts(path) {
            Ok(stat) => Ok(Some(stat)),
            Err(Fault::Missing | Fault::NotAFolder) => Ok(None),
            Err(fault) => Err(fault.at(path)),
        }
    }

    fn check(&self, path: &MountPath, value: Option<&Value>) -> Result<(), MountError> {
        let checked = || {
            self.check_grant()?;
            path.segments().try_for_each(check_name)?;
            if path.is_root() {
                return Err(Fault::Refused("the folder itself stays"));
            }
            if let Some(value) = value {
                Content::of(value)?;
            }
            // Links and special files on the way, which no write of a script takes away. What is
            // missing or in the way otherwise, an earlier write may have made or removed by then.
            match self.facts(path) {
                Ok(_) | Err(Fault::Missing | Fault::NotAFolder) => Ok(()),
                Err(fault) => Err(fault),
            }
        };
        checked().map_err(|fault| fault.at(path))
    }

    fn write(&self, path: &MountPath, value: &Value) -> Result<(), MountError> {
        self.put(path, value).map_err(|fault| fault.at(path))
    }

    fn remove(&self, path: &MountPath) -> Result<(), MountError> {
        self.take(path).map_err(|fault| fault.at(path))
    }
}

const IS_A_FOLDER: &str = "a folder: list it, and read what is in it";

/// What a value is as a file.
enum Content<'v> {
    Octets(&'v [u8]),
    Folder,
}

impl<'v> Content<'v> {
    fn of(value: &'v Value) -> Result<Self, Fault> {
        match value {
            Value::Text(text) => Ok(Self::Octets(text.as_bytes())),
            Value::Bytes(bytes) => Ok(Self::Octets(bytes)),
            Value::Map(map) if map.is_empty() => Ok(Self::Folder),
            _ => Err(Fault::Refused(
                "a file holds text or bytes; an empty map makes a folder",
            )),
        }
    }
}

/// Why something was not done, before it is known what to call the place.
enum Fault {
    Denied,
    Missing,
    NotAFolder,
    Refused(&'static str),
    TooLarge(&'static str, u64, u64),
    Failed(std::io::ErrorKind),
}

impl From<Errno> for Fault {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT => Self::Missing,
            Errno::NOTDIR => Self::NotAFolder,
            // What was no link when it was looked at is one now.
            Errno::LOOP => Self::Refused(IS_A_LINK),
            other => Self::of(&other.into()),
        }
    }
}

const IS_A_LINK: &str = "a symbolic link";

impl Fault {
    fn of(error: &std::io::Error) -> Self {
        Self::Failed(error.kind())
    }

    fn at(self, path: &MountPath) -> MountError {
        let path = path.clone();
        match self {
            Self::Denied => MountError::Denied { path },
            Self::Missing => MountError::Missing { path },
            Self::NotAFolder => MountError::Refused {
                path,
                why: "a file, with nothing below it".to_owned(),
            },
            Self::Refused(why) => MountError::Refused {
                path,
                why: why.to_owned(),
            },
            Self::TooLarge(unit, allowed, actual) => MountError::TooLarge {
                path,
                unit,
                allowed,
                actual,
            },
            // The kind alone: the system's words may name places of the machine.
            Self::Failed(kind) => MountError::Unavailable {
                path,
                why: kind.to_string(),
            },
        }
    }
}

fn refused(kind: FileType) -> Fault {
    Fault::Refused(match kind {
        FileType::Symlink => IS_A_LINK,
        _ => "neither a file nor a folder",
    })
}

/// Refuses names that could mean another place, or that are not to be seen.
fn check_name(name: &str) -> Result<(), Fault> {
    if name.contains('/') {
        return Err(Fault::Refused("a name of a file holds no `/`"));
    }
    if name.starts_with(UNFINISHED) {
        return Err(Fault::Refused("an unfinished file"));
    }
    Ok(())
}

fn kind_in(folder: impl AsFd, name: &str) -> Result<FileType, Fault> {
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FileType::from_raw_mode(stat.st_mode))
}

/// Opens a folder in a folder; a link to one is refused.
fn folder_in(folder: &OwnedFd, name: &str) -> Result<OwnedFd, Fault> {
    check_name(name)?;
    // THREAT[TM-MOUNT-1]: relative to a folder that was reached so, and not through a link.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat(folder, name, flags, Mode::empty()) {
        // Said of a link as well; it is told apart only to say so.
        Err(Errno::NOTDIR | Errno::LOOP) => match kind_in(folder, name)? {
            FileType::RegularFile => Err(Fault::NotAFolder),
            FileType::Directory => Err(Fault::Failed(std::io::ErrorKind::ResourceBusy)),
            kind => Err(refused(kind)),
        },
        other => Ok(other?),
    }
}

/// Puts a complete file in the place of `name`. It has another name until it is complete.
fn replace(
    folder: &OwnedFd,
    name: &str,
    octets: &[u8],
    mode: Mode,
    keeps_mode: bool,
) -> Result<(), Fault> {
    let (unfinished, file) = unfinished_in(folder, mode)?;
    let written = || {
        if keeps_mode {
            // The mode at creation is cut by the mask of the program.
            rustix::fs::fchmod(&file, mode)?;
        }
        let mut file = std::fs::File::from(file);
        file.write_all(octets).map_err(|e| Fault::of(&e))?;
        file.sync_all().map_err(|e| Fault::of(&e))?;
        rustix::fs::renameat(folder, unfinished.as_str(), folder, name)?;
        Ok(rustix::fs::fsync(folder)?)
    };
    written().inspect_err(|_| {
        // It may have its name already; then there is nothing to take away.
        let _ = rustix::fs::unlinkat(folder, unfinished.as_str(), AtFlags::empty());
    })
}

/// Makes a file that nobody else writes to.
fn unfinished_in(folder: &OwnedFd, mode: Mode) -> Result<(String, OwnedFd), Fault> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    for _ in 0..NAME_ATTEMPTS {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{UNFINISHED}{number}");
        match rustix::fs::openat(folder, name.as_str(), flags, mode) {
            Ok(file) => return Ok((name, file)),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Fault::Refused("there are too many unfinished files"))
}

#[cfg(test)]
mod tests;
