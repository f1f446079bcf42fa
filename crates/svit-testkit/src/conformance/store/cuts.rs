//! Rules about cutting a history, and about the forks that stand in the way.

use svit_txn::{BaseKind, Batch, Checkpoint, ForkRef, StoreError};
use svit_value::Digest;

use super::sample::{History, collect, loads, part, said};
use super::{Store, checks, ensure, ensure_eq, ensure_refused};

checks! {
    a_cut_needs_a_whole_checkpoint
    a_cut_keeps_its_version_and_what_is_newer
    a_cut_at_the_head_leaves_the_head_as_it_was
    a_cut_can_be_done_again
    a_cut_keeps_receipts_and_events
    a_cut_by_an_earlier_owner_is_fenced
    a_cut_waits_for_the_forks_that_depend_on_what_would_go
    a_fork_at_the_cut_or_behind_it_does_not_stand_in_the_way
    a_cut_version_can_be_forked_and_an_older_one_cannot
    a_fork_that_is_cut_keeps_its_thread
    forks_are_those_that_depend_by_version_and_address
}

/// A process of so many versions, as it stood at each.
async fn versions(store: &Store, name: &str, count: u64) -> Result<Vec<History>, String> {
    let mut history = History::create(store, name).await?;
    let mut all = vec![history.clone()];
    for _ in 0..count {
        history.extend(1).await?;
        all.push(history.clone());
    }
    Ok(all)
}

async fn a_cut_needs_a_whole_checkpoint(store: Store) -> Result<(), String> {
    let all = versions(&store, "demo", 4).await?;
    let (mut history, at) = (all[4].clone(), &all[2]);
    let refused = async |base, what: &str| {
        let cut = store.cut(&at.base.address, at.epoch, base).await;
        ensure_refused!(cut, StoreError::BadBatch { .. }, "a cut {what}");
        history.stands().await
    };
    refused(at.cut_here(), "without a checkpoint").await?;
    let begun = part(at.checkpoint(), 0, at.blocks(), false);
    at.put_part(begun).await.map_err(said)?;
    refused(at.cut_here(), "to a checkpoint that is not whole").await?;
    at.put_checkpoint().await?;
    let mut wrong = at.cut_here();
    wrong.root = Digest::of(b"another");
    refused(wrong, "to another root").await?;
    let mut wrong = at.cut_here();
    wrong.kind = BaseKind::Checkpoint {
        record: Digest::of(b"another"),
        thread: None,
    };
    refused(wrong, "to another record").await?;
    let mut wrong = at.cut_here();
    wrong.version = 3;
    refused(wrong, "to another version").await?;
    let mut wrong = at.cut_here();
    wrong.kind = BaseKind::Created;
    refused(wrong, "to a base of another kind").await?;
    history.cut(at.cut_here()).await.map_err(said)?;
    history.stands().await
}

async fn a_cut_keeps_its_version_and_what_is_newer(store: Store) -> Result<(), String> {
    let all = versions(&store, "demo", 7).await?;
    let mut history = all[7].clone();
    for version in [1, 3, 4, 6] {
        all[version].put_checkpoint().await?;
    }
    let newer = history.records(5, 7, 9).await?;
    history.cut(all[4].cut_here()).await.map_err(said)?;
    history.stands().await?;
    ensure!(
        history.records(0, u64::MAX, 9).await? == newer,
        "other records than those behind the cut"
    );
    let kept = vec![all[6].checkpoint(), all[4].checkpoint()];
    ensure_eq!(history.checkpoints().await?, kept, "checkpoints");
    collect(&store, 100).await.map_err(said)?;
    for checkpoint in kept {
        loads(&store, checkpoint.root).await?;
    }
    history.extend(2).await?;
    history.stands().await
}

async fn a_cut_at_the_head_leaves_the_head_as_it_was(store: Store) -> Result<(), String> {
    let all = versions(&store, "demo", 3).await?;
    let mut history = all[3].clone();
    history.put_checkpoint().await?;
    history.cut(history.cut_here()).await.map_err(said)?;
    history.stands().await?;
    ensure_eq!(history.records(0, 9, 9).await?, vec![], "records");
    let stale = history.append(all[2].head, Batch::default()).await;
    ensure_refused!(stale, StoreError::Conflict { .. }, "a stale head");
    history.extend(2).await?;
    history.stands().await?;
    // And once more, behind the first.
    history.put_checkpoint().await?;
    history.cut(history.cut_here()).await.map_err(said)?;
    let known = history.checkpoints().await?;
    ensure_eq!(known, vec![history.checkpoint()], "checkpoints");
    history.stands().await
}

async fn a_cut_can_be_done_again(store: Store) -> Result<(), String> {
    let all = versions(&store, "demo", 3).await?;
    let mut history = all[3].clone();
    all[2].put_checkpoint().await?;
    for _ in 0..2 {
        history.cut(all[2].cut_here()).await.map_err(said)?;
        history.stands().await?;
    }
    // Back to what was cut it cannot go.
    let back = store.cut(&history.base.address, history.epoch, all[1].cut_here());
    ensure_refused!(
        back.await,
        StoreError::BadBatch { .. },
        "a cut further back"
    );
    history.stands().await
}

async fn a_cut_keeps_receipts_and_events(store: Store) -> Result<(), String> {
    let mut history = History::create(&store, "demo").await?;
    let mut written = history.extend(2).await?;
    let more = history.extend(3).await?;
    written.receipts.extend(more.receipts);
    written.events.extend(more.events);
    history.put_checkpoint().await?;
    history.cut(history.cut_here()).await.map_err(said)?;
    for receipt in written.receipts {
        let found = history
            .receipt(&receipt.key.client, &receipt.key.request)
            .await?;
        ensure_eq!(found, Some(receipt), "a receipt");
    }
    let events = history.events(0, 99, false).await?;
    ensure_eq!(events, written.events, "events");
    history.extend(1).await?;
    history.stands().await
}

async fn a_cut_by_an_earlier_owner_is_fenced(store: Store) -> Result<(), String> {
    let mut history = versions(&store, "demo", 2).await?.swap_remove(2);
    history.put_checkpoint().await?;
    let mut old = history.clone();
    history.epoch = store
        .claim(&history.base.address)
        .await
        .map_err(said)?
        .epoch;
    let cut = old.cut(history.cut_here()).await;
    ensure_refused!(cut, StoreError::Fenced { .. }, "an earlier owner's cut");
    // Whatever else is wrong with it.
    let mut base = history.cut_here();
    base.version = 99;
    let cut = old.cut(base).await;
    ensure_refused!(cut, StoreError::Fenced { .. }, "an earlier owner's bad cut");
    history.stands().await?;
    history.cut(history.cut_here()).await.map_err(said)?;
    history.stands().await
}

async fn a_cut_waits_for_the_forks_that_depend_on_what_would_go(
    store: Store,
) -> Result<(), String> {
    let all = versions(&store, "parent", 5).await?;
    let mut parent = all[5].clone();
    let mut child = all[2].fork("child", 2).await?;
    child.extend(2).await?;
    all[4].put_checkpoint().await?;
    // A checkpoint of the child that is not at its base does not help.
    child.put_checkpoint().await?;
    let cut = parent.cut(all[4].cut_here()).await;
    let Err(StoreError::Forked {
        address,
        child: named,
        version,
    }) = cut
    else {
        return Err(format!("a cut that a fork depends on gave {cut:?}"));
    };
    ensure_eq!(
        (address, named, version),
        (
            parent.base.address.clone(),
            child.base.address.clone(),
            child.base.version
        ),
        "what stands in the way"
    );
    parent.stands().await?;
    let at_base = Checkpoint {
        version: child.base.version,
        record: child.base.head(),
        root: child.base.root,
    };
    let whole = part(at_base, 0, all[2].blocks(), true);
    child.put_part(whole).await.map_err(said)?;
    parent.cut(all[4].cut_here()).await.map_err(said)?;
    collect(&store, 100).await.map_err(said)?;
    for history in [&mut parent, &mut child] {
        history.stands().await?;
        history.extend(1).await?;
        history.stands().await?;
    }
    loads(&store, at_base.root).await?;
    Ok(())
}

async fn a_fork_at_the_cut_or_behind_it_does_not_stand_in_the_way(
    store: Store,
) -> Result<(), String> {
    let all = versions(&store, "parent", 4).await?;
    let mut parent = all[4].clone();
    let mut children = vec![all[2].fork("at", 0).await?, all[3].fork("behind", 0).await?];
    all[2].put_checkpoint().await?;
    parent.cut(all[2].cut_here()).await.map_err(said)?;
    collect(&store, 100).await.map_err(said)?;
    for child in &mut children {
        child.extend(1).await?;
        child.stands().await?;
    }
    let forks = store.forks(&parent.base.address, u64::MAX, 9).await;
    ensure_eq!(forks.map_err(said)?.len(), 2, "forks that still depend");
    loads(&store, parent.base.root).await?;
    parent.stands().await
}

async fn a_cut_version_can_be_forked_and_an_older_one_cannot(store: Store) -> Result<(), String> {
    let all = versions(&store, "parent", 4).await?;
    let mut parent = all[4].clone();
    all[2].put_checkpoint().await?;
    parent.cut(all[2].cut_here()).await.map_err(said)?;
    for (version, name) in [(2, "at"), (3, "behind"), (4, "newest")] {
        let mut child = all[version].fork(name, 1).await?;
        child.extend(1).await?;
        child.stands().await?;
    }
    for (version, name) in [(0, "base"), (1, "older")] {
        let base = all[version].forked(name, 1)?;
        let forked = store.insert_base(base, Vec::new(), Batch::default()).await;
        ensure_refused!(
            forked,
            StoreError::BadBatch { .. },
            "a fork at version {version}, which is cut"
        );
        let put = all[version].put_part(part(
            all[version].checkpoint(),
            0,
            all[version].blocks(),
            true,
        ));
        ensure_refused!(
            put.await,
            StoreError::BadBatch { .. },
            "a checkpoint at version {version}, which is cut"
        );
    }
    parent.stands().await
}

async fn a_fork_that_is_cut_keeps_its_thread(store: Store) -> Result<(), String> {
    let parent = versions(&store, "parent", 3).await?.swap_remove(3);
    let mut child = parent.fork("child", 2).await?;
    child.extend(2).await?;
    child.put_checkpoint().await?;
    child.cut(child.cut_here()).await.map_err(said)?;
    ensure!(child.shared.is_some(), "the sample shares no thread");
    child.stands().await?;
    // It depends on its parent's history no more.
    let forks = store.forks(&parent.base.address, u64::MAX, 9).await;
    ensure_eq!(forks.map_err(said)?, vec![], "forks that depend");
    child.extend(1).await?;
    child.stands().await?;
    parent.stands().await
}

async fn forks_are_those_that_depend_by_version_and_address(store: Store) -> Result<(), String> {
    let all = versions(&store, "parent", 4).await?;
    let parent = &all[4];
    let names = [
        (3, "b"),
        (1, "z"),
        (3, "a/b"),
        (3, "a"),
        (0, "k"),
        (3, "a-b"),
        (4, "c"),
    ];
    let mut expected = Vec::new();
    for (version, name) in names {
        let child = all[version].fork(name, 0).await?;
        expected.push(ForkRef {
            child: child.base.address.clone(),
            version: version as u64,
        });
    }
    expected.sort_by(|a, b| (a.version, a.child.as_str()).cmp(&(b.version, b.child.as_str())));
    // Those that do not depend: a fork of a fork, one with a checkpoint at its base, one that is gone,
    // and one of another process.
    let line = all[2].fork("line", 0).await?;
    line.fork("of-a-fork", 0).await?;
    line.put_checkpoint().await?;
    all[1].fork("gone", 0).await?.delete().await.map_err(said)?;
    let other = History::create(&store, "paren").await?;
    other.fork("of-another", 0).await?;

    let forks = async |below: u64, limit: usize| {
        let forks = store.forks(&parent.base.address, below, limit);
        forks.await.map_err(said)
    };
    ensure_eq!(forks(u64::MAX, 99).await?, expected, "all forks");
    for below in 0..6 {
        let before: Vec<_> = expected
            .iter()
            .filter(|fork| fork.version < below)
            .cloned()
            .collect();
        ensure_eq!(forks(below, 99).await?, before, "forks below {below}");
    }
    for limit in 0..5 {
        let first = expected[..limit].to_vec();
        ensure_eq!(forks(u64::MAX, limit).await?, first, "the first {limit}");
    }
    ensure_eq!(
        store
            .forks(&line.base.address, u64::MAX, 9)
            .await
            .map_err(said)?
            .len(),
        1,
        "forks of a fork"
    );
    Ok(())
}
