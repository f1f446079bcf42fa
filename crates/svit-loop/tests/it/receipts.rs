//! The outcomes of a turn's calls are kept until its message is done, however few a client may have.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use svit_model::{Message, Scripted, ScriptedReply};
use svit_txn::{DurableProcess, Limits, MemoryStore, Process, ProcessStore, ReceiptKey};
use svit_value::{Text, value};

use crate::common::{ADDRESS, place, svit};

/// How many receipts of calls there are.
fn kept(store: &MemoryStore) -> usize {
    let is_kept = |request: String| {
        let key = ReceiptKey {
            client: Text::from("thread"),
            request: Text::from(request),
        };
        let address = ADDRESS.parse().unwrap();
        let found = store.receipt(&address, &key).now_or_never();
        found.unwrap().unwrap().is_some()
    };
    let sites = (0..20).flat_map(|turn| {
        (0..4).flat_map(move |step| (0..8).map(move |index| format!("{turn}.{step}.{index}")))
    });
    sites.filter(|site| is_kept(site.clone())).count()
}

#[tokio::test]
async fn the_receipts_of_a_turn_outlive_the_limit_until_its_message_is_done() {
    let store = MemoryStore::new();
    let limits = Limits {
        max_receipts: 2,
        ..Limits::default()
    };
    let process = Process::builder(ADDRESS).unwrap().limits(limits);
    let process = process.build().unwrap();
    let process = DurableProcess::create(Arc::new(store.clone()), process);
    let during = Arc::new(Mutex::new(0));
    let model = Scripted::from_fn({
        let (store, during) = (store.clone(), during.clone());
        move |request| match place(request) {
            (_, 0) => (1..6).fold(
                ScriptedReply::call("write", value!({"path": "/memory/n0", "value": 0})),
                |reply, n| {
                    let path = format!("/memory/n{n}");
                    reply.and_call("write", value!({"path": path, "value": n}))
                },
            ),
            _ => {
                *during.lock().unwrap() = kept(&store);
                ScriptedReply::text("Done.")
            }
        }
    });
    let svit = svit(process.await.unwrap(), model).await.unwrap();
    svit.start().unwrap();
    svit.inbox().ask(Message::user("count")).await.unwrap();
    assert_eq!(*during.lock().unwrap(), 6);
    assert_eq!(kept(&store), 2);
}
