//! Making a prepared transition durable, then visible; and settling one whose outcome is not known.

use std::sync::PoisonError;

use async_lock::MutexGuardArc;
use std::sync::atomic::Ordering;

use svit_tree::Change;
use svit_value::{Digest, Text, Value};

use super::DurableProcess;
use super::fork::ends_turn;
use super::observe::Published;
use crate::Error;
use crate::may_wait::may_wait;
use crate::mounts::MountWrite;
use crate::state::{State, Transition};
use crate::store::{
    Batch, EventQuery, Receipt, RecordQuery, StoreError, StoreResult, StoredRecord, ThreadEvent,
};

/// What the holder of the commit lock knows.
#[derive(Debug)]
pub(super) struct Committer {
    pub(super) state: State,
    pub(super) epoch: u64,
    next_event: u64,
    /// The number behind the last event that ended a turn, once it is known.
    pub(super) turns_end: Option<u64>,
    /// Given to the store, and not known to have landed.
    in_flight: Option<InFlight>,
    /// The store has been told to delete the process, and did not say whether it has.
    pub(super) is_deleting: bool,
}

/// A batch on its way.
#[derive(Clone, Debug)]
struct InFlight {
    expected: Digest,
    batch: Batch,
    after: State,
    change: Option<Change>,
    /// Writes below mounts, to be made once it has landed.
    writes: Vec<MountWrite>,
    next_event: u64,
}

/// What became of a batch that was in flight.
enum Settled {
    /// It is in the store and published, or there was none.
    Landed,
    /// The store will not have it; it is forgotten.
    Refused(StoreError),
    /// Somebody else, of this epoch, owns the process now, and what is in the store may be theirs. It
    /// is forgotten, and will never be known.
    Unclear { actual: u64 },
}

/// What the store shows of a batch.
enum Seen {
    Landed,
    NotThere,
    Unclear { actual: u64 },
}

impl Committer {
    pub(super) const fn new(
        state: State,
        epoch: u64,
        next_event: u64,
        turns_end: Option<u64>,
    ) -> Self {
        Self {
            state,
            epoch,
            next_event,
            turns_end,
            in_flight: None,
            is_deleting: false,
        }
    }

    /// Whether nothing is open: no batch in flight, no deletion.
    pub(super) const fn is_settled(&self) -> bool {
        self.in_flight.is_none() && !self.is_deleting
    }

    /// Takes back what was put in flight and never given to the store.
    pub(super) fn take_back(&mut self) {
        self.in_flight = None;
    }

    /// Puts a transition, a receipt and events in flight, and what lets go of the receipts that a
    /// message has pinned. False if that is nothing.
    pub(super) fn take_off(
        &mut self,
        transition: Option<Transition>,
        receipt: Option<Receipt>,
        events: Vec<(Text, Value)>,
        message: Option<u64>,
    ) -> bool {
        let events = self.number(events);
        let next_event = self.next_event + events.len() as u64;
        let (records, change, after, writes) = match transition {
            Some(step) => (
                vec![step.record],
                Some(step.change),
                step.after,
                step.writes,
            ),
            None => (Vec::new(), None, self.state.clone(), Vec::new()),
        };
        let batch = Batch {
            records,
            receipts: receipt.into_iter().collect(),
            events,
            unpin: message.into_iter().collect(),
            max_receipts: after.limits.max_receipts,
        };
        if batch.is_empty() {
            return false;
        }
        self.in_flight = Some(InFlight {
            expected: self.state.head,
            batch,
            after,
            change,
            writes,
            next_event,
        });
        true
    }

    /// Numbers events that are to be appended next.
    fn number(&self, events: Vec<(Text, Value)>) -> Vec<ThreadEvent> {
        let numbered = (self.next_event..).zip(events);
        numbered
            .map(|(seq, (kind, body))| ThreadEvent { seq, kind, body })
            .collect()
    }
}

/// Forgets what is in flight, of which nothing will ever be known.
fn unclear(committer: &mut Committer, actual: u64) -> Settled {
    committer.in_flight = None;
    Settled::Unclear { actual }
}

impl DurableProcess {
    /// Makes a transition, a receipt and events durable in one append, then publishes them.
    ///
    /// If the future is dropped, the batch stays in flight and the next operation settles it.
    pub(super) async fn land(
        &self,
        committer: &mut Committer,
        transition: Option<Transition>,
        receipt: Option<Receipt>,
        events: Vec<(Text, Value)>,
    ) -> Result<(), Error> {
        self.land_unpinning(committer, transition, receipt, events, None)
            .await
    }

    /// The same, and lets go of the receipts that a message has pinned.
    pub(super) async fn land_unpinning(
        &self,
        committer: &mut Committer,
        transition: Option<Transition>,
        receipt: Option<Receipt>,
        events: Vec<(Text, Value)>,
        message: Option<u64>,
    ) -> Result<(), Error> {
        if !committer.take_off(transition, receipt, events, message) {
            return Ok(());
        }
        self.bring_down(committer, None).await
    }

    /// Brings what was just put in flight to an end, or finds out that it has come to one: `attempted`
    /// says what the store answered, if it was asked already.
    pub(super) async fn bring_down(
        &self,
        committer: &mut Committer,
        attempted: Option<StoreResult<()>>,
    ) -> Result<(), Error> {
        let appended = match attempted {
            Some(appended) => appended,
            None => self.append(committer).await,
        };
        let Err(error) = appended else {
            return Ok(());
        };
        let StoreError::Unknown { why } = error else {
            committer.in_flight = None;
            return Err(error.into());
        };
        tracing::warn!(address = %self.inner.address, why, "outcome of an append unknown");
        // Ask once, now: most stores know after they have reopened their file.
        match self.resolve(committer).await {
            Ok(Settled::Landed) => Ok(()),
            Ok(Settled::Refused(error)) => Err(error.into()),
            Ok(Settled::Unclear { .. }) | Err(_) => Err(StoreError::Unknown { why }.into()),
        }
    }

    /// The commit lock, once nothing is in flight any more.
    pub(super) async fn settled(&self) -> Result<MutexGuardArc<Committer>, Error> {
        self.is_there()?;
        let mut committer = self.inner.commit.lock_arc().await;
        // Whoever had the lock may have deleted the process.
        self.is_there()?;
        if committer.is_deleting {
            self.settle_deletion(&mut committer).await?;
        }
        match self.resolve(&mut committer).await? {
            // Somebody else owns the process now: whatever comes next would be refused as well.
            Settled::Refused(
                error @ (StoreError::Fenced { .. }
                | StoreError::Conflict { .. }
                | StoreError::NotFound { .. }),
            ) => Err(error.into()),
            Settled::Unclear { actual } => Err(StoreError::Fenced {
                address: self.inner.address.clone(),
                epoch: committer.epoch,
                actual,
            }
            .into()),
            Settled::Landed | Settled::Refused(_) => Ok(committer),
        }
    }

    async fn settle_deletion(&self, committer: &mut Committer) -> Result<(), Error> {
        match self.inner.store.load(&self.inner.address).await {
            Ok(_) => {
                committer.is_deleting = false;
                Ok(())
            }
            Err(error) => {
                if matches!(error, StoreError::NotFound { .. }) {
                    self.gone();
                }
                Err(error.into())
            }
        }
    }

    /// Brings what is in flight to an end. While an error is returned it stays in flight.
    async fn resolve(&self, committer: &mut Committer) -> Result<Settled, StoreError> {
        match self.seen(committer).await? {
            Seen::Landed => return Ok(self.has_landed(committer)),
            Seen::Unclear { actual } => return Ok(unclear(committer, actual)),
            Seen::NotThere => {}
        }
        match self.append(committer).await {
            Ok(()) => Ok(Settled::Landed),
            Err(error @ (StoreError::Unknown { .. } | StoreError::Unavailable { .. })) => {
                Err(error)
            }
            // A first attempt whose future was dropped may have landed since it was looked for.
            Err(refused) => Ok(match self.seen(committer).await? {
                Seen::Landed => self.has_landed(committer),
                Seen::Unclear { actual } => unclear(committer, actual),
                Seen::NotThere => {
                    committer.in_flight = None;
                    Settled::Refused(refused)
                }
            }),
        }
    }

    fn has_landed(&self, committer: &mut Committer) -> Settled {
        self.publish(committer);
        Settled::Landed
    }

    /// Whether what is in flight is in the store, whoever has written there since.
    ///
    /// A batch lands as a whole, so that one thing in it tells, as long as nobody else owns the
    /// process: the next owner may have written the very same within the same millisecond, or cut it
    /// off since, and to take theirs for ours would acknowledge what never happened. With a receipt
    /// it is of the same request, and its outcome is the same.
    async fn seen(&self, committer: &Committer) -> Result<Seen, StoreError> {
        let Some(InFlight { batch, .. }) = &committer.in_flight else {
            return Ok(Seen::Landed);
        };
        let (store, address) = (&self.inner.store, &self.inner.address);
        let is_there = self.is_stored(batch).await?;
        if let Some(receipt) = batch.receipts.last()
            && is_there
            && store.receipt(address, &receipt.key).await?.as_ref() == Some(receipt)
        {
            return Ok(Seen::Landed);
        }
        // Asked last: who is no owner now may have been one when the record was looked for.
        let head = store.load(address).await?;
        let is_cut = |record: &StoredRecord| record.version <= head.base.version;
        Ok(match is_there {
            true if head.epoch == committer.epoch => Seen::Landed,
            false if !batch.records.last().is_some_and(is_cut) => Seen::NotThere,
            _ => Seen::Unclear { actual: head.epoch },
        })
    }

    /// Whether the last thing of a batch, or one like it, is in the store.
    async fn is_stored(&self, batch: &Batch) -> Result<bool, StoreError> {
        let (store, address) = (&self.inner.store, &self.inner.address);
        if let Some(record) = batch.records.last() {
            let query = RecordQuery {
                from: record.version,
                to: record.version,
                limit: 1,
            };
            let found = store.records(address, query).await?;
            return Ok(found
                .first()
                .is_some_and(|found| found.digest == record.digest));
        }
        if let Some(event) = batch.events.last() {
            let query = EventQuery {
                from: event.seq,
                limit: 1,
                newest_first: false,
            };
            return Ok(store.events(address, query).await?.first() == Some(event));
        }
        match batch.receipts.last() {
            Some(receipt) => {
                Ok(store.receipt(address, &receipt.key).await?.as_ref() == Some(receipt))
            }
            None => Ok(true),
        }
    }

    /// Gives what is in flight to the store, and publishes it if the store took it.
    async fn append(&self, committer: &mut Committer) -> StoreResult<()> {
        if may_wait()
            && let Some(appended) = self.append_in_place(committer)
        {
            return appended;
        }
        let Some(InFlight {
            expected, batch, ..
        }) = &committer.in_flight
        else {
            return Ok(());
        };
        let (store, address) = (&self.inner.store, &self.inner.address);
        let appended = store.append(address, *expected, committer.epoch, batch.clone());
        let appended = appended.await;
        self.appended(committer, appended)
    }

    /// The same on the calling thread, which may wait. None if the store cannot, or not now.
    pub(super) fn append_in_place(&self, committer: &mut Committer) -> Option<StoreResult<()>> {
        let InFlight {
            expected, batch, ..
        } = committer.in_flight.as_ref()?;
        let (store, address) = (&self.inner.store, &self.inner.address);
        let appended = store.append_in_place(address, *expected, committer.epoch, batch)?;
        Some(self.appended(committer, appended))
    }

    fn appended(&self, committer: &mut Committer, appended: StoreResult<()>) -> StoreResult<()> {
        match &appended {
            Ok(()) => self.publish(committer),
            Err(StoreError::NotFound { .. }) => self.gone(),
            Err(_) => {}
        }
        appended
    }

    fn publish(&self, committer: &mut Committer) {
        let Some(flight) = committer.in_flight.take() else {
            return;
        };
        committer.state = flight.after.clone();
        committer.next_event = flight.next_event;
        let mut events = flight.batch.events.iter().rev();
        if let Some(end) = events.find(|event| ends_turn(&event.kind)) {
            committer.turns_end = Some(end.seq + 1);
        }
        let mut published = self
            .inner
            .published
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *published = flight.after;
        drop(published);
        if let Some(change) = &flight.change {
            self.inner.news.push(change);
        }
        for record in &flight.batch.records {
            self.count_record(record.body.len() as u64);
        }
        let version = committer.state.version;
        // THREAT[TM-MOUNT-2]: here and nowhere else, since here the version is durable.
        self.inner.attached.owed.begin(version, flight.writes);
        let end = committer.next_event;
        self.inner.events_end.store(end, Ordering::Release);
        let change = flight
            .change
            .map(|change| Published::Change(Box::new(change)));
        let events = flight.batch.events.into_iter().map(Published::Event);
        self.inner.observers.tell(change.into_iter().chain(events));
    }
}
