//! A store of one's own: an ordered map in a log file, each change synced before it counts, under
//! `KeyValueStore`. `tests/it/custom_store.rs` runs the conformance suite against it.
//!
//! A frame of the log is the length of its changes, that length inverted, the BLAKE3 of the digest
//! before and the changes, and the changes. Opening makes them all again, in memory. A last frame that
//! a crash has torn was never answered, and is dropped; whatever else is wrong is damage.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::future::ready;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use svit_txn::{BoxFuture, DurableProcess, KeyChange, KeyPair, KeyScan, KeyValue, KeyValueStore};
use svit_txn::{Process, StoreError, StoreResult};
use svit_value::Digest;

/// A length twice, and a digest.
const HEAD: usize = 8 + 8 + 32;

/// An ordered map in a file.
pub(crate) struct LogMap(Mutex<Log>);

struct Log {
    pairs: BTreeMap<Vec<u8>, Vec<u8>>,
    /// None after a write failed: what the file holds is then known only after opening it again.
    file: Option<File>,
    /// The digest of the last frame.
    last: Digest,
}

fn unavailable(why: impl ToString) -> StoreError {
    let why = why.to_string();
    StoreError::Unavailable { why }
}

fn corrupt(what: &str, place: usize) -> StoreError {
    let (what, place) = (what.to_owned(), format!("byte {place} of the log"));
    StoreError::Corrupt { what, place }
}

impl LogMap {
    /// Opens a log, or starts one.
    pub(crate) fn open(path: impl AsRef<Path>) -> StoreResult<Self> {
        let path = std::path::absolute(path).map_err(unavailable)?;
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        let mut file = options.open(&path).map_err(unavailable)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(unavailable)?;
        let (mut pairs, mut at) = (BTreeMap::new(), 0);
        let mut last = Digest::of(b"svit-custom-store@1");
        while let Some((digest, changes)) = next_frame(&bytes, at, last)? {
            (last, at) = (digest, at + HEAD + changes.len());
            let changes = decode(changes).ok_or_else(|| corrupt("not changes", at))?;
            apply(&mut pairs, changes);
        }
        // A file is found again after a power failure only once its folder is synced too.
        file.set_len(at as u64)
            .and_then(|()| file.sync_all())
            .and_then(|()| File::open(path.parent().unwrap_or(&path))?.sync_all())
            .map_err(unavailable)?;
        let file = Some(file);
        Ok(Self(Mutex::new(Log { pairs, file, last })))
    }

    fn with<'a, T: Send + 'a>(
        &self,
        work: impl FnOnce(&mut Log) -> StoreResult<T>,
    ) -> BoxFuture<'a, StoreResult<T>> {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let result = match log.file {
            Some(_) => work(&mut log),
            None => Err(unavailable("a write failed; open the log again")),
        };
        Box::pin(ready(result))
    }
}

impl Log {
    fn write(&mut self, changes: Vec<KeyChange>) -> StoreResult<()> {
        let (digest, frame) = frame(&encode(&changes), self.last);
        // Put back only if all went well.
        let mut file = self.file.take().ok_or_else(|| unavailable("not open"))?;
        let written = file.write_all(&frame).and_then(|()| file.sync_data());
        let unknown = |why: String| StoreError::Unknown { why };
        written.map_err(|error| unknown(error.to_string()))?;
        (self.file, self.last) = (Some(file), digest);
        apply(&mut self.pairs, changes);
        Ok(())
    }
}

fn apply(pairs: &mut BTreeMap<Vec<u8>, Vec<u8>>, changes: Vec<KeyChange>) {
    for (key, value) in changes {
        match value {
            Some(value) => pairs.insert(key, value),
            None => pairs.remove(&key),
        };
    }
}

fn frame(changes: &[u8], before: Digest) -> (Digest, Vec<u8>) {
    let len = changes.len() as u64;
    let digest = Digest::of(&[before.as_bytes(), changes].concat());
    let head = [len.to_be_bytes(), (!len).to_be_bytes()].concat();
    (digest, [&head, &digest.as_bytes()[..], changes].concat())
}

fn number(octets: &[u8]) -> u64 {
    octets.iter().fold(0, |n, octet| n << 8 | u64::from(*octet))
}

/// The frame at a place, unless there is none, or only a torn one.
fn next_frame(bytes: &[u8], at: usize, before: Digest) -> StoreResult<Option<(Digest, &[u8])>> {
    let rest = &bytes[at..];
    // A file may grow before what is written into it is there.
    if rest.len() < HEAD || rest.iter().all(|byte| *byte == 0) {
        return Ok(None);
    }
    let len = number(&rest[..8]);
    if len != !number(&rest[8..16]) {
        return Err(corrupt("a length that is damaged", at));
    }
    let Some(changes) = rest[HEAD..].get(..len as usize) else {
        return Ok(None);
    };
    let (digest, whole) = frame(changes, before);
    match rest.starts_with(&whole) {
        true => Ok(Some((digest, changes))),
        false if rest.len() == whole.len() => Ok(None),
        false => Err(corrupt("a frame without its digest", at)),
    }
}

/// Keys and values, each behind its length plus one; no value is a length of 0.
fn encode(changes: &[KeyChange]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (key, value) in changes {
        for part in [Some(key), value.as_ref()] {
            let len = part.map_or(0, |part| part.len() as u64 + 1);
            bytes.extend(len.to_be_bytes());
            bytes.extend(part.into_iter().flatten());
        }
    }
    bytes
}

fn decode(mut bytes: &[u8]) -> Option<Vec<KeyChange>> {
    let mut part = || {
        let (len, rest) = bytes.split_at_checked(8)?;
        let len = usize::try_from(number(len)).ok()?;
        let (part, rest) = rest.split_at_checked(len.saturating_sub(1))?;
        bytes = rest;
        Some((len > 0).then(|| part.to_vec()))
    };
    let pairs = std::iter::from_fn(|| Some((part()??, part()?)));
    let changes = pairs.collect();
    bytes.is_empty().then_some(changes)
}

impl KeyValue for LogMap {
    fn get(&self, key: Vec<u8>) -> BoxFuture<'_, StoreResult<Option<Vec<u8>>>> {
        self.with(|log| Ok(log.pairs.get(&key).cloned()))
    }

    fn scan(&self, scan: KeyScan) -> BoxFuture<'_, StoreResult<Vec<KeyPair>>> {
        self.with(|log| {
            let found = log.pairs.range(scan.keys);
            let found = found.map(|(key, value)| (key.clone(), value.clone()));
            Ok(match scan.reverse {
                true => found.rev().take(scan.limit).collect(),
                false => found.take(scan.limit).collect(),
            })
        })
    }

    fn write(&self, changes: Vec<KeyChange>) -> BoxFuture<'_, StoreResult<()>> {
        self.with(|log| log.write(changes))
    }
}

#[allow(dead_code, reason = "the tests include this file")]
#[allow(clippy::print_stdout, reason = "an example")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::temp_dir().join(format!("svit-custom-store-{}.log", std::process::id()));
    let open = || Ok::<_, StoreError>(Arc::new(KeyValueStore::new(LogMap::open(&path)?)));
    futures_lite::future::block_on(async {
        let process = Process::builder("svit://local/demo")?.build()?;
        let durable = DurableProcess::create(open()?, process).await?;
        durable.write("/memory/count", 9).await?;
        drop(durable);
        let durable = DurableProcess::resume(open()?, "svit://local/demo").await?;
        println!("{:?}", durable.read("/memory/count")?);
        Ok::<(), svit_txn::Error>(())
    })?;
    Ok(std::fs::remove_file(path)?)
}
