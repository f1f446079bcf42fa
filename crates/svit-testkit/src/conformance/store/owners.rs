//! Rules about who may write: the last one that claimed.

use futures_lite::future;
use svit_txn::{Batch, StoreError};
use svit_value::Digest;

use super::sample::{History, event, receipt, said};
use super::{Store, checks, ensure, ensure_eq, ensure_refused};

checks! {
    a_claim_raises_the_epoch_and_changes_nothing_else
    an_earlier_owner_is_fenced_whatever_it_appends
    an_epoch_that_nobody_has_yet_is_fenced
    of_two_claims_the_last_one_owns
    a_claim_of_one_process_leaves_the_others_alone
}

async fn a_claim_raises_the_epoch_and_changes_nothing_else(store: Store) -> Result<(), String> {
    let mut history = History::create(&store, "demo").await?;
    history.extend(2).await?;
    for _ in 0..3 {
        let head = store.claim(&history.base.address).await.map_err(said)?;
        ensure!(
            head.epoch > history.epoch,
            "{} after {}",
            head.epoch,
            history.epoch
        );
        history.epoch = head.epoch;
        ensure_eq!(head, history.expected(), "the claimed head");
        history.stands().await?;
    }
    history.extend(1).await?;
    history.stands().await
}

async fn an_earlier_owner_is_fenced_whatever_it_appends(store: Store) -> Result<(), String> {
    let mut history = History::create(&store, "demo").await?;
    history.extend(1).await?;
    let mut old = history.clone();
    history.epoch = store
        .claim(&history.base.address)
        .await
        .map_err(said)?
        .epoch;
    let head = history.head;
    let batches = [
        (
            head,
            Batch {
                records: old.grow(1)?,
                ..Batch::default()
            },
            "records",
        ),
        (
            head,
            Batch {
                events: vec![event(1)],
                ..Batch::default()
            },
            "events",
        ),
        (
            head,
            Batch {
                receipts: vec![receipt("client", "old")],
                ..Batch::default()
            },
            "receipts",
        ),
        (
            head,
            Batch {
                events: vec![event(9)],
                ..Batch::default()
            },
            "a bad batch",
        ),
        (Digest::of(b"no head"), Batch::default(), "a stale head"),
        (head, Batch::default(), "nothing"),
    ];
    for (expected, batch, what) in batches {
        let refused = old.append(expected, batch).await;
        let Err(StoreError::Fenced { epoch, actual, .. }) = refused else {
            return Err(format!("{what} of an earlier owner gave {refused:?}"));
        };
        ensure_eq!((epoch, actual), (old.epoch, history.epoch), "the epochs");
        history.stands().await?;
    }
    ensure_eq!(history.receipt("client", "old").await?, None, "the receipt");
    history.extend(1).await?;
    history.stands().await
}

async fn an_epoch_that_nobody_has_yet_is_fenced(store: Store) -> Result<(), String> {
    let mut history = History::create(&store, "demo").await?;
    let right = history.epoch;
    for wrong in [0, right + 1, u64::MAX] {
        history.epoch = wrong;
        let refused = history.append(history.head, Batch::default()).await;
        ensure_refused!(refused, StoreError::Fenced { .. }, "epoch {wrong}");
    }
    history.epoch = right;
    history.stands().await
}

async fn of_two_claims_the_last_one_owns(store: Store) -> Result<(), String> {
    let mut history = History::create(&store, "demo").await?;
    let address = history.base.address.clone();
    let (a, b) = future::zip(store.claim(&address), store.claim(&address)).await;
    let (a, b) = (a.map_err(said)?.epoch, b.map_err(said)?.epoch);
    ensure!(a != b, "two owners of epoch {a}");
    history.epoch = a.min(b);
    let refused = history.append(history.head, Batch::default()).await;
    ensure_refused!(refused, StoreError::Fenced { .. }, "the earlier one");
    history.epoch = a.max(b);
    history.extend(1).await?;
    history.stands().await
}

async fn a_claim_of_one_process_leaves_the_others_alone(store: Store) -> Result<(), String> {
    let mut parent = History::create(&store, "parent").await?;
    let base = parent.forked("child", 0)?;
    let inserted = store.insert_base(base.clone(), Vec::new(), Batch::default());
    let mut child = parent.at(base, inserted.await.map_err(said)?);
    child.epoch = store.claim(&child.base.address).await.map_err(said)?.epoch;
    parent.extend(1).await?;
    child.extend(1).await?;
    parent.stands().await?;
    child.stands().await
}
