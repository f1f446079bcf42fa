//! The store contract: what lands, what is refused, and what is read back.

use svit_store_turso::{OpenOptions, TursoProcessStore};
use svit_txn::{Base, BaseKind, Batch, EventQuery, ProcessStore, ReceiptKey, RecordQuery};
use svit_value::{Digest, Text, Value};

use crate::common::{Model, address, code, open, place};

#[tokio::test]
async fn what_was_appended_is_read_back_now_and_after_a_reopen() {
    let place = place();
    let store = open(&place.path).await;
    let mut model = Model::create("one", &store).await;
    for size in [0, 10, 3_000, 100_000] {
        model.commit(&store, size).await.unwrap();
    }
    model.check(&store).await.unwrap();
    store.close().await.unwrap();
    let store = open(&place.path).await;
    model.check(&store).await.unwrap();
    let found = store.verify().await.unwrap();
    assert!(found.is_whole(), "{found:?}");
    assert_eq!(
        (found.processes, found.records, found.events, found.blocks),
        (1, 4, 4, 1)
    );
}

#[tokio::test]
async fn the_second_of_two_appends_behind_one_head_conflicts_and_changes_nothing() {
    let place = place();
    let store = open(&place.path).await;
    let mut model = Model::create("one", &store).await;
    let loser = model.clone();
    model.commit(&store, 10).await.unwrap();
    let error = loser.clone().commit(&store, 20).await.unwrap_err();
    let svit_txn::StoreError::Conflict {
        expected,
        actual,
        version,
        ..
    } = error
    else {
        panic!("{error}");
    };
    assert_eq!((expected, actual, version), (loser.digest, model.digest, 4));
    model.check(&store).await.unwrap();
}

#[tokio::test]
async fn an_owner_of_an_older_epoch_is_fenced_events_included() {
    let place = place();
    let store = open(&place.path).await;
    let mut model = Model::create("one", &store).await;
    let old = model.clone();
    let head = store.claim(model.address()).await.unwrap();
    assert_eq!((head.epoch, head.digest), (old.epoch + 1, model.digest));
    let events_only = Batch {
        events: vec![old.event()],
        ..Batch::default()
    };
    assert_eq!(code(old.try_append(&store, &events_only).await), "fenced");
    assert_eq!(code(old.try_append(&store, &old.batch(1)).await), "fenced");
    model.epoch = head.epoch;
    model.commit(&store, 1).await.unwrap();
    // Also where the old owner expects the right head.
    let late = Model {
        epoch: old.epoch,
        ..model.clone()
    };
    assert_eq!(
        code(late.try_append(&store, &late.batch(1)).await),
        "fenced"
    );
    model.check(&store).await.unwrap();
}

#[tokio::test]
async fn a_batch_that_leaves_a_gap_or_lies_is_refused_whole() {
    let place = place();
    let store = open(&place.path).await;
    let mut model = Model::create("one", &store).await;
    model.commit(&store, 1).await.unwrap();
    type Spoil = fn(&mut Batch);
    let rows: [(&str, Spoil); 9] = [
        ("a skipped version", |batch| batch.records[0].version += 1),
        ("a repeated version", |batch| batch.records[0].version -= 1),
        ("another predecessor", |batch| {
            batch.records[0].previous = Digest::of(b"x");
        }),
        ("another digest", |batch| {
            batch.records[0].digest = Digest::of(b"x");
        }),
        ("a changed body", |batch| batch.records[0].body.push(0)),
        ("a version past 63 bits", |batch| {
            batch.records[0].version = u64::MAX;
        }),
        ("a skipped event", |batch| batch.events[0].seq += 1),
        ("a repeated event", |batch| batch.events[0].seq -= 1),
        ("two events of one number", |batch| {
            let again = batch.events[0].clone();
            batch.events.push(again);
        }),
    ];
    for (what, spoil) in rows {
        let mut batch = model.batch(5);
        spoil(&mut batch);
        assert_eq!(
            code(model.try_append(&store, &batch).await),
            "bad_batch",
            "{what}"
        );
        model.check(&store).await.unwrap();
    }
    let mut long = model.batch(5);
    long.events[0].kind = Text::from("k".repeat(129));
    assert_eq!(code(model.try_append(&store, &long).await), "too_large");
    let mut large = model.batch(0);
    large.records[0].body = vec![1; (64 << 20) + 1];
    large.records[0].digest = Digest::of(&large.records[0].body);
    assert_eq!(code(model.try_append(&store, &large).await), "too_large");
    model.check(&store).await.unwrap();
    model.commit(&store, 1).await.unwrap();
}

#[tokio::test]
async fn a_batch_may_hold_only_events_or_only_a_receipt_or_many_records() {
    let place = place();
    let store = open(&place.path).await;
    let mut model = Model::create("one", &store).await;
    let events = Batch {
        events: vec![model.event()],
        ..Batch::default()
    };
    model.try_append(&store, &events).await.unwrap();
    model.landed(&events);
    let receipt = Batch {
        receipts: vec![model.receipt("c", 1)],
        ..Batch::default()
    };
    model.try_append(&store, &receipt).await.unwrap();
    model.landed(&receipt);
    let mut many = Batch::default();
    let mut ahead = model.clone();
    for _ in 0..5 {
        let one = ahead.batch(7);
        ahead.landed(&one);
        many.records.extend(one.records);
        many.receipts.extend(one.receipts);
        many.events.extend(one.events);
    }
    model.try_append(&store, &many).await.unwrap();
    model.landed(&many);
    model.check(&store).await.unwrap();
}

#[tokio::test]
async fn a_name_is_taken_once_and_an_unknown_one_is_not_found() {
    let place = place();
    let store = open(&place.path).await;
    let model = Model::create("one", &store).await;
    let again = store
        .insert_base(
            model.base.clone(),
            vec![model.root.clone()],
            Batch::default(),
        )
        .await;
    assert_eq!(code(again), "already_exists");
    let nobody = address("nobody");
    let key = ReceiptKey {
        client: Text::from("c"),
        request: Text::from("r"),
    };
    let records = RecordQuery {
        from: 0,
        to: 9,
        limit: 9,
    };
    let events = EventQuery {
        from: 0,
        limit: 9,
        newest_first: false,
    };
    assert_eq!(code(store.load(&nobody).await), "not_found");
    assert_eq!(code(store.claim(&nobody).await), "not_found");
    assert_eq!(code(store.records(&nobody, records).await), "not_found");
    assert_eq!(code(store.events(&nobody, events).await), "not_found");
    assert_eq!(code(store.receipt(&nobody, &key).await), "not_found");
    let append = store.append(&nobody, Digest::of(b""), 1, Batch::default());
    assert_eq!(code(append.await), "not_found");
    assert_eq!(store.receipt(model.address(), &key).await.unwrap(), None);
    assert_eq!(
        store.blocks(vec![Digest::of(b"none")]).await.unwrap(),
        [None]
    );
}

#[tokio::test]
async fn a_fork_names_a_record_that_its_parent_has() {
    let place = place();
    let store = open(&place.path).await;
    let mut parent = Model::create("parent", &store).await;
    parent.commit(&store, 1).await.unwrap();
    parent.commit(&store, 1).await.unwrap();
    let fork = |name: &str, version: u64, root: Digest, record: Digest, of: &str| Base {
        address: address(name),
        version,
        root,
        kind: BaseKind::Forked {
            parent: address(of),
            record,
            events: 2,
        },
    };
    let [first, second] = [&parent.records[0], &parent.records[1]];
    let rows = [
        (fork("a", 5, second.root, second.digest, "parent"), "ok"),
        (fork("b", 4, first.root, first.digest, "parent"), "ok"),
        (
            fork("c", 3, parent.base.root, parent.base.digest(), "parent"),
            "ok",
        ),
        (
            fork("d", 5, second.root, second.digest, "nobody"),
            "not_found",
        ),
        (
            fork("e", 6, second.root, second.digest, "parent"),
            "bad_batch",
        ),
        (
            fork("f", 4, first.root, second.digest, "parent"),
            "bad_batch",
        ),
        (
            fork("g", 4, second.root, first.digest, "parent"),
            "bad_batch",
        ),
        (
            fork("h", 2, parent.base.root, parent.base.digest(), "parent"),
            "bad_batch",
        ),
    ];
    for (base, wanted) in rows {
        let name = base.address.clone();
        let made = store
            .insert_base(base.clone(), Vec::new(), Batch::default())
            .await;
        assert_eq!(code(made), wanted, "{name}");
        match wanted {
            "ok" => assert_eq!(store.load(&name).await.unwrap().base, base),
            _ => assert_eq!(code(store.load(&name).await), "not_found"),
        }
    }
    // The child's own events go on behind those that it shares.
    let head = store.load(&address("a")).await.unwrap();
    assert_eq!(head.next_event, 2);
    let mut child = Model::new("a");
    (child.base, child.version, child.digest, child.next_event) = (head.base, 5, head.digest, 2);
    child.epoch = head.epoch;
    let batch = child.batch(3);
    child.try_append(&store, &batch).await.unwrap();
    let events = EventQuery {
        from: 0,
        limit: 9,
        newest_first: false,
    };
    let events = store.events(child.address(), events).await.unwrap();
    assert_eq!(events, batch.events);
    parent.check(&store).await.unwrap();
    assert!(store.verify().await.unwrap().is_whole());
}

#[tokio::test]
async fn ranges_are_exact_and_pages_are_invisible() {
    let place = place();
    let store = open(&place.path).await;
    let mut model = Model::create("one", &store).await;
    // More than one page by count, and by bytes.
    for round in 0..13 {
        let mut many = Batch::default();
        let mut ahead = model.clone();
        for _ in 0..100 {
            let one = ahead.batch(if round == 5 { 60_000 } else { 10 });
            ahead.landed(&one);
            many.records.extend(one.records);
            many.events.extend(one.events);
        }
        model.try_append(&store, &many).await.unwrap();
        model.landed(&many);
    }
    model.check(&store).await.unwrap();
    for (from, to, limit) in [
        (0, 3, 9),
        (4, 4, 9),
        (4, 1303, 1300),
        (500, 1100, 601),
        (9, 8, 9),
        (1303, 9999, 9),
        (1304, 9999, 9),
        (7, 2000, 0),
        (7, 2000, 3),
    ] {
        let found = store
            .records(model.address(), RecordQuery { from, to, limit })
            .await
            .unwrap();
        let wanted: Vec<_> = model
            .records
            .iter()
            .filter(|record| (from..=to).contains(&record.version))
            .take(limit)
            .cloned()
            .collect();
        assert!(found == wanted, "{from}..={to} limit {limit}");
    }
    for (from, limit) in [(0, 1300), (1299, 5), (1300, 5), (600, 700), (0, 0), (0, 1)] {
        for newest_first in [false, true] {
            let query = EventQuery {
                from,
                limit,
                newest_first,
            };
            let found = store.events(model.address(), query).await.unwrap();
            let mut wanted = model.events.clone();
            match newest_first {
                true => wanted.retain(|event| event.seq <= from),
                false => wanted.retain(|event| event.seq >= from),
            }
            if newest_first {
                wanted.reverse();
            }
            wanted.truncate(limit);
            assert!(found == wanted, "{query:?}");
        }
    }
}

#[tokio::test]
async fn addresses_come_in_order_and_in_pages() {
    let place = place();
    let store = open(&place.path).await;
    let mut wanted = Vec::new();
    for number in 0..700 {
        wanted.push(
            Model::create(&format!("p{number}"), &store)
                .await
                .address()
                .clone(),
        );
    }
    wanted.sort();
    assert_eq!(store.addresses(None, usize::MAX).await.unwrap(), wanted);
    assert_eq!(store.addresses(None, 3).await.unwrap(), wanted[..3]);
    assert_eq!(
        store.addresses(Some(&wanted[2]), 600).await.unwrap(),
        wanted[3..603]
    );
    assert_eq!(store.addresses(wanted.last(), 9).await.unwrap(), []);
    assert_eq!(store.stats().await.unwrap().processes, 700);
}

#[tokio::test]
async fn each_client_keeps_its_newest_receipts_and_those_that_are_pinned() {
    let place = place();
    let store = open(&place.path).await;
    let mut model = Model::create("one", &store).await;
    let quiet = Batch {
        receipts: vec![model.receipt("quiet", 0)],
        ..Batch::default()
    };
    model.try_append(&store, &quiet).await.unwrap();
    for request in 0..100 {
        let mut receipt = model.receipt("busy", request);
        receipt.pinned_by = (request % 10 == 3).then_some(request / 50);
        let batch = Batch {
            receipts: vec![receipt],
            max_receipts: 16,
            ..Batch::default()
        };
        model.try_append(&store, &batch).await.unwrap();
        model.landed(&batch);
    }
    let kept = async |store: &TursoProcessStore| {
        let mut kept = Vec::new();
        for (number, receipt) in model.receipts.iter().enumerate() {
            let found = store.receipt(model.address(), &receipt.key).await.unwrap();
            kept.extend(found.map(|_| number));
        }
        kept
    };
    // 16 that are not pinned, and all that are: 3, 13, 23 and so on.
    let loose = || (0..100).filter(|number| number % 10 != 3);
    let mut wanted: Vec<usize> = loose().rev().take(16).collect();
    wanted.extend((0..100).filter(|number| number % 10 == 3));
    wanted.sort_unstable();
    assert_eq!(kept(&store).await, wanted);
    store.close().await.unwrap();

    // What was remembered in memory is read anew.
    let store = open(&place.path).await;
    assert_eq!(kept(&store).await, wanted);
    let unpin = Batch {
        unpin: vec![0, 77],
        max_receipts: 18,
        ..Batch::default()
    };
    model.try_append(&store, &unpin).await.unwrap();
    // Five more are not pinned now, which is three too many: they are the oldest.
    let gone = [3, 13, 23];
    wanted.retain(|number| !gone.contains(number));
    assert_eq!(kept(&store).await, wanted);
    let quiet = store.receipt(model.address(), &quiet.receipts[0].key).await;
    assert!(quiet.unwrap().is_some());
    assert!(store.verify().await.unwrap().is_whole());
}

#[tokio::test]
async fn each_process_keeps_its_newest_events_if_it_was_told_so() {
    let place = place();
    let options = OpenOptions::new().events_per_process(16);
    let store = TursoProcessStore::open_with(&place.path, options)
        .await
        .unwrap();
    let mut model = Model::create("one", &store).await;
    for _ in 0..100 {
        model.commit(&store, 1).await.unwrap();
    }
    let head = store.load(model.address()).await.unwrap();
    let kept = head.next_event - head.first_event;
    assert!((16..=18).contains(&kept), "{head:?}");
    model.events.retain(|event| event.seq >= head.first_event);
    model.check(&store).await.unwrap();
    store
        .trim_events(model.address(), model.epoch, 99)
        .await
        .unwrap();
    model.events.retain(|event| event.seq >= 99);
    model.check(&store).await.unwrap();
    let found = store.verify().await.unwrap();
    assert!(found.is_whole(), "{found:?}");
    assert_eq!((found.events, found.leftovers), (1, 0));
}

#[tokio::test]
async fn a_receipt_under_a_known_key_replaces_the_older_one() {
    let place = place();
    let store = open(&place.path).await;
    let model = Model::create("one", &store).await;
    let mut receipt = model.receipt("c", 1);
    for outcome in [1, 2] {
        receipt.outcome = Value::Int(outcome);
        let batch = Batch {
            receipts: vec![receipt.clone()],
            ..Batch::default()
        };
        model.try_append(&store, &batch).await.unwrap();
    }
    let found = store.receipt(model.address(), &receipt.key).await.unwrap();
    assert_eq!(found, Some(receipt));
    store.close().await.unwrap();
    let store = open(&place.path).await;
    assert!(store.verify().await.unwrap().is_whole());
}
