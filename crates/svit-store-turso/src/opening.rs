//! From a path to an open database: what may be there, making a new store, setting up the
//! connection, and comparing with the mark.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use svit_txn::StoreError;

use crate::fault::{Fault, io as io_error, refused, unavailable};
use crate::header::{APPLICATION_ID, Header, USER_VERSION};
use crate::mark::{Found, Sidecar, beside};
use crate::migrate;
use crate::options::{OpenOptions, Synchronous};
use crate::schema::{self, Meta};
use crate::sql::{Connection, SqlError, code};
use crate::watch::Files;

/// An open connection and the files it stands on.
pub(crate) struct Live {
    pub(crate) connection: Connection,
    pub(crate) files: Files,
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

/// Sees that the file is a store, or makes a new one where nothing is.
pub(crate) fn prepare_file(
    path: &Path,
    found: &Found,
    options: &OpenOptions,
) -> Result<(), StoreError> {
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
        // THREAT[TM-STORE-4]
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

/// Gives the format of a file that this code reads.
fn check_version(path: &Path, found: i64) -> Result<u32, StoreError> {
    let supported = USER_VERSION;
    if found > i64::from(supported) {
        return Err(StoreError::NewerFormat {
            path: path.to_owned(),
            found,
            supported: i64::from(supported),
        });
    }
    match u32::try_from(found) {
        Ok(format) if format >= migrate::OLDEST => Ok(format),
        _ => Err(StoreError::NotAStore {
            path: path.to_owned(),
            why: format!("it has format {found}, which was never released"),
        }),
    }
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

/// Opens the connection, sets it up, and reads `meta`. An older format is brought up to date after
/// `judge` has accepted the state that it is in.
pub(crate) fn open_live(
    path: &Path,
    options: &OpenOptions,
    judge: impl FnOnce(&Meta) -> Result<(), StoreError>,
) -> Result<(Live, Meta), StoreError> {
    // Before the connection: what is replaced while it opens is noticed at the first batch.
    let mut files = Files::of(path)?;
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
    let format = check_version(path, version.parse().unwrap_or(0))?;
    let changed = migrate::definitions(format);
    if let Some(name) = schema::differs(&mut connection, changed).map_err(failed)? {
        return Err(StoreError::Corrupt {
            what: format!("the definition of {name} is not the one that was made"),
            place: format!("{} sqlite_schema", path.display()),
        });
    }
    let damaged = || StoreError::Corrupt {
        what: "the row that describes the store is damaged".to_owned(),
        place: format!("{} meta", path.display()),
    };
    let found = migrate::meta(&mut connection, format).map_err(failed)?;
    let mut meta = found.ok_or_else(damaged)?;
    judge(&meta)?;
    if format < USER_VERSION {
        migrate::migrate(&mut connection, format).map_err(|fault| match fault {
            Fault::Sql(error) => failed(error),
            Fault::Store(error) => error,
        })?;
        let found = Meta::read(&mut connection).map_err(failed)?;
        meta = found.ok_or_else(damaged)?;
    }
    files.opened();
    Ok((Live { connection, files }, meta))
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
pub(crate) fn judge(
    path: &Path,
    found: &Found,
    meta: &Meta,
    options: &OpenOptions,
) -> Result<(), StoreError> {
    let sidecar = Sidecar::path_for(path);
    // THREAT[TM-STORE-2]
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
pub(crate) fn keep_wal(path: &Path) {
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

pub(crate) fn quick_check(path: &Path, connection: &mut Connection) -> Result<(), StoreError> {
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
