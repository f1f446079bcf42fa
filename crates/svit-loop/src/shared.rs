//! What the handles of one `Svit` share: who still holds an inbox, wake-ups, and the loop's state.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
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
    /// It has stopped for good, with a code and a reason.
    Stopped(String, String),
    /// The `Svit` is gone.
    Closed,
}

#[derive(Debug)]
pub(crate) struct Shared {
    inboxes: AtomicUsize,
    /// Whether new messages are refused.
    sealed: AtomicBool,
    /// Wakes the loop: a message has come, or it shall stop.
    pub(crate) wake: Notify,
    /// Cancels the turn under way.
    pub(crate) cancel: Notify,
    pub(crate) deltas: broadcast::Sender<Delta>,
    progress: watch::Sender<Progress>,
    usage: Mutex<Usage>,
}

impl Shared {
    pub(crate) fn new() -> Self {
        Self {
            inboxes: AtomicUsize::new(0),
            sealed: AtomicBool::new(false),
            wake: Notify::new(),
            cancel: Notify::new(),
            deltas: broadcast::Sender::new(DELTAS),
            progress: watch::Sender::new(Progress::Idle),
            usage: Mutex::default(),
        }
    }

    pub(crate) fn inbox_opened(&self) {
        self.inboxes.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn inbox_closed(&self) {
        self.inboxes.fetch_sub(1, Ordering::SeqCst);
        self.tell();
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

    /// Tells those who wait for progress to look again.
    pub(crate) fn tell(&self) {
        self.progress.send_modify(|_| {});
    }

    pub(crate) fn set_progress(&self, progress: Progress) {
        self.progress.send_replace(progress);
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
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
            Self::Idle | Self::Busy => None,
        }
    }
}
