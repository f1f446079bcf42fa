//! From a checkpoint, or a base, and records to a state, checking everything on the way. No guest
//! code runs here.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use svit_tree::{Address, Tree};
use svit_value::{Digest, Value, ValueLimits};

use super::lineage::parent_of;
use super::report::{RejectedCheckpoint, ResumeReport};
use crate::record::ProcessTransaction;
use crate::state::State;
use crate::store::{
    Checkpoint, CheckpointRef, Head, ProcessStore, RecordQuery, StoreError, StoredRecord,
};
use crate::{Base, BaseKind, Error, codec, system};

/// How many records are read at a time.
const PAGE: usize = 256;

/// How many blocks are asked for at a time.
const BLOCKS: usize = 256;

/// How many checkpoints are asked for at a time: the newest is nearly always good.
const CANDIDATES: usize = 4;

/// How often it is begun anew because an ancestor was deleted meanwhile.
const ATTEMPTS: u32 = 8;

/// A version whose blocks are in the store: what a later checkpoint is compared with.
#[derive(Clone, Debug)]
pub(super) struct Anchor {
    pub(super) at: CheckpointRef,
    pub(super) root: Value,
}

/// A state, and how it was come by.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) state: State,
    pub(super) anchor: Anchor,
    pub(super) report: ResumeReport,
    /// The bytes of the records that were replayed.
    pub(super) bytes: u64,
}

/// The state of a process at a version that is kept. O(state + records since the checkpoint below).
///
/// Up to and including the base of a fork the state is its parent's, but at the base it stands under
/// the fork's own address, as the start of its history.
///
/// # Errors
/// [`Error::NoVersion`]; [`Error::Cut`]; damage; those of the store.
pub(super) async fn state_at(
    store: &dyn ProcessStore,
    address: &Address,
    version: u64,
) -> Result<Loaded, Error> {
    let head = store.load(address).await?;
    load(store, head, version).await
}

/// The same, of a process whose head is known.
pub(super) async fn load(
    store: &dyn ProcessStore,
    head: Head,
    version: u64,
) -> Result<Loaded, Error> {
    let (mut head, mut attempts) = (head, 0);
    loop {
        let error = match Way::new(store, version).go(head.clone()).await {
            Err(error) => error,
            done => return done,
        };
        attempts += 1;
        // What it read may have been cut or deleted meanwhile, which looks like damage.
        let may_help = match &error {
            Error::Store(StoreError::NotFound { address }) => *address != head.base.address,
            other => is_damage(other) && attempts == 1,
        };
        if !may_help || attempts == ATTEMPTS {
            return Err(error);
        }
        head.base = store.load(&head.base.address).await?.base;
    }
}

/// Whether something stored is wrong, so that something else that is stored may help.
fn is_damage(error: &Error) -> bool {
    match error {
        Error::Store(store) => matches!(store, StoreError::Corrupt { .. }),
        Error::NoVersion { .. } | Error::Cut { .. } => false,
        _ => true,
    }
}

pub(super) fn damaged(version: u64, why: &str) -> Error {
    Error::History {
        version,
        why: why.to_owned(),
    }
}

/// The way to one version.
struct Way<'a> {
    store: &'a dyn ProcessStore,
    version: u64,
    fallbacks: Vec<RejectedCheckpoint>,
    /// Records replayed, and their bytes.
    replayed: (u64, u64),
    seen: Vec<Address>,
}

/// A state loaded from blocks.
struct Start {
    state: State,
    anchor: Anchor,
    is_checkpoint: bool,
}

impl<'a> Way<'a> {
    const fn new(store: &'a dyn ProcessStore, version: u64) -> Self {
        Self {
            store,
            version,
            fallbacks: Vec::new(),
            replayed: (0, 0),
            seen: Vec::new(),
        }
    }

    async fn go(mut self, mut head: Head) -> Result<Loaded, Error> {
        let newest = head.version;
        // The forks on the way down, each with the version wanted of it.
        let mut forks: Vec<(Base, u64)> = Vec::new();
        let mut at = self.version;
        if at > newest {
            return Err(self.no_version(&head, newest).await);
        }
        let start = loop {
            self.enter(&head.base)?;
            if at < head.base.version {
                head = self.above(&head, newest).await?;
                continue;
            }
            if let Some(start) = self.try_checkpoints(&head, at).await? {
                break start;
            }
            let BaseKind::Forked { parent, .. } = &head.base.kind else {
                let start = self.load_base(&head.base).await?;
                let state = self.replay(start.state, at).await?;
                break Start { state, ..start };
            };
            let parent = self.parent(&head.base, parent).await?;
            let starts_at = head.base.version;
            forks.push((head.base, at));
            (at, head) = (starts_at, parent);
        };
        let mut state = start.state;
        for (base, up_to) in forks.into_iter().rev() {
            state = self.replay(forked(state, &base)?, up_to).await?;
            check_identity(&state, &base)?;
        }
        state.limits = Arc::new(system::limits(&state.tree)?);
        Ok(Loaded {
            report: ResumeReport {
                address: start.anchor.at.address.clone(),
                version: start.anchor.at.version,
                is_checkpoint: start.is_checkpoint,
                records: self.replayed.0,
                fallbacks: self.fallbacks,
            },
            state,
            anchor: start.anchor,
            bytes: self.replayed.1,
        })
    }

    fn enter(&mut self, base: &Base) -> Result<(), Error> {
        if self.seen.contains(&base.address) {
            return Err(damaged(base.version, "a process is forked from itself"));
        }
        self.seen.push(base.address.clone());
        Ok(())
    }

    async fn no_version(&self, head: &Head, newest: u64) -> Error {
        let oldest = super::lineage::oldest(self.store, &head.base.address).await;
        oldest.map_or_else(
            |error| error,
            |oldest| Error::NoVersion {
                version: self.version,
                oldest,
                newest,
            },
        )
    }

    /// The head of whoever has the versions before a base.
    async fn above(&self, head: &Head, newest: u64) -> Result<Head, Error> {
        let (version, oldest) = (self.version, head.base.version);
        match &head.base.kind {
            BaseKind::Created => Err(Error::NoVersion {
                version,
                oldest,
                newest,
            }),
            BaseKind::Checkpoint { .. } => Err(Error::Cut { version, oldest }),
            BaseKind::Forked { .. } => parent_of(self.store, &head.base)
                .await?
                .ok_or(Error::Cut { version, oldest }),
        }
    }

    /// The head of the parent of a fork that has no good checkpoint of its own.
    async fn parent(&mut self, base: &Base, parent: &Address) -> Result<Head, Error> {
        match self.store.load(parent).await {
            Ok(head) if (head.base.version..=head.version).contains(&base.version) => Ok(head),
            Ok(_) | Err(StoreError::NotFound { .. }) => {
                // With a checkpoint of its own the fork needs no parent: that one is what is wrong.
                let tried = self.fallbacks.pop().map(|fallback| fallback.error);
                Err(tried.unwrap_or_else(|| damaged(base.version, "the parent's history is gone")))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// From the newest good checkpoint of one address; none if it has no good one.
    async fn try_checkpoints(&mut self, head: &Head, at: u64) -> Result<Option<Start>, Error> {
        let address = &head.base.address;
        let mut below = at;
        loop {
            let page = match self.store.checkpoints(address, below, CANDIDATES).await {
                Ok(page) => page,
                Err(error @ StoreError::Corrupt { .. }) => {
                    self.fall_back(address, below, error.into());
                    return Ok(None);
                }
                Err(error) => return Err(error.into()),
            };
            let is_all = page.len() < CANDIDATES;
            for checkpoint in page {
                let version = checkpoint.version;
                if !(head.base.version..=below).contains(&version) {
                    let wrong = damaged(version, "a checkpoint is listed where it cannot be");
                    self.fall_back(address, version, wrong);
                    return Ok(None);
                }
                let before = self.replayed;
                match self.try_checkpoint(head, checkpoint, at).await {
                    Ok(start) => return Ok(Some(start)),
                    // A record that fits shows that what is wrong came after the checkpoint.
                    Err(error) if is_damage(&error) && self.replayed == before => {
                        self.fall_back(address, version, error);
                    }
                    Err(error) => return Err(error),
                }
                match version.checked_sub(1) {
                    Some(next) if version > head.base.version => below = next,
                    _ => return Ok(None),
                }
            }
            if is_all {
                return Ok(None);
            }
        }
    }

    fn fall_back(&mut self, address: &Address, version: u64, error: Error) {
        self.fallbacks.push(RejectedCheckpoint {
            address: address.clone(),
            version,
            error,
        });
    }

    async fn try_checkpoint(
        &mut self,
        head: &Head,
        checkpoint: Checkpoint,
        at: u64,
    ) -> Result<Start, Error> {
        let Checkpoint {
            version,
            record,
            root,
        } = checkpoint;
        // THREAT[TM-TXN-6]: the records that follow would show a wrong checkpoint; where none does,
        // its own must.
        let point = if version == head.base.version {
            Some((head.base.head(), head.base.root))
        } else if version == head.version {
            Some((head.digest, head.root))
        } else if version == at {
            Some(self.point(&head.base.address, version).await?)
        } else {
            None
        };
        if point.is_some_and(|point| point != (record, root)) {
            return Err(damaged(version, "the checkpoint is of another history"));
        }
        let start = self
            .load_root(&head.base.address, version, record, root)
            .await?;
        let state = self.replay(start.state, at).await?;
        check_identity(&state, &head.base)?;
        Ok(Start {
            state,
            is_checkpoint: true,
            ..start
        })
    }

    async fn point(&self, address: &Address, version: u64) -> Result<(Digest, Digest), Error> {
        let query = RecordQuery {
            from: version,
            to: version,
            limit: 1,
        };
        let found = self.store.records(address, query).await?;
        match found.first() {
            Some(record) => Ok((record.digest, record.root)),
            None => Err(damaged(version, "the record is missing")),
        }
    }

    /// From a base that has its blocks.
    async fn load_base(&self, base: &Base) -> Result<Start, Error> {
        let start = self
            .load_root(&base.address, base.version, base.head(), base.root)
            .await?;
        check_identity(&start.state, base)?;
        Ok(start)
    }

    async fn load_root(
        &self,
        address: &Address,
        version: u64,
        record: Digest,
        root: Digest,
    ) -> Result<Start, Error> {
        let blocks = fetch(self.store, root).await?;
        let limits = ValueLimits {
            max_bytes: u64::MAX,
            max_text_bytes: u64::MAX,
            ..codec::STORED
        };
        let mut source = |digest: Digest| blocks.get(&digest).cloned();
        let root = Value::from_blocks(root, &mut source, &limits)?;
        Ok(Start {
            state: State {
                address: address.clone(),
                version,
                head: record,
                tree: Tree::from_value(root.clone())?,
                limits: Arc::default(),
            },
            anchor: Anchor {
                at: CheckpointRef {
                    address: address.clone(),
                    version,
                    root: root.digest(),
                },
                root,
            },
            is_checkpoint: false,
        })
    }

    async fn replay(&mut self, mut state: State, up_to: u64) -> Result<State, Error> {
        while state.version < up_to {
            let query = RecordQuery {
                from: state.version + 1,
                to: up_to,
                limit: PAGE,
            };
            let page = self.store.records(&state.address, query).await?;
            if page.is_empty() {
                return Err(damaged(state.version + 1, "the record is missing"));
            }
            for stored in &page {
                state = step(state, stored)?;
                self.replayed.0 += 1;
                self.replayed.1 += stored.body.len() as u64;
            }
        }
        Ok(state)
    }
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

/// Whether a state is that of the process under whose address it was found.
fn check_identity(state: &State, base: &Base) -> Result<(), Error> {
    // A history that began as a fork begins with its parent's identity, also after a cut there.
    let is_parents = base.shared().is_some() && state.version == base.version;
    if is_parents || system::address(&state.tree) == Some(state.address.as_str()) {
        return Ok(());
    }
    Err(damaged(state.version, "the state has another address"))
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
    // THREAT[TM-TXN-4]
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
