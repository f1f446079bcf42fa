//! Checkpoints in parts, cuts and deletions as this store does them: in pieces, beside commits, and
//! across a crash. The rules that every store keeps are in the conformance suite.

use svit_store_turso::TursoProcessStore;
use svit_txn::{Batch, EventQuery, ProcessStore};

use crate::common::{Place, code, crashed_copy, open, place};
use crate::grown::{Grown, collect};

/// A process of a few hundred blocks with three checkpoints, and its store.
async fn three() -> (Place, TursoProcessStore, Grown) {
    let place = place();
    let store = open(&place.path).await;
    let mut one = Grown::create("one", 2_000, &store).await;
    for round in 0..3 {
        for key in 0..5 {
            one.set(round * 100 + key, &store).await.unwrap();
        }
        one.checkpoint(&store).await.unwrap();
    }
    (place, store, one)
}

#[tokio::test]
async fn a_checkpoint_adds_only_what_is_new_and_survives_a_reopen() {
    let (place, store, one) = three().await;
    let blocks = store.stats().await.unwrap().blocks;
    let all = crate::grown::blocks(one.state()).len() as u64;
    assert!(blocks < all + 300, "{blocks} blocks, {all} of one state");
    store.close().await.unwrap();
    let store = open(&place.path).await;
    one.model.check(&store).await.unwrap();
    one.check_blocks(&store).await.unwrap();
    let found = store.verify().await.unwrap();
    assert!(found.is_whole(), "{found:?}");
    assert_eq!(
        (found.checkpoints, found.unreachable, found.leftovers),
        (3, 0, 0)
    );
    assert_eq!(store.stats().await.unwrap().checkpoints, 3);
}

#[tokio::test]
async fn a_checkpoint_that_a_crash_interrupts_is_forgotten_and_collected() {
    let (place, store, mut one) = three().await;
    one.set(7, &store).await.unwrap();
    let version = one.model.version;
    let parts = one.parts(version, None, 20);
    let count = parts.len();
    assert!(count > 3);
    for part in parts.iter().take(count - 1).cloned() {
        store
            .put_checkpoint(one.model.address(), part)
            .await
            .unwrap();
    }
    // While the store is open it can go on, whatever is collected meanwhile.
    assert_eq!(store.stats().await.unwrap().unfinished_checkpoints, 1);
    assert_eq!(collect(&store, 50).await, 0);
    let crashed = crashed_copy(&place.path);
    let last = parts[count - 1].clone();
    store
        .put_checkpoint(one.model.address(), last.clone())
        .await
        .unwrap();
    one.whole.insert(version);
    one.check_blocks(&store).await.unwrap();
    assert_eq!(store.stats().await.unwrap().unfinished_checkpoints, 0);

    // After a crash it cannot, and what it left is garbage.
    let store = open(&crashed.path).await;
    one.whole.remove(&version);
    let late = store.put_checkpoint(one.model.address(), last).await;
    assert_eq!(code(late), "bad_batch");
    let found = store.verify().await.unwrap();
    assert!(found.is_whole() && found.unreachable > 0, "{found:?}");
    assert_eq!(collect(&store, 50).await, found.unreachable);
    assert_eq!(store.verify().await.unwrap().unreachable, 0);
    one.model.check(&store).await.unwrap();
    one.check_blocks(&store).await.unwrap();
}

#[tokio::test]
async fn a_cut_is_whole_at_once_and_its_rows_go_later_if_a_crash_interrupts() {
    let place = place();
    let store = open(&place.path).await;
    let mut one = Grown::create("one", 50, &store).await;
    // More than one piece of rows.
    for key in 0..1_300 {
        one.set(key % 60, &store).await.unwrap();
    }
    one.checkpoint(&store).await.unwrap();
    let version = one.model.version;
    for key in 0..3 {
        one.set(key, &store).await.unwrap();
    }
    // The newest 1,024 are kept.
    let old = one.model.receipts.len() - 1_024;
    one.model.receipts.drain(..old);
    let base = one.cut_base(version);
    // Only the first step of the cut: the future is dropped while the rest is done.
    let (address, epoch) = (one.model.address().clone(), one.model.epoch);
    let started = Box::pin(store.cut(&address, epoch, base.clone()));
    let waited = tokio::time::timeout(std::time::Duration::ZERO, started).await;
    assert!(waited.is_err(), "it was dropped under way");
    while store.load(&address).await.unwrap().base != base {
        tokio::task::yield_now().await;
    }
    let before = one.clone();
    one.landed_cut(base);
    one.model.check(&store).await.unwrap();
    store.close().await.unwrap();

    let store = open(&place.path).await;
    one.model.check(&store).await.unwrap();
    let found = store.verify().await.unwrap();
    assert!(found.is_whole() && found.leftovers > 0, "{found:?}");
    // A version that was cut off is no version, though its row is still there.
    let fork = before.fork("fork", version - 1, &store).await;
    assert_eq!(code(fork.map(drop)), "bad_batch");
    let part = before.parts(version - 1, None, usize::MAX).remove(0);
    let late = store.put_checkpoint(one.model.address(), part).await;
    assert_eq!(code(late), "bad_batch");
    let fork = one.fork("fork", version, &store).await.unwrap();
    fork.model.check(&store).await.unwrap();
    collect(&store, 1_000).await;
    let found = store.verify().await.unwrap();
    assert!(found.is_whole() && found.leftovers == 0, "{found:?}");
    one.model.check(&store).await.unwrap();
    one.check_blocks(&store).await.unwrap();
    one.set(1, &store).await.unwrap();
    one.model.receipts.remove(0);
    one.model.check(&store).await.unwrap();
}

#[tokio::test]
async fn commits_go_on_between_the_pieces_of_a_cut_and_of_a_collection() {
    let (_place, store, mut one) = three().await;
    let mut other = Grown::create("other", 10, &store).await;
    let version = *one.whole.iter().next_back().unwrap();
    let (cut_store, address) = (store.clone(), one.model.address().clone());
    let (epoch, base) = (one.model.epoch, one.cut_base(version));
    let cut = tokio::spawn(async move {
        cut_store.cut(&address, epoch, base).await.unwrap();
        collect(&cut_store, 20).await
    });
    let mut commits = 0;
    while !cut.is_finished() {
        other.set(commits % 7, &store).await.unwrap();
        commits += 1;
    }
    assert!(cut.await.unwrap() > 0);
    assert!(commits > 10, "{commits} commits meanwhile");
    one.landed_cut(one.cut_base(version));
    for grown in [&one, &other] {
        grown.model.check(&store).await.unwrap();
        grown.check_blocks(&store).await.unwrap();
    }
}

#[tokio::test]
async fn a_deleted_parent_leaves_its_children_whole_in_every_generation() {
    let (place, store, mut one) = three().await;
    let at = one.model.version;
    let mut child = one.fork("child", at, &store).await.unwrap();
    for key in 0..3 {
        child.set(key, &store).await.unwrap();
    }
    let mut grandchild = child
        .fork("grandchild", child.model.version, &store)
        .await
        .unwrap();
    grandchild.set(9, &store).await.unwrap();
    let delete = async |store: &TursoProcessStore, grown: &Grown| {
        store.delete(grown.model.address(), grown.model.epoch).await
    };
    assert_eq!(code(delete(&store, &child).await), "forked");
    assert_eq!(code(delete(&store, &one).await), "forked");

    // The middle one first: its child then shares with its parent's parent.
    let version = grandchild.model.base.version;
    for part in grandchild.parts(version, Some((&one, at)), 5) {
        store
            .put_checkpoint(grandchild.model.address(), part)
            .await
            .unwrap();
    }
    grandchild.whole.insert(version);
    delete(&store, &child).await.unwrap();
    assert_eq!(code(store.load(child.model.address()).await), "not_found");
    let head = store.load(grandchild.model.address()).await.unwrap();
    let shared = head.shared.unwrap();
    assert_eq!(&shared.parent, one.model.address());
    assert_eq!(shared.events, one.model.next_event);
    assert_eq!(head.first_event, one.model.next_event);
    delete(&store, &one).await.unwrap();
    let head = store.load(grandchild.model.address()).await.unwrap();
    assert_eq!((head.first_event, head.shared), (0, None));

    store.close().await.unwrap();
    let store = open(&place.path).await;
    let events = EventQuery {
        from: 0,
        limit: usize::MAX,
        newest_first: false,
    };
    let found = store.events(grandchild.model.address(), events).await;
    let mut wanted = one.model.events.clone();
    wanted.extend(child.model.events.iter().cloned());
    wanted.extend(grandchild.model.events.iter().cloned());
    assert_eq!(found.unwrap(), wanted);
    grandchild.model.events = wanted;
    collect(&store, 64).await;
    grandchild.model.check(&store).await.unwrap();
    grandchild.check_blocks(&store).await.unwrap();
    let found = store.verify().await.unwrap();
    assert!(found.is_whole(), "{found:?}");
    assert_eq!((found.processes, found.forks, found.unreachable), (1, 0, 0));
    // The names are free again.
    one = Grown::create("one", 3, &store).await;
    one.model.check(&store).await.unwrap();
    grandchild.set(1, &store).await.unwrap();
}

#[tokio::test]
async fn a_backup_holds_checkpoints_forks_and_what_was_cut() {
    let (place, store, mut one) = three().await;
    let at = one.model.version;
    let fork = one.fork("fork", at, &store).await.unwrap();
    one.cut(at, &store).await.unwrap();
    one.set(1, &store).await.unwrap();
    let backup = place.folder.path().join("backup.db");
    let verified = store.backup(&backup).await.unwrap();
    assert_eq!((verified.checkpoints, verified.forks), (1, 1));
    let restored = place.folder.path().join("restored.db");
    TursoProcessStore::restore(&backup, &restored)
        .await
        .unwrap();
    let store = open(&restored).await;
    for grown in [&one, &fork] {
        grown.model.check(&store).await.unwrap();
        grown.check_blocks(&store).await.unwrap();
    }
}

#[tokio::test]
async fn an_import_starts_at_a_checkpoint() {
    let (place, store, mut one) = three().await;
    let version = one.model.version;
    let base = one.cut_base(version);
    let other = crate::common::place();
    let second = open(&other.path).await;
    let epoch = second
        .insert_base(
            base.clone(),
            crate::grown::blocks(one.state()),
            Batch::default(),
        )
        .await
        .unwrap();
    one.landed_cut(base);
    one.whole.clear();
    (one.model.next_event, one.model.epoch) = (0, epoch);
    one.model.events.clear();
    one.model.receipts.clear();
    one.set(3, &second).await.unwrap();
    one.checkpoint(&second).await.unwrap();
    one.model.check(&second).await.unwrap();
    one.check_blocks(&second).await.unwrap();
    assert!(second.verify().await.unwrap().is_whole());
    drop((place, store));
}
