//! From a base and records to a state, checking everything on the way. No guest code runs here.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use svit_tree::{Address, Tree};
use svit_value::{Digest, Value, ValueLimits};

use crate::record::ProcessTransaction;
use crate::state::State;
use crate::store::{Head, ProcessStore, RecordQuery, StoredRecord};
use crate::{Base, BaseKind, Error, codec, system};

/// How many records are read at a time.
const PAGE: usize = 256;

/// How many blocks are asked for at a time.
const BLOCKS: usize = 256;

/// A stretch of history under one address: from its base up to and including a version.
#[derive(Debug)]
pub(super) struct Stretch {
    pub(super) base: Base,
    pub(super) up_to: u64,
}

/// The stretches that lead to `version` of a process, newest first. The last one was created, not
/// forked.
pub(super) async fn lineage(
    store: &dyn ProcessStore,
    address: &Address,
    version: u64,
) -> Result<Vec<Stretch>, Error> {
    let mut stretches = Vec::new();
    let (mut address, mut version) = (address.clone(), version);
    let mut seen: Vec<Address> = Vec::new();
    loop {
        let Head {
            base,
            version: newest,
            ..
        } = store.load(&address).await?;
        if base.address != address {
            return Err(damaged(version, "the base is of another process"));
        }
        if seen.contains(&address) {
            return Err(damaged(version, "a process is forked from itself"));
        }
        seen.push(address.clone());
        let oldest = match base.kind {
            BaseKind::Created | BaseKind::Checkpoint { .. } => base.version,
            BaseKind::Forked { .. } => 0,
        };
        if !(oldest..=newest).contains(&version) {
            return Err(Error::NoVersion {
                version,
                oldest,
                newest,
            });
        }
        // Up to its base, the history of a fork is its parent's.
        let next = match &base.kind {
            BaseKind::Created | BaseKind::Checkpoint { .. } => None,
            BaseKind::Forked { parent, .. } => Some((parent.clone(), version.min(base.version))),
        };
        if next.is_none() || version > base.version {
            stretches.push(Stretch {
                base,
                up_to: version,
            });
        }
        match next {
            None => return Ok(stretches),
            Some(parent) => (address, version) = parent,
        }
    }
}

/// The state of a process at a version. O(history up to it).
///
/// Every record's digest, link, step and resulting root are checked.
pub(super) async fn state_at(
    store: &dyn ProcessStore,
    address: &Address,
    version: u64,
) -> Result<State, Error> {
    let stretches = lineage(store, address, version).await?;
    let mut state: Option<State> = None;
    for stretch in stretches.iter().rev() {
        let start = match state {
            None => created(store, &stretch.base).await?,
            Some(parent) => forked(parent, &stretch.base)?,
        };
        state = Some(replay(store, start, stretch.up_to).await?);
    }
    let mut state = state.ok_or_else(|| damaged(version, "it has no base"))?;
    state.limits = Arc::new(system::limits(&state.tree)?);
    if system::address(&state.tree) != Some(state.address.as_str()) {
        return Err(damaged(version, "the state has another address"));
    }
    Ok(state)
}

pub(super) fn damaged(version: u64, why: &str) -> Error {
    Error::History {
        version,
        why: why.to_owned(),
    }
}

/// The start of a history that was created: its root, from blocks.
async fn created(store: &dyn ProcessStore, base: &Base) -> Result<State, Error> {
    let blocks = fetch(store, base.root).await?;
    let limits = ValueLimits {
        max_bytes: u64::MAX,
        max_text_bytes: u64::MAX,
        ..codec::STORED
    };
    let mut source = |digest: Digest| blocks.get(&digest).cloned();
    let root = Value::from_blocks(base.root, &mut source, &limits)?;
    Ok(State {
        address: base.address.clone(),
        version: base.version,
        head: base.head(),
        tree: Tree::from_value(root)?,
        limits: Arc::default(),
    })
}

/// All blocks below a root, by following their links.
async fn fetch(store: &dyn ProcessStore, root: Digest) -> Result<HashMap<Digest, Vec<u8>>, Error> {
    let mut blocks = HashMap::new();
    let mut asked = HashSet::from([root]);
    let mut wanted = vec![root];
    while !wanted.is_empty() {
        let page = wanted.split_off(wanted.len().saturating_sub(BLOCKS));
        let found = store.blocks(page.clone()).await?;
        for (digest, data) in page.into_iter().zip(found) {
            // A missing block is reported by the decoder, which knows what it was for.
            let Some(data) = data else { continue };
            let links = svit_value::links(&data)?;
            wanted.extend(links.into_iter().filter(|link| asked.insert(*link)));
            blocks.insert(digest, data);
        }
    }
    Ok(blocks)
}

/// The start of a history that was forked: its parent's state at that version.
fn forked(parent: State, base: &Base) -> Result<State, Error> {
    let BaseKind::Forked { record, .. } = &base.kind else {
        return Err(damaged(base.version, "a parent before a created base"));
    };
    if parent.version != base.version || parent.head != *record {
        return Err(damaged(base.version, "the parent's record is another one"));
    }
    if parent.tree.digest() != base.root {
        return Err(damaged(base.version, "the parent's root is another one"));
    }
    Ok(State {
        address: base.address.clone(),
        head: base.digest(),
        ..parent
    })
}

async fn replay(store: &dyn ProcessStore, mut state: State, up_to: u64) -> Result<State, Error> {
    while state.version < up_to {
        let query = RecordQuery {
            from: state.version + 1,
            to: up_to,
            limit: PAGE,
        };
        let page = store.records(&state.address, query).await?;
        if page.is_empty() {
            return Err(damaged(state.version + 1, "the record is missing"));
        }
        for stored in &page {
            state = step(state, stored)?;
        }
    }
    Ok(state)
}

/// One record applied, and everything about it checked.
fn step(state: State, stored: &StoredRecord) -> Result<State, Error> {
    let version = state.version + 1;
    if Digest::of(&stored.body) != stored.digest {
        return Err(damaged(version, "the record does not have its digest"));
    }
    let record = read_record(stored)?;
    if record.version != version || record.address != state.address {
        return Err(damaged(
            version,
            "the record is of another version or process",
        ));
    }
    if record.previous != state.head {
        return Err(damaged(
            version,
            "the record does not follow the one before",
        ));
    }
    let tree = state.tree.apply(&record.mutations)?;
    if tree.digest() != record.root {
        return Err(damaged(
            version,
            "the edits do not lead to the recorded root",
        ));
    }
    Ok(State {
        version,
        head: stored.digest,
        tree,
        ..state
    })
}

/// Decodes a stored record.
pub(super) fn read_record(stored: &StoredRecord) -> Result<ProcessTransaction, Error> {
    ProcessTransaction::from_bytes(&stored.body).map_err(|source| Error::Record {
        version: stored.version,
        source,
    })
}
