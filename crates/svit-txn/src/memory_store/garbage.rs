//! Which blocks are still reached, and the removal of the others.

use std::collections::HashSet;

use svit_value::Digest;

use super::Tables;
use crate::store::{Collected, StoreError, StoreResult};

impl Tables {
    pub(super) fn collect(&mut self) -> StoreResult<Collected> {
        let mut reached = HashSet::new();
        let mut roots: Vec<_> = self.processes.values().flat_map(|it| it.roots()).collect();
        // Whole ones first: a block that one that is not whole has reached is not looked at again,
        // and what is missing below it would go unnoticed.
        roots.sort_by_key(|(_, whole)| !whole);
        for (root, whole) in roots {
            self.mark(root, whole, &mut reached)?;
        }
        let mut collected = Collected {
            done: true,
            ..Collected::default()
        };
        self.blocks.retain(|digest, data| {
            let keep = reached.contains(digest);
            if !keep {
                collected.blocks += 1;
                collected.bytes += data.len() as u64;
            }
            keep
        });
        Ok(collected)
    }

    /// Marks what a root reaches. Of a checkpoint that is not whole some blocks are still to come.
    fn mark(&self, root: Digest, whole: bool, reached: &mut HashSet<Digest>) -> StoreResult<()> {
        let corrupt = |digest: Digest, what: String| StoreError::Corrupt {
            what,
            place: format!("block {digest}"),
        };
        let mut wanted = vec![root];
        while let Some(digest) = wanted.pop() {
            if reached.contains(&digest) {
                continue;
            }
            let Some(data) = self.blocks.get(&digest) else {
                if whole {
                    return Err(corrupt(digest, "it is missing".to_owned()));
                }
                continue;
            };
            reached.insert(digest);
            let links = svit_value::links(data);
            wanted.extend(links.map_err(|error| corrupt(digest, error.to_string()))?);
        }
        Ok(())
    }
}
