//! Forgetting: the versions before one, a whole process, old events of the thread.
//!
//! What a fork needs is never lost: before anything goes, each child that depends on it gets a
//! checkpoint of its own at its base.

use std::sync::atomic::Ordering;

use svit_tree::Address;
use svit_value::Digest;

use super::checkpoint::{checkpoint_of, put};
use super::replay::{Anchor, Loaded, damaged, load};
use super::{DurableProcess, lineage};
use crate::store::{Checkpoint, CheckpointRef, ForkRef, Head, StoreError};
use crate::{Base, BaseKind, Error};

/// How many forks are asked for at a time.
const FORKS: usize = 64;

/// How often it is tried again because a fork came in between, or an outcome is not known.
const ROUNDS: u32 = 64;

impl DurableProcess {
    /// The oldest version that can be read, before the base of a fork included. O(ancestors).
    ///
    /// # Errors
    /// Those of the store.
    pub async fn oldest_version(&self) -> Result<u64, Error> {
        self.is_there()?;
        lineage::oldest(&*self.inner.store, &self.inner.address).await
    }

    /// Forgets the versions before `at`: their records, and the checkpoints among them. Version `at`
    /// and those after it stay as they are, and so do receipts, the thread's events, and every fork:
    /// one that began before `at` gets a checkpoint where it began. The space becomes free with
    /// [`collect_garbage`](crate::ProcessStoreExt::collect_garbage).
    ///
    /// Nothing happens where there is nothing to forget: at the base, and before the base of a fork,
    /// whose history up to there is its parent's. A cut at the base of a fork makes it independent
    /// of its parent. O(state and records up to `at`, and once more for each fork before it).
    ///
    /// ```
    /// # use svit_txn::{MemoryStore, Process};
    /// # futures_lite::future::block_on(async {
    /// let store = MemoryStore::new();
    /// let process = store.create(Process::builder("svit://local/demo")?.build()?).await?;
    /// for n in 1..=5 {
    ///     process.write("/memory/n", n).await?;
    /// }
    /// process.cut(3).await?;
    /// assert_eq!(process.oldest_version().await?, 3);
    /// assert_eq!(process.read_at(3, "/memory/n").await?, Some(3.into()));
    /// assert_eq!(process.read_at(2, "/memory/n").await.unwrap_err().code(), "cut");
    /// # Ok::<(), svit_txn::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`Error::NoVersion`]; [`Error::Cut`]; a damaged history; those of the store. After
    /// [`StoreError::Unknown`] it may have been done: [`oldest_version`](Self::oldest_version) says,
    /// and the same cut made again is harmless.
    pub async fn cut(&self, at: u64) -> Result<(), Error> {
        let _delivery = self.inner.news.delivery();
        let (store, address) = (&*self.inner.store, &self.inner.address);
        let checkpoints = &self.inner.checkpoints;
        let _turn = checkpoints.turn().await;
        let epoch = self.settled().await?.epoch;
        let mut rounds = 0;
        // Of a cut whose outcome is not known.
        let mut tried = None;
        loop {
            rounds += 1;
            let head = store.load(address).await?;
            self.set_base(&head.base);
            if !self.is_to_cut(&head, at).await? {
                if let Some(anchor) = tried {
                    self.move_anchor(at, anchor);
                }
                return Ok(());
            }
            let (base, anchor) = self.prepare_cut(&head, at).await?;
            match store.cut(address, epoch, base.clone()).await {
                Ok(()) => {
                    tracing::info!(%address, at, "history cut");
                    self.set_base(&base);
                    self.move_anchor(at, anchor);
                    return Ok(());
                }
                Err(error) if rounds >= ROUNDS => return Err(error.into()),
                Err(StoreError::Forked { .. }) => {}
                // The store is asked at once where it stands.
                Err(error @ StoreError::Unknown { .. }) => {
                    store.load(address).await.map_err(|_| error)?;
                    tried = Some(anchor);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Builds the next checkpoint on that of a cut, unless it is known what is newer.
    fn move_anchor(&self, at: u64, anchor: Anchor) {
        let checkpoints = &self.inner.checkpoints;
        let known = checkpoints.anchor().at;
        if known.address != self.inner.address || known.version < at {
            // It has gone, or may with the process that it is of.
            checkpoints.set_anchor(anchor);
        }
    }

    /// Whether there is something before `at` to forget.
    async fn is_to_cut(&self, head: &Head, at: u64) -> Result<bool, Error> {
        let base = &head.base;
        if at > head.version {
            let oldest = self.oldest_version().await?;
            return Err(Error::NoVersion {
                version: at,
                oldest,
                newest: head.version,
            });
        }
        let (version, oldest, newest) = (at, base.version, head.version);
        match base.kind {
            BaseKind::Forked { .. } => Ok(at >= base.version),
            BaseKind::Created if at < base.version => Err(Error::NoVersion {
                version,
                oldest,
                newest,
            }),
            BaseKind::Checkpoint { .. } if at < base.version => Err(Error::Cut { version, oldest }),
            BaseKind::Created | BaseKind::Checkpoint { .. } => Ok(at > base.version),
        }
    }

    /// Writes the checkpoints that a cut needs. The base that it leads to, and what is known of it.
    async fn prepare_cut(&self, head: &Head, at: u64) -> Result<(Base, Anchor), Error> {
        let (store, address) = (&*self.inner.store, &self.inner.address);
        let Loaded {
            state,
            anchor,
            report,
            ..
        } = load(store, head.clone(), at).await?;
        if report.is_damaged(address, at) {
            // The store would take it for whole, and drop what the state can still be made from.
            return Err(damaged(at, "the checkpoint of this version is damaged"));
        }
        let checkpoint = checkpoint_of(&state);
        let root = state.tree.root();
        put(store, address, checkpoint, root, &anchor, &|| true).await?;
        self.free_forks(head, at).await?;
        let base = Base {
            address: address.clone(),
            version: at,
            root: checkpoint.root,
            kind: BaseKind::Checkpoint {
                record: checkpoint.record,
                thread: head.base.shared(),
            },
        };
        let anchor = Anchor {
            at: CheckpointRef {
                address: address.clone(),
                version: at,
                root: checkpoint.root,
            },
            root: root.clone(),
        };
        Ok((base, anchor))
    }

    /// Gives each fork that begins before `below` a checkpoint of its own.
    async fn free_forks(&self, head: &Head, below: u64) -> Result<(), Error> {
        let (store, address) = (&*self.inner.store, &self.inner.address);
        // Forks come by version: those of one version need the state loaded once, and its blocks
        // written once.
        let mut state: Option<Loaded> = None;
        let mut before = Vec::new();
        loop {
            let forks = store.forks(address, below, FORKS).await?;
            // A fork that is listed again although it has its checkpoint is left to the store.
            if forks.is_empty() || forks == before {
                return Ok(());
            }
            for fork in &forks {
                state = self.free(head, fork, state).await?;
            }
            before = forks;
        }
    }

    async fn free(
        &self,
        head: &Head,
        fork: &ForkRef,
        known: Option<Loaded>,
    ) -> Result<Option<Loaded>, Error> {
        let store = &*self.inner.store;
        let base = match store.load(&fork.child).await {
            Ok(child) => child.base,
            // It has been deleted since it was listed: then nothing is needed.
            Err(StoreError::NotFound { .. }) => return Ok(known),
            Err(error) => return Err(error.into()),
        };
        let Some(record) = forked_from(&base, &self.inner.address) else {
            return Ok(known);
        };
        let mut loaded = match known {
            Some(loaded) if loaded.state.version == base.version => loaded,
            _ => load(store, head.clone(), base.version).await?,
        };
        let root = loaded.state.tree.root().clone();
        if (loaded.state.head, root.digest()) != (record, base.root) {
            return Err(damaged(base.version, "a fork began with another state"));
        }
        let checkpoint = Checkpoint {
            version: base.version,
            record: base.head(),
            root: base.root,
        };
        let since = &loaded.anchor;
        match put(store, &fork.child, checkpoint, &root, since, &|| true).await {
            Ok(_) => {}
            // The fork is being deleted or cut itself. Whoever asked lists the forks again, and the
            // store refuses to drop anything while one still depends on it.
            Err(Error::Store(StoreError::NotFound { .. } | StoreError::BadBatch { .. })) => {
                return Ok(Some(loaded));
            }
            Err(error) => return Err(error),
        }
        loaded.anchor = Anchor {
            at: CheckpointRef {
                address: fork.child.clone(),
                version: base.version,
                root: base.root,
            },
            root,
        };
        Ok(Some(loaded))
    }

    /// Deletes the process: its records, checkpoints, receipts and events. Forks stay as they are:
    /// they get checkpoints where they began, and events that they share become their own. From then
    /// on every operation of every handle is a [`StoreError::NotFound`], while
    /// [`version`](Self::version), [`root_digest`](Self::root_digest), [`limits`](Self::limits) and
    /// [`snapshot`](Self::snapshot) still tell of the last state. An activation that runs meanwhile
    /// does not commit. Blocks go with
    /// [`collect_garbage`](crate::ProcessStoreExt::collect_garbage). O(what is dropped, and the state
    /// and the records up to its base for each fork that depends on them).
    ///
    /// # Errors
    /// A damaged history that a fork needs; those of the store. After [`StoreError::Unknown`], and
    /// if this future is dropped, the next operation asks the store whether the process is there.
    pub async fn delete(&self) -> Result<(), Error> {
        let _delivery = self.inner.news.delivery();
        let (store, address) = (&*self.inner.store, &self.inner.address);
        let _turn = self.inner.checkpoints.turn().await;
        let mut rounds = 0;
        loop {
            rounds += 1;
            drop(self.settled().await?);
            let head = store.load(address).await?;
            self.free_forks(&head, u64::MAX).await?;
            let mut committer = self.settled().await?;
            committer.is_deleting = true;
            match store.delete(address, committer.epoch).await {
                Ok(()) => {
                    self.gone();
                    return Ok(());
                }
                Err(StoreError::Forked { .. }) if rounds < ROUNDS => committer.is_deleting = false,
                Err(error @ StoreError::Unknown { .. }) if rounds < ROUNDS => {
                    match store.load(address).await {
                        Err(StoreError::NotFound { .. }) => {
                            self.gone();
                            return Ok(());
                        }
                        Ok(_) => committer.is_deleting = false,
                        Err(_) => return Err(error.into()),
                    }
                }
                Err(error) => {
                    committer.is_deleting = matches!(error, StoreError::Unknown { .. });
                    return Err(error.into());
                }
            }
        }
    }

    /// Forgets the thread's events with a number below `before`, for the forks that share them too.
    /// Numbers are not used again. Events that are shared with a parent are the parent's to forget;
    /// they are not shown any more once an event of this process's own has been forgotten. O(what is
    /// dropped).
    ///
    /// # Errors
    /// Those of the store. After [`StoreError::Unknown`] it may have been done; made again, it is
    /// harmless.
    pub async fn trim_events(&self, before: u64) -> Result<(), Error> {
        let _delivery = self.inner.news.delivery();
        let (store, address) = (&*self.inner.store, &self.inner.address);
        let committer = self.settled().await?;
        match store.trim_events(address, committer.epoch, before).await {
            Err(StoreError::Unknown { .. }) => {
                let again = store.trim_events(address, committer.epoch, before);
                Ok(again.await?)
            }
            done => Ok(done?),
        }
    }

    /// The process has been deleted: nothing is done with it any more.
    pub(super) fn gone(&self) {
        self.inner.is_gone.store(true, Ordering::Release);
        self.inner.observers.close();
    }

    /// Whether it has not been deleted.
    pub(super) fn is_there(&self) -> Result<(), Error> {
        if self.inner.is_gone.load(Ordering::Acquire) {
            let address = self.inner.address.clone();
            return Err(StoreError::NotFound { address }.into());
        }
        Ok(())
    }
}

/// The parent's record that a base was forked from, if it was this parent's.
fn forked_from(base: &Base, address: &Address) -> Option<Digest> {
    match &base.kind {
        BaseKind::Forked { parent, record, .. } if parent == address => Some(*record),
        _ => None,
    }
}
