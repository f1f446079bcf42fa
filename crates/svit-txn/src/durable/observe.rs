//! Telling observers what has been published. A slow observer loses the oldest news, never holds up
//! a commit, and is told how many it lost.

use std::sync::{Mutex, PoisonError};

use async_broadcast::{Receiver, RecvError, Sender};
use svit_tree::Change;

use crate::store::ThreadEvent;

/// One thing that has been published.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Published {
    /// A transition was committed.
    Change(Box<Change>),
    /// A thread event was recorded.
    Event(ThreadEvent),
}

/// Why an observer got nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObserveError {
    /// So many were lost because they were not read in time. Read the process, then go on.
    #[error("{0} notifications were lost because they were not read in time")]
    Lagged(u64),
    /// The process is gone.
    #[error("the process is no longer open")]
    Closed,
}

/// Receives what a process publishes, in order.
#[derive(Debug)]
pub struct Observer {
    receiver: Receiver<Published>,
}

impl Observer {
    /// The next one. Dropping the future loses nothing.
    ///
    /// # Errors
    /// [`ObserveError::Lagged`], after which it goes on; [`ObserveError::Closed`].
    pub async fn recv(&mut self) -> Result<Published, ObserveError> {
        self.receiver.recv().await.map_err(|error| match error {
            RecvError::Overflowed(lost) => ObserveError::Lagged(lost),
            RecvError::Closed => ObserveError::Closed,
        })
    }
}

/// Each observer has a queue of its own, so that a slow one does not cost another anything.
#[derive(Debug, Default)]
pub(super) struct Observers {
    senders: Mutex<Vec<Sender<Published>>>,
}

impl Observers {
    pub(super) fn subscribe(&self, capacity: usize) -> Observer {
        let (mut sender, receiver) = async_broadcast::broadcast(capacity.max(1));
        sender.set_overflow(true);
        let mut senders = self.senders.lock().unwrap_or_else(PoisonError::into_inner);
        senders.push(sender);
        Observer { receiver }
    }

    /// There will be no news any more.
    pub(super) fn close(&self) {
        let mut senders = self.senders.lock().unwrap_or_else(PoisonError::into_inner);
        senders.clear();
    }

    /// Never waits. Observers that are gone are forgotten.
    pub(super) fn tell(&self, news: impl Iterator<Item = Published>) {
        let mut senders = self.senders.lock().unwrap_or_else(PoisonError::into_inner);
        senders.retain(|sender| sender.receiver_count() > 0);
        for item in news {
            for sender in senders.iter() {
                // It can only fail if the receiver has gone since; the next news forget it.
                let _ = sender.try_broadcast(item.clone());
            }
        }
    }
}
