//! A store of one's own: a log file of frames, each synced before it counts. It keeps every rule of
//! the contract, which `tests/it/custom_store.rs` checks with the conformance suite in five lines.
//!
//! A frame is its length, the BLAKE3 of its bytes, and one value: what was done. Opening the file
//! does it all again, in a `MemoryStore`, and drops a torn last frame. One program at a time.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use futures_lite::future::block_on;
use svit_tree::{Address, touched};
use svit_txn::{
    Base, Batch, Block, BoxFuture, EventQuery, Head, MemoryStore, ProcessStore, ProcessTransaction,
    Receipt, ReceiptKey, RecordQuery, StoreError, StoreResult, StoredRecord, ThreadEvent,
};
use svit_value::{Bytes, Digest, List, Value, ValueLimits, value};

/// Processes in one file.
pub(crate) struct LogStore {
    index: MemoryStore,
    /// None after a write failed: what the file holds is then known only after opening it again.
    file: Mutex<Option<File>>,
}

fn unavailable(why: impl ToString) -> StoreError {
    StoreError::Unavailable {
        why: why.to_string(),
    }
}

fn corrupt(what: impl ToString) -> StoreError {
    StoreError::Corrupt {
        what: what.to_string(),
        place: "the log".to_owned(),
    }
}

impl LogStore {
    /// Opens a log, or starts one.
    pub(crate) fn open(path: impl AsRef<Path>) -> StoreResult<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path).map_err(unavailable)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(unavailable)?;
        let index = MemoryStore::new();
        let mut rest = &bytes[..];
        while let Some((frame, behind)) = split_frame(rest) {
            let done = Value::decode(frame, &ValueLimits::default()).map_err(corrupt)?;
            block_on(redo(&index, &done))?;
            rest = behind;
        }
        let whole = (bytes.len() - rest.len()) as u64;
        file.set_len(whole).map_err(unavailable)?;
        file.seek(SeekFrom::End(0)).map_err(unavailable)?;
        Ok(Self {
            index,
            file: Mutex::new(Some(file)),
        })
    }

    /// Does something in the index, which refuses what breaks a rule, and then writes it down.
    fn log<T>(
        &self,
        done: impl FnOnce() -> StoreResult<Value>,
        act: impl FnOnce() -> StoreResult<T>,
    ) -> StoreResult<T> {
        let mut held = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let file = held.as_mut().ok_or_else(|| unavailable("open it again"))?;
        let frame = done()?.encode();
        let result = act()?;
        let head = (frame.len() as u64).to_be_bytes();
        let bytes = [&head[..], Digest::of(&frame).as_bytes(), &frame].concat();
        if let Err(error) = file.write_all(&bytes).and_then(|()| file.sync_data()) {
            *held = None;
            return Err(StoreError::Unknown {
                why: error.to_string(),
            });
        }
        Ok(result)
    }

    fn is_open(&self) -> StoreResult<()> {
        let held = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        held.as_ref()
            .map(drop)
            .ok_or_else(|| unavailable("open it again"))
    }
}

/// The first whole frame, and what is behind it.
fn split_frame(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = bytes.split_first_chunk::<8>()?;
    let (digest, rest) = rest.split_first_chunk::<32>()?;
    let (frame, rest) = rest.split_at_checked(usize::try_from(u64::from_be_bytes(*len)).ok()?)?;
    (Digest::of(frame).as_bytes() == digest).then_some((frame, rest))
}

fn list<T>(items: &[T], each: impl Fn(&T) -> Value) -> StoreResult<Value> {
    Ok(List::from_values(items.iter().map(each))
        .map_err(unavailable)?
        .into())
}

fn octets(bytes: &[u8]) -> Value {
    Bytes::from(bytes).into()
}

fn batch_value(batch: &Batch) -> StoreResult<Value> {
    let count = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let records = list(&batch.records, |record| octets(&record.body))?;
    let receipts = list(&batch.receipts, |r| {
        value!([
            (&r.key.client),
            (&r.key.request),
            (octets(r.content.as_bytes())),
            (&r.outcome),
            (count(r.version))
        ])
    })?;
    let events = list(&batch.events, |e| {
        value!([(count(e.seq)), (&e.kind), (&e.body)])
    })?;
    Ok(value!([records, receipts, events]))
}

fn items(value: &Value, index: usize) -> impl Iterator<Item = &Value> {
    value
        .at(index)
        .and_then(Value::as_list)
        .into_iter()
        .flat_map(List::iter)
}

fn read_batch(value: &Value) -> Option<Batch> {
    let count = |value: Option<&Value>| u64::try_from(value?.as_int()?).ok();
    let record = |value: &Value| {
        let body = value.as_bytes()?.to_vec();
        let record = ProcessTransaction::from_bytes(&body).ok()?;
        let (digest, paths) = (Digest::of(&body), touched(&record.mutations));
        let ProcessTransaction {
            version,
            previous,
            root,
            ..
        } = record;
        Some(StoredRecord {
            version,
            previous,
            digest,
            root,
            paths,
            body,
        })
    };
    let receipt = |value: &Value| {
        let text = |index| value.at(index).and_then(Value::as_text).cloned();
        let key = ReceiptKey {
            client: text(0)?,
            request: text(1)?,
        };
        let content = Digest::from_bytes(value.at(2)?.as_bytes()?.try_into().ok()?);
        Some(Receipt {
            key,
            content,
            outcome: value.at(3)?.clone(),
            version: count(value.at(4))?,
            pinned_by: None,
        })
    };
    let event = |value: &Value| {
        let kind = value.at(1)?.as_text()?.clone();
        Some(ThreadEvent {
            seq: count(value.at(0))?,
            kind,
            body: value.at(2)?.clone(),
        })
    };
    Some(Batch {
        records: items(value, 0).map(record).collect::<Option<_>>()?,
        receipts: items(value, 1).map(receipt).collect::<Option<_>>()?,
        events: items(value, 2).map(event).collect::<Option<_>>()?,
        ..Batch::default()
    })
}

/// Does what a frame says, again.
async fn redo(index: &MemoryStore, done: &Value) -> StoreResult<()> {
    let odd = || corrupt("a frame of another form");
    let octets = |index: usize| done.at(index).and_then(Value::as_bytes).ok_or_else(odd);
    let text = |index: usize| done.at(index).and_then(Value::as_str).ok_or_else(odd);
    let address = |index| Address::parse(text(index)?).map_err(corrupt);
    let batch = |index: usize| done.at(index).and_then(read_batch).ok_or_else(odd);
    match text(0)? {
        "base" => {
            let base = Base::from_bytes(octets(1)?).map_err(corrupt)?;
            let blocks = items(done, 2).filter_map(Value::as_bytes);
            let blocks = blocks.map(|data| Block {
                digest: Digest::of(data),
                data: data.to_vec(),
            });
            index
                .insert_base(base, blocks.collect(), batch(3)?)
                .await
                .map(drop)
        }
        "claim" => index.claim(&address(1)?).await.map(drop),
        "append" => {
            let head = index.load(&address(1)?).await?;
            index
                .append(&head.base.address, head.digest, head.epoch, batch(2)?)
                .await
        }
        _ => Err(odd()),
    }
}

impl ProcessStore for LogStore {
    fn insert_base(
        &self,
        base: Base,
        blocks: Vec<Block>,
        batch: Batch,
    ) -> BoxFuture<'_, StoreResult<u64>> {
        Box::pin(async move {
            let done = || {
                Ok(value!([
                    "base",
                    (octets(&base.to_bytes())),
                    (list(&blocks, |b| octets(&b.data))?),
                    (batch_value(&batch)?)
                ]))
            };
            let (base, blocks, batch) = (base.clone(), blocks.clone(), batch.clone());
            self.log(done, || {
                block_on(self.index.insert_base(base, blocks, batch))
            })
        })
    }

    fn claim(&self, address: &Address) -> BoxFuture<'_, StoreResult<Head>> {
        let address = address.clone();
        let done = value!(["claim", (address.as_str())]);
        Box::pin(async move { self.log(|| Ok(done), || block_on(self.index.claim(&address))) })
    }

    fn append(
        &self,
        address: &Address,
        expected: Digest,
        epoch: u64,
        batch: Batch,
    ) -> BoxFuture<'_, StoreResult<()>> {
        let address = address.clone();
        Box::pin(async move {
            let done =
                batch_value(&batch).map(|batch| value!(["append", (address.as_str()), batch]));
            self.log(
                || done,
                || block_on(self.index.append(&address, expected, epoch, batch)),
            )
        })
    }

    fn load(&self, address: &Address) -> BoxFuture<'_, StoreResult<Head>> {
        let head = self.is_open().map(|()| self.index.load(address));
        Box::pin(async move { head?.await })
    }

    fn records(
        &self,
        address: &Address,
        query: RecordQuery,
    ) -> BoxFuture<'_, StoreResult<Vec<StoredRecord>>> {
        let records = self.is_open().map(|()| self.index.records(address, query));
        Box::pin(async move { records?.await })
    }

    fn events(
        &self,
        address: &Address,
        query: EventQuery,
    ) -> BoxFuture<'_, StoreResult<Vec<ThreadEvent>>> {
        let events = self.is_open().map(|()| self.index.events(address, query));
        Box::pin(async move { events?.await })
    }

    fn receipt(
        &self,
        address: &Address,
        key: &ReceiptKey,
    ) -> BoxFuture<'_, StoreResult<Option<Receipt>>> {
        let receipt = self.is_open().map(|()| self.index.receipt(address, key));
        Box::pin(async move { receipt?.await })
    }

    fn blocks(&self, digests: Vec<Digest>) -> BoxFuture<'_, StoreResult<Vec<Option<Vec<u8>>>>> {
        let block = self.is_open().map(|()| self.index.blocks(digests));
        Box::pin(async move { block?.await })
    }

    fn addresses(
        &self,
        after: Option<&Address>,
        limit: usize,
    ) -> BoxFuture<'_, StoreResult<Vec<Address>>> {
        let addresses = self.is_open().map(|()| self.index.addresses(after, limit));
        Box::pin(async move { addresses?.await })
    }
}

#[allow(dead_code, reason = "the tests include this file")]
#[allow(clippy::print_stdout, reason = "an example")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::sync::Arc;
    use svit_txn::{DurableProcess, Process};

    let path = std::env::temp_dir().join(format!("svit-custom-store-{}.log", std::process::id()));
    block_on(async {
        let process = Process::builder("svit://local/demo")?
            .memory("count", 6)
            .build()?;
        let store = Arc::new(LogStore::open(&path)?);
        let durable = DurableProcess::create(store, process).await?;
        durable.write("/memory/count", 9).await?;
        drop(durable);

        let durable =
            DurableProcess::resume(Arc::new(LogStore::open(&path)?), "svit://local/demo").await?;
        let count = durable.read("/memory/count")?;
        println!(
            "version {}, count {}",
            durable.version(),
            count.unwrap_or_default()
        );
        Ok::<(), svit_txn::Error>(())
    })?;
    Ok(std::fs::remove_file(path)?)
}
