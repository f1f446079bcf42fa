//! Figures about a store: `store.stats()`.

use std::time::Duration;

/// What a store has done since it was opened, and how large it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Processes in the store.
    pub processes: u64,
    /// Blocks in the store.
    pub blocks: u64,
    /// Whole checkpoints in the store.
    pub checkpoints: u64,
    /// Checkpoints of which parts are still to come.
    pub unfinished_checkpoints: u64,
    /// Forks whose parents are in the store.
    pub forks: u64,
    /// Batches ever committed.
    pub batches_ever: u64,
    /// Bytes of the database file.
    pub database_bytes: u64,
    /// Bytes of the WAL file.
    pub wal_bytes: u64,
    /// Batches committed since the store was opened: each is one sync.
    pub batches: u64,
    /// Writes committed since the store was opened.
    pub commits: u64,
    /// The most writes that one batch carried.
    pub largest_batch: u64,
    /// The time spent in commits, syncs included.
    pub sync_total: Duration,
    /// The longest commit.
    pub sync_longest: Duration,
    /// Blocks that garbage collection removed since the store was opened.
    pub collected_blocks: u64,
    /// Their bytes.
    pub collected_bytes: u64,
    /// Commands that wait now.
    pub waiting: u64,
}

/// What a session counts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counters {
    pub(crate) batches: u64,
    pub(crate) commits: u64,
    pub(crate) largest_batch: u64,
    pub(crate) sync_total: Duration,
    pub(crate) sync_longest: Duration,
    pub(crate) collected_blocks: u64,
    pub(crate) collected_bytes: u64,
    /// How many scrubs have begun.
    pub(crate) scrubs: u64,
}

impl Counters {
    pub(crate) fn batch(&mut self, writes: usize, sync: Duration) {
        let writes = writes as u64;
        self.batches += 1;
        self.commits += writes;
        self.largest_batch = self.largest_batch.max(writes);
        self.sync_total += sync;
        self.sync_longest = self.sync_longest.max(sync);
    }
}
