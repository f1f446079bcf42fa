//! A batch, checked and encoded before it is queued: the caller's thread does this work, so that
//! the owner thread, which all callers share, has only rows to write.

use svit_tree::Address;
use svit_txn::{Base, BaseKind, Batch, Block, Receipt, StoreError, StoredRecord, ThreadEvent};
use svit_value::Digest;

use crate::sql::MAX_BLOB;
use crate::sums::{Sum, Summed};

/// The most bytes of a client's name, of a request's id, and of an event's kind.
const MAX_NAME: usize = 128;

/// What an owner thread is asked to write.
#[derive(Debug)]
pub(crate) enum Write {
    Start(Box<Start>),
    Claim {
        address: Address,
    },
    Append {
        address: Address,
        expected: Digest,
        epoch: u64,
        rows: Rows,
    },
}

impl Write {
    /// The process that it writes to.
    pub(crate) fn address(&self) -> &Address {
        match self {
            Write::Start(start) => &start.address,
            Write::Claim { address } | Write::Append { address, .. } => address,
        }
    }
}

/// The start of a history.
#[derive(Debug)]
pub(crate) struct Start {
    pub(crate) address: Address,
    pub(crate) version: u64,
    pub(crate) root: Digest,
    pub(crate) first_event: u64,
    /// The parent and the digest of its record, for a fork.
    pub(crate) parent: Option<(Address, Digest)>,
    pub(crate) digest: Digest,
    pub(crate) body: Vec<u8>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) rows: Rows,
}

/// The rows of a batch.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) records: Vec<RecordRow>,
    pub(crate) receipts: Vec<ReceiptRow>,
    pub(crate) events: Vec<EventRow>,
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
}

impl ReceiptRow {
    /// `made` is the number of receipts that the process had got before this one.
    pub(crate) fn sum(&self, address: &Address, made: u64, pinned: u64) -> Sum {
        Summed::row("receipt")
            .bytes(address.as_str().as_bytes())
            .bytes(&self.client)
            .bytes(&self.request)
            .digest(&self.content)
            .bytes(&self.outcome)
            .number(self.version)
            .number(made)
            .number(pinned)
            .sum()
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
pub(crate) fn start(base: &Base, blocks: Vec<Block>, batch: &Batch) -> Result<Start, StoreError> {
    let bad = |why: String| StoreError::BadBatch {
        address: base.address.clone(),
        why,
    };
    let parent = match &base.kind {
        BaseKind::Created => None,
        BaseKind::Forked { parent, record, .. } => Some((parent.clone(), *record)),
        other => return Err(bad(format!("a base of a kind not known here: {other:?}"))),
    };
    for block in &blocks {
        limit("a block", block.data.len())?;
        if Digest::of(&block.data) != block.digest {
            return Err(bad(format!("block {} has another digest", block.digest)));
        }
    }
    fits(base.version).map_err(&bad)?;
    fits(base.first_event()).map_err(&bad)?;
    let body = base.to_bytes();
    Ok(Start {
        address: base.address.clone(),
        version: base.version,
        root: base.root,
        first_event: base.first_event(),
        parent,
        digest: Digest::of(&body),
        body,
        blocks,
        rows: rows(&base.address, batch)?,
    })
}

/// Checks and encodes a batch: everything that can be told without the store.
pub(crate) fn rows(address: &Address, batch: &Batch) -> Result<Rows, StoreError> {
    let bad = |why: String| StoreError::BadBatch {
        address: address.clone(),
        why,
    };
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
            .iter()
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
    })
}

fn record_row(
    address: &Address,
    record: &StoredRecord,
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
        body: record.body.clone(),
    })
}

fn receipt_row(
    receipt: &Receipt,
    bad: &impl Fn(String) -> StoreError,
) -> Result<ReceiptRow, StoreError> {
    fits(receipt.version).map_err(bad)?;
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
