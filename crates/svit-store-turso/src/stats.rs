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
    /// How many writes the batches carried.
    pub batch_sizes: Histogram,
    /// How many microseconds the commits took, syncs included.
    pub sync_micros: Histogram,
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

/// Numbers counted by their size: below 1, below 2, below 4, and so on.
///
/// ```
/// # use svit_store_turso::TursoProcessStore;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let store = TursoProcessStore::open(folder.path().join("svit.db")).await?;
/// let stats = store.stats().await?;
/// println!("half of the commits took less than {} us", stats.sync_micros.below(0.5));
/// # assert_eq!(stats.sync_micros.total(), 0);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Histogram {
    /// Entry `n` counts the numbers that are below `2^n` and not below `2^(n-1)`; the last one all
    /// that are larger, too.
    pub counts: [u64; 32],
}

impl Histogram {
    pub(crate) fn add(&mut self, number: u64) {
        let bits = (u64::BITS - number.leading_zeros()) as usize;
        let at = bits.min(self.counts.len() - 1);
        if let Some(count) = self.counts.get_mut(at) {
            *count += 1;
        }
    }

    /// How many numbers were counted.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// A power of two that this share of the numbers, from 0 to 1, is below; 0 if none was counted.
    pub fn below(&self, share: f64) -> u64 {
        let wanted = self.total() as f64 * share.clamp(0.0, 1.0);
        let mut seen = 0;
        for (at, count) in self.counts.iter().enumerate() {
            seen += count;
            if *count > 0 && seen as f64 >= wanted {
                return 1 << at;
            }
        }
        0
    }
}

/// What a session counts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counters {
    pub(crate) batches: u64,
    pub(crate) commits: u64,
    pub(crate) largest_batch: u64,
    pub(crate) batch_sizes: Histogram,
    pub(crate) sync_micros: Histogram,
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
        self.batch_sizes.add(writes);
        self.sync_micros
            .add(u64::try_from(sync.as_micros()).unwrap_or(u64::MAX));
        self.sync_total += sync;
        self.sync_longest = self.sync_longest.max(sync);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_counted_by_their_size() {
        let mut histogram = Histogram::default();
        assert_eq!((histogram.total(), histogram.below(0.5)), (0, 0));
        for number in [0, 1, 2, 3, 4, 7, 8, u64::MAX] {
            histogram.add(number);
        }
        assert_eq!(histogram.counts[..5], [1, 1, 2, 2, 1]);
        assert_eq!((histogram.counts[31], histogram.total()), (1, 8));
        let shares = [(0.0, 1), (0.25, 2), (0.5, 4), (0.51, 8), (0.8, 16)];
        for (share, wanted) in shares {
            assert_eq!(histogram.below(share), wanted, "{share}");
        }
    }
}
