//! Letting go: of history before a checkpoint, of old events, of a whole process.
//!
//! A cut, and a trim of events, first says in one small row that what is older is gone; the rows
//! themselves then go in pieces, between which others commit. A crash leaves rows that nobody
//! reads; the next collection removes them.

use std::ops::ControlFlow;

use svit_tree::Address;
use svit_txn::{BaseKind, Checkpoint, SharedThread, StoreError};

use crate::apply::{Applying, Written, bad};
use crate::checkpoint;
use crate::fault::{Fault, at, corrupt};
use crate::fork::{self, Link};
use crate::head::{HeadRow, Known, Shared};
use crate::prepared::{EventRow, NewBase};
use crate::read;
use crate::schema::int;
use crate::sql::{Bind, Connection};
use crate::sums::{Sum, Summed};

/// How many rows one piece removes.
const PIECE: u64 = 512;

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

    /// Removes some rows that a cut or a trim has left. Says whether there may be more.
    pub(crate) fn purge(&mut self, address: &Address) -> Result<(Written, Option<Sum>), Fault> {
        let Some(known) = self.checked.head(self.connection, address)? else {
            return Ok((Written::More(false), None));
        };
        let base = read::base(self.connection, address, &known.row)?;
        let records = self.purge_records(address, base.version)?;
        let events = self.purge_events(address, known.row.first_event)?;
        let more = records >= PIECE || events >= PIECE;
        if records + events == 0 {
            return Ok((Written::More(more), None));
        }
        tracing::trace!(%address, records, events, "purged");
        let sum = Summed::row("purge")
            .bytes(address.as_str().as_bytes())
            .number(records)
            .number(events)
            .sum();
        Ok((Written::More(more), Some(sum)))
    }

    fn purge_records(&mut self, address: &Address, up_to: u64) -> Result<u64, Fault> {
        let key = address.as_str().as_bytes();
        let mut old = Vec::new();
        self.connection.for_each(
            "SELECT version, paths FROM record WHERE address=?1 AND version<=?2 ORDER BY version LIMIT ?3",
            &[
                Bind::Blob(key),
                Bind::Int(int(up_to)?),
                Bind::Int(int(PIECE)?),
            ],
            |mut row| {
                old.push((row.int(0)?, row.blob(1)?));
                Ok::<_, Fault>(ControlFlow::Continue(()))
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
        Ok(old.len() as u64)
    }

    /// Forgets the oldest events, an eighth more than must be at a time.
    pub(crate) fn retain_events(
        &mut self,
        address: &Address,
        head: &mut HeadRow,
        keep: u64,
    ) -> Result<(), Fault> {
        if head.next_event - head.first_event <= keep + keep / 8 {
            return Ok(());
        }
        head.first_event = head.next_event - keep;
        while self.purge_events(address, head.first_event)? >= PIECE {}
        Ok(())
    }

    fn purge_events(&mut self, address: &Address, before: u64) -> Result<u64, Fault> {
        let removed = self.connection.execute(
            "DELETE FROM thread_event WHERE rowid IN (SELECT rowid FROM thread_event WHERE address=?1 AND thread=0 AND seq<?2 LIMIT ?3)",
            &[
                Bind::Blob(address.as_str().as_bytes()),
                Bind::Int(int(before)?),
                Bind::Int(int(PIECE)?),
            ],
        )?;
        Ok(removed)
    }

    /// Removes a process, after its children have got the events that they share with it.
    pub(crate) fn delete(
        &mut self,
        address: &Address,
        epoch: u64,
    ) -> Result<(Written, Option<Sum>), Fault> {
        let known = self.owned(address, epoch)?;
        self.refuse_forks(address, u64::MAX)?;
        self.checked.checkpoints(self.connection, &self.meta)?;
        for link in fork::children(self.connection, address)? {
            self.inherit(&known.row, link)?;
        }
        if let Some(shared) = &known.row.shared {
            let link = Link::of(self.connection, address, shared)?;
            link.remove(self.connection, &mut self.meta)?;
        }
        self.drop_checkpoints(address, i64::MAX as u64)?;
        let key = [Bind::Blob(address.as_str().as_bytes())];
        for sql in [
            "DELETE FROM record WHERE address=?1",
            "DELETE FROM record_path WHERE address=?1",
            "DELETE FROM receipt WHERE address=?1",
            "DELETE FROM thread_event WHERE address=?1",
            "DELETE FROM base WHERE address=?1",
        ] {
            self.connection.execute(sql, &key)?;
        }
        let removed = self
            .connection
            .execute("DELETE FROM head WHERE address=?1", &key)?;
        if removed != 1 {
            return Err(corrupt(
                "a head that cannot be removed",
                at("head", address),
            ));
        }
        self.meta.heads.remove(&known.sum);
        self.checked.gone(address);
        self.underway.give_up(address);
        tracing::debug!(%address, version = known.row.version, "deleted");
        let sum = Summed::row("delete").bytes(&known.sum).sum();
        Ok((Written::Done, Some(sum)))
    }

    /// Gives a child the events that it shares with `gone`, and shares with whom `gone` shared.
    fn inherit(&mut self, gone: &HeadRow, link: Link) -> Result<(), Fault> {
        let child = &link.child;
        let missing = || corrupt("a fork without a head", at("head", child));
        let known = self
            .checked
            .head(self.connection, child)?
            .ok_or_else(missing)?;
        let shared = match &known.row.shared {
            Some(shared) if shared.thread.parent == link.parent => shared.thread.clone(),
            _ => return Err(missing()),
        };
        link.remove(self.connection, &mut self.meta)?;
        let mut head = known.row.clone();
        let end = shared.events.min(gone.next_event);
        // Behind events that the child has forgotten there is nothing to go on from.
        if head.first_event == shared.events && gone.first_event < end {
            self.copy_events(&link, gone.first_event, end)?;
            head.first_event = gone.first_event;
        }
        head.shared = gone.shared.as_ref().map(|above| Shared {
            thread: SharedThread {
                parent: above.thread.parent.clone(),
                events: above.thread.events.min(shared.events),
            },
            at: link.version,
        });
        if let Some(above) = &head.shared {
            let link = Link {
                parent: above.thread.parent.clone(),
                depends: false,
                ..link.clone()
            };
            link.insert(self.connection, &mut self.meta)?;
        }
        self.replace(&known, &link.child, head)?;
        Ok(())
    }

    fn copy_events(&mut self, link: &Link, from: u64, to: u64) -> Result<(), Fault> {
        let mut next = from;
        while next < to {
            let rows = events(self.connection, &link.parent, next, to)?;
            for (seq, kind, body) in rows {
                if seq != next {
                    break;
                }
                let sum = EventRow::sum_of(&link.child, 0, seq, &kind, &body);
                self.connection.execute(
                    "INSERT OR REPLACE INTO thread_event(address, thread, seq, kind, body, sum) VALUES(?1, 0, ?2, ?3, ?4, ?5)",
                    &[
                        Bind::Blob(link.child.as_str().as_bytes()),
                        Bind::Int(int(seq)?),
                        Bind::Blob(&kind),
                        Bind::Blob(&body),
                        Bind::Blob(&sum),
                    ],
                )?;
                next = seq + 1;
            }
        }
        Ok(())
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

/// Number, kind and body, as they are stored.
type StoredEvent = (u64, Vec<u8>, Vec<u8>);

/// Some events of a process, checked; at least one.
fn events(
    connection: &mut Connection,
    address: &Address,
    from: u64,
    to: u64,
) -> Result<Vec<StoredEvent>, Fault> {
    let place = || at("thread_event", format!("{address} event {from}"));
    let mut rows = Vec::new();
    connection.for_each(
        "SELECT seq, kind, body, sum FROM thread_event WHERE address=?1 AND thread=0 AND seq>=?2 AND seq<?3 ORDER BY seq LIMIT 64",
        &[
            Bind::Blob(address.as_str().as_bytes()),
            Bind::Int(int(from)?),
            Bind::Int(int(to)?),
        ],
        |mut row| {
            let (seq, kind, body) = (row.count(0)?, row.blob(1)?, row.blob(2)?);
            let sum: Sum = row.array(3)?;
            if EventRow::sum_of(address, 0, seq, &kind, &body) != sum {
                return Err(corrupt("an event that does not have its sum", place()));
            }
            rows.push((seq, kind, body));
            Ok::<_, Fault>(ControlFlow::Continue(()))
        },
    )?;
    match rows.first() {
        Some((seq, ..)) if *seq == from => Ok(rows),
        _ => Err(corrupt("a missing event", place())),
    }
}
