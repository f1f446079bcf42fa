//! Rules about garbage: what nothing reaches goes, and nothing else ever does.

use svit_txn::{Batch, Block, CheckpointRef, Collected, StoreError};
use svit_value::Value;

use super::sample::{History, blocks, collect, created, loads, one_block, part, said};
use super::{Store, checks, ensure, ensure_eq};

checks! {
    blocks_that_nothing_reaches_are_removed_and_no_others
    what_a_cut_drops_is_collected
    what_two_processes_have_stays_until_the_last_one_goes
    blocks_of_an_unfinished_checkpoint_stay
    a_checkpoint_that_is_given_up_is_collected_or_can_go_on
    a_collection_ends_whatever_its_pieces
    a_collection_among_changes_never_removes_what_is_reached
    a_missing_block_stops_the_collection
    blocks_that_were_collected_can_be_brought_again
}

/// Blocks of something that no process reaches.
fn loose(name: &str) -> Vec<Block> {
    let value = Value::from(format!("loose {name} ").repeat(200));
    let blocks = value.blocks();
    blocks
        .map(|(digest, data)| Block { digest, data })
        .collect()
}

/// Checks that a history's base, and checkpoints, can be loaded.
async fn whole(history: &History) -> Result<(), String> {
    if history.base.has_blocks() {
        loads(&history.store, history.base.root).await?;
    }
    for checkpoint in history.checkpoints().await? {
        loads(&history.store, checkpoint.root).await?;
    }
    Ok(())
}

async fn all_gone(store: &Store, blocks: &[Block]) -> Result<(), String> {
    for block in blocks {
        let found = one_block(store, block.digest).await?;
        ensure!(
            found.is_none(),
            "block {} is reached by nothing",
            block.digest
        );
    }
    Ok(())
}

/// Collects twice: a collection that was under way need not see what became garbage behind it.
async fn collect_all(store: &Store) -> Result<(), String> {
    for _ in 0..2 {
        let collected = collect(store, 1_000).await.map_err(said)?;
        ensure!(collected.done, "the collection does not end");
    }
    Ok(())
}

async fn blocks_that_nothing_reaches_are_removed_and_no_others(store: Store) -> Result<(), String> {
    let (base, tree) = created("demo")?;
    let extra = loose("demo");
    let mut brought = blocks(&tree);
    brought.extend(extra.clone());
    let inserted = store.insert_base(base.clone(), brought, Batch::default());
    let epoch = inserted.await.map_err(said)?;
    let mut history = History::create(&store, "other").await?.at(base, epoch);
    history.set_large("some").await?;
    history.put_checkpoint().await?;

    let collected = collect(&store, 1_000).await.map_err(said)?;
    let bytes: usize = extra.iter().map(|block| block.data.len()).sum();
    let expected = Collected {
        blocks: extra.len() as u64,
        bytes: bytes as u64,
        done: true,
    };
    ensure_eq!(collected, expected, "what was collected");
    all_gone(&store, &extra).await?;
    whole(&history).await?;
    history.stands().await?;
    let again = collect(&store, 1_000).await.map_err(said)?;
    ensure_eq!((again.blocks, again.bytes), (0, 0), "collected again");
    Ok(())
}

async fn what_a_cut_drops_is_collected(store: Store) -> Result<(), String> {
    let mut history = History::create(&store, "demo").await?;
    history.set_large("old").await?;
    history.put_checkpoint().await?;
    let mut old = history.blocks();
    history.set_large("new").await?;
    history.put_checkpoint().await?;
    old.retain(|block| !history.blocks().contains(block));
    ensure!(!old.is_empty(), "nothing is only in the old one");

    collect_all(&store).await?;
    whole(&history).await?;
    let kept = one_block(&store, old[0].digest).await?;
    ensure!(kept.is_some(), "an old checkpoint is a checkpoint");
    history.cut(history.cut_here()).await.map_err(said)?;
    collect_all(&store).await?;
    all_gone(&store, &old).await?;
    whole(&history).await?;
    history.stands().await
}

async fn what_two_processes_have_stays_until_the_last_one_goes(store: Store) -> Result<(), String> {
    let mut first = History::create(&store, "first").await?;
    let mut second = History::create(&store, "second").await?;
    for history in [&mut first, &mut second] {
        history.set_large("both").await?;
        history.put_checkpoint().await?;
    }
    let mut only = first.blocks();
    only.retain(|block| !second.blocks().contains(block));
    ensure!(
        !only.is_empty() && only.len() < first.blocks().len(),
        "a sample without common blocks"
    );
    first.delete().await.map_err(said)?;
    collect_all(&store).await?;
    all_gone(&store, &only).await?;
    whole(&second).await?;
    second.stands().await?;
    second.delete().await.map_err(said)?;
    collect_all(&store).await?;
    all_gone(&store, &first.blocks()).await?;
    all_gone(&store, &second.blocks()).await
}

async fn blocks_of_an_unfinished_checkpoint_stay(store: Store) -> Result<(), String> {
    let mut history = History::create(&store, "demo").await?;
    history.set_large("first").await?;
    let first = history.put_checkpoint().await?;
    let before = history.blocks();
    history.extend(1).await?;
    history.set_large("second").await?;
    let mut blocks = history.blocks();
    blocks.retain(|block| !before.contains(block));
    ensure!(blocks.len() > 9, "{} blocks are too few", blocks.len());
    let last = blocks.len() - 1;
    // A block a part, and a collection in every gap, in pieces of another size each.
    for (index, block) in blocks.into_iter().enumerate() {
        let mut one = part(
            history.checkpoint(),
            index as u64,
            vec![block],
            index == last,
        );
        one.since = Some(CheckpointRef {
            address: history.base.address.clone(),
            version: first.version,
            root: first.root,
        });
        history.put_part(one).await.map_err(said)?;
        match index % 3 {
            0 => drop(store.collect(2).await.map_err(said)?),
            steps => drop(collect(&store, steps as u64 * 5).await.map_err(said)?),
        }
    }
    collect_all(&store).await?;
    let known = history.checkpoints().await?;
    ensure_eq!(known, vec![history.checkpoint(), first], "checkpoints");
    whole(&history).await
}

async fn a_checkpoint_that_is_given_up_is_collected_or_can_go_on(
    store: Store,
) -> Result<(), String> {
    let mut history = History::create(&store, "demo").await?;
    history.set_large("given up").await?;
    let given_up = history.clone();
    let (some, rest) = (history.blocks(), Vec::new());
    let begun = part(history.checkpoint(), 0, some.clone(), false);
    history.put_part(begun).await.map_err(said)?;
    history.set_large("instead").await?;
    history.put_checkpoint().await?;
    collect_all(&store).await?;
    whole(&history).await?;
    // Either the store remembers it, and it can become whole; or its blocks are garbage, and gone.
    let end = part(given_up.checkpoint(), 1, rest, true);
    match history.put_part(end).await {
        Ok(()) => {
            let known = history.checkpoints().await?;
            ensure!(
                known.contains(&given_up.checkpoint()),
                "a checkpoint is not listed after its last part"
            );
            whole(&history).await
        }
        Err(StoreError::BadBatch { .. }) => {
            let mut only = some;
            only.retain(|block| !history.blocks().contains(block));
            let base = loads(&store, history.base.root).await?;
            only.retain(|block| !base.contains(&block.digest));
            all_gone(&store, &only).await
        }
        other => Err(format!("the next part gave {other:?}")),
    }
}

async fn a_collection_ends_whatever_its_pieces(store: Store) -> Result<(), String> {
    for steps in [1, 2, 7, 1_000_000, u64::MAX, 0] {
        let name = format!("demo-{steps}");
        let mut history = History::create(&store, &name).await?;
        history.set_large(&name).await?;
        history.put_checkpoint().await?;
        let extra = history.blocks();
        history.delete().await.map_err(said)?;
        let mut pieces = 0;
        while !store.collect(steps).await.map_err(said)?.done {
            pieces += 1;
            ensure!(pieces < 2_000, "no end after {pieces} pieces of {steps}");
        }
        all_gone(&store, &extra).await?;
    }
    Ok(())
}

async fn a_collection_among_changes_never_removes_what_is_reached(
    store: Store,
) -> Result<(), String> {
    let mut random = super::sample::Random::new(7);
    let mut all: Vec<History> = Vec::new();
    for round in 0..120_u64 {
        store.collect(random.below(9) + 1).await.map_err(said)?;
        let index = random.below(all.len() as u64 + 1) as usize;
        let Some(history) = all.get_mut(index) else {
            if all.len() < 6 {
                all.push(History::create(&store, &format!("demo-{round}")).await?);
            }
            continue;
        };
        match random.below(8) {
            // Only a few different ones, so that processes have blocks in common, and what was
            // garbage comes back.
            0..4 => {
                let name = format!("large {}", random.below(3));
                history.set_large(&name).await?;
                // In parts, with pieces of a collection in between.
                let blocks = history.blocks();
                let count = blocks.chunks(5).len();
                for (index, some) in blocks.chunks(5).enumerate() {
                    let last = index + 1 == count;
                    let part = part(history.checkpoint(), index as u64, some.to_vec(), last);
                    history.put_part(part).await.map_err(said)?;
                    store.collect(random.below(9) + 1).await.map_err(said)?;
                }
            }
            4 | 5 => {
                history.put_checkpoint().await?;
                history.cut(history.cut_here()).await.map_err(said)?;
            }
            6 => {
                history.delete().await.map_err(said)?;
                all.remove(index);
            }
            _ => drop(history.extend(1).await?),
        }
        for history in &all {
            if let Err(seen) = whole(history).await {
                return Err(format!("round {round}: {seen}"));
            }
        }
    }
    collect_all(&store).await?;
    for history in &all {
        history.stands().await?;
        whole(history).await?;
    }
    Ok(())
}

async fn a_missing_block_stops_the_collection(store: Store) -> Result<(), String> {
    let mut history = History::create(&store, "demo").await?;
    history.set_large("large").await?;
    let mut some = history.blocks();
    some.retain(|block| block.digest != history.base.root);
    // A base that claims more than it brings, if the store takes it.
    let mut base = history.cut_here();
    base.address = super::sample::address("holes")?;
    let missing = some.remove(some.len() / 2);
    let extra = loose("with holes");
    some.extend(extra.clone());
    let inserted = store
        .insert_base(base, some.clone(), Batch::default())
        .await;
    match inserted {
        Ok(_) => {}
        Err(StoreError::BadBatch { .. }) => return Ok(()),
        Err(other) => return Err(format!("a base with holes gave {other:?}")),
    }
    for _ in 0..2 {
        let collected = collect(&store, 10).await;
        ensure!(
            matches!(&collected, Err(StoreError::Corrupt { .. })),
            "collecting without block {} gave {collected:?}",
            missing.digest
        );
        for block in &some {
            let found = one_block(&store, block.digest).await?;
            ensure!(found.is_some(), "block {} was removed", block.digest);
        }
    }
    Ok(())
}

async fn blocks_that_were_collected_can_be_brought_again(store: Store) -> Result<(), String> {
    for _ in 0..3 {
        let mut history = History::create(&store, "demo").await?;
        history.set_large("again").await?;
        history.put_checkpoint().await?;
        collect_all(&store).await?;
        whole(&history).await?;
        history.stands().await?;
        history.delete().await.map_err(said)?;
        collect_all(&store).await?;
        all_gone(&store, &history.blocks()).await?;
    }
    Ok(())
}
