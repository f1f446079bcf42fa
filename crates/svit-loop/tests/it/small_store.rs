//! A store that takes only so much at once: what does not fit ends a turn or a call, not the loop.

use std::sync::Arc;

use svit_loop::LoopError;
use svit_model::{Message, Role, Scripted, ScriptedReply};
use svit_tree::Address;
use svit_txn::{Batch, BoxFuture, MemoryStore, ProcessStore, StoreError, StoreResult};
use svit_value::{Digest, value};

use crate::common::{create, svit};

const MOST: u64 = 4_000;

struct Small(MemoryStore);

impl ProcessStore for Small {
    fn append(
        &self,
        address: &Address,
        expected: Digest,
        epoch: u64,
        batch: Batch,
    ) -> BoxFuture<'_, StoreResult<()>> {
        let events = batch.events.iter().map(|e| e.body.measure().cbor_len);
        let records = batch.records.iter().map(|r| r.body.len() as u64);
        let largest = events.chain(records).max().unwrap_or(0);
        if largest > MOST {
            return Box::pin(async move {
                Err(StoreError::TooLarge {
                    what: "a part".to_owned(),
                    allowed: MOST,
                    actual: largest,
                })
            });
        }
        self.0.append(address, expected, epoch, batch)
    }

    svit_testkit::forward_to_store!(0: insert_base load claim records events receipt blocks put_checkpoint
        checkpoints cut forks trim_events delete collect addresses);
}

#[tokio::test(start_paused = true)]
async fn what_does_not_fit_ends_the_turn_or_the_call() {
    let model = Scripted::from_fn(|request| {
        let newest = request.messages.last().unwrap();
        let asked = request.messages.iter().rfind(|m| m.role == Role::User);
        match (newest.role, asked.and_then(Message::text)) {
            (Role::User, Some("say much")) => ScriptedReply::text("y".repeat(10_000)),
            (Role::User, Some("cut much")) => {
                ScriptedReply::text("y".repeat(10_000)).finish(svit_model::FinishReason::Length)
            }
            (Role::User, Some("write much")) => {
                ScriptedReply::call("write", value!({"path": "/memory/half", "value": "z".repeat(1_900)}))
                    .and_call("exec", value!({
                        "source": "(define (main input) (write \"/memory/copy\" (list (read \"/memory/half\") (read \"/memory/half\") (read \"/memory/half\"))))",
                    }))
            }
            (Role::Tool, _) => {
                let results = newest.tool_results().map(|r| r.content.to_json().unwrap());
                ScriptedReply::text(results.last().unwrap())
            }
            _ => ScriptedReply::text("Fine."),
        }
    });
    let process = create(Arc::new(Small(MemoryStore::new()))).await;
    let svit = svit(process, model).await.unwrap();
    svit.start().unwrap();
    let inbox = svit.inbox();
    for (question, expected) in [("say much", "too_large"), ("cut much", "answer_cut")] {
        match inbox.ask(Message::user(question)).await {
            Err(LoopError::TurnFailed { code, attempts, .. }) => {
                assert_eq!((code.as_str(), attempts), (expected, 1));
            }
            other => panic!("{other:?}"),
        }
    }
    let answer = inbox.ask(Message::user("write much")).await.unwrap();
    assert!(
        answer.text().unwrap().contains("at most 4000 are allowed"),
        "{answer:?}"
    );
    assert_eq!(svit.read("/memory/copy").unwrap(), None);
    let answer = inbox.ask(Message::user("and now?")).await.unwrap();
    assert_eq!(answer.text(), Some("Fine."));
}
