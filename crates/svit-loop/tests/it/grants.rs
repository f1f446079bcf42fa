//! Ports and mounts of an agent: called, read and written by its model, and through every crash.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use svit_loop::{Svit, ToolPolicy};
use svit_model::{Message, Scripted, ScriptedReply};
use svit_ports::{
    BoxFuture, Effect, Port, PortContext, PortDescriptor, PortFailure, Ports, ValueMount,
};
use svit_testkit::fault::{Fault, FaultyStore};
use svit_txn::{DurableProcess, EventQuery, MemoryStore, ProcessStore};
use svit_value::{Value, value};

use crate::common::{answers, create, place, reasoner, resume};

/// What ports were asked: name and key.
type Asked = Arc<Mutex<Vec<(String, String)>>>;

/// A port that gives back its input, with the count of the process beside it.
struct Echo {
    name: &'static str,
    effect: Effect,
    idempotent: bool,
    asked: Asked,
}

impl Port for Echo {
    fn descriptor(&self) -> PortDescriptor {
        PortDescriptor::new(self.name, "1", "Gives back its input.")
            .effect(self.effect)
            .idempotent(self.idempotent)
    }

    fn call<'a>(
        &'a self,
        ctx: &'a PortContext,
        input: Value,
    ) -> BoxFuture<'a, Result<Value, PortFailure>> {
        Box::pin(async move {
            let call = (self.name.to_owned(), ctx.idempotency_key().to_owned());
            self.asked.lock().unwrap().push(call);
            tokio::task::yield_now().await;
            if input == "fail".into() {
                return Err(PortFailure::new("no_luck", "it did not work"));
            }
            Ok(value!({"got": input, "count": (ctx.read("/memory/count")?)}))
        })
    }
}

/// `look` may be called again, `pay` may not.
fn ports(asked: &Asked) -> Ports {
    let port = |name, effect, idempotent| Echo {
        name,
        effect,
        idempotent,
        asked: asked.clone(),
    };
    Ports::new()
        .port(port("look", Effect::Read, true))
        .port(port("pay", Effect::Write, false))
}

const PAY: &str = "(define (main x) (do (write \"/memory/count\" 1) (port-call \"pay\" 9)))";

/// Pays in a script, looks by path, answers.
fn payer() -> Scripted {
    Scripted::from_fn(|request| match place(request) {
        (1, 0) => ScriptedReply::call("exec", value!({"source": PAY})),
        (1, 1) => ScriptedReply::call("exec", value!({"path": "/ports/look", "input": "here"})),
        (1, 2) => ScriptedReply::text("Done."),
        other => panic!("asked at {other:?}"),
    })
}

/// The results of tool calls, in order: content, and whether it is an error.
async fn results(process: &DurableProcess) -> Vec<(Value, bool)> {
    let finished = events(process, "tool.finished").await;
    finished
        .into_iter()
        .map(|body| {
            let is_error = body.get("is_error").and_then(Value::as_bool).unwrap();
            (body.get("result").cloned().unwrap(), is_error)
        })
        .collect()
}

async fn events(process: &DurableProcess, kind: &str) -> Vec<Value> {
    let query = EventQuery {
        from: 0,
        limit: 10_000,
        newest_first: false,
    };
    let events = process.events(query).await.unwrap();
    let of_kind = events.into_iter().filter(|event| &*event.kind == kind);
    of_kind.map(|event| event.body).collect()
}

async fn run(process: DurableProcess, asked: &Asked, model: Scripted) -> DurableProcess {
    let mut svit = Svit::persisted(process.clone())
        .unwrap()
        .ports(ports(asked))
        .reasoner(reasoner(model))
        .max_turn_wall(Duration::MAX)
        .build()
        .await
        .unwrap();
    let inbox = svit.inbox();
    inbox
        .send_keyed("one", Message::user("Pay."))
        .await
        .unwrap();
    drop(inbox);
    svit.start().unwrap();
    svit.block().await.unwrap();
    process
}

#[tokio::test]
async fn a_model_calls_ports_by_path_and_through_scripts_and_each_call_is_in_the_thread() {
    let asked = Asked::default();
    let process = create(Arc::new(MemoryStore::new())).await;
    let model = Scripted::from_fn(|request| {
        let system = request.system.as_deref().unwrap();
        assert!(
            system.contains("/ports/<name>") && !system.contains("/mounts"),
            "{system}"
        );
        match place(request) {
            (1, 0) => ScriptedReply::call("exec", value!({"source": PAY}))
                .and_call("exec", value!({"path": "/ports/look", "input": "here"})),
            (1, 1) => ScriptedReply::call("exec", value!({"path": "/ports/look", "input": "fail"}))
                .and_call("exec", value!({"path": "/ports/none"}))
                .and_call("read", value!({"path": "/ports/pay"})),
            (1, 2) => ScriptedReply::text("Done."),
            other => panic!("asked at {other:?}"),
        }
    });
    let process = run(process, &asked, model).await;
    let results = results(&process).await;
    let output = |at: usize| results[at].0.get("output").cloned().unwrap();
    // The port sees what is committed, not what the script is about to write.
    assert_eq!(output(0), value!({"got": 9, "count": 0}));
    assert_eq!(output(1), value!({"got": "here", "count": 1}));
    assert!(results[2].1 && results[2].0.to_string().contains("it did not work"));
    assert!(
        results[3].1 && results[3].0.to_string().contains("no port"),
        "{}",
        results[3].0
    );
    assert_eq!(results[4].0.get("effect"), Some(&"write".into()));

    let started = events(&process, "port.started").await;
    let finished = events(&process, "port.finished").await;
    let field = |of: &[Value], field: &str| -> Vec<String> {
        of.iter()
            .map(|body| body.get(field).unwrap().to_string())
            .collect()
    };
    assert_eq!(field(&started, "name"), ["\"pay\"", "\"look\"", "\"look\""]);
    assert_eq!(field(&started, "idempotent"), ["false", "true", "true"]);
    assert_eq!(
        field(&finished, "outcome"),
        ["\"ok\"", "\"ok\"", "\"error\""]
    );
    assert_eq!(
        started[0].get("input"),
        Some(&value!(9).digest().to_string().into())
    );
    let keys: Vec<String> = asked
        .lock()
        .unwrap()
        .iter()
        .map(|(_, key)| format!("\"{key}\""))
        .collect();
    assert_eq!(field(&started, "key"), keys);
}

/// Plays until an append does not come back, as when the program is killed in it; then plays again
/// from what the store has.
async fn interrupted_at(write: u64, fault: Fault) -> bool {
    let when = format!("write {write}, {fault:?}");
    let memory = MemoryStore::new();
    create(Arc::new(memory.clone())).await;
    let store = Arc::new(FaultyStore::new(Arc::new(memory.clone())));
    let asked = Asked::default();
    let process = resume(store.clone()).await.unwrap();
    store.at_write(store.writes() + write, fault);
    let hangs = async {
        while store.hanging() == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let ended = tokio::select! {
        _ = run(process, &asked, payer()) => true,
        () = hangs => false,
    };
    if ended {
        return true;
    }
    drop(store);
    let memory: Arc<dyn ProcessStore> = Arc::new(memory);
    let process = run(resume(memory).await.unwrap(), &asked, payer()).await;
    // The first version attached the ports.
    assert_eq!(answers(&process).await, ["2: Some(\"Done.\")"], "{when}");

    let results = results(&process).await;
    assert_eq!(results.len(), 2, "{when}");
    let asked = asked.lock().unwrap().clone();
    let keys = |port: &str| -> Vec<String> {
        let calls = asked.iter().filter(|(name, _)| name == port);
        calls.map(|(_, key)| key.clone()).collect()
    };
    // Paid at most once, and either it is committed or the model knows that it is not known.
    let (paid, is_error) = &results[0];
    assert!(keys("pay").len() <= 1, "{when}: paid twice");
    let count = process.read("/memory/count").unwrap().unwrap();
    if *is_error {
        assert!(paid.to_string().contains("interrupted"), "{when}: {paid}");
        assert_eq!(count, 0.into(), "{when}");
    } else {
        assert_eq!((keys("pay").len(), count), (1, 1.into()), "{when}");
    }
    // Looked as often as needed, always as one and the same call.
    let mut looked = keys("look");
    looked.dedup();
    assert_eq!((looked.len(), results[1].1), (1, false), "{when}");
    false
}

// THREAT[TM-PORT-1]
#[tokio::test(start_paused = true)]
async fn a_port_that_may_not_be_called_twice_is_not_however_the_program_ends() {
    let (mut interrupted, mut ended) = (0, 0);
    for fault in [Fault::HangLost, Fault::HangLanded] {
        for write in 1..100 {
            if interrupted_at(write, fault).await {
                ended += 1;
                break;
            }
            interrupted += 1;
        }
    }
    // A session, two turns' events, each tool call with its port: more than twenty appends.
    assert!(interrupted > 20, "{interrupted}");
    assert_eq!(ended, 2);
}

/// One turn in which the model makes these calls, one after the other.
async fn turn(svit: &Svit, calls: usize) -> Vec<(Value, bool)> {
    let inbox = svit.inbox();
    let answer = inbox.ask(Message::user("Go.")).await.unwrap();
    assert_eq!(answer.text(), Some("Done."));
    let results = results(svit.process()).await;
    assert_eq!(results.len(), calls);
    results
}

fn calls(calls: Vec<(&'static str, Value)>) -> Scripted {
    Scripted::from_fn(move |request| match calls.get(place(request).1) {
        Some((tool, arguments)) => ScriptedReply::call(*tool, arguments.clone()),
        None => ScriptedReply::text("Done."),
    })
}

#[tokio::test]
async fn a_model_reads_and_writes_below_mounts_and_is_told_what_became_of_it() {
    let shelf = Arc::new(ValueMount::read_write(
        value!({"a": 1, "deep": {"x": "text"}}),
    ));
    let script = "(define (main x) (do (write \"/mounts/shelf/b\" 2) \
                  (write \"/mounts/shelf/none/x\" 3) (write \"/mounts/shelf/c\" 4) x))";
    let model = calls(vec![
        ("discover", value!({"path": "/mounts/shelf"})),
        ("read", value!({"path": "/mounts/shelf/deep/x"})),
        ("stat", value!({"path": "/mounts/shelf/a"})),
        ("write", value!({"path": "/mounts/shelf/a", "value": 5})),
        ("remove", value!({"path": "/mounts/shelf/deep"})),
        (
            "write",
            value!({"path": "/mounts/shelf/none/x", "value": 5}),
        ),
        ("write", value!({"path": "/mounts/fixed", "value": 5})),
        ("exec", value!({"source": script, "input": 7})),
        ("read", value!({"path": "/mounts/shelf/b"})),
        ("read", value!({"path": "/mounts/none/x"})),
    ]);
    let svit = Svit::builder("svit://local/mounts")
        .unwrap()
        .mount("shelf", shelf.clone())
        .mount("fixed", ValueMount::read_only("as it is"))
        .reasoner(reasoner(model))
        .build()
        .await
        .unwrap();
    svit.start().unwrap();
    let results = turn(&svit, 10).await;
    assert_eq!(results[0].0.get("names"), Some(&value!(["a", "deep"])));
    assert_eq!(results[1].0, "text".into());
    assert_eq!(results[2].0.get("attached"), Some(&true.into()));
    assert!(!results[3].1 && !results[4].1, "{results:?}");
    // Committed, and told that the mount refused.
    let (refused, is_error) = &results[5];
    assert!(
        *is_error && refused.to_string().contains("is committed"),
        "{refused}"
    );
    let (denied, is_error) = &results[6];
    assert!(
        *is_error && denied.to_string().contains("does not grant"),
        "{denied}"
    );
    let (ran, is_error) = &results[7];
    assert!(*is_error);
    let outcomes = ran.get("mounts").and_then(Value::as_list).unwrap();
    let outcome = |at: usize| {
        outcomes
            .get(at)
            .unwrap()
            .get("outcome")
            .unwrap()
            .to_string()
    };
    assert_eq!(outcome(0), "\"made\"");
    assert!(outcome(1).contains("failed") && outcome(2).contains("not tried"));
    assert_eq!(ran.get("output"), Some(&7.into()));
    assert_eq!(results[8].0, 2.into());
    assert!(results[9].1);
    assert_eq!(shelf.get(), value!({"a": 5, "b": 2}));
}

#[tokio::test]
async fn what_the_host_has_not_allowed_is_not_reached_by_another_way() {
    let asked = Asked::default();
    for (policy, call) in [
        (
            ToolPolicy::new().read_only(),
            ("write", value!({"path": "/mounts/shelf/a", "value": 2})),
        ),
        (
            ToolPolicy::new().read_only(),
            ("exec", value!({"path": "/ports/pay"})),
        ),
        (
            ToolPolicy::new().scripts(["add"]),
            ("exec", value!({"path": "/ports/pay"})),
        ),
        (
            ToolPolicy::new().paths(["/memory"]).unwrap(),
            ("read", value!({"path": "/mounts/shelf/a"})),
        ),
        (
            ToolPolicy::new().paths(["/memory"]).unwrap(),
            ("write", value!({"path": "/mounts/shelf/a", "value": 2})),
        ),
    ] {
        let shelf = Arc::new(ValueMount::read_write(value!({"a": 1})));
        let svit = Svit::builder("svit://local/narrow")
            .unwrap()
            .ports(ports(&asked))
            .mount("shelf", shelf.clone())
            .tools(policy)
            .reasoner(reasoner(calls(vec![call])))
            .build()
            .await
            .unwrap();
        svit.start().unwrap();
        assert!(turn(&svit, 1).await[0].1);
        assert_eq!(shelf.get(), value!({"a": 1}));
    }
    assert!(asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn bad_grants_are_the_builders_error() {
    let asked = Asked::default();
    let twice = ports(&asked).port(Echo {
        name: "pay",
        effect: Effect::Read,
        idempotent: true,
        asked,
    });
    let builder = || Svit::builder("svit://local/x").unwrap();
    let refused = builder().ports(twice).build().await.unwrap_err();
    assert_eq!(refused.code(), "duplicate_port");
    let refused = builder()
        .mount("..", ValueMount::read_only(1))
        .build()
        .await
        .unwrap_err();
    assert_eq!(refused.code(), "bad_path");
}
