//! A crash between any two pieces of a deletion, and a new process of the same address there.

use std::path::Path;
use std::sync::Arc;

use svit_txn::{
    Base, BaseKind, Batch, CheckpointRef, EventQuery, ProcessStore, RecordQuery, StoreError,
};

use super::*;
use crate::TursoProcessStore;
use crate::cut::tests::{One, Small, created, root};
use crate::prepared::{self, Write};

const EVENTS: EventQuery = EventQuery {
    from: 0,
    limit: usize::MAX,
    newest_first: false,
};

/// A fork of a process at its newest version, which depends on it no more.
fn fork(small: &mut Small, parent: &One, name: &str, events: u64) -> One {
    let base = Base {
        address: Address::parse(&format!("svit://local/{name}")).unwrap(),
        version: parent.version,
        root: root().digest,
        kind: BaseKind::Forked {
            parent: parent.address.clone(),
            record: parent.digest,
            events,
        },
    };
    let child = small.create(base);
    let since = CheckpointRef {
        address: parent.address.clone(),
        version: 0,
        root: root().digest,
    };
    small.checkpoint(&child, Some(since));
    child
}

/// The numbers of all events of a child: those that it shares, and its own.
async fn seqs(store: &TursoProcessStore, child: &One) -> Vec<u64> {
    let head = store.load(&child.address).await.unwrap();
    let mut seqs = Vec::new();
    if let Some(shared) = &head.shared
        && head.first_event == shared.events
    {
        let above = store.events(&shared.parent, EVENTS).await.unwrap();
        seqs.extend(
            above
                .iter()
                .map(|it| it.seq)
                .filter(|seq| *seq < shared.events),
        );
    }
    let own = store.events(&child.address, EVENTS).await.unwrap();
    seqs.extend(own.iter().map(|event| event.seq));
    seqs
}

fn digest_after(one: &One, count: u64) -> Vec<u64> {
    (0..one.events + count).collect()
}

/// Opens what a crash has left. Gives how many rows a deletion has left there.
async fn look(path: &Path, gone: Option<&One>, children: &[&One]) -> u64 {
    let store = TursoProcessStore::open(path).await.unwrap();
    let found = store.verify().await.unwrap();
    assert!(found.is_whole(), "{found:?}");
    for child in children {
        assert_eq!(
            seqs(&store, child).await,
            digest_after(child, 0),
            "{}",
            child.address
        );
    }
    let Some(old) = gone else {
        let head = store.load(&children[0].address).await.unwrap();
        assert_eq!(head.digest, children[0].digest);
        return found.leftovers;
    };
    let missing = store.load(&old.address).await;
    assert!(
        matches!(missing, Err(StoreError::NotFound { .. })),
        "{missing:?}"
    );
    // A collection finds what the crash has left, without anybody who knows the address.
    let cleaned = path.with_extension("cleaned");
    store.backup(&cleaned).await.unwrap();
    let other = TursoProcessStore::open(&cleaned).await.unwrap();
    while !other.collect(64).await.unwrap().done {}
    let verified = other.verify().await.unwrap();
    assert!(verified.is_whole(), "{verified:?}");
    assert_eq!(verified.leftovers, 0);
    again(&store, old, children).await;
    found.leftovers
}

/// Makes a new process of the address, and sees that nothing of the old one is in it.
async fn again(store: &TursoProcessStore, old: &One, children: &[&One]) {
    let base = Base {
        address: old.address.clone(),
        ..created("one")
    };
    let (address, head) = (base.address.clone(), base.head());
    let epoch = store
        .insert_base(base, vec![root()], Batch::default())
        .await
        .unwrap();
    assert!(epoch > old.epoch, "{epoch} after {}", old.epoch);
    let all = RecordQuery {
        from: 0,
        to: u64::MAX,
        limit: usize::MAX,
    };
    assert_eq!(store.records(&address, all).await.unwrap(), []);
    assert_eq!(store.events(&address, EVENTS).await.unwrap(), []);
    assert_eq!(store.checkpoints(&address, u64::MAX, 9).await.unwrap(), []);
    for version in 0..old.version {
        let found = store.receipt(&address, &old.key(version)).await.unwrap();
        assert_eq!(found, None);
    }
    let mut new = One {
        epoch,
        version: 0,
        digest: head,
        events: 0,
        ..old.clone()
    };
    let batch = new.batch();
    let late = store.append(&address, head, old.epoch, batch.clone()).await;
    assert!(matches!(late, Err(StoreError::Fenced { .. })), "{late:?}");
    store
        .append(&address, head, epoch, batch.clone())
        .await
        .unwrap();
    new.digest = batch.records[0].digest;
    assert_eq!(store.load(&address).await.unwrap().digest, new.digest);
    let found = store.verify().await.unwrap();
    assert!(found.is_whole(), "{found:?}");
    assert_eq!(found.leftovers, 0);
    for child in children {
        assert_eq!(seqs(store, child).await, digest_after(child, 0));
    }
}

#[tokio::test]
async fn a_deletion_goes_in_pieces_and_may_be_cut_short_at_each() {
    let mut small = Small::new();
    let mut one = small.create(created("one"));
    small.grow(&mut one, 1);
    small.checkpoint(&one, None);
    small.grow(&mut one, 799);
    let mut child = fork(&mut small, &one, "child", 790);
    small.grow(&mut child, 2);
    let late = fork(&mut small, &one, "late", 600);
    let none = fork(&mut small, &one, "none", 0);
    let mut other = small.create(created("other"));
    let children = [&child, &late, &none];
    let delete = || Write::Delete {
        address: one.address.clone(),
        epoch: one.epoch,
    };
    let purge = || Write::Purge {
        address: one.address.clone(),
    };

    let mut pieces = Vec::new();
    loop {
        let (written, rows) = small.piece(delete());
        pieces.push(rows);
        let is_done = matches!(written.unwrap(), Written::Done);
        let crashed = small.crash(&format!("handed-over-{}.db", pieces.len()));
        let left = look(&crashed, is_done.then_some(&one), &children).await;
        assert_eq!(left > 0, is_done);
        // Others have their turn.
        small.grow(&mut other, 1);
        if is_done {
            break;
        }
    }
    assert!(pieces.iter().all(|rows| *rows < 2 * PIECE), "{pieces:?}");
    assert_eq!(pieces.iter().sum::<u64>(), 790 + 600);
    assert!(pieces.len() > 2, "{pieces:?}");

    let mut removed = Vec::new();
    loop {
        let (written, rows) = small.piece(purge());
        removed.push(rows);
        let more = matches!(written.unwrap(), Written::More(true));
        let crashed = small.crash(&format!("purged-{}.db", removed.len()));
        let left = look(&crashed, Some(&one), &children).await;
        assert_eq!(left > 0, more, "{left} rows left");
        small.grow(&mut other, 1);
        if !more {
            break;
        }
    }
    assert!(removed.iter().all(|rows| *rows < PIECE + 3), "{removed:?}");
    // Records, two paths of each, receipts, events, a checkpoint and the base.
    assert_eq!(removed.iter().sum::<u64>(), 800 * 5 + 2);
}

#[tokio::test]
async fn a_process_can_be_made_again_before_any_row_of_the_old_one_has_gone() {
    let mut small = Small::new();
    let mut one = small.create(created("one"));
    small.grow(&mut one, 300);
    let delete = Write::Delete {
        address: one.address.clone(),
        epoch: one.epoch,
    };
    small.commit(delete).unwrap();
    // Somebody who does not wait for the rows to go is told so, and has changed nothing.
    let start = prepared::start(created("one"), vec![root()], Batch::default()).unwrap();
    let (written, rows) = small.piece(Write::Start(Arc::new(start)));
    assert!(matches!(written, Ok(Written::More(true))), "{written:?}");
    assert_eq!(rows, 0);
    look(&small.crash("crashed.db"), Some(&one), &[]).await;
}

#[test]
fn a_checkpoint_that_a_deletion_has_left_is_none_to_build_on() {
    let mut small = Small::new();
    let mut one = small.create(created("one"));
    small.grow(&mut one, 1);
    small.checkpoint(&one, None);
    let other = small.create(created("other"));
    let delete = Write::Delete {
        address: one.address.clone(),
        epoch: one.epoch,
    };
    small.commit(delete).unwrap();
    assert_eq!(small.rows()[4], 1);
    let part = svit_txn::CheckpointPart {
        checkpoint: svit_txn::Checkpoint {
            version: 0,
            record: other.digest,
            root: root().digest,
        },
        since: Some(CheckpointRef {
            address: one.address.clone(),
            version: one.version,
            root: root().digest,
        }),
        index: 0,
        blocks: Vec::new(),
        last: true,
    };
    let (address, part) = (other.address.clone(), Box::new(part));
    let refused = small.commit(Write::Part { address, part });
    assert!(
        matches!(refused, Err(StoreError::BadBatch { .. })),
        "{refused:?}"
    );
}

#[test]
fn epochs_of_one_batch_pass_each_other_neither() {
    let mut small = Small::new();
    let start = || {
        let start = prepared::start(created("one"), vec![root()], Batch::default());
        Write::Start(Arc::new(start.unwrap()))
    };
    let address = created("one").address;
    let claim = || Write::Claim {
        address: address.clone(),
    };
    let mut newest = 0;
    for claims in [3, 0, 7, 1] {
        let mut writes = vec![start()];
        writes.extend((0..claims).map(|_| claim()));
        for written in small.session.commit(&writes) {
            let epoch = match written.unwrap() {
                Written::Epoch(epoch) => epoch,
                Written::Head(head) => head.epoch,
                other => panic!("{other:?}"),
            };
            assert!(epoch > newest, "{epoch} after {newest}");
            newest = epoch;
        }
        let delete = Write::Delete {
            address: address.clone(),
            epoch: newest,
        };
        let purge = || Write::Purge {
            address: address.clone(),
        };
        // The next one is made in the batch in which the rows of this one go.
        let mut last = small
            .session
            .commit(&[delete, purge(), purge(), start(), claim()]);
        let Some(Ok(Written::Head(head))) = last.pop() else {
            panic!("{last:?}");
        };
        assert!(head.epoch > newest, "{} after {newest}", head.epoch);
        newest = head.epoch;
        let delete = Write::Delete {
            address: address.clone(),
            epoch: newest,
        };
        assert!(
            small
                .session
                .commit(&[delete, purge()])
                .iter()
                .all(Result::is_ok)
        );
    }
}
