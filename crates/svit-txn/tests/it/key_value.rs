//! A store on an ordered map: rows that are damaged, missing or in another place are never taken for
//! what was stored; writes that fail, or whose outcome is not known, leave it whole.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use futures_lite::future::block_on;
use svit_testkit::generate::{self, Action};
use svit_tree::Address;
use svit_txn::{
    Base, BaseKind, Batch, Block, BoxFuture, Checkpoint, CheckpointPart, CheckpointRef,
    DurableProcess, Error, EventQuery, KeyChange, KeyPair, KeyScan, KeyValue, KeyValueStore,
    Limits, ProcessStore, ProcessStoreExt, ProcessTransaction, Receipt, ReceiptKey, RecordQuery,
    StoreError, StoreResult, ThreadEvent,
};
use svit_value::Digest;

use crate::conformance::Pairs;
use crate::steps::{Steps, builder};

const ADDRESS: &str = "svit://local/rows";

/// A map with a process that has some of everything, and a fork.
fn filled() -> Arc<Pairs> {
    let pairs = Arc::new(Pairs::default());
    block_on(async {
        let store: Arc<dyn ProcessStore> = Arc::new(KeyValueStore::new(pairs.clone()));
        let process = store.create(builder(ADDRESS).build().unwrap()).await;
        let process = process.unwrap();
        for n in 0..4 {
            let key = crate::receipts::request(&format!("r{n}"), "add 1");
            let exec = svit_txn::Operation::Exec {
                path: "/lib/counter".parse().unwrap(),
                input: n.into(),
            };
            let submission =
                svit_txn::Submission::plain(exec)
                    .keyed(key)
                    .recording(|_| svit_txn::Extras {
                        outcome: n.into(),
                        events: vec![("turn.finished".into(), n.into())],
                    });
            process.submit(submission).await.unwrap();
            if n == 1 {
                process.checkpoint().await.unwrap();
                process.fork("svit://local/rows-fork").await.unwrap();
            }
        }
    });
    pairs
}

/// All that can be read of it, as one text for each thing.
fn read_all(pairs: BTreeMap<Vec<u8>, Vec<u8>>, blocks: &[Digest]) -> Vec<StoreResult<String>> {
    let store = KeyValueStore::new(Pairs(Mutex::new(pairs)));
    let mut all = Vec::new();
    fn said<T: std::fmt::Debug>(read: StoreResult<T>) -> StoreResult<String> {
        read.map(|read| format!("{read:?}"))
    }
    for address in [ADDRESS, "svit://local/rows-fork"] {
        let address = address.parse().unwrap();
        block_on(async {
            all.push(said(store.load(&address).await));
            for (from, limit) in [(0, 99), (2, 1), (4, 9)] {
                let query = RecordQuery {
                    from,
                    to: 99,
                    limit,
                };
                all.push(said(store.records(&address, query).await));
                for newest_first in [true, false] {
                    let query = EventQuery {
                        from,
                        limit,
                        newest_first,
                    };
                    all.push(said(store.events(&address, query).await));
                }
            }
            all.push(said(store.checkpoints(&address, 99, 9).await));
            all.push(said(store.forks(&address, 99, 9).await));
            for n in 0..4 {
                let key = ReceiptKey {
                    client: "client".into(),
                    request: format!("r{n}").as_str().into(),
                };
                all.push(said(store.receipt(&address, &key).await));
            }
        });
    }
    block_on(async {
        for digest in blocks {
            all.push(said(store.blocks(vec![*digest]).await));
        }
        all.push(said(store.addresses(None, 9).await));
    });
    all
}

fn block_digests(pairs: &BTreeMap<Vec<u8>, Vec<u8>>) -> Vec<Digest> {
    let keys = pairs.keys().filter(|key| key[0] == b'b');
    let octets = keys.map(|key| <[u8; 32]>::try_from(&key[1..]).unwrap());
    octets.map(Digest::from_bytes).collect()
}

/// Checks that whatever is read is as it was, or a typed error; and that something is an error.
fn check(changed: BTreeMap<Vec<u8>, Vec<u8>>, blocks: &[Digest], before: &[String], what: &str) {
    let mut errors = 0;
    for (found, before) in read_all(changed, blocks).into_iter().zip(before) {
        match found {
            Ok(found) => assert_eq!(&found, before, "{what}"),
            Err(error) => {
                assert_eq!(error.code(), "corrupt", "{what}: {error}");
                errors += 1;
            }
        }
    }
    assert!(errors > 0, "{what} went unnoticed");
}

#[test]
fn a_value_that_is_damaged_or_in_another_place_is_never_taken_for_what_was_stored() {
    let pairs = filled().0.lock().unwrap().clone();
    let blocks = block_digests(&pairs);
    let before = read_all(pairs.clone(), &blocks);
    let before: Vec<String> = before.into_iter().map(Result::unwrap).collect();
    // Rows that only writes look at: pins, ages, counts and who shares events.
    let read = |key: &[u8]| !b"lnps".contains(&key[0]);
    let keys: Vec<_> = pairs.keys().filter(|key| read(key)).cloned().collect();
    assert!(keys.len() > 20, "{} keys", keys.len());
    for (index, key) in keys.iter().enumerate() {
        let name = key.escape_ascii();
        for at in [0, pairs[key].len() / 2, pairs[key].len() - 1] {
            let mut flipped = pairs.clone();
            flipped.get_mut(key).unwrap()[at] ^= 4;
            check(flipped, &blocks, &before, &format!("{name}, byte {at}"));
        }
        let mut short = pairs.clone();
        short.get_mut(key).unwrap().truncate(9);
        check(short, &blocks, &before, &format!("{name}, cut short"));
        let mut moved = pairs.clone();
        let other = pairs[&keys[(index + 1) % keys.len()]].clone();
        moved.insert(key.clone(), other);
        check(moved, &blocks, &before, &format!("{name}, another value"));
    }
}

#[test]
fn records_and_events_that_are_missing_are_missed() {
    let pairs = filled().0.lock().unwrap().clone();
    let blocks = block_digests(&pairs);
    let before = read_all(pairs.clone(), &blocks);
    let before: Vec<String> = before.into_iter().map(Result::unwrap).collect();
    let keys = pairs.keys().filter(|key| b"re".contains(&key[0]));
    for key in keys {
        let mut without = pairs.clone();
        without.remove(key);
        let name = key.escape_ascii();
        check(without, &blocks, &before, &format!("without {name}"));
    }
}

#[test]
fn a_form_that_is_not_known_is_refused() {
    let mut pairs = filled().0.lock().unwrap().clone();
    let key = [b"h", ADDRESS.as_bytes()].concat();
    let body = pairs[&key][32..].to_vec();
    let at = body.windows(16).position(|it| it == b"svit-key-value@1");
    let mut newer = body;
    newer[at.unwrap() + 15] = b'2';
    let digest = Digest::of(&[&key[..], &newer].concat());
    pairs.insert(key, [&digest.as_bytes()[..], &newer].concat());
    let store = KeyValueStore::new(Pairs(Mutex::new(pairs)));
    let error = block_on(store.load(&ADDRESS.parse().unwrap())).unwrap_err();
    assert!(error.to_string().contains("svit-key-value@2"), "{error}");
}

/// A map whose nth write goes wrong.
struct Failing {
    pairs: Pairs,
    left: AtomicU64,
    lands: bool,
}

impl KeyValue for Failing {
    fn get(&self, key: Vec<u8>) -> BoxFuture<'_, StoreResult<Option<Vec<u8>>>> {
        self.pairs.get(key)
    }

    fn scan(&self, scan: KeyScan) -> BoxFuture<'_, StoreResult<Vec<KeyPair>>> {
        self.pairs.scan(scan)
    }

    fn write(&self, changes: Vec<KeyChange>) -> BoxFuture<'_, StoreResult<()>> {
        Box::pin(async move {
            let fails = self.left.fetch_sub(1, Ordering::SeqCst) == 1;
            if !fails || self.lands {
                self.pairs.write(changes).await?;
            }
            match fails {
                true => Err(StoreError::Unknown {
                    why: "as planned".to_owned(),
                }),
                false => Ok(()),
            }
        })
    }
}

/// What a history comes to whose nth write goes wrong once: the same as if none had.
fn outcome(nth: u64, lands: bool) -> (u64, Digest, u64) {
    let map = Failing {
        pairs: Pairs::default(),
        left: AtomicU64::new(nth),
        lands,
    };
    let store: Arc<dyn ProcessStore> = Arc::new(KeyValueStore::new(map));
    let again = |error: &Error| error.code() == "unknown";
    block_on(async {
        let created = store.create(builder(ADDRESS).build().unwrap()).await;
        let process = match created {
            Ok(process) => process,
            Err(error) if again(&error) => {
                let store = store.clone();
                match DurableProcess::resume_with(store.clone(), ADDRESS, [Steps::guest()]).await {
                    Ok(process) => process,
                    Err(_) => store
                        .create(builder(ADDRESS).build().unwrap())
                        .await
                        .unwrap(),
                }
            }
            Err(error) => panic!("{error}"),
        };
        for n in 0..6 {
            let version = process.version();
            if let Err(error) = process.write("/memory/n", n).await {
                assert!(again(&error), "{error}");
                // The next one settles it.
                if process.write("/memory/settled", n).await.unwrap().version == version + 1 {
                    process.write("/memory/n", n).await.unwrap();
                }
                process.remove("/memory/settled").await.unwrap();
            }
            if n == 2 || n == 4 {
                let version = process.version();
                while let Err(error) = process.checkpoint().await {
                    assert!(again(&error), "{error}");
                }
                while let Err(error) = process.cut(version).await {
                    assert!(again(&error), "{error}");
                }
            }
        }
        loop {
            match store.collect_garbage().await {
                Ok(_) => break,
                Err(error) => assert_eq!(error.code(), "unknown"),
            }
        }
        let resumed = DurableProcess::resume_with(store.clone(), ADDRESS, [Steps::guest()]);
        let resumed = resumed.await.or_else(|error| match again(&error) {
            true => block_on(DurableProcess::resume_with(
                store.clone(),
                ADDRESS,
                [Steps::guest()],
            )),
            false => Err(error),
        });
        let resumed = resumed.unwrap();
        let memory = resumed.read("/memory").unwrap().unwrap().digest();
        let rest = store.collect_garbage().await.unwrap();
        (rest.blocks, memory, resumed.oldest_version().await.unwrap())
    })
}

#[test]
fn whichever_write_goes_wrong_the_store_is_whole_afterwards() {
    let (_, memory, _) = outcome(u64::MAX, true);
    for nth in 1..18 {
        for lands in [true, false] {
            let (garbage, found, oldest) = outcome(nth, lands);
            assert_eq!(
                (garbage, found),
                (0, memory),
                "write {nth}, landed: {lands}"
            );
            assert!(oldest > 4, "write {nth}, landed: {lands}, cut to {oldest}");
        }
    }
}

#[test]
fn a_collection_that_is_dropped_begins_anew() {
    let pairs = Arc::new(Pairs::default());
    let store: Arc<dyn ProcessStore> = Arc::new(KeyValueStore::new(pairs.clone()));
    block_on(async {
        let process = store.create(builder(ADDRESS).build().unwrap()).await;
        let process = process.unwrap();
        for step in generate::steps(5, 60) {
            if let Action::Write { key, value } = step.action {
                let path = format!("/memory/k{key}");
                process.write(path.as_str(), value).await.unwrap();
                process.checkpoint().await.unwrap();
            }
        }
        process.cut(process.version()).await.unwrap();
        for _ in 0..3 {
            assert!(!store.collect(2).await.unwrap().done);
        }
        // As after a crash: another store on the same map knows nothing of it.
        let again: Arc<dyn ProcessStore> = Arc::new(KeyValueStore::new(pairs));
        assert!(again.collect_garbage().await.unwrap().blocks > 0);
        assert_eq!(store.collect_garbage().await.unwrap().blocks, 0);
        let resumed = DurableProcess::resume_with(again, ADDRESS, [Steps::guest()]).await;
        assert_eq!(resumed.unwrap().root_digest(), process.root_digest());
    });
}

const PINNED: &str = include_str!("../data/key-value-1.txt");

/// A history with a row of each kind, the same in every run.
async fn fixed(store: &KeyValueStore) {
    let tree = svit_tree::Tree::new();
    let blocks: Vec<Block> = tree
        .root()
        .blocks()
        .map(|(digest, data)| Block { digest, data })
        .collect();
    let address: Address = ADDRESS.parse().unwrap();
    let base = Base {
        address: address.clone(),
        version: 0,
        root: tree.digest(),
        kind: BaseKind::Created,
    };
    let record = ProcessTransaction {
        address: address.clone(),
        version: 1,
        previous: base.head(),
        source: svit_tree::Source::Host,
        committed_at: 1_700_000_000_000,
        mutations: Vec::new(),
        root: tree.digest(),
        ports: Vec::new(),
    };
    let receipt = |request: &str, pinned_by| Receipt {
        key: ReceiptKey {
            client: "client".into(),
            request: request.into(),
        },
        content: Digest::of(b"content"),
        outcome: 7.into(),
        version: 1,
        pinned_by,
    };
    let batch = Batch {
        records: vec![record.to_stored(&Limits::default()).unwrap()],
        receipts: vec![receipt("loose", None), receipt("pinned", Some(300))],
        events: vec![ThreadEvent {
            seq: 0,
            kind: "turn.finished".into(),
            body: "done".into(),
        }],
        ..Batch::default()
    };
    let inserted = store.insert_base(base.clone(), blocks.clone(), batch);
    inserted.await.unwrap();
    let head = store.claim(&address).await.unwrap();
    let at = |version, record| Checkpoint {
        version,
        record,
        root: tree.digest(),
    };
    let part = |checkpoint, since, last| CheckpointPart {
        checkpoint,
        since,
        index: 0,
        blocks: blocks.clone(),
        last,
    };
    let since = CheckpointRef {
        address: address.clone(),
        version: 0,
        root: tree.digest(),
    };
    let whole = store.put_checkpoint(&address, part(at(0, base.head()), None, true));
    whole.await.unwrap();
    let open = part(at(1, head.digest), Some(since), false);
    store.put_checkpoint(&address, open).await.unwrap();
    let fork = Base {
        address: "svit://local/rows-fork".parse().unwrap(),
        version: 1,
        root: tree.digest(),
        kind: BaseKind::Forked {
            parent: address,
            record: head.digest,
            events: 1,
        },
    };
    let forked = store.insert_base(fork, Vec::new(), Batch::default());
    forked.await.unwrap();
}

fn in_hex(pairs: &BTreeMap<Vec<u8>, Vec<u8>>) -> String {
    let hex = |octets: &[u8]| -> String { octets.iter().map(|b| format!("{b:02x}")).collect() };
    let line = |(key, value): (&Vec<u8>, &Vec<u8>)| format!("{} {}\n", hex(key), hex(value));
    pairs.iter().map(line).collect()
}

fn from_hex(text: &str) -> Vec<u8> {
    let octet = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(octet).collect()
}

#[test]
fn keys_and_rows_are_to_the_byte_what_they_were() {
    let pairs = Arc::new(Pairs::default());
    block_on(fixed(&KeyValueStore::new(pairs.clone())));
    let written = in_hex(&pairs.0.lock().unwrap());
    // A change here is a change of `svit-key-value@1`: it needs a new name and a reader for this one.
    assert_eq!(written, PINNED, "{written}");
    let tables: std::collections::BTreeSet<u8> =
        pairs.0.lock().unwrap().keys().map(|k| k[0]).collect();
    assert_eq!(tables.into_iter().collect::<Vec<_>>(), b"bcefhklnoprs");
}

#[test]
fn what_was_written_by_the_first_form_is_read() {
    let pairs = PINNED.lines().map(|line| {
        let (key, value) = line.split_once(' ').unwrap();
        (from_hex(key), from_hex(value))
    });
    let store = KeyValueStore::new(Pairs(Mutex::new(pairs.collect())));
    let other = KeyValueStore::new(Pairs::default());
    block_on(fixed(&other));
    for address in [ADDRESS, "svit://local/rows-fork"] {
        let address = address.parse().unwrap();
        let (found, expected) = block_on(async {
            (
                store.load(&address).await.unwrap(),
                other.load(&address).await.unwrap(),
            )
        });
        assert_eq!(found, expected);
    }
    // And it goes on: the receipt that was pinned is let go of, and both are evicted.
    let address: Address = ADDRESS.parse().unwrap();
    let head = block_on(store.claim(&address)).unwrap();
    let batch = Batch {
        unpin: vec![300],
        max_receipts: 0,
        ..Batch::default()
    };
    block_on(store.append(&address, head.digest, head.epoch, batch)).unwrap();
    for request in ["loose", "pinned"] {
        let key = ReceiptKey {
            client: "client".into(),
            request: request.into(),
        };
        assert_eq!(block_on(store.receipt(&address, &key)).unwrap(), None);
    }
}
