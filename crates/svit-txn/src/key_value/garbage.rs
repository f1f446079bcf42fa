//! `Collection`: blocks that are reached are found first, then the others are removed, in pieces.
//!
//! What a base or checkpoint reaches when it begins, and whatever is brought while it goes on, is
//! kept; what becomes garbage meanwhile goes with the next one.

use std::collections::HashMap;

use svit_value::Digest;

use super::draft::{Draft, corrupt};
use super::{KeyScan, KeyValue, keys, rows};
use crate::store::{Block, Collected, StoreResult};

#[derive(Debug, Default)]
pub(super) struct Collection {
    /// What is kept, and whether all that it reaches must be there.
    reached: HashMap<Digest, bool>,
    /// Reached, but not yet followed; and whether it must be there.
    wanted: Vec<(Digest, bool)>,
    /// The last key that was looked at for removal.
    swept: Option<Vec<u8>>,
}

impl Collection {
    /// Notes the roots of all bases and checkpoints.
    pub(super) async fn begin(draft: &Draft<'_>) -> StoreResult<Self> {
        let mut collection = Self::default();
        for (key, body) in draft.scan_all(keys::heads(None)).await? {
            let base = rows::Row::decode(&key, &body)?.head.base;
            if base.has_blocks() {
                collection.wanted.push((base.root, true));
            }
        }
        for (table, whole) in keys::checkpoints_of_all().into_iter().zip([true, false]) {
            for (key, body) in draft.scan_all(table).await? {
                let root = rows::checkpoint_root(&key, &body)?;
                collection.wanted.push((root, whole));
            }
        }
        Ok(collection)
    }

    /// Blocks that are being brought. Those that they link to may be there already, and must stay.
    pub(super) fn keep(&mut self, blocks: &[Block]) {
        let brought = blocks.iter().map(|block| (block.digest, false));
        self.wanted.extend(brought);
    }

    /// Looks at about `steps` blocks.
    pub(super) async fn go_on(&mut self, map: &dyn KeyValue, steps: u64) -> StoreResult<Collected> {
        let mut left = usize::try_from(steps).unwrap_or(usize::MAX).max(1);
        let draft = Draft::new(map);
        while left > 0
            && let Some((digest, must)) = self.wanted.pop()
        {
            left -= 1;
            self.follow(&draft, digest, must).await?;
        }
        match left {
            0 => Ok(Collected::default()),
            left => self.sweep(map, left).await,
        }
    }

    async fn follow(&mut self, draft: &Draft<'_>, digest: Digest, must: bool) -> StoreResult<()> {
        if self
            .reached
            .get(&digest)
            .is_some_and(|known| *known || !must)
        {
            return Ok(());
        }
        let key = keys::block(digest);
        let Some(data) = draft.get(&key).await? else {
            return match must {
                true => Err(corrupt(&key, "a block that is needed is missing")),
                false => Ok(()),
            };
        };
        self.reached.insert(digest, must);
        let links = svit_value::links(&data).map_err(|error| corrupt(&key, error))?;
        self.wanted
            .extend(links.into_iter().map(|link| (link, must)));
        Ok(())
    }

    async fn sweep(&mut self, map: &dyn KeyValue, steps: usize) -> StoreResult<Collected> {
        let scan = KeyScan {
            keys: keys::blocks(self.swept.clone()),
            limit: steps.min(1_024),
            reverse: false,
        };
        let limit = scan.limit;
        let page = map.scan(scan).await?;
        let mut collected = Collected {
            done: page.len() < limit,
            ..Collected::default()
        };
        self.swept = page.last().map(|(key, _)| key.clone());
        let mut changes = Vec::new();
        for (key, data) in page {
            let octets = key.get(1..).and_then(|it| <[u8; 32]>::try_from(it).ok());
            if octets.is_none_or(|it| !self.reached.contains_key(&Digest::from_bytes(it))) {
                collected.blocks += 1;
                collected.bytes += data.len() as u64;
                changes.push((key, None));
            }
        }
        if !changes.is_empty() {
            map.write(changes).await?;
        }
        Ok(collected)
    }
}
