//! `store.backup(path)` and `TursoProcessStore::restore(backup, path)`.
//!
//! A copy is made under another name, verified as a whole, synced, and only then moved to its
//! place: what lies at the place is good, or nothing lies there.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use svit_txn::{StoreError, StoreResult};

use crate::fault::{io as io_error, refused, unavailable};
use crate::mark::{Found, LockError, Sidecar, beside, peek};
use crate::opening::{canonical, sync_folder};
use crate::store::TursoProcessStore;
use crate::verify::Verification;

/// Everything that can lie beside a database and belong to it.
const COMPANIONS: [&str; 4] = ["", "-wal", "-shm", "-journal"];

impl TursoProcessStore {
    /// Writes a compact, verified copy of the whole store to `path`, where nothing may be yet.
    /// O(store); commits wait while the copy is made, not while it is verified.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if something is there or the disk is full;
    /// [`StoreError::Corrupt`] if the copy, and so probably the store, is damaged.
    pub async fn backup(&self, path: impl AsRef<Path>) -> StoreResult<Verification> {
        let path = canonical(path.as_ref())?;
        vacant(&path)?;
        let draft = beside(&path, "-draft");
        clear(&draft)?;
        let sql = format!("VACUUM INTO '{}'", quoted(&draft)?);
        let target = draft.clone();
        self.session(move |session| {
            session.with_connection(|connection| {
                connection
                    .execute_once(&sql)
                    .map_err(|error| refused(&target, &error))
            })
        })
        .await?;
        let verified = verified(&draft).await;
        if verified.is_err() {
            clear(&draft)?;
        }
        let verified = verified?;
        on_thread(move || publish(&draft, &path)).await?;
        Ok(verified)
    }

    /// Puts a copy of a backup at `path`, where no database, WAL, journal or shared-memory file
    /// may be. The mark of a store that was there before is replaced. O(backup).
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if something is there, or if `backup` has a WAL or journal, as a
    /// store that is open has; [`StoreError::InUse`];
    /// [`StoreError::NotAStore`] and [`StoreError::Corrupt`] if the backup is not whole.
    pub async fn restore(
        backup: impl AsRef<Path>,
        path: impl AsRef<Path>,
    ) -> StoreResult<Verification> {
        let backup = canonical(backup.as_ref())?;
        let path = canonical(path.as_ref())?;
        let (mut sidecar, _) = Sidecar::take(&path).map_err(|error| match error {
            LockError::Held { pid } => StoreError::InUse {
                path: path.clone(),
                pid,
            },
            LockError::Io(error) => io_error(&path, "lock", &error),
        })?;
        vacant(&path)?;
        quiet(&backup)?;
        let draft = beside(&path, "-draft");
        clear(&draft)?;
        let (from, to) = (backup.clone(), draft.clone());
        on_thread(move || {
            fs::copy(&from, &to)
                .map(drop)
                .map_err(|error| io_error(&from, "copy", &error))
        })
        .await?;
        let verified = match verified(&draft).await {
            Ok(verified) => verified,
            Err(error) => {
                clear(&draft)?;
                return Err(error);
            }
        };
        let mark = match peek(&draft) {
            Ok(Found::Written { mark, .. }) => mark,
            _ => None,
        };
        on_thread(move || {
            sidecar
                .write(0, mark.as_ref())
                .map_err(|error| io_error(sidecar.path(), "write", &error))?;
            publish(&draft, &path)
        })
        .await?;
        Ok(verified)
    }
}

/// Opens the draft as a store, verifies it, and closes it.
async fn verified(draft: &Path) -> StoreResult<Verification> {
    let copy = TursoProcessStore::open(draft).await?;
    let found = copy.verify().await;
    copy.close().await?;
    let found = found?;
    match found.damage.first() {
        None => Ok(found),
        Some(damage) => Err(StoreError::Corrupt {
            what: damage.what.clone(),
            place: format!("{} in the copy", damage.place),
        }),
    }
}

/// Syncs the draft and moves it to its place.
fn publish(draft: &Path, path: &Path) -> StoreResult<()> {
    let failed = |error: io::Error| io_error(path, "write", &error);
    File::open(draft)
        .and_then(|file| file.sync_all())
        .map_err(failed)?;
    vacant(path)?;
    fs::rename(draft, path).map_err(failed)?;
    sync_folder(path).map_err(failed)?;
    clear(draft)
}

/// Refuses a place where a database, or something of one, lies.
fn vacant(path: &Path) -> StoreResult<()> {
    for suffix in COMPANIONS {
        let file = beside(path, suffix);
        if fs::symlink_metadata(&file).is_ok() {
            return Err(unavailable(format!("{} is there already", file.display())));
        }
    }
    Ok(())
}

/// Refuses to copy a database whose newest commits may be in another file.
fn quiet(backup: &Path) -> StoreResult<()> {
    for suffix in ["-wal", "-journal"] {
        let file = beside(backup, suffix);
        if fs::symlink_metadata(&file).is_ok() {
            return Err(unavailable(format!(
                "{} is a store in use or not closed, not a backup: {} is there",
                backup.display(),
                file.display()
            )));
        }
    }
    Ok(())
}

/// Removes a draft and what belongs to it.
fn clear(draft: &Path) -> StoreResult<()> {
    for file in COMPANIONS
        .iter()
        .map(|suffix| beside(draft, suffix))
        .chain([Sidecar::path_for(draft)])
    {
        match fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(io_error(&file, "remove", &error));
            }
            _ => {}
        }
    }
    Ok(())
}

fn quoted(path: &Path) -> StoreResult<String> {
    match path.to_str().filter(|text| !text.contains('\0')) {
        Some(text) => Ok(text.replace('\'', "''")),
        None => Err(unavailable(format!(
            "{} is not UTF-8 without NUL",
            PathBuf::from(path).display()
        ))),
    }
}

/// Runs blocking file work on a thread of its own.
async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> StoreResult<T> + Send + 'static,
) -> StoreResult<T> {
    let (answer, answered) = async_channel::bounded(1);
    std::thread::Builder::new()
        .name("svit-store-copy".to_owned())
        .spawn(move || {
            let _ = answer.try_send(work());
        })
        .map_err(|error| unavailable(format!("no thread for the copy: {error}")))?;
    match answered.recv().await {
        Ok(result) => result,
        Err(_) => Err(unavailable("the copy ended early")),
    }
}
