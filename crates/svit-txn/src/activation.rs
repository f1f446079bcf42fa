//! `Activation`: one run of a script against a private working copy, and its step to a commit.

use std::sync::Arc;
use std::time::{Duration, Instant};

use svit_tree::guest::Program;
use svit_tree::{Node, Path, Source};
use svit_value::{Digest, Value};

use crate::Error;
use crate::guests::{Guests, script_at};
use crate::outbox::Intent;
use crate::state::{State, Transition};
use crate::working::{Draft, LogRecord, Read, Working};

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
    /// Wall clock of the guest's run. Never in the root.
    pub wall: Duration,
}

/// A program to run, and what to call it in diagnostics.
#[derive(Clone, Debug)]
pub(crate) enum Job {
    /// A script of the library.
    Script(Path),
    /// A script that is given and not kept.
    Source(Box<Program>),
}

/// A run that ended well and is not committed yet.
#[derive(Debug)]
pub(crate) struct Finished {
    started_at: State,
    draft: Draft,
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
    run_in(&Working::new(state, guests.clone()), state, job, input)
}

/// The same in a working copy that is there already, so that it can be cancelled.
pub(crate) fn run_in(
    working: &Arc<Working>,
    state: &State,
    job: &Job,
    input: Value,
) -> Result<Finished, Error> {
    let (path, program) = match job {
        Job::Script(path) => (path.clone(), script_at(&state.tree, path)?),
        Job::Source(program) => (Path::root(), (**program).clone()),
    };
    let started = Instant::now();
    let span =
        tracing::debug_span!("activation", address = %state.address, version = state.version);
    let output = span.in_scope(|| working.run(&path, &program, input))?;
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
        output,
        ticks,
        budget,
        wall,
    })
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
            return Err(NotCommitted::Stale);
        }
        let tree = newest.rebased(started, self.draft.tree.clone())?;
        let (tree, messages) = newest.send(&tree, &self.draft.messages)?;
        let transition = newest.prepare(Source::Activation, tree)?;
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
            wall: self.wall,
        };
        Ok((transition, activation))
    }
}
