//! Checks that a lookup which found nothing may be believed.
//!
//! A damaged index hides rows, and a hidden row reads like one that was never there. Where an
//! absence is an ordinary answer (no such process, no such receipt, no such block) the table's
//! rows are therefore counted and summed once per open, the first time that something is absent.
//! Records and events need no such check: their numbers have no gaps.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use svit_tree::Address;

use crate::fault::{Fault, at, corrupt};
use crate::head::{self, HeadRow};
use crate::prepared::ReceiptRow;
use crate::schema::Meta;
use crate::sql::{Bind, Connection, SqlError};
use crate::sums::{Tally, half};
use svit_value::Digest;

/// Forgotten when it grows past this, so that memory stays bounded.
const MAX_REMEMBERED: usize = 65_536;

/// What has been checked, or counted, since the store was opened.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    heads: bool,
    blocks: bool,
    receipts: HashSet<Address>,
    /// How many receipts each client of a process has.
    pub(crate) clients: HashMap<(Address, Vec<u8>), u64>,
}

impl Checked {
    /// Forgets the counts: a transaction that changed them was rolled back.
    pub(crate) fn forget_counts(&mut self) {
        self.clients.clear();
    }

    /// Forgets what was checked, so that it is checked again.
    pub(crate) fn forget(&mut self) {
        *self = Checked::default();
    }

    /// Checks that no head is hidden. Once per open: O(processes).
    pub(crate) fn heads(&mut self, connection: &mut Connection, meta: &Meta) -> Result<(), Fault> {
        if self.heads {
            return Ok(());
        }
        let mut tally = Tally::default();
        connection.for_each(head::ALL, &[], |row| {
            let (_, _, sum) = HeadRow::decode(row)?;
            tally.add(&sum);
            Ok::<_, Fault>(ControlFlow::Continue(()))
        })?;
        if tally != meta.heads {
            return Err(corrupt(
                format!(
                    "{} heads found where {} were written",
                    tally.rows, meta.heads.rows
                ),
                "head",
            ));
        }
        self.heads = true;
        Ok(())
    }

    /// Checks that no block is hidden. Once per open: O(blocks).
    pub(crate) fn blocks(&mut self, connection: &mut Connection, meta: &Meta) -> Result<(), Fault> {
        if self.blocks {
            return Ok(());
        }
        let mut tally = Tally::default();
        connection.for_each(
            "SELECT digest FROM block ORDER BY digest",
            &[],
            |mut row| {
                tally.add(&half(&Digest::from_bytes(row.array(0)?)));
                Ok::<_, SqlError>(ControlFlow::Continue(()))
            },
        )?;
        if tally != meta.blocks {
            return Err(corrupt(
                format!(
                    "{} blocks found where {} were written",
                    tally.rows, meta.blocks.rows
                ),
                "block",
            ));
        }
        self.blocks = true;
        Ok(())
    }

    /// Checks that no receipt of this process is hidden. Once per open and process: O(receipts).
    pub(crate) fn receipts(
        &mut self,
        connection: &mut Connection,
        address: &Address,
        head: &HeadRow,
    ) -> Result<(), Fault> {
        if self.receipts.contains(address) {
            return Ok(());
        }
        let tally = receipts(connection, address)?;
        if tally != head.receipts {
            return Err(corrupt(
                format!(
                    "{} receipts found where {} were written",
                    tally.rows, head.receipts.rows
                ),
                at("receipt", address),
            ));
        }
        self.trust_receipts(address);
        Ok(())
    }

    /// Remembers that this process's receipts are whole.
    pub(crate) fn trust_receipts(&mut self, address: &Address) {
        if self.receipts.len() >= MAX_REMEMBERED {
            self.receipts.clear();
        }
        self.receipts.insert(address.clone());
    }

    /// How many receipts this client has, counted the first time.
    pub(crate) fn client(
        &mut self,
        connection: &mut Connection,
        address: &Address,
        client: &[u8],
    ) -> Result<&mut u64, SqlError> {
        if self.clients.len() >= MAX_REMEMBERED {
            self.clients.clear();
        }
        let key = (address.clone(), client.to_vec());
        if !self.clients.contains_key(&key) {
            let row = connection.row(
                "SELECT count(*) FROM receipt WHERE address=?1 AND client=?2",
                &[Bind::Blob(address.as_str().as_bytes()), Bind::Blob(client)],
            )?;
            let count = match row {
                Some(mut row) => row.count(0)?,
                None => 0,
            };
            self.clients.insert(key.clone(), count);
        }
        Ok(self.clients.entry(key).or_default())
    }
}

/// Reads every receipt of a process, checks its sum, and tallies them.
pub(crate) fn receipts(connection: &mut Connection, address: &Address) -> Result<Tally, Fault> {
    let mut tally = Tally::default();
    connection.for_each(
        "SELECT client, request, content, outcome, version, made, pinned, sum FROM receipt WHERE address=?1",
        &[Bind::Blob(address.as_str().as_bytes())],
        |mut row| {
            let receipt = ReceiptRow {
                client: row.blob(0)?,
                request: row.blob(1)?,
                content: Digest::from_bytes(row.array(2)?),
                outcome: row.blob(3)?,
                version: row.count(4)?,
            };
            let sum = receipt.sum(address, row.count(5)?, row.count(6)?);
            if sum != row.array(7)? {
                return Err(corrupt(
                    "a receipt that does not have its sum",
                    at("receipt", address),
                ));
            }
            tally.add(&sum);
            Ok::<_, Fault>(ControlFlow::Continue(()))
        },
    )?;
    Ok(tally)
}
