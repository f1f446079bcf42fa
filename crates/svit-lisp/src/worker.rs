//! The threads that guests run on: their stack is sized for the worst program that the limits allow,
//! whatever stack the caller has.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;

/// Stack of a worker. Only what is touched takes memory.
const STACK_BYTES: usize = 256 << 20;
/// Workers that are kept when they have nothing to do.
const MAX_IDLE: usize = 4;
/// Runs inside runs on one thread; the host's own limit is below it.
const MAX_NESTED: u32 = 66;

/// Looks for a job or a result before a thread sleeps. Waking a sleeping thread takes longer than most
/// activations; this is some tens of microseconds, which others can have if they need the processor.
const LOOKS: u32 = 100;

type Job = Box<dyn FnOnce() + Send>;

thread_local! {
    /// Runs that are open on this thread, if it is a worker.
    static OPEN: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Idle workers, each waiting for one job.
static IDLE: Mutex<Vec<SyncSender<Job>>> = Mutex::new(Vec::new());

/// Why a job gave no result.
#[derive(Debug)]
pub(crate) enum Lost {
    /// It panicked.
    Panicked,
    /// No thread could be started.
    NoThread,
    /// There are too many runs inside one another.
    TooDeep,
}

/// Runs `job` on a worker and waits for it; on a worker already, runs it in place.
pub(crate) fn run<T: Send + 'static>(job: impl FnOnce() -> T + Send + 'static) -> Result<T, Lost> {
    if let Some(open) = OPEN.get() {
        if open >= MAX_NESTED {
            return Err(Lost::TooDeep);
        }
        OPEN.set(Some(open + 1));
        let result = caught(job);
        OPEN.set(Some(open));
        return result;
    }
    let (done, result) = sync_channel(1);
    let boxed: Job = Box::new(move || {
        // The caller waits, so the only failure is that it is gone.
        let _ = done.send(caught(job));
    });
    hand_over(boxed)?;
    receive(&result).unwrap_or(Err(Lost::NoThread))
}

/// What comes next: a moment awake, then asleep. None if nothing can come any more.
fn receive<T>(from: &Receiver<T>) -> Option<T> {
    for _ in 0..LOOKS {
        match from.try_recv() {
            Ok(received) => return Some(received),
            Err(TryRecvError::Empty) => thread::yield_now(),
            Err(TryRecvError::Disconnected) => return None,
        }
    }
    from.recv().ok()
}

fn caught<T>(job: impl FnOnce() -> T) -> Result<T, Lost> {
    // What a panic says is for the panic hook; a guest's error carries none of it.
    catch_unwind(AssertUnwindSafe(job)).map_err(|_| Lost::Panicked)
}

fn idle() -> std::sync::MutexGuard<'static, Vec<SyncSender<Job>>> {
    // Nothing that can panic happens under this lock.
    IDLE.lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn hand_over(mut job: Job) -> Result<(), Lost> {
    loop {
        let Some(worker) = idle().pop() else { break };
        match worker.send(job) {
            Ok(()) => return Ok(()),
            Err(returned) => job = returned.0,
        }
    }
    let (sender, jobs) = sync_channel::<Job>(1);
    thread::Builder::new()
        .name("svit-guest".into())
        .stack_size(STACK_BYTES)
        .spawn(move || work(job, &sender, &jobs))
        .map(drop)
        .map_err(|_| Lost::NoThread)
}

fn work(first: Job, own: &SyncSender<Job>, jobs: &Receiver<Job>) {
    OPEN.set(Some(1));
    let mut job = first;
    loop {
        job();
        {
            let mut idle = idle();
            if idle.len() >= MAX_IDLE {
                return;
            }
            idle.push(own.clone());
        }
        match receive(jobs) {
            Some(next) => job = next,
            None => return,
        }
    }
}
