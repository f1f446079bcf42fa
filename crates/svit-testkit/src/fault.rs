//! A store that fails, forgets or hangs at a chosen call, around any other store.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use svit_tree::Address;
use svit_txn::{
    Base, Batch, Block, BoxFuture, Checkpoint, CheckpointPart, Collected, EventQuery, ForkRef,
    Head, ProcessStore, Receipt, ReceiptKey, RecordQuery, StoreError, StoreResult, StoredRecord,
    ThreadEvent,
};
use svit_value::Digest;

/// What goes wrong at a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// It fails with [`StoreError::Unavailable`], and nothing was done.
    Fail,
    /// It reports [`StoreError::Unknown`], and nothing was done.
    ForgetLost,
    /// It reports [`StoreError::Unknown`], and it was done. A read was not; there is nothing to do.
    ForgetLanded,
    /// It never ends, and nothing was done.
    HangLost,
    /// It never ends, and it was done.
    HangLanded,
    /// Power is cut before it: it and everything after it fails, until [`FaultyStore::restore`].
    CutLost,
    /// Power is cut after it: it was done, but it and everything after it fails. A write says
    /// [`StoreError::Unknown`], the rest [`StoreError::Unavailable`].
    CutLanded,
}

impl Fault {
    /// Every fault.
    pub const ALL: [Self; 7] = [
        Self::Fail,
        Self::ForgetLost,
        Self::ForgetLanded,
        Self::HangLost,
        Self::HangLanded,
        Self::CutLost,
        Self::CutLanded,
    ];

    /// Whether the store has done what was asked when this fault is seen.
    pub const fn lands(self) -> bool {
        matches!(
            self,
            Self::ForgetLanded | Self::HangLanded | Self::CutLanded
        )
    }
}

/// A store around another one, with faults at chosen calls. Calls are counted from 1.
///
/// ```
/// use std::sync::Arc;
/// use svit_testkit::fault::{Fault, FaultyStore};
/// use svit_txn::{DurableProcess, MemoryStore, Process};
///
/// # futures_lite::future::block_on(async {
/// let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
/// let process = Process::builder("svit://local/demo")?.build()?;
/// let process = DurableProcess::create(store.clone(), process).await?;
///
/// store.at_write(store.writes() + 1, Fault::Fail);
/// let refused = process.write("/memory/x", 1).await.unwrap_err();
/// assert_eq!((refused.code(), process.version()), ("unavailable", 0));
/// assert_eq!(process.write("/memory/x", 1).await?.version, 1);
/// # Ok::<(), svit_txn::Error>(()) }).unwrap();
/// ```
pub struct FaultyStore {
    inner: Arc<dyn ProcessStore>,
    calls: AtomicU64,
    writes: AtomicU64,
    hanging: AtomicU64,
    down: AtomicBool,
    gives_way: AtomicBool,
    plan: Mutex<Vec<Planned>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    Call(u64),
    Write(u64),
}

impl When {
    /// Whether it is the call, of this sort, that has these numbers.
    fn is_due(self, sort: Sort, call: u64, write: u64) -> bool {
        match self {
            When::Call(number) => number == call,
            When::Write(number) => sort == Sort::Write && number == write,
        }
    }
}

struct Planned {
    when: When,
    fault: Fault,
}

/// Whether a call changes anything.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Read,
    Write,
}

impl std::fmt::Debug for FaultyStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FaultyStore")
            .field("calls", &self.calls())
            .field("writes", &self.writes())
            .finish_non_exhaustive()
    }
}

impl FaultyStore {
    /// A store without faults yet.
    pub fn new(inner: Arc<dyn ProcessStore>) -> Self {
        Self {
            inner,
            calls: AtomicU64::new(0),
            writes: AtomicU64::new(0),
            hanging: AtomicU64::new(0),
            down: AtomicBool::new(false),
            gives_way: AtomicBool::new(false),
            plan: Mutex::new(Vec::new()),
        }
    }

    /// How many calls there were, reads included.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    /// How many calls there were that change something: `insert_base`, `claim`, `append`,
    /// `put_checkpoint`, `cut`, `trim_events`, `delete` and `collect`.
    pub fn writes(&self) -> u64 {
        self.writes.load(Ordering::SeqCst)
    }

    /// How many calls have come to hang, those included whose futures were dropped.
    pub fn hanging(&self) -> u64 {
        self.hanging.load(Ordering::SeqCst)
    }

    /// Lets call number `call` go wrong, once.
    pub fn at_call(&self, call: u64, fault: Fault) {
        let when = When::Call(call);
        self.plan().push(Planned { when, fault });
    }

    /// Lets write number `write` go wrong, once.
    pub fn at_write(&self, write: u64, fault: Fault) {
        let when = When::Write(write);
        self.plan().push(Planned { when, fault });
    }

    /// Power is back, and no fault is planned any more.
    pub fn restore(&self) {
        self.plan().clear();
        self.down.store(false, Ordering::SeqCst);
    }

    /// From now on every call lets other tasks of its thread go on, once before it and once after.
    pub fn give_way(&self) {
        self.gives_way.store(true, Ordering::SeqCst);
    }

    async fn pause(&self) {
        if self.gives_way.load(Ordering::SeqCst) {
            futures_lite::future::yield_now().await;
        }
    }

    fn plan(&self) -> MutexGuard<'_, Vec<Planned>> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call and takes its fault from the plan.
    fn count(&self, sort: Sort) -> Option<Fault> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        let write = match sort {
            Sort::Write => self.writes.fetch_add(1, Ordering::SeqCst) + 1,
            Sort::Read => 0,
        };
        let mut plan = self.plan();
        let found = plan
            .iter()
            .position(|planned| planned.when.is_due(sort, call, write));
        found.map(|index| plan.remove(index).fault)
    }

    /// A write on the calling thread. None, and not counted, if the store around which this one is has
    /// no such way; if other tasks are to go on meanwhile; and if the call is to hang, since a thread
    /// that waits for ever cannot be dropped as a future can.
    fn in_place(&self, call: impl FnOnce() -> Option<StoreResult<()>>) -> Option<StoreResult<()>> {
        let planned = self.next_write();
        let hangs = matches!(planned, Some(Fault::HangLost | Fault::HangLanded));
        if hangs || self.gives_way.load(Ordering::SeqCst) {
            return None;
        }
        let is_down = self.down.load(Ordering::SeqCst);
        let landed = match planned {
            _ if is_down => Err(unavailable("power is cut")),
            Some(fault) if !fault.lands() => Ok(()),
            _ => call()?,
        };
        let fault = self.count(Sort::Write);
        Some(landed.and_then(|()| match fault {
            None => Ok(()),
            Some(fault) => Err(self.met(fault, Sort::Write)),
        }))
    }

    /// The fault that the next call meets, if that is a write.
    fn next_write(&self) -> Option<Fault> {
        let (call, write) = (self.calls() + 1, self.writes() + 1);
        let plan = self.plan();
        let planned = plan
            .iter()
            .find(|planned| planned.when.is_due(Sort::Write, call, write));
        planned.map(|planned| planned.fault)
    }

    fn around<'a, T: Send + 'a>(
        &'a self,
        sort: Sort,
        call: BoxFuture<'a, StoreResult<T>>,
    ) -> BoxFuture<'a, StoreResult<T>> {
        Box::pin(async move {
            self.pause().await;
            let fault = self.count(sort);
            if self.down.load(Ordering::SeqCst) {
                return Err(unavailable("power is cut"));
            }
            let Some(fault) = fault else {
                let answer = call.await;
                self.pause().await;
                return answer;
            };
            if fault.lands() {
                call.await?;
            } else {
                drop(call);
            }
            if matches!(fault, Fault::HangLost | Fault::HangLanded) {
                self.hanging.fetch_add(1, Ordering::SeqCst);
                return std::future::pending().await;
            }
            Err(self.met(fault, sort))
        })
    }

    /// What a caller is told of a fault: of a write, but for one that plainly failed, that its outcome is
    /// not known.
    fn met(&self, fault: Fault, sort: Sort) -> StoreError {
        let why = match fault {
            Fault::CutLost | Fault::CutLanded => {
                self.down.store(true, Ordering::SeqCst);
                "power was cut"
            }
            _ => "a fault was planned here",
        };
        match (fault, sort) {
            (Fault::Fail, _) | (_, Sort::Read) => unavailable(why),
            (_, Sort::Write) => unknown(why),
        }
    }

    fn read<'a, T: Send + 'a>(
        &'a self,
        call: BoxFuture<'a, StoreResult<T>>,
    ) -> BoxFuture<'a, StoreResult<T>> {
        self.around(Sort::Read, call)
    }

    fn write<'a, T: Send + 'a>(
        &'a self,
        call: impl FnOnce() -> BoxFuture<'a, StoreResult<T>> + Send + 'a,
    ) -> BoxFuture<'a, StoreResult<T>> {
        // Made only when it is polled: a store may act as soon as it is called.
        self.around(Sort::Write, Box::pin(async move { call().await }))
    }
}

fn unavailable(why: &str) -> StoreError {
    StoreError::Unavailable {
        why: why.to_owned(),
    }
}

fn unknown(why: &str) -> StoreError {
    StoreError::Unknown {
        why: why.to_owned(),
    }
}

impl ProcessStore for FaultyStore {
    fn insert_base(
        &self,
        base: Base,
        blocks: Vec<Block>,
        batch: Batch,
    ) -> BoxFuture<'_, StoreResult<u64>> {
        self.write(move || self.inner.insert_base(base, blocks, batch))
    }

    fn load(&self, address: &Address) -> BoxFuture<'_, StoreResult<Head>> {
        self.read(self.inner.load(address))
    }

    fn claim(&self, address: &Address) -> BoxFuture<'_, StoreResult<Head>> {
        let address = address.clone();
        self.write(move || self.inner.claim(&address))
    }

    fn append(
        &self,
        address: &Address,
        expected: Digest,
        epoch: u64,
        batch: Batch,
    ) -> BoxFuture<'_, StoreResult<()>> {
        let address = address.clone();
        self.write(move || self.inner.append(&address, expected, epoch, batch))
    }

    fn append_in_place(
        &self,
        address: &Address,
        expected: Digest,
        epoch: u64,
        batch: &Batch,
    ) -> Option<StoreResult<()>> {
        self.in_place(|| self.inner.append_in_place(address, expected, epoch, batch))
    }

    fn can_append_in_place(&self) -> bool {
        self.inner.can_append_in_place()
    }

    fn records(
        &self,
        address: &Address,
        query: RecordQuery,
    ) -> BoxFuture<'_, StoreResult<Vec<StoredRecord>>> {
        self.read(self.inner.records(address, query))
    }

    fn events(
        &self,
        address: &Address,
        query: EventQuery,
    ) -> BoxFuture<'_, StoreResult<Vec<ThreadEvent>>> {
        self.read(self.inner.events(address, query))
    }

    fn receipt(
        &self,
        address: &Address,
        key: &ReceiptKey,
    ) -> BoxFuture<'_, StoreResult<Option<Receipt>>> {
        self.read(self.inner.receipt(address, key))
    }

    fn blocks(&self, digests: Vec<Digest>) -> BoxFuture<'_, StoreResult<Vec<Option<Vec<u8>>>>> {
        self.read(self.inner.blocks(digests))
    }

    fn put_checkpoint(
        &self,
        address: &Address,
        part: CheckpointPart,
    ) -> BoxFuture<'_, StoreResult<()>> {
        let address = address.clone();
        self.write(move || self.inner.put_checkpoint(&address, part))
    }

    fn checkpoints(
        &self,
        address: &Address,
        at_or_before: u64,
        limit: usize,
    ) -> BoxFuture<'_, StoreResult<Vec<Checkpoint>>> {
        self.read(self.inner.checkpoints(address, at_or_before, limit))
    }

    fn cut(&self, address: &Address, epoch: u64, base: Base) -> BoxFuture<'_, StoreResult<()>> {
        let address = address.clone();
        self.write(move || self.inner.cut(&address, epoch, base))
    }

    fn forks(
        &self,
        address: &Address,
        below: u64,
        limit: usize,
    ) -> BoxFuture<'_, StoreResult<Vec<ForkRef>>> {
        self.read(self.inner.forks(address, below, limit))
    }

    fn trim_events(
        &self,
        address: &Address,
        epoch: u64,
        before: u64,
    ) -> BoxFuture<'_, StoreResult<()>> {
        let address = address.clone();
        self.write(move || self.inner.trim_events(&address, epoch, before))
    }

    fn delete(&self, address: &Address, epoch: u64) -> BoxFuture<'_, StoreResult<()>> {
        let address = address.clone();
        self.write(move || self.inner.delete(&address, epoch))
    }

    fn collect(&self, steps: u64) -> BoxFuture<'_, StoreResult<Collected>> {
        self.write(move || self.inner.collect(steps))
    }

    fn addresses(
        &self,
        after: Option<&Address>,
        limit: usize,
    ) -> BoxFuture<'_, StoreResult<Vec<Address>>> {
        self.read(self.inner.addresses(after, limit))
    }
}

#[cfg(test)]
mod tests;
