//! Forks: a child whose history begins where its parent stands, or stood.

use svit_tree::{Address, IntoAddress};

use super::commit::Committer;
use super::replay::Anchor;
use super::start::{Started, insert};
use super::{DurableProcess, history};
use crate::Error;
use crate::hooks::{Attachments, Hooks};
use crate::process::fork_state;
use crate::state::State;
use crate::store::{Batch, EventQuery, StoreError};

impl DurableProcess {
    /// A child with this process's memory, scripts and limits at its newest version, in the same
    /// store, which copies nothing: the child's base refers to the parent. The thread's events up
    /// to the last finished or failed turn are the child's too. O(1), and one call of the store; the
    /// parent is not changed. The child has the parent's guests and no hooks; to give it some,
    /// resume it with them.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`]; the address is malformed. An outcome that is not known is found
    /// out as after [`create`](Self::create).
    pub async fn fork(&self, address: impl IntoAddress) -> Result<Self, Error> {
        self.fork_with(address.into_address()?, Hooks::default())
            .await
    }

    /// A child of the newest version, with these hooks.
    pub(super) async fn fork_with(&self, address: Address, hooks: Hooks) -> Result<Self, Error> {
        let _delivery = self.inner.news.delivery();
        let mut committer = self.settled().await?;
        let parent = committer.state.clone();
        let events = self.turns_end(&mut committer).await?;
        drop(committer);
        let anchor = self.inner.checkpoints.anchor();
        self.fork_from(parent, address, events, anchor, hooks).await
    }

    /// A child that starts with this process as it was at a version that is kept; otherwise as
    /// [`fork`](Self::fork). Its thread starts fresh. O(state + records since the checkpoint below
    /// the version).
    ///
    /// # Errors
    /// [`Error::NoVersion`], [`Error::Cut`], and as [`fork`](Self::fork).
    pub async fn fork_at(&self, version: u64, address: impl IntoAddress) -> Result<Self, Error> {
        let address = address.into_address()?;
        let newest = self.current()?;
        let (state, anchor) = if version == newest.version {
            (newest, self.inner.checkpoints.anchor())
        } else {
            let loaded = self.state_at(version).await?;
            (loaded.state, loaded.anchor)
        };
        let parent = state.address.clone();
        let forked = self.fork_from(state, address, 0, anchor, Hooks::default());
        match forked.await {
            // It may have been cut, or its parent deleted, since it was looked at.
            Err(Error::Store(
                error @ (StoreError::BadBatch { .. } | StoreError::NotFound { .. }),
            )) => {
                let oldest = self.oldest_version().await?;
                if version < oldest || parent != self.inner.address {
                    return Err(Error::Cut { version, oldest });
                }
                Err(error.into())
            }
            done => done,
        }
    }

    /// The number behind the last event that ends a turn, or 0 if none does. It is looked for once.
    async fn turns_end(&self, committer: &mut Committer) -> Result<u64, Error> {
        const PAGE: usize = 64;
        if let Some(known) = committer.turns_end {
            return Ok(known);
        }
        let base = self.base();
        let mut from = u64::MAX;
        let found = loop {
            let query = EventQuery {
                from,
                limit: PAGE,
                newest_first: true,
            };
            let page = history::events(&*self.inner.store, &base, query).await?;
            let end = page.iter().find(|event| ends_turn(&event.kind));
            if let Some(event) = end {
                break event.seq + 1;
            }
            match page.last() {
                Some(oldest) if oldest.seq > 0 && page.len() == PAGE => from = oldest.seq - 1,
                _ => break 0,
            }
        };
        committer.turns_end = Some(found);
        Ok(found)
    }

    /// Puts a child of a stored state into the store.
    async fn fork_from(
        &self,
        parent: State,
        address: Address,
        events: u64,
        anchor: Anchor,
        hooks: Hooks,
    ) -> Result<Self, Error> {
        let (base, transition) = fork_state(&parent, address, events)?;
        let bytes = transition.record.body.len() as u64;
        let batch = Batch {
            records: vec![transition.record],
            ..Batch::default()
        };
        let store = self.inner.store.clone();
        let epoch = insert(&*store, &base, None, &batch).await?;
        let started = Started {
            attached: Attachments {
                guests: self.inner.guests.clone(),
                hooks,
            },
            base,
            state: transition.after,
            epoch,
            next_event: events,
            turns_end: Some(events),
            anchor,
            since: (1, bytes),
            resumed_from: None,
        };
        Ok(Self::new(store, started))
    }
}

/// Whether an event of this kind ends a turn.
pub(super) fn ends_turn(kind: &str) -> bool {
    matches!(kind, "turn.finished" | "turn.failed")
}
