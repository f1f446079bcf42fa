//! Every fault at every method: what is said, and what the store holds afterwards.

use futures_lite::future::{block_on, poll_once};
use svit_tree::{Address, Tree};
use svit_txn::{BaseKind, MemoryStore};
use svit_value::{Value, value};

use super::*;

/// A method that changes something.
type Write = fn(&dyn ProcessStore) -> BoxFuture<'_, StoreResult<()>>;

const WRITES: [(&str, Write); 8] = [
    ("insert_base", |store| {
        let (base, blocks) = base("new");
        let inserted = store.insert_base(base, blocks, Batch::default());
        Box::pin(async { inserted.await.map(drop) })
    }),
    ("claim", |store| {
        let claimed = store.claim(&address("demo"));
        Box::pin(async { claimed.await.map(drop) })
    }),
    ("append", |store| {
        let batch = Batch {
            events: vec![event(2)],
            ..Batch::default()
        };
        store.append(&address("demo"), base("demo").0.head(), 1, batch)
    }),
    ("put_checkpoint", |store| {
        store.put_checkpoint(&address("fork"), whole(&fork()))
    }),
    ("cut", |store| {
        let (base, _) = base("demo");
        let kind = BaseKind::Checkpoint {
            record: base.head(),
            thread: None,
        };
        store.cut(&address("demo"), 1, Base { kind, ..base })
    }),
    ("trim_events", |store| {
        store.trim_events(&address("demo"), 1, 1)
    }),
    ("delete", |store| store.delete(&address("other"), 1)),
    ("collect", |store| {
        let collected = store.collect(100);
        Box::pin(async { collected.await.map(drop) })
    }),
];

/// A method that changes nothing.
type Look = fn(&dyn ProcessStore) -> BoxFuture<'_, StoreResult<()>>;

const READS: [(&str, Look); 8] = [
    ("load", |store| seen(store.load(&address("demo")))),
    ("records", |store| {
        let query = RecordQuery {
            from: 0,
            to: 9,
            limit: 9,
        };
        seen(store.records(&address("demo"), query))
    }),
    ("events", |store| {
        let query = EventQuery {
            from: 0,
            limit: 9,
            newest_first: false,
        };
        seen(store.events(&address("demo"), query))
    }),
    ("receipt", |store| {
        let key = ReceiptKey {
            client: "client".into(),
            request: "request".into(),
        };
        seen(store.receipt(&address("demo"), &key))
    }),
    ("blocks", |store| seen(store.blocks(vec![]))),
    ("checkpoints", |store| {
        seen(store.checkpoints(&address("demo"), 9, 9))
    }),
    ("forks", |store| seen(store.forks(&address("demo"), 9, 9))),
    ("addresses", |store| seen(store.addresses(None, 9))),
];

fn seen<'a, T: Send + 'a>(call: BoxFuture<'a, StoreResult<T>>) -> BoxFuture<'a, StoreResult<()>> {
    Box::pin(async { call.await.map(drop) })
}

fn address(name: &str) -> Address {
    format!("svit://local/{name}").parse().unwrap()
}

fn event(seq: u64) -> ThreadEvent {
    ThreadEvent {
        seq,
        kind: "turn.started".into(),
        body: value!({}),
    }
}

fn blocks(value: &Value) -> Vec<Block> {
    let blocks = value.blocks();
    blocks
        .map(|(digest, data)| Block { digest, data })
        .collect()
}

/// A base with a block that its root does not reach, so that there is something to collect.
fn base(name: &str) -> (Base, Vec<Block>) {
    let tree = Tree::new();
    let mut all = blocks(tree.root());
    all.extend(blocks(&Value::from(name.repeat(500))));
    let base = Base {
        address: address(name),
        version: 0,
        root: tree.digest(),
        kind: BaseKind::Created,
    };
    (base, all)
}

fn fork() -> Base {
    let (parent, _) = base("demo");
    let kind = BaseKind::Forked {
        parent: parent.address.clone(),
        record: parent.head(),
        events: 0,
    };
    Base {
        address: address("fork"),
        kind,
        ..parent
    }
}

/// A whole checkpoint of a base.
fn whole(base: &Base) -> CheckpointPart {
    CheckpointPart {
        checkpoint: Checkpoint {
            version: base.version,
            record: base.head(),
            root: base.root,
        },
        since: None,
        index: 0,
        blocks: blocks(Tree::new().root()),
        last: true,
    }
}

/// A store in which each of the writes has something to do.
async fn filled() -> Arc<MemoryStore> {
    let store = Arc::new(MemoryStore::new());
    let (demo, all) = base("demo");
    let batch = Batch {
        events: vec![event(0), event(1)],
        ..Batch::default()
    };
    store.insert_base(demo.clone(), all, batch).await.unwrap();
    let put = store.put_checkpoint(&demo.address, whole(&demo));
    put.await.unwrap();
    let forked = store.insert_base(fork(), vec![], Batch::default());
    forked.await.unwrap();
    let (other, all) = base("other");
    let inserted = store.insert_base(other, all, Batch::default());
    inserted.await.unwrap();
    store
}

/// Everything that the writes change.
async fn state(store: &MemoryStore) -> String {
    let mut state = String::new();
    for address in store.addresses(None, 99).await.unwrap() {
        let head = store.load(&address).await.unwrap();
        let checkpoints = store.checkpoints(&address, 9, 9).await.unwrap();
        let forks = store.forks(&address, 9, 9).await.unwrap();
        state += &format!("{head:?} {checkpoints:?} {forks:?}\n");
    }
    for name in ["new", "demo", "other"] {
        let digests = base(name).1.iter().map(|block| block.digest).collect();
        let there = store.blocks(digests).await.unwrap();
        let there: Vec<bool> = there.iter().map(Option::is_some).collect();
        state += &format!("{there:?}\n");
    }
    state
}

#[test]
fn a_write_with_a_fault_is_done_or_not_as_the_fault_says() {
    for (name, write) in WRITES {
        for fault in Fault::ALL {
            block_on(check(name, write, fault));
        }
    }
}

async fn check(name: &str, write: Write, fault: Fault) {
    let what = format!("{name} with {fault:?}");
    let twin = filled().await;
    let before = state(&twin).await;
    write(&*twin).await.unwrap();
    let after = state(&twin).await;
    assert_ne!(before, after, "{name} changes nothing");

    let inner = filled().await;
    let store = FaultyStore::new(inner.clone());
    store.at_write(1, fault);
    let mut call = write(&store);
    let result = poll_once(&mut call).await;
    let code = result.map(|result| result.unwrap_err().code());
    let expected = match fault {
        Fault::Fail => Some("unavailable"),
        Fault::ForgetLost | Fault::ForgetLanded => Some("unknown"),
        Fault::HangLost | Fault::HangLanded => None,
        Fault::CutLost | Fault::CutLanded => Some("unknown"),
    };
    assert_eq!(code, expected, "{what}");
    assert_eq!((store.calls(), store.writes()), (1, 1), "{what}");
    assert_eq!(store.hanging(), u64::from(code.is_none()), "{what}");
    let now = if fault.lands() { &after } else { &before };
    assert_eq!(&state(&inner).await, now, "{what}");

    // Power stays cut, whatever is asked; a fault comes once.
    let cut = matches!(fault, Fault::CutLost | Fault::CutLanded);
    let load = store.load(&address("demo")).await;
    assert_eq!(load.is_err(), cut, "{what}");
    if cut {
        assert_eq!(write(&store).await.unwrap_err().code(), "unavailable");
        assert_eq!(&state(&inner).await, now, "{what}");
    }
    drop(call);
    store.restore();
    if !fault.lands() {
        write(&store).await.unwrap();
        assert_eq!(state(&inner).await, after, "{what}, and once more");
    }
}

#[test]
fn a_read_with_a_fault_says_that_the_store_is_not_available() {
    for (name, read) in READS {
        for fault in Fault::ALL {
            let store = block_on(async { FaultyStore::new(filled().await) });
            store.at_call(1, fault);
            let result = block_on(poll_once(read(&store)));
            let code = result.map(|result| result.unwrap_err().code());
            let hangs = matches!(fault, Fault::HangLost | Fault::HangLanded);
            let expected = (!hangs).then_some("unavailable");
            assert_eq!(code, expected, "{name} with {fault:?}");
            assert_eq!((store.calls(), store.writes()), (1, 0), "{name}");
            store.restore();
            block_on(read(&store)).unwrap();
        }
    }
}

#[test]
fn faults_are_planned_by_number_of_call_or_of_write() {
    block_on(async {
        let store = FaultyStore::new(filled().await);
        store.at_write(2, Fault::Fail);
        store.at_call(4, Fault::Fail);
        let mut refused = Vec::new();
        for _ in 0..3 {
            refused.push(store.claim(&address("demo")).await.is_err());
            refused.push(store.load(&address("demo")).await.is_err());
        }
        assert_eq!(refused, [false, false, true, true, false, false]);
    });
}
