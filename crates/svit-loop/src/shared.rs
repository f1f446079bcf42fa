//! What the handles of one `Svit` share: who still holds an inbox, and what the loop is doing.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use svit_model::Usage;
use tokio::sync::{Notify, broadcast, watch};

use crate::LoopError;
use crate::events::Delta;

/// How many deltas wait for a slow observer.
const DELTAS: usize = 1_024;

/// What the loop is doing, for those who wait for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It waits for messages, or was not started.
    #[default]
    Idle,
    /// It works on a message.
    Busy,
    /// A call waits for the host's yes or no.
    Waiting,
    /// It has stopped for good, with a code and a reason.
    Stopped(String, String),
    /// The `Svit` is gone, or was stopped.
    Closed,
}

/// The turn under way, and the one that the host wants ended.
#[derive(Clone, Copy, Debug, Default)]
struct Turns {
    current: Option<u64>,
    cancelled: Option<u64>,
}

/// A delta, and how many events had been published before it.
pub(crate) type PlacedDelta = (u64, Delta);

#[derive(Debug)]
pub(crate) struct Shared {
    inboxes: AtomicUsize,
    /// Whether new messages are refused.
    sealed: AtomicBool,
    turns: watch::Sender<Turns>,
    /// Wakes the loop: a sender has gone before it knew whether its message landed.
    pub(crate) unsettled: Notify,
    pub(crate) deltas: broadcast::Sender<PlacedDelta>,
    progress: watch::Sender<Progress>,
    usage: Mutex<Usage>,
    /// The first event that has more to tell than the newest summary.
    keep_from: AtomicU64,
}

impl Shared {
    pub(crate) fn new() -> Self {
        Self {
            inboxes: AtomicUsize::new(0),
            sealed: AtomicBool::new(false),
            turns: watch::Sender::default(),
            unsettled: Notify::new(),
            deltas: broadcast::Sender::new(DELTAS),
            progress: watch::Sender::new(Progress::Idle),
            usage: Mutex::default(),
            keep_from: AtomicU64::new(0),
        }
    }

    pub(crate) fn inbox_opened(&self) {
        self.inboxes.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn inbox_closed(&self) {
        self.inboxes.fetch_sub(1, Ordering::SeqCst);
        // Those who wait for the last one to go look again.
        self.progress.send_modify(|_| {});
    }

    pub(crate) fn has_inboxes(&self) -> bool {
        self.inboxes.load(Ordering::SeqCst) > 0
    }

    pub(crate) fn seal(&self) {
        self.sealed.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_sealed(&self) -> bool {
        self.sealed.load(Ordering::SeqCst)
    }

    /// Says what the loop does. Once closed, it stays closed.
    pub(crate) fn set_progress(&self, progress: Progress) {
        self.progress.send_if_modified(|now| {
            let open = *now != Progress::Closed;
            if open {
                *now = progress;
            }
            open
        });
    }

    /// The host has answered: what waited for that is worked on again.
    pub(crate) fn answered(&self) {
        self.progress.send_if_modified(|now| {
            let waited = *now == Progress::Waiting;
            if waited {
                *now = Progress::Busy;
            }
            waited
        });
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// The turn under way from here on: from its first attempt until it is answered or given up,
    /// the waits between attempts included.
    pub(crate) fn set_turn(&self, turn: Option<u64>) {
        self.turns.send_modify(|turns| turns.current = turn);
    }

    /// Cancels the turn under way, if there is one, and no other.
    pub(crate) fn cancel_turn(&self) {
        self.turns.send_modify(|turns| {
            turns.cancelled = turns.current.or(turns.cancelled);
        });
    }

    /// Waits until a turn is cancelled; never ends if it is not.
    pub(crate) async fn cancelled(&self, turn: u64) {
        let mut turns = self.turns.subscribe();
        // The sender lives as long as `self`, so that it cannot fail.
        let _ = turns.wait_for(|turns| turns.cancelled == Some(turn)).await;
    }

    fn usage_mut(&self) -> MutexGuard<'_, Usage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_usage(&self, usage: Usage) {
        *self.usage_mut() = usage;
    }

    pub(crate) fn usage(&self) -> Usage {
        *self.usage_mut()
    }

    pub(crate) fn set_keep_from(&self, event: u64) {
        self.keep_from.store(event, Ordering::SeqCst);
    }

    pub(crate) fn keep_from(&self) -> u64 {
        self.keep_from.load(Ordering::SeqCst)
    }
}

impl Progress {
    /// The error of a loop that has stopped.
    pub(crate) fn stopped(&self) -> Option<LoopError> {
        match self {
            Self::Stopped(code, reason) => Some(LoopError::Stopped {
                code: code.clone(),
                reason: reason.clone(),
            }),
            Self::Closed => Some(LoopError::Closed),
            Self::Idle | Self::Busy | Self::Waiting => None,
        }
    }
}
