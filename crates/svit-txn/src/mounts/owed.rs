//! Making mount writes once their transition is durable.
//!
//! They are made after the append, not before it: a store can refuse an append, or not say what
//! became of it, and then nothing may have happened outside; while a file that was written cannot be
//! taken back. So a mount is written only for a version that exists, and what can fail then is
//! reported instead of undone.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_channel::Receiver;
use svit_tree::Path;
use svit_tree::mount::MountError;

use super::buffer::MountWrite;

/// A write below a mount that a transition asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountWritten {
    /// Where.
    pub path: Path,
    /// What became of it.
    pub outcome: MountOutcome,
}

/// What became of a write below a mount, or of a removal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MountOutcome {
    /// It is made when the transition is durable. If the program ends before, it is never made.
    Pending,
    /// It was made.
    Made,
    /// The mount refused it, or failed.
    Failed(MountError),
    /// It was not tried, because one before it failed.
    Skipped,
}

impl MountWrite {
    pub(crate) fn pending(&self) -> MountWritten {
        MountWritten {
            path: self.path.clone(),
            outcome: MountOutcome::Pending,
        }
    }
}

/// Makes writes in order, up to the first that fails.
fn make(version: u64, writes: &[MountWrite]) -> Vec<MountWritten> {
    let mut failed = false;
    let outcomes = writes.iter().map(|write| {
        let outcome = if failed {
            MountOutcome::Skipped
        } else {
            match write.mount.apply(&write.inside, write.value.as_ref()) {
                Ok(()) => MountOutcome::Made,
                Err(failure) => {
                    failed = true;
                    let code = failure.code();
                    tracing::warn!(version, code, "a mount write failed after its commit");
                    MountOutcome::Failed(failure)
                }
            }
        };
        MountWritten {
            path: write.path.clone(),
            outcome,
        }
    });
    outcomes.collect()
}

/// The writes of one transition that are being made.
#[derive(Debug)]
struct Batch {
    version: u64,
    done: Receiver<Vec<MountWritten>>,
}

/// Writes of committed transitions that are being made, whoever waits for them or not.
#[derive(Debug, Default)]
pub(crate) struct Owed {
    batches: Mutex<VecDeque<Batch>>,
}

impl Owed {
    fn batches(&self) -> MutexGuard<'_, VecDeque<Batch>> {
        // Each change under the lock is whole by itself.
        self.batches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to make the writes of a transition that has become durable, on a thread for blocking
    /// work. Called in the order of commits; since a turn begins only once there are none left, there
    /// are never two batches at work.
    pub(crate) fn begin(&self, version: u64, writes: Vec<MountWrite>) {
        if writes.is_empty() {
            return;
        }
        let (sender, done) = async_channel::bounded(1);
        self.batches().push_back(Batch { version, done });
        blocking::unblock(move || {
            // Nobody has to wait for it.
            let _ = sender.try_send(make(version, &writes));
        })
        .detach();
    }

    /// Whether all are made.
    pub(crate) fn is_idle(&self) -> bool {
        self.batches().is_empty()
    }

    /// Waits until all are made, and tells what became of those of `version`.
    pub(crate) async fn made(&self, version: Option<u64>) -> Option<Vec<MountWritten>> {
        let mut outcomes = None;
        loop {
            let (batch, done) = match self.batches().front() {
                Some(batch) => (batch.version, batch.done.clone()),
                None => return outcomes,
            };
            // Somebody who waited before may have taken the outcomes and not have come further.
            let made = done.recv().await.ok();
            if Some(batch) == version {
                outcomes = made;
            }
            let mut batches = self.batches();
            if batches.front().is_some_and(|front| front.version == batch) {
                batches.pop_front();
            }
        }
    }
}
