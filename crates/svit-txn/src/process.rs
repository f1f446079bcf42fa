//! `Process`: a process in memory. Persistence is `DurableProcess`, on top of the same states.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use svit_tree::guest::Guest;
use svit_tree::{
    Address, Caller, Change, IntoAddress, IntoPath, Listing, Node, Path, Source, Stat, Tree,
};
use svit_value::{Digest, Map, Text, Value};

use crate::activation::{Activation, Finished, Job, NotCommitted, run};
use crate::committed::Committed;
use crate::guests::{self, Guests};
use crate::hooks::{Attachments, Hook, Hooks, News};
use crate::mounts::Mounts;
use crate::outbox::Intent;
use crate::state::{State, Transition, check_size};
use crate::transaction::Transaction;
use crate::working::check_scripts;
use crate::{Base, BaseKind, Error, Limits, system};

/// How often an activation runs again because what it read has changed meanwhile.
pub(crate) const MAX_RUNS: u32 = 8;

/// One process, in memory: structured memory, named scripts, an inbox, message intents and metadata,
/// committed together.
///
/// Every change is one transition from version N to N+1, or nothing. Methods take `&self`; one
/// activation runs at a time, and host writes wait for it. Reads see the newest committed version.
///
/// ```
/// use svit_txn::Process;
/// use svit_value::value;
///
/// let process = Process::builder("svit://local/demo")?
///     .memory("count", 6)
///     .library("counter", "(define (main input)
///        (let ((n (+ (read \"/memory/count\") (value-get input \"/by\"))))
///          (do (write \"/memory/count\" n) n)))")
///     .build()?;
/// # #[cfg(feature = "lisp")] {
/// let activation = process.exec("/lib/counter", value!({"by": 3}))?;
/// assert_eq!((activation.output, activation.version), (9.into(), 1));
/// # }
/// # Ok::<(), svit_txn::Error>(())
/// ```
#[derive(Debug)]
pub struct Process {
    base: Base,
    guests: Guests,
    /// Held while a guest runs and while a host change is made.
    turn: Mutex<()>,
    state: Mutex<State>,
    news: News,
}

impl Process {
    /// Starts to describe a new process.
    ///
    /// # Errors
    /// The address is malformed.
    pub fn builder(address: impl IntoAddress) -> Result<ProcessBuilder, Error> {
        Ok(ProcessBuilder::new(address.into_address()?))
    }

    pub(crate) fn new(base: Base, guests: Guests, state: State) -> Self {
        Self {
            base,
            guests,
            turn: Mutex::new(()),
            state: Mutex::new(state),
            news: News::default(),
        }
    }

    /// The process with a guest for a language, such as `svit-lisp@2`; for use after
    /// [`restore`](Self::restore), since guests are no part of what is stored.
    #[must_use]
    pub fn guest(mut self, language: impl Into<String>, guest: Arc<dyn Guest>) -> Self {
        self.guests.add(language.into(), guest);
        self
    }

    /// The process with a hook more, behind those that it has; for use after
    /// [`restore`](Self::restore) and [`fork`](Self::fork), since hooks are neither stored nor
    /// inherited.
    #[must_use]
    pub fn hook(mut self, hook: Arc<dyn Hook>) -> Self {
        let mut hooks = self.news.hooks();
        hooks.add(hook);
        self.news = News::new(hooks);
        self
    }

    /// Takes the parts that a durable process continues with.
    pub(crate) fn into_parts(self) -> (Attachments, State) {
        let attached = Attachments {
            guests: self.guests,
            hooks: self.news.hooks(),
        };
        let state = self.state.into_inner();
        (attached, state.unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes a transition the newest version.
    fn publish(&self, mut newest: MutexGuard<'_, State>, transition: Transition) -> Change {
        *newest = transition.after;
        self.news.push(&transition.change);
        transition.change
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A state is replaced in one assignment, so a panic elsewhere cannot leave half of one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The newest version, to read several values of one and the same. It has no mounts attached.
    pub fn committed(&self) -> Committed {
        Committed::new(self.state(), Mounts::default())
    }

    pub(crate) fn state(&self) -> State {
        self.lock().clone()
    }

    /// The address.
    pub fn address(&self) -> Address {
        self.lock().address.clone()
    }

    /// The newest version. A new process is at 0.
    pub fn version(&self) -> u64 {
        self.lock().version
    }

    /// The digest of `/` at the newest version.
    pub fn root_digest(&self) -> Digest {
        self.lock().tree.digest()
    }

    /// Where the history of this process starts.
    pub const fn base(&self) -> &Base {
        &self.base
    }

    /// The limits.
    pub fn limits(&self) -> Limits {
        (*self.lock().limits).clone()
    }

    /// The value at `path`, if there is one. O(depth * log n).
    ///
    /// # Errors
    /// The path is malformed.
    pub fn read(&self, path: impl IntoPath) -> Result<Option<Value>, Error> {
        self.committed().read(path)
    }

    /// The sorted names of the children of `path`.
    ///
    /// # Errors
    /// The path is malformed.
    pub fn discover(&self, path: impl IntoPath) -> Result<Vec<Text>, Error> {
        self.committed().discover(path)
    }

    /// One page of the names of the children of `path`: those behind `after`, at most `limit`. A
    /// large listing costs only the page.
    ///
    /// # Errors
    /// The path is malformed.
    pub fn discover_page(
        &self,
        path: impl IntoPath,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Listing, Error> {
        self.committed().discover_page(path, after, limit)
    }

    /// Facts about `path`; none where nothing is.
    ///
    /// # Errors
    /// The path is malformed.
    pub fn stat(&self, path: impl IntoPath) -> Result<Option<Stat>, Error> {
        self.committed().stat(path, Caller::Host)
    }

    /// Sets the value at `path`, below `/memory` or `/lib`, as one transition.
    ///
    /// # Errors
    /// [`Error::Denied`] elsewhere; a missing parent, a limit, or a script that does not compile.
    pub fn write(&self, path: impl IntoPath, value: impl Into<Value>) -> Result<Change, Error> {
        self.transact(|tx| tx.write(path, value))
    }

    /// Sets the value at `path` if what is there has this digest; `None` expects nothing there.
    ///
    /// # Errors
    /// [`Error::Changed`] if it has not; else as [`write`](Self::write).
    pub fn write_if(
        &self,
        path: impl IntoPath,
        value: impl Into<Value>,
        expected: Option<Digest>,
    ) -> Result<Change, Error> {
        self.transact(|tx| tx.write_if(path, value, expected))
    }

    /// Removes what is at `path`, as one transition.
    ///
    /// # Errors
    /// [`Error::Denied`] outside `/memory` and `/lib`; nothing is there.
    pub fn remove(&self, path: impl IntoPath) -> Result<Change, Error> {
        self.transact(|tx| tx.remove(path))
    }

    /// Makes several edits as one transition: all of them, or none if `edit` fails.
    ///
    /// Messages that are enqueued or acknowledged meanwhile, by `edit` too, stay; the edits are
    /// committed on top of them. `edit` must not run scripts or write but through its argument: it
    /// would wait for itself.
    ///
    /// # Errors
    /// What `edit` returns; a limit, or a script that does not compile.
    pub fn transact(
        &self,
        edit: impl FnOnce(&mut Transaction) -> Result<(), Error>,
    ) -> Result<Change, Error> {
        let _delivery = self.news.delivery();
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let state = self.state();
        let edited = Transaction::run(&state, &self.guests, Mounts::default(), edit)?;
        let newest = self.lock();
        let transition = newest.prepare(Source::Host, newest.rebased(&state, edited.tree)?)?;
        Ok(self.publish(newest, transition))
    }

    /// Runs the script at `path`, `/lib/<name>`, and commits what it did as one transition. Blocks.
    ///
    /// # Errors
    /// Whatever it is, the process is as it was: no such script, a syntax or run time error, a
    /// limit, ticks or time used up.
    pub fn exec(&self, path: impl IntoPath, input: impl Into<Value>) -> Result<Activation, Error> {
        let job = Job::Script(path.into_path()?);
        let input = input.into();
        let _delivery = self.news.delivery();
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.state();
        let hooks = self.news.hooks();
        hooks.ask(&state.address, state.version, &job, &input)?;
        for _ in 0..MAX_RUNS {
            let finished = run(&state, &self.guests, &job, input.clone())?;
            match self.commit(&finished) {
                Ok(activation) => return Ok(activation),
                Err(NotCommitted::Stale) => state = self.state(),
                Err(NotCommitted::Failed(error)) => return Err(error),
            }
        }
        Err(Error::Contended { attempts: MAX_RUNS })
    }

    fn commit(&self, finished: &Finished) -> Result<Activation, NotCommitted> {
        let state = self.lock();
        let (transition, activation) = finished.commit_on(&state)?;
        self.publish(state, transition);
        Ok(activation)
    }

    /// Puts a message behind the others in `/inbox`, and returns its sequence number. Never waits
    /// for a script.
    ///
    /// # Errors
    /// The inbox is full, or the message is too large.
    pub fn enqueue(&self, message: impl Into<Value>) -> Result<u64, Error> {
        let _delivery = self.news.delivery();
        let state = self.lock();
        let (tree, sequence) = state.enqueue(message.into())?;
        let transition = state.prepare(Source::Inbox, tree)?;
        self.publish(state, transition);
        Ok(sequence)
    }

    /// Takes a message out of `/inbox`. Never waits for a script.
    ///
    /// # Errors
    /// [`Error::NoMessage`].
    pub fn acknowledge(&self, sequence: u64) -> Result<(), Error> {
        let _delivery = self.news.delivery();
        let state = self.lock();
        let tree = state.acknowledge(sequence)?;
        let transition = state.prepare(Source::Inbox, tree)?;
        self.publish(state, transition);
        Ok(())
    }

    /// Message intents that wait to be delivered, oldest first, from behind the one with the id
    /// `after`. O(limit + log n).
    ///
    /// # Errors
    /// [`Error::NoIntent`] if `after` is no id of this process; the intent itself may be gone.
    pub fn intents(&self, after: Option<&str>, limit: usize) -> Result<Vec<Intent>, Error> {
        self.lock().intents(after, limit)
    }

    /// Takes an intent out of `/system/outbox`, once it has been delivered. `message` is the digest
    /// of the message that was. Never waits for a script.
    ///
    /// ```
    /// # fn deliver(_: &svit_value::Value) {}
    /// # fn drain(process: &svit_txn::Process) -> Result<(), svit_txn::Error> {
    /// for intent in process.intents(None, 100)? {
    ///     deliver(&intent.message);
    ///     process.acknowledge_intent(&intent.id, intent.message.digest())?;
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::NoIntent`]; [`Error::Changed`] if it has another message.
    pub fn acknowledge_intent(&self, id: &str, message: Digest) -> Result<(), Error> {
        let _delivery = self.news.delivery();
        let state = self.lock();
        let tree = state.delivered(id, message)?;
        let transition = state.prepare(Source::Host, tree)?;
        self.publish(state, transition);
        Ok(())
    }

    /// A child that starts with this process's memory, scripts and limits at its newest version,
    /// and with an identity of its own, without hooks. O(1); the parent is not changed, now or later.
    ///
    /// # Errors
    /// The address is malformed.
    pub fn fork(&self, address: impl IntoAddress) -> Result<Self, Error> {
        let parent = self.state();
        let address = address.into_address()?;
        let tree = system::forked(&parent.tree, &parent.address, parent.version, &address)?;
        check_size(&parent.limits, &tree)?;
        let base = fork_base(&parent, address.clone(), 0);
        // No record is made, as nobody keeps one: a store that takes the child in starts a chain.
        let child = State {
            address,
            version: parent.version + 1,
            tree,
            ..parent
        };
        Ok(Self::new(base, self.guests.clone(), child))
    }
}

/// Where the history of a child starts.
fn fork_base(parent: &State, address: Address, events: u64) -> Base {
    Base {
        address,
        version: parent.version,
        root: parent.tree.digest(),
        kind: BaseKind::Forked {
            parent: parent.address.clone(),
            record: parent.head,
            events,
        },
    }
}

/// The base of a child, and its first transition, which gives it its identity.
pub(crate) fn fork_state(
    parent: &State,
    address: Address,
    events: u64,
) -> Result<(Base, Transition), Error> {
    let base = fork_base(parent, address.clone(), events);
    let tree = system::forked(&parent.tree, &parent.address, parent.version, &address)?;
    let state = State {
        address,
        head: base.digest(),
        ..parent.clone()
    };
    let transition = state.prepare(Source::Fork, tree)?;
    Ok((base, transition))
}

/// Describes a new process. The first bad input is kept and returned by [`build`](Self::build).
#[derive(Debug)]
#[must_use = "a builder does nothing until `build`"]
pub struct ProcessBuilder {
    address: Address,
    guests: Guests,
    hooks: Hooks,
    limits: Limits,
    memory: Map,
    library: Map,
    failure: Option<Error>,
}

impl ProcessBuilder {
    fn new(address: Address) -> Self {
        Self {
            address,
            guests: Guests::default(),
            hooks: Hooks::default(),
            limits: Limits::default(),
            memory: Map::new(),
            library: Map::new(),
            failure: None,
        }
    }

    /// An application value, at `/memory/<name>`.
    pub fn memory(mut self, name: &str, value: impl Into<Value>) -> Self {
        let value = value.into();
        let added = Path::root()
            .join(name)
            .map_err(Error::from)
            .and_then(|_| Ok(self.memory.insert(name, value)?));
        self.note(added.err());
        self
    }

    /// A script, at `/lib/<name>`: an entry `{source, documentation?, language?}`, or the source.
    pub fn library(mut self, name: &str, script: impl Into<Value>) -> Self {
        let added = Path::root()
            .join(name)
            .map_err(Error::from)
            .and_then(|_| guests::entry(script.into()))
            .and_then(|entry| Ok(self.library.insert(name, entry)?));
        self.note(added.err());
        self
    }

    /// The limits.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.note(limits.validate().err());
        self.limits = limits;
        self
    }

    /// A guest for another language, or another one for a language that is there.
    pub fn guest(mut self, language: impl Into<String>, guest: Arc<dyn Guest>) -> Self {
        self.guests.add(language.into(), guest);
        self
    }

    /// A hook, behind those that are there.
    pub fn hook(mut self, hook: Arc<dyn Hook>) -> Self {
        self.hooks.add(hook);
        self
    }

    fn note(&mut self, failure: Option<Error>) {
        self.failure = self.failure.take().or(failure);
    }

    /// The process, at version 0.
    ///
    /// # Errors
    /// The first bad input; a value past the limits; a script that does not compile.
    pub fn build(self) -> Result<Process, Error> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        for (node, entries) in [(Node::Memory, &self.memory), (Node::Lib, &self.library)] {
            let node = Path::root().join(node.name())?;
            for (name, value) in entries.iter() {
                self.limits.check_value(value, Some(&node.join(name)?))?;
            }
        }
        let tree = Tree::new()
            .with(Node::System, system::created(&self.address, &self.limits)?)?
            .with(Node::Memory, self.memory)?
            .with(Node::Lib, self.library.clone())?;
        check_size(&self.limits, &tree)?;
        let wall = std::time::Duration::from_millis(self.limits.max_execution_millis);
        let guest_limits = self.limits.guest_limits(wall);
        check_scripts(&tree, self.library.keys(), &self.guests, &guest_limits)?;
        let base = Base {
            address: self.address.clone(),
            version: 0,
            root: tree.digest(),
            kind: BaseKind::Created,
        };
        let state = State {
            address: self.address,
            version: 0,
            head: base.digest(),
            tree,
            limits: Arc::new(self.limits),
        };
        let mut process = Process::new(base, self.guests, state);
        process.news = News::new(self.hooks);
        Ok(process)
    }
}
