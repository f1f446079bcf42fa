//! Rules about checkpoints: parts in order, true to the history, used only when whole.

use svit_txn::{Batch, Checkpoint, CheckpointPart, CheckpointRef, StoreError};
use svit_value::Digest;

use super::sample::{History, collect, loads, one_block, part, said};
use super::{Store, checks, ensure, ensure_eq, ensure_refused};

checks! {
    a_checkpoint_is_listed_once_it_is_whole
    parts_of_a_checkpoint_come_in_order
    part_zero_begins_a_checkpoint_anew
    a_checkpoint_says_what_the_history_says
    a_checkpoint_of_the_base_is_one_too
    a_checkpoint_may_build_on_another_or_on_a_base
    a_checkpoint_needs_what_it_builds_on
    what_a_checkpoint_builds_on_stays_until_it_is_whole
    a_damaged_block_is_refused_with_its_part
    a_whole_checkpoint_put_again_is_left_as_it_is
    checkpoints_are_listed_newest_first_in_pages
    checkpoints_are_of_one_process
}

/// A process that has some blocks.
async fn wide(store: &Store, name: &str) -> Result<History, String> {
    let mut history = History::create(store, name).await?;
    history.set_large(name).await?;
    let blocks = history.blocks().len();
    ensure!(blocks > 9, "{blocks} blocks are too few for parts");
    Ok(history)
}

/// A checkpoint of where a history stands, in parts of three blocks.
fn in_parts(history: &History) -> Vec<CheckpointPart> {
    let blocks = history.blocks();
    let some: Vec<_> = blocks.chunks(3).collect();
    let last = some.len() - 1;
    let parts = some.into_iter().enumerate().map(|(index, blocks)| {
        part(
            history.checkpoint(),
            index as u64,
            blocks.to_vec(),
            index == last,
        )
    });
    parts.collect()
}

async fn a_checkpoint_is_listed_once_it_is_whole(store: Store) -> Result<(), String> {
    let history = wide(&store, "demo").await?;
    for part in in_parts(&history) {
        let known = history.checkpoints().await?;
        ensure_eq!(known, vec![], "checkpoints before the last part");
        history.put_part(part).await.map_err(said)?;
    }
    let known = history.checkpoints().await?;
    ensure_eq!(known, vec![history.checkpoint()], "checkpoints");
    loads(&store, history.root).await?;
    history.stands().await
}

async fn parts_of_a_checkpoint_come_in_order(store: Store) -> Result<(), String> {
    let history = wide(&store, "demo").await?;
    let parts = in_parts(&history);
    let refused = async |index: usize, what: &str| {
        let put = history.put_part(parts[index].clone()).await;
        ensure_refused!(put, StoreError::BadBatch { .. }, "part {index} {what}");
        Ok(())
    };
    refused(1, "before part 0").await?;
    refused(parts.len() - 1, "before part 0").await?;
    history.put_part(parts[0].clone()).await.map_err(said)?;
    refused(2, "behind part 0").await?;
    history.put_part(parts[1].clone()).await.map_err(said)?;
    refused(1, "behind itself").await?;
    refused(3, "behind part 1").await?;
    ensure_eq!(history.checkpoints().await?, vec![], "checkpoints");
    for part in &parts[2..] {
        history.put_part(part.clone()).await.map_err(said)?;
    }
    let known = history.checkpoints().await?;
    ensure_eq!(known, vec![history.checkpoint()], "checkpoints");
    loads(&store, history.root).await?;
    Ok(())
}

async fn part_zero_begins_a_checkpoint_anew(store: Store) -> Result<(), String> {
    let history = wide(&store, "demo").await?;
    let parts = in_parts(&history);
    for count in 1..4 {
        for part in &parts[..count] {
            history.put_part(part.clone()).await.map_err(said)?;
        }
    }
    history.put_part(parts[0].clone()).await.map_err(said)?;
    let put = history.put_part(parts[2].clone()).await;
    ensure_refused!(put, StoreError::BadBatch { .. }, "part 2 behind part 0");
    for part in &parts {
        history.put_part(part.clone()).await.map_err(said)?;
    }
    let known = history.checkpoints().await?;
    ensure_eq!(known, vec![history.checkpoint()], "checkpoints");
    loads(&store, history.root).await?;
    Ok(())
}

async fn a_checkpoint_says_what_the_history_says(store: Store) -> Result<(), String> {
    let mut history = wide(&store, "demo").await?;
    history.extend(1).await?;
    let right = history.checkpoint();
    let other = Digest::of(b"another");
    let rows = [
        (
            "record",
            Checkpoint {
                record: other,
                ..right
            },
        ),
        (
            "root",
            Checkpoint {
                root: other,
                ..right
            },
        ),
        (
            "version",
            Checkpoint {
                version: 1,
                ..right
            },
        ),
        (
            "version to come",
            Checkpoint {
                version: 3,
                ..right
            },
        ),
        (
            "version far away",
            Checkpoint {
                version: 1 << 62,
                ..right
            },
        ),
    ];
    for last in [true, false] {
        for (what, wrong) in rows {
            let put = history.put_part(part(wrong, 0, history.blocks(), last));
            ensure_refused!(put.await, StoreError::BadBatch { .. }, "another {what}");
        }
    }
    ensure_eq!(history.checkpoints().await?, vec![], "checkpoints");
    // An older version is as good as the newest.
    let older = history.clone();
    history.extend(2).await?;
    older.put_checkpoint().await?;
    ensure_eq!(history.checkpoints().await?, vec![right], "checkpoints");
    history.stands().await
}

async fn a_checkpoint_of_the_base_is_one_too(store: Store) -> Result<(), String> {
    let parent = wide(&store, "parent").await?;
    let child = parent.fork("child", 0).await?;
    for history in [parent.at(parent.base.clone(), parent.epoch), child] {
        let at_base = Checkpoint {
            version: history.base.version,
            record: history.base.head(),
            root: history.base.root,
        };
        let blocks = match history.base.has_blocks() {
            true => super::sample::blocks(&super::sample::tree("parent")?),
            false => history.blocks(),
        };
        let put = history.put_part(part(at_base, 0, blocks, true)).await;
        put.map_err(said)?;
        ensure_eq!(history.checkpoints().await?, vec![at_base], "checkpoints");
        loads(&store, at_base.root).await?;
    }
    Ok(())
}

async fn a_checkpoint_may_build_on_another_or_on_a_base(store: Store) -> Result<(), String> {
    let mut history = wide(&store, "demo").await?;
    let first = history.put_checkpoint().await?;
    let before = history.blocks();
    history.extend(1).await?;
    let mut blocks = history.blocks();
    blocks.retain(|block| !before.contains(block));
    ensure!(
        blocks.len() + 3 < before.len(),
        "a small change made {} new blocks",
        blocks.len()
    );
    let mut second = part(history.checkpoint(), 0, blocks, true);
    second.since = Some(CheckpointRef {
        address: history.base.address.clone(),
        version: first.version,
        root: first.root,
    });
    history.put_part(second).await.map_err(said)?;
    loads(&store, history.root).await?;

    // A fork without a transition, on the base of its parent: no block is new.
    let parent = History::create(&store, "parent").await?;
    let child = parent.fork("child", 0).await?;
    let mut same = part(child.checkpoint(), 0, Vec::new(), true);
    same.since = Some(CheckpointRef {
        address: parent.base.address.clone(),
        version: 0,
        root: parent.root,
    });
    child.put_part(same).await.map_err(said)?;
    let known = child.checkpoints().await?;
    ensure_eq!(known, vec![child.checkpoint()], "checkpoints");
    loads(&store, child.root).await?;
    Ok(())
}

async fn a_checkpoint_needs_what_it_builds_on(store: Store) -> Result<(), String> {
    let mut history = wide(&store, "demo").await?;
    let child = history.fork("child", 0).await?;
    history.extend(1).await?;
    // Begun, but not whole.
    let mut open = in_parts(&history);
    open.truncate(1);
    for part in open {
        history.put_part(part).await.map_err(said)?;
    }
    let nobody = super::sample::address("nobody")?;
    let demo = &history.base.address;
    let rows = [
        ("a process that is not there", &nobody, 0, child.root),
        ("a version without a checkpoint", demo, 1, child.root),
        ("a checkpoint that is not whole", demo, 2, history.root),
        ("the base of a fork", &child.base.address, 1, child.root),
        ("another root", demo, 0, child.root),
    ];
    for (what, address, version, root) in rows {
        let mut part = part(child.checkpoint(), 0, child.blocks(), true);
        let address = address.clone();
        part.since = Some(CheckpointRef {
            address,
            version,
            root,
        });
        let put = child.put_part(part).await;
        ensure_refused!(put, StoreError::BadBatch { .. }, "built on {what}");
        ensure_eq!(child.checkpoints().await?, vec![], "built on {what}");
    }
    Ok(())
}

async fn what_a_checkpoint_builds_on_stays_until_it_is_whole(store: Store) -> Result<(), String> {
    let history = wide(&store, "demo").await?;
    let other = History::create(&store, "other").await?;
    let since = Some(CheckpointRef {
        address: other.base.address.clone(),
        version: 0,
        root: other.root,
    });
    let parts = in_parts(&history);
    let on_other = |index: usize| CheckpointPart {
        since: since.clone(),
        ..parts[index].clone()
    };
    history.put_part(on_other(0)).await.map_err(said)?;
    let changed = history.put_part(parts[1].clone()).await;
    ensure_refused!(
        changed,
        StoreError::BadBatch { .. },
        "a part that builds on something else"
    );
    history.put_part(on_other(1)).await.map_err(said)?;
    other.delete().await.map_err(said)?;
    let gone = history.put_part(on_other(2)).await;
    ensure_refused!(gone, StoreError::BadBatch { .. }, "built on what is gone");
    // Another process in its place is another thing to build on.
    let (mut base, _) = super::sample::created("other")?;
    let tree = super::sample::tree("something else")?;
    base.root = tree.digest();
    let blocks = super::sample::blocks(&tree);
    let inserted = store.insert_base(base, blocks, Batch::default());
    inserted.await.map_err(said)?;
    let replaced = history.put_part(on_other(2)).await;
    ensure_refused!(
        replaced,
        StoreError::BadBatch { .. },
        "built on what was replaced"
    );
    ensure_eq!(history.checkpoints().await?, vec![], "checkpoints");
    Ok(())
}

async fn a_damaged_block_is_refused_with_its_part(store: Store) -> Result<(), String> {
    let history = wide(&store, "demo").await?;
    let parts = in_parts(&history);
    for (index, whole) in parts.iter().enumerate() {
        let mut damaged = whole.clone();
        let Some(block) = damaged.blocks.last_mut() else {
            return Err("a part has no blocks".to_owned());
        };
        block.data[0] ^= 1;
        let digests: Vec<Digest> = damaged.blocks.iter().map(|block| block.digest).collect();
        let put = history.put_part(damaged).await;
        ensure_refused!(put, StoreError::BadBatch { .. }, "part {index}, damaged");
        for digest in digests {
            let found = one_block(&store, digest).await?;
            ensure_eq!(found, None, "a block of a refused part");
        }
        ensure_eq!(history.checkpoints().await?, vec![], "checkpoints");
        history.put_part(whole.clone()).await.map_err(said)?;
    }
    loads(&store, history.root).await?;
    Ok(())
}

async fn a_whole_checkpoint_put_again_is_left_as_it_is(store: Store) -> Result<(), String> {
    let history = wide(&store, "demo").await?;
    let whole = history.put_checkpoint().await?;
    let parts = in_parts(&history);
    // Again, begun again, and a part from the middle.
    let again = [
        part(whole, 0, history.blocks(), true),
        parts[0].clone(),
        parts[2].clone(),
    ];
    for part in again {
        history.put_part(part).await.map_err(said)?;
        ensure_eq!(history.checkpoints().await?, vec![whole], "checkpoints");
    }
    collect(&store, 100).await.map_err(said)?;
    loads(&store, whole.root).await?;
    history.stands().await
}

async fn checkpoints_are_listed_newest_first_in_pages(store: Store) -> Result<(), String> {
    let mut history = History::create(&store, "demo").await?;
    let mut put = Vec::new();
    for version in 1..=7 {
        history.extend(1).await?;
        if [2, 3, 5, 7].contains(&version) {
            put.push(history.clone());
        }
    }
    // Not in the order of their versions.
    for index in [2, 0, 3, 1] {
        put[index].put_checkpoint().await?;
    }
    let rows: [(u64, usize, &[u64]); 9] = [
        (u64::MAX, usize::MAX, &[7, 5, 3, 2]),
        (7, 9, &[7, 5, 3, 2]),
        (6, 9, &[5, 3, 2]),
        (5, 1, &[5]),
        (4, 2, &[3, 2]),
        (2, 9, &[2]),
        (1, 9, &[]),
        (0, 9, &[]),
        (7, 0, &[]),
    ];
    for (at_or_before, limit, versions) in rows {
        let found = store.checkpoints(&history.base.address, at_or_before, limit);
        let found: Vec<u64> = found
            .await
            .map_err(said)?
            .iter()
            .map(|it| it.version)
            .collect();
        ensure_eq!(
            found,
            versions.to_vec(),
            "at or before {at_or_before}, at most {limit}"
        );
    }
    Ok(())
}

async fn checkpoints_are_of_one_process(store: Store) -> Result<(), String> {
    let mut all = Vec::new();
    for name in ["a", "a/b", "a-b"] {
        let mut history = History::create(&store, name).await?;
        history.extend(1).await?;
        all.push(history);
    }
    for history in &all[1..] {
        history.put_checkpoint().await?;
    }
    for (index, history) in all.iter().enumerate() {
        let expected = match index {
            0 => vec![],
            _ => vec![history.checkpoint()],
        };
        ensure_eq!(history.checkpoints().await?, expected, "checkpoints");
        history.stands().await?;
    }
    Ok(())
}
