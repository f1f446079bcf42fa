//! `DurableProcess`: all process logic on top of any store, in one place.
//!
//! Publish after durable: nobody sees a version before the store has accepted it. The transition in
//! flight lives here, not in the caller's future, so that a dropped future or an unknown outcome is
//! settled by the next operation.

mod activate;
mod attach;
mod checkpoint;
mod children;
mod commit;
mod cut;
mod fork;
mod history;
mod lineage;
mod observe;
mod replay;
mod report;
mod start;
mod submit;
mod travel;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use svit_tree::{Address, Caller, Change, IntoPath, Listing, Source, Stat};
use svit_value::{Digest, Text, Value};

use crate::guests::Guests;
use crate::hooks::News;
use crate::state::State;
use crate::store::{EventQuery, ProcessStore, Receipt, ReceiptKey, ThreadEvent};
use crate::transaction::Transaction;
use crate::{Activation, Base, Error, Intent, Limits};
use attach::Attached;
use checkpoint::Checkpoints;
use commit::Committer;
use observe::Observers;

pub use checkpoint::CheckpointPolicy;
pub use history::{HistoryEntry, HistoryQuery};
pub use observe::{ObserveError, Observer, Published};
pub use report::{RejectedCheckpoint, ResumeReport};
pub use submit::{Extras, Operation, Outcome, RequestKey, Submission};

/// A process whose every transition is in a store before anybody sees it.
///
/// A handle: cloning is O(1), and clones are the same process. Reads are synchronous and see the
/// newest published version; changes are asynchronous and need no particular runtime. One activation
/// runs at a time; messages that are enqueued meanwhile do not wait for it. Dropping any future here
/// leaves a consistent process.
#[derive(Clone)]
pub struct DurableProcess {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<dyn ProcessStore>,
    guests: Guests,
    address: Address,
    /// As it was last seen: a cut changes it.
    base: RwLock<Base>,
    /// Held while a guest runs and while a host change is made; may be held for long.
    turn: async_lock::Mutex<()>,
    /// Held from preparing a transition until it is durable.
    commit: Arc<async_lock::Mutex<Committer>>,
    published: RwLock<State>,
    /// The number that the next thread event takes, as published.
    events_end: AtomicU64,
    observers: Observers,
    news: News,
    attached: Attached,
    checkpoints: Checkpoints,
    /// None of a process that was not resumed.
    resumed_from: Option<ResumeReport>,
    /// Whether the process has been deleted.
    is_gone: AtomicBool,
}

impl std::fmt::Debug for DurableProcess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DurableProcess")
            .field("address", &self.inner.address)
            .field("version", &self.version())
            .finish_non_exhaustive()
    }
}

impl DurableProcess {
    fn published(&self) -> State {
        // A state is replaced in one assignment, so a panic elsewhere cannot leave half of one.
        let published = self.inner.published.read();
        published.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The same, of a process that has not been deleted.
    fn current(&self) -> Result<State, Error> {
        self.is_there()?;
        Ok(self.published())
    }

    /// The address.
    pub fn address(&self) -> &Address {
        &self.inner.address
    }

    /// Where the history of this process starts: a [`cut`](Self::cut) moves it.
    pub fn base(&self) -> Base {
        let base = self.inner.base.read();
        base.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_base(&self, base: &Base) {
        // It is replaced in one assignment, so a panic elsewhere cannot leave half of one.
        let known = self.inner.base.write();
        *known.unwrap_or_else(PoisonError::into_inner) = base.clone();
    }

    /// What the process was built from, if it was resumed, and which checkpoints turned out to be
    /// damaged then.
    pub fn resumed_from(&self) -> Option<&ResumeReport> {
        self.inner.resumed_from.as_ref()
    }

    /// The newest published version.
    pub fn version(&self) -> u64 {
        self.published().version
    }

    /// The digest of `/` at the newest published version.
    pub fn root_digest(&self) -> Digest {
        self.published().tree.digest()
    }

    /// The number that the next thread event takes: events below it are published.
    pub fn events_end(&self) -> u64 {
        self.inner.events_end.load(Ordering::Acquire)
    }

    /// The limits.
    pub fn limits(&self) -> Limits {
        (*self.published().limits).clone()
    }

    /// The value at `path`, if there is one. O(depth * log n).
    ///
    /// Below a mount it blocks for as long as the mount takes; so do the other ways to look.
    ///
    /// # Errors
    /// The path is malformed; the mount is not attached, or fails.
    pub fn read(&self, path: impl IntoPath) -> Result<Option<Value>, Error> {
        Ok(self.read_versioned(path)?.1)
    }

    /// The newest version and the value at `path` in it.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_versioned(&self, path: impl IntoPath) -> Result<(u64, Option<Value>), Error> {
        let path = path.into_path()?;
        let newest = self.committed()?;
        Ok((newest.version(), newest.read(path)?))
    }

    /// The sorted names of the children of `path`.
    ///
    /// # Errors
    /// As [`read`](Self::read); more than `max_mount_entries` names in a mount.
    pub fn discover(&self, path: impl IntoPath) -> Result<Vec<Text>, Error> {
        self.committed()?.discover(path)
    }

    /// One page of the names of the children of `path`: those behind `after`, at most `limit`. A
    /// large listing costs only the page.
    ///
    /// # Errors
    /// As [`discover`](Self::discover).
    pub fn discover_page(
        &self,
        path: impl IntoPath,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Listing, Error> {
        self.committed()?.discover_page(path, after, limit)
    }

    /// Facts about `path`; none where nothing is.
    ///
    /// # Errors
    /// As [`read`](Self::read); a mount itself says whether it is attached.
    pub fn stat(&self, path: impl IntoPath) -> Result<Option<Stat>, Error> {
        self.committed()?.stat(path, Caller::Host)
    }

    /// Runs the script at `path` and commits what it did as one durable transition.
    ///
    /// # Errors
    /// As [`Process::exec`](crate::Process::exec), and those of the store.
    pub async fn exec(
        &self,
        path: impl IntoPath,
        input: impl Into<Value>,
    ) -> Result<Activation, Error> {
        let operation = Operation::Exec {
            path: path.into_path()?,
            input: input.into(),
        };
        match self.submit(Submission::plain(operation)).await? {
            Outcome::Activation(activation) => Ok(*activation),
            other => Err(other.unexpected()),
        }
    }

    /// Sets the value at `path`, below `/memory` or `/lib`, as one durable transition.
    ///
    /// # Errors
    /// As [`Process::write`](crate::Process::write), and those of the store. Below a mount, that it
    /// is not attached or does not grant writing; [`Error::MountWrites`] after the transition was
    /// committed.
    pub async fn write(
        &self,
        path: impl IntoPath,
        value: impl Into<Value>,
    ) -> Result<Change, Error> {
        let operation = Operation::Write {
            path: path.into_path()?,
            value: value.into(),
        };
        self.change(operation).await
    }

    /// Removes what is at `path`, as one durable transition.
    ///
    /// # Errors
    /// As [`Process::remove`](crate::Process::remove) and [`write`](Self::write).
    pub async fn remove(&self, path: impl IntoPath) -> Result<Change, Error> {
        let path = path.into_path()?;
        self.change(Operation::Remove { path }).await
    }

    /// Sets the value at `path` if what is there has this digest; `None` expects nothing there.
    ///
    /// # Errors
    /// As [`Process::write_if`](crate::Process::write_if), and those of the store.
    pub async fn write_if(
        &self,
        path: impl IntoPath,
        value: impl Into<Value>,
        expected: Option<Digest>,
    ) -> Result<Change, Error> {
        let (path, value) = (path.into_path()?, value.into());
        self.transact(|tx| tx.write_if(path, value, expected)).await
    }

    /// Makes several edits as one durable transition: all of them, or none if `edit` fails. `edit`
    /// blocks where it looks below a mount.
    ///
    /// # Errors
    /// What `edit` returns; a limit, or a script that does not compile; those of the store;
    /// [`Error::MountWrites`] after the transition was committed.
    pub async fn transact(
        &self,
        edit: impl FnOnce(&mut Transaction) -> Result<(), Error>,
    ) -> Result<Change, Error> {
        let _delivery = self.inner.news.delivery();
        let _turn = self.inner.turn.lock().await;
        let state = self.ready().await?.state.clone();
        let edited = Transaction::run(&state, &self.inner.guests, self.mounts(), edit)?;
        let mut committer = self.settled().await?;
        let tree = committer.state.rebased(&state, edited.tree)?;
        let mut step = committer.state.prepare(Source::Host, tree)?;
        step.writes = edited.writes;
        let change = step.change.clone();
        self.land(&mut committer, Some(step), None, Vec::new())
            .await?;
        drop(committer);
        self.mounts_made(change.version).await?;
        Ok(change)
    }

    /// Takes a letter out of `/thread/dead` as one durable transition, by the sequence number of its
    /// message.
    ///
    /// # Errors
    /// [`Error::NoMessage`], and those of the store.
    pub async fn forget_dead(&self, sequence: u64) -> Result<Change, Error> {
        self.change(Operation::ForgetDead { sequence }).await
    }

    /// Message intents that wait to be delivered, oldest first, from behind the one with the id
    /// `after`, as published. O(limit + log n).
    ///
    /// # Errors
    /// [`Error::NoIntent`] if `after` is no id of this process; the intent itself may be gone.
    pub fn intents(&self, after: Option<&str>, limit: usize) -> Result<Vec<Intent>, Error> {
        self.current()?.intents(after, limit)
    }

    /// Takes an intent out of `/system/outbox` as one durable transition, once it has been
    /// delivered. `message` is the digest of the message that was. Never waits for a script.
    ///
    /// # Errors
    /// As [`Process::acknowledge_intent`](crate::Process::acknowledge_intent), and those of the store.
    pub async fn acknowledge_intent(&self, id: &str, message: Digest) -> Result<Change, Error> {
        let id = Text::from(id);
        self.change(Operation::AcknowledgeIntent { id, message })
            .await
    }

    async fn change(&self, operation: Operation) -> Result<Change, Error> {
        match self.submit(Submission::plain(operation)).await? {
            Outcome::Change(change) => Ok(*change),
            other => Err(other.unexpected()),
        }
    }

    /// Events of the thread, those shared with a parent included, by sequence number.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn events(&self, query: EventQuery) -> Result<Vec<ThreadEvent>, Error> {
        self.is_there()?;
        history::events(&*self.inner.store, &self.base(), query).await
    }

    /// The remembered outcome of a request, if it is still kept.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn receipt(&self, key: &ReceiptKey) -> Result<Option<Receipt>, Error> {
        self.is_there()?;
        Ok(self.inner.store.receipt(&self.inner.address, key).await?)
    }

    /// What happened from here on: committed changes and thread events, in order. At most
    /// `capacity` of them wait; a reader that falls behind is told how many it lost.
    pub fn observe(&self, capacity: usize) -> Observer {
        self.inner.observers.subscribe(capacity)
    }

    /// Events up to the newest, newest last.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn recent_events(&self, count: usize) -> Result<Vec<ThreadEvent>, Error> {
        let query = EventQuery {
            from: u64::MAX,
            limit: count,
            newest_first: true,
        };
        let mut events = self.events(query).await?;
        events.reverse();
        Ok(events)
    }

    /// Transitions of this process and, before its base, of those it was forked from, as far as they
    /// are kept: [`oldest_version`](Self::oldest_version) says how far.
    ///
    /// # Errors
    /// A damaged history; those of the store.
    pub async fn history(&self, query: HistoryQuery) -> Result<Vec<HistoryEntry>, Error> {
        self.is_there()?;
        history::entries(&*self.inner.store, &self.inner.address, query).await
    }
}
