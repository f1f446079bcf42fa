//! `Hook`: what a host lets have a say before an activation, and a look after each commit.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use svit_tree::guest::Guest;
use svit_tree::{Address, Change, Path};
use svit_value::{Text, Value};

use crate::Error;
use crate::activation::Job;
use crate::guests::{Guests, cut};

/// Has a say before an activation runs, and is told of every commit.
///
/// Hooks are given by the host, with [`ProcessBuilder::hook`](crate::ProcessBuilder::hook),
/// [`Process::hook`](crate::Process::hook) or [`Attachments`]. They are no part of what is stored, so
/// that a process that is restored or resumed has those that it is given again; and they are not
/// inherited: a fork starts without any, as it starts without other things that a host attached. (The
/// one exception is [`DurableProcess::child`](crate::DurableProcess::child).)
/// Clones of a handle are the same process and have the same hooks.
///
/// Both methods are called without the locks that reads need, so that a hook may read the process.
/// [`committed`](Self::committed) is called without any lock of the commit, so that a hook may even
/// change the process there. [`before`](Self::before) is called in the turn of the activation: it
/// must not wait for a script or a write on the same process, which would wait for that turn.
///
/// ```
/// use std::sync::Arc;
/// use svit_txn::{Hook, Process, Proposed, Refusal};
///
/// struct OfficeHours;
///
/// impl Hook for OfficeHours {
///     fn name(&self) -> &str {
///         "office-hours"
///     }
///
///     fn before(&self, proposed: &Proposed<'_>) -> Result<(), Refusal> {
///         match proposed.input.as_str() {
///             Some("night") => Err(Refusal::new("closed", "come back in the morning")),
///             _ => Ok(()),
///         }
///     }
/// }
///
/// let process = Process::builder("svit://local/demo")?
///     .library("greet", "(define (main input) \"hello\")")
///     .hook(Arc::new(OfficeHours))
///     .build()?;
/// # #[cfg(feature = "lisp")] {
/// let refused = process.exec("/lib/greet", "night").unwrap_err();
/// assert_eq!((refused.code(), process.version()), ("closed", 0));
/// assert_eq!(process.exec("/lib/greet", "day")?.version, 1);
/// # }
/// # Ok::<(), svit_txn::Error>(())
/// ```
pub trait Hook: Send + Sync {
    /// What it is called in errors and traces.
    fn name(&self) -> &str;

    /// Whether an activation may run. Asked once for each activation, before any guest code and
    /// after a stale or repeated request was turned away; not asked for nested calls, nor again if
    /// the activation has to run again because messages came in meanwhile. Hooks are asked in the
    /// order in which they were given, until one refuses. It should be quick: the turn is held.
    ///
    /// A hook that panics here refuses, with the code `hook_panicked`.
    ///
    /// # Errors
    /// The refusal, which becomes [`Error::Refused`]. Nothing is changed.
    fn before(&self, proposed: &Proposed<'_>) -> Result<(), Refusal> {
        let _ = proposed;
        Ok(())
    }

    /// Told of every version that this process commits, whoever made it, after it is durable and
    /// published: once for each, in order. If commits come at the same time, one caller may tell of
    /// those of the others. A panic here is traced, and is nobody else's matter.
    fn committed(&self, change: &Change) {
        let _ = change;
    }
}

/// An activation that is about to run.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Proposed<'a> {
    /// The process.
    pub address: &'a Address,
    /// The version that it would start from.
    pub version: u64,
    /// What would run.
    pub code: ProposedCode<'a>,
    /// Its input.
    pub input: &'a Value,
}

/// What an activation would run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProposedCode<'a> {
    /// The script, or the port, at this path. Whether there is one has not been looked at yet.
    Library(&'a Path),
    /// A script that is given and not kept: its text.
    Given(&'a Text),
}

/// Why a hook refuses an activation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// A stable name for the reason, in snake case. Cut at 1,024 bytes, as the message is.
    pub code: Text,
    /// The reason, fit for people.
    pub message: Text,
}

impl Refusal {
    /// A refusal.
    pub fn new(code: impl Into<Text>, message: impl Into<Text>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
        }
    }
}

/// What a host gives a process that is resumed, since it is no part of what is stored: guests for
/// other languages than the built-in one, and hooks.
///
/// ```
/// use std::sync::Arc;
/// use svit_txn::{Attachments, DurableProcess, Hook, ProcessStore};
///
/// # struct Audit;
/// # impl Hook for Audit { fn name(&self) -> &str { "audit" } }
/// # async fn demo(store: Arc<dyn ProcessStore>) -> Result<(), svit_txn::Error> {
/// let attached = Attachments::new().hook(Arc::new(Audit));
/// let process = DurableProcess::resume_with(store, "svit://local/demo", attached).await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "attachments do nothing until a process is resumed with them"]
pub struct Attachments {
    pub(crate) guests: Guests,
    pub(crate) hooks: Hooks,
}

impl Attachments {
    /// The built-in guest, and no hooks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a guest for its language, in place of one that is there.
    pub fn guest(mut self, guest: Arc<dyn Guest>) -> Self {
        self.guests.add(guest.language().to_owned(), guest);
        self
    }

    /// Adds a hook, behind those that are there.
    pub fn hook(mut self, hook: Arc<dyn Hook>) -> Self {
        self.hooks.add(hook);
        self
    }
}

/// Guests alone.
impl<I: IntoIterator<Item = Arc<dyn Guest>>> From<I> for Attachments {
    fn from(guests: I) -> Self {
        guests.into_iter().fold(Self::new(), Self::guest)
    }
}

/// The hooks of a process, in order. Cloning is O(1); having none takes no memory of its own.
#[derive(Clone, Default)]
pub(crate) struct Hooks(Option<Arc<Vec<Arc<dyn Hook>>>>);

impl std::fmt::Debug for Hooks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.list().iter().map(|hook| name(&**hook));
        f.debug_list().entries(names).finish()
    }
}

impl Hooks {
    pub(crate) fn add(&mut self, hook: Arc<dyn Hook>) {
        Arc::make_mut(self.0.get_or_insert_default()).push(hook);
    }

    /// The same, which are told of no commit.
    pub(crate) fn asked_only(&self) -> Self {
        let asked = |hook: &Arc<dyn Hook>| Arc::new(AskedOnly(hook.clone())) as Arc<dyn Hook>;
        let hooks = self.0.as_ref();
        Self(hooks.map(|hooks| Arc::new(hooks.iter().map(asked).collect())))
    }

    fn list(&self) -> &[Arc<dyn Hook>] {
        self.0.as_deref().map_or(&[], Vec::as_slice)
    }

    /// Asks each hook whether a job may run, until one refuses.
    pub(crate) fn ask(
        &self,
        address: &Address,
        version: u64,
        job: &Job,
        input: &Value,
    ) -> Result<(), Error> {
        let code = match job {
            Job::Script(path) => ProposedCode::Library(path),
            Job::Source(program) => ProposedCode::Given(&program.source),
        };
        let proposed = Proposed {
            address,
            version,
            code,
            input,
        };
        self.list()
            .iter()
            .try_for_each(|hook| ask(&**hook, &proposed))
    }
}

/// A hook that is asked about a process whose commits are not its matter.
struct AskedOnly(Arc<dyn Hook>);

impl Hook for AskedOnly {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn before(&self, proposed: &Proposed<'_>) -> Result<(), Refusal> {
        self.0.before(proposed)
    }
}

fn ask(hook: &dyn Hook, proposed: &Proposed<'_>) -> Result<(), Error> {
    // A hook that guards something has not said yes when it panics.
    let answer = catch_unwind(AssertUnwindSafe(|| hook.before(proposed))).unwrap_or_else(|_| {
        Err(Refusal::new(
            "hook_panicked",
            "the hook failed before it could answer",
        ))
    });
    answer.map_err(|mut refusal| {
        cut(&mut refusal.code);
        cut(&mut refusal.message);
        let hook = name(hook);
        tracing::debug!(hook = &*hook, code = &*refusal.code, "activation refused");
        Error::Refused {
            hook,
            code: refusal.code,
            message: refusal.message,
        }
    })
}

/// The name of a hook, which is code of others like the rest of it.
fn name(hook: &dyn Hook) -> Text {
    let mut name = catch_unwind(AssertUnwindSafe(|| Text::from(hook.name()))).unwrap_or_default();
    cut(&mut name);
    name
}

/// Tells hooks of commits, in order, and outside of every lock.
///
/// Whoever commits leaves the change here while it holds the lock that orders commits, and asks for
/// [`delivery`](Self::delivery) before it takes any lock. One caller at a time tells the hooks, and
/// goes on until nothing is left, so that a hook that commits something is told of it afterwards.
#[derive(Debug, Default)]
pub(crate) struct News(Option<Box<Listeners>>);

#[derive(Debug)]
struct Listeners {
    hooks: Hooks,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    changes: VecDeque<Change>,
    is_telling: bool,
}

impl News {
    pub(crate) fn new(hooks: Hooks) -> Self {
        Self((!hooks.list().is_empty()).then(|| {
            Box::new(Listeners {
                hooks,
                waiting: Mutex::default(),
            })
        }))
    }

    pub(crate) fn hooks(&self) -> Hooks {
        self.0
            .as_ref()
            .map(|it| it.hooks.clone())
            .unwrap_or_default()
    }

    /// Leaves a change to be told. To be called in the order of commits.
    pub(crate) fn push(&self, change: &Change) {
        if let Some(listeners) = &self.0 {
            listeners.lock().changes.push_back(change.clone());
        }
    }

    /// Tells the hooks when it is dropped: make it before any lock is taken, so that it goes last,
    /// also when the future it lives in is dropped.
    pub(crate) const fn delivery(&self) -> Delivery<'_> {
        Delivery(self)
    }
}

impl Listeners {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Nothing that is done under it can panic half-way.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self) {
        let mut waiting = self.lock();
        if waiting.is_telling {
            return;
        }
        waiting.is_telling = true;
        while let Some(change) = waiting.changes.pop_front() {
            drop(waiting);
            for hook in self.hooks.list() {
                let told = catch_unwind(AssertUnwindSafe(|| hook.committed(&change)));
                if told.is_err() {
                    let (hook, version) = (name(&**hook), change.version);
                    tracing::warn!(hook = &*hook, version, "a hook panicked after a commit");
                }
            }
            waiting = self.lock();
        }
        waiting.is_telling = false;
    }
}

/// See [`News::delivery`].
#[must_use = "the hooks are told when it is dropped"]
pub(crate) struct Delivery<'a>(&'a News);

impl Drop for Delivery<'_> {
    fn drop(&mut self) {
        if let Some(listeners) = &self.0.0 {
            listeners.tell();
        }
    }
}
