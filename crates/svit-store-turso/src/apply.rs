//! The writes of the store contract, many of them in one transaction: here the start of a history,
//! claims and appends, elsewhere the rest.

use svit_tree::Address;
use svit_txn::{BaseKind, Collected, Head, StoreError};
use svit_value::Digest;

use crate::checks::Checked;
use crate::fault::Fault;
use crate::fork::Link;
use crate::head::{HeadRow, Known};
use crate::prepared::{EventRow, NewBase, RecordRow, Rows, Start, Write};
use crate::read;
use crate::schema::{Meta, int};
use crate::sql::{Bind, Connection};
use crate::sums::{Sum, block_sum};
use crate::underway::Underway;

/// What a write gives back once the batch is durable.
#[derive(Debug)]
pub(crate) enum Written {
    /// The epoch of a new process.
    Epoch(u64),
    /// The head after a claim.
    Head(Box<Head>),
    /// Nothing but success.
    Done,
    /// Whether there is more to remove; of a start, and of a deletion, that it is not done yet.
    More(bool),
    /// What was removed.
    Swept(Collected),
}

/// The state that the writes of one batch share.
pub(crate) struct Applying<'a> {
    pub(crate) connection: &'a mut Connection,
    pub(crate) checked: &'a mut Checked,
    pub(crate) underway: &'a mut Underway,
    pub(crate) meta: Meta,
    /// How many events a process keeps at least, if not all.
    pub(crate) events_kept: Option<u64>,
    /// How many records wait to be filed.
    pub(crate) recent_records: usize,
}

impl Applying<'_> {
    /// Does one write. Gives its answer and, if it changed anything, a sum of what it did, for the
    /// batch's digest.
    pub(crate) fn apply(&mut self, write: &Write) -> Result<(Written, Option<Sum>), Fault> {
        match write {
            Write::Start(start) => self.start(start),
            Write::Claim { address } => self.claim(address),
            Write::Append {
                address,
                expected,
                epoch,
                rows,
            } => self.append(address, *expected, *epoch, rows),
            Write::Part { address, part } => self.part(address, part),
            Write::Cut {
                address,
                epoch,
                base,
            } => self.cut(address, *epoch, base),
            Write::Trim {
                address,
                epoch,
                before,
            } => self.trim(address, *epoch, *before),
            Write::Purge { address } => self.purge(address),
            Write::Delete { address, epoch } => self.delete(address, *epoch),
            Write::Sweep { steps } => self.sweep(*steps),
        }
    }

    fn start(&mut self, start: &Start) -> Result<(Written, Option<Sum>), Fault> {
        let NewBase { base, digest, body } = &start.base;
        let address = &base.address;
        if self.checked.head(self.connection, address)?.is_some() {
            return Err(Fault::Store(StoreError::AlreadyExists {
                address: address.clone(),
            }));
        }
        self.checked.heads(self.connection, &self.meta)?;
        if self.has_rows_of_gone(address)? {
            return Ok((Written::More(true), None));
        }
        let epoch = self.underway.first_epoch(&self.meta);
        let mut head = HeadRow::new(base, *digest, epoch);
        self.link(&start.base, &head)?;
        for block in &start.blocks {
            self.block(&block.digest, &block.data)?;
        }
        if base.has_blocks() {
            self.underway.new_root(self.connection, &base.root)?;
        }
        self.connection.execute(
            "INSERT INTO base(address, digest, body) VALUES(?1, ?2, ?3)",
            &[
                Bind::Blob(address.as_str().as_bytes()),
                Bind::Blob(digest.as_bytes()),
                Bind::Blob(body),
            ],
        )?;
        self.checked.no_receipts(address);
        self.rows(address, &mut head, &start.rows)?;
        let sum = head.insert(self.connection, address, &mut self.meta)?;
        let epoch = head.epoch;
        self.checked.wrote(address, Known { row: head, sum });
        Ok((Written::Epoch(epoch), Some(sum)))
    }

    /// Notes whose child a new process is, after seeing that a fork's parent has what it needs.
    fn link(&mut self, new: &NewBase, head: &HeadRow) -> Result<(), Fault> {
        let base = &new.base;
        let Some(shared) = &head.shared else {
            return Ok(());
        };
        let parent = &shared.thread.parent;
        let (record, depends) = match &base.kind {
            BaseKind::Forked { record, .. } => (*record, true),
            _ => (base.head(), false),
        };
        if depends {
            let Some(known) = self.checked.head(self.connection, parent)? else {
                return Err(Fault::Store(StoreError::NotFound {
                    address: parent.clone(),
                }));
            };
            let found = read::point(
                self.connection,
                self.checked,
                parent,
                &known.row,
                base.version,
            )?;
            if found != Some((record, base.root)) {
                let why = format!(
                    "{parent} has no record {record} with root {} at version {}",
                    base.root, base.version
                );
                return Err(bad(&base.address, why));
            }
        }
        let link = Link {
            parent: parent.clone(),
            version: base.version,
            child: base.address.clone(),
            record,
            depends,
        };
        link.insert(self.connection, &mut self.meta)
    }

    /// Stores a block once. One that is there already is compared, and mended if it is damaged:
    /// the caller has the right bytes in hand.
    pub(crate) fn block(&mut self, digest: &Digest, data: &[u8]) -> Result<(), Fault> {
        self.underway.put(self.connection, digest)?;
        let len = data.len() as u64;
        let added = self.connection.execute(
            "INSERT OR IGNORE INTO block(digest, len, data) VALUES(?1, ?2, ?3)",
            &[
                Bind::Blob(digest.as_bytes()),
                Bind::Int(int(len)?),
                Bind::Blob(data),
            ],
        )?;
        if added == 1 {
            self.meta.blocks.add(&block_sum(digest));
            return Ok(());
        }
        let whole = self.connection.row(
            "SELECT count(*) FROM block WHERE digest=?1 AND len=?2 AND data=?3",
            &[
                Bind::Blob(digest.as_bytes()),
                Bind::Int(int(len)?),
                Bind::Blob(data),
            ],
        )?;
        if whole.map(|mut row| row.count(0)).transpose()? == Some(1) {
            return Ok(());
        }
        self.connection.execute(
            "UPDATE block SET len=?2, data=?3 WHERE digest=?1",
            &[
                Bind::Blob(digest.as_bytes()),
                Bind::Int(int(len)?),
                Bind::Blob(data),
            ],
        )?;
        tracing::warn!(%digest, "a damaged block was replaced by its right bytes");
        Ok(())
    }

    fn claim(&mut self, address: &Address) -> Result<(Written, Option<Sum>), Fault> {
        let before = self.head(address)?;
        let mut head = before.row.clone();
        head.epoch += 1;
        let whole = read::head(self.connection, self.checked, address, &head)?;
        self.checked
            .receipts(self.connection, address, &before.row)?;
        let sum = self.replace(&before, address, head)?;
        Ok((Written::Head(Box::new(whole)), Some(sum)))
    }

    fn append(
        &mut self,
        address: &Address,
        expected: Digest,
        epoch: u64,
        rows: &Rows,
    ) -> Result<(Written, Option<Sum>), Fault> {
        let before = self.owned(address, epoch)?;
        if expected != before.row.digest {
            return Err(Fault::Store(StoreError::Conflict {
                address: address.clone(),
                expected,
                actual: before.row.digest,
                version: before.row.version,
            }));
        }
        let mut head = before.row.clone();
        self.rows(address, &mut head, rows)?;
        let sum = self.replace(&before, address, head)?;
        Ok((Written::Done, Some(sum)))
    }

    /// Writes a head over the one that is stored. Gives its sum.
    pub(crate) fn replace(
        &mut self,
        before: &Known,
        address: &Address,
        head: HeadRow,
    ) -> Result<Sum, Fault> {
        let sum = head.replace(before, self.connection, address, &mut self.meta)?;
        self.checked.wrote(address, Known { row: head, sum });
        Ok(sum)
    }

    pub(crate) fn head(&mut self, address: &Address) -> Result<Known, Fault> {
        match self.checked.head(self.connection, address)? {
            Some(head) => Ok(head),
            None => {
                self.checked.heads(self.connection, &self.meta)?;
                Err(Fault::Store(StoreError::NotFound {
                    address: address.clone(),
                }))
            }
        }
    }

    fn rows(&mut self, address: &Address, head: &mut HeadRow, rows: &Rows) -> Result<(), Fault> {
        for record in &rows.records {
            self.record(address, head, record)?;
        }
        self.receipts(address, head, rows)?;
        for event in &rows.events {
            self.event(address, head, event)?;
        }
        if let Some(keep) = self.events_kept
            && !rows.events.is_empty()
        {
            self.retain_events(address, head, keep, rows.events.len() as u64)?;
        }
        Ok(())
    }

    fn record(
        &mut self,
        address: &Address,
        head: &mut HeadRow,
        record: &RecordRow,
    ) -> Result<(), Fault> {
        if record.previous != head.digest || record.version != head.version + 1 {
            return Err(bad(
                address,
                format!(
                    "a record of version {} does not follow version {}",
                    record.version, head.version
                ),
            ));
        }
        self.checked
            .recent
            .insert(self.connection, address, record, self.recent_records)?;
        head.version = record.version;
        head.digest = record.digest;
        head.root = record.root;
        Ok(())
    }

    fn event(
        &mut self,
        address: &Address,
        head: &mut HeadRow,
        event: &EventRow,
    ) -> Result<(), Fault> {
        if event.seq != head.next_event {
            return Err(bad(
                address,
                format!(
                    "event {} where {} is the next one",
                    event.seq, head.next_event
                ),
            ));
        }
        self.connection.execute(
            "INSERT INTO thread_event(address, thread, seq, kind, body, sum) VALUES(?1, 0, ?2, ?3, ?4, ?5)",
            &[
                Bind::Blob(address.as_str().as_bytes()),
                Bind::Int(int(event.seq)?),
                Bind::Blob(&event.kind),
                Bind::Blob(&event.body),
                Bind::Blob(&event.sum),
            ],
        )?;
        head.next_event += 1;
        Ok(())
    }
}

pub(crate) fn bad(address: &Address, why: String) -> Fault {
    Fault::Store(StoreError::BadBatch {
        address: address.clone(),
        why,
    })
}
