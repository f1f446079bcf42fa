//! Reads, in short pages and checked: what is returned is what was stored, or an error names the
//! damage. A row that is missing where the head says there is one is damage, too.

use std::ops::ControlFlow;

use svit_tree::{Address, Path};
use svit_txn::{
    Base, EventQuery, Head, Receipt, ReceiptKey, RecordQuery, StoreError, StoredRecord, ThreadEvent,
};
use svit_value::{Digest, Text, Value, ValueLimits};

use crate::checks::Checked;
use crate::fault::{Fault, ascends, at, corrupt};
use crate::head::{HeadRow, parse};
use crate::prepared::{EventRow, ReceiptRow, RecordRow};
use crate::schema::{Meta, int};
use crate::sql::{Bind, Connection, Row};
use crate::sums::Sum;

/// Where a page ends: after so many rows, or so many bytes of bodies, whichever comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageSize {
    pub(crate) rows: usize,
    pub(crate) bytes: usize,
}

/// A part of a result; `more` if the next page continues it.
#[derive(Debug)]
pub(crate) struct Page<T> {
    pub(crate) items: Vec<T>,
    pub(crate) more: bool,
}

/// What a read may use.
pub(crate) struct Reading<'a> {
    pub(crate) connection: &'a mut Connection,
    pub(crate) checked: &'a mut Checked,
    pub(crate) meta: &'a Meta,
    pub(crate) page: PageSize,
}

impl Reading<'_> {
    pub(crate) fn head(&mut self, address: &Address) -> Result<HeadRow, Fault> {
        match HeadRow::read(self.connection, address)? {
            Some(head) => Ok(head),
            None => {
                self.checked.heads(self.connection, self.meta)?;
                Err(Fault::Store(StoreError::NotFound {
                    address: address.clone(),
                }))
            }
        }
    }

    /// Where the history of a process stands.
    pub(crate) fn load(&mut self, address: &Address) -> Result<Head, Fault> {
        let row = self.head(address)?;
        self.checked.receipts(self.connection, address, &row)?;
        head(self.connection, self.checked, address, &row)
    }

    /// One page of records, oldest first.
    pub(crate) fn records(
        &mut self,
        address: &Address,
        query: RecordQuery,
    ) -> Result<Page<StoredRecord>, Fault> {
        let row = self.head(address)?;
        let base = base(self.connection, address, &row)?;
        let first = query.from.max(base.version.saturating_add(1));
        let last = query.to.min(row.version);
        let mut page = Pager::new(query.limit, self.page);
        if first > last || query.limit == 0 {
            return Ok(page.done());
        }
        let mut chain = Chain {
            address,
            next: first,
            digest: digest_at(self.connection, self.checked, address, &base, first - 1)?,
        };
        let recent = self.checked.recent.first(self.connection, address)?;
        let filed = recent.map_or(last, |first| last.min(first.saturating_sub(1)));
        let mut follow = |row, page: &mut Pager<StoredRecord>| {
            let record = chain.follow(record(address, row)?)?;
            let size = record.body.len();
            page.push(record, size);
            Ok::<_, Fault>(chain.next)
        };
        let mut next = first;
        if first <= filed {
            self.connection.for_each(
                "SELECT version, digest, previous, root, paths, body, sum FROM record WHERE address=?1 AND version BETWEEN ?2 AND ?3 ORDER BY version LIMIT ?4",
                &[
                    Bind::Blob(address.as_str().as_bytes()),
                    Bind::Int(int(first)?),
                    Bind::Int(int(filed)?),
                    Bind::Int(page.rows()),
                ],
                |row| {
                    if page.is_full() {
                        return Ok(ControlFlow::Break(()));
                    }
                    next = follow(row, &mut page)?;
                    Ok::<_, Fault>(ControlFlow::Continue(()))
                },
            )?;
        }
        while filed < next && next <= last && !page.is_full() {
            let recent = &mut self.checked.recent;
            match recent.row(self.connection, address, next)? {
                Some(row) => next = follow(row, &mut page)?,
                None => break,
            }
        }
        if !page.is_full() && chain.next <= last {
            return Err(corrupt(
                "a missing record",
                at("record", format!("{address} version {}", chain.next)),
            ));
        }
        if chain.next == row.version + 1 && chain.digest != row.digest {
            return Err(corrupt(
                "a head that is not the newest record",
                at("head", address),
            ));
        }
        Ok(page.ended(chain.next > last))
    }

    /// One page of events.
    pub(crate) fn events(
        &mut self,
        address: &Address,
        query: EventQuery,
    ) -> Result<Page<ThreadEvent>, Fault> {
        let row = self.head(address)?;
        let first = row.first_event;
        let mut page = Pager::new(query.limit, self.page);
        let outside = match query.newest_first {
            true => query.from < first,
            false => query.from >= row.next_event,
        };
        if row.next_event <= first || query.limit == 0 || outside {
            return Ok(page.done());
        }
        let newest = row.next_event - 1;
        let mut next = query.from.clamp(first, newest);
        let mut ended = false;
        let sql = match query.newest_first {
            true => {
                "SELECT seq, kind, body, sum FROM thread_event WHERE address=?1 AND thread=0 AND seq<=?2 ORDER BY seq DESC LIMIT ?3"
            }
            false => {
                "SELECT seq, kind, body, sum FROM thread_event WHERE address=?1 AND thread=0 AND seq>=?2 ORDER BY seq LIMIT ?3"
            }
        };
        self.connection.for_each(
            sql,
            &[
                Bind::Blob(address.as_str().as_bytes()),
                Bind::Int(int(next)?),
                Bind::Int(page.rows()),
            ],
            |row| {
                if page.is_full() {
                    return Ok(ControlFlow::Break(()));
                }
                let (event, size) = event(address, row)?;
                if ended || event.seq != next {
                    return Err(missing_event(address, next));
                }
                page.push(event, size);
                match query.newest_first {
                    true => ended = next == first,
                    false => ended = next == newest,
                }
                next = match query.newest_first {
                    true => next.saturating_sub(1),
                    false => next + 1,
                };
                Ok(ControlFlow::Continue(()))
            },
        )?;
        if !ended && !page.is_full() {
            return Err(missing_event(address, next));
        }
        Ok(page.ended(ended))
    }

    /// The outcome that was recorded under a key.
    pub(crate) fn receipt(
        &mut self,
        address: &Address,
        key: &ReceiptKey,
    ) -> Result<Option<Receipt>, Fault> {
        let head = self.head(address)?;
        let row = self.connection.row(
            "SELECT client, request, content, outcome, version, made, pinned, sum FROM receipt WHERE address=?1 AND client=?2 AND request=?3",
            &[
                Bind::Blob(address.as_str().as_bytes()),
                Bind::Blob(key.client.as_bytes()),
                Bind::Blob(key.request.as_bytes()),
            ],
        )?;
        let Some(row) = row else {
            let name = (key.client.as_bytes(), key.request.as_bytes());
            self.checked
                .no_receipt(self.connection, address, &head, name)?;
            return Ok(None);
        };
        let (receipt, ..) = ReceiptRow::decode(address, row)?;
        let place = || {
            at(
                "receipt",
                format!("{address} {:?} {:?}", &*key.client, &*key.request),
            )
        };
        if receipt.client != key.client.as_bytes() || receipt.request != key.request.as_bytes() {
            return Err(corrupt("a receipt of another key", place()));
        }
        Ok(Some(Receipt {
            key: key.clone(),
            content: receipt.content,
            outcome: value(&receipt.outcome, place)?,
            version: receipt.version,
            pinned_by: receipt.pinned.checked_sub(1),
        }))
    }

    /// One page of blocks, by their digests, each checked against its own.
    pub(crate) fn blocks(&mut self, digests: &[Digest]) -> Result<Page<Option<Vec<u8>>>, Fault> {
        let mut page = Pager::new(digests.len(), self.page);
        for digest in digests {
            if page.is_full() {
                break;
            }
            let block = stored_block(self.connection, digest)?;
            if block.is_none() {
                self.checked.blocks(self.connection, self.meta)?;
            }
            let size = block.as_ref().map_or(0, Vec::len);
            page.push(block, size);
        }
        let ended = page.items.len() == digests.len();
        Ok(page.ended(ended))
    }

    /// One page of addresses.
    pub(crate) fn addresses(
        &mut self,
        after: Option<&Address>,
        limit: usize,
    ) -> Result<Page<Address>, Fault> {
        self.checked.heads(self.connection, self.meta)?;
        let mut page = Pager::new(limit, self.page);
        if limit == 0 {
            return Ok(page.done());
        }
        let mut ended = true;
        let mut before = after.map_or(Vec::new(), |after| after.as_str().as_bytes().to_vec());
        self.connection.for_each(
            "SELECT address FROM head WHERE address>?1 ORDER BY address LIMIT ?2",
            &[
                Bind::Blob(after.map_or(&b""[..], |after| after.as_str().as_bytes())),
                Bind::Int(page.rows()),
            ],
            |mut row| {
                if page.is_full() {
                    ended = false;
                    return Ok(ControlFlow::Break(()));
                }
                let stored = row.blob(0)?;
                ascends(&before, &stored, "head")?;
                before.clone_from(&stored);
                let address = parse(&stored).ok_or_else(|| {
                    let text = String::from_utf8_lossy(&stored).into_owned();
                    corrupt("an address that is not one", at("head", text))
                })?;
                page.push(address, stored.len());
                Ok::<_, Fault>(ControlFlow::Continue(()))
            },
        )?;
        Ok(page.ended(ended))
    }
}

/// Collects one page.
struct Pager<T> {
    items: Vec<T>,
    bytes: usize,
    size: PageSize,
}

impl<T> Pager<T> {
    fn new(limit: usize, size: PageSize) -> Self {
        Pager {
            items: Vec::new(),
            bytes: 0,
            size: PageSize {
                rows: limit.min(size.rows),
                ..size
            },
        }
    }

    /// How many rows to ask for: one more shows that there is more.
    fn rows(&self) -> i64 {
        i64::try_from(self.size.rows)
            .unwrap_or(i64::MAX)
            .saturating_add(1)
    }

    fn is_full(&self) -> bool {
        self.items.len() >= self.size.rows || self.bytes >= self.size.bytes
    }

    fn push(&mut self, item: T, size: usize) {
        self.items.push(item);
        self.bytes += size;
    }

    fn done(&mut self) -> Page<T> {
        self.ended(true)
    }

    fn ended(&mut self, ended: bool) -> Page<T> {
        Page {
            items: std::mem::take(&mut self.items),
            more: !ended,
        }
    }
}

/// Checks that each record is the next version and names the one before it.
struct Chain<'a> {
    address: &'a Address,
    next: u64,
    digest: Digest,
}

impl Chain<'_> {
    fn follow(&mut self, record: StoredRecord) -> Result<StoredRecord, Fault> {
        let place = || at("record", format!("{} version {}", self.address, self.next));
        if record.version != self.next {
            return Err(corrupt("a missing record", place()));
        }
        if record.previous != self.digest {
            return Err(corrupt("a broken link to the record before", place()));
        }
        self.next += 1;
        self.digest = record.digest;
        Ok(record)
    }
}

/// The head with its base, checked against the newest record.
pub(crate) fn head(
    connection: &mut Connection,
    checked: &mut Checked,
    address: &Address,
    row: &HeadRow,
) -> Result<Head, Fault> {
    let base = base(connection, address, row)?;
    if point_of(connection, checked, address, &base, row.version)? != Some((row.digest, row.root)) {
        return Err(corrupt(
            "a head that is not the newest record",
            at("head", address),
        ));
    }
    Ok(Head {
        version: row.version,
        digest: row.digest,
        root: row.root,
        epoch: row.epoch,
        first_event: row.first_event,
        next_event: row.next_event,
        shared: row.shared.as_ref().map(|shared| shared.thread.clone()),
        base,
    })
}

/// The record, or base, of this version and its root; none if the history does not hold it.
pub(crate) fn point(
    connection: &mut Connection,
    checked: &mut Checked,
    address: &Address,
    row: &HeadRow,
    version: u64,
) -> Result<Option<(Digest, Digest)>, Fault> {
    let base = base(connection, address, row)?;
    point_of(connection, checked, address, &base, version)
}

fn point_of(
    connection: &mut Connection,
    checked: &mut Checked,
    address: &Address,
    base: &Base,
    version: u64,
) -> Result<Option<(Digest, Digest)>, Fault> {
    if version == base.version {
        return Ok(Some((base.head(), base.root)));
    }
    // What a cut has left of older records is no longer history.
    if version < base.version {
        return Ok(None);
    }
    let row = match checked.recent.row(connection, address, version)? {
        None => record_row(connection, address, version)?,
        recent => recent,
    };
    let Some(row) = row else {
        return Ok(None);
    };
    let found = record(address, row)?;
    if found.version != version {
        let place = at("record", format!("{address} version {version}"));
        return Err(corrupt("a record of another version", place));
    }
    Ok(Some((found.digest, found.root)))
}

fn digest_at(
    connection: &mut Connection,
    checked: &mut Checked,
    address: &Address,
    base: &Base,
    version: u64,
) -> Result<Digest, Fault> {
    match point_of(connection, checked, address, base, version)? {
        Some((digest, _)) => Ok(digest),
        None => Err(corrupt(
            "a missing record",
            at("record", format!("{address} version {version}")),
        )),
    }
}

/// The base of a process, checked against the digest in its head.
pub(crate) fn base(
    connection: &mut Connection,
    address: &Address,
    head: &HeadRow,
) -> Result<Base, Fault> {
    let row = connection.row(
        "SELECT digest, body FROM base WHERE address=?1",
        &[Bind::Blob(address.as_str().as_bytes())],
    )?;
    let Some(mut row) = row else {
        return Err(corrupt("a missing base", at("base", address)));
    };
    let (digest, body) = (Digest::from_bytes(row.array(0)?), row.blob(1)?);
    if digest != head.base || Digest::of(&body) != digest {
        return Err(corrupt(
            "a base that does not have its digest",
            at("base", address),
        ));
    }
    let base = Base::from_bytes(&body).map_err(|error| {
        corrupt(
            format!("a base that cannot be read: {error}"),
            at("base", address),
        )
    })?;
    if base.address != *address {
        return Err(corrupt("the base of another process", at("base", address)));
    }
    Ok(base)
}

/// How many rows a cut or a trim has left behind of this process; they are no part of its history.
pub(crate) fn leftovers(
    connection: &mut Connection,
    checked: &mut Checked,
    address: &Address,
    head: &HeadRow,
    base: &Base,
) -> Result<u64, Fault> {
    let recent = checked.recent.count(connection, address, base.version)?;
    let row = connection.row(
        "SELECT (SELECT count(*) FROM record WHERE address=?1 AND version<=?2), (SELECT count(*) FROM thread_event WHERE address=?1 AND thread=0 AND seq<?3)",
        &[
            Bind::Blob(address.as_str().as_bytes()),
            Bind::Int(int(base.version)?),
            Bind::Int(int(head.first_event)?),
        ],
    )?;
    let filed = row.map_or(Ok(0), |mut row| {
        Ok::<_, Fault>(row.count(0)? + row.count(1)?)
    })?;
    Ok(filed + recent)
}

/// A block, checked against its digest; none if it is not found.
pub(crate) fn stored_block(
    connection: &mut Connection,
    digest: &Digest,
) -> Result<Option<Vec<u8>>, Fault> {
    let row = connection.row(
        "SELECT len, data FROM block WHERE digest=?1",
        &[Bind::Blob(digest.as_bytes())],
    )?;
    let Some(mut row) = row else {
        return Ok(None);
    };
    let (len, data) = (row.count(0)?, row.blob(1)?);
    if len != data.len() as u64 || Digest::of(&data) != *digest {
        return Err(corrupt(
            "a block that does not have its digest",
            at("block", digest),
        ));
    }
    Ok(Some(data))
}

fn record_row(
    connection: &mut Connection,
    address: &Address,
    version: u64,
) -> Result<Option<Row>, Fault> {
    Ok(connection.row(
        "SELECT version, digest, previous, root, paths, body, sum FROM record WHERE address=?1 AND version=?2",
        &[Bind::Blob(address.as_str().as_bytes()), Bind::Int(int(version)?)],
    )?)
}

/// Decodes a row `version, digest, previous, root, paths, body, sum` and checks digest and sum.
// THREAT[TM-STORE-1]
pub(crate) fn record(address: &Address, mut row: Row) -> Result<StoredRecord, Fault> {
    let version = row.count(0)?;
    let digest = Digest::from_bytes(row.array(1)?);
    let previous = Digest::from_bytes(row.array(2)?);
    let root = Digest::from_bytes(row.array(3)?);
    let stored_paths = row.blob(4)?;
    let body = row.blob(5)?;
    let sum: Sum = row.array(6)?;
    let place = || at("record", format!("{address} version {version}"));
    if Digest::of(&body) != digest {
        return Err(corrupt("a record that does not have its digest", place()));
    }
    if RecordRow::sum_of(address, version, &digest, &previous, &root, &stored_paths) != sum {
        return Err(corrupt("a record that does not have its sum", place()));
    }
    let paths = paths(&stored_paths)
        .map(|bytes| {
            std::str::from_utf8(bytes)
                .ok()
                .and_then(|text| Path::parse(text).ok())
                .ok_or_else(|| corrupt("a path that is not one", place()))
        })
        .collect::<Result<_, _>>()?;
    Ok(StoredRecord {
        version,
        previous,
        digest,
        root,
        paths,
        body,
    })
}

/// The text forms of the changed paths of a record.
pub(crate) fn paths(stored: &[u8]) -> impl Iterator<Item = &[u8]> {
    // No path is empty: the root is `/`.
    stored
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty())
}

/// Decodes a row `seq, kind, body, sum` and checks its sum. Gives its size in bytes, too.
pub(crate) fn event(address: &Address, mut row: Row) -> Result<(ThreadEvent, usize), Fault> {
    let (seq, kind, body) = (row.count(0)?, row.blob(1)?, row.blob(2)?);
    let sum: Sum = row.array(3)?;
    let place = || at("thread_event", format!("{address} event {seq}"));
    if EventRow::sum_of(address, 0, seq, &kind, &body) != sum {
        return Err(corrupt("an event that does not have its sum", place()));
    }
    let kind =
        std::str::from_utf8(&kind).map_err(|_| corrupt("a kind that is not text", place()))?;
    let event = ThreadEvent {
        seq,
        kind: Text::from(kind),
        body: value(&body, place)?,
    };
    Ok((event, body.len()))
}

fn missing_event(address: &Address, seq: u64) -> Fault {
    corrupt(
        "a missing event",
        at("thread_event", format!("{address} event {seq}")),
    )
}

/// Decodes a stored value. Its row's sum held, so a failure is a value of another format.
fn value(bytes: &[u8], place: impl FnOnce() -> String) -> Result<Value, Fault> {
    Value::decode(bytes, &ValueLimits::default())
        .map_err(|error| corrupt(format!("a value that cannot be read: {error}"), place()))
}
