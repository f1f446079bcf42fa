//! Forgetting a whole process, without a long transaction.
//!
//! First its children get the events that they share with it, a piece at a time: each piece copies
//! the newest of those and lowers the number up to which the child shares, so that every moment in
//! between is a state like any other. Then one short transaction removes the head, and with it the
//! process for every reader. The rows go in pieces after that, the base last: a base without a head
//! says that there may be more, so that a crash leaves nothing that is not found again.
//!
//! Nothing is made under an address while such rows are there: they would be the new process's.
//! Whoever creates one removes them first.

use std::ops::ControlFlow;

use svit_tree::Address;
use svit_txn::SharedThread;

use crate::apply::{Applying, Written};
use crate::checkpoint;
use crate::cut::{PIECE, purged};
use crate::fault::{Fault, at, corrupt};
use crate::fork::{self, Link};
use crate::head::{HeadRow, Shared, parse};
use crate::prepared::EventRow;
use crate::schema::int;
use crate::sql::{Bind, Connection};
use crate::sums::{Sum, Summed};

/// What the detachment of a child counts as: its head and two rows of `fork_ref`.
const DETACHED: u64 = 3;

/// Removes some rows of a process, so many at most; nothing else tells of them.
const PIECES: [&str; 3] = [
    "DELETE FROM record_path WHERE address=?1 AND (path, version) IN (SELECT path, version FROM record_path WHERE address=?1 LIMIT ?2)",
    "DELETE FROM receipt WHERE address=?1 AND (client, request) IN (SELECT client, request FROM receipt WHERE address=?1 LIMIT ?2)",
    "DELETE FROM thread_event WHERE rowid IN (SELECT rowid FROM thread_event WHERE address=?1 LIMIT ?2)",
];

impl Applying<'_> {
    /// Goes on with a deletion. The process is gone when the answer is not that there is more.
    pub(crate) fn delete(
        &mut self,
        address: &Address,
        epoch: u64,
    ) -> Result<(Written, Option<Sum>), Fault> {
        let known = self.owned(address, epoch)?;
        self.refuse_forks(address, u64::MAX)?;
        let mut rows = 0;
        let mut done = Summed::row("delete").bytes(&known.sum);
        while let Some(link) = fork::first_child(self.connection, address)? {
            if rows >= PIECE {
                return Ok((Written::More(true), Some(done.sum())));
            }
            let sum = self.hand_over(&known.row, link, &mut rows)?;
            done = done.bytes(&sum);
        }
        if let Some(shared) = &known.row.shared {
            let link = Link::of(self.connection, address, shared)?;
            link.remove(self.connection, &mut self.meta)?;
        }
        // Which rows wait to be filed is told from heads.
        self.checked.recent.let_go(self.connection, address)?;
        let key = [Bind::Blob(address.as_str().as_bytes())];
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
        Ok((Written::Done, Some(done.sum())))
    }

    /// Gives a child the newest of the events that it shares with `gone`, or, when it has them all,
    /// lets it share with whom `gone` shares. Gives the sum of the child's new head.
    fn hand_over(&mut self, gone: &HeadRow, link: Link, rows: &mut u64) -> Result<Sum, Fault> {
        let missing = || corrupt("a fork without a head", at("head", &link.child));
        let known = self.checked.head(self.connection, &link.child)?;
        let known = known.ok_or_else(missing)?;
        let mut head = known.row.clone();
        let shared = match &mut head.shared {
            Some(shared) if shared.thread.parent == link.parent => &mut shared.thread,
            _ => return Err(missing()),
        };
        // Behind events that the child has forgotten there is nothing to go on from.
        if head.first_event == shared.events
            && gone.first_event < shared.events
            && shared.events <= gone.next_event
        {
            let from = gone.first_event.max(shared.events.saturating_sub(PIECE));
            self.copy_events(&link, from, shared.events)?;
            *rows += shared.events - from;
            head.first_event = from;
            shared.events = from;
            if from > gone.first_event {
                return self.replace(&known, &link.child, head);
            }
        }
        let end = shared.events;
        *rows += DETACHED;
        link.remove(self.connection, &mut self.meta)?;
        head.shared = gone.shared.as_ref().map(|above| Shared {
            thread: SharedThread {
                parent: above.thread.parent.clone(),
                events: above.thread.events.min(end),
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
        self.replace(&known, &link.child, head)
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

    /// Whether there are rows of a process that is gone under this address.
    pub(crate) fn has_rows_of_gone(&mut self, address: &Address) -> Result<bool, Fault> {
        let row = self.connection.row(
            "SELECT EXISTS(SELECT 1 FROM base WHERE address=?1) OR EXISTS(SELECT 1 FROM record WHERE address=?1) OR EXISTS(SELECT 1 FROM record_path WHERE address=?1) OR EXISTS(SELECT 1 FROM receipt WHERE address=?1) OR EXISTS(SELECT 1 FROM thread_event WHERE address=?1) OR EXISTS(SELECT 1 FROM checkpoint WHERE address=?1)",
            &[Bind::Blob(address.as_str().as_bytes())],
        )?;
        Ok(row.map_or(Ok(0), |mut row| row.count(0))? != 0)
    }

    /// Removes some rows of a process that is gone. Says whether there may be more.
    pub(crate) fn purge_gone(
        &mut self,
        address: &Address,
    ) -> Result<(Written, Option<Sum>), Fault> {
        // A head that is only hidden is not gone, and neither are its rows.
        self.checked.heads(self.connection, &self.meta)?;
        self.checked.checkpoints(self.connection, &self.meta)?;
        let mut rows = self.purge_records(address, i64::MAX as u64)?;
        let key = Bind::Blob(address.as_str().as_bytes());
        for sql in PIECES {
            let left = Bind::Int(int(PIECE.saturating_sub(rows))?);
            rows += self.connection.execute(sql, &[key, left])?;
        }
        let left = usize::try_from(PIECE.saturating_sub(rows)).unwrap_or(usize::MAX);
        let checkpoints = checkpoint::list(self.connection, address, u64::MAX, left)?;
        rows += checkpoints.len() as u64;
        for (checkpoint, sum) in checkpoints {
            self.drop_checkpoint(address, &checkpoint, &sum)?;
        }
        if rows < PIECE {
            rows += self
                .connection
                .execute("DELETE FROM base WHERE address=?1", &[key])?;
        }
        Ok(purged(address, rows))
    }
}

/// Addresses behind `after`, and before another if one is given, of which there is a base and no head;
/// so many at most, and the last address that was looked at unless there are no more.
pub(crate) fn gone(
    connection: &mut Connection,
    after: &[u8],
    before: Option<&[u8]>,
    limit: u64,
) -> Result<(Vec<Address>, Option<Vec<u8>>), Fault> {
    let (mut found, mut last) = (Vec::new(), None);
    // Behind every address: they are UTF-8.
    let before = Bind::Blob(before.unwrap_or(&[0xff]));
    connection.for_each(
        "SELECT address, EXISTS(SELECT 1 FROM head WHERE head.address=base.address) FROM base WHERE address>?1 AND address<?2 ORDER BY address LIMIT ?3",
        &[Bind::Blob(after), before, Bind::Int(int(limit)?)],
        |mut row| {
            let stored = row.blob(0)?;
            crate::fault::ascends(last.as_deref().unwrap_or(after), &stored, "base")?;
            if row.count(1)? == 0 {
                let text = String::from_utf8_lossy(&stored);
                let address = parse(&stored);
                found.push(address.ok_or_else(|| {
                    corrupt("an address that is not one", at("base", text))
                })?);
            }
            last = Some(stored);
            Ok::<_, Fault>(ControlFlow::Continue(()))
        },
    )?;
    Ok((found, last))
}

/// How many rows there are of a process that is gone.
pub(crate) fn rows_of_gone(connection: &mut Connection, address: &Address) -> Result<u64, Fault> {
    let row = connection.row(
        "SELECT (SELECT count(*) FROM base WHERE address=?1) + (SELECT count(*) FROM record WHERE address=?1) + (SELECT count(*) FROM record_path WHERE address=?1) + (SELECT count(*) FROM receipt WHERE address=?1) + (SELECT count(*) FROM thread_event WHERE address=?1) + (SELECT count(*) FROM checkpoint WHERE address=?1)",
        &[Bind::Blob(address.as_str().as_bytes())],
    )?;
    Ok(row.map_or(Ok(0), |mut row| row.count(0))?)
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

#[cfg(test)]
mod tests;
