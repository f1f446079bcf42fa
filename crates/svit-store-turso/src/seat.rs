//! The seat: who sits on it holds the connection. There is one, so at any time one thread does all
//! that is done to the file.
//!
//! Most of the time that is the owner thread, which serves its queue. A caller that may wait for the
//! disk sits down itself when nobody else is there and nobody waits: handing a commit to another
//! thread and its answer back costs two wake-ups, which can be half as long as the sync itself.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::session::Session;

/// The connection's place.
pub(crate) struct Seat {
    session: Mutex<Option<Session>>,
    /// The owner thread has taken a command from its queue and wants the seat: a mutex is not fair,
    /// and a caller who sits down again and again would keep it out.
    is_wanted: AtomicBool,
}

impl Seat {
    pub(crate) fn new(session: Session) -> Self {
        Self {
            session: Mutex::new(Some(session)),
            is_wanted: AtomicBool::new(false),
        }
    }

    /// The seat, once it is free. Nothing is in it after the store was closed, or after whoever sat
    /// there panicked: the file is closed then, and the next owner reads what is durable.
    pub(crate) fn wait(&self) -> MutexGuard<'_, Option<Session>> {
        self.is_wanted.store(true, Ordering::Relaxed);
        let seat = self.session.lock().unwrap_or_else(|poisoned| {
            let mut seat = PoisonError::into_inner(poisoned);
            drop(seat.take());
            seat
        });
        self.is_wanted.store(false, Ordering::Relaxed);
        seat
    }

    /// The seat if nobody sits there or waits for it.
    pub(crate) fn try_take(&self) -> Option<MutexGuard<'_, Option<Session>>> {
        if self.is_wanted.load(Ordering::Relaxed) {
            return None;
        }
        self.session.try_lock().ok()
    }
}
