//! A batch, checked and encoded before it is queued: the caller's thread does this work, so that
//! the owner thread, which all callers share, has only rows to write.

use std::sync::Arc;

use svit_tree::Address;
use svit_txn::{
    Base, BaseKind, Batch, Block, CheckpointPart, Receipt, StoreError, StoredRecord, ThreadEvent,
};
use svit_value::Digest;

use crate::fault::{Fault, at, corrupt};
use crate::sql::{MAX_BLOB, Row};
use crate::sums::{Sum, Summed};

/// The most bytes of a client's name, of a request's id, and of an event's kind.
const MAX_NAME: usize = 128;

/// What an owner thread is asked to write.
#[derive(Debug)]
pub(crate) enum Write {
    /// Shared, since it is sent again when rows of a process that is gone were in its way.
    Start(Arc<Start>),
    Claim {
        address: Address,
    },
    Append {
        address: Address,
        expected: Digest,
        epoch: u64,
        rows: Rows,
    },
    Part {
        address: Address,
        part: Box<CheckpointPart>,
    },
    Cut {
        address: Address,
        epoch: u64,
        base: Box<NewBase>,
    },
    Trim {
        address: Address,
        epoch: u64,
        before: u64,
    },
    /// Removes some of the rows that a cut, a trim or a deletion has left.
    Purge {
        address: Address,
    },
    Delete {
        address: Address,
        epoch: u64,
    },
    /// Removes some of the blocks that nothing reaches.
    Sweep {
        steps: u64,
    },
}

/// A base to be written over another.
#[derive(Debug)]
pub(crate) struct NewBase {
    pub(crate) base: Base,
    pub(crate) digest: Digest,
    pub(crate) body: Vec<u8>,
}

/// The start of a history.
#[derive(Debug)]
pub(crate) struct Start {
    pub(crate) base: NewBase,
    pub(crate) blocks: Vec<Block>,
    pub(crate) rows: Rows,
}

/// The rows of a batch.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) records: Vec<RecordRow>,
    pub(crate) receipts: Vec<ReceiptRow>,
    pub(crate) events: Vec<EventRow>,
    pub(crate) unpin: Vec<u64>,
    pub(crate) max_receipts: u64,
}

#[derive(Debug)]
pub(crate) struct RecordRow {
    pub(crate) version: u64,
    pub(crate) previous: Digest,
    pub(crate) digest: Digest,
    pub(crate) root: Digest,
    /// The paths' text forms, with a NUL, which no path may hold, between them.
    pub(crate) paths: Vec<u8>,
    pub(crate) body: Vec<u8>,
    pub(crate) sum: Sum,
}

impl RecordRow {
    pub(crate) fn sum_of(
        address: &Address,
        version: u64,
        digest: &Digest,
        previous: &Digest,
        root: &Digest,
        paths: &[u8],
    ) -> Sum {
        // The body is covered through its digest.
        Summed::row("record")
            .bytes(address.as_str().as_bytes())
            .number(version)
            .digest(digest)
            .digest(previous)
            .digest(root)
            .bytes(paths)
            .sum()
    }
}

#[derive(Debug)]
pub(crate) struct ReceiptRow {
    pub(crate) client: Vec<u8>,
    pub(crate) request: Vec<u8>,
    pub(crate) content: Digest,
    pub(crate) outcome: Vec<u8>,
    pub(crate) version: u64,
    /// The number of the message that pins it, and one more; 0 if none does.
    pub(crate) pinned: u64,
}

impl ReceiptRow {
    /// `made` is the number of receipts that the process had got before this one.
    pub(crate) fn sum(&self, address: &Address, made: u64) -> Sum {
        Summed::row("receipt")
            .bytes(address.as_str().as_bytes())
            .bytes(&self.client)
            .bytes(&self.request)
            .digest(&self.content)
            .bytes(&self.outcome)
            .number(self.version)
            .number(made)
            .number(self.pinned)
            .sum()
    }

    /// Decodes a row `client, request, content, outcome, version, made, pinned, sum` and checks its
    /// sum. Gives its `made` and its sum, too.
    pub(crate) fn decode(address: &Address, mut row: Row) -> Result<(Self, u64, Sum), Fault> {
        let receipt = ReceiptRow {
            client: row.blob(0)?,
            request: row.blob(1)?,
            content: Digest::from_bytes(row.array(2)?),
            outcome: row.blob(3)?,
            version: row.count(4)?,
            pinned: row.count(6)?,
        };
        let (made, sum) = (row.count(5)?, row.array(7)?);
        if receipt.sum(address, made) != sum {
            let client = String::from_utf8_lossy(&receipt.client);
            let request = String::from_utf8_lossy(&receipt.request);
            return Err(corrupt(
                "a receipt that does not have its sum",
                at("receipt", format!("{address} {client:?} {request:?}")),
            ));
        }
        Ok((receipt, made, sum))
    }
}

#[derive(Debug)]
pub(crate) struct EventRow {
    pub(crate) seq: u64,
    pub(crate) kind: Vec<u8>,
    pub(crate) body: Vec<u8>,
    pub(crate) sum: Sum,
}

impl EventRow {
    pub(crate) fn sum_of(
        address: &Address,
        thread: u64,
        seq: u64,
        kind: &[u8],
        body: &[u8],
    ) -> Sum {
        Summed::row("thread_event")
            .bytes(address.as_str().as_bytes())
            .number(thread)
            .number(seq)
            .bytes(kind)
            .bytes(body)
            .sum()
    }
}

/// Checks and encodes the start of a history.
pub(crate) fn start(base: Base, blocks: Vec<Block>, batch: Batch) -> Result<Start, StoreError> {
    check_blocks(&base.address, &blocks)?;
    let rows = rows(&base.address, batch)?;
    let base = new_base(base)?;
    Ok(Start { base, blocks, rows })
}

/// Checks and encodes a base.
pub(crate) fn new_base(base: Base) -> Result<NewBase, StoreError> {
    let bad = |why: String| bad(&base.address, why);
    match &base.kind {
        BaseKind::Created | BaseKind::Forked { .. } | BaseKind::Checkpoint { .. } => {}
        other => return Err(bad(format!("a base of a kind not known here: {other:?}"))),
    }
    fits(base.version).map_err(&bad)?;
    fits(base.first_event()).map_err(&bad)?;
    let body = base.to_bytes();
    let digest = Digest::of(&body);
    Ok(NewBase { base, digest, body })
}

/// Checks that blocks have their digests.
pub(crate) fn check_blocks(address: &Address, blocks: &[Block]) -> Result<(), StoreError> {
    for block in blocks {
        limit("a block", block.data.len())?;
        if Digest::of(&block.data) != block.digest {
            let why = format!("block {} has another digest", block.digest);
            return Err(bad(address, why));
        }
    }
    Ok(())
}

fn bad(address: &Address, why: String) -> StoreError {
    StoreError::BadBatch {
        address: address.clone(),
        why,
    }
}

/// Checks and encodes a batch: everything that can be told without the store.
pub(crate) fn rows(address: &Address, batch: Batch) -> Result<Rows, StoreError> {
    let bad = |why: String| bad(address, why);
    for pair in batch.records.windows(2) {
        let [one, next] = pair else { continue };
        if next.previous != one.digest || Some(next.version) != one.version.checked_add(1) {
            return Err(bad(format!(
                "the record of version {} does not follow that of version {}",
                next.version, one.version
            )));
        }
    }
    for pair in batch.events.windows(2) {
        let [one, next] = pair else { continue };
        if Some(next.seq) != one.seq.checked_add(1) {
            return Err(bad(format!("event {} follows {}", next.seq, one.seq)));
        }
    }
    Ok(Rows {
        records: batch
            .records
            .into_iter()
            .map(|record| record_row(address, record, &bad))
            .collect::<Result<_, _>>()?,
        receipts: batch
            .receipts
            .iter()
            .map(|receipt| receipt_row(receipt, &bad))
            .collect::<Result<_, _>>()?,
        events: batch
            .events
            .iter()
            .map(|event| event_row(address, event, &bad))
            .collect::<Result<_, _>>()?,
        // A message past 63 bits pins nothing.
        unpin: batch
            .unpin
            .into_iter()
            .filter(|seq| fits(*seq).is_ok())
            .collect(),
        max_receipts: batch.max_receipts,
    })
}

/// Checks and encodes a record.
pub(crate) fn record_row(
    address: &Address,
    record: StoredRecord,
    bad: &impl Fn(String) -> StoreError,
) -> Result<RecordRow, StoreError> {
    limit("a record", record.body.len())?;
    fits(record.version).map_err(bad)?;
    if Digest::of(&record.body) != record.digest {
        return Err(bad(format!(
            "the record of version {} has another digest",
            record.version
        )));
    }
    let mut paths = Vec::new();
    for (index, path) in record.paths.iter().enumerate() {
        if index > 0 {
            paths.push(0);
        }
        paths.extend_from_slice(path.to_string().as_bytes());
    }
    Ok(RecordRow {
        version: record.version,
        previous: record.previous,
        digest: record.digest,
        root: record.root,
        sum: RecordRow::sum_of(
            address,
            record.version,
            &record.digest,
            &record.previous,
            &record.root,
            &paths,
        ),
        paths,
        body: record.body,
    })
}

fn receipt_row(
    receipt: &Receipt,
    bad: &impl Fn(String) -> StoreError,
) -> Result<ReceiptRow, StoreError> {
    fits(receipt.version).map_err(bad)?;
    fits(receipt.pinned_by.unwrap_or(0)).map_err(bad)?;
    name("a receipt's client", receipt.key.client.len())?;
    name("a receipt's request", receipt.key.request.len())?;
    let outcome = receipt.outcome.encode();
    limit("a receipt's outcome", outcome.len())?;
    Ok(ReceiptRow {
        client: receipt.key.client.as_bytes().to_vec(),
        request: receipt.key.request.as_bytes().to_vec(),
        content: receipt.content,
        outcome,
        version: receipt.version,
        pinned: receipt.pinned_by.map_or(0, |seq| seq + 1),
    })
}

fn event_row(
    address: &Address,
    event: &ThreadEvent,
    bad: &impl Fn(String) -> StoreError,
) -> Result<EventRow, StoreError> {
    fits(event.seq).map_err(bad)?;
    name("an event's kind", event.kind.len())?;
    let body = event.body.encode();
    limit("an event", body.len())?;
    let kind = event.kind.as_bytes().to_vec();
    Ok(EventRow {
        seq: event.seq,
        sum: EventRow::sum_of(address, 0, event.seq, &kind, &body),
        kind,
        body,
    })
}

fn limit(what: &str, size: usize) -> Result<(), StoreError> {
    at_most(what, size, MAX_BLOB)
}

fn name(what: &str, size: usize) -> Result<(), StoreError> {
    at_most(what, size, MAX_NAME)
}

fn at_most(what: &str, size: usize, allowed: usize) -> Result<(), StoreError> {
    if size <= allowed {
        return Ok(());
    }
    Err(StoreError::TooLarge {
        what: what.to_owned(),
        allowed: allowed as u64,
        actual: size as u64,
    })
}

fn fits(number: u64) -> Result<(), String> {
    // One below the edge, so that the next version or number still fits.
    match number < i64::MAX as u64 {
        true => Ok(()),
        false => Err(format!("{number} does not fit the store's 63 bits")),
    }
}
