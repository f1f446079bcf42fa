//! Garbage collection of blocks: mark, then sweep, in pieces between which others commit.
//!
//! A *root* is the root digest of a base that came with its blocks or of a whole checkpoint. Forks
//! are none: they lead to their parent's roots, which stay as long as a fork depends on them. What
//! is marked stands in a table of the temporary database, which never reaches the file or its WAL;
//! what is to be followed, and how far the run is, stands in memory. A run that is given up, by a
//! crash, a lost connection, or because nobody asks for the next piece, leaves the store as it is.
//!
//! # Why nothing that is needed is removed
//! The claim: when sweeping starts, and at every moment after, every block that a root reaches is
//! marked. Blocks without a mark may then go.
//! 1. *Marking.* Every root is seen: those behind the cursor when the cursor passes, those that
//!    come up at or before it when they are written, in the same transaction. What is seen is
//!    followed through all links until nothing is left to follow. A root that goes meanwhile costs
//!    nothing but marks that are not needed.
//! 2. *What is written during a run is marked by the transaction that writes it*, blocks that were
//!    there already included. While marking lasts it is also followed.
//! 3. *Sweeping.* What a root reaches that is written now is either among the blocks written with
//!    it (marked by 2), or reached by the checkpoint or base that it builds on. That one is looked
//!    for in the same transaction, so it is a root, and what it reaches is marked by induction.
//! 4. *Unfinished checkpoints.* Each of their blocks stands behind one that links to it, so that
//!    following from their root finds those that were written before the run. Blocks that are still
//!    to come are missing there, and are marked by 2 when they come.
//!
//! A hidden row would be a root that is not seen, so the rows of heads and checkpoints are counted
//! against their sums before the first run; a block that is damaged, or missing where it must be,
//! ends the run before anything is removed.

use std::ops::ControlFlow;

use svit_tree::Address;
use svit_txn::{Collected, StoreError};
use svit_value::{Digest, links};

use crate::apply::{Applying, Written};
use crate::checkpoint;
use crate::checks::Checked;
use crate::delete;
use crate::fault::{Fault, ascends, at, corrupt};
use crate::head::{self, HeadRow, parse};
use crate::read;
use crate::schema::{Meta, int};
use crate::sql::{Bind, Connection, SqlError};
use crate::sums::{Sum, Summed, Tally, block_sum};
use crate::underway::Underway;

/// The marks of a collection; those of a scrub have numbers of their own.
const COLLECTION: u64 = 0;

/// Marks, and what is still to be followed.
#[derive(Debug)]
pub(crate) struct Marker {
    run: u64,
    /// What must be there.
    strict: Vec<Digest>,
    /// What may be missing: it belongs to a checkpoint that is not whole.
    lenient: Vec<Digest>,
}

impl Marker {
    /// No marks.
    pub(crate) fn new(connection: &mut Connection, run: u64) -> Result<Marker, SqlError> {
        connection.execute(
            "CREATE TEMP TABLE IF NOT EXISTS mark(run INTEGER NOT NULL, digest BLOB NOT NULL, strict INTEGER NOT NULL, PRIMARY KEY(run, digest)) STRICT, WITHOUT ROWID",
            &[],
        )?;
        let marker = Marker {
            run,
            strict: Vec::new(),
            lenient: Vec::new(),
        };
        marker.clear(connection)?;
        Ok(marker)
    }

    /// Removes all marks.
    pub(crate) fn clear(&self, connection: &mut Connection) -> Result<(), SqlError> {
        connection.execute("DELETE FROM temp.mark WHERE run=?1", &[self.number()?])?;
        Ok(())
    }

    fn number(&self) -> Result<Bind<'static>, SqlError> {
        Ok(Bind::Int(int(self.run)?))
    }

    /// Marks a block. True if it was not marked before, or only as one that may be missing.
    fn mark(
        &self,
        connection: &mut Connection,
        digest: &Digest,
        must_be_there: bool,
    ) -> Result<bool, SqlError> {
        let changed = connection.execute(
            "INSERT INTO temp.mark(run, digest, strict) VALUES(?1, ?2, ?3) ON CONFLICT(run, digest) DO UPDATE SET strict=1 WHERE strict<excluded.strict",
            &[
                self.number()?,
                Bind::Blob(digest.as_bytes()),
                Bind::Int(i64::from(must_be_there)),
            ],
        )?;
        Ok(changed == 1)
    }

    /// Whether a block is marked.
    pub(crate) fn is_marked(
        &self,
        connection: &mut Connection,
        digest: &Digest,
    ) -> Result<bool, SqlError> {
        let row = connection.row(
            "SELECT count(*) FROM temp.mark WHERE run=?1 AND digest=?2",
            &[self.number()?, Bind::Blob(digest.as_bytes())],
        )?;
        Ok(row.map_or(Ok(0), |mut row| row.count(0))? == 1)
    }

    /// Marks a block, to be followed if it was not marked before. One that was reached where it may be
    /// missing is followed once more where it must be there, or what is missing below it would go
    /// unnoticed.
    pub(crate) fn see(
        &mut self,
        connection: &mut Connection,
        digest: &Digest,
        must_be_there: bool,
    ) -> Result<(), SqlError> {
        if self.mark(connection, digest, must_be_there)? {
            match must_be_there {
                true => self.strict.push(*digest),
                false => self.lenient.push(*digest),
            }
        }
        Ok(())
    }

    /// Whether nothing is left to follow.
    pub(crate) fn is_done(&self) -> bool {
        self.strict.is_empty() && self.lenient.is_empty()
    }

    /// Gives up what is left to follow.
    pub(crate) fn give_up(&mut self) {
        self.strict.clear();
        self.lenient.clear();
    }

    /// Follows one marked block to those that it links to. What must be there is followed first, so
    /// that it is missed if it is not.
    pub(crate) fn follow(&mut self, connection: &mut Connection) -> Result<(), Fault> {
        let (digest, must_be_there) = match self.strict.pop() {
            Some(digest) => (digest, true),
            None => match self.lenient.pop() {
                Some(digest) => (digest, false),
                None => return Ok(()),
            },
        };
        let Some(data) = read::stored_block(connection, &digest)? else {
            if must_be_there {
                return Err(corrupt("a block that is missing", at("block", digest)));
            }
            // When it comes it is to be followed.
            connection.execute(
                "DELETE FROM temp.mark WHERE run=?1 AND digest=?2",
                &[self.number()?, Bind::Blob(digest.as_bytes())],
            )?;
            return Ok(());
        };
        let linked = links(&data).map_err(|error| {
            corrupt(
                format!("a block that cannot be read: {error}"),
                at("block", digest),
            )
        })?;
        for digest in linked {
            self.see(connection, &digest, must_be_there)?;
        }
        Ok(())
    }
}

/// How far a collection is.
#[derive(Debug)]
enum Phase {
    /// Seeing the roots of the processes behind this address, and following them.
    Marking { after: Vec<u8> },
    /// Removing what is not marked behind this digest.
    Sweeping { after: Vec<u8> },
}

/// A collection that is under way.
#[derive(Debug)]
pub(crate) struct Run {
    marker: Marker,
    phase: Phase,
    /// Processes with rows that a cut or a deletion has left.
    leftovers: Vec<Address>,
}

/// More processes with leftovers are left to the next run.
const MAX_LEFTOVERS: usize = 1024;

impl Run {
    fn new(
        connection: &mut Connection,
        checked: &mut Checked,
        meta: &Meta,
        unfinished: &[Digest],
    ) -> Result<Run, Fault> {
        checked.heads(connection, meta)?;
        checked.checkpoints(connection, meta)?;
        let mut marker = Marker::new(connection, COLLECTION)?;
        for root in unfinished {
            marker.see(connection, root, false)?;
        }
        Ok(Run {
            marker,
            phase: Phase::Marking { after: Vec::new() },
            leftovers: Vec::new(),
        })
    }

    /// How much there is to follow.
    pub(crate) fn to_follow(&self) -> (usize, usize) {
        (self.marker.strict.len(), self.marker.lenient.len())
    }

    /// Takes back what a write added that was rolled back, and its marks with it.
    pub(crate) fn take_back(&mut self, (strict, lenient): (usize, usize)) {
        self.marker.strict.truncate(strict);
        self.marker.lenient.truncate(lenient);
    }

    /// A block was written.
    pub(crate) fn put(
        &mut self,
        connection: &mut Connection,
        digest: &Digest,
    ) -> Result<(), SqlError> {
        match self.phase {
            // Of an unfinished checkpoint its children may not be there yet.
            Phase::Marking { .. } => self.marker.see(connection, digest, false),
            Phase::Sweeping { .. } => self.marker.mark(connection, digest, false).map(drop),
        }
    }

    /// A root has come up, whose blocks have all been written or were there. False if they may not
    /// be marked.
    pub(crate) fn new_root(
        &mut self,
        connection: &mut Connection,
        root: &Digest,
    ) -> Result<bool, Fault> {
        match self.phase {
            Phase::Marking { .. } => {
                self.marker.see(connection, root, true)?;
                Ok(true)
            }
            Phase::Sweeping { .. } => Ok(self.marker.is_marked(connection, root)?),
        }
    }

    /// Marks for about so many blocks. True if sweeping is next.
    fn mark(
        &mut self,
        connection: &mut Connection,
        checked: &mut Checked,
        steps: u64,
    ) -> Result<bool, Fault> {
        let Phase::Marking { after } = &self.phase else {
            return Ok(true);
        };
        let mut after = after.clone();
        for _ in 0..steps {
            if !self.marker.is_done() {
                self.marker.follow(connection)?;
                continue;
            }
            let next = next_head(connection, &after)?;
            let up_to = next.as_ref().map(|(stored, _)| &stored[..]);
            self.gone(connection, &after, up_to)?;
            let Some((stored, head)) = next else {
                self.phase = Phase::Sweeping { after: Vec::new() };
                return Ok(true);
            };
            self.roots(connection, checked, &stored, &head)?;
            after = stored;
        }
        self.phase = Phase::Marking { after };
        Ok(false)
    }

    /// Notes the processes between two addresses that are gone and have left rows.
    fn gone(
        &mut self,
        connection: &mut Connection,
        after: &[u8],
        before: Option<&[u8]>,
    ) -> Result<(), Fault> {
        let room = MAX_LEFTOVERS.saturating_sub(self.leftovers.len()) as u64;
        let (mut found, _) = delete::gone(connection, after, before, room)?;
        self.leftovers.append(&mut found);
        Ok(())
    }

    /// Sees the roots of one process.
    fn roots(
        &mut self,
        connection: &mut Connection,
        checked: &mut Checked,
        stored: &[u8],
        head: &HeadRow,
    ) -> Result<(), Fault> {
        let address = parse(stored).ok_or_else(|| {
            let text = String::from_utf8_lossy(stored).into_owned();
            corrupt("an address that is not one", at("head", text))
        })?;
        let base = read::base(connection, &address, head)?;
        if base.has_blocks() {
            self.marker.see(connection, &base.root, true)?;
        }
        for (checkpoint, _) in checkpoint::list(connection, &address, u64::MAX, usize::MAX)? {
            self.marker.see(connection, &checkpoint.root, true)?;
        }
        if self.leftovers.len() < MAX_LEFTOVERS
            && read::leftovers(connection, checked, &address, head, &base)? > 0
        {
            self.leftovers.push(address);
        }
        Ok(())
    }
}

pub(crate) fn next_head(
    connection: &mut Connection,
    after: &[u8],
) -> Result<Option<(Vec<u8>, HeadRow)>, Fault> {
    let mut found = None;
    connection.for_each(head::BEHIND, &[Bind::Blob(after), Bind::Int(1)], |row| {
        let (stored, head, _) = HeadRow::decode(row)?;
        ascends(after, &stored, "head")?;
        found = Some((stored, head));
        Ok::<_, Fault>(ControlFlow::Break(()))
    })?;
    Ok(found)
}

impl Underway {
    /// Marks for about so many blocks, and begins a run if none is under way. True if sweeping is
    /// next. A failure ends the run.
    pub(crate) fn mark(
        &mut self,
        connection: &mut Connection,
        checked: &mut Checked,
        meta: &Meta,
        steps: u64,
    ) -> Result<bool, Fault> {
        let known = self.run.take();
        let unfinished = self.roots();
        // One transaction: else each mark would be one.
        let (run, sweeping) = connection.within(|connection| {
            let mut run = match known {
                Some(run) => run,
                None => Run::new(connection, checked, meta, &unfinished)?,
            };
            let sweeping = run.mark(connection, checked, steps)?;
            Ok::<_, Fault>((run, sweeping))
        })?;
        self.run = Some(run);
        Ok(sweeping)
    }
}

impl Applying<'_> {
    /// Looks at so many blocks and removes those that are not marked.
    pub(crate) fn sweep(&mut self, steps: u64) -> Result<(Written, Option<Sum>), Fault> {
        self.underway.has_swept = true;
        // Taken: a failure ends the run.
        let mut collected = Collected::default();
        let Some(mut run) = self.underway.run.take() else {
            return Ok((Written::Swept(collected), None));
        };
        let Phase::Sweeping { after } = &run.phase else {
            self.underway.run = Some(run);
            return Ok((Written::Swept(collected), None));
        };
        if let Some(address) = run.leftovers.pop() {
            let (written, sum) = self.purge(&address)?;
            if matches!(written, Written::More(true)) {
                run.leftovers.push(address);
            }
            self.underway.run = Some(run);
            return Ok((Written::Swept(collected), sum));
        }
        let page = digests(self.connection, after, steps)?;
        let mut removed = Tally::default();
        for digest in &page {
            if run.marker.is_marked(self.connection, digest)? {
                continue;
            }
            let sum = block_sum(digest);
            collected.bytes += self.remove_block(digest)?;
            collected.blocks += 1;
            self.meta.blocks.remove(&sum);
            removed.add(&sum);
        }
        match page.last() {
            Some(last) => {
                run.phase = Phase::Sweeping {
                    after: last.as_bytes().to_vec(),
                };
                self.underway.run = Some(run);
            }
            None => {
                collected.done = true;
                run.marker.clear(self.connection)?;
            }
        }
        tracing::debug!(
            blocks = collected.blocks,
            bytes = collected.bytes,
            done = collected.done,
            "blocks collected"
        );
        let sum = (collected.blocks > 0).then(|| {
            Summed::row("sweep")
                .number(removed.rows)
                .bytes(&removed.sum)
                .sum()
        });
        Ok((Written::Swept(collected), sum))
    }

    /// Removes a block. Gives its length.
    fn remove_block(&mut self, digest: &Digest) -> Result<u64, Fault> {
        let key = [Bind::Blob(digest.as_bytes())];
        let row = self
            .connection
            .row("SELECT len FROM block WHERE digest=?1", &key)?;
        let len = row.map_or(Ok(0), |mut row| row.count(0))?;
        let removed = self
            .connection
            .execute("DELETE FROM block WHERE digest=?1", &key)?;
        match removed {
            1 => Ok(len),
            _ => Err(Fault::Store(StoreError::Corrupt {
                what: "a block that cannot be removed".to_owned(),
                place: at("block", digest),
            })),
        }
    }
}

pub(crate) fn digests(
    connection: &mut Connection,
    after: &[u8],
    limit: u64,
) -> Result<Vec<Digest>, Fault> {
    let mut page = Vec::new();
    connection.for_each(
        "SELECT digest FROM block WHERE digest>?1 ORDER BY digest LIMIT ?2",
        &[Bind::Blob(after), Bind::Int(int(limit)?)],
        |mut row| {
            let digest = Digest::from_bytes(row.array(0)?);
            let before = page.last().map_or(after, |last: &Digest| last.as_bytes());
            ascends(before, digest.as_bytes(), "block")?;
            page.push(digest);
            Ok::<_, Fault>(ControlFlow::Continue(()))
        },
    )?;
    Ok(page)
}

#[cfg(test)]
mod tests;
