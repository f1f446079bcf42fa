//! Rules about what is read back: all that was asked for, in order, in pages.

use svit_tree::Address;
use svit_txn::Batch;
use svit_value::Digest;

use super::sample::{History, address, receipt, said};
use super::{Store, checks, ensure, ensure_eq};

checks! {
    records_are_read_by_version_in_pages
    events_are_read_up_and_down_in_pages
    receipts_are_found_by_their_exact_key
    a_receipt_under_the_same_key_replaces_the_one_before
    the_newest_receipts_of_each_client_are_kept
    blocks_are_answered_in_the_order_of_the_question
    addresses_are_listed_bytewise_in_pages
}

async fn records_are_read_by_version_in_pages(store: Store) -> Result<(), String> {
    let mut history = History::create(&store, "demo").await?;
    let mut written = history.extend(3).await?.records;
    written.extend(history.extend(4).await?.records);
    let rows: [(u64, u64, usize, &[u64]); 9] = [
        (0, u64::MAX, usize::MAX, &[1, 2, 3, 4, 5, 6, 7]),
        (1, 7, 7, &[1, 2, 3, 4, 5, 6, 7]),
        (3, 5, 9, &[3, 4, 5]),
        (3, 3, 9, &[3]),
        (2, 7, 2, &[2, 3]),
        (7, 99, 9, &[7]),
        (8, 99, 9, &[]),
        (5, 4, 9, &[]),
        (1, 7, 0, &[]),
    ];
    for (from, to, limit, versions) in rows {
        let found = history.records(from, to, limit).await?;
        let expected = written.iter().filter(|r| versions.contains(&r.version));
        ensure!(
            found.iter().eq(expected),
            "versions {from} to {to}, at most {limit}: {:?}, expected {versions:?}",
            found.iter().map(|r| r.version).collect::<Vec<_>>()
        );
    }
    Ok(())
}

async fn events_are_read_up_and_down_in_pages(store: Store) -> Result<(), String> {
    let mut history = History::create(&store, "demo").await?;
    let mut written = history.extend(2).await?.events;
    let more = Batch {
        events: history.tell(4),
        ..Batch::default()
    };
    written.extend(more.events.clone());
    history.append(history.head, more).await.map_err(said)?;
    let rows: [(u64, usize, bool, &[u64]); 13] = [
        (0, usize::MAX, false, &[0, 1, 2, 3, 4, 5]),
        (2, 3, false, &[2, 3, 4]),
        (5, 9, false, &[5]),
        (6, 9, false, &[]),
        (u64::MAX, 9, false, &[]),
        (0, 0, false, &[]),
        (u64::MAX, usize::MAX, true, &[5, 4, 3, 2, 1, 0]),
        (u64::MAX, 2, true, &[5, 4]),
        (9, 2, true, &[5, 4]),
        (4, 2, true, &[4, 3]),
        (1, 9, true, &[1, 0]),
        (0, 9, true, &[0]),
        (5, 0, true, &[]),
    ];
    for (from, limit, newest_first, seqs) in rows {
        let found = history.events(from, limit, newest_first).await?;
        let expected: Vec<_> = seqs
            .iter()
            .filter_map(|&s| written.get(s as usize).cloned())
            .collect();
        ensure_eq!(
            found,
            expected,
            "from {from}, at most {limit}, newest first {newest_first}"
        );
    }
    Ok(())
}

async fn receipts_are_found_by_their_exact_key(store: Store) -> Result<(), String> {
    let history = History::create(&store, "demo").await?;
    let kept = receipt("client", "a.b-c_d");
    let batch = Batch {
        receipts: vec![kept.clone()],
        ..Batch::default()
    };
    history.append(history.head, batch).await.map_err(said)?;
    ensure_eq!(
        history.receipt("client", "a.b-c_d").await?,
        Some(kept),
        "the receipt"
    );
    for (client, request) in [
        ("a.b-c_d", "client"),
        ("client", "A.B-C_D"),
        ("client", "a.b-c_"),
        ("client", "a.b-c_d "),
        ("Client", "a.b-c_d"),
        ("clienta.b-c_d", ""),
        ("", "clienta.b-c_d"),
        ("client", "a%b-c_d"),
    ] {
        let found = history.receipt(client, request).await?;
        ensure_eq!(found, None, "{client:?} {request:?}");
    }
    Ok(())
}

async fn a_receipt_under_the_same_key_replaces_the_one_before(store: Store) -> Result<(), String> {
    let history = History::create(&store, "demo").await?;
    let first = receipt("client", "request");
    let mut second = first.clone();
    second.outcome = "another".into();
    for receipt in [first, second.clone()] {
        let batch = Batch {
            receipts: vec![receipt],
            ..Batch::default()
        };
        history.append(history.head, batch).await.map_err(said)?;
    }
    ensure_eq!(
        history.receipt("client", "request").await?,
        Some(second),
        "the receipt"
    );
    Ok(())
}

async fn the_newest_receipts_of_each_client_are_kept(store: Store) -> Result<(), String> {
    const KEPT: usize = 1_024;
    let history = History::create(&store, "demo").await?;
    let quiet = Batch {
        receipts: vec![receipt("quiet", "only")],
        ..Batch::default()
    };
    history.append(history.head, quiet).await.map_err(said)?;
    let all: Vec<_> = (0..KEPT + 300)
        .map(|n| receipt("busy", &format!("r{n}")))
        .collect();
    for some in all.chunks(100) {
        let batch = Batch {
            receipts: some.to_vec(),
            ..Batch::default()
        };
        history.append(history.head, batch).await.map_err(said)?;
    }
    for kept in &all[300..] {
        let found = history.receipt("busy", &kept.key.request).await?;
        ensure_eq!(
            found.as_ref(),
            Some(kept),
            "a receipt among the newest {KEPT}"
        );
    }
    let found = history.receipt("quiet", "only").await?;
    ensure!(
        found.is_some(),
        "a busy client cost another one its receipt"
    );
    Ok(())
}

async fn blocks_are_answered_in_the_order_of_the_question(store: Store) -> Result<(), String> {
    let mut history = History::create(&store, "demo").await?;
    history.set_large("wide").await?;
    history.put_checkpoint().await?;
    let mut blocks = history.blocks();
    ensure!(blocks.len() > 9, "{} blocks are too few", blocks.len());
    let missing = Digest::of(b"no block");
    blocks.reverse();
    let mut asked = vec![missing];
    let mut expected = vec![None];
    for block in blocks {
        asked.push(block.digest);
        expected.push(Some(block.data));
    }
    // In the middle, at the end, and twice.
    for at in [3, asked.len()] {
        asked.insert(at, missing);
        expected.insert(at, None);
    }
    asked.push(asked[1]);
    expected.push(expected[1].clone());
    let found = store.blocks(asked).await.map_err(said)?;
    ensure!(found == expected, "blocks in another order, or not all");
    let none = store.blocks(Vec::new()).await.map_err(said)?;
    ensure_eq!(none.len(), 0, "answers to no question");
    Ok(())
}

async fn addresses_are_listed_bytewise_in_pages(store: Store) -> Result<(), String> {
    ensure_eq!(
        store.addresses(None, 9).await.map_err(said)?,
        vec![],
        "an empty store"
    );
    let names = ["b", "a/b", "a", "a.b", "B", "a~b", "a-b"];
    let mut sorted = names
        .iter()
        .map(|name| address(name))
        .collect::<Result<Vec<_>, _>>()?;
    for name in names {
        History::create(&store, name).await?;
    }
    sorted.sort_by(|a, b| a.as_str().cmp(b.as_str()));
    ensure_eq!(
        store.addresses(None, 99).await.map_err(said)?,
        sorted,
        "all"
    );
    ensure_eq!(
        store.addresses(None, 0).await.map_err(said)?,
        vec![],
        "none"
    );

    let mut paged: Vec<Address> = Vec::new();
    loop {
        let page = store.addresses(paged.last(), 3).await.map_err(said)?;
        ensure!(page.len() <= 3, "a page of {}", page.len());
        if page.is_empty() {
            break;
        }
        paged.extend(page);
    }
    ensure_eq!(paged, sorted, "in pages");

    let between = address("a.a")?;
    let behind: Vec<_> = sorted
        .iter()
        .filter(|address| **address > between)
        .cloned()
        .collect();
    let found = store.addresses(Some(&between), 99).await.map_err(said)?;
    ensure_eq!(found, behind, "behind an address that is not there");
    Ok(())
}
