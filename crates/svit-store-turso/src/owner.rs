//! The owner thread: one thread, one connection, one queue of commands.
//!
//! `libsql` does its work on whoever polls it, so here nobody polls it but this thread, or a caller
//! who said that it may wait (see `seat.rs`): runtimes never stall on a sync. Whatever writes are
//! waiting when one is taken share its sync. A caller that is gone by the time of its answer changes
//! nothing.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_channel::{Receiver, RecvError, Sender, TryRecvError, WeakSender};
use svit_txn::StoreError;

use crate::apply::Written;
use crate::fault::unavailable;
use crate::opening::canonical;
use crate::options::OpenOptions;
use crate::prepared::Write;
use crate::seat::Seat;
use crate::session::{OpenError, Session};

/// Where an answer goes: a channel that carries one message.
pub(crate) type Answer<T> = Sender<Result<T, StoreError>>;

/// A store that was opened: its file, and where its connection is.
pub(crate) struct Opened {
    pub(crate) path: PathBuf,
    pub(crate) seat: Arc<Seat>,
}

/// What the owner thread is asked to do.
pub(crate) enum Command {
    Write(Write, Answer<Written>),
    Read(Box<dyn FnOnce(&mut Session) + Send>),
    /// Finish what is waiting, close the file, and answer.
    Close(Answer<()>),
}

/// The stores that this program has open, to tell one that is just closing from one in use.
static OPEN: Mutex<Vec<(PathBuf, WeakSender<Command>)>> = Mutex::new(Vec::new());

/// How long a store that this program is just closing is waited for, and how often it is looked at.
const CLOSING: Duration = Duration::from_secs(30);
/// How long one is waited for that this program seems to hold, but that is not on the list: it is
/// on its way onto the list or off it.
const PASSING: Duration = Duration::from_millis(200);
const LOOK: Duration = Duration::from_millis(2);

/// How long the thread stays awake after its work. A round trip then takes 14 us and not 21.
const AWAKE: Duration = Duration::from_micros(50);

/// Opens the store, says how that went, and serves until all senders are gone or it is closed.
pub(crate) fn run(
    path: &Path,
    options: &OpenOptions,
    commands: &Receiver<Command>,
    sender: WeakSender<Command>,
    opened: &Answer<Opened>,
) {
    let session = match open(path, options) {
        Ok(session) => session,
        Err(error) => {
            // Nobody waits for it any more if this fails.
            let _ = opened.send_blocking(Err(error));
            return;
        }
    };
    let path = session.path().to_owned();
    enter(&path, sender);
    let registered = Registered(path.clone());
    let seat = Arc::new(Seat::new(session));
    let shared = seat.clone();
    let vacated = Vacated(seat.clone());
    let let_go = LetGo(commands);
    let mut closing = Vec::new();
    if opened
        .send_blocking(Ok(Opened { path, seat: shared }))
        .is_ok()
    {
        closing = serve(&seat, commands, options.batch);
    }
    if let Some(session) = seat.wait().take() {
        session.close();
    }
    drop(let_go);
    drop(vacated);
    drop(registered);
    for answer in closing {
        let _ = answer.try_send(Ok(()));
    }
}

fn open(path: &Path, options: &OpenOptions) -> Result<Session, StoreError> {
    let path = canonical(path)?;
    let mut waited = Duration::ZERO;
    loop {
        match Session::open(&path, options) {
            Ok(session) => return Ok(session),
            Err(OpenError::Store(error)) => return Err(error),
            Err(OpenError::Held { pid }) => {
                let patience = match holder(&path) {
                    Holder::Closing => CLOSING,
                    // Its last act before it gives up the lock is to take its own id away.
                    Holder::NotListed if pid.is_none_or(|pid| pid == std::process::id()) => PASSING,
                    Holder::NotListed | Holder::Open => Duration::ZERO,
                };
                if waited >= patience {
                    return Err(StoreError::InUse { path, pid });
                }
                std::thread::sleep(LOOK);
                waited += LOOK;
            }
        }
    }
}

/// Serves until nothing can come any more. Gives those who wait for the file to be closed.
fn serve(seat: &Seat, commands: &Receiver<Command>, batch: usize) -> Vec<Answer<()>> {
    let mut writes = Vec::new();
    let mut answers = Vec::new();
    let mut reads = Vec::new();
    let mut closing = Vec::new();
    let mut first = commands.recv_blocking();
    while let Ok(command) = first {
        let mut next = Some(command);
        let mut taken = 0;
        while let Some(command) = next.take() {
            match command {
                Command::Write(write, answer) => {
                    writes.push(write);
                    answers.push(answer);
                }
                Command::Read(read) => reads.push(read),
                Command::Close(answer) => {
                    // Nothing new comes in; what is waiting is still served.
                    commands.close();
                    closing.push(answer);
                }
            }
            // Reads count, too, so that a stream of them cannot keep writes waiting.
            taken += 1;
            if taken < batch {
                next = commands.try_recv().ok();
            }
        }
        let mut seat = seat.wait();
        let Some(session) = seat.as_mut() else {
            break;
        };
        let results = match writes.is_empty() {
            true => Vec::new(),
            false => session.commit(&writes),
        };
        writes.clear();
        // Whoever gets an answer may want the seat next.
        let mut seat = Some(seat).filter(|_| !reads.is_empty());
        for (answer, result) in answers.drain(..).zip(results) {
            // A caller that is gone changes nothing.
            let _ = answer.try_send(result);
        }
        // Behind the writes: a read that was sent after a write sees it, even if its caller did not
        // wait for the answer. Whoever settles a forgotten write relies on that.
        for read in reads.drain(..) {
            if let Some(session) = seat.as_mut().and_then(|seat| seat.as_mut()) {
                read(session);
            }
        }
        drop(seat);
        first = soon(commands);
    }
    closing
}

/// Waits for a command: a moment awake, since whoever got an answer often asks again at once and
/// waking a thread costs both sides, then asleep.
fn soon(commands: &Receiver<Command>) -> Result<Command, RecvError> {
    let start = Instant::now();
    while start.elapsed() < AWAKE {
        match commands.try_recv() {
            Ok(command) => return Ok(command),
            Err(TryRecvError::Closed) => break,
            // Others have this core first.
            Err(TryRecvError::Empty) => std::thread::yield_now(),
        }
    }
    commands.recv_blocking()
}

fn registry() -> std::sync::MutexGuard<'static, Vec<(PathBuf, WeakSender<Command>)>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn enter(path: &Path, sender: WeakSender<Command>) {
    registry().push((path.to_owned(), sender));
}

/// What this program's list says of a store.
enum Holder {
    Open,
    /// No handle is left, or it was told to close.
    Closing,
    NotListed,
}

fn holder(path: &Path) -> Holder {
    let mut found = Holder::NotListed;
    for (_, sender) in registry().iter().filter(|(open, _)| open == path) {
        match sender.upgrade() {
            Some(sender) if !sender.is_closed() => return Holder::Open,
            _ => found = Holder::Closing,
        }
    }
    found
}

/// Closes the file when its thread ends, also by a panic: handles outlive the thread, and with them
/// the seat.
struct Vacated(Arc<Seat>);

impl Drop for Vacated {
    fn drop(&mut self) {
        drop(self.0.wait().take());
    }
}

/// Lets go of commands that nobody will serve when the thread ends, also by a panic: the channel would
/// keep them, and with them their callers, for as long as a handle lives.
struct LetGo<'a>(&'a Receiver<Command>);

impl Drop for LetGo<'_> {
    fn drop(&mut self) {
        self.0.close();
        while self.0.try_recv().is_ok() {}
    }
}

/// Takes the store off the list when its thread ends, also by a panic. Dropped after the session,
/// so that the lock is free by then.
struct Registered(PathBuf);

impl Drop for Registered {
    fn drop(&mut self) {
        let mut open = registry();
        if let Some(at) = open.iter().position(|(path, sender)| {
            *path == self.0 && sender.upgrade().is_none_or(|sender| sender.is_closed())
        }) {
            open.swap_remove(at);
        }
    }
}

/// What a caller is told when the thread is gone.
pub(crate) fn gone(path: &Path) -> StoreError {
    unavailable(format!("{} is closed", path.display()))
}
