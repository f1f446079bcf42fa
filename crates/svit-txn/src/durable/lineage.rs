//! Whose history is whose: the stretches that lead to a process, across forks.

use svit_tree::Address;

use super::replay::damaged;
use crate::store::{Head, ProcessStore, RecordQuery, StoreError};
use crate::{Base, BaseKind, Error};

/// A stretch of history under one address: from its base up to and including a version.
#[derive(Debug)]
pub(super) struct Stretch {
    pub(super) base: Base,
    pub(super) up_to: u64,
}

/// The stretches that lead to the newest version of a process, newest first, as far as they are kept
/// and until one starts at `down_to` or before. There is at least one.
pub(super) async fn stretches(
    store: &dyn ProcessStore,
    address: &Address,
    down_to: u64,
) -> Result<Vec<Stretch>, Error> {
    let mut stretches: Vec<Stretch> = Vec::new();
    let mut head = store.load(address).await?;
    let mut up_to = head.version;
    loop {
        let base = head.base;
        if stretches.iter().any(|it| it.base.address == base.address) {
            return Err(damaged(base.version, "a process is forked from itself"));
        }
        let parent = match base.version > down_to {
            true => parent_of(store, &base).await?,
            false => None,
        };
        let starts_at = base.version;
        stretches.push(Stretch { base, up_to });
        match parent {
            None => return Ok(stretches),
            Some(parent) => (head, up_to) = (parent, starts_at),
        }
    }
}

/// The oldest version of a process that can be read.
pub(super) async fn oldest(store: &dyn ProcessStore, address: &Address) -> Result<u64, Error> {
    let stretches = stretches(store, address, 0).await?;
    Ok(stretches.last().map_or(0, |oldest| oldest.base.version))
}

/// The head of the parent of a fork, if the history that led to the fork is still there. None if the
/// parent is gone or was cut above, or is another process that was made later under the same name,
/// and if it is no fork.
pub(super) async fn parent_of(
    store: &dyn ProcessStore,
    base: &Base,
) -> Result<Option<Head>, Error> {
    let BaseKind::Forked { parent, record, .. } = &base.kind else {
        return Ok(None);
    };
    let missing = |error| match error {
        StoreError::NotFound { .. } => Ok(None),
        other => Err(Error::from(other)),
    };
    let head = match store.load(parent).await {
        Ok(head) => head,
        Err(error) => return missing(error),
    };
    // THREAT[TM-TXN-7]
    if head.base.version == base.version {
        let is_same = head.base.head() == *record && head.base.root == base.root;
        return Ok(is_same.then_some(head));
    }
    if !(head.base.version..=head.version).contains(&base.version) {
        return Ok(None);
    }
    let query = RecordQuery {
        from: base.version,
        to: base.version,
        limit: 1,
    };
    match store.records(parent, query).await {
        Ok(found) => {
            let found = found.first().map(|it| (it.digest, it.root));
            Ok((found == Some((*record, base.root))).then_some(head))
        }
        Err(error) => missing(error),
    }
}
