//! What is under way and lives only in memory: checkpoints that are not whole yet, and the
//! collection of garbage. A crash, or a lost connection, forgets it; nothing is lost by that.

use std::collections::BTreeMap;

use svit_tree::Address;
use svit_txn::{Checkpoint, CheckpointPart, CheckpointRef};
use svit_value::Digest;

use crate::collect::Run;
use crate::fault::Fault;
use crate::options::MAX_BATCH;
use crate::schema::Meta;
use crate::sql::{Connection, SqlError};

/// A checkpoint of which parts are still to come.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Unfinished {
    checkpoint: Checkpoint,
    since: Option<CheckpointRef>,
    next: u64,
}

type Key = (Address, u64);

/// How much there was at some time.
#[derive(Debug, Clone, Copy, Default)]
struct Before {
    undo: usize,
    /// What the run had to follow.
    to_follow: (usize, usize),
}

/// What is under way.
#[derive(Debug, Default)]
pub(crate) struct Underway {
    open: BTreeMap<Key, Unfinished>,
    /// What the batch under way changed in `open`, as it was before.
    undo: Vec<(Key, Option<Unfinished>)>,
    /// What there was before the batch under way, and before the write.
    before_batch: Before,
    before_write: Before,
    /// How many writes the batch under way has begun.
    writes: u64,
    /// Whether the batch under way has swept.
    pub(crate) has_swept: bool,
    /// The collection of garbage, if one is running.
    pub(crate) run: Option<Run>,
}

impl Underway {
    /// Says that a write begins.
    pub(crate) fn begin(&mut self) {
        self.writes += 1;
        self.before_write = self.now();
    }

    /// Says that a batch begins.
    pub(crate) fn begin_batch(&mut self) {
        self.undo.clear();
        self.writes = 0;
        self.has_swept = false;
        self.before_batch = self.now();
    }

    /// The epoch of a process that the write under way starts. It is higher than any that another
    /// process of the same address ever had, which is gone: that one was started `n` writes ago at
    /// least, counting a full batch for each, and was claimed less than `n` times since.
    pub(crate) fn first_epoch(&self, meta: &Meta) -> u64 {
        meta.batch.saturating_mul(MAX_BATCH as u64) + self.writes
    }

    fn now(&self) -> Before {
        Before {
            undo: self.undo.len(),
            to_follow: self.run.as_ref().map_or((0, 0), Run::to_follow),
        }
    }

    /// Takes back what the write under way did.
    pub(crate) fn roll_back(&mut self) {
        self.back_to(self.before_write);
    }

    /// Takes back what the batch under way did.
    pub(crate) fn roll_back_batch(&mut self) {
        self.back_to(self.before_batch);
        // What it swept is there again: the next collection begins anew.
        if std::mem::take(&mut self.has_swept) {
            self.run = None;
        }
    }

    fn back_to(&mut self, then: Before) {
        while self.undo.len() > then.undo
            && let Some((key, before)) = self.undo.pop()
        {
            match before {
                Some(before) => drop(self.open.insert(key, before)),
                None => drop(self.open.remove(&key)),
            }
        }
        if let Some(run) = &mut self.run {
            run.take_back(then.to_follow);
        }
    }

    /// Forgets everything.
    pub(crate) fn forget(&mut self) {
        *self = Underway::default();
    }

    /// How many checkpoints are not whole yet.
    pub(crate) fn unfinished(&self) -> u64 {
        self.open.len() as u64
    }

    /// The roots of the checkpoints that are not whole yet.
    pub(crate) fn roots(&self) -> Vec<Digest> {
        self.open.values().map(|it| it.checkpoint.root).collect()
    }

    fn set(&mut self, key: Key, after: Option<Unfinished>) {
        let before = match after {
            Some(after) => self.open.insert(key.clone(), after),
            None => self.open.remove(&key),
        };
        self.undo.push((key, before));
    }

    /// Takes note of a part, if it is the next one. The error says why not.
    pub(crate) fn next_part(
        &mut self,
        address: &Address,
        part: &CheckpointPart,
    ) -> Result<(), String> {
        let key = (address.clone(), part.checkpoint.version);
        let next = match self.open.get(&key) {
            _ if part.index == 0 => 0,
            None => 0,
            Some(known) if known.checkpoint != part.checkpoint || known.since != part.since => {
                return Err("a part of another checkpoint than the parts before".to_owned());
            }
            Some(known) => known.next,
        };
        if part.index != next {
            return Err(format!(
                "part {} of a checkpoint where {next} is next",
                part.index
            ));
        }
        let known = Unfinished {
            checkpoint: part.checkpoint,
            since: part.since.clone(),
            next: next + 1,
        };
        self.set(key, Some(known));
        Ok(())
    }

    /// A checkpoint of this process has become whole, or the process is gone: what it left
    /// unfinished is given up.
    pub(crate) fn give_up(&mut self, address: &Address) {
        self.cut(address, u64::MAX);
    }

    /// The history before a version is gone.
    pub(crate) fn cut(&mut self, address: &Address, version: u64) {
        let gone = (address.clone(), 0)..(address.clone(), version);
        let gone: Vec<Key> = self.open.range(gone).map(|(key, _)| key.clone()).collect();
        for key in gone {
            self.set(key, None);
        }
    }

    /// A block was stored, or stored again.
    pub(crate) fn put(
        &mut self,
        connection: &mut Connection,
        digest: &Digest,
    ) -> Result<(), SqlError> {
        match &mut self.run {
            Some(run) => run.put(connection, digest),
            None => Ok(()),
        }
    }

    /// Something whose blocks are all there now leads to this root.
    pub(crate) fn new_root(
        &mut self,
        connection: &mut Connection,
        root: &Digest,
    ) -> Result<(), Fault> {
        if let Some(run) = &mut self.run
            && !run.new_root(connection, root)?
        {
            // What it leads to was not seen to be needed: nothing more is removed in this run.
            self.run = None;
        }
        Ok(())
    }
}
