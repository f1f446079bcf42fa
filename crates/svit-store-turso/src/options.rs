//! What can be chosen when a store is opened.

use crate::read::PageSize;

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

/// The most writes in one batch.
pub(crate) const MAX_BATCH: usize = 1024;

/// Options for [`TursoProcessStore::open_with`](crate::TursoProcessStore::open_with).
///
/// | option | default | bounds | unit |
/// |---|---|---|---|
/// | `synchronous` | [`Synchronous::Full`] | | |
/// | `batch` | 64 | 1 to 1,024 | commits that one sync may carry |
/// | `queue` | 1,024 | 1 to 65,536 | commands waiting |
/// | `when_full` | [`WhenFull::Wait`] | | |
/// | `wal_pages` | 1,000 | 1 to 1,000,000 | pages of 4 KiB in the WAL before it is copied back |
/// | `page_rows` | 128 | 1 to 65,536 | rows that one page of a read holds |
/// | `page_bytes` | 1 MiB | 1 byte to 64 MiB | bytes of bodies after which a page ends |
/// | `events_per_process` | all | 1 or more | thread events that a process keeps at least |
/// | `recent_records` | 512 | 0 to 65,536 | records that wait to be filed by process |
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
    pub(crate) page: PageSize,
    pub(crate) events_per_process: Option<u64>,
    pub(crate) recent_records: usize,
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
            page: PageSize {
                rows: 128,
                bytes: 1 << 20,
            },
            events_per_process: None,
            recent_records: 512,
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
        self.batch = commits.clamp(1, MAX_BATCH);
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

    /// How many rows a read takes at a time from the thread that all callers share: between two
    /// pages others have their turn.
    pub fn page_rows(mut self, rows: usize) -> Self {
        self.page.rows = rows.clamp(1, 65_536);
        self
    }

    /// After how many bytes of bodies a page of a read ends.
    pub fn page_bytes(mut self, bytes: usize) -> Self {
        self.page.bytes = bytes.clamp(1, 64 << 20);
        self
    }

    /// How many of its newest thread events each process keeps; up to an eighth more are kept before
    /// the oldest go, and of a longer backlog each append takes away some hundreds. Without this all are kept, until
    /// [`trim_events`](svit_txn::ProcessStore::trim_events) is called. What is forgotten is gone for
    /// forks that share it, too.
    pub fn events_per_process(mut self, events: u64) -> Self {
        self.events_per_process = Some(events.max(1));
        self
    }

    /// How many of the newest records, of all processes together, wait to be filed by process. The more,
    /// the fewer pages a commit writes; the commit that files them takes some microseconds longer for
    /// each, and so does opening the database. 0 files each at once.
    pub fn recent_records(mut self, records: usize) -> Self {
        self.recent_records = records.min(65_536);
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
