//! Attaching what a host grants to a process: an ordinary transition with source `host`, and only
//! if what is committed of it differs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use svit_tree::{Change, Node, Path, Source, Tree};

use super::DurableProcess;
use super::submit::RequestKey;
use crate::Error;
use crate::calls::{Calls, Waiting, line};
use crate::committed::Committed;
use crate::ports::{CallKeys, PortDispatch};
use crate::state::State;

/// What is attached to a process now. It is no part of what is stored.
#[derive(Default)]
pub(super) struct Attached {
    ports: RwLock<Option<Arc<dyn PortDispatch>>>,
    /// Counts the runs that could call ports, so that no two of them use one idempotency key.
    runs: AtomicU64,
}

impl DurableProcess {
    /// Attaches ports in place of those that are attached, if any. Returns the transition that
    /// commits their manuals at `/ports`; none if they stand there already. Waits for a running
    /// activation.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use svit_txn::{DurableProcess, Error, PortDispatch};
    /// # async fn demo(process: DurableProcess, ports: Arc<dyn PortDispatch>) -> Result<(), Error> {
    /// process.attach_ports(ports.clone()).await?;
    /// assert!(process.attach_ports(ports).await?.is_none());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// A name that is no segment of a path, a manual past the limits; those of the store. What was
    /// attached before stays then.
    pub async fn attach_ports(
        &self,
        ports: Arc<dyn PortDispatch>,
    ) -> Result<Option<Change>, Error> {
        let manuals = ports.manuals();
        let described = |state: &State| {
            let place = Path::root().join(Node::Ports.name())?;
            for (name, manual) in manuals.iter() {
                state.limits.check_value(manual, Some(&place.join(name)?))?;
            }
            Ok(state.tree.with(Node::Ports, manuals)?)
        };
        let attach = || self.inner.attached.set_ports(ports);
        self.describe(described, attach).await
    }

    /// Commits what `tree` makes of the newest state, if it differs, then attaches.
    async fn describe(
        &self,
        tree: impl FnOnce(&State) -> Result<Tree, Error>,
        attach: impl FnOnce(),
    ) -> Result<Option<Change>, Error> {
        let _delivery = self.inner.news.delivery();
        // Held until both are done, so that what is attached is what is described.
        let _turn = self.inner.turn.lock().await;
        let mut committer = self.settled().await?;
        let tree = tree(&committer.state)?;
        let change = if tree == committer.state.tree {
            None
        } else {
            let step = committer.state.prepare(Source::Host, tree)?;
            let change = step.change.clone();
            self.land(&mut committer, Some(step), None, Vec::new())
                .await?;
            Some(change)
        };
        attach();
        Ok(change)
    }

    /// What a run from `state` calls ports with, if there are any.
    pub(super) fn port_line(
        &self,
        state: &State,
        epoch: u64,
        run: u64,
        key: Option<&RequestKey>,
    ) -> Option<(Calls, Waiting)> {
        let dispatch = self.inner.attached.ports();
        let address = state.address.as_str();
        let keys = match key {
            Some(request) => CallKeys::of_submission(address, &request.key),
            None => CallKeys::of_run(address, epoch, run),
        };
        let submission = key.map(|request| request.key.clone());
        let committed = Committed::new(state.clone());
        Some(line(dispatch?, keys, submission, committed))
    }
}

impl Attached {
    fn ports(&self) -> Option<Arc<dyn PortDispatch>> {
        // It is replaced in one assignment, so a panic elsewhere cannot leave half of one.
        let ports = self.ports.read().unwrap_or_else(PoisonError::into_inner);
        ports.clone()
    }

    fn set_ports(&self, ports: Arc<dyn PortDispatch>) {
        let mut attached = self.ports.write().unwrap_or_else(PoisonError::into_inner);
        *attached = Some(ports);
    }

    /// The number of a new activation.
    pub(super) fn next_run(&self) -> u64 {
        self.runs.fetch_add(1, Ordering::Relaxed)
    }
}
