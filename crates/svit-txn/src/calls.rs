//! A guest that waits for a port: the request goes to the activation's own future, which awaits the
//! port, and the answer comes back to the guest's thread. Nothing is run a second time.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use async_channel::{Receiver, Sender};
use futures_lite::future;
use svit_tree::guest::{GuestError, GuestErrorKind, HostError};
use svit_value::{Digest, Text, Value};

use crate::committed::Committed;
use crate::guests::cut;
use crate::ports::{
    CallKeys, PortCall, PortDispatch, PortEffect, PortOutcome, PortRequest, PortStage,
};
use crate::store::ReceiptKey;
use crate::{DurableProcess, Error, LimitKind, Limits};

type Answer = Result<Value, HostError>;

/// A request on its way from a guest to the activation's future.
pub(crate) struct Posted {
    request: Box<PortRequest>,
    /// Where the guest waits. Dropped without an answer, it ends the guest.
    answer: SyncSender<Answer>,
}

/// The guest's end of an activation's port calls.
pub(crate) struct Calls {
    dispatch: Arc<dyn PortDispatch>,
    requests: Sender<Posted>,
    keys: CallKeys,
    submission: Option<ReceiptKey>,
    committed: Committed,
    made: Mutex<Made>,
}

/// What an activation has called so far. A nested call that fails takes none of it back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Made {
    /// Calls that have ended, in the order in which they did.
    pub(crate) ended: Vec<PortCall>,
    /// The first port that was called and may have changed the world.
    pub(crate) wrote: Option<Text>,
    begun: u64,
    /// How often each call was made, by name and input.
    same: BTreeMap<(Text, Digest), u64>,
    waited: Duration,
}

/// Makes thread events about port calls.
pub(crate) type NotePort<'a> = Box<dyn Fn(PortStage<'_>) -> Vec<(Text, Value)> + Send + Sync + 'a>;

/// Where events about the port calls of an activation go, if they go anywhere.
#[derive(Clone, Copy)]
pub(crate) struct Notes<'a> {
    pub(crate) process: &'a DurableProcess,
    pub(crate) note: Option<&'a NotePort<'a>>,
}

impl Notes<'_> {
    async fn take(self, stage: PortStage<'_>) -> Result<(), Error> {
        match self.note {
            Some(note) => self.process.append_events(note(stage)).await,
            None => Ok(()),
        }
    }
}

/// The future's end.
pub(crate) struct Waiting {
    dispatch: Arc<dyn PortDispatch>,
    requests: Receiver<Posted>,
}

/// Both ends, for one run of an activation.
pub(crate) fn line(
    dispatch: Arc<dyn PortDispatch>,
    keys: CallKeys,
    submission: Option<ReceiptKey>,
    committed: Committed,
) -> (Calls, Waiting) {
    let (sender, requests) = async_channel::unbounded();
    let calls = Calls {
        dispatch: dispatch.clone(),
        requests: sender,
        keys,
        submission,
        committed,
        made: Mutex::default(),
    };
    (calls, Waiting { dispatch, requests })
}

impl Calls {
    fn made_mut(&self) -> MutexGuard<'_, Made> {
        // Each change under the lock is whole by itself.
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn made(&self) -> Made {
        self.made_mut().clone()
    }

    /// How long the guest has waited for ports.
    pub(crate) fn waited(&self) -> Duration {
        self.made_mut().waited
    }

    /// Calls a port and waits for it, on the guest's thread.
    pub(crate) fn call(&self, limits: &Limits, name: &str, input: Value) -> Result<Value, Error> {
        let Some(effect) = self.dispatch.effect(name) else {
            let mut port = Text::from(name);
            cut(&mut port);
            return Err(Error::NoPort { port });
        };
        limits.check_value(&input, None)?;
        let (port, input_digest) = (Text::from(name), input.digest());
        let request = self.begin(limits, &port, input, effect)?;
        let started = Instant::now();
        let answer = self.wait_for(request);
        let outcome = answer.as_ref().map(PortOutcome::of);
        let mut made = self.made_mut();
        made.waited += started.elapsed();
        let Some(outcome) = outcome else {
            return Err(cancelled());
        };
        made.ended.push(PortCall {
            name: port.clone(),
            input: input_digest,
            outcome,
        });
        drop(made);
        match answer {
            None => Err(cancelled()),
            Some(Ok(value)) => {
                limits.check(LimitKind::PortResultBytes, value.measure().cbor_len)?;
                Ok(value)
            }
            Some(Err(mut failure)) => {
                cut(&mut failure.code);
                cut(&mut failure.message);
                Err(Error::Port { port, failure })
            }
        }
    }

    fn begin(
        &self,
        limits: &Limits,
        port: &Text,
        input: Value,
        effect: PortEffect,
    ) -> Result<PortRequest, Error> {
        let mut made = self.made_mut();
        limits.check(LimitKind::PortCalls, made.begun + 1)?;
        let index = made.begun;
        made.begun += 1;
        if effect == PortEffect::Write {
            made.wrote.get_or_insert_with(|| port.clone());
        }
        let input_digest = input.digest();
        let same = made.same.entry((port.clone(), input_digest)).or_default();
        let nth = *same;
        *same += 1;
        Ok(PortRequest {
            name: port.clone(),
            input,
            committed: self.committed.clone(),
            key: self.keys.key(port, input_digest, nth),
            index,
            submission: self.submission.clone(),
        })
    }

    /// None if nobody waits for the activation any more.
    fn wait_for(&self, request: PortRequest) -> Option<Answer> {
        let (answer, answered) = sync_channel(1);
        let request = Box::new(request);
        self.requests.try_send(Posted { request, answer }).ok()?;
        answered.recv().ok()
    }
}

/// What a guest is told whose activation has nobody left who waits for it.
fn cancelled() -> Error {
    let kind = GuestErrorKind::Cancelled;
    GuestError::new(kind, "cancelled", "the activation was cancelled").into()
}

impl Waiting {
    /// Runs a guest on a thread of its own and awaits the ports that it calls.
    ///
    /// The outer error is that of a store that did not take a note; the guest is let go then.
    ///
    /// The thread is of no pool, since it may wait for long: guests that wait for ports, whose
    /// ports wait for guests, can be as many as there are processes.
    pub(crate) async fn beside<T: Send + 'static>(
        self,
        job: impl FnOnce() -> Result<T, Error> + Send + 'static,
        notes: Notes<'_>,
    ) -> Result<Result<T, Error>, Error> {
        // THREAT[TM-PORT-2]: of no pool, and let go in `drop`.
        let (done, ended) = async_channel::bounded(1);
        let work = move || {
            // Unless nobody waits any more, there is room for the one result.
            let _ = done.try_send(job());
        };
        std::thread::Builder::new()
            .name("svit-activation".to_owned())
            .spawn(work)
            .map_err(|_| no_thread())?;
        let mut ended = pin!(ended.recv());
        loop {
            let next = future::or(async { Next::Ended(ended.as_mut().await) }, async {
                Next::Called(self.requests.recv().await)
            });
            match next.await {
                Next::Ended(result) => return Ok(result.unwrap_or_else(|_| Err(no_thread()))),
                Next::Called(Ok(posted)) => {
                    let request = *posted.request;
                    notes.take(PortStage::Started(&request)).await?;
                    let answer = answered(&*self.dispatch, notes.process, request.clone()).await;
                    let outcome = PortOutcome::of(&answer);
                    notes.take(PortStage::Finished(&request, outcome)).await?;
                    // A guest that is gone needs no answer.
                    let _ = posted.answer.send(answer);
                }
                // The guest's end is gone, so its result is on its way.
                Next::Called(Err(_)) => {
                    return Ok(ended.await.unwrap_or_else(|_| Err(no_thread())));
                }
            }
        }
    }
}

impl Drop for Waiting {
    /// Lets go of guests whose requests nobody will take: the channel would keep them for as long as
    /// the guest holds its end, which is for as long as it waits.
    fn drop(&mut self) {
        self.requests.close();
        while let Ok(posted) = self.requests.try_recv() {
            drop(posted);
        }
    }
}

enum Next<T> {
    Ended(Result<Result<T, Error>, async_channel::RecvError>),
    Called(Result<Posted, async_channel::RecvError>),
}

fn no_thread() -> Error {
    let message = "no thread could be started for the script";
    GuestError::new(GuestErrorKind::Panic, "no_thread", message).into()
}

/// One call, in which a panic ends the call and nothing else.
async fn answered(
    dispatch: &dyn PortDispatch,
    process: &DurableProcess,
    request: PortRequest,
) -> Answer {
    let panicked = || {
        let message = "the port failed inside and was stopped";
        Err(HostError::soft("port_panicked", message))
    };
    let Ok(mut call) = catch_unwind(AssertUnwindSafe(|| dispatch.call_for(process, request)))
    else {
        return panicked();
    };
    future::poll_fn(
        move |cx| match catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(answer)) => Poll::Ready(answer),
            Err(_) => Poll::Ready(panicked()),
        },
    )
    .await
}
