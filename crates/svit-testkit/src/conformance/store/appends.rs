//! Rules about what an append adds, and that a refused one adds nothing.

use futures_lite::future;
use svit_txn::{Batch, StoreError};
use svit_value::Digest;

use super::sample::{History, event, receipt, said};
use super::{Store, checks, ensure, ensure_eq, ensure_refused};

checks! {
    an_append_lands_as_a_whole
    a_batch_may_lack_anything
    a_batch_of_many_records_moves_the_head_to_the_last
    a_large_record_and_a_large_event_are_kept
    a_stale_head_is_a_conflict_that_names_the_actual_one
    records_that_do_not_follow_are_refused_with_their_batch
    events_that_do_not_follow_are_refused_with_their_batch
    of_two_appends_to_one_head_exactly_one_lands
    processes_do_not_touch_each_other
    a_dropped_append_is_there_whole_or_not_at_all
}

async fn an_append_lands_as_a_whole(store: Store) -> Result<(), String> {
    let mut history = History::create(&store, "demo").await?;
    for _ in 0..3 {
        let batch = history.extend(1).await?;
        history.stands().await?;
        let version = history.version;
        let records = history.records(version, version, 9).await?;
        ensure_eq!(records, batch.records, "the record");
        let events = history.events(history.next_event - 1, 9, false).await?;
        ensure_eq!(events, batch.events, "the event");
        for receipt in batch.receipts {
            let found = history
                .receipt(&receipt.key.client, &receipt.key.request)
                .await?;
            ensure_eq!(found, Some(receipt), "the receipt");
        }
    }
    Ok(())
}

async fn a_batch_may_lack_anything(store: Store) -> Result<(), String> {
    let mut history = History::create(&store, "demo").await?;
    let nothing = history.append(history.head, Batch::default()).await;
    nothing.map_err(said)?;
    history.stands().await?;

    let events = Batch {
        events: history.tell(2),
        ..Batch::default()
    };
    history.append(history.head, events).await.map_err(said)?;
    history.stands().await?;

    let kept = receipt("client", "rejected");
    let receipts = Batch {
        receipts: vec![kept.clone()],
        ..Batch::default()
    };
    history.append(history.head, receipts).await.map_err(said)?;
    history.stands().await?;
    ensure_eq!(
        history.receipt("client", "rejected").await?,
        Some(kept),
        "the receipt"
    );

    let expected = history.head;
    let records = Batch {
        records: history.grow(1)?,
        ..Batch::default()
    };
    history.append(expected, records).await.map_err(said)?;
    history.stands().await
}

async fn a_batch_of_many_records_moves_the_head_to_the_last(store: Store) -> Result<(), String> {
    let mut history = History::create(&store, "demo").await?;
    let batch = history.extend(300).await?;
    history.stands().await?;
    let found = history.records(1, 300, usize::MAX).await?;
    ensure!(found == batch.records, "300 records came back changed");
    let found = history.events(0, usize::MAX, false).await?;
    ensure!(found == batch.events, "300 events came back changed");
    Ok(())
}

async fn a_large_record_and_a_large_event_are_kept(store: Store) -> Result<(), String> {
    let mut history = History::create(&store, "demo").await?;
    let expected = history.head;
    let text = "large \u{1F980}".repeat(200_000);
    let mut events = history.tell(1);
    if let Some(event) = events.first_mut() {
        event.body = text.as_str().into();
    }
    let batch = Batch {
        records: vec![history.record(&text)?],
        events,
        receipts: vec![svit_txn::Receipt {
            outcome: text.as_str().into(),
            ..receipt("client", "large")
        }],
        ..Batch::default()
    };
    history
        .append(expected, batch.clone())
        .await
        .map_err(said)?;
    history.stands().await?;
    ensure!(
        history.records(1, 1, 1).await? == batch.records,
        "the record changed"
    );
    ensure!(
        history.events(0, 1, false).await? == batch.events,
        "the event changed"
    );
    let found = history.receipt("client", "large").await?;
    ensure!(
        found.as_ref() == batch.receipts.first(),
        "the receipt changed"
    );
    Ok(())
}

async fn a_stale_head_is_a_conflict_that_names_the_actual_one(store: Store) -> Result<(), String> {
    let mut history = History::create(&store, "demo").await?;
    let (before, stale) = (history.clone(), history.head);
    history.extend(1).await?;
    let mut late = before;
    let batch = Batch {
        records: late.grow(1)?,
        events: vec![event(history.next_event)],
        receipts: vec![receipt("client", "late")],
        ..Batch::default()
    };
    let refused = history.append(stale, batch).await;
    let Err(StoreError::Conflict {
        expected,
        actual,
        version,
        ..
    }) = refused
    else {
        return Err(format!("a stale head gave {refused:?}"));
    };
    ensure_eq!((expected, actual), (stale, history.head), "the digests");
    ensure_eq!(version, history.version, "the version");
    ensure_eq!(
        history.receipt("client", "late").await?,
        None,
        "the receipt"
    );
    history.stands().await?;

    let unknown = Digest::of(b"no head");
    let events = Batch {
        events: vec![event(history.next_event)],
        ..Batch::default()
    };
    let refused = history.append(unknown, events).await;
    ensure_refused!(
        refused,
        StoreError::Conflict { .. },
        "events behind no head"
    );
    history.stands().await
}

async fn records_that_do_not_follow_are_refused_with_their_batch(
    store: Store,
) -> Result<(), String> {
    let mut history = History::create(&store, "demo").await?;
    history.extend(2).await?;
    let mut ahead = history.clone();
    let records = ahead.grow(3)?;
    let [first, second, third] = &records[..] else {
        return Err("no three records".to_owned());
    };
    let mut other_body = first.clone();
    other_body.body.push(0);
    let mut other_digest = first.clone();
    other_digest.digest = Digest::of(b"another");
    let mut other_version = first.clone();
    other_version.version += 1;
    let mut other_previous = first.clone();
    other_previous.previous = Digest::of(b"another");
    let clones = |records: &[&svit_txn::StoredRecord]| records.iter().map(|&r| r.clone()).collect();
    let rows: [(Vec<_>, &str); 8] = [
        (clones(&[second]), "one version is missing"),
        (clones(&[first, third]), "a gap inside"),
        (clones(&[second, first]), "the wrong order"),
        (clones(&[first, first]), "one twice"),
        (vec![other_body], "a body of another digest"),
        (vec![other_digest], "a digest of another body"),
        (vec![other_version], "another version"),
        (vec![other_previous], "another record before it"),
    ];
    for (records, what) in rows {
        let batch = Batch {
            records,
            events: vec![event(history.next_event)],
            receipts: vec![receipt("client", "refused")],
            ..Batch::default()
        };
        let refused = history.append(history.head, batch).await;
        ensure_refused!(refused, StoreError::BadBatch { .. }, "{what}");
        ensure_eq!(
            history.receipt("client", "refused").await?,
            None,
            "{what}: the receipt"
        );
        history.stands().await?;
    }
    let expected = history.head;
    let batch = Batch {
        records,
        ..Batch::default()
    };
    history.append(expected, batch).await.map_err(said)?;
    ahead.stands().await
}

async fn events_that_do_not_follow_are_refused_with_their_batch(
    store: Store,
) -> Result<(), String> {
    let mut history = History::create(&store, "demo").await?;
    history.extend(2).await?;
    for seqs in [
        vec![0],
        vec![1],
        vec![3],
        vec![2, 2],
        vec![2, 4],
        vec![3, 2],
        vec![u64::MAX],
    ] {
        let mut ahead = history.clone();
        let batch = Batch {
            records: ahead.grow(1)?,
            events: seqs.iter().map(|&seq| event(seq)).collect(),
            receipts: vec![receipt("client", "refused")],
            ..Batch::default()
        };
        let refused = history.append(history.head, batch).await;
        ensure_refused!(
            refused,
            StoreError::BadBatch { .. },
            "events {seqs:?} where 2 is next"
        );
        ensure_eq!(
            history.receipt("client", "refused").await?,
            None,
            "the receipt"
        );
        history.stands().await?;
    }
    history.extend(1).await?;
    history.stands().await
}

async fn of_two_appends_to_one_head_exactly_one_lands(store: Store) -> Result<(), String> {
    let mut history = History::create(&store, "demo").await?;
    for round in 0..5 {
        let (mut left, mut right) = (history.clone(), history.clone());
        let records = |line: &mut History, text: String| -> Result<Batch, String> {
            Ok(Batch {
                receipts: vec![receipt("client", &text)],
                records: vec![line.record(&text)?],
                events: line.tell(1),
                ..Batch::default()
            })
        };
        let names = [format!("left-{round}"), format!("right-{round}")];
        let batches = [
            records(&mut left, names[0].clone())?,
            records(&mut right, names[1].clone())?,
        ];
        let [a, b] = batches;
        let (a, b) = future::zip(
            history.append(history.head, a),
            history.append(history.head, b),
        )
        .await;
        let (won, name, lost) = match (&a, &b) {
            (Ok(()), Err(StoreError::Conflict { .. })) => (left, &names[0], &names[1]),
            (Err(StoreError::Conflict { .. }), Ok(())) => (right, &names[1], &names[0]),
            other => return Err(format!("two appends to one head gave {other:?}")),
        };
        won.stands().await?;
        ensure!(
            won.receipt("client", name).await?.is_some(),
            "the winner's receipt is missing"
        );
        ensure_eq!(
            won.receipt("client", lost).await?,
            None,
            "the loser's receipt"
        );
        history = won;
    }
    Ok(())
}

async fn processes_do_not_touch_each_other(store: Store) -> Result<(), String> {
    // Names of which one is the start of the other, which a careless key could mix up.
    let mut all = Vec::new();
    for name in ["a", "a/b", "a-b", "ab"] {
        all.push(History::create(&store, name).await?);
    }
    for round in 0..3 {
        for history in &mut all {
            history.extend(round + 1).await?;
        }
    }
    let Some(first) = all.first() else {
        return Err("no process".to_owned());
    };
    let only = Batch {
        receipts: vec![receipt("client", "only-a")],
        ..Batch::default()
    };
    first.append(first.head, only).await.map_err(said)?;
    for (index, history) in all.iter().enumerate() {
        history.stands().await?;
        let found = history.receipt("client", "only-a").await?;
        ensure_eq!(
            found.is_some(),
            index == 0,
            "the receipt of another process"
        );
    }
    Ok(())
}

async fn a_dropped_append_is_there_whole_or_not_at_all(store: Store) -> Result<(), String> {
    let mut history = History::create(&store, "demo").await?;
    for round in 0..10 {
        let mut ahead = history.clone();
        let name = format!("dropped-{round}");
        let batch = Batch {
            records: ahead.grow(2)?,
            events: ahead.tell(2),
            receipts: vec![receipt("client", &name)],
            ..Batch::default()
        };
        // Polled once, then dropped.
        let _ = future::poll_once(history.append(history.head, batch)).await;
        let head = store.load(&history.base.address).await.map_err(said)?;
        let landed = head.digest == ahead.head;
        if landed {
            history = ahead;
        }
        history.stands().await?;
        let found = history.receipt("client", &name).await?;
        ensure_eq!(found.is_some(), landed, "the receipt of a dropped append");
        // Whoever has looked can go on: it does not land behind their back.
        history.extend(1).await?;
        history.stands().await?;
    }
    Ok(())
}
