//! `Svit`: one process with its reason and act loop, as a program holds it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use svit_model::{Message, MessageId, Reasoner, Usage};
use svit_ports::Ports;
use svit_tree::{IntoAddress, IntoPath, Stat};
use svit_txn::{DurableProcess, EventQuery, Process, Snapshot, ThreadEvent};
use svit_value::{Text, Value};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::approvals::Approvals;
use crate::budget::{Budget, Stopwatch};
use crate::events::Events;
use crate::inbox::Inbox;
use crate::journal::Journal;
use crate::outbox::Outbox;
use crate::shared::{Progress, Shared};
use crate::thread::{Body, kind};
use crate::tools::ToolPolicy;
use crate::worker::Worker;
use crate::{LoopError, SvitBuilder};

/// How many notifications wait for a reader of [`Svit::events`].
const EVENTS: usize = 1_024;

/// A process with a loop that answers its messages.
///
/// Messages come in through an [`Inbox`] and answers out through an [`Outbox`]; both are durable as
/// far as the process's store is. Dropping it, or cancelling anything here, leaves a consistent
/// process that goes on when it is resumed.
///
/// ```
/// use svit_loop::Svit;
/// use svit_model::{Message, Reasoner, Scripted, ScriptedReply};
/// use svit_value::value;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let model = Scripted::new([
///     ScriptedReply::call("write", value!({"path": "/memory/facts/color", "value": "teal"})),
///     ScriptedReply::text("Noted."),
/// ]);
/// let mut svit = Svit::builder("svit://local/demo")?
///     .memory("facts", value!({}))
///     .reasoner(Reasoner::new("scripted", model))
///     .build()
///     .await?;
/// let (inbox, mut outbox) = (svit.inbox(), svit.outbox());
/// svit.start()?;
/// inbox.send(Message::user("The color is teal.")).await?;
/// assert_eq!(outbox.recv().await?.text(), Some("Noted."));
/// drop(inbox);
/// svit.block().await?;
/// assert_eq!(svit.read("/memory/facts/color")?, Some("teal".into()));
/// # Ok::<(), svit_loop::LoopError>(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct Svit {
    process: DurableProcess,
    shared: Arc<Shared>,
    reasoner: Option<Reasoner>,
    instructions: Option<String>,
    policy: ToolPolicy,
    pub(crate) budget: Budget,
    /// Those that are attached to the process.
    pub(crate) ports: Arc<Ports>,
    running: Mutex<Running>,
}

/// The loop before, while and after it runs.
#[derive(Debug)]
enum Running {
    /// Not started yet; the thread as it was read.
    Not(Box<Journal>),
    /// Started; it may have ended by itself.
    Started(JoinHandle<()>),
    /// Stopped for good.
    Stopped,
}

impl Drop for Svit {
    fn drop(&mut self) {
        self.shared.seal();
        self.shared.set_progress(Progress::Closed);
        if let Running::Started(task) = &*self.running() {
            task.abort();
        }
    }
}

impl Svit {
    /// Starts to describe a new process, which lives in memory.
    ///
    /// # Errors
    /// The address is malformed.
    pub fn builder(address: impl IntoAddress) -> Result<SvitBuilder, LoopError> {
        Ok(SvitBuilder::new(Process::builder(address)?))
    }

    /// Starts to describe a loop around a process that is in a store. The store itself is kept
    /// open by the process; the caller need not hold it.
    ///
    /// # Errors
    /// None today; the signature leaves room for a process that cannot be taken over.
    pub fn persisted(process: DurableProcess) -> Result<SvitBuilder, LoopError> {
        Ok(SvitBuilder::persisted(process))
    }

    pub(crate) async fn new(
        process: DurableProcess,
        reasoner: Option<Reasoner>,
        instructions: Option<String>,
        policy: ToolPolicy,
    ) -> Result<Self, LoopError> {
        let shared = Arc::new(Shared::new());
        let journal = Journal::read(process.clone(), shared.clone()).await?;
        Ok(Self {
            process,
            shared,
            reasoner,
            instructions,
            policy,
            budget: Budget::default(),
            ports: Arc::new(Ports::new()),
            running: Mutex::new(Running::Not(Box::new(journal))),
        })
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_started(&self) -> bool {
        matches!(*self.running(), Running::Started(_))
    }

    /// The process.
    pub const fn process(&self) -> &DurableProcess {
        &self.process
    }

    /// A way in for messages. While one is held, [`block`](Self::block) waits for more.
    pub fn inbox(&self) -> Inbox {
        Inbox::new(self.process.clone(), self.shared.clone())
    }

    /// Answers from here on.
    pub fn outbox(&self) -> Outbox {
        self.outbox_from(self.process.events_end())
    }

    /// Answers from an earlier [`position`](Outbox::position) on, those that were committed and
    /// never seen included. 0 is the first event of the thread.
    pub fn outbox_from(&self, position: u64) -> Outbox {
        Outbox::new(self.process.clone(), &self.shared, position)
    }

    /// The calls that wait for the host's yes or no, from the first that waits now.
    pub fn approvals(&self) -> Approvals {
        Approvals::new(self.process.clone(), self.shared.clone())
    }

    /// Everything that happens from here on.
    pub fn events(&self) -> Events {
        Events::new(self.process.clone(), &self.shared, EVENTS)
    }

    /// Starts the loop as a task of the tokio runtime that this is called in. A loop that another
    /// `Svit` runs on the same process stops with [`LoopError::Superseded`]: the newest works.
    ///
    /// # Errors
    /// [`LoopError::NoRuntime`], [`LoopError::NoReasoner`], [`LoopError::AlreadyStarted`];
    /// [`LoopError::Closed`] after [`stop`](Self::stop).
    pub fn start(&self) -> Result<(), LoopError> {
        let runtime = Handle::try_current().map_err(|_| LoopError::NoRuntime)?;
        if !has_time() {
            return Err(LoopError::NoRuntime);
        }
        let reasoner = self.reasoner.clone().ok_or(LoopError::NoReasoner)?;
        let mut running = self.running();
        if self.shared.is_sealed() {
            return Err(LoopError::Closed);
        }
        let journal = match std::mem::replace(&mut *running, Running::Stopped) {
            Running::Not(journal) => *journal,
            other => {
                *running = other;
                return Err(LoopError::AlreadyStarted);
            }
        };
        let worker = Worker {
            process: self.process.clone(),
            shared: self.shared.clone(),
            reasoner,
            instructions: self.instructions.clone(),
            policy: self.policy.clone(),
            budget: self.budget,
            stopwatch: Stopwatch::default(),
            ports: self.ports.clone(),
            journal,
        };
        // Busy until it has looked at the inbox, so that nobody takes it for idle before.
        self.shared.set_progress(Progress::Busy);
        *running = Running::Started(runtime.spawn(worker.run()));
        Ok(())
    }

    /// Waits until every [`Inbox`] is dropped and every message is answered or given up. While a call
    /// waits for the host, this does too: [`Approvals`] answers it.
    ///
    /// # Errors
    /// [`LoopError::NotStarted`] if messages wait and nothing works on them;
    /// [`LoopError::Stopped`] if the loop has stopped.
    pub async fn block(&mut self) -> Result<(), LoopError> {
        self.wait_until_idle(|shared| !shared.has_inboxes(), false)
            .await
    }

    /// Takes no more messages, waits until every message that waits is answered or given up, and
    /// ends the loop. Afterwards nothing of it holds the process or its store. Where no loop was
    /// started, messages that wait stay in the inbox; where a call waits for the host, its message and
    /// those behind it do. Dropping the future leaves the loop running; this can be called again.
    ///
    /// # Errors
    /// [`LoopError::Stopped`] if the loop had stopped before. It has ended all the same.
    pub async fn stop(&mut self) -> Result<(), LoopError> {
        self.shared.seal();
        let drained = if self.is_started() {
            self.wait_until_idle(|_| true, true).await
        } else {
            Ok(())
        };
        self.shared.set_progress(Progress::Closed);
        let running = std::mem::replace(&mut *self.running(), Running::Stopped);
        if let Running::Started(task) = running {
            task.abort();
            // It was aborted, so the only news is that it has ended.
            let _ = task.await;
        }
        drained
    }

    async fn wait_until_idle(
        &self,
        may_end: impl Fn(&Shared) -> bool,
        without_host: bool,
    ) -> Result<(), LoopError> {
        let mut progress = self.shared.watch();
        loop {
            let now = progress.borrow_and_update().clone();
            // Whoever could answer may be the one who waits here.
            if without_host && now == Progress::Waiting {
                return Ok(());
            }
            // A closed inbox takes nothing more: it need not be dropped.
            if now == Progress::Closed || may_end(&self.shared) {
                let waiting = self.waiting()?;
                if waiting == 0 && matches!(now, Progress::Idle | Progress::Closed) {
                    return Ok(());
                }
                if !self.is_started() {
                    return Err(LoopError::NotStarted { waiting });
                }
            }
            if let Some(stopped) = now.stopped() {
                return Err(stopped);
            }
            if progress.changed().await.is_err() {
                return Err(LoopError::Closed);
            }
        }
    }

    fn waiting(&self) -> Result<u64, LoopError> {
        let inbox = self.process.stat("/inbox")?;
        Ok(inbox.and_then(|stat| stat.entries).unwrap_or(0))
    }

    /// Ends the turn under way, if there is one, also while it waits for another attempt. Its
    /// message is given up with the code `cancelled`; what was committed stays. A message that no
    /// attempt was made at yet is not concerned.
    pub fn cancel_turn(&self) {
        self.shared.cancel_turn();
    }

    /// Ends when a call waits for the host's yes or no.
    pub(crate) async fn waits_for_host(&self) {
        let mut progress = self.shared.watch();
        // The sender lives as long as `self`, so that it cannot fail.
        let _ = progress.wait_for(|now| *now == Progress::Waiting).await;
    }

    /// Tokens used by the whole thread so far.
    pub fn usage(&self) -> Usage {
        self.shared.usage()
    }

    /// The value at `path`, if there is one.
    ///
    /// # Errors
    /// The path is malformed.
    pub fn read(&self, path: impl IntoPath) -> Result<Option<Value>, LoopError> {
        Ok(self.process.read(path)?)
    }

    /// The newest version and the value at `path` in it.
    ///
    /// # Errors
    /// The path is malformed.
    pub fn read_versioned(&self, path: impl IntoPath) -> Result<(u64, Option<Value>), LoopError> {
        Ok(self.process.read_versioned(path)?)
    }

    /// The sorted names of the children of `path`.
    ///
    /// # Errors
    /// The path is malformed.
    pub fn discover(&self, path: impl IntoPath) -> Result<Vec<Text>, LoopError> {
        Ok(self.process.discover(path)?)
    }

    /// Facts about `path`; none where nothing is.
    ///
    /// # Errors
    /// The path is malformed.
    pub fn stat(&self, path: impl IntoPath) -> Result<Option<Stat>, LoopError> {
        Ok(self.process.stat(path)?)
    }

    /// The newest version as a file; see [`Process::restore`].
    pub fn snapshot(&self) -> Snapshot {
        self.process.snapshot()
    }

    /// A child in the same store, with this process's memory and scripts as they are now. It is not
    /// started; give it a reasoner through [`persisted`](Self::persisted).
    ///
    /// # Errors
    /// The address is malformed or taken.
    pub async fn fork(&self, address: impl IntoAddress) -> Result<DurableProcess, LoopError> {
        Ok(self.process.fork(address).await?)
    }

    /// Forgets the events of the thread that a summary stands for by now, and never more: what the
    /// loop would need to go on stays. Returns the number of the first event that stays for that
    /// reason; 0 if nothing was compacted yet. O(what is forgotten).
    ///
    /// Answers among them can be read no more, neither with [`outbox_from`](Self::outbox_from) nor with
    /// [`recent_messages`](Self::recent_messages). A fork that was made before the summary shares these
    /// events, and has no summary: it loses them.
    ///
    /// # Errors
    /// Those of the store; made again, it is harmless.
    pub async fn trim_compacted(&self) -> Result<u64, LoopError> {
        let keep_from = self.shared.keep_from();
        if keep_from > 0 {
            self.process.trim_events(keep_from).await?;
        }
        Ok(keep_from)
    }

    /// The newest events of the thread, newest last.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn recent_events(&self, count: usize) -> Result<Vec<ThreadEvent>, LoopError> {
        Ok(self.process.recent_events(count).await?)
    }

    /// The newest messages of the conversation, newest last: what was asked and what was answered,
    /// without the steps in between. Derived from the thread's events.
    ///
    /// # Errors
    /// Those of the store; an event that cannot be read.
    pub async fn recent_messages(&self, count: usize) -> Result<Vec<Message>, LoopError> {
        const PAGE: usize = 256;
        let mut messages = Vec::new();
        let mut end = self.process.events_end();
        while messages.len() < count && end > 0 {
            let query = EventQuery {
                from: end - 1,
                limit: PAGE,
                newest_first: true,
            };
            let page = self.process.events(query).await?;
            let Some(oldest) = page.last() else {
                break;
            };
            end = oldest.seq;
            for event in &page {
                if messages.len() < count
                    && let Some(message) = shown(event)?
                {
                    messages.push(message);
                }
            }
        }
        messages.reverse();
        Ok(messages)
    }
}

/// The message that an event shows to people: what was asked, with its number, or what was answered.
fn shown(event: &ThreadEvent) -> Result<Option<Message>, LoopError> {
    let body = Body::of(event);
    let turn = || body.count("turn").map(MessageId::new);
    match &*event.kind {
        kind::MESSAGE_ACCEPTED => Ok(Some(body.message("message")?.with_id(turn()?))),
        kind::MODEL_RESPONDED => {
            let message = body.message("message")?;
            let is_step = message.tool_calls().next().is_some();
            Ok((!is_step).then_some(message.with_in_reply_to(turn()?)))
        }
        _ => Ok(None),
    }
}

/// Whether the runtime can measure time. Asked at the start: the first failed turn would be late.
fn has_time() -> bool {
    std::panic::catch_unwind(|| drop(tokio::time::sleep(std::time::Duration::ZERO))).is_ok()
}
