//! Running a script: on a thread that may wait, and on that same thread, if nothing is in the way, also
//! the commit. Each thread that a result passes through has to be woken, which takes longer than most
//! scripts do.

use std::sync::Arc;

use async_lock::MutexGuardArc;
use svit_value::Value;

use super::DurableProcess;
use super::commit::Committer;
use super::submit::{Outcome, Prepared, PreparedUnderLock, RequestKey, check_version};
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

/// How far a run came on its thread.
enum Ended {
    /// Its end: what is left needs the commit lock.
    Ran(Result<Box<Finished>, Error>),
    /// On top of the newest version, under the commit lock.
    Prepared(MutexGuardArc<Committer>, Prepared, Untold),
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
    ) -> BoxFuture<'k, PreparedUnderLock> {
        Box::pin(self.prepare_activation(wanted))
    }

    async fn prepare_activation(&self, wanted: Wanted<'_>) -> PreparedUnderLock {
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
            return Ok((committer, Ok(replayed)));
        }
        if let Err(conflict) = check_version(&committer.state, expected) {
            return Ok((committer, Err(conflict)));
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
            // Whether a request was made before can only be asked where the store can be awaited.
            let process = key.is_none().then(|| self.clone());
            let work = move || {
                let ran = hooks
                    .ask(&state.address, state.version, &job, &input)
                    .and_then(|()| run_in(&working, &state, &job, input));
                Ok(match (ran, process) {
                    (Ok(finished), Some(process)) => process.end_in_place(finished, is_plain),
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
                Ok(Ended::Prepared(committer, prepared, mut untold)) => {
                    // Whoever waits tells them.
                    untold.0 = None;
                    return Ok((committer, Ok(prepared)));
                }
                Ok(Ended::Ran(ran)) => ran,
                Err(lost) => Err(lost),
            };
            committer = self.settled().await?;
            if let Some(replayed) = self.replayed(key).await? {
                return Ok((committer, Ok(replayed)));
            }
            let finished = match ran {
                Ok(finished) => finished,
                Err(rejected) => return Ok((committer, Err(rejected))),
            };
            match finished.commit_on(&committer.state) {
                Ok((step, activation)) => {
                    let outcome = Outcome::Activation(Box::new(activation));
                    return Ok((committer, Ok(Prepared::Step(Some(Box::new(step)), outcome))));
                }
                Err(NotCommitted::Stale) => {}
                Err(NotCommitted::Failed(rejected)) => return Ok((committer, Err(rejected))),
            }
        }
        Ok((committer, Err(Error::Contended { attempts: MAX_RUNS })))
    }

    /// Goes on with a run that ended well, on its thread, as far as nobody has to be waited for.
    fn end_in_place(&self, finished: Finished, is_plain: bool) -> Ended {
        let Some(mut committer) = self.inner.commit.try_lock_arc() else {
            return Ended::Ran(Ok(Box::new(finished)));
        };
        if self.is_there().is_err() || !committer.is_settled() {
            return Ended::Ran(Ok(Box::new(finished)));
        }
        let Ok((step, activation)) = finished.commit_on(&committer.state) else {
            return Ended::Ran(Ok(Box::new(finished)));
        };
        let outcome = Outcome::Activation(Box::new(activation));
        if !is_plain {
            let step = Prepared::Step(Some(Box::new(step)), outcome);
            return Ended::Prepared(committer, step, Untold(None));
        }
        committer.take_off(Some(step), None, Vec::new(), None);
        let attempted = self.append_in_place(&mut committer);
        let in_flight = Prepared::InFlight { outcome, attempted };
        Ended::Prepared(committer, in_flight, Untold(Some(self.clone())))
    }
}

/// Ends a run whose future was dropped; one that has ended by itself does not notice.
struct CancelOnDrop(Arc<Working>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
