//! Rules about deletion: nothing is left, and nobody else loses anything.

use svit_txn::{EventQuery, RecordQuery, SharedThread, StoreError};

use super::sample::{History, collect, key, loads, receipt, said};
use super::{Store, checks, ensure, ensure_eq, ensure_refused};

checks! {
    a_deleted_process_is_gone
    a_new_process_shares_nothing_with_a_deleted_one
    a_deletion_by_an_earlier_owner_is_fenced
    an_owner_of_a_deleted_process_is_fenced_from_a_new_one
    a_process_that_a_fork_depends_on_is_not_deleted
    a_deletion_leaves_the_others_alone
    the_events_of_a_deleted_parent_become_its_forks_own
    a_grandchild_shares_what_is_left_with_its_grandparent
    events_that_were_forgotten_are_not_inherited
}

/// A process with something of everything.
async fn full(store: &Store, name: &str) -> Result<History, String> {
    let mut history = History::create(store, name).await?;
    history.extend(3).await?;
    history.put_checkpoint().await?;
    history.set_large(name).await?;
    let mut pinned = receipt("pins", "pinned");
    pinned.pinned_by = Some(7);
    let batch = svit_txn::Batch {
        receipts: vec![pinned, receipt("client", "kept")],
        ..Default::default()
    };
    history.append(history.head, batch).await.map_err(said)?;
    Ok(history)
}

async fn a_deleted_process_is_gone(store: Store) -> Result<(), String> {
    let history = full(&store, "demo").await?;
    history.delete().await.map_err(said)?;
    let address = &history.base.address;
    ensure_refused!(
        store.load(address).await,
        StoreError::NotFound { .. },
        "load"
    );
    ensure_refused!(
        store.claim(address).await,
        StoreError::NotFound { .. },
        "claim"
    );
    let query = RecordQuery {
        from: 0,
        to: 9,
        limit: 9,
    };
    let records = store.records(address, query).await;
    ensure_refused!(records, StoreError::NotFound { .. }, "records");
    let query = EventQuery {
        from: 0,
        limit: 9,
        newest_first: false,
    };
    let events = store.events(address, query).await;
    ensure_refused!(events, StoreError::NotFound { .. }, "events");
    let found = store.receipt(address, &key("client", "kept")).await;
    ensure_refused!(found, StoreError::NotFound { .. }, "receipt");
    let known = store.checkpoints(address, 9, 9).await;
    ensure_refused!(known, StoreError::NotFound { .. }, "checkpoints");
    let again = history.delete().await;
    ensure_refused!(again, StoreError::NotFound { .. }, "another deletion");
    let listed = store.addresses(None, 9).await.map_err(said)?;
    ensure_eq!(listed, vec![], "addresses");
    Ok(())
}

async fn a_new_process_shares_nothing_with_a_deleted_one(store: Store) -> Result<(), String> {
    let old = full(&store, "demo").await?;
    let fork = old.fork("fork", 2).await?;
    fork.put_checkpoint().await?;
    old.delete().await.map_err(said)?;
    let mut new = History::create(&store, "demo").await?;
    new.stands().await?;
    ensure_eq!(new.checkpoints().await?, vec![], "checkpoints");
    for (client, request) in [("client", "kept"), ("pins", "pinned"), ("extended", "3-0")] {
        let found = new.receipt(client, request).await?;
        ensure_eq!(found, None, "the receipt {client} {request}");
    }
    let forks = store.forks(&new.base.address, u64::MAX, 9).await;
    ensure_eq!(forks.map_err(said)?, vec![], "forks");
    collect(&store, 100).await.map_err(said)?;
    loads(&store, new.root).await?;
    // What the old one pinned, and counted, is forgotten too.
    let batch = svit_txn::Batch {
        receipts: vec![receipt("pins", "pinned"), receipt("pins", "second")],
        unpin: vec![7],
        max_receipts: 1,
        ..Default::default()
    };
    new.append(new.head, batch).await.map_err(said)?;
    ensure!(
        new.receipt("pins", "second").await?.is_some(),
        "the newest receipt"
    );
    ensure_eq!(new.receipt("pins", "pinned").await?, None, "an older one");
    new.extend(2).await?;
    new.stands().await?;
    // Nor does the fork of the old one have anything to do with the new one.
    let head = store.load(&fork.base.address).await.map_err(said)?;
    ensure_eq!(head.shared, None, "what the fork shares");
    new.delete().await.map_err(said)?;
    let events = fork.events(0, 9, false).await?;
    ensure_eq!(events.len(), 2, "the fork's events");
    Ok(())
}

async fn a_deletion_by_an_earlier_owner_is_fenced(store: Store) -> Result<(), String> {
    let mut history = History::create(&store, "demo").await?;
    history.extend(1).await?;
    let old = history.clone();
    history.fork("fork", 0).await?;
    history.epoch = store
        .claim(&history.base.address)
        .await
        .map_err(said)?
        .epoch;
    ensure_refused!(
        old.delete().await,
        StoreError::Fenced { .. },
        "an earlier owner's deletion"
    );
    history.stands().await
}

async fn an_owner_of_a_deleted_process_is_fenced_from_a_new_one(
    store: Store,
) -> Result<(), String> {
    // Those who owned one by a claim, and by having made it; and a process in between.
    let mut owners: Vec<History> = Vec::new();
    for claims in [3, 0, 0, 1] {
        let mut new = History::create(&store, "demo").await?;
        for old in &owners {
            fenced(old, &new).await?;
        }
        for _ in 0..claims {
            owners.push(new.clone());
            new.epoch = store.claim(&new.base.address).await.map_err(said)?.epoch;
        }
        for old in &owners {
            fenced(old, &new).await?;
        }
        new.extend(1).await?;
        new.stands().await?;
        new.delete().await.map_err(said)?;
        owners.push(new);
        let other = History::create(&store, "other").await?;
        other.delete().await.map_err(said)?;
    }
    Ok(())
}

/// Checks that who owned `old` can do nothing to `new`, whose head is where that of `old` was.
async fn fenced(old: &History, new: &History) -> Result<(), String> {
    let mut late = new.clone();
    late.epoch = old.epoch;
    let epoch = old.epoch;
    let batch = svit_txn::Batch {
        events: late.tell(1),
        ..Default::default()
    };
    ensure_refused!(
        late.append(late.head, batch).await,
        StoreError::Fenced { .. },
        "events of an owner with epoch {epoch} of a process that is gone"
    );
    let batch = svit_txn::Batch {
        records: late.grow(1)?,
        ..Default::default()
    };
    ensure_refused!(
        late.append(new.head, batch).await,
        StoreError::Fenced { .. },
        "records of an owner with epoch {epoch} of a process that is gone"
    );
    ensure_refused!(
        late.trim(1).await,
        StoreError::Fenced { .. },
        "a trim by an owner with epoch {epoch} of a process that is gone"
    );
    ensure_refused!(
        late.delete().await,
        StoreError::Fenced { .. },
        "a deletion by an owner with epoch {epoch} of a process that is gone"
    );
    new.stands().await
}

async fn a_process_that_a_fork_depends_on_is_not_deleted(store: Store) -> Result<(), String> {
    let mut parent = full(&store, "parent").await?;
    let mut child = parent.fork("child", 1).await?;
    child.extend(1).await?;
    parent.extend(1).await?;
    let deleted = parent.delete().await;
    let Err(StoreError::Forked {
        child: named,
        version,
        ..
    }) = deleted
    else {
        return Err(format!(
            "a deletion that a fork depends on gave {deleted:?}"
        ));
    };
    ensure_eq!(
        (named, version),
        (child.base.address.clone(), child.base.version),
        "what stands in the way"
    );
    parent.stands().await?;
    child.stands().await?;

    // A fork of the fork depends on the fork, and not on its parent.
    let grandchild = child.fork("grandchild", 1).await?;
    child.put_checkpoint().await?;
    child.cut(child.cut_here()).await.map_err(said)?;
    parent.delete().await.map_err(said)?;
    ensure_refused!(
        child.delete().await,
        StoreError::Forked { .. },
        "a deletion that the grandchild depends on"
    );
    collect(&store, 100).await.map_err(said)?;
    loads(&store, child.root).await?;
    grandchild.put_checkpoint().await?;
    child.delete().await.map_err(said)?;
    collect(&store, 100).await.map_err(said)?;
    loads(&store, grandchild.root).await?;
    Ok(())
}

async fn a_deletion_leaves_the_others_alone(store: Store) -> Result<(), String> {
    let mut all = Vec::new();
    for name in ["a", "a/b", "a-b", "ab"] {
        all.push(full(&store, name).await?);
    }
    let fork = all[1].fork("fork", 0).await?;
    fork.delete().await.map_err(said)?;
    all.remove(0).delete().await.map_err(said)?;
    collect(&store, 100).await.map_err(said)?;
    for history in &mut all {
        history.stands().await?;
        loads(&store, history.base.root).await?;
        let known = history.checkpoints().await?;
        ensure_eq!(known.len(), 1, "checkpoints");
        loads(&store, known[0].root).await?;
        ensure!(
            history.receipt("client", "kept").await?.is_some(),
            "the receipt of another process"
        );
        history.extend(1).await?;
        history.stands().await?;
    }
    Ok(())
}

async fn the_events_of_a_deleted_parent_become_its_forks_own(store: Store) -> Result<(), String> {
    let mut parent = History::create(&store, "parent").await?;
    let told = parent.extend(4).await?.events;
    let mut forks = Vec::new();
    for events in [0, 2, 4] {
        let mut fork = parent.fork(&format!("fork-{events}"), events).await?;
        fork.put_checkpoint().await?;
        fork.extend(2).await?;
        forks.push(fork);
    }
    parent.extend(1).await?;
    parent.delete().await.map_err(said)?;
    for (fork, shared) in forks.iter_mut().zip([0, 2, 4]) {
        (fork.first_event, fork.shared) = (0, None);
        fork.stands().await?;
        let events = fork.events(0, 99, false).await?;
        ensure_eq!(events[..shared], told[..shared], "inherited events");
        let newest = fork.events(u64::MAX, 99, true).await?;
        ensure!(
            newest.iter().rev().eq(events.iter()),
            "the same events newest first"
        );
        fork.extend(1).await?;
        fork.stands().await?;
    }
    Ok(())
}

async fn a_grandchild_shares_what_is_left_with_its_grandparent(store: Store) -> Result<(), String> {
    let mut parent = History::create(&store, "parent").await?;
    parent.extend(3).await?;
    let mut child = parent.fork("child", 2).await?;
    child.put_checkpoint().await?;
    child.extend(3).await?;
    // One that shares events of both, and one that shares only the grandparent's.
    let mut both = child.fork("both", 4).await?;
    let mut one = child.fork("one", 1).await?;
    for fork in [&mut both, &mut one] {
        fork.put_checkpoint().await?;
        fork.extend(1).await?;
    }
    let own = child.events(2, 2, false).await?;
    child.delete().await.map_err(said)?;
    let with_parent = |events| {
        Some(SharedThread {
            parent: parent.base.address.clone(),
            events,
        })
    };
    (both.first_event, both.shared) = (2, with_parent(2));
    one.shared = with_parent(1);
    both.stands().await?;
    one.stands().await?;
    ensure_eq!(both.events(2, 2, false).await?, own, "inherited events");

    let told = parent.events(0, 2, false).await?;
    parent.delete().await.map_err(said)?;
    for (fork, shared) in [(&mut both, 2), (&mut one, 1)] {
        (fork.first_event, fork.shared) = (0, None);
        fork.stands().await?;
        let events = fork.events(0, shared, false).await?;
        ensure_eq!(events[..], told[..shared], "inherited events");
        fork.extend(1).await?;
        fork.stands().await?;
    }
    Ok(())
}

async fn events_that_were_forgotten_are_not_inherited(store: Store) -> Result<(), String> {
    let mut parent = History::create(&store, "parent").await?;
    parent.extend(4).await?;
    let mut late = parent.fork("late", 3).await?;
    late.extend(3).await?;
    let mut child = parent.fork("child", 3).await?;
    for fork in [&late, &child] {
        parent
            .at(fork.base.clone(), fork.epoch)
            .put_checkpoint()
            .await?;
    }
    // By the parent; and by a fork that forgot events of its own, which stand behind the shared ones.
    parent.trim(2).await.map_err(said)?;
    late.trim(4).await.map_err(said)?;
    parent.delete().await.map_err(said)?;
    (child.first_event, child.shared) = (2, None);
    child.stands().await?;
    late.shared = None;
    late.stands().await
}
