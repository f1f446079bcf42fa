//! A script that takes its time: the process is dropped, or the turn cancelled, while it runs.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use svit_loop::{LoopError, Svit};
use svit_model::{Message, Scripted, ScriptedReply};
use svit_tree::Path;
use svit_tree::guest::{Guest, GuestError, GuestLimits, Host, Program};
use svit_txn::{DurableProcess, MemoryStore, Process, ProcessStore};
use svit_value::{List, Value, value};

use crate::common::{ADDRESS, answers, assert_whole, place, svit};

/// Adds one to `/memory/count`, and takes as long as the test wants.
struct Slow {
    begun: SyncSender<()>,
    go_on: Mutex<Receiver<()>>,
}

impl Guest for Slow {
    fn language(&self) -> &str {
        "slow@1"
    }

    fn check(&self, _: &Program, _: &GuestLimits) -> Result<(), GuestError> {
        Ok(())
    }

    fn run(
        &self,
        _: &Program,
        _: Value,
        host: Arc<dyn Host>,
        _: &GuestLimits,
    ) -> Result<Value, GuestError> {
        self.begun.send(()).unwrap();
        self.go_on.lock().unwrap().recv().unwrap();
        let path = Path::parse("/memory/count").unwrap();
        let count = host.read(&path).unwrap().unwrap().as_int().unwrap();
        host.write(&path, (count + 1).into()).unwrap();
        Ok(Value::Null)
    }
}

fn slow() -> (Arc<Slow>, Receiver<()>, SyncSender<()>) {
    let (begun, has_begun) = sync_channel(10);
    let (go_on, may_go_on) = sync_channel(10);
    let go = Mutex::new(may_go_on);
    (Arc::new(Slow { begun, go_on: go }), has_begun, go_on)
}

fn model() -> Scripted {
    Scripted::from_fn(|request| match place(request) {
        (1, 0) => ScriptedReply::call("exec", value!({"path": "/lib/slow"})),
        _ => ScriptedReply::text("Done."),
    })
}

async fn create(store: Arc<dyn ProcessStore>, guest: Arc<Slow>) -> DurableProcess {
    let process = Process::builder(ADDRESS)
        .unwrap()
        .guest("slow@1", guest)
        .memory("count", 0)
        .library("slow", value!({"source": "", "language": "slow@1"}))
        .build()
        .unwrap();
    DurableProcess::create(store, process).await.unwrap()
}

async fn until(receiver: &Receiver<()>) {
    while receiver.try_recv().is_err() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn dropped_while_a_script_runs_it_runs_again_and_commits_once() {
    let store = Arc::new(MemoryStore::new());
    let (guest, begun, go_on) = slow();
    let first = svit(create(store.clone(), guest).await, model())
        .await
        .unwrap();
    first.start().unwrap();
    first.inbox().send(Message::user("Count.")).await.unwrap();
    until(&begun).await;
    drop(first);
    // It ends after its process is gone: nothing comes of it.
    go_on.send(()).unwrap();

    let (guest, begun, go_on) = slow();
    let guests: [Arc<dyn Guest>; 1] = [guest];
    let process = DurableProcess::resume_with(store, ADDRESS, guests)
        .await
        .unwrap();
    let mut second = svit(process.clone(), model()).await.unwrap();
    second.start().unwrap();
    go_on.send(()).unwrap();
    second.block().await.unwrap();
    until(&begun).await;
    assert_eq!(second.read("/memory/count").unwrap(), Some(1.into()));
    assert_whole(&process, "resumed").await;
    assert_eq!(answers(&process).await, ["1: Some(\"Done.\")"]);
}

#[tokio::test]
async fn cancelled_while_a_script_runs_nothing_of_it_is_kept() {
    let (guest, begun, go_on) = slow();
    let process = create(Arc::new(MemoryStore::new()), guest).await;
    let svit: Svit = svit(process.clone(), model()).await.unwrap();
    svit.start().unwrap();
    let inbox = svit.inbox();
    let cancelling = async {
        until(&begun).await;
        // A message does not wait for the script.
        let late = inbox.send(Message::user("And then?")).await.unwrap();
        svit.cancel_turn();
        late
    };
    let (asked, late) = tokio::join!(inbox.ask(Message::user("Count.")), cancelling);
    assert!(matches!(asked, Err(LoopError::TurnFailed { code, .. }) if code == "cancelled"));
    go_on.send(()).unwrap();
    let answer = svit.outbox_from(0).recv().await;
    assert!(matches!(answer, Err(LoopError::TurnFailed { .. })));
    let mut outbox = svit.outbox_from(0);
    let answer = loop {
        if let Ok(answer) = outbox.recv().await {
            break answer;
        }
    };
    assert_eq!(answer.in_reply_to(), Some(late));
    assert_eq!(svit.read("/memory/count").unwrap(), Some(0.into()));
    assert_whole(&process, "cancelled").await;
}

/// As deep as a value may be, at every place that a result can come from.
#[tokio::test]
async fn the_deepest_results_are_recorded() {
    let mut deep = Value::from(1);
    for _ in 0..126 {
        deep = Value::List(List::from_values([deep]).unwrap());
    }
    let limits = svit_txn::Limits {
        max_value_depth: 128,
        ..svit_txn::Limits::default()
    };
    let process = Process::builder(ADDRESS)
        .unwrap()
        .limits(limits)
        .memory("deep", deep.clone())
        .build()
        .unwrap();
    let process = MemoryStore::new().create(process).await.unwrap();
    let asked = deep.clone();
    let model = Scripted::from_fn(move |request| match request.messages.len() {
        1 => ScriptedReply::call("read", value!({"path": "/"}))
            .and_call(
                "exec",
                value!({"source": "(define (main input) input)", "input": asked.clone()}),
            )
            .and_call(
                "write",
                value!({"path": "/memory/again", "value": asked.clone()}),
            ),
        _ => {
            let results = request.messages[2].tool_results();
            let errors = results.filter(|result| result.is_error).count();
            ScriptedReply::text(errors.to_string())
        }
    });
    let svit = svit(process, model).await.unwrap();
    svit.start().unwrap();
    let answer = svit.inbox().ask(Message::user("Deeper.")).await.unwrap();
    assert_eq!(answer.text(), Some("0"));
    assert_eq!(svit.read("/memory/again").unwrap(), Some(deep));
}
