//! Rules about how a history starts.

use svit_tree::Address;
use svit_txn::{BaseKind, Batch, Block, EventQuery, RecordQuery, StoreError};
use svit_value::{Digest, Value};

use super::sample::{History, address, blocks, created, event, key, one_block, part, said};
use super::{Store, checks, ensure, ensure_eq, ensure_refused};

checks! {
    a_created_process_stands_at_its_base
    a_history_may_start_at_any_version
    a_base_with_records_stands_at_the_last
    a_second_base_is_refused_and_changes_nothing
    a_refused_base_leaves_nothing
    a_block_is_kept_as_it_was_given
    a_block_with_other_bytes_is_refused
    an_import_goes_on_where_its_record_was
    a_fork_needs_its_parent
    a_fork_needs_its_parents_record_and_root
    a_fork_numbers_events_behind_those_it_shares
    forks_of_forks_stand_alone
    an_unknown_process_is_not_found
    the_longest_address_is_kept
}

async fn a_created_process_stands_at_its_base(store: Store) -> Result<(), String> {
    let history = History::create(&store, "demo").await?;
    ensure!(history.epoch > 0, "an epoch of 0 owns nothing");
    history.stands().await
}

async fn a_history_may_start_at_any_version(store: Store) -> Result<(), String> {
    let (mut base, tree) = created("demo")?;
    base.version = 1 << 40;
    let inserted = store.insert_base(base.clone(), blocks(&tree), Batch::default());
    let epoch = inserted.await.map_err(said)?;
    let sample = History::create(&store, "sample").await?;
    let mut history = sample.at(base, epoch);
    history.stands().await?;
    history.extend(2).await?;
    history.stands().await?;
    ensure_eq!(
        history.records(0, 1 << 40, 9).await?,
        vec![],
        "versions before the base"
    );
    Ok(())
}

async fn a_base_with_records_stands_at_the_last(store: Store) -> Result<(), String> {
    let parent = History::create(&store, "parent").await?;
    let mut child = parent.at(parent.forked("child", 0)?, 0);
    let batch = Batch {
        records: child.grow(2)?,
        events: child.tell(3),
        receipts: vec![super::sample::receipt("client", "first")],
        ..Batch::default()
    };
    let inserted = store.insert_base(child.base.clone(), Vec::new(), batch.clone());
    child.epoch = inserted.await.map_err(said)?;
    child.stands().await?;
    ensure_eq!(child.records(0, 99, 99).await?, batch.records, "records");
    ensure_eq!(child.events(0, 99, false).await?, batch.events, "events");
    let receipt = child.receipt("client", "first").await?;
    ensure_eq!(receipt.as_ref(), batch.receipts.first(), "the receipt");
    parent.stands().await
}

async fn a_second_base_is_refused_and_changes_nothing(store: Store) -> Result<(), String> {
    let mut history = History::create(&store, "demo").await?;
    history.extend(1).await?;
    let (same, tree) = created("demo")?;
    let again = store
        .insert_base(same.clone(), blocks(&tree), Batch::default())
        .await;
    ensure_refused!(
        again,
        StoreError::AlreadyExists { .. },
        "the same base again"
    );
    let mut other = same;
    other.version = 7;
    let again = store
        .insert_base(other, blocks(&tree), Batch::default())
        .await;
    ensure_refused!(again, StoreError::AlreadyExists { .. }, "another base");
    history.stands().await
}

async fn a_refused_base_leaves_nothing(store: Store) -> Result<(), String> {
    let (base, tree) = created("demo")?;
    let only_block = Value::from("a block that only the refused base brings".repeat(9));
    let mut with_extra = blocks(&tree);
    with_extra.extend(
        only_block
            .blocks()
            .map(|(digest, data)| Block { digest, data }),
    );
    let gap = Batch {
        events: vec![event(0), event(2)],
        ..Batch::default()
    };
    let refused = store.insert_base(base.clone(), with_extra, gap).await;
    ensure_refused!(refused, StoreError::BadBatch { .. }, "events with a gap");
    let load = store.load(&base.address).await;
    ensure_refused!(load, StoreError::NotFound { .. }, "a refused base");
    ensure_eq!(
        store.addresses(None, 9).await.map_err(said)?,
        vec![],
        "addresses"
    );
    History::create(&store, "demo").await?.stands().await
}

async fn a_block_is_kept_as_it_was_given(store: Store) -> Result<(), String> {
    let (base, _) = created("demo")?;
    let entries = (0..2_000).map(|n| (format!("key {n}"), Value::from("x".repeat(300))));
    let large = Value::from(svit_value::Map::from_entries(entries).map_err(said)?);
    let given: Vec<Block> = large
        .blocks()
        .map(|(digest, data)| Block { digest, data })
        .collect();
    ensure!(
        given.len() > 9,
        "{} blocks are too few for a test",
        given.len()
    );
    let inserted = store.insert_base(base, given.clone(), Batch::default());
    inserted.await.map_err(said)?;
    // A block that two processes bring is one block.
    let (other, _) = created("other")?;
    let again = store.insert_base(other, given.clone(), Batch::default());
    again.await.map_err(said)?;
    for block in &given {
        let found = one_block(&store, block.digest).await?;
        ensure!(
            found.as_ref() == Some(&block.data),
            "block {}",
            block.digest
        );
    }
    let unknown = one_block(&store, Digest::of(b"no block")).await?;
    ensure_eq!(unknown, None, "a block that nobody brought");
    Ok(())
}

async fn a_block_with_other_bytes_is_refused(store: Store) -> Result<(), String> {
    let (base, tree) = created("demo")?;
    let mut damaged = blocks(&tree);
    let Some(last) = damaged.last_mut() else {
        return Err("a tree has no blocks".to_owned());
    };
    last.data.push(0);
    let digest = last.digest;
    let inserted = store
        .insert_base(base.clone(), damaged, Batch::default())
        .await;
    ensure_refused!(inserted, StoreError::BadBatch { .. }, "a damaged block");
    let found = one_block(&store, digest).await?;
    ensure_eq!(found, None, "the damaged block");
    let load = store.load(&base.address).await;
    ensure_refused!(load, StoreError::NotFound { .. }, "its process");
    Ok(())
}

async fn an_import_goes_on_where_its_record_was(store: Store) -> Result<(), String> {
    let (mut base, tree) = created("demo")?;
    base.version = 41;
    base.kind = BaseKind::Checkpoint {
        record: Digest::of(b"a record of another store"),
        thread: None,
    };
    let inserted = store.insert_base(base.clone(), blocks(&tree), Batch::default());
    let epoch = inserted.await.map_err(said)?;
    let mut history = History::create(&store, "sample").await?.at(base, epoch);
    history.stands().await?;
    ensure!(
        history.head == Digest::of(b"a record of another store"),
        "the head is not the record"
    );
    history.extend(2).await?;
    history.stands().await?;
    super::sample::loads(&store, history.base.root).await?;
    Ok(())
}

async fn a_fork_needs_its_parent(store: Store) -> Result<(), String> {
    let parent = History::create(&store, "parent").await?;
    let mut base = parent.forked("child", 0)?;
    base.kind = BaseKind::Forked {
        parent: address("nobody")?,
        record: parent.head,
        events: 0,
    };
    let orphan = store
        .insert_base(base.clone(), Vec::new(), Batch::default())
        .await;
    ensure_refused!(orphan, StoreError::NotFound { .. }, "a fork of nobody");
    let load = store.load(&base.address).await;
    ensure_refused!(load, StoreError::NotFound { .. }, "the orphan");
    Ok(())
}

async fn a_fork_needs_its_parents_record_and_root(store: Store) -> Result<(), String> {
    let mut parent = History::create(&store, "parent").await?;
    let old = parent.forked("old", 0)?;
    parent.extend(2).await?;
    let right = parent.forked("child", 0)?;

    let mut wrong_root = right.clone();
    wrong_root.root = Digest::of(b"another root");
    let mut no_version = right.clone();
    no_version.version += 1;
    let mut wrong_version = right.clone();
    wrong_version.version -= 1;
    let mut wrong_record = right.clone();
    wrong_record.kind = BaseKind::Forked {
        parent: parent.base.address.clone(),
        record: Digest::of(b"another record"),
        events: 0,
    };
    for (base, what) in [
        (wrong_root, "root"),
        (no_version, "version"),
        (wrong_version, "version"),
        (wrong_record, "record"),
    ] {
        let refused = store.insert_base(base, Vec::new(), Batch::default()).await;
        ensure_refused!(
            refused,
            StoreError::BadBatch { .. },
            "a fork of another {what}"
        );
    }
    for base in [old, right] {
        let forked = store.insert_base(base, Vec::new(), Batch::default());
        forked.await.map_err(said)?;
    }
    Ok(())
}

async fn a_fork_numbers_events_behind_those_it_shares(store: Store) -> Result<(), String> {
    let mut parent = History::create(&store, "parent").await?;
    parent.extend(5).await?;
    let base = parent.forked("child", 3)?;
    let inserted = store.insert_base(base.clone(), Vec::new(), Batch::default());
    let mut child = parent.at(base, inserted.await.map_err(said)?);
    child.stands().await?;
    for wrong in [0, 2, 4] {
        let batch = Batch {
            events: vec![event(wrong)],
            ..Batch::default()
        };
        let refused = child.append(child.head, batch).await;
        ensure_refused!(
            refused,
            StoreError::BadBatch { .. },
            "event {wrong} where 3 is next"
        );
    }
    child.extend(2).await?;
    child.stands().await?;
    let seqs: Vec<u64> = child
        .events(0, 99, false)
        .await?
        .iter()
        .map(|e| e.seq)
        .collect();
    ensure_eq!(seqs, vec![3, 4], "the child's own events");
    parent.stands().await
}

async fn forks_of_forks_stand_alone(store: Store) -> Result<(), String> {
    let mut lines = vec![History::create(&store, "line-0").await?];
    for n in 1..4 {
        let Some(parent) = lines.last_mut() else {
            return Err("no parent".to_owned());
        };
        parent.extend(1).await?;
        let base = parent.forked(&format!("line-{n}"), parent.next_event)?;
        let mut child = parent.at(base, 0);
        let batch = Batch {
            records: child.grow(1)?,
            ..Batch::default()
        };
        let inserted = store.insert_base(child.base.clone(), Vec::new(), batch);
        child.epoch = inserted.await.map_err(said)?;
        lines.push(child);
    }
    for line in &mut lines {
        line.extend(2).await?;
    }
    for line in &lines {
        line.stands().await?;
    }
    Ok(())
}

async fn an_unknown_process_is_not_found(store: Store) -> Result<(), String> {
    let known = History::create(&store, "demo").await?;
    let unknown = address("dem")?;
    ensure_refused!(
        store.load(&unknown).await,
        StoreError::NotFound { .. },
        "load"
    );
    ensure_refused!(
        store.claim(&unknown).await,
        StoreError::NotFound { .. },
        "claim"
    );
    let append = store.append(&unknown, known.head, known.epoch, Batch::default());
    ensure_refused!(append.await, StoreError::NotFound { .. }, "append");
    let query = RecordQuery {
        from: 0,
        to: 9,
        limit: 9,
    };
    let records = store.records(&unknown, query).await;
    ensure_refused!(records, StoreError::NotFound { .. }, "records");
    let query = EventQuery {
        from: 0,
        limit: 9,
        newest_first: false,
    };
    let events = store.events(&unknown, query).await;
    ensure_refused!(events, StoreError::NotFound { .. }, "events");
    let receipt = store.receipt(&unknown, &key("client", "request")).await;
    ensure_refused!(receipt, StoreError::NotFound { .. }, "receipt");
    let part = part(known.checkpoint(), 0, known.blocks(), true);
    let put = store.put_checkpoint(&unknown, part).await;
    ensure_refused!(put, StoreError::NotFound { .. }, "put_checkpoint");
    let checkpoints = store.checkpoints(&unknown, 9, 9).await;
    ensure_refused!(checkpoints, StoreError::NotFound { .. }, "checkpoints");
    let mut base = known.cut_here();
    base.address = unknown.clone();
    let cut = store.cut(&unknown, known.epoch, base).await;
    ensure_refused!(cut, StoreError::NotFound { .. }, "cut");
    let forks = store.forks(&unknown, 9, 9).await;
    ensure_refused!(forks, StoreError::NotFound { .. }, "forks");
    let trim = store.trim_events(&unknown, known.epoch, 9).await;
    ensure_refused!(trim, StoreError::NotFound { .. }, "trim_events");
    let delete = store.delete(&unknown, known.epoch).await;
    ensure_refused!(delete, StoreError::NotFound { .. }, "delete");
    known.stands().await
}

async fn the_longest_address_is_kept(store: Store) -> Result<(), String> {
    let (mut base, tree) = created("demo")?;
    let name = "~.-_Az09/".repeat(54) + "last.one";
    base.address = Address::parse(&format!("svit://conformance/{name}")[..512]).map_err(said)?;
    let inserted = store.insert_base(base.clone(), blocks(&tree), Batch::default());
    inserted.await.map_err(said)?;
    ensure_eq!(
        store.load(&base.address).await.map_err(said)?.base,
        base,
        "the base"
    );
    let listed = store.addresses(None, 9).await.map_err(said)?;
    ensure_eq!(listed, vec![base.address], "addresses");
    Ok(())
}
