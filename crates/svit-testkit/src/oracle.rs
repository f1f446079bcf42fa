//! The oracle: a plain model of processes, beside which a store and the real ones are driven.
//!
//! The rules of [`conformance::store`](fn@crate::conformance::store) try a store one promise at a
//! time. This tries what processes make of them together, for as long as one likes: whatever the
//! history, they are live, resumed, restored and at every version what the model says.
//!
//! ```
//! use std::sync::Arc;
//! use svit_testkit::{generate, oracle};
//! use svit_txn::MemoryStore;
//!
//! # futures_lite::future::block_on(async {
//! let store = Arc::new(MemoryStore::new());
//! oracle::run(store, &generate::steps(7, 200)).await.unwrap();
//! # });
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use svit_tree::lookup;
use svit_txn::{
    CheckpointPolicy, DurableProcess, Error, EventQuery, Extras, HistoryQuery, Operation, Process,
    ProcessStore, Submission,
};
use svit_value::{Digest, Value};

use crate::generate::{self, Action, Step};

/// What a process should hold, in the plainest form.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expected {
    /// Its version.
    pub version: u64,
    /// What is at `/memory/count`.
    pub count: i64,
    /// What is at `/memory/k<key>`.
    pub memory: BTreeMap<u64, Value>,
    /// Its inbox, by sequence number.
    pub inbox: BTreeMap<u64, Value>,
}

impl Expected {
    /// What comes of an action that makes a new version; none if it is refused, or makes none.
    pub fn after(&self, action: &Action) -> Option<Self> {
        let mut after = self.clone();
        after.version += 1;
        match action {
            Action::Write { key, value } => drop(after.memory.insert(*key, value.clone())),
            Action::Remove { key } => drop(after.memory.remove(key)?),
            Action::Exec { by } => after.count += by,
            Action::Enqueue { message } => {
                after.inbox.insert(after.version, message.clone());
            }
            Action::Acknowledge { nth } => {
                let sequence = self.nth_message(*nth)?;
                after.inbox.remove(&sequence);
            }
            _ => return None,
        }
        Some(after)
    }

    fn nth_message(&self, nth: u64) -> Option<u64> {
        let nth = usize::try_from(nth).ok()?;
        self.inbox.keys().nth(nth).copied()
    }

    /// A fork of it: the memory, and an empty inbox.
    pub fn forked(&self) -> Self {
        Self {
            version: self.version + 1,
            inbox: BTreeMap::new(),
            ..self.clone()
        }
    }

    /// How a root differs from this; none if it does not.
    pub fn differs(&self, root: &Value) -> Option<String> {
        let at = |path: &str| {
            let path = path.parse().ok()?;
            lookup(root, &path).cloned()
        };
        let entries = |path: &str| match at(path) {
            Some(Value::Map(map)) => map
                .iter()
                .map(|(key, value)| (key.to_string(), value.clone()))
                .collect(),
            _ => BTreeMap::new(),
        };
        let memory = self.memory.iter();
        let mut memory: BTreeMap<String, Value> = memory
            .map(|(key, value)| (format!("k{key}"), value.clone()))
            .collect();
        memory.insert("count".to_owned(), self.count.into());
        if entries("/memory") != memory {
            return Some(format!("memory {:?}, not {memory:?}", entries("/memory")));
        }
        let inbox = self.inbox.iter();
        let inbox: BTreeMap<String, Value> = inbox
            .map(|(sequence, message)| (format!("{sequence:016}"), message.clone()))
            .collect();
        (entries("/inbox") != inbox)
            .then(|| format!("inbox {:?}, not {inbox:?}", entries("/inbox")))
    }
}

/// Where a history went another way than the model.
#[derive(Clone, Debug)]
pub struct Wrong {
    /// The number of the step, from 0; that of steps if it was seen at the end.
    pub at: usize,
    /// The step, if it was not seen at the end.
    pub step: Option<Step>,
    /// What was seen.
    pub seen: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, step, seen } = self;
        match step {
            Some(step) => write!(f, "step {at}, {step:?}: {seen}"),
            None => write!(f, "after {at} steps: {seen}"),
        }
    }
}

impl std::error::Error for Wrong {}

/// What a history came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// Transitions that were committed.
    pub committed: u64,
    /// Processes that were created, forks included.
    pub processes: u64,
    /// Blocks that were collected.
    pub collected: u64,
}

/// At most so many processes are there at once.
const LIVE: usize = 6;

/// Makes a history happen in a store, which is empty, and holds it to the model: after each step what
/// the step was about, at the end everything, resumed. It ends with all processes deleted and nothing
/// left in the store to collect.
///
/// # Errors
/// [`Wrong`].
pub async fn run(store: Arc<dyn ProcessStore>, steps: &[Step]) -> Result<Ran, Wrong> {
    let mut world = World {
        store,
        lines: Vec::new(),
        ran: Ran::default(),
    };
    for (at, step) in steps.iter().enumerate() {
        world.step(step).await.map_err(|seen| Wrong {
            at,
            step: Some(step.clone()),
            seen,
        })?;
    }
    world.end().await.map_err(|seen| Wrong {
        at: steps.len(),
        step: None,
        seen,
    })?;
    Ok(world.ran)
}

/// A process, what it should hold, and what it held.
struct Line {
    process: DurableProcess,
    now: Expected,
    /// Every version that it had, with its root, those of its parent before its base included.
    past: BTreeMap<u64, (Expected, Digest)>,
    /// Bodies of the thread's events, those of its parents included.
    events: Vec<Value>,
    /// The oldest version of its own that is kept.
    oldest: u64,
}

struct World {
    store: Arc<dyn ProcessStore>,
    lines: Vec<Line>,
    ran: Ran,
}

type Seen<T> = Result<T, String>;

fn said(error: impl fmt::Display) -> String {
    error.to_string()
}

/// A version so many percent of the way back.
fn back(line: &Line, percent: u64) -> u64 {
    line.now.version - (line.now.version - line.oldest) * percent / 100
}

impl Line {
    fn new(
        process: DurableProcess,
        now: Expected,
        past: BTreeMap<u64, (Expected, Digest)>,
    ) -> Self {
        process.set_checkpoint_policy(CheckpointPolicy::NEVER);
        let mut line = Self {
            process,
            oldest: now.version.saturating_sub(1),
            now,
            past,
            events: Vec::new(),
        };
        line.remember();
        line
    }

    fn remember(&mut self) {
        let now = (self.now.clone(), self.process.root_digest());
        self.past.insert(self.now.version, now);
    }

    fn check(&self) -> Seen<()> {
        let version = self.process.version();
        if version != self.now.version {
            return Err(format!("version {version}, not {}", self.now.version));
        }
        let root = self.process.read("/").map_err(said)?;
        match self.now.differs(&root.unwrap_or_default()) {
            None => Ok(()),
            Some(seen) => Err(format!("{}: {seen}", self.process.address())),
        }
    }

    /// A version that is kept is what it was. One before the base of a fork may be gone with its
    /// parent.
    async fn check_at(&self, version: u64) -> Seen<()> {
        let read = self.process.read_at(version, "/").await;
        let whole = match read {
            Ok(whole) => whole.unwrap_or_default(),
            Err(Error::Cut { .. } | Error::NoVersion { .. }) if version < self.oldest => {
                return Ok(());
            }
            Err(error) => return Err(format!("version {version}: {error}")),
        };
        let Some((expected, root)) = self.past.get(&version) else {
            return Err(format!("version {version}, which never was, can be read"));
        };
        if whole.digest() != *root {
            return Err(format!("version {version} has another root than it had"));
        }
        match expected.differs(&whole) {
            None => Ok(()),
            Some(seen) => Err(format!("version {version}: {seen}")),
        }
    }

    async fn check_events(&self) -> Seen<()> {
        let query = EventQuery {
            from: 0,
            limit: usize::MAX,
            newest_first: false,
        };
        let events = self.process.events(query).await.map_err(said)?;
        let found: Vec<_> = events.iter().map(|it| (it.seq, it.body.clone())).collect();
        let expected: Vec<_> = (0..).zip(self.events.iter().cloned()).collect();
        match found == expected {
            true => Ok(()),
            false => Err(format!("events {found:?}, not {expected:?}")),
        }
    }

    fn check_snapshot(&self) -> Seen<()> {
        let restored = Process::restore(self.process.snapshot().as_bytes()).map_err(said)?;
        let found = (restored.version(), restored.root_digest());
        let expected = (self.now.version, self.process.root_digest());
        match found == expected {
            true => Ok(()),
            false => Err(format!("restored as {found:?}, not {expected:?}")),
        }
    }

    async fn check_all(&self) -> Seen<()> {
        self.check()?;
        self.check_events().await?;
        self.check_snapshot()?;
        for version in self.past.keys() {
            self.check_at(*version).await?;
        }
        let query = HistoryQuery {
            limit: usize::MAX,
            ..HistoryQuery::default()
        };
        let history = self.process.history(query).await.map_err(said)?;
        let own = history
            .iter()
            .filter(|entry| entry.transaction.version > self.oldest);
        match own.count() as u64 == self.now.version - self.oldest {
            true => Ok(()),
            false => Err(format!("{} records behind {}", history.len(), self.oldest)),
        }
    }
}

impl World {
    fn next_address(&self) -> String {
        format!("svit://oracle/line-{}", self.ran.processes)
    }

    async fn step(&mut self, step: &Step) -> Seen<()> {
        if self.lines.is_empty() {
            let built = generate::process(&self.next_address()).and_then(|it| it.build());
            let process = DurableProcess::create(self.store.clone(), built.map_err(said)?);
            let process = process.await.map_err(said)?;
            self.ran.processes += 1;
            let line = Line::new(process, Expected::default(), BTreeMap::new());
            self.lines.push(line);
        }
        let which = step.process % self.lines.len();
        let line = &mut self.lines[which];
        match &step.action {
            Action::Fork => {
                let (now, shared) = (line.now.clone(), line.events.len());
                self.fork(which, now, shared, None).await?;
            }
            Action::ForkAt { back: percent } => {
                let version = back(line, *percent);
                let Some((then, _)) = line.past.get(&version).cloned() else {
                    return Err(format!("version {version} is not in the model"));
                };
                self.fork(which, then, 0, Some(version)).await?;
            }
            Action::Checkpoint => {
                let made = line.process.checkpoint().await.map_err(said)?;
                if (made.version, made.root) != (line.now.version, line.process.root_digest()) {
                    return Err(format!("a checkpoint of another state: {made:?}"));
                }
            }
            Action::Cut { back: percent } => {
                let at = back(line, *percent);
                line.process.cut(at).await.map_err(said)?;
                line.oldest = at;
                line.check_at(at).await?;
            }
            Action::Delete => {
                let gone = self.lines.swap_remove(which);
                self.delete(gone).await?;
            }
            Action::Collect { steps } => self.collect(*steps).await?,
            Action::Resume => self.resume(which).await?,
            Action::Snapshot => line.check_snapshot()?,
            Action::ReadAt { back: percent } => line.check_at(back(line, *percent)).await?,
            Action::Note { body } => {
                let turn = ("turn.finished".into(), body.clone());
                let noted = Submission::plain(Operation::Note).recording(|_| Extras {
                    outcome: Value::Null,
                    events: vec![turn],
                });
                line.process.submit(noted).await.map_err(said)?;
                line.events.push(body.clone());
                line.check_events().await?;
            }
            action => self.operate(which, action).await?,
        }
        match self.lines.get(which) {
            Some(line) => line.check(),
            None => Ok(()),
        }
    }

    async fn operate(&mut self, which: usize, action: &Action) -> Seen<()> {
        let line = &mut self.lines[which];
        let path = |text: &str| text.parse().map_err(said);
        let exec = |name: &str, by: i64| {
            Ok::<_, String>(Operation::Exec {
                path: path(&format!("/lib/{name}"))?,
                input: by.into(),
            })
        };
        let operation = match action {
            Action::Write { key, value } => Operation::Write {
                path: path(&format!("/memory/k{key}"))?,
                value: value.clone(),
            },
            Action::Remove { key } => Operation::Remove {
                path: path(&format!("/memory/k{key}"))?,
            },
            Action::Exec { by } => exec("add", *by)?,
            Action::ExecFailing => exec("fail", 1)?,
            Action::Enqueue { message } => Operation::Enqueue {
                message: message.clone(),
            },
            Action::Acknowledge { nth } => Operation::Acknowledge {
                sequence: line.now.nth_message(*nth).unwrap_or(1 << 40),
            },
            other => return Err(format!("{other:?} is not known to the oracle")),
        };
        let result = line.process.submit(Submission::plain(operation)).await;
        match (line.now.after(action), result) {
            (Some(after), Ok(_)) => {
                line.now = after;
                line.remember();
                self.ran.committed += 1;
                Ok(())
            }
            (None, Err(error)) if !matches!(error, Error::Store(_)) => Ok(()),
            (Some(_), Err(error)) => Err(format!("refused: {error}")),
            (None, result) => Err(format!("should be refused, but gave {result:?}")),
        }
    }

    async fn fork(
        &mut self,
        which: usize,
        then: Expected,
        shared: usize,
        at: Option<u64>,
    ) -> Seen<()> {
        if self.lines.len() >= LIVE {
            return Ok(());
        }
        let (line, address) = (&self.lines[which], self.next_address());
        let process = match at {
            None => line.process.fork(address).await,
            Some(version) => line.process.fork_at(version, address).await,
        };
        let past = line.past.range(..=then.version);
        let past = past.map(|(version, then)| (*version, then.clone()));
        let mut child = Line::new(process.map_err(said)?, then.forked(), past.collect());
        child.events = line.events[..shared].to_vec();
        child.check()?;
        child.check_events().await?;
        self.ran.processes += 1;
        self.lines.push(child);
        Ok(())
    }

    async fn resume(&mut self, which: usize) -> Seen<()> {
        let line = &mut self.lines[which];
        let (store, address) = (self.store.clone(), line.process.address().clone());
        let guests = [generate::guest()];
        let resumed = DurableProcess::resume_with(store, &address, guests).await;
        let before = std::mem::replace(&mut line.process, resumed.map_err(said)?);
        line.process.set_checkpoint_policy(CheckpointPolicy::NEVER);
        let fenced = before.write("/memory/k0", "of the owner before").await;
        if !fenced.as_ref().is_err_and(|error| error.code() == "fenced") {
            return Err(format!("a write of the owner before gave {fenced:?}"));
        }
        if line.process.root_digest() != before.root_digest() {
            return Err("resumed with another root".to_owned());
        }
        line.check_events().await
    }

    async fn delete(&mut self, gone: Line) -> Seen<()> {
        gone.process.delete().await.map_err(said)?;
        let address = gone.process.address();
        let loaded = self.store.load(address).await;
        if !loaded.as_ref().is_err_and(|it| it.code() == "not_found") {
            return Err(format!("a deleted process was loaded: {loaded:?}"));
        }
        for line in &self.lines {
            line.check_events().await?;
        }
        Ok(())
    }

    async fn collect(&mut self, steps: u64) -> Seen<()> {
        let mut pieces = 0_u64;
        loop {
            let piece = self.store.collect(steps).await.map_err(said)?;
            self.ran.collected += piece.blocks;
            pieces += 1;
            match piece.done {
                true => return Ok(()),
                false if pieces > 1_000_000 => return Err("no end of the collection".to_owned()),
                false => {}
            }
        }
    }

    async fn end(&mut self) -> Seen<()> {
        for which in 0..self.lines.len() {
            self.lines[which].check_all().await?;
            self.resume(which).await?;
            self.lines[which].check_all().await?;
        }
        let mut digests: Vec<Digest> = Vec::new();
        while let Some(gone) = self.lines.pop() {
            let root = gone.process.read("/").map_err(said)?.unwrap_or_default();
            digests.extend(root.blocks().map(|(digest, _)| digest));
            self.delete(gone).await?;
            for line in &self.lines {
                line.check_at(line.now.version).await?;
            }
        }
        // Twice: one that was under way may not see what became garbage behind it.
        self.collect(50).await?;
        self.collect(50).await?;
        let left = self.store.blocks(digests).await.map_err(said)?;
        let addresses = self.store.addresses(None, 9).await.map_err(said)?;
        match left.iter().all(Option::is_none) && addresses.is_empty() {
            true => Ok(()),
            false => Err("something is left when all is deleted".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests;
