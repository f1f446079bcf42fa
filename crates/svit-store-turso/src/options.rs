//! What can be chosen when a store is opened.

/// How far a commit must have reached before it is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Synchronous {
    /// The commit is synced to the disk: it survives a crash of the program, of the system, and a
    /// power failure. The default.
    #[default]
    Full,
    /// The commit has been handed to the operating system: it survives a crash of the program.
    ///
    /// **A power failure or a crash of the system may lose acknowledged commits.** The store
    /// notices at the next open that it is behind its mark and says so, instead of quietly going
    /// on from an older state.
    Normal,
}

/// What a caller gets when the command queue has no place left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum WhenFull {
    /// It waits for a place. The default.
    #[default]
    Wait,
    /// It is refused at once with a busy error; nothing was done.
    Refuse,
}

/// Options for [`TursoProcessStore::open_with`](crate::TursoProcessStore::open_with).
///
/// | option | default | bounds | unit |
/// |---|---|---|---|
/// | `synchronous` | [`Synchronous::Full`] | | |
/// | `batch` | 64 | 1 to 1,024 | commits that one sync may carry |
/// | `queue` | 1,024 | 1 to 65,536 | commands waiting |
/// | `when_full` | [`WhenFull::Wait`] | | |
/// | `wal_pages` | 1,000 | 1 to 1,000,000 | pages of 4 KiB in the WAL before it is copied back |
/// | `receipts_per_client` | 1,024 | 1 to 100,000 | receipts that a client of a process keeps at least |
/// | `quick_check` | off | | |
/// | `accept_older` | off | | |
///
/// A number outside its bounds is moved to the nearer bound.
///
/// ```
/// use svit_store_turso::{OpenOptions, Synchronous};
///
/// let options = OpenOptions::new().synchronous(Synchronous::Normal).batch(16);
/// assert_ne!(options, OpenOptions::new());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct OpenOptions {
    pub(crate) synchronous: Synchronous,
    pub(crate) batch: usize,
    pub(crate) queue: usize,
    pub(crate) when_full: WhenFull,
    pub(crate) wal_pages: u32,
    pub(crate) receipts_per_client: u64,
    pub(crate) quick_check: bool,
    pub(crate) accept_older: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl OpenOptions {
    /// The defaults of the table above.
    pub fn new() -> Self {
        OpenOptions {
            synchronous: Synchronous::Full,
            batch: 64,
            queue: 1024,
            when_full: WhenFull::Wait,
            wal_pages: 1000,
            receipts_per_client: 1024,
            quick_check: false,
            accept_older: false,
        }
    }

    /// How far a commit must have reached before it is acknowledged.
    pub fn synchronous(mut self, level: Synchronous) -> Self {
        self.synchronous = level;
        self
    }

    /// The most commits that share one sync. There is no timer: a batch is whatever was waiting.
    pub fn batch(mut self, commits: usize) -> Self {
        self.batch = commits.clamp(1, 1024);
        self
    }

    /// The most commands that may wait for the owner thread.
    pub fn queue(mut self, commands: usize) -> Self {
        self.queue = commands.clamp(1, 65_536);
        self
    }

    /// What a caller gets when the queue is full.
    pub fn when_full(mut self, when_full: WhenFull) -> Self {
        self.when_full = when_full;
        self
    }

    /// How many pages the WAL may hold before they are copied into the database.
    pub fn wal_pages(mut self, pages: u32) -> Self {
        self.wal_pages = pages.clamp(1, 1_000_000);
        self
    }

    /// How many receipts each client of a process keeps at least; up to an eighth more are kept
    /// before the oldest go.
    pub fn receipts_per_client(mut self, receipts: u64) -> Self {
        self.receipts_per_client = receipts.clamp(1, 100_000);
        self
    }

    /// Whether SQLite checks the whole file at open: its cost grows with the file.
    pub fn quick_check(mut self, on: bool) -> Self {
        self.quick_check = on;
        self
    }

    /// Accepts a database that is behind its mark, or whose mark is damaged, and makes its state
    /// the new one. **What was acknowledged after that state is gone.** For recovery by hand,
    /// after the error has been read.
    pub fn accept_older(mut self, on: bool) -> Self {
        self.accept_older = on;
        self
    }
}
