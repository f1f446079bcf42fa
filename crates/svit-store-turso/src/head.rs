//! The one row per process that says where its history stands.

use svit_tree::Address;
use svit_value::Digest;

use crate::fault::{Fault, at, corrupt};
use crate::schema::{Meta, int};
use crate::sql::{Bind, Connection, Row};
use crate::sums::{Sum, Summed, Tally};

/// A row of `head`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeadRow {
    pub(crate) version: u64,
    pub(crate) digest: Digest,
    pub(crate) root: Digest,
    pub(crate) epoch: u64,
    /// The digest of the base.
    pub(crate) base: Digest,
    pub(crate) next_event: u64,
    /// How many receipts the process ever got: the next one's number.
    pub(crate) receipts_made: u64,
    /// Those that are kept.
    pub(crate) receipts: Tally,
}

/// A head and its sum.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known {
    pub(crate) row: HeadRow,
    pub(crate) sum: Sum,
}

/// All columns, the address first, as [`HeadRow::decode`] wants them.
pub(crate) const ALL: &str = "SELECT address, version, digest, root, epoch, base, next_event, receipts_made, receipts, receipts_sum, sum FROM head ORDER BY address";

impl HeadRow {
    pub(crate) fn sum(&self, address: &[u8]) -> Sum {
        Summed::row("head")
            .bytes(address)
            .number(self.version)
            .digest(&self.digest)
            .digest(&self.root)
            .number(self.epoch)
            .digest(&self.base)
            .number(self.next_event)
            .number(self.receipts_made)
            .number(self.receipts.rows)
            .bytes(&self.receipts.sum)
            .sum()
    }

    /// Decodes a whole row and checks its sum. Gives the address as stored, too.
    pub(crate) fn decode(mut row: Row) -> Result<(Vec<u8>, HeadRow, Sum), Fault> {
        let address = row.blob(0)?;
        let head = HeadRow {
            version: row.count(1)?,
            digest: Digest::from_bytes(row.array(2)?),
            root: Digest::from_bytes(row.array(3)?),
            epoch: row.count(4)?,
            base: Digest::from_bytes(row.array(5)?),
            next_event: row.count(6)?,
            receipts_made: row.count(7)?,
            receipts: Tally {
                rows: row.count(8)?,
                sum: row.array(9)?,
            },
        };
        let sum = row.array(10)?;
        if head.sum(&address) != sum {
            return Err(corrupt(
                "a head that does not have its sum",
                at("head", String::from_utf8_lossy(&address)),
            ));
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
        let row = connection.row(
            "SELECT address, version, digest, root, epoch, base, next_event, receipts_made, receipts, receipts_sum, sum FROM head WHERE address=?1",
            &[Bind::Blob(key)],
        )?;
        let Some(row) = row else { return Ok(None) };
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
            "INSERT INTO head(address, version, digest, root, epoch, base, next_event, receipts_made, receipts, receipts_sum, sum) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            &self.binds(key, &sum)?,
        )?;
        meta.heads.add(&sum);
        Ok(sum)
    }

    /// Writes the head over `before`, which must be what is stored. Gives its sum.
    pub(crate) fn replace(
        &self,
        before: &Sum,
        connection: &mut Connection,
        address: &Address,
        meta: &mut Meta,
    ) -> Result<Sum, Fault> {
        let key = address.as_str().as_bytes();
        let sum = self.sum(key);
        let changed = connection.execute(
            "UPDATE head SET version=?2, digest=?3, root=?4, epoch=?5, base=?6, next_event=?7, receipts_made=?8, receipts=?9, receipts_sum=?10, sum=?11 WHERE address=?1",
            &self.binds(key, &sum)?,
        )?;
        if changed != 1 {
            return Err(corrupt(
                "a head that cannot be updated",
                at("head", address),
            ));
        }
        meta.heads.remove(before);
        meta.heads.add(&sum);
        Ok(sum)
    }

    fn binds<'a>(&'a self, key: &'a [u8], sum: &'a Sum) -> Result<[Bind<'a>; 11], Fault> {
        Ok([
            Bind::Blob(key),
            Bind::Int(int(self.version)?),
            Bind::Blob(self.digest.as_bytes()),
            Bind::Blob(self.root.as_bytes()),
            Bind::Int(int(self.epoch)?),
            Bind::Blob(self.base.as_bytes()),
            Bind::Int(int(self.next_event)?),
            Bind::Int(int(self.receipts_made)?),
            Bind::Int(int(self.receipts.rows)?),
            Bind::Blob(&self.receipts.sum),
            Bind::Blob(sum),
        ])
    }
}
