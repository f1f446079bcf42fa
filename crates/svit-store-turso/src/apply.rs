//! The three writes of the store contract, each inside a savepoint of a batch, or alone in it.

use std::ops::ControlFlow;

use svit_tree::Address;
use svit_txn::{Head, StoreError};
use svit_value::Digest;

use crate::checks::Checked;
use crate::fault::{Fault, at, corrupt};
use crate::head::{HeadRow, Known};
use crate::prepared::{EventRow, ReceiptRow, RecordRow, Rows, Start, Write};
use crate::read;
use crate::schema::{Meta, int};
use crate::sql::{Bind, Connection, SqlError};
use crate::sums::{Sum, Summed, block_sum};

/// What a write gives back once the batch is durable.
#[derive(Debug)]
pub(crate) enum Written {
    /// The epoch of a new process.
    Epoch(u64),
    /// The head after a claim.
    Head(Box<Head>),
    /// Nothing but success.
    Done,
}

/// The state that the writes of one batch share.
pub(crate) struct Applying<'a> {
    pub(crate) connection: &'a mut Connection,
    pub(crate) checked: &'a mut Checked,
    pub(crate) meta: Meta,
    /// How many receipts a client keeps at least.
    pub(crate) receipts_per_client: u64,
}

impl Applying<'_> {
    /// Does one write. Gives its answer and the sum of the head it left, for the batch's digest.
    pub(crate) fn apply(&mut self, write: &Write) -> Result<(Written, Sum), Fault> {
        match write {
            Write::Start(start) => self.start(start),
            Write::Claim { address } => self.claim(address),
            Write::Append {
                address,
                expected,
                epoch,
                rows,
            } => self.append(address, *expected, *epoch, rows),
        }
    }

    fn start(&mut self, start: &Start) -> Result<(Written, Sum), Fault> {
        let address = &start.address;
        if self.checked.head(self.connection, address)?.is_some() {
            return Err(Fault::Store(StoreError::AlreadyExists {
                address: address.clone(),
            }));
        }
        self.checked.heads(self.connection, &self.meta)?;
        if let Some((parent, record)) = &start.parent {
            self.fork_ref(start, parent, record)?;
        }
        for block in &start.blocks {
            self.block(&block.digest, &block.data)?;
        }
        let key = address.as_str().as_bytes();
        self.connection.execute(
            "INSERT INTO base(address, digest, body) VALUES(?1, ?2, ?3)",
            &[
                Bind::Blob(key),
                Bind::Blob(start.digest.as_bytes()),
                Bind::Blob(&start.body),
            ],
        )?;
        let mut head = HeadRow {
            version: start.version,
            digest: start.digest,
            root: start.root,
            epoch: 1,
            base: start.digest,
            next_event: start.first_event,
            receipts_made: 0,
            receipts: Default::default(),
        };
        self.checked.no_receipts(address);
        self.rows(address, &mut head, &start.rows)?;
        let sum = head.insert(self.connection, address, &mut self.meta)?;
        self.checked.wrote(address, Known { row: head, sum });
        Ok((Written::Epoch(head.epoch), sum))
    }

    /// Notes that a child needs its parent's history, after seeing that the parent has it.
    fn fork_ref(&mut self, start: &Start, parent: &Address, record: &Digest) -> Result<(), Fault> {
        let Some(head) = self.checked.head(self.connection, parent)? else {
            return Err(Fault::Store(StoreError::NotFound {
                address: parent.clone(),
            }));
        };
        let found = read::point(self.connection, parent, &head.row, start.version)?;
        if found != Some((*record, start.root)) {
            return Err(Fault::Store(StoreError::BadBatch {
                address: start.address.clone(),
                why: format!(
                    "{parent} has no record {record} with root {} at version {}",
                    start.root, start.version
                ),
            }));
        }
        let (parent, child) = (
            parent.as_str().as_bytes(),
            start.address.as_str().as_bytes(),
        );
        let sum = fork_ref_sum(parent, start.version, child, record);
        self.connection.execute(
            "INSERT INTO fork_ref(parent, version, child, record, sum) VALUES(?1, ?2, ?3, ?4, ?5)",
            &[
                Bind::Blob(parent),
                Bind::Int(int(start.version)?),
                Bind::Blob(child),
                Bind::Blob(record.as_bytes()),
                Bind::Blob(&sum),
            ],
        )?;
        Ok(())
    }

    /// Stores a block once. One that is there already is compared, and mended if it is damaged:
    /// the caller has the right bytes in hand.
    fn block(&mut self, digest: &Digest, data: &[u8]) -> Result<(), Fault> {
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

    fn claim(&mut self, address: &Address) -> Result<(Written, Sum), Fault> {
        let before = self.head(address)?;
        let mut head = before.row;
        head.epoch += 1;
        let whole = read::head(self.connection, address, &head)?;
        self.checked
            .receipts(self.connection, address, &before.row)?;
        let sum = self.replace(&before, address, head)?;
        Ok((Written::Head(Box::new(whole)), sum))
    }

    fn append(
        &mut self,
        address: &Address,
        expected: Digest,
        epoch: u64,
        rows: &Rows,
    ) -> Result<(Written, Sum), Fault> {
        let known = self.head(address)?;
        let before = known.row;
        if epoch != before.epoch {
            return Err(Fault::Store(StoreError::Fenced {
                address: address.clone(),
                epoch,
                actual: before.epoch,
            }));
        }
        if expected != before.digest {
            return Err(Fault::Store(StoreError::Conflict {
                address: address.clone(),
                expected,
                actual: before.digest,
                version: before.version,
            }));
        }
        let mut head = before;
        self.rows(address, &mut head, rows)?;
        let sum = self.replace(&known, address, head)?;
        Ok((Written::Done, sum))
    }

    /// Writes a head over the one that is stored. Gives its sum.
    fn replace(&mut self, before: &Known, address: &Address, head: HeadRow) -> Result<Sum, Fault> {
        let sum = head.replace(&before.sum, self.connection, address, &mut self.meta)?;
        self.checked.wrote(address, Known { row: head, sum });
        Ok(sum)
    }

    fn head(&mut self, address: &Address) -> Result<Known, Fault> {
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
        for receipt in &rows.receipts {
            self.receipt(address, head, receipt)?;
        }
        for event in &rows.events {
            self.event(address, head, event)?;
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
        let key = address.as_str().as_bytes();
        let version = int(record.version)?;
        self.connection.execute(
            "INSERT INTO record(address, version, digest, previous, root, paths, body, sum) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            &[
                Bind::Blob(key),
                Bind::Int(version),
                Bind::Blob(record.digest.as_bytes()),
                Bind::Blob(record.previous.as_bytes()),
                Bind::Blob(record.root.as_bytes()),
                Bind::Blob(&record.paths),
                Bind::Blob(&record.body),
                Bind::Blob(&record.sum),
            ],
        )?;
        for path in read::paths(&record.paths) {
            self.connection.execute(
                "INSERT OR IGNORE INTO record_path(address, path, version) VALUES(?1, ?2, ?3)",
                &[Bind::Blob(key), Bind::Blob(path), Bind::Int(version)],
            )?;
        }
        head.version = record.version;
        head.digest = record.digest;
        head.root = record.root;
        Ok(())
    }

    fn receipt(
        &mut self,
        address: &Address,
        head: &mut HeadRow,
        receipt: &ReceiptRow,
    ) -> Result<(), Fault> {
        let key = address.as_str().as_bytes();
        let name = (&receipt.client[..], &receipt.request[..]);
        let made = head.receipts_made;
        let sum = receipt.sum(address, made, 0);
        let replaced = self.connection.row(
            "SELECT sum FROM receipt WHERE address=?1 AND client=?2 AND request=?3",
            &[Bind::Blob(key), Bind::Blob(name.0), Bind::Blob(name.1)],
        )?;
        self.connection.execute(
            "INSERT OR REPLACE INTO receipt(address, client, request, content, outcome, version, made, pinned, sum) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?8)",
            &[
                Bind::Blob(key),
                Bind::Blob(name.0),
                Bind::Blob(name.1),
                Bind::Blob(receipt.content.as_bytes()),
                Bind::Blob(&receipt.outcome),
                Bind::Int(int(receipt.version)?),
                Bind::Int(int(made)?),
                Bind::Blob(&sum),
            ],
        )?;
        if let Some(mut row) = replaced {
            head.receipts.remove(&row.array(0)?);
        }
        let count = self.checked.added(self.connection, address, name)?;
        head.receipts.add(&sum);
        head.receipts_made += 1;
        // An eighth more than is promised, so that eviction sorts once in a while and not each time.
        if count > self.receipts_per_client + self.receipts_per_client / 8 {
            self.evict(
                address,
                head,
                &receipt.client,
                count - self.receipts_per_client,
            )?;
        }
        Ok(())
    }

    /// Removes this client's oldest receipts.
    fn evict(
        &mut self,
        address: &Address,
        head: &mut HeadRow,
        client: &[u8],
        surplus: u64,
    ) -> Result<(), Fault> {
        let key = address.as_str().as_bytes();
        let mut oldest: Vec<(Vec<u8>, Sum)> = Vec::new();
        self.connection.for_each(
            "SELECT request, sum FROM receipt WHERE address=?1 AND client=?2 AND pinned=0 ORDER BY made LIMIT ?3",
            &[Bind::Blob(key), Bind::Blob(client), Bind::Int(int(surplus)?)],
            |mut row| {
                oldest.push((row.blob(0)?, row.array(1)?));
                Ok::<_, SqlError>(ControlFlow::Continue(()))
            },
        )?;
        for (request, sum) in &oldest {
            let removed = self.connection.execute(
                "DELETE FROM receipt WHERE address=?1 AND client=?2 AND request=?3",
                &[Bind::Blob(key), Bind::Blob(client), Bind::Blob(request)],
            )?;
            if removed != 1 {
                return Err(corrupt(
                    "a receipt that cannot be removed",
                    at("receipt", address),
                ));
            }
            head.receipts.remove(sum);
            self.checked.removed(address, (client, request));
        }
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

/// The sum of a row of `fork_ref`.
pub(crate) fn fork_ref_sum(parent: &[u8], version: u64, child: &[u8], record: &Digest) -> Sum {
    Summed::row("fork_ref")
        .bytes(parent)
        .number(version)
        .bytes(child)
        .digest(record)
        .sum()
}

fn bad(address: &Address, why: String) -> Fault {
    Fault::Store(StoreError::BadBatch {
        address: address.clone(),
        why,
    })
}
