//! `Svit`: one process with its reason and act loop, as a program holds it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use svit_model::{Message, Reasoner, Usage};
use svit_tree::{IntoAddress, IntoPath, Stat};
use svit_txn::{DurableProcess, EventQuery, Process, Snapshot, ThreadEvent};
use svit_value::{Text, Value};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::events::Events;
use crate::inbox::Inbox;
use crate::outbox::Outbox;
use crate::shared::{Progress, Shared};
use crate::thread::{Body, kind};
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
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Drop for Svit {
    fn drop(&mut self) {
        if let Some(task) = self.task().take() {
            task.abort();
        }
        self.shared.set_progress(Progress::Closed);
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

    pub(crate) fn new(
        process: DurableProcess,
        reasoner: Option<Reasoner>,
        instructions: Option<String>,
    ) -> Self {
        Self {
            process,
            shared: Arc::new(Shared::new()),
            reasoner,
            instructions,
            task: Mutex::new(None),
        }
    }

    fn task(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.task.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// Everything that happens from here on.
    pub fn events(&self) -> Events {
        Events::new(self.process.clone(), &self.shared, EVENTS)
    }

    /// Starts the loop as a task of the tokio runtime that this is called in.
    ///
    /// # Errors
    /// [`LoopError::NoRuntime`], [`LoopError::AlreadyStarted`], [`LoopError::NoReasoner`].
    pub fn start(&self) -> Result<(), LoopError> {
        let runtime = Handle::try_current().map_err(|_| LoopError::NoRuntime)?;
        let reasoner = self.reasoner.clone().ok_or(LoopError::NoReasoner)?;
        let mut task = self.task();
        if task.is_some() {
            return Err(LoopError::AlreadyStarted);
        }
        let worker = Worker::new(
            self.process.clone(),
            self.shared.clone(),
            reasoner,
            self.instructions.clone(),
        );
        // Busy until it has looked at the inbox, so that nobody takes it for idle before.
        self.shared.set_progress(Progress::Busy);
        *task = Some(runtime.spawn(worker.run()));
        Ok(())
    }

    /// Waits until every [`Inbox`] is dropped and every message is answered or given up.
    ///
    /// # Errors
    /// [`LoopError::NotStarted`] if messages wait and nothing works on them;
    /// [`LoopError::Stopped`] if the loop has stopped.
    pub async fn block(&mut self) -> Result<(), LoopError> {
        self.wait_until_idle(|shared| !shared.has_inboxes()).await
    }

    /// Takes no more messages, waits until every message that waits is answered or given up, and
    /// ends the loop. Afterwards nothing of it holds the process or its store.
    ///
    /// # Errors
    /// As [`block`](Self::block). New messages are refused all the same.
    pub async fn stop(&mut self) -> Result<(), LoopError> {
        self.shared.seal();
        if self.task().is_some() {
            self.wait_until_idle(|_| true).await?;
        }
        let task = self.task().take();
        if let Some(task) = task {
            task.abort();
            // It was aborted, so the only news is that it has ended.
            let _ = task.await;
        }
        Ok(())
    }

    async fn wait_until_idle(&self, may_end: impl Fn(&Shared) -> bool) -> Result<(), LoopError> {
        let mut progress = self.shared.watch();
        loop {
            let now = progress.borrow_and_update().clone();
            if let Some(stopped) = now.stopped() {
                return Err(stopped);
            }
            if may_end(&self.shared) {
                let waiting = self.waiting()?;
                if waiting == 0 && now == Progress::Idle {
                    return Ok(());
                }
                if self.task().is_none() {
                    return Err(LoopError::NotStarted { waiting });
                }
            }
            if progress.changed().await.is_err() {
                return Err(LoopError::Closed);
            }
        }
    }

    fn waiting(&self) -> Result<u64, LoopError> {
        let inbox = self.process.stat("/inbox")?;
        Ok(inbox.map_or(0, |stat| stat.entries))
    }

    /// Ends the turn under way, if there is one. Its message is given up with the code `cancelled`;
    /// what was committed stays.
    pub fn cancel_turn(&self) {
        self.shared.cancel.notify_waiters();
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
                    && matches!(&*event.kind, kind::MESSAGE_ACCEPTED | kind::MODEL_RESPONDED)
                {
                    let message = Body::of(event).message("message")?;
                    if message.tool_calls().next().is_none() {
                        messages.push(message);
                    }
                }
            }
        }
        messages.reverse();
        Ok(messages)
    }
}
