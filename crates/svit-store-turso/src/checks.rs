//! Checks that a lookup which found nothing may be believed.
//!
//! A damaged index hides rows, and a hidden row reads like one that was never there. Where an
//! absence is an ordinary answer (no such process, no such receipt, no such block) the table's
//! rows are therefore counted and summed once per open, the first time that something is absent.
//! For receipts that is done process by process, and their keys are remembered: a damaged row of
//! another process can lead a search astray, too. Records and events need no such check: their
//! numbers have no gaps.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;

use svit_tree::Address;

use crate::fault::{Fault, at, corrupt};
use crate::head::{self, HeadRow, Known};
use crate::prepared::ReceiptRow;
use crate::recent::Recent;
use crate::schema::Meta;
use crate::sql::{Bind, Connection, SqlError};
use crate::sums::{Sum, Summed, Tally, block_sum};
use crate::{checkpoint, fork};
use svit_value::Digest;

/// All is forgotten when more keys of receipts than this are remembered: 16 bytes each.
const MAX_KEYS: usize = 1 << 20;

/// All heads are forgotten when more than this are remembered: 300 bytes each.
const MAX_HEADS: usize = 1 << 14;

/// The order of receipts is forgotten when more than this are in it: 80 bytes each.
const MAX_LOOSE: usize = 1 << 18;

/// What has been checked, or counted, since the store was opened.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    heads: bool,
    blocks: bool,
    checkpoints: bool,
    forks: bool,
    /// Heads that were read and checked, or written. This connection is the only one to write them.
    known: HashMap<Address, Known>,
    processes: HashMap<Address, Receipts>,
    /// Which records wait to be filed.
    pub(crate) recent: Recent,
    /// All keys in `processes`.
    keys: usize,
    /// All entries of `Receipts::loose`, about.
    loose: usize,
    /// The processes that the batch under way has changed, and where those of the write under way
    /// begin.
    touched: Vec<Address>,
    from: usize,
}

/// The receipts of one process.
#[derive(Debug, Default)]
struct Receipts {
    /// A sum for each key, once they were all read and checked.
    keys: Option<HashSet<Sum>>,
    /// Of each client, once it was needed, those that may be evicted.
    loose: HashMap<Vec<u8>, Loose>,
}

/// Receipts that are not pinned, oldest first: the number of each, and its request.
pub(crate) type Loose = BTreeMap<u64, Vec<u8>>;

impl Checked {
    /// Says that a write begins.
    pub(crate) fn begin(&mut self) {
        self.recent.begin();
        self.from = self.touched.len();
    }

    /// Says that a batch begins.
    pub(crate) fn begin_batch(&mut self) {
        self.recent.begin_batch();
        self.touched.clear();
        self.from = 0;
        if self.loose > MAX_LOOSE {
            self.loose = 0;
            for receipts in self.processes.values_mut() {
                receipts.loose = HashMap::new();
            }
        }
    }

    /// Forgets what the write under way changed: it was rolled back.
    pub(crate) fn roll_back(&mut self) {
        self.recent.roll_back();
        for address in self.touched.split_off(self.from) {
            self.known.remove(&address);
            self.forget_receipts(&address);
        }
    }

    /// Forgets what the batch under way changed: it was rolled back.
    pub(crate) fn roll_back_batch(&mut self) {
        self.recent.roll_back_batch();
        self.from = 0;
        self.roll_back();
    }

    fn touch(&mut self, address: &Address) {
        let known = self.touched.get(self.from..).unwrap_or_default();
        if !known.contains(address) {
            self.touched.push(address.clone());
        }
    }

    fn forget_receipts(&mut self, address: &Address) {
        if let Some(receipts) = self.processes.remove(address) {
            self.keys -= receipts.keys.map_or(0, |keys| keys.len());
        }
    }

    /// Notes that a process was removed.
    pub(crate) fn gone(&mut self, address: &Address) {
        self.touch(address);
        self.known.remove(address);
        self.forget_receipts(address);
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
            return Ok(Some(known.clone()));
        }
        let found = HeadRow::find(connection, address)?;
        if let Some(known) = &found {
            self.remember_head(address, known.clone());
        }
        Ok(found)
    }

    /// Remembers a head that was written.
    pub(crate) fn wrote(&mut self, address: &Address, head: Known) {
        self.touch(address);
        self.remember_head(address, head);
    }

    fn remember_head(&mut self, address: &Address, head: Known) {
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

    /// Checks that no checkpoint is hidden. Once per open: O(checkpoints).
    pub(crate) fn checkpoints(
        &mut self,
        connection: &mut Connection,
        meta: &Meta,
    ) -> Result<(), Fault> {
        if self.checkpoints {
            return Ok(());
        }
        let mut tally = Tally::default();
        connection.for_each(checkpoint::ALL, &[], |row| {
            tally.add(&checkpoint::decode(row)?.2);
            Ok::<_, Fault>(ControlFlow::Continue(()))
        })?;
        if tally != meta.checkpoints {
            return Err(corrupt(
                format!(
                    "{} checkpoints found where {} were written",
                    tally.rows, meta.checkpoints.rows
                ),
                "checkpoint",
            ));
        }
        self.checkpoints = true;
        Ok(())
    }

    /// Checks that no fork is hidden. Once per open: O(forks).
    pub(crate) fn forks(&mut self, connection: &mut Connection, meta: &Meta) -> Result<(), Fault> {
        if self.forks {
            return Ok(());
        }
        let mut tally = Tally::default();
        connection.for_each(fork::ALL, &[], |row| {
            tally.add(&fork::Link::decode(row)?.sum());
            Ok::<_, Fault>(ControlFlow::Continue(()))
        })?;
        if tally != meta.forks {
            return Err(corrupt(
                format!(
                    "{} forks found where {} were written",
                    tally.rows, meta.forks.rows
                ),
                "fork_ref",
            ));
        }
        self.forks = true;
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
        self.touch(address);
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

    /// Notes a receipt that was written.
    pub(crate) fn added(&mut self, address: &Address, (client, request): (&[u8], &[u8])) {
        self.touch(address);
        let receipts = self.processes.entry(address.clone()).or_default();
        if let Some(keys) = &mut receipts.keys {
            self.keys += usize::from(keys.insert(key(client, request)));
        }
    }

    /// Notes a receipt that was removed.
    pub(crate) fn removed(&mut self, address: &Address, (client, request): (&[u8], &[u8])) {
        self.touch(address);
        if let Some(receipts) = self.processes.get_mut(address)
            && let Some(keys) = &mut receipts.keys
            && keys.remove(&key(client, request))
        {
            self.keys -= 1;
        }
    }

    /// The receipts of a client that are not pinned, in the order in which they go; read the first
    /// time, then to be kept up to date by the caller.
    pub(crate) fn loose(
        &mut self,
        connection: &mut Connection,
        address: &Address,
        client: &[u8],
    ) -> Result<&mut Loose, SqlError> {
        self.touch(address);
        let receipts = self.processes.entry(address.clone()).or_default();
        match receipts.loose.entry(client.to_vec()) {
            Entry::Occupied(entry) => {
                self.loose += 1;
                Ok(entry.into_mut())
            }
            Entry::Vacant(entry) => {
                let loose = loose(connection, address, client)?;
                self.loose += loose.len() + 1;
                Ok(entry.insert(loose))
            }
        }
    }
}

fn loose(connection: &mut Connection, address: &Address, client: &[u8]) -> Result<Loose, SqlError> {
    let mut loose = Loose::new();
    connection.for_each(
        "SELECT made, request FROM receipt WHERE address=?1 AND client=?2 AND pinned=0",
        &[Bind::Blob(address.as_str().as_bytes()), Bind::Blob(client)],
        |mut row| {
            loose.insert(row.count(0)?, row.blob(1)?);
            Ok::<_, SqlError>(ControlFlow::Continue(()))
        },
    )?;
    Ok(loose)
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
        |row| {
            let (receipt, _, sum) = ReceiptRow::decode(address, row)?;
            tally.add(&sum);
            keys.insert(key(&receipt.client, &receipt.request));
            Ok::<_, Fault>(ControlFlow::Continue(()))
        },
    )?;
    Ok((tally, keys))
}
