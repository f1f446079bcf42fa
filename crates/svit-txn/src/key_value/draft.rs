//! `Draft`: changes that are not written yet, seen as if they were.
//!
//! Every row but a block is sealed with the digest of its key and body, so that a row that is damaged,
//! or stands under another key, is never taken for what was stored. A block's key is its digest.

use std::collections::BTreeMap;
use std::ops::Range;

use svit_value::Digest;

use super::{KeyPair, KeyScan, KeyValue, keys};
use crate::store::{StoreError, StoreResult};

/// How many rows are read at a time where all are needed.
pub(super) const PAGE: usize = 512;

pub(super) struct Draft<'a> {
    map: &'a dyn KeyValue,
    changes: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

pub(super) fn corrupt(key: &[u8], what: impl ToString) -> StoreError {
    StoreError::Corrupt {
        what: what.to_string(),
        place: format!("key {}", key.escape_ascii()),
    }
}

fn seal(key: &[u8], body: Vec<u8>) -> Vec<u8> {
    match key.first() {
        Some(&keys::BLOCK) => body,
        _ => [&digest_of(key, &body).as_bytes()[..], &body].concat(),
    }
}

fn unseal(key: &[u8], mut stored: Vec<u8>) -> StoreResult<Vec<u8>> {
    let body = match key {
        [keys::BLOCK, digest @ ..] => {
            (Digest::of(&stored).as_bytes()[..] == *digest).then_some(stored)
        }
        _ => stored
            .split_first_chunk::<32>()
            .and_then(|(found, body)| {
                let start = (digest_of(key, body).as_bytes() == found).then_some(found.len())?;
                Some(start)
            })
            .map(|start| stored.split_off(start)),
    };
    body.ok_or_else(|| corrupt(key, "a value without its digest"))
}

fn digest_of(key: &[u8], body: &[u8]) -> Digest {
    Digest::of(&[key, body].concat())
}

impl<'a> Draft<'a> {
    pub(super) fn new(map: &'a dyn KeyValue) -> Self {
        Self {
            map,
            changes: BTreeMap::new(),
        }
    }

    pub(super) async fn get(&self, key: &[u8]) -> StoreResult<Option<Vec<u8>>> {
        if let Some(changed) = self.changes.get(key) {
            return Ok(changed.clone());
        }
        let stored = self.map.get(key.to_vec()).await?;
        stored.map(|stored| unseal(key, stored)).transpose()
    }

    pub(super) async fn has(&self, key: &[u8]) -> StoreResult<bool> {
        Ok(self.get(key).await?.is_some())
    }

    pub(super) fn put(&mut self, key: Vec<u8>, body: Vec<u8>) {
        self.changes.insert(key, Some(body));
    }

    pub(super) fn remove(&mut self, key: Vec<u8>) {
        self.changes.insert(key, None);
    }

    /// Pairs of a range, in order, as they will be once this is written.
    pub(super) async fn scan(
        &self,
        keys: Range<Vec<u8>>,
        limit: usize,
    ) -> StoreResult<Vec<KeyPair>> {
        self.scan_either_way(keys, limit, false).await
    }

    pub(super) async fn scan_back(
        &self,
        keys: Range<Vec<u8>>,
        limit: usize,
    ) -> StoreResult<Vec<KeyPair>> {
        self.scan_either_way(keys, limit, true).await
    }

    async fn scan_either_way(
        &self,
        keys: Range<Vec<u8>>,
        limit: usize,
        reverse: bool,
    ) -> StoreResult<Vec<KeyPair>> {
        if keys.is_empty() || limit == 0 {
            return Ok(Vec::new());
        }
        let changes: Vec<_> = self.changes.range(keys.clone()).collect();
        // As many more as may have been removed.
        let scan = KeyScan {
            keys,
            limit: limit.saturating_add(changes.len()),
            reverse,
        };
        let stored = self.map.scan(scan).await?;
        if changes.is_empty() {
            let opened = stored.into_iter().map(|(key, stored)| {
                let body = unseal(&key, stored)?;
                Ok((key, body))
            });
            return opened.collect();
        }
        let mut merged = BTreeMap::new();
        for (key, stored) in stored {
            let body = unseal(&key, stored)?;
            merged.insert(key, body);
        }
        for (key, change) in changes {
            match change {
                Some(body) => merged.insert(key.clone(), body.clone()),
                None => merged.remove(key),
            };
        }
        let merged = merged.into_iter();
        Ok(match reverse {
            true => merged.rev().take(limit).collect(),
            false => merged.take(limit).collect(),
        })
    }

    /// All pairs of a range, read in pages.
    pub(super) async fn scan_all(&self, mut keys: Range<Vec<u8>>) -> StoreResult<Vec<KeyPair>> {
        let mut all = Vec::new();
        loop {
            let page = self.scan(keys.clone(), PAGE).await?;
            let Some((last, _)) = page.last() else {
                return Ok(all);
            };
            keys.start = keys::after(last.clone());
            all.extend(page);
        }
    }

    pub(super) async fn remove_all(&mut self, mut keys: Range<Vec<u8>>) -> StoreResult<()> {
        loop {
            let page = self.scan(keys.clone(), PAGE).await?;
            let Some((last, _)) = page.last() else {
                return Ok(());
            };
            keys.start = keys::after(last.clone());
            for (key, _) in page {
                self.remove(key);
            }
        }
    }

    /// Writes all changes, if there are any.
    pub(super) async fn write(self) -> StoreResult<()> {
        if self.changes.is_empty() {
            return Ok(());
        }
        let changes = self.changes.into_iter();
        let sealed = changes.map(|(key, body)| {
            let value = body.map(|body| seal(&key, body));
            (key, value)
        });
        self.map.write(sealed.collect()).await
    }
}
