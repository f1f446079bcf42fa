//! Checkpoints: versions whose blocks are written down, so that resuming need not replay what came
//! before. Made in the background, by policy, or when the host asks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use futures_lite::future;
use svit_tree::Address;
use svit_value::Value;

use super::replay::{Anchor, damaged};
use super::{DurableProcess, Inner};
use crate::Error;
use crate::state::State;
use crate::store::{Block, Checkpoint, CheckpointPart, CheckpointRef, ProcessStore, StoreError};

/// How many bytes of blocks are given to a store at once: no commit waits for more than that. A
/// single block may be larger.
const PART_BYTES: usize = 256 << 10;

/// How often a checkpoint is begun anew before it is given up.
const ATTEMPTS: u32 = 3;

/// After how many commits a checkpoint that failed is tried again.
const PAUSE: u64 = 64;

/// When checkpoints are made by themselves: as soon as so many records, or so many bytes of records,
/// have been committed since the last one.
///
/// They are written in the background, on the pool of threads on which scripts run, in parts of
/// about 256 KiB, and only what is new since the last one. Commits do not wait for them. One that
/// fails is tried again later. When the last handle of the process is dropped, one that is being
/// made ends with the part that it is at, and keeps the store open until then.
///
/// A store whose futures need a runtime of their own around them cannot be driven from there: choose
/// [`NEVER`](Self::NEVER) and call [`DurableProcess::checkpoint`] from a task.
///
/// ```
/// use svit_txn::CheckpointPolicy;
///
/// let policy = CheckpointPolicy::default();
/// assert_eq!((policy.records, policy.bytes), (1_000, 4 << 20));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointPolicy {
    /// Records since the last checkpoint.
    pub records: u64,
    /// Bytes of their stored form.
    pub bytes: u64,
}

impl CheckpointPolicy {
    /// Only when the host asks.
    pub const NEVER: Self = Self {
        records: u64::MAX,
        bytes: u64::MAX,
    };
}

impl Default for CheckpointPolicy {
    /// Every 1,000 records or 4 MiB.
    fn default() -> Self {
        Self {
            records: 1_000,
            bytes: 4 << 20,
        }
    }
}

/// What a process knows of its checkpoints.
#[derive(Debug)]
pub(super) struct Checkpoints {
    /// Held while one is written, so that there is one at a time.
    turn: Arc<async_lock::Mutex<()>>,
    /// What the next one is compared with.
    anchor: Mutex<Anchor>,
    pace: Mutex<Pace>,
}

#[derive(Debug)]
struct Pace {
    policy: CheckpointPolicy,
    since: Written,
    /// Commits to let pass after a failure.
    pause: u64,
    is_running: bool,
}

/// Records, and their bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Written {
    records: u64,
    bytes: u64,
}

impl Checkpoints {
    /// Knows a version whose blocks are in the store, and what was committed since.
    pub(super) fn new(anchor: Anchor, records: u64, bytes: u64) -> Self {
        Self {
            turn: Arc::default(),
            anchor: Mutex::new(anchor),
            pace: Mutex::new(Pace {
                policy: CheckpointPolicy::default(),
                since: Written { records, bytes },
                pause: 0,
                is_running: false,
            }),
        }
    }

    /// Nobody else writes or drops checkpoints while this is held.
    pub(super) async fn turn(&self) -> async_lock::MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// The newest checkpoint that is known, or the base.
    pub(super) fn anchor(&self) -> Anchor {
        let anchor = self.anchor.lock().unwrap_or_else(PoisonError::into_inner);
        anchor.clone()
    }

    pub(super) fn set_anchor(&self, newest: Anchor) {
        // It is replaced in one assignment, so a panic elsewhere cannot leave half of one.
        *self.anchor.lock().unwrap_or_else(PoisonError::into_inner) = newest;
    }

    fn pace(&self) -> MutexGuard<'_, Pace> {
        // Nothing that is done under it can panic half-way.
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a record. Whether a checkpoint is to be started.
    fn count(&self, bytes: u64) -> bool {
        let mut pace = self.pace();
        pace.since.records += 1;
        pace.since.bytes = pace.since.bytes.saturating_add(bytes);
        if pace.pause > 0 {
            pace.pause -= 1;
            return false;
        }
        let is_due =
            pace.since.records >= pace.policy.records || pace.since.bytes >= pace.policy.bytes;
        let starts = is_due && !pace.is_running;
        pace.is_running |= starts;
        starts
    }

    fn written(&self) -> Written {
        self.pace().since
    }

    /// A checkpoint is there that covers so much.
    fn covered(&self, covered: Written) {
        let since = &mut self.pace().since;
        since.records = since.records.saturating_sub(covered.records);
        since.bytes = since.bytes.saturating_sub(covered.bytes);
    }
}

impl DurableProcess {
    /// Makes a checkpoint of the newest version now, and waits for it. From then on,
    /// [`resume`](Self::resume) replays only what is committed later. Nothing else waits for it.
    /// O(changes since the last checkpoint * log n).
    ///
    /// ```
    /// # use svit_txn::{MemoryStore, Process};
    /// # futures_lite::future::block_on(async {
    /// let store = MemoryStore::new();
    /// let process = store.create(Process::builder("svit://local/demo")?.build()?).await?;
    /// process.write("/memory/x", 1).await?;
    /// assert_eq!(process.checkpoint().await?.version, 1);
    /// let again = store.resume("svit://local/demo").await?;
    /// assert_eq!(again.resumed_from().map(|report| report.records), Some(0));
    /// # Ok::<(), svit_txn::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`Error::History`] if that of this very version turned out to be damaged on
    /// [`resume`](Self::resume); those of the store. After one of them the checkpoint may be there all
    /// the same, which does no harm; made again, it is found.
    pub async fn checkpoint(&self) -> Result<Checkpoint, Error> {
        let _delivery = self.inner.news.delivery();
        let checkpoints = &self.inner.checkpoints;
        let _turn = checkpoints.turn().await;
        let (state, covered) = {
            let committer = self.settled().await?;
            (committer.state.clone(), checkpoints.written())
        };
        let report = self.inner.resumed_from.as_ref();
        if report.is_some_and(|report| report.is_damaged(&state.address, state.version)) {
            // The store would leave it as it is, and what builds on it would be damaged too.
            let why = "the checkpoint of this version is damaged; a later one can be made";
            return Err(damaged(state.version, why));
        }
        let since = checkpoints.anchor();
        let made = keep(&*self.inner.store, &state, &since, &|| true).await?;
        if let Some(anchor) = made {
            checkpoints.set_anchor(anchor);
            checkpoints.covered(covered);
        }
        Ok(checkpoint_of(&state))
    }

    /// Says when checkpoints are made by themselves, from now on.
    pub fn set_checkpoint_policy(&self, policy: CheckpointPolicy) {
        let mut pace = self.inner.checkpoints.pace();
        pace.policy = policy;
        pace.pause = 0;
    }

    /// Takes note of a record that has been published. Starts a checkpoint if it is time for one.
    pub(super) fn count_record(&self, bytes: u64) {
        if self.inner.checkpoints.count(bytes) {
            let running = Running(Arc::downgrade(&self.inner));
            blocking::unblock(move || future::block_on(running.write())).detach();
        }
    }
}

/// A checkpoint in the background. It keeps no process open: when the last handle is dropped, it
/// ends with the part that it is at.
struct Running(Weak<Inner>);

impl Running {
    async fn write(self) {
        let Some(inner) = self.0.upgrade() else {
            return;
        };
        let Some(_turn) = inner.checkpoints.turn.try_lock_arc() else {
            // The host is making one.
            return;
        };
        let process = DurableProcess { inner };
        let (state, covered) = (process.published(), process.inner.checkpoints.written());
        let since = process.inner.checkpoints.anchor();
        let store = process.inner.store.clone();
        drop(process);
        let is_wanted = || self.0.strong_count() > 0;
        let made = keep(&*store, &state, &since, &is_wanted).await;
        let Some(inner) = self.0.upgrade() else {
            return;
        };
        match made {
            Ok(None) => {}
            Ok(Some(anchor)) => {
                inner.checkpoints.set_anchor(anchor);
                inner.checkpoints.covered(covered);
            }
            Err(error) => {
                let (address, version) = (&state.address, state.version);
                tracing::warn!(%address, version, %error, "a checkpoint failed");
                inner.checkpoints.pace().pause = PAUSE;
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(inner) = self.0.upgrade() {
            inner.checkpoints.pace().is_running = false;
        }
    }
}

pub(super) fn checkpoint_of(state: &State) -> Checkpoint {
    Checkpoint {
        version: state.version,
        record: state.head,
        root: state.tree.digest(),
    }
}

/// Makes a checkpoint of a state. What the next one is to be compared with; none if it was no longer
/// wanted before it was whole.
async fn keep(
    store: &dyn ProcessStore,
    state: &State,
    since: &Anchor,
    is_wanted: &(dyn Fn() -> bool + Sync),
) -> Result<Option<Anchor>, Error> {
    let checkpoint = checkpoint_of(state);
    let root = state.tree.root();
    let at = CheckpointRef {
        address: state.address.clone(),
        version: state.version,
        root: checkpoint.root,
    };
    let is_whole =
        since.at == at || put(store, &at.address, checkpoint, root, since, is_wanted).await?;
    let root = root.clone();
    Ok(is_whole.then_some(Anchor { at, root }))
}

/// Writes a checkpoint: what `since` does not reach, or everything if that has gone. Whether it is
/// whole: it is left unfinished when it is no longer wanted.
pub(super) async fn put(
    store: &dyn ProcessStore,
    address: &Address,
    checkpoint: Checkpoint,
    root: &Value,
    since: &Anchor,
    is_wanted: &(dyn Fn() -> bool + Sync),
) -> Result<bool, Error> {
    let mut since = Some(since);
    let mut attempts = 0;
    loop {
        attempts += 1;
        match put_parts(store, address, checkpoint, root, since, is_wanted).await {
            // What it builds on has gone, or the store has forgotten the parts so far.
            Err(StoreError::BadBatch { why, .. }) if attempts < ATTEMPTS => {
                tracing::debug!(%address, version = checkpoint.version, why, "begun anew");
                since = None;
            }
            done => return Ok(done?),
        }
    }
}

async fn put_parts(
    store: &dyn ProcessStore,
    address: &Address,
    checkpoint: Checkpoint,
    root: &Value,
    since: Option<&Anchor>,
    is_wanted: &(dyn Fn() -> bool + Sync),
) -> Result<bool, StoreError> {
    let blocks = match since {
        Some(since) => root.new_blocks(&since.root),
        None => root.blocks(),
    };
    let mut blocks = blocks
        .map(|(digest, data)| Block { digest, data })
        .peekable();
    let mut count = 0_u64;
    for index in 0.. {
        if !is_wanted() {
            return Ok(false);
        }
        let (mut part, mut bytes) = (Vec::new(), 0);
        while let Some(block) =
            blocks.next_if(|next| part.is_empty() || bytes + next.data.len() <= PART_BYTES)
        {
            bytes += block.data.len();
            part.push(block);
        }
        count += part.len() as u64;
        let last = blocks.peek().is_none();
        let part = CheckpointPart {
            checkpoint,
            since: since.map(|since| since.at.clone()),
            index,
            blocks: part,
            last,
        };
        put_part(store, address, part).await?;
        if last {
            break;
        }
        future::yield_now().await;
    }
    tracing::debug!(%address, version = checkpoint.version, blocks = count, "checkpoint");
    Ok(true)
}

/// Gives the store one part, and once more if it cannot say whether it has it: a part that comes
/// again is refused, or completes what is complete.
async fn put_part(
    store: &dyn ProcessStore,
    address: &Address,
    part: CheckpointPart,
) -> Result<(), StoreError> {
    match store.put_checkpoint(address, part.clone()).await {
        Err(StoreError::Unknown { .. }) => store.put_checkpoint(address, part).await,
        done => done,
    }
}
