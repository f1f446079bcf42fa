//! The private working copy of an activation: what a script sees, and where its effects wait.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use svit_tree::guest::{
    GuestError, GuestErrorKind, GuestLimits, Host, HostError, HostErrorKind, LogLevel, Meter,
    OutOfTicks, Program,
};
use svit_tree::{Access, Caller, Mutation, Node, Path, Stat, Tree};
use svit_value::{Digest, Text, Value};

use crate::calls::{Calls, Made};
use crate::guests::{Guests, script_at};
use crate::mounts::{MountWrite, Mounts, View, is_mounted};
use crate::ports::port_at;
use crate::state::State;
use crate::{Error, LimitKind, Limits};

/// How many reads an activation reports.
const REPORTED_READS: usize = 32;

/// A log record of a script.
#[derive(Clone, Debug, PartialEq)]
pub struct LogRecord {
    /// How serious it is.
    pub level: LogLevel,
    /// What the script said.
    pub message: Text,
    /// What it added.
    pub fields: Value,
}

/// A value that an activation read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// Where.
    pub path: Path,
    /// The digest of what was there; none if nothing was.
    pub digest: Option<Digest>,
}

/// What an activation has done so far.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) tree: Tree,
    pub(crate) logs: Vec<LogRecord>,
    pub(crate) messages: Vec<Value>,
    pub(crate) reads: Vec<Read>,
    /// Nodes of which anything was read, in the order of [`Node::ALL`].
    pub(crate) nodes_read: [bool; Node::ALL.len()],
    /// Writes below mounts, in order; they are made once the transition is durable.
    pub(crate) mount_writes: Vec<MountWrite>,
    /// Names below `/lib` that were written or removed.
    staged: BTreeSet<Text>,
    depth: u64,
}

/// What an activation has around it besides the state that it starts from.
pub(crate) struct Surroundings {
    pub(crate) guests: Guests,
    /// None where nobody could await a port.
    pub(crate) calls: Option<Calls>,
    pub(crate) mounts: Mounts,
}

/// The host of one activation.
pub(crate) struct Working {
    this: Weak<Self>,
    limits: Arc<Limits>,
    guests: Guests,
    calls: Option<Calls>,
    mounts: Mounts,
    meter: Meter,
    deadline: Instant,
    draft: Mutex<Draft>,
    /// The first refusal that ends the activation, so that a guest cannot go on as if nothing was.
    stopped: OnceLock<HostError>,
}

impl Working {
    pub(crate) fn new(state: &State, around: Surroundings) -> Arc<Self> {
        let draft = Draft {
            tree: state.tree.clone(),
            logs: Vec::new(),
            messages: Vec::new(),
            reads: Vec::new(),
            nodes_read: Default::default(),
            mount_writes: Vec::new(),
            staged: BTreeSet::new(),
            depth: 0,
        };
        let wall = Duration::from_millis(state.limits.max_execution_millis);
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            limits: state.limits.clone(),
            guests: around.guests,
            calls: around.calls,
            mounts: around.mounts,
            meter: Meter::new(state.limits.max_ticks),
            deadline: Instant::now() + wall,
            draft: Mutex::new(draft),
            stopped: OnceLock::new(),
        })
    }

    /// Ends the run soon, because nobody waits for it any more: its ticks are used up.
    pub(crate) fn cancel(&self) {
        let gone = || HostError::hard("cancelled", "the activation was cancelled");
        self.stopped.get_or_init(gone);
        // It fails, which is what uses up the rest.
        let _ = self.meter.charge(u64::MAX);
    }

    fn draft(&self) -> MutexGuard<'_, Draft> {
        // A panic while the lock is held leaves a draft that nobody will commit.
        self.draft.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a run that starts now may use. Time that was spent waiting for ports is not counted.
    pub(crate) fn guest_limits(&self) -> GuestLimits {
        let waited = self.calls.as_ref().map_or(Duration::ZERO, Calls::waited);
        let left = (self.deadline + waited).saturating_duration_since(Instant::now());
        self.limits.guest_limits(left)
    }

    /// The port calls so far.
    pub(crate) fn calls_made(&self) -> Made {
        self.calls.as_ref().map(Calls::made).unwrap_or_default()
    }

    /// Calls a port for a script, or for a host that asks for nothing else.
    pub(crate) fn call_port(&self, name: &str, input: Value) -> Result<Value, Error> {
        match &self.calls {
            Some(calls) => calls.call(&self.limits, name, input),
            None => Err(Error::NoPorts),
        }
    }

    /// Runs a program in this working copy, and checks what goes in and comes out.
    pub(crate) fn run(
        self: &Arc<Self>,
        path: &Path,
        program: &Program,
        input: Value,
    ) -> Result<Value, Error> {
        self.limits.check_value(&input, None)?;
        let host: Arc<dyn Host> = self.clone();
        let limits = self.guest_limits();
        let output = self.guests.run(path, program, input, host, &limits)?;
        self.limits.check_value(&output, None)?;
        Ok(output)
    }

    /// The draft as it ended, if nothing stopped it and every script that it staged compiles.
    pub(crate) fn finish(&self) -> Result<Draft, Error> {
        if let Some(stopped) = self.stopped.get() {
            let (code, message) = (stopped.code.clone(), stopped.message.clone());
            let error = GuestError::new(GuestErrorKind::Host, code, message);
            return Err(GuestError {
                host: Some(stopped.clone()),
                ..error
            }
            .into());
        }
        if self.meter.is_overdrawn() {
            let stopped = OutOfTicks {
                budget: self.meter.budget(),
            };
            let kind = GuestErrorKind::OutOfTicks;
            return Err(GuestError::new(kind, "out_of_ticks", stopped.to_string()).into());
        }
        let draft = self.draft().clone();
        check_scripts(
            &draft.tree,
            &draft.staged,
            &self.guests,
            &self.guest_limits(),
        )?;
        Ok(draft)
    }

    /// An error of ours as a script sees it. One that ends the activation is remembered.
    fn refuse(&self, error: Error) -> HostError {
        let (code, message) = (error.code(), error.to_string());
        let hard = match &error {
            Error::Limit(_) => true,
            Error::Guest(e) => e.is_hard(),
            Error::Port { failure, .. } => failure.kind == HostErrorKind::Hard,
            _ => false,
        };
        if !hard {
            return HostError::soft(code, message);
        }
        let refusal = HostError::hard(code, message);
        self.stopped.get_or_init(|| refusal.clone());
        refusal
    }

    fn note_read(&self, draft: &mut Draft, path: &Path) {
        let value = draft.tree.get(path).cloned();
        self.note_value(draft, path, value.as_ref());
    }

    fn note_value(&self, draft: &mut Draft, path: &Path, value: Option<&Value>) {
        match Node::of(path) {
            Some(node) => draft.nodes_read[node as usize] = true,
            None => draft.nodes_read = [true; Node::ALL.len()],
        }
        if draft.reads.len() < REPORTED_READS && draft.reads.iter().all(|read| read.path != *path) {
            draft.reads.push(Read {
                path: path.clone(),
                digest: value.map(Value::digest),
            });
        }
    }

    /// Looks below a mount, without holding on to the draft: it may take its time.
    fn look<T>(&self, look: impl FnOnce(&View<'_>) -> Result<T, Error>) -> Result<T, HostError> {
        let (tree, writes) = {
            let draft = self.draft();
            (draft.tree.clone(), draft.mount_writes.clone())
        };
        let view = View {
            tree: &tree,
            mounts: &self.mounts,
            limits: &self.limits,
            writes: &writes,
        };
        look(&view).map_err(|error| self.refuse(error))
    }

    fn buffer(&self, write: MountWrite) {
        self.draft().mount_writes.push(write);
    }

    fn edit(&self, edit: Mutation) -> Result<(), Error> {
        let mut draft = self.draft();
        let tree = draft.tree.apply(std::slice::from_ref(&edit))?;
        if Node::of(&edit.path) == Some(Node::Lib)
            && let Some(name) = edit.path.segments().nth(1)
        {
            draft.staged.insert(Text::from(name));
            let staged = draft.staged.len() as u64;
            self.limits.check(LimitKind::StagedScripts, staged)?;
        }
        draft.tree = tree;
        Ok(())
    }

    fn enter(&self) -> Result<Draft, HostError> {
        let mut draft = self.draft();
        let saved = draft.clone();
        self.limits
            .check(LimitKind::ExecDepth, draft.depth + 1)
            .map_err(|error| self.refuse(error))?;
        draft.depth += 1;
        Ok(saved)
    }

    fn leave(&self, saved: Draft, failed: bool) {
        let mut draft = self.draft();
        if failed {
            // What was read stays known: a rebase depends on it.
            let reads = std::mem::take(&mut draft.reads);
            let nodes_read = draft.nodes_read;
            *draft = Draft {
                reads,
                nodes_read,
                ..saved
            };
        } else {
            draft.depth = saved.depth;
        }
    }
}

/// Compiles the named scripts of a tree, those that are still there.
pub(crate) fn check_scripts<'a>(
    tree: &Tree,
    names: impl IntoIterator<Item = &'a Text>,
    guests: &Guests,
    limits: &GuestLimits,
) -> Result<(), Error> {
    let library = Path::root().join(Node::Lib.name())?;
    for name in names {
        let path = library.join(name)?;
        if tree.get(&path).is_some() {
            let program = script_at(tree, &path)?;
            guests.check(&path, &program, limits)?;
        }
    }
    Ok(())
}

/// Whether a caller may write at `path` directly.
pub(crate) fn check_access(path: &Path, caller: Caller) -> Result<(), Error> {
    if Access::of(path, caller).may_write() {
        return Ok(());
    }
    Err(Error::Denied { path: path.clone() })
}

impl Host for Working {
    fn meter(&self) -> &Meter {
        &self.meter
    }

    fn discover(&self, path: &Path) -> Result<Vec<Text>, HostError> {
        if is_mounted(path) {
            return self.look(|view| view.discover(path));
        }
        let mut draft = self.draft();
        self.note_read(&mut draft, path);
        Ok(draft.tree.children(path))
    }

    fn read(&self, path: &Path) -> Result<Option<Value>, HostError> {
        if is_mounted(path) {
            let value = self.look(|view| view.read(path))?;
            self.note_value(&mut self.draft(), path, value.as_ref());
            return Ok(value);
        }
        let mut draft = self.draft();
        self.note_read(&mut draft, path);
        Ok(draft.tree.get(path).cloned())
    }

    fn stat(&self, path: &Path) -> Result<Value, HostError> {
        if is_mounted(path) {
            let stat = self.look(|view| view.stat(path, Caller::Guest))?;
            return Ok(stat.map_or(Value::Null, |stat| stat.to_value()));
        }
        let mut draft = self.draft();
        self.note_read(&mut draft, path);
        Ok(Stat::of(&draft.tree, path, Caller::Guest).map_or(Value::Null, |stat| stat.to_value()))
    }

    fn write(&self, path: &Path, value: Value) -> Result<(), HostError> {
        if is_mounted(path) {
            let write = self.look(|view| view.write(path, Some(value)))?;
            self.buffer(write);
            return Ok(());
        }
        check_access(path, Caller::Guest)
            .and_then(|()| self.limits.check_value(&value, Some(path)))
            .and_then(|()| self.edit(Mutation::set(path.clone(), value)))
            .map_err(|error| self.refuse(error))
    }

    fn remove(&self, path: &Path) -> Result<bool, HostError> {
        if is_mounted(path) {
            let write = self.look(|view| view.remove(path))?;
            let there = write.is_some();
            write.into_iter().for_each(|write| self.buffer(write));
            return Ok(there);
        }
        check_access(path, Caller::Guest).map_err(|error| self.refuse(error))?;
        if self.draft().tree.get(path).is_none() {
            return Ok(false);
        }
        self.edit(Mutation::remove(path.clone()))
            .map_err(|error| self.refuse(error))?;
        Ok(true)
    }

    fn exec(&self, path: &Path, input: Value) -> Result<Value, HostError> {
        if let Some(port) = port_at(path) {
            return self.port_call(port, input);
        }
        let Some(this) = self.this.upgrade() else {
            return Err(HostError::hard("ended", "the activation has ended"));
        };
        let program = {
            let mut draft = self.draft();
            self.note_read(&mut draft, path);
            script_at(&draft.tree, path).map_err(|error| self.refuse(error))?
        };
        let saved = self.enter()?;
        let result = this.run(path, &program, input);
        self.leave(saved, result.is_err());
        result.map_err(|error| self.refuse(error))
    }

    fn log(&self, level: LogLevel, message: Text, fields: Value) -> Result<(), HostError> {
        let mut draft = self.draft();
        let logs = draft.logs.len() as u64 + 1;
        self.limits
            .check(LimitKind::Logs, logs)
            .and_then(|()| self.limits.check_value(&Value::Text(message.clone()), None))
            .and_then(|()| self.limits.check_value(&fields, None))
            .map_err(|error| self.refuse(error))?;
        draft.logs.push(LogRecord {
            level,
            message,
            fields,
        });
        Ok(())
    }

    fn send(&self, message: Value) -> Result<(), HostError> {
        let mut draft = self.draft();
        let messages = draft.messages.len() as u64 + 1;
        self.limits
            .check(LimitKind::Messages, messages)
            .and_then(|()| self.limits.check_value(&message, None))
            .map_err(|error| self.refuse(error))?;
        draft.messages.push(message);
        Ok(())
    }

    fn port_call(&self, name: &str, input: Value) -> Result<Value, HostError> {
        self.call_port(name, input)
            .map_err(|error| self.refuse(error))
    }
}
