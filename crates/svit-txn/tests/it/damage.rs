//! A store that hands out damaged, missing or rearranged history: typed errors, never a wrong state.

use std::sync::{Arc, Mutex};

use futures_lite::future::block_on;
use svit_tree::Address;
use svit_txn::{
    BaseKind, DurableProcess, Error, EventQuery, Extras, Operation, ProcessStore, RecordQuery,
    SharedThread, StoredRecord, Submission,
};
use svit_value::{Digest, Map, value};

use crate::steps::{Steps, builder};
use crate::tampered::{HeadChange, RecordsChange, Tampered};

const ADDRESS: &str = "svit://local/damaged";
const CHILD: &str = "svit://local/child";

/// Five records, and a child with two.
async fn make() -> Arc<Tampered> {
    let store = Arc::new(Tampered::default());
    let entries = (0..300).map(|n| (format!("key {n}"), n));
    let large = Map::from_entries(entries).unwrap();
    let built = builder(ADDRESS).memory("large", large).build().unwrap();
    let process = DurableProcess::create(store.clone(), built).await.unwrap();
    for n in 0..5 {
        process.write("/memory/n", n).await.unwrap();
    }
    let child = process.fork(CHILD).await.unwrap();
    child.write("/memory/n", 9).await.unwrap();
    store
}

async fn refused(store: &Arc<Tampered>, address: &str) -> String {
    let store: Arc<dyn ProcessStore> = store.clone();
    match DurableProcess::resume_with(store, address, [Steps::guest()]).await {
        Ok(process) => panic!("damage was taken for version {}", process.version()),
        Err(error) => {
            assert!(!error.to_string().is_empty());
            error.code().to_owned()
        }
    }
}

/// Whether a child of the damaged process can be resumed, which needs the same records.
async fn both_refused(store: &Arc<Tampered>) -> String {
    let code = refused(store, ADDRESS).await;
    assert_eq!(refused(store, CHILD).await, code);
    code
}

fn of_parent(
    change: impl Fn(&mut Vec<StoredRecord>) + Send + Sync + 'static,
) -> impl Fn(&Address, &mut Vec<StoredRecord>) + Send + Sync {
    move |address, records| {
        if address.as_str() == ADDRESS {
            change(records);
        }
    }
}

// THREAT[TM-TXN-4]
#[test]
fn records_that_are_missing_or_rearranged_are_noticed() {
    block_on(async {
        let store = make().await;
        let changes: Vec<RecordsChange> = vec![
            Box::new(|records| records.clear()),
            Box::new(|records| drop(records.remove(0))),
            Box::new(|records| drop(records.remove(2))),
            Box::new(|records| records.swap(1, 2)),
            Box::new(|records| records.reverse()),
            Box::new(|records| records[3] = records[2].clone()),
            // A record of another number under the right one.
            Box::new(|records| records[3].body = records[2].body.clone()),
            Box::new(|records| {
                records[3].body = records[2].body.clone();
                records[3].digest = records[2].digest;
            }),
            Box::new(|records| records[3].digest = Digest::of(b"another")),
            Box::new(|records| records[3].body.clear()),
            Box::new(|records| records[3].body.truncate(40)),
            Box::new(|records| records[3].body.push(0)),
        ];
        for change in changes {
            store.records(of_parent(change));
            assert_eq!(both_refused(&store).await, "damaged_history");
        }
        store.honest();
        let whole: Arc<dyn ProcessStore> = store;
        assert_eq!(crate::steps::resume(&whole, ADDRESS).await.version(), 5);
        assert_eq!(crate::steps::resume(&whole, CHILD).await.version(), 7);
    });
}

#[test]
fn the_last_records_cannot_be_hidden() {
    block_on(async {
        let store = make().await;
        store.records(of_parent(|records| {
            records.retain(|record| record.version <= 3)
        }));
        assert_eq!(both_refused(&store).await, "damaged_history");
    });
}

#[test]
fn every_flipped_bit_of_a_record_is_noticed() {
    block_on(async {
        let store = make().await;
        let query = RecordQuery {
            from: 3,
            to: 3,
            limit: 1,
        };
        let record = store
            .inner
            .records(&ADDRESS.parse().unwrap(), query)
            .await
            .unwrap()
            .remove(0);
        for index in 0..record.body.len() {
            let bit = 1 << (index % 8);
            store.records(of_parent(move |records| {
                for record in records.iter_mut().filter(|record| record.version == 3) {
                    record.body[index] ^= bit;
                }
            }));
            assert_eq!(
                refused(&store, ADDRESS).await,
                "damaged_history",
                "byte {index}"
            );
            // A forger who fixes the digest still breaks the form, the root or the chain.
            store.records(of_parent(move |records| {
                for record in records.iter_mut().filter(|record| record.version == 3) {
                    record.body[index] ^= bit;
                    record.digest = Digest::of(&record.body);
                }
            }));
            refused(&store, ADDRESS).await;
        }
    });
}

#[test]
fn blocks_that_are_missing_or_damaged_are_noticed() {
    block_on(async {
        let store = make().await;
        let root = store
            .inner
            .load(&ADDRESS.parse().unwrap())
            .await
            .unwrap()
            .base
            .root;
        let known: Vec<Digest> = {
            let seen = Arc::new(Mutex::new(Vec::new()));
            let (tampered, into) = (store.clone(), seen.clone());
            tampered.blocks(move |digest, _| into.lock().unwrap().push(digest));
            let whole: Arc<dyn ProcessStore> = store.clone();
            crate::steps::resume(&whole, ADDRESS).await;
            seen.lock().unwrap().clone()
        };
        assert!(known.len() > 3 && known.contains(&root), "{}", known.len());
        for digest in known {
            store.blocks(move |wanted, block| {
                if wanted == digest {
                    *block = None;
                }
            });
            both_refused(&store).await;
            let len = store.inner.blocks(vec![digest]).await.unwrap()[0]
                .as_ref()
                .unwrap()
                .len();
            for index in [0, len / 2, len - 1] {
                store.blocks(move |wanted, block| {
                    if let Some(block) = block.as_mut().filter(|_| wanted == digest) {
                        block[index] ^= 1;
                    }
                });
                both_refused(&store).await;
            }
            store.blocks(move |wanted, block| {
                if let Some(block) = block.as_mut().filter(|_| wanted == digest) {
                    block.push(0);
                }
            });
            both_refused(&store).await;
        }
    });
}

#[test]
fn heads_and_bases_that_do_not_fit_are_noticed() {
    block_on(async {
        let store = make().await;
        let changes: Vec<HeadChange> = vec![
            Box::new(|head| head.digest = Digest::of(b"another")),
            Box::new(|head| head.root = Digest::of(b"another")),
            Box::new(|head| head.version -= 1),
            Box::new(|head| head.version += 1),
            Box::new(|head| head.base.root = Digest::of(b"another")),
            Box::new(|head| head.base.version += 1),
            Box::new(|head| head.base.address = CHILD.parse().unwrap()),
            // A process that is forked from itself must not be followed for ever.
            Box::new(|head| {
                head.base.kind = BaseKind::Forked {
                    parent: ADDRESS.parse().unwrap(),
                    record: head.digest,
                    events: 7,
                };
            }),
        ];
        for (index, change) in changes.into_iter().enumerate() {
            store.heads(move |address, head| {
                if address.as_str() == ADDRESS {
                    change(head);
                }
            });
            let code = refused(&store, ADDRESS).await;
            assert!(
                matches!(&*code, "damaged_history" | "block_missing" | "no_version"),
                "{index}: {code}"
            );
        }
    });
}

#[test]
fn a_circle_of_forks_is_noticed_by_every_reader() {
    block_on(async {
        let store = make().await;
        let whole: Arc<dyn ProcessStore> = store.clone();
        let process = crate::steps::resume(&whole, CHILD).await;
        store.heads(|address, head| {
            let other = if address.as_str() == ADDRESS {
                CHILD
            } else {
                ADDRESS
            };
            head.base.kind = BaseKind::Forked {
                parent: other.parse().unwrap(),
                record: head.digest,
                events: 7,
            };
        });
        // Whoever names another record than the parent has is no child of it.
        let query = svit_txn::HistoryQuery::default();
        assert_eq!(process.history(query).await.unwrap().len(), 2);
        assert_eq!(process.oldest_version().await.unwrap(), 5);
        assert_eq!(process.read_at(4, "/").await.unwrap_err().code(), "cut");
        assert_eq!(
            process.read_at(6, "/").await.unwrap_err().code(),
            "damaged_history"
        );
    });
}

#[test]
fn events_that_are_shared_in_a_circle_are_noticed() {
    block_on(async {
        let store = Arc::new(Tampered::default());
        let built = builder(ADDRESS).build().unwrap();
        let process = DurableProcess::create(store.clone(), built).await.unwrap();
        let submission = Submission::plain(Operation::Note).recording(|_| Extras {
            events: vec![("turn.finished".into(), value!(null))],
            ..Extras::default()
        });
        process.submit(submission).await.unwrap();
        let child = process.fork(CHILD).await.unwrap();
        assert_eq!(child.recent_events(3).await.unwrap().len(), 1);
        store.heads(|address, head| {
            let other = match address.as_str() {
                ADDRESS => CHILD,
                _ => ADDRESS,
            };
            head.shared = Some(SharedThread {
                parent: other.parse().unwrap(),
                events: 1,
            });
            head.first_event = 1;
        });
        let circle = child.recent_events(3).await.unwrap_err();
        assert_eq!(circle.code(), "damaged_history");
        let up = EventQuery {
            from: 0,
            limit: 3,
            newest_first: false,
        };
        let circle = child.events(up).await.unwrap_err();
        assert_eq!(circle.code(), "damaged_history");
    });
}

#[test]
fn a_history_that_cannot_be_decoded_is_an_error_of_its_version() {
    block_on(async {
        let store = make().await;
        let whole: Arc<dyn ProcessStore> = store.clone();
        let process = crate::steps::resume(&whole, ADDRESS).await;
        store.records(of_parent(|records| {
            for record in records.iter_mut().filter(|record| record.version == 2) {
                record.body = value!({"format": "svit-transaction@2"}).encode();
                record.digest = Digest::of(&record.body);
            }
        }));
        let error = process
            .history(svit_txn::HistoryQuery::default())
            .await
            .unwrap_err();
        assert!(matches!(error, Error::Record { version: 2, .. }), "{error}");
        assert_eq!(error.code(), "unknown_format");
    });
}
