//! Running a script: on a thread that may wait, and on that same thread, if nothing is in the way, also
//! the commit. Each thread that a result passes through has to be woken, which takes longer than most
//! scripts do.

use std::sync::Arc;

use async_lock::MutexGuardArc;
use futures_lite::future;
use svit_value::Value;

use super::DurableProcess;
use super::commit::Committer;
use super::submit::{Outcome, Prepared, RequestKey, check_version};
use crate::Error;
use crate::activation::{Finished, Job, NotCommitted, run_in};
use crate::calls::Notes;
use crate::may_wait::may_wait;
use crate::process::MAX_RUNS;
use crate::store::BoxFuture;
use crate::working::{Surroundings, Working};

/// What is to be run, and under which conditions.
pub(super) struct Wanted<'k> {
    pub(super) job: Job,
    pub(super) input: Value,
    pub(super) key: Option<&'k RequestKey>,
    pub(super) expected: Option<u64>,
    pub(super) notes: Notes<'k>,
    /// Nothing is to be recorded besides the transition, so that its thread can commit it.
    pub(super) is_plain: bool,
}

/// How far a run came on its thread. It holds no lock: whoever waits for it may be waiting for that.
enum Ended {
    /// Its end: what is left needs the commit lock.
    Ran(Result<Box<Finished>, Error>),
    /// It was given to the store, and this came of it: the outcome, and its version.
    Given(Result<(Outcome, u64), Error>, Untold),
}

/// What came of a job.
pub(super) enum Activated {
    /// It is to be committed, or not, under the commit lock.
    UnderLock(MutexGuardArc<Committer>, Result<Prepared, Error>),
    /// It has landed as this version.
    Landed(Outcome, u64),
}

/// Tells the hooks what was committed if nobody waits for the run any more. Dropped behind the lock,
/// which hooks may want.
struct Untold(Option<DurableProcess>);

impl Drop for Untold {
    fn drop(&mut self) {
        if let Some(process) = &self.0 {
            drop(process.inner.news.delivery());
        }
    }
}

impl DurableProcess {
    /// On the heap, as all that is awaited around a port.
    pub(super) fn activation_prepared<'k>(
        &'k self,
        wanted: Wanted<'k>,
    ) -> BoxFuture<'k, Result<Activated, Error>> {
        Box::pin(self.prepare_activation(wanted))
    }

    async fn prepare_activation(&self, wanted: Wanted<'_>) -> Result<Activated, Error> {
        let Wanted {
            job,
            input,
            key,
            expected,
            notes,
            is_plain,
        } = wanted;
        let mut committer = self.ready().await?;
        if let Some(replayed) = self.replayed(key).await? {
            return Ok(Activated::UnderLock(committer, Ok(replayed)));
        }
        if let Err(conflict) = check_version(&committer.state, expected) {
            return Ok(Activated::UnderLock(committer, Err(conflict)));
        }
        // Hooks are asked once, about the version that the activation is first tried at.
        let mut asked = Some(self.inner.news.hooks());
        let run = self.inner.attached.next_run();
        for _ in 0..MAX_RUNS {
            let (state, epoch) = (committer.state.clone(), committer.epoch);
            drop(committer);
            let (calls, waiting) = self.port_line(&state, epoch, run, key).unzip();
            let hooks = asked.take().unwrap_or_default();
            let (job, input) = (job.clone(), input.clone());
            let around = Surroundings {
                guests: self.inner.guests.clone(),
                calls,
                mounts: self.mounts(),
            };
            let working = Working::new(&state, around);
            let abandoned = CancelOnDrop(working.clone());
            // What is recorded besides it is made by whoever waits, and whether a request was made before
            // is for the store to say. Weak: a run that nobody waits for keeps no store open.
            let process = is_plain.then(|| Arc::downgrade(&self.inner));
            let work = move || {
                let ran = hooks
                    .ask(&state.address, state.version, &job, &input)
                    .and_then(|()| run_in(&working, &state, &job, input));
                let process = process.and_then(|process| process.upgrade());
                Ok(match (ran, process) {
                    (Ok(finished), Some(inner)) => DurableProcess { inner }.end_in_place(finished),
                    (ran, _) => Ended::Ran(ran.map(Box::new)),
                })
            };
            let ended = match waiting {
                Some(waiting) => waiting.beside(work, notes).await?,
                None if may_wait() => work(),
                None => blocking::unblock(work).await,
            };
            drop(abandoned);
            let ran = match ended {
                Ok(Ended::Given(given, mut untold)) => {
                    // Whoever waits tells them.
                    untold.0 = None;
                    let (outcome, version) = given?;
                    return Ok(Activated::Landed(outcome, version));
                }
                Ok(Ended::Ran(ran)) => ran,
                Err(lost) => Err(lost),
            };
            committer = self.settled().await?;
            if let Some(replayed) = self.replayed(key).await? {
                return Ok(Activated::UnderLock(committer, Ok(replayed)));
            }
            let finished = match ran {
                Ok(finished) => finished,
                Err(rejected) => return Ok(Activated::UnderLock(committer, Err(rejected))),
            };
            match finished.commit_on(&committer.state) {
                Ok((step, activation)) => {
                    let outcome = Outcome::Activation(Box::new(activation));
                    let step = Prepared::Step(Some(Box::new(step)), outcome);
                    return Ok(Activated::UnderLock(committer, Ok(step)));
                }
                Err(NotCommitted::Stale) => {}
                Err(NotCommitted::Failed(rejected)) => {
                    return Ok(Activated::UnderLock(committer, Err(rejected)));
                }
            }
        }
        let contended = Error::Contended { attempts: MAX_RUNS };
        Ok(Activated::UnderLock(committer, Err(contended)))
    }

    /// Commits a run that ended well, on its thread, if nothing is in the way.
    fn end_in_place(self, finished: Finished) -> Ended {
        let Some(mut committer) = self.inner.commit.try_lock_arc() else {
            return Ended::Ran(Ok(Box::new(finished)));
        };
        let is_free = committer.is_settled() && self.inner.store.can_append_in_place();
        if self.is_there().is_err() || !is_free {
            return Ended::Ran(Ok(Box::new(finished)));
        }
        let Ok((step, activation)) = finished.commit_on(&committer.state) else {
            return Ended::Ran(Ok(Box::new(finished)));
        };
        let version = activation.version;
        committer.take_off(Some(step), None, Vec::new(), None);
        let Some(attempted) = self.append_in_place(&mut committer) else {
            committer.take_back();
            return Ended::Ran(Ok(Box::new(finished)));
        };
        // Unless its outcome is unknown, nothing is waited for.
        let landed = future::block_on(self.bring_down(&mut committer, Some(attempted)));
        drop(committer);
        let outcome = Outcome::Activation(Box::new(activation));
        Ended::Given(landed.map(|()| (outcome, version)), Untold(Some(self)))
    }
}

/// Ends a run whose future was dropped; one that has ended by itself does not notice.
struct CancelOnDrop(Arc<Working>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
