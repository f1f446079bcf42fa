//! Checks that a lookup which found nothing may be believed.
//!
//! A damaged index hides rows, and a hidden row reads like one that was never there. Where an
//! absence is an ordinary answer (no such process, no such receipt, no such block) the table's
//! rows are therefore counted and summed once per open, the first time that something is absent.
//! For receipts that is done process by process, and their keys are remembered: a damaged row of
//! another process can lead a search astray, too. Records and events need no such check: their
//! numbers have no gaps.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use svit_tree::Address;

use crate::fault::{Fault, at, corrupt};
use crate::head::{self, HeadRow, Known};
use crate::prepared::ReceiptRow;
use crate::schema::Meta;
use crate::sql::{Bind, Connection, SqlError};
use crate::sums::{Sum, Summed, Tally, block_sum};
use svit_value::Digest;

/// All is forgotten when more keys of receipts than this are remembered: 16 bytes each.
const MAX_KEYS: usize = 1 << 20;

/// All heads are forgotten when more than this are remembered: 250 bytes each.
const MAX_HEADS: usize = 1 << 14;

/// What has been checked, or counted, since the store was opened.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    heads: bool,
    blocks: bool,
    /// Heads that were read and checked, or written. This connection is the only one to write them.
    known: HashMap<Address, Known>,
    processes: HashMap<Address, Receipts>,
    /// All keys in `processes`.
    keys: usize,
    /// Whether the write under way has changed a process's receipts.
    touched: bool,
}

/// The receipts of one process.
#[derive(Debug, Default)]
struct Receipts {
    /// A sum for each key, once they were all read and checked.
    keys: Option<HashSet<Sum>>,
    /// How many receipts each client has, once that was counted.
    clients: HashMap<Vec<u8>, u64>,
}

impl Checked {
    /// Says that a write begins.
    pub(crate) fn begin(&mut self) {
        self.touched = false;
    }

    /// Forgets what the write under way changed: it was rolled back.
    pub(crate) fn roll_back(&mut self, address: &Address) {
        self.known.remove(address);
        if self.touched
            && let Some(receipts) = self.processes.remove(address)
        {
            self.keys -= receipts.keys.map_or(0, |keys| keys.len());
        }
    }

    /// Forgets what was checked, so that it is checked again.
    pub(crate) fn forget(&mut self) {
        *self = Checked::default();
    }

    /// The head of this process, if there is one; read once, then remembered.
    pub(crate) fn head(
        &mut self,
        connection: &mut Connection,
        address: &Address,
    ) -> Result<Option<Known>, Fault> {
        if let Some(known) = self.known.get(address) {
            return Ok(Some(*known));
        }
        let found = HeadRow::find(connection, address)?;
        if let Some(known) = found {
            self.wrote(address, known);
        }
        Ok(found)
    }

    /// Remembers a head that was written.
    pub(crate) fn wrote(&mut self, address: &Address, head: Known) {
        if let Some(known) = self.known.get_mut(address) {
            *known = head;
            return;
        }
        if self.known.len() >= MAX_HEADS {
            self.known.clear();
        }
        self.known.insert(address.clone(), head);
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
                tally.add(&block_sum(&Digest::from_bytes(row.array(0)?)));
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
        let known = self.processes.get(address);
        if known.is_some_and(|receipts| receipts.keys.is_some()) {
            return Ok(());
        }
        let (tally, keys) = receipts(connection, address)?;
        if tally != head.receipts {
            return Err(corrupt(
                format!(
                    "{} receipts found where {} were written",
                    tally.rows, head.receipts.rows
                ),
                at("receipt", address),
            ));
        }
        self.remember(address, keys);
        Ok(())
    }

    /// Remembers that a process is new and has no receipts.
    pub(crate) fn no_receipts(&mut self, address: &Address) {
        self.touched = true;
        self.remember(address, HashSet::new());
    }

    fn remember(&mut self, address: &Address, keys: HashSet<Sum>) {
        if self.keys + keys.len() + self.processes.len() > MAX_KEYS {
            self.processes.clear();
            self.keys = 0;
        }
        self.keys += keys.len();
        self.processes.entry(address.clone()).or_default().keys = Some(keys);
    }

    /// Confirms that there is no receipt under a key that a search did not find.
    pub(crate) fn no_receipt(
        &mut self,
        connection: &mut Connection,
        address: &Address,
        head: &HeadRow,
        (client, request): (&[u8], &[u8]),
    ) -> Result<(), Fault> {
        self.receipts(connection, address, head)?;
        let known = self.processes.get(address);
        let keys = known.and_then(|receipts| receipts.keys.as_ref());
        if keys.is_some_and(|keys| keys.contains(&key(client, request))) {
            return Err(corrupt(
                "a receipt that its index no longer finds",
                at("receipt", address),
            ));
        }
        Ok(())
    }

    /// Notes a receipt that was written. Gives how many its client has, counted the first time.
    pub(crate) fn added(
        &mut self,
        connection: &mut Connection,
        address: &Address,
        (client, request): (&[u8], &[u8]),
    ) -> Result<u64, SqlError> {
        self.touched = true;
        let receipts = self.processes.entry(address.clone()).or_default();
        let mut is_new = true;
        if let Some(keys) = &mut receipts.keys {
            is_new = keys.insert(key(client, request));
            self.keys += usize::from(is_new);
        }
        if let Some(count) = receipts.clients.get_mut(client) {
            *count += u64::from(is_new);
            return Ok(*count);
        }
        let row = connection.row(
            "SELECT count(*) FROM receipt WHERE address=?1 AND client=?2",
            &[Bind::Blob(address.as_str().as_bytes()), Bind::Blob(client)],
        )?;
        let count = row.map_or(Ok(0), |mut row| row.count(0))?;
        receipts.clients.insert(client.to_vec(), count);
        Ok(count)
    }

    /// Notes a receipt that was removed.
    pub(crate) fn removed(&mut self, address: &Address, (client, request): (&[u8], &[u8])) {
        self.touched = true;
        let Some(receipts) = self.processes.get_mut(address) else {
            return;
        };
        if let Some(keys) = &mut receipts.keys
            && keys.remove(&key(client, request))
        {
            self.keys -= 1;
        }
        if let Some(count) = receipts.clients.get_mut(client) {
            *count = count.saturating_sub(1);
        }
    }
}

fn key(client: &[u8], request: &[u8]) -> Sum {
    Summed::row("key").bytes(client).bytes(request).sum()
}

/// Reads every receipt of a process, checks its sum, and tallies them. Gives their keys, too.
fn receipts(
    connection: &mut Connection,
    address: &Address,
) -> Result<(Tally, HashSet<Sum>), Fault> {
    let mut tally = Tally::default();
    let mut keys = HashSet::new();
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
            keys.insert(key(&receipt.client, &receipt.request));
            Ok::<_, Fault>(ControlFlow::Continue(()))
        },
    )?;
    Ok((tally, keys))
}
