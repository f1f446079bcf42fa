//! Letting go: of history before a checkpoint, and of old events. Of a whole process: `delete.rs`.
//!
//! A cut, and a trim of events, first says in one small row that what is older is gone; the rows
//! themselves then go in pieces, between which others commit. A crash leaves rows that nobody
//! reads; the next collection removes them.

use std::ops::ControlFlow;

use svit_tree::Address;
use svit_txn::{BaseKind, Checkpoint, StoreError};

use crate::apply::{Applying, Written, bad};
use crate::checkpoint;
use crate::fault::{Fault, at, corrupt};
use crate::head::{HeadRow, Known};
use crate::prepared::NewBase;
use crate::read;
use crate::schema::int;
use crate::sql::Bind;
use crate::sums::{Sum, Summed};

/// How many rows one piece removes, or a few more: those of one record stay together.
pub(crate) const PIECE: u64 = 512;

impl Applying<'_> {
    /// Makes a checkpoint the base.
    pub(crate) fn cut(
        &mut self,
        address: &Address,
        epoch: u64,
        new: &NewBase,
    ) -> Result<(Written, Option<Sum>), Fault> {
        let known = self.owned(address, epoch)?;
        let before = read::base(self.connection, address, &known.row)?;
        let BaseKind::Checkpoint { record, thread } = &new.base.kind else {
            return Err(bad(address, "a cut to a base of another kind".to_owned()));
        };
        let wanted = Checkpoint {
            version: new.base.version,
            record: *record,
            root: new.base.root,
        };
        let found = checkpoint::find(self.connection, address, new.base.version)?;
        if new.base.address != *address || *thread != before.shared() || found != Some(wanted) {
            let why = format!("no checkpoint at version {} to cut at", wanted.version);
            return Err(bad(address, why));
        }
        self.refuse_forks(address, wanted.version)?;
        self.write_base(address, new)?;
        self.drop_checkpoints(address, wanted.version)?;
        self.underway.cut(address, wanted.version);
        if !before.has_blocks() {
            self.independent(address, &known.row)?;
        }
        let head = HeadRow {
            base: new.digest,
            ..known.row.clone()
        };
        let sum = self.replace(&known, address, head)?;
        tracing::debug!(%address, version = wanted.version, "cut");
        Ok((Written::Done, Some(sum)))
    }

    fn write_base(&mut self, address: &Address, new: &NewBase) -> Result<(), Fault> {
        let changed = self.connection.execute(
            "UPDATE base SET digest=?2, body=?3 WHERE address=?1",
            &[
                Bind::Blob(address.as_str().as_bytes()),
                Bind::Blob(new.digest.as_bytes()),
                Bind::Blob(&new.body),
            ],
        )?;
        match changed {
            1 => Ok(()),
            _ => Err(corrupt("a missing base", at("base", address))),
        }
    }

    /// Says that events before a number are gone.
    pub(crate) fn trim(
        &mut self,
        address: &Address,
        epoch: u64,
        before: u64,
    ) -> Result<(Written, Option<Sum>), Fault> {
        let known = self.owned(address, epoch)?;
        let first_event = before.clamp(known.row.first_event, known.row.next_event);
        if first_event == known.row.first_event {
            return Ok((Written::Done, None));
        }
        let head = HeadRow {
            first_event,
            ..known.row.clone()
        };
        let sum = self.replace(&known, address, head)?;
        tracing::debug!(%address, first_event, "events trimmed");
        Ok((Written::Done, Some(sum)))
    }

    /// Removes some rows that a cut, a trim or a deletion has left. Says whether there may be more.
    pub(crate) fn purge(&mut self, address: &Address) -> Result<(Written, Option<Sum>), Fault> {
        let Some(known) = self.checked.head(self.connection, address)? else {
            return self.purge_gone(address);
        };
        let base = read::base(self.connection, address, &known.row)?;
        let records = self.purge_records(address, base.version)?;
        let events = match PIECE.checked_sub(records) {
            Some(limit) => self.purge_events(address, known.row.first_event, limit)?,
            None => 0,
        };
        Ok(purged(address, records + events))
    }

    /// Removes records up to a version with their paths. Gives the number of rows.
    pub(crate) fn purge_records(&mut self, address: &Address, up_to: u64) -> Result<u64, Fault> {
        let key = address.as_str().as_bytes();
        self.checked
            .recent
            .file_up_to(self.connection, address, up_to)?;
        let mut old = Vec::new();
        let mut rows = 0;
        self.connection.for_each(
            "SELECT version, paths FROM record WHERE address=?1 AND version<=?2 ORDER BY version LIMIT ?3",
            &[
                Bind::Blob(key),
                Bind::Int(int(up_to)?),
                Bind::Int(int(PIECE)?),
            ],
            |mut row| {
                let (version, paths) = (row.int(0)?, row.blob(1)?);
                rows += 1 + read::paths(&paths).count() as u64;
                old.push((version, paths));
                Ok::<_, Fault>(match rows < PIECE {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                })
            },
        )?;
        for (version, paths) in &old {
            for path in read::paths(paths) {
                self.connection.execute(
                    "DELETE FROM record_path WHERE address=?1 AND path=?2 AND version=?3",
                    &[Bind::Blob(key), Bind::Blob(path), Bind::Int(*version)],
                )?;
            }
            let removed = self.connection.execute(
                "DELETE FROM record WHERE address=?1 AND version=?2",
                &[Bind::Blob(key), Bind::Int(*version)],
            )?;
            if removed != 1 {
                return Err(corrupt(
                    "a record that cannot be removed",
                    at("record", format!("{address} version {version}")),
                ));
            }
        }
        Ok(rows)
    }

    /// Forgets the oldest events, an eighth more than must be at a time. Of a backlog, which is there
    /// when the option is new to a store, one append forgets a piece, and as many as it adds.
    pub(crate) fn retain_events(
        &mut self,
        address: &Address,
        head: &mut HeadRow,
        keep: u64,
        added: u64,
    ) -> Result<(), Fault> {
        let kept = head.next_event - head.first_event;
        if kept <= keep.saturating_add(keep / 8) {
            return Ok(());
        }
        let piece = PIECE + added;
        head.first_event += (kept - keep).min(piece);
        self.purge_events(address, head.first_event, piece)?;
        Ok(())
    }

    fn purge_events(&mut self, address: &Address, before: u64, limit: u64) -> Result<u64, Fault> {
        let removed = self.connection.execute(
            "DELETE FROM thread_event WHERE rowid IN (SELECT rowid FROM thread_event WHERE address=?1 AND thread=0 AND seq<?2 LIMIT ?3)",
            &[
                Bind::Blob(address.as_str().as_bytes()),
                Bind::Int(int(before)?),
                Bind::Int(int(limit)?),
            ],
        )?;
        Ok(removed)
    }

    /// The head of a process, for its owner.
    pub(crate) fn owned(&mut self, address: &Address, epoch: u64) -> Result<Known, Fault> {
        let known = self.head(address)?;
        if epoch == known.row.epoch {
            return Ok(known);
        }
        Err(Fault::Store(StoreError::Fenced {
            address: address.clone(),
            epoch,
            actual: known.row.epoch,
        }))
    }
}

/// The answer of a piece that removed so many rows: one that was not full was the last.
pub(crate) fn purged(address: &Address, rows: u64) -> (Written, Option<Sum>) {
    let more = Written::More(rows >= PIECE);
    if rows == 0 {
        return (more, None);
    }
    tracing::trace!(%address, rows, "purged");
    let sum = Summed::row("purge")
        .bytes(address.as_str().as_bytes())
        .number(rows)
        .sum();
    (more, Some(sum))
}

#[cfg(test)]
pub(crate) mod tests;
