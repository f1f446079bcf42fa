//! Attaching what a host grants to a process: an ordinary transition with source `host`, and only
//! if what is committed of it differs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

use async_lock::MutexGuardArc;
use svit_tree::mount::MountProvider;
use svit_tree::{Change, Node, Path, Source, Tree};
use svit_value::{Text, Value};

use super::DurableProcess;
use super::commit::Committer;
use super::submit::{Operation, RequestKey};
use crate::Error;
use crate::calls::{Calls, Waiting, line};
use crate::committed::Committed;
use crate::mounts::{Mount, MountOutcome, MountWrite, Mounts, Owed, is_mounted};
use crate::ports::{CallKeys, PortDispatch};
use crate::state::State;

/// What is attached to a process now. It is no part of what is stored.
#[derive(Default)]
pub(super) struct Attached {
    ports: RwLock<Option<Arc<dyn PortDispatch>>>,
    /// Counts the runs that could call ports, so that no two of them use one idempotency key.
    runs: AtomicU64,
    mounts: RwLock<Mounts>,
    /// Mount writes of committed transitions.
    pub(super) owed: Owed,
}

impl DurableProcess {
    /// Attaches ports in place of those that are attached, if any. Returns the transition that
    /// commits their manuals at `/ports`; none if they stand there already. Waits for a running
    /// activation. O(manuals).
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

    /// Attaches a resource at `/mounts/<name>`, in place of one that is attached there. Returns the
    /// transition that commits its descriptor; none if that stands there already. Waits for a running
    /// activation.
    ///
    /// What is below it is read from the provider, by hosts, scripts and models alike. Writes of a
    /// transition below it are made after the transition is durable, in order, up to the first that
    /// fails: no failure and no refusal before that touches the resource, and what fails then is
    /// reported, in [`Activation::mounts`](crate::Activation::mounts) or as [`Error::MountWrites`].
    /// If the program ends between the two, the writes are never made. The next script starts only
    /// when they are, so a provider must come to an end.
    ///
    /// # Errors
    /// A name that is no segment of a path, a descriptor past the limits; those of the store. What
    /// was attached before stays then.
    pub async fn attach_mount(
        &self,
        name: &str,
        provider: Arc<dyn MountProvider>,
    ) -> Result<Option<Change>, Error> {
        let mount = Mount::new(name, provider)?;
        let described = |state: &State| {
            let descriptor = mount.descriptor().to_value();
            state.limits.check_value(&descriptor, Some(mount.place()))?;
            let mut mounts = state.tree.node(Node::Mounts).clone();
            mounts.insert(name, descriptor)?;
            Ok(state.tree.with(Node::Mounts, mounts)?)
        };
        let attach = || self.inner.attached.mounts_mut().attach(name, mount.clone());
        self.describe(described, attach).await
    }

    /// Takes the mount at `/mounts/<name>` away, descriptor and all. Returns the transition; none if
    /// there is no such mount.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn detach_mount(&self, name: &str) -> Result<Option<Change>, Error> {
        let described = |state: &State| {
            let mut mounts = state.tree.node(Node::Mounts).clone();
            mounts.remove(name);
            Ok(state.tree.with(Node::Mounts, mounts)?)
        };
        let detach = || self.inner.attached.mounts_mut().detach(name);
        self.describe(described, detach).await
    }

    /// The newest published version, to read several values of one and the same. O(1).
    ///
    /// # Errors
    /// The process was deleted.
    pub fn committed(&self) -> Result<Committed, Error> {
        Ok(Committed::new(self.current()?, self.mounts()))
    }

    pub(super) fn mounts(&self) -> Mounts {
        let mounts = &self.inner.attached.mounts;
        mounts
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The commit lock, once nothing is in flight and all mount writes are made. For the holder of
    /// the turn, which alone can bring about new ones.
    pub(super) async fn ready(&self) -> Result<MutexGuardArc<Committer>, Error> {
        loop {
            let committer = self.settled().await?;
            if self.inner.attached.owed.is_idle() {
                return Ok(committer);
            }
            // Sends need the lock, and do not wait for what is outside.
            drop(committer);
            self.inner.attached.owed.made(None).await;
        }
    }

    /// Waits until the mount writes of a committed transition of the host are made.
    pub(super) async fn mounts_made(&self, version: u64) -> Result<(), Error> {
        let writes = self.inner.attached.owed.made(Some(version)).await;
        match writes {
            Some(writes) if writes.iter().any(|w| w.outcome != MountOutcome::Made) => {
                Err(Error::MountWrites { version, writes })
            }
            _ => Ok(()),
        }
    }

    /// The mount write that an operation of the host comes to, if it is one, or why it is refused.
    /// Asks the mount, and so needs the turn and not the commit lock.
    pub(super) async fn mount_write(
        &self,
        operation: &Operation,
    ) -> Result<Result<Option<MountWrite>, Error>, Error> {
        let (path, value) = match operation {
            Operation::Write { path, value } => (path, Some(value.clone())),
            Operation::Remove { path } => (path, None),
            _ => return Ok(Ok(None)),
        };
        drop(self.ready().await?);
        if !is_mounted(path) {
            return Ok(Ok(None));
        }
        let (newest, path) = (self.committed()?, path.clone());
        Ok(blocking::unblock(move || newest.mount_write(&path, value).map(Some)).await)
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
        let mut committer = self.ready().await?;
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

    /// Appends events, if there are any.
    pub(crate) async fn append_events(&self, events: Vec<(Text, Value)>) -> Result<(), Error> {
        if events.is_empty() {
            return Ok(());
        }
        let mut committer = self.settled().await?;
        self.land(&mut committer, None, None, events).await
    }

    /// What a run from `state` calls ports with, if there are any.
    pub(super) fn port_line(
        &self,
        state: &State,
        epoch: u64,
        run: u64,
        key: Option<&RequestKey>,
    ) -> Option<(Calls, Waiting)> {
        let dispatch = self.inner.attached.ports()?;
        let address = state.address.as_str();
        let keys = match key {
            Some(request) => CallKeys::of_submission(address, &request.key),
            None => CallKeys::of_run(address, epoch, run),
        };
        let submission = key.map(|request| request.key.clone());
        let committed = Committed::new(state.clone(), self.mounts());
        Some(line(dispatch, keys, submission, committed))
    }
}

impl Attached {
    fn ports(&self) -> Option<Arc<dyn PortDispatch>> {
        // It is replaced in one assignment, so a panic elsewhere cannot leave half of one.
        let ports = self.ports.read().unwrap_or_else(PoisonError::into_inner);
        ports.clone()
    }

    fn mounts_mut(&self) -> RwLockWriteGuard<'_, Mounts> {
        self.mounts.write().unwrap_or_else(PoisonError::into_inner)
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
