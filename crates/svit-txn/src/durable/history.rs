//! What happened: records and thread events, across forks.

use std::ops::Range;

use svit_tree::{Address, Path};
use svit_value::Digest;

use super::lineage::stretches;
use super::replay::{damaged, read_record};
use crate::record::ProcessTransaction;
use crate::store::{EventQuery, ProcessStore, RecordQuery, StoreError, ThreadEvent};
use crate::{Base, Error, SharedThread};

/// Records that are read at a time, where not all of them are wanted.
const PAGE: usize = 256;

/// Which transitions to list.
///
/// ```
/// use std::sync::Arc;
///
/// use svit_tree::Path;
/// use svit_txn::{DurableProcess, HistoryQuery, MemoryStore, Process};
/// use svit_value::value;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # svit_txn::block_on(async {
/// let process = Process::builder("svit://local/a")?.build()?;
/// let process = DurableProcess::create(Arc::new(MemoryStore::new()), process).await?;
/// process.write("/memory/plan", value!({"step": 1})).await?;
/// process.write("/memory/mood", "calm").await?;
/// process.write("/memory/plan/step", 2).await?;
/// let of_the_plan = HistoryQuery {
///     path: Some(Path::parse("/memory/plan/step")?),
///     ..HistoryQuery::default()
/// };
/// let entries = process.history(of_the_plan).await?;
/// let versions: Vec<u64> = entries.iter().map(|e| e.transaction.version).collect();
/// assert_eq!(versions, [1, 3]);
/// # Ok(()) }) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryQuery {
    /// The first version wanted.
    pub from: u64,
    /// The last version wanted; past the newest means the newest.
    pub to: u64,
    /// At most so many, oldest first.
    pub limit: usize,
    /// Only those that named this path, something below it, or something above it. All records from `from` on are
    /// read until there are enough.
    pub path: Option<Path>,
}

impl Default for HistoryQuery {
    /// The first 256 transitions.
    fn default() -> Self {
        Self {
            from: 0,
            to: u64::MAX,
            limit: 256,
            path: None,
        }
    }
}

/// One transition of a history.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryEntry {
    /// The digest of its record.
    pub digest: Digest,
    /// The record. Its address is a parent's if it happened before a fork.
    pub transaction: ProcessTransaction,
}

pub(super) async fn entries(
    store: &dyn ProcessStore,
    address: &Address,
    query: HistoryQuery,
) -> Result<Vec<HistoryEntry>, Error> {
    let stretches = stretches(store, address, query.from.saturating_sub(1)).await?;
    let mut entries = Vec::new();
    for stretch in stretches.iter().rev() {
        let last = query.to.min(stretch.up_to);
        let mut next = query.from.max(stretch.base.version + 1);
        while next <= last && entries.len() < query.limit {
            let left = query.limit - entries.len();
            let page = RecordQuery {
                from: next,
                to: last,
                limit: query.path.as_ref().map_or(left, |_| PAGE),
            };
            let records = store.records(&stretch.base.address, page).await?;
            let Some(newest) = records.last() else {
                break;
            };
            next = newest.version + 1;
            for stored in &records {
                let transaction = read_record(stored)?;
                if query.wants(&transaction) && entries.len() < query.limit {
                    entries.push(HistoryEntry {
                        digest: stored.digest,
                        transaction,
                    });
                }
            }
        }
    }
    Ok(entries)
}

impl HistoryQuery {
    fn wants(&self, transaction: &ProcessTransaction) -> bool {
        let Some(path) = &self.path else {
            return true;
        };
        let mut named = transaction.mutations.iter().map(|edit| &edit.path);
        named.any(|named| named.starts_with(path) || path.starts_with(named))
    }
}

/// How often a reader of events begins anew because one that shares them was deleted meanwhile.
const ATTEMPTS: u32 = 8;

/// Events of a process: its own, and below its first one those that it shares with its parent.
///
/// One call of the store if its own are enough, and two more for each ancestor whose are needed.
pub(super) async fn events(
    store: &dyn ProcessStore,
    base: &Base,
    query: EventQuery,
) -> Result<Vec<ThreadEvent>, Error> {
    // Whatever has been deleted since, those from here on are its own.
    let first = base.first_event();
    if first == 0 || (!query.newest_first && query.from >= first) {
        return Ok(store.events(&base.address, query).await?);
    }
    if query.newest_first && query.from >= first {
        let own = store.events(&base.address, query).await?;
        if own.len() == query.limit {
            return Ok(own);
        }
    }
    let mut attempts = 0;
    loop {
        attempts += 1;
        match shared(store, &base.address, query).await {
            Err(Error::Store(StoreError::NotFound { address }))
                if address != base.address && attempts < ATTEMPTS => {}
            done => return done,
        }
    }
}

/// Those of a process and of as many of its ancestors as are needed.
///
/// A head is read before the events under its address. If its parent is deleted in between, the
/// process has taken over events by then that were its parent's when the head was read: they are
/// still asked of the parent, which is not found once it is gone.
async fn shared(
    store: &dyn ProcessStore,
    address: &Address,
    query: EventQuery,
) -> Result<Vec<ThreadEvent>, Error> {
    let mut found: Vec<ThreadEvent> = Vec::new();
    // Those behind, with the numbers of the events that are wanted of each.
    let mut newer: Vec<(Address, Range<u64>)> = Vec::new();
    let (mut owner, mut end) = (address.clone(), u64::MAX);
    loop {
        if newer.iter().any(|(known, _)| *known == owner) {
            return Err(damaged(0, "a process is forked from itself"));
        }
        let head = store.load(&owner).await?;
        // Whoever has forgotten events of its own has forgotten all that were before them.
        let has_all = |above: &SharedThread| above.events > 0 && head.first_event == above.events;
        let above = head.shared.clone().filter(has_all);
        let start = above.as_ref().map_or(0, |above| above.events);
        if query.newest_first {
            let page = EventQuery {
                from: query.from.min(end - 1),
                limit: query.limit - found.len(),
                newest_first: true,
            };
            let own = store.events(&owner, page).await?;
            found.extend(own.into_iter().filter(|event| event.seq >= start));
            if found.len() >= query.limit {
                return Ok(found);
            }
        }
        let is_needed = query.newest_first || above.as_ref().is_some_and(|a| query.from < a.events);
        newer.push((owner, start..end));
        match above {
            Some(above) if is_needed => (owner, end) = (above.parent, end.min(above.events)),
            _ => break,
        }
    }
    if query.newest_first {
        return Ok(found);
    }
    for (owner, wanted) in newer.into_iter().rev() {
        let page = EventQuery {
            from: query.from.max(wanted.start),
            limit: query.limit - found.len(),
            newest_first: false,
        };
        let page = store.events(&owner, page).await?;
        found.extend(page.into_iter().filter(|event| event.seq < wanted.end));
    }
    Ok(found)
}
