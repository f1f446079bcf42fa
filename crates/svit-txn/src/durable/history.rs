//! What happened: records and thread events, across forks.

use svit_tree::Address;
use svit_value::Digest;

use super::replay::{damaged, lineage, read_record};
use crate::Error;
use crate::record::ProcessTransaction;
use crate::store::{EventQuery, ProcessStore, RecordQuery, ThreadEvent};

/// Which transitions to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryQuery {
    /// The first version wanted.
    pub from: u64,
    /// The last version wanted; past the newest means the newest.
    pub to: u64,
    /// At most so many, oldest first.
    pub limit: usize,
}

impl Default for HistoryQuery {
    /// The first 256 transitions.
    fn default() -> Self {
        Self {
            from: 0,
            to: u64::MAX,
            limit: 256,
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
    let newest = store.load(address).await?.version;
    let stretches = lineage(store, address, newest).await?;
    let mut entries = Vec::new();
    for stretch in stretches.iter().rev() {
        let wanted = RecordQuery {
            from: query.from.max(stretch.base.version + 1),
            to: query.to.min(stretch.up_to),
            limit: query.limit - entries.len(),
        };
        if wanted.from > wanted.to || wanted.limit == 0 {
            continue;
        }
        for stored in store.records(&stretch.base.address, wanted).await? {
            entries.push(HistoryEntry {
                digest: stored.digest,
                transaction: read_record(&stored)?,
            });
        }
    }
    Ok(entries)
}

/// Events of a process: its own, and below its first one those that it shares with its parent.
pub(super) async fn events(
    store: &dyn ProcessStore,
    address: &Address,
    query: EventQuery,
) -> Result<Vec<ThreadEvent>, Error> {
    let mut owners = sharers(store, address).await?;
    if !query.newest_first {
        owners.reverse();
    }
    let mut found: Vec<ThreadEvent> = Vec::new();
    for (owner, first, end) in owners {
        let wanted = query.limit - found.len();
        if wanted == 0 || first >= end {
            continue;
        }
        let own = EventQuery {
            from: if query.newest_first {
                query.from.min(end - 1)
            } else {
                query.from.max(first)
            },
            limit: wanted,
            newest_first: query.newest_first,
        };
        let page = store.events(&owner, own).await?;
        found.extend(page.into_iter().filter(|event| event.seq < end));
    }
    Ok(found)
}

/// A process and those it shares events with, newest first, each with the number of its own first
/// event and the one behind the last that is shared.
async fn sharers(
    store: &dyn ProcessStore,
    address: &Address,
) -> Result<Vec<(Address, u64, u64)>, Error> {
    let (mut owner, mut end) = (address.clone(), u64::MAX);
    let mut owners: Vec<(Address, u64, u64)> = Vec::new();
    loop {
        let head = store.load(&owner).await?;
        if owners.iter().any(|(known, ..)| *known == owner) {
            return Err(damaged(
                head.base.version,
                "a process is forked from itself",
            ));
        }
        let first = head.shared.as_ref().map_or(0, |shared| shared.events);
        owners.push((owner, first, end));
        match head.shared {
            Some(shared) if shared.events > 0 => {
                (owner, end) = (shared.parent, end.min(shared.events));
            }
            _ => return Ok(owners),
        }
    }
}
