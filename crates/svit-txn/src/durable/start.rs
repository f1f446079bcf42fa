//! How a handle comes to be: a process is put into a store, or taken over from one.

use std::sync::Arc;
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, AtomicU64};

use svit_tree::IntoAddress;
use svit_value::Value;

use super::attach::Attached;
use super::checkpoint::Checkpoints;
use super::commit::Committer;
use super::observe::Observers;
use super::replay::{self, Anchor, damaged};
use super::{DurableProcess, Inner};
use crate::hooks::{Attachments, News};
use crate::process::Process;
use crate::state::State;
use crate::store::{Batch, Block, CheckpointRef, Head, ProcessStore, StoreError, StoreResult};
use crate::{Base, BaseKind, Error, ResumeReport};

/// What a handle starts with.
pub(super) struct Started {
    pub(super) attached: Attachments,
    pub(super) base: Base,
    pub(super) state: State,
    pub(super) epoch: u64,
    pub(super) next_event: u64,
    /// The number behind the last event that ended a turn, if that is known.
    pub(super) turns_end: Option<u64>,
    pub(super) anchor: Anchor,
    /// Records since the anchor, and their bytes.
    pub(super) since: (u64, u64),
    pub(super) resumed_from: Option<ResumeReport>,
}

impl DurableProcess {
    /// Puts a process into a store, at its version and with its whole root, and owns it there.
    /// O(size).
    ///
    /// If the store cannot say whether it has it, it is asked, and given it once more.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`]. After [`StoreError::Unknown`], and if this future is dropped,
    /// [`resume`](Self::resume) finds out whether the process is there.
    pub async fn create(store: Arc<dyn ProcessStore>, process: Process) -> Result<Self, Error> {
        let (attached, mut state) = process.into_parts();
        let base = Base {
            address: state.address.clone(),
            version: state.version,
            root: state.tree.digest(),
            kind: BaseKind::Created,
        };
        state.head = base.digest();
        let root = state.tree.root().clone();
        let epoch = insert(&*store, &base, Some(&root), &Batch::default()).await?;
        let at = CheckpointRef {
            address: base.address.clone(),
            version: base.version,
            root: base.root,
        };
        let started = Started {
            attached,
            base,
            state,
            epoch,
            next_event: 0,
            turns_end: Some(0),
            anchor: Anchor { at, root },
            since: (0, 0),
            resumed_from: None,
        };
        Ok(Self::new(store, started))
    }

    /// Takes over a process that is in a store: raises its epoch, so that an earlier owner can no
    /// longer write, loads its newest good checkpoint, or its base if there is none, and replays the
    /// records behind it, checking every record and root. What it was built from, and what was
    /// damaged on the way, is in [`resumed_from`](Self::resumed_from) and in the log.
    /// O(state + records since the checkpoint).
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; a damaged history.
    pub async fn resume(
        store: Arc<dyn ProcessStore>,
        address: impl IntoAddress,
    ) -> Result<Self, Error> {
        Self::resume_with(store, address, Attachments::new()).await
    }

    /// As [`resume`](Self::resume), with what is no part of what is stored: guests for other
    /// languages than the built-in one, and hooks. Guests alone may be given as a list.
    ///
    /// # Errors
    /// As [`resume`](Self::resume).
    pub async fn resume_with(
        store: Arc<dyn ProcessStore>,
        address: impl IntoAddress,
        attached: impl Into<Attachments>,
    ) -> Result<Self, Error> {
        let (address, attached) = (address.into_address()?, attached.into());
        let head = store.claim(&address).await?;
        if head.base.address != address {
            return Err(damaged(head.version, "the base is of another process"));
        }
        let loaded = replay::load(&*store, head.clone(), head.version).await?;
        let state = loaded.state;
        if state.head != head.digest || state.tree.digest() != head.root {
            return Err(damaged(
                head.version,
                "the head is not where the records lead",
            ));
        }
        loaded.report.trace();
        let started = Started {
            attached,
            base: head.base,
            state,
            epoch: head.epoch,
            next_event: head.next_event,
            turns_end: None,
            anchor: loaded.anchor,
            since: (loaded.report.records, loaded.bytes),
            resumed_from: Some(loaded.report),
        };
        Ok(Self::new(store, started))
    }

    pub(super) fn new(store: Arc<dyn ProcessStore>, started: Started) -> Self {
        let Started {
            attached,
            base,
            state,
            epoch,
            next_event,
            turns_end,
            anchor,
            since,
            resumed_from,
        } = started;
        let committer = Committer::new(state.clone(), epoch, next_event, turns_end);
        Self {
            inner: Arc::new(Inner {
                store,
                guests: attached.guests,
                address: state.address.clone(),
                base: RwLock::new(base),
                turn: async_lock::Mutex::new(()),
                commit: Arc::new(async_lock::Mutex::new(committer)),
                published: RwLock::new(state),
                events_end: AtomicU64::new(next_event),
                observers: Observers::default(),
                news: News::new(attached.hooks),
                attached: Attached::default(),
                checkpoints: Checkpoints::new(anchor, since.0, since.1),
                resumed_from,
                is_gone: AtomicBool::new(false),
            }),
        }
    }
}

/// Puts the start of a history into a store, with the blocks of its root if it brings them. Returns
/// the owner's epoch.
pub(super) async fn insert(
    store: &dyn ProcessStore,
    base: &Base,
    root: Option<&Value>,
    batch: &Batch,
) -> StoreResult<u64> {
    let mut is_first = true;
    loop {
        let blocks = root.into_iter().flat_map(Value::blocks);
        let blocks = blocks.map(|(digest, data)| Block { digest, data });
        let inserted = store
            .insert_base(base.clone(), blocks.collect(), batch.clone())
            .await;
        let error = match inserted {
            Err(error @ StoreError::Unknown { .. }) => error,
            // The first attempt may have landed after all.
            Err(error @ StoreError::AlreadyExists { .. }) if !is_first => error,
            done => return done,
        };
        match take_over(store, base, batch).await {
            Ok(Some(epoch)) => return Ok(epoch),
            Ok(None) if is_first => is_first = false,
            Err(exists @ StoreError::AlreadyExists { .. }) => return Err(exists),
            Ok(None) | Err(_) => return Err(error),
        }
    }
}

/// Owns what is in the store, if it is exactly what was to be put there; none if nothing is there.
///
/// Somebody else may have put the same there: claiming it makes sure that there is one owner.
async fn take_over(
    store: &dyn ProcessStore,
    base: &Base,
    batch: &Batch,
) -> StoreResult<Option<u64>> {
    let address = base.address.clone();
    let found = match store.load(&address).await {
        Ok(head) => head,
        Err(StoreError::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let newest = batch.records.last();
    let digest = newest.map_or_else(|| base.head(), |record| record.digest);
    let is_it = |head: &Head| head.base == *base && head.digest == digest;
    if !is_it(&found) {
        return Err(StoreError::AlreadyExists { address });
    }
    let head = store.claim(&address).await?;
    match is_it(&head) {
        true => Ok(Some(head.epoch)),
        false => Err(StoreError::AlreadyExists { address }),
    }
}
