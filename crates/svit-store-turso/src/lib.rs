//! Durability on libSQL: the histories of many processes in one file.
//!
//! [`TursoProcessStore`] implements `svit_txn::ProcessStore`. It moves records and knows nothing of
//! what they mean; process logic lives in `svit-txn`.
//!
//! ```
//! use svit_store_turso::TursoProcessStore;
//! use svit_txn::Process;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("svit.db");
//! let store = TursoProcessStore::open(&path).await?;
//! let process = Process::builder("svit://local/demo")?.memory("count", 6).build()?;
//! let process = store.create(process).await?;
//! process.write("/memory/count", 9).await?;
//! drop((store, process));
//!
//! let store = TursoProcessStore::open(&path).await?;
//! let process = store.resume("svit://local/demo").await?;
//! assert_eq!(process.read("/memory/count")?, Some(9.into()));
//! assert!(store.verify().await?.is_whole());
//! # Ok(()) }
//! ```
//!
//! # What it does
//! - One thread owns the one connection. Commits that wait together share one sync. A caller that may
//!   wait ([`svit_txn::block_on`]) uses the connection itself while nobody else wants it.
//! - The newest records of all processes lie together and are filed by process many at a time: a commit
//!   writes three pages and not five, and many at once write less than one each.
//! - Each commit is synced before it is acknowledged ([`Synchronous`]).
//! - Every row is checked against a digest or a sum when it is read, and absence is checked, too.
//! - A file beside the database says who owns it and how far it had come, so that a lost tail is
//!   noticed at open.
//! - A commit that failed in a way that leaves its outcome open is settled by reopening the file.
//! - Checkpoints are written in parts, old history, old events and garbage are removed in pieces:
//!   no commit waits for more than one of them, and each may be the last before a crash.
//! - A file of an older schema is brought to this one when it is opened, in one transaction.
//!
//! | to | see |
//! |---|---|
//! | open, close, read figures | [`TursoProcessStore`], [`OpenOptions`], [`Stats`], [`Histogram`] |
//! | check everything, with progress | [`TursoProcessStore::verify_with`], [`Verification`], [`Damage`] |
//! | copy a store, put a copy in place | [`TursoProcessStore::backup`], [`TursoProcessStore::restore`] |
//! | show the rows of a query below a mount | `TursoQuery` (feature `turso-mount`) |
//! | remove blocks that nothing needs | [`collect`](svit_txn::ProcessStore::collect), some hundred steps at a time, until it is done |
//!
//! # What it does not do
//! - It never waits on a runtime: it needs no tokio, and any executor may poll its futures.
//! - It does not encrypt, and its digests prove integrity, not origin: who can write the file can
//!   write a consistent other one.
//! - It does not share a file between programs, and a network file system without working locks is
//!   not a place for it.
//!
//! # Limitations
//! - Blobs are at most 64 MiB each; names (clients, requests, event kinds) at most 128 bytes.
//! - A cut removes the older checkpoints in one transaction: a row of about 100 bytes for each.
//! - A collection reads every block that is needed, and keeps 50 bytes for each in SQLite's temporary
//!   database, which is a file in the folder for temporary files once it is large.
//! - A verification begins with SQLite's own checks; commits wait while each of them runs.
//! - Where `inode` numbers do not exist, a replaced file is told by its creation time only.
//! - A database deleted without its `-lock` file is missed at the next open: remove both.
//! - When a WAL is found damaged at open, it is kept under the name `-wal-kept`, because closing
//!   the database again removes it; see [`OpenOptions::accept_older`] for going on without it.
//! - A program that links another copy of SQLite (such as `rusqlite` with `bundled`) cannot link
//!   this crate.

mod apply;
mod backup;
mod checkpoint;
mod checks;
mod collect;
mod cut;
mod delete;
mod fault;
mod fork;
mod head;
mod header;
mod mark;
mod migrate;
mod opening;
mod options;
mod owner;
mod prepared;
mod processes;
#[cfg(feature = "turso-mount")]
mod query;
mod read;
mod receipts;
mod recent;
mod schema;
mod scrub;
mod seat;
mod session;
mod sql;
mod stats;
mod store;
mod sums;
mod underway;
mod verify;
mod watch;

pub use options::{OpenOptions, Synchronous, WhenFull};
#[cfg(feature = "turso-mount")]
pub use query::{QueryError, TursoQuery};
pub use stats::{Histogram, Stats};
pub use store::TursoProcessStore;
pub use verify::{Damage, Verification};
