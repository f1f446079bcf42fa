//! Durability on libSQL: the histories of many processes in one file.
//!
//! [`TursoProcessStore`] implements `svit_txn::ProcessStore`. It moves records and knows nothing of
//! what they mean; process logic lives in `svit-txn`.
//!
//! # What it does
//! - One thread owns the one connection. Commits that wait together share one sync.
//! - Each commit is synced before it is acknowledged ([`Synchronous`]).
//! - Every row is checked against a digest or a sum when it is read, and absence is checked, too.
//! - A file beside the database says who owns it and how far it had come, so that a lost tail is
//!   noticed at open.
//! - A commit that failed in a way that leaves its outcome open is settled by reopening the file.
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
//! - Where `inode` numbers do not exist, a replaced file is told by its creation time only.
//! - A program that links another copy of SQLite (such as `rusqlite` with `bundled`) cannot link
//!   this crate.

mod apply;
mod backup;
mod checks;
mod fault;
mod head;
mod header;
mod mark;
mod opening;
mod options;
mod owner;
mod prepared;
mod processes;
mod read;
mod schema;
mod session;
mod sql;
mod stats;
mod store;
mod sums;
mod verify;
mod watch;

pub use options::{OpenOptions, Synchronous, WhenFull};
pub use stats::Stats;
pub use store::TursoProcessStore;
pub use verify::{Damage, Verification};
