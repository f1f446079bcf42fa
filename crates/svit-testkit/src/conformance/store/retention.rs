//! Rules about what is kept of events and receipts, and for how long.

use svit_txn::{Batch, Receipt, StoreError};

use super::sample::{History, event, receipt, said};
use super::{Store, checks, ensure, ensure_eq, ensure_refused};

checks! {
    forgotten_events_are_gone_and_numbers_go_on
    all_events_can_be_forgotten
    forgetting_less_than_before_changes_nothing
    a_fork_forgets_only_events_of_its_own
    events_are_forgotten_only_by_the_owner
    pinned_receipts_are_not_evicted
    receipts_that_are_let_go_of_are_evicted_in_the_order_in_which_they_came
    a_message_lets_go_of_its_own_receipts_only
    each_batch_says_how_many_receipts_are_kept
    a_receipt_that_is_replaced_counts_once
}

async fn forgotten_events_are_gone_and_numbers_go_on(store: Store) -> Result<(), String> {
    let mut history = History::create(&store, "demo").await?;
    let mut told = history.extend(6).await?.events;
    for before in [1, 4, 5] {
        history.trim(before).await.map_err(said)?;
        history.stands().await?;
        let kept = history.events(0, 99, false).await?;
        ensure_eq!(kept, told[before as usize..], "events from {before}");
        let newest = history.events(u64::MAX, 99, true).await?;
        ensure!(newest.iter().rev().eq(kept.iter()), "events newest first");
    }
    let repeated = Batch {
        events: vec![event(0)],
        ..Batch::default()
    };
    let refused = history.append(history.head, repeated).await;
    ensure_refused!(refused, StoreError::BadBatch { .. }, "a number once more");
    told.extend(history.extend(2).await?.events);
    history.stands().await?;
    ensure_eq!(history.events(0, 99, false).await?, told[5..], "events");
    Ok(())
}

async fn all_events_can_be_forgotten(store: Store) -> Result<(), String> {
    let mut history = History::create(&store, "demo").await?;
    history.trim(3).await.map_err(said)?;
    history.stands().await?;
    history.extend(3).await?;
    history.trim(u64::MAX).await.map_err(said)?;
    ensure_eq!(
        (history.first_event, history.next_event),
        (3, 3),
        "a sample"
    );
    history.stands().await?;
    for newest_first in [true, false] {
        let found = history.events(3, 9, newest_first).await?;
        ensure_eq!(found, vec![], "events of an empty thread");
    }
    history.extend(1).await?;
    history.stands().await
}

async fn forgetting_less_than_before_changes_nothing(store: Store) -> Result<(), String> {
    let mut history = History::create(&store, "demo").await?;
    history.extend(5).await?;
    for before in [3, 3, 2, 0] {
        history.trim(before).await.map_err(said)?;
        ensure_eq!(history.first_event, 3, "a sample");
        history.stands().await?;
    }
    Ok(())
}

async fn a_fork_forgets_only_events_of_its_own(store: Store) -> Result<(), String> {
    let mut parent = History::create(&store, "parent").await?;
    parent.extend(4).await?;
    let mut child = parent.fork("child", 3).await?;
    child.extend(2).await?;
    child.trim(2).await.map_err(said)?;
    child.stands().await?;
    child.trim(4).await.map_err(said)?;
    child.stands().await?;
    parent.stands().await?;
    parent.trim(1).await.map_err(said)?;
    parent.stands().await?;
    child.stands().await
}

async fn events_are_forgotten_only_by_the_owner(store: Store) -> Result<(), String> {
    let mut history = History::create(&store, "demo").await?;
    history.extend(3).await?;
    let mut old = history.clone();
    history.epoch = store
        .claim(&history.base.address)
        .await
        .map_err(said)?
        .epoch;
    for before in [2, 0] {
        let trimmed = old.trim(before).await;
        ensure_refused!(trimmed, StoreError::Fenced { .. }, "an earlier owner");
    }
    history.stands().await
}

fn pinned(client: &str, request: &str, message: u64) -> Receipt {
    Receipt {
        pinned_by: Some(message),
        ..receipt(client, request)
    }
}

/// Appends receipts, lets go of messages, and keeps so many.
async fn take(
    history: &History,
    receipts: Vec<Receipt>,
    unpin: &[u64],
    max_receipts: u64,
) -> Result<(), String> {
    let batch = Batch {
        receipts,
        unpin: unpin.to_vec(),
        max_receipts,
        ..Batch::default()
    };
    history.append(history.head, batch).await.map_err(said)
}

/// Checks which of a client's receipts are there.
async fn kept(
    history: &History,
    client: &str,
    asked: &[&str],
    kept: &[&str],
) -> Result<(), String> {
    for request in asked {
        let found = history.receipt(client, request).await?.is_some();
        let expected = kept.contains(request);
        ensure_eq!(found, expected, "whether {client}'s {request} is kept");
    }
    Ok(())
}

const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

fn loose(client: &str, names: &[&str]) -> Vec<Receipt> {
    names.iter().map(|name| receipt(client, name)).collect()
}

async fn pinned_receipts_are_not_evicted(store: Store) -> Result<(), String> {
    let history = History::create(&store, "demo").await?;
    let held = pinned("client", "held", 5);
    take(&history, vec![held.clone()], &[], 2).await?;
    for name in NAMES {
        take(&history, loose("client", &[name]), &[], 2).await?;
        let found = history.receipt("client", "held").await?;
        ensure_eq!(found.as_ref(), Some(&held), "the pinned receipt");
    }
    // It does not count.
    kept(&history, "client", &NAMES, &["g", "h"]).await?;
    take(&history, loose("client", &["last"]), &[], 0).await?;
    kept(&history, "client", &["held", "last", "h"], &["held"]).await
}

async fn receipts_that_are_let_go_of_are_evicted_in_the_order_in_which_they_came(
    store: Store,
) -> Result<(), String> {
    let history = History::create(&store, "demo").await?;
    take(&history, loose("client", &["a"]), &[], 9).await?;
    take(&history, vec![pinned("client", "b", 1)], &[], 9).await?;
    take(&history, loose("client", &["c"]), &[], 9).await?;
    take(&history, vec![pinned("client", "d", 2)], &[], 9).await?;
    take(&history, loose("client", &["e"]), &[], 9).await?;
    let names = &NAMES[..5];
    // Three may stay besides d: a goes, which is the oldest.
    take(&history, vec![], &[1], 3).await?;
    kept(&history, "client", names, &["b", "c", "d", "e"]).await?;
    let found = history.receipt("client", "b").await?;
    ensure_eq!(
        found.map(|found| found.pinned_by),
        Some(None),
        "what pins a receipt that is let go of"
    );
    // b is older than c, although it was let go of after c came.
    take(&history, vec![], &[2], 2).await?;
    kept(&history, "client", names, &["d", "e"]).await?;
    take(&history, loose("client", &["f"]), &[], 2).await?;
    kept(&history, "client", &NAMES, &["e", "f"]).await
}

async fn a_message_lets_go_of_its_own_receipts_only(store: Store) -> Result<(), String> {
    let history = History::create(&store, "demo").await?;
    let other = History::create(&store, "other").await?;
    for history in [&history, &other] {
        let all = vec![
            pinned("client", "a", 1),
            pinned("client", "b", 2),
            pinned("second", "c", 2),
            pinned("second", "d", 258),
        ];
        take(history, all, &[], 0).await?;
    }
    take(&history, vec![], &[2, 99], 0).await?;
    kept(&history, "client", &["a", "b"], &["a"]).await?;
    kept(&history, "second", &["c", "d"], &["d"]).await?;
    kept(&other, "client", &["a", "b"], &["a", "b"]).await?;
    kept(&other, "second", &["c", "d"], &["c", "d"]).await?;
    // A receipt and the end of its message in one batch: it is not pinned any more.
    take(&history, vec![pinned("client", "e", 3)], &[3], 0).await?;
    kept(&history, "client", &["a", "e"], &["a"]).await?;
    take(&history, vec![], &[1], 1).await?;
    kept(&history, "client", &["a"], &["a"]).await
}

async fn each_batch_says_how_many_receipts_are_kept(store: Store) -> Result<(), String> {
    let history = History::create(&store, "demo").await?;
    take(&history, loose("client", &NAMES[..6]), &[], 9).await?;
    take(&history, loose("other", &NAMES[..6]), &[], 9).await?;
    kept(&history, "client", &NAMES, &NAMES[..6]).await?;
    take(&history, loose("client", &["g"]), &[], 4).await?;
    kept(&history, "client", &NAMES, &["d", "e", "f", "g"]).await?;
    // A client that the batch does not touch keeps what it has.
    kept(&history, "other", &NAMES, &NAMES[..6]).await?;
    // More may stay again, and a batch may bring more than may stay.
    take(&history, loose("client", &["h"]), &[], 9).await?;
    kept(&history, "client", &NAMES, &NAMES[3..]).await?;
    take(&history, loose("client", &NAMES), &[], 3).await?;
    kept(&history, "client", &NAMES, &NAMES[5..]).await?;
    take(&history, loose("client", &["a"]), &[], 0).await?;
    kept(&history, "client", &NAMES, &[]).await?;
    history.stands().await
}

async fn a_receipt_that_is_replaced_counts_once(store: Store) -> Result<(), String> {
    let history = History::create(&store, "demo").await?;
    take(&history, loose("client", &["a", "b", "c"]), &[], 3).await?;
    // a is the newest now, and b the oldest.
    take(&history, loose("client", &["a"]), &[], 3).await?;
    kept(&history, "client", &NAMES, &["a", "b", "c"]).await?;
    take(&history, loose("client", &["d"]), &[], 3).await?;
    kept(&history, "client", &NAMES, &["a", "c", "d"]).await?;
    // What pinned the one before does not pin the one in its place, and the other way round.
    take(&history, vec![pinned("client", "c", 4)], &[], 3).await?;
    take(&history, loose("client", &["c", "e", "f"]), &[], 2).await?;
    kept(&history, "client", &NAMES, &["e", "f"]).await?;
    take(&history, vec![pinned("client", "e", 4)], &[], 2).await?;
    take(&history, loose("client", &["g", "h"]), &[], 1).await?;
    kept(&history, "client", &NAMES, &["e", "h"]).await?;
    take(&history, vec![], &[4], 2).await?;
    let found = history.receipt("client", "e").await?;
    ensure!(
        found.is_some_and(|found| found.pinned_by.is_none()),
        "a receipt that is let go of"
    );
    kept(&history, "client", &NAMES, &["e", "h"]).await
}
