//! The one row per process that says where its history stands.

use svit_tree::Address;
use svit_txn::{Base, SharedThread};
use svit_value::Digest;

use crate::fault::{Fault, at, corrupt};
use crate::schema::{Meta, int};
use crate::sql::{Bind, Connection, Row};
use crate::sums::{Sum, Summed, Tally};

/// A row of `head`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeadRow {
    pub(crate) version: u64,
    pub(crate) digest: Digest,
    pub(crate) root: Digest,
    pub(crate) epoch: u64,
    /// The digest of the base.
    pub(crate) base: Digest,
    /// The oldest event that is kept under this address; `next_event` if there is none.
    pub(crate) first_event: u64,
    pub(crate) next_event: u64,
    /// Whose thread holds the events before, and the row of `fork_ref` that says so.
    pub(crate) shared: Option<Shared>,
    /// How many receipts the process ever got: the next one's number.
    pub(crate) receipts_made: u64,
    /// Those that are kept.
    pub(crate) receipts: Tally,
}

/// That events are shared with another process, and where `fork_ref` has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shared {
    pub(crate) thread: SharedThread,
    /// The version in the key of the row of `fork_ref`, whose parent is the thread's.
    pub(crate) at: u64,
}

/// A head and its sum.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) row: HeadRow,
    pub(crate) sum: Sum,
}

/// All rows, in the columns that [`HeadRow::decode`] wants.
pub(crate) const ALL: &str = "SELECT address, version, digest, root, epoch, base, first_event, next_event, shared, shared_events, shared_at, receipts_made, receipts, receipts_sum, sum FROM head ORDER BY address";
/// The same behind an address, so many of them.
pub(crate) const BEHIND: &str = "SELECT address, version, digest, root, epoch, base, first_event, next_event, shared, shared_events, shared_at, receipts_made, receipts, receipts_sum, sum FROM head WHERE address>?1 ORDER BY address LIMIT ?2";
const ONE: &str = "SELECT address, version, digest, root, epoch, base, first_event, next_event, shared, shared_events, shared_at, receipts_made, receipts, receipts_sum, sum FROM head WHERE address=?1";

impl HeadRow {
    /// The head of a history that has only its base.
    pub(crate) fn new(base: &Base, digest: Digest, epoch: u64) -> HeadRow {
        HeadRow {
            version: base.version,
            digest: base.head(),
            root: base.root,
            epoch,
            base: digest,
            first_event: base.first_event(),
            next_event: base.first_event(),
            shared: base.shared().map(|thread| Shared {
                thread,
                at: base.version,
            }),
            receipts_made: 0,
            receipts: Tally::default(),
        }
    }

    pub(crate) fn sum(&self, address: &[u8]) -> Sum {
        let (parent, events, at) = self.shared_columns();
        Summed::row("head")
            .bytes(address)
            .number(self.version)
            .digest(&self.digest)
            .digest(&self.root)
            .number(self.epoch)
            .digest(&self.base)
            .number(self.first_event)
            .number(self.next_event)
            .bytes(parent)
            .number(events)
            .number(at)
            .number(self.receipts_made)
            .number(self.receipts.rows)
            .bytes(&self.receipts.sum)
            .sum()
    }

    /// Parent, events and version; no address is empty.
    fn shared_columns(&self) -> (&[u8], u64, u64) {
        match &self.shared {
            None => (b"", 0, 0),
            Some(Shared { thread, at }) => (thread.parent.as_str().as_bytes(), thread.events, *at),
        }
    }

    /// Decodes a whole row and checks its sum. Gives the address as stored, too.
    pub(crate) fn decode(mut row: Row) -> Result<(Vec<u8>, HeadRow, Sum), Fault> {
        let address = row.blob(0)?;
        let bad = |what: &str| corrupt(what, at("head", String::from_utf8_lossy(&address)));
        let parent = row.blob(8)?;
        let (events, shared_at) = (row.count(9)?, row.count(10)?);
        let shared = match parent.is_empty() {
            true => None,
            false => Some(Shared {
                thread: SharedThread {
                    parent: parse(&parent)
                        .ok_or_else(|| bad("a head that shares events with no address"))?,
                    events,
                },
                at: shared_at,
            }),
        };
        let head = HeadRow {
            version: row.count(1)?,
            digest: Digest::from_bytes(row.array(2)?),
            root: Digest::from_bytes(row.array(3)?),
            epoch: row.count(4)?,
            base: Digest::from_bytes(row.array(5)?),
            first_event: row.count(6)?,
            next_event: row.count(7)?,
            shared,
            receipts_made: row.count(11)?,
            receipts: Tally::read(&mut row, 12)?,
        };
        let sum = row.array(14)?;
        if head.sum(&address) != sum {
            return Err(bad("a head that does not have its sum"));
        }
        Ok((address, head, sum))
    }

    /// The head of this process, if there is one.
    pub(crate) fn read(
        connection: &mut Connection,
        address: &Address,
    ) -> Result<Option<HeadRow>, Fault> {
        Ok(HeadRow::find(connection, address)?.map(|known| known.row))
    }

    /// The head of this process with its sum, if there is one.
    pub(crate) fn find(
        connection: &mut Connection,
        address: &Address,
    ) -> Result<Option<Known>, Fault> {
        let key = address.as_str().as_bytes();
        let Some(row) = connection.row(ONE, &[Bind::Blob(key)])? else {
            return Ok(None);
        };
        let (stored, row, sum) = HeadRow::decode(row)?;
        if stored != key {
            return Err(corrupt("a head of another process", at("head", address)));
        }
        Ok(Some(Known { row, sum }))
    }

    /// Adds the head of a new process. Gives its sum.
    pub(crate) fn insert(
        &self,
        connection: &mut Connection,
        address: &Address,
        meta: &mut Meta,
    ) -> Result<Sum, Fault> {
        let key = address.as_str().as_bytes();
        let sum = self.sum(key);
        connection.execute(
            "INSERT INTO head(address, version, digest, root, epoch, base, first_event, next_event, shared, shared_events, shared_at, receipts_made, receipts, receipts_sum, sum) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
            &self.binds(key, &sum)?,
        )?;
        meta.heads.add(&sum);
        Ok(sum)
    }

    /// Writes the head over `before`, which must be what is stored. Gives its sum.
    pub(crate) fn replace(
        &self,
        before: &Known,
        connection: &mut Connection,
        address: &Address,
        meta: &mut Meta,
    ) -> Result<Sum, Fault> {
        let key = address.as_str().as_bytes();
        let sum = self.sum(key);
        // Most transitions change no more than this.
        let grown = HeadRow {
            version: self.version,
            digest: self.digest,
            root: self.root,
            next_event: self.next_event,
            ..before.row.clone()
        };
        let changed = if *self == grown {
            connection.execute(
                "UPDATE head SET version=?2, digest=?3, root=?4, next_event=?5, sum=?6 WHERE address=?1",
                &[
                    Bind::Blob(key),
                    Bind::Int(int(self.version)?),
                    Bind::Blob(self.digest.as_bytes()),
                    Bind::Blob(self.root.as_bytes()),
                    Bind::Int(int(self.next_event)?),
                    Bind::Blob(&sum),
                ],
            )?
        } else {
            connection.execute(
                "UPDATE head SET version=?2, digest=?3, root=?4, epoch=?5, base=?6, first_event=?7, next_event=?8, shared=?9, shared_events=?10, shared_at=?11, receipts_made=?12, receipts=?13, receipts_sum=?14, sum=?15 WHERE address=?1",
                &self.binds(key, &sum)?,
            )?
        };
        if changed != 1 {
            return Err(corrupt(
                "a head that cannot be updated",
                at("head", address),
            ));
        }
        meta.heads.remove(&before.sum);
        meta.heads.add(&sum);
        Ok(sum)
    }

    fn binds<'a>(&'a self, key: &'a [u8], sum: &'a Sum) -> Result<[Bind<'a>; 15], Fault> {
        let (parent, events, at) = self.shared_columns();
        Ok([
            Bind::Blob(key),
            Bind::Int(int(self.version)?),
            Bind::Blob(self.digest.as_bytes()),
            Bind::Blob(self.root.as_bytes()),
            Bind::Int(int(self.epoch)?),
            Bind::Blob(self.base.as_bytes()),
            Bind::Int(int(self.first_event)?),
            Bind::Int(int(self.next_event)?),
            Bind::Blob(parent),
            Bind::Int(int(events)?),
            Bind::Int(int(at)?),
            Bind::Int(int(self.receipts_made)?),
            Bind::Int(int(self.receipts.rows)?),
            Bind::Blob(&self.receipts.sum),
            Bind::Blob(sum),
        ])
    }
}

/// An address as it is stored.
pub(crate) fn parse(stored: &[u8]) -> Option<Address> {
    Address::parse(std::str::from_utf8(stored).ok()?).ok()
}
