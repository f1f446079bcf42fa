//! `Activation`: one run of a script against a private working copy, and its step to a commit.

use std::sync::Arc;
use std::time::{Duration, Instant};

use svit_tree::guest::Program;
use svit_tree::{Node, Path, Source};
use svit_value::{Digest, Value};

use crate::Error;
use crate::calls::Made;
use crate::guests::{Guests, script_at};
use crate::mounts::{MountWrite, MountWritten, Mounts};
use crate::outbox::Intent;
use crate::ports::{PortCall, port_at};
use crate::state::{State, Transition};
use crate::working::{Draft, LogRecord, Read, Surroundings, Working};

/// What an activation did, once it is committed.
#[derive(Clone, Debug, PartialEq)]
pub struct Activation {
    /// What the script returned.
    pub output: Value,
    /// Its log records, in order.
    pub logs: Vec<LogRecord>,
    /// The messages that it wants delivered, in order.
    pub messages: Vec<Intent>,
    /// The paths that it changed, in tree order.
    pub changed: Vec<Path>,
    /// The version before it.
    pub before: u64,
    /// The version after it.
    pub version: u64,
    /// The root digest after it.
    pub root: Digest,
    /// Ticks used.
    pub ticks: u64,
    /// Ticks that it might have used.
    pub budget: u64,
    /// Its first reads, at most 32.
    pub loaded: Vec<Read>,
    /// The port calls that it made, in order.
    pub ports: Vec<PortCall>,
    /// Its writes below mounts, in order, and what became of them. They are made after the transition
    /// is durable, up to the first that fails.
    pub mounts: Vec<MountWritten>,
    /// Wall clock of the guest's run, the waits for ports included. Never in the root.
    pub wall: Duration,
}

/// A program to run, and what to call it in diagnostics.
#[derive(Clone, Debug)]
pub(crate) enum Job {
    /// A script of the library, or a port at `/ports/<name>`.
    Script(Path),
    /// A script that is given and not kept.
    Source(Box<Program>),
}

/// A run that ended well and is not committed yet.
#[derive(Debug)]
pub(crate) struct Finished {
    started_at: State,
    draft: Draft,
    calls: Made,
    output: Value,
    ticks: u64,
    budget: u64,
    wall: Duration,
}

/// Runs a job against `state`. Blocks until it ended; nothing is changed.
pub(crate) fn run(
    state: &State,
    guests: &Guests,
    job: &Job,
    input: Value,
) -> Result<Finished, Error> {
    let around = Surroundings {
        guests: guests.clone(),
        calls: None,
        mounts: Mounts::default(),
    };
    run_in(&Working::new(state, around), state, job, input)
}

/// The same in a working copy that is there already, so that it can be cancelled.
pub(crate) fn run_in(
    working: &Arc<Working>,
    state: &State,
    job: &Job,
    input: Value,
) -> Result<Finished, Error> {
    let started = Instant::now();
    let span =
        tracing::debug_span!("activation", address = %state.address, version = state.version);
    let output = span.in_scope(|| perform(working, state, job, input))?;
    let wall = started.elapsed();
    let meter = svit_tree::guest::Host::meter(&**working);
    let (ticks, budget) = (meter.used(), meter.budget());
    tracing::debug!(
        ticks,
        budget,
        wall_us = wall.as_micros() as u64,
        "activation ran"
    );
    Ok(Finished {
        started_at: state.clone(),
        draft: working.finish()?,
        calls: working.calls_made(),
        output,
        ticks,
        budget,
        wall,
    })
}

fn perform(working: &Arc<Working>, state: &State, job: &Job, input: Value) -> Result<Value, Error> {
    match job {
        Job::Script(path) => match port_at(path) {
            Some(port) => working.call_port(port, input),
            None => working.run(path, &script_at(&state.tree, path)?, input),
        },
        Job::Source(program) => working.run(&Path::root(), program, input),
    }
}

/// Why a run cannot be committed on top of the newest state.
#[derive(Debug)]
pub(crate) enum NotCommitted {
    /// Something that it read has changed: it has to run again.
    Stale,
    /// It can never be committed.
    Failed(Error),
}

impl<E: Into<Error>> From<E> for NotCommitted {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl Finished {
    /// The step from `newest` to what this run did. If host-managed changes came in between, the
    /// run's edits are rebased onto them, provided it read nothing of what they changed.
    pub(crate) fn commit_on(
        &self,
        newest: &State,
    ) -> Result<(Transition, Activation), NotCommitted> {
        let started = &self.started_at;
        let changed = |node: &Node| newest.tree.node(*node) != started.tree.node(*node);
        let mut stale = Node::ALL.iter().filter(|node| changed(node));
        if stale.any(|&node| self.draft.nodes_read[node as usize]) {
            // THREAT[TM-PORT-1]: what it called has happened, and must not happen twice.
            return Err(match &self.calls.wrote {
                None => NotCommitted::Stale,
                Some(port) => Error::NotRepeatable { port: port.clone() }.into(),
            });
        }
        let tree = newest.rebased(started, self.draft.tree.clone())?;
        let (tree, messages) = newest.send(&tree, &self.draft.messages)?;
        let calls = self.calls.ended.clone();
        let mut transition = newest.prepare_with(Source::Activation, tree, calls.clone())?;
        let writes = &self.draft.mount_writes;
        transition.writes.clone_from(writes);
        let paths = &transition.change.paths;
        let activation = Activation {
            output: self.output.clone(),
            logs: self.draft.logs.clone(),
            messages,
            changed: paths.iter().map(|changed| changed.path.clone()).collect(),
            before: newest.version,
            version: transition.after.version,
            root: transition.change.root,
            ticks: self.ticks,
            budget: self.budget,
            loaded: self.draft.reads.clone(),
            ports: calls,
            mounts: writes.iter().map(MountWrite::pending).collect(),
            wall: self.wall,
        };
        Ok((transition, activation))
    }
}
