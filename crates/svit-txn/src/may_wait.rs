//! Whether the thread that polls may wait for a script and for a disk.
//!
//! A thread of an asynchronous runtime must not, so there scripts and commits go to other threads and
//! their results come back, which costs a wake-up each way. A program's own thread may, and [`block_on`]
//! says so.

use std::cell::Cell;

use futures_lite::future;

thread_local! {
    static MAY_WAIT: Cell<bool> = const { Cell::new(false) };
}

/// Runs a future to its end on the calling thread, which may wait: scripts run on it, and stores that
/// can ([`ProcessStore::append_in_place`](crate::ProcessStore::append_in_place)) commit on it. A durable
/// activation then costs little more than the disk's sync.
///
/// For programs without a runtime, and for threads that are made for waiting, such as those of
/// `tokio::task::block_in_place` and `spawn_blocking`. On a thread that serves other tasks those stand
/// still meanwhile. Operations that are joined in one such future run one after another, and so do not
/// share a sync; those of several threads do.
///
/// ```
/// use svit_txn::{MemoryStore, Process, ProcessStoreExt, block_on};
///
/// let store = MemoryStore::new();
/// let process = Process::builder("svit://local/demo")?.build()?;
/// let process = block_on(store.create(process))?;
/// let change = block_on(process.write("/memory/color", "teal"))?;
/// assert_eq!(change.version, 1);
/// # Ok::<(), svit_txn::Error>(())
/// ```
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let _restored = Restore(MAY_WAIT.replace(true));
    future::block_on(future)
}

/// Whether this thread is inside of [`block_on`].
pub(crate) fn may_wait() -> bool {
    MAY_WAIT.get()
}

/// Puts back what was true outside, also after a panic.
struct Restore(bool);

impl Drop for Restore {
    fn drop(&mut self) {
        MAY_WAIT.set(self.0);
    }
}
