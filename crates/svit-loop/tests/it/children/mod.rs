//! The port `spawn`: children of a process that answer a message each, and what is left when
//! something goes wrong on the way.

mod crash;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use svit_loop::{Svit, ToolPolicy};
use svit_model::{
    BoxFuture, Message, ModelError, ModelLimits, ModelRequest, ModelStream, Provider, Scripted,
    ScriptedReply,
};
use svit_ports::Ports;
use svit_ports::spawn::{SpawnLimits, SpawnPort};
use svit_testkit::fault::{Fault, FaultyStore};
use svit_tree::Change;
use svit_txn::{
    Activation, DurableProcess, Hook, MemoryStore, Process, ProcessStore, Proposed, Refusal,
};
use svit_value::{Value, value};

use crate::common::{ADDRESS, answers, create, place, reasoner, resume};

/// Has a child answer, and keeps what it said.
const ASK: &str = "(define (main prompt) \
     (let ((answer (port-call \"spawn\" (value-map \"prompt\" prompt)))) \
       (do (write \"/memory/facts/said\" (value-get answer \"/text\")) answer)))";

/// Says why there was no answer.
const TRY: &str = "(define (main prompt) \
     (safe-call (lambda () (port-call \"spawn\" (value-map \"prompt\" prompt)))))";

/// A child's model: adds one to what its parent has counted, and says what came of it.
fn adder() -> Scripted {
    Scripted::from_fn(|request| {
        match place(request).1 {
        0 => ScriptedReply::call("exec", value!({"source": "(define (main x) (let ((n (+ 1 (read \"/memory/count\")))) (do (write \"/memory/count\" n) n)))"}))
            .usage(100, 10),
        _ => {
            let last = request.messages.last().unwrap();
            let result = last.tool_results().next().unwrap();
            let output = result.content.get("output").unwrap();
            ScriptedReply::text(format!("{output} is the count.")).usage(120, 5)
        }
    }
    })
}

/// A process with the scripts above and these ports, and no model of its own.
async fn parent(ports: Ports) -> Svit {
    with_policy(ports, ToolPolicy::new(), Arc::new(MemoryStore::new())).await
}

async fn with_policy(ports: Ports, policy: ToolPolicy, store: Arc<dyn ProcessStore>) -> Svit {
    let process = create(store).await;
    for (name, source) in [("ask", ASK), ("try", TRY)] {
        let script = value!({"source": source});
        process.write(format!("/lib/{name}"), script).await.unwrap();
    }
    process.write("/memory/count", 6).await.unwrap();
    Svit::persisted(process)
        .unwrap()
        .ports(ports)
        .tools(policy)
        .instructions("Count well.")
        .build()
        .await
        .unwrap()
}

/// Runs a script that is put into the library first.
async fn run(process: &DurableProcess, source: &str, input: &str) -> Activation {
    let script = value!({"source": source});
    process.write("/lib/once", script).await.unwrap();
    process.exec("/lib/once", input).await.unwrap()
}

/// What stands at `/children`, in words, sorted.
fn children(process: &DurableProcess) -> Vec<String> {
    let names = process.discover("/children").unwrap();
    let mut all: Vec<String> = names
        .iter()
        .map(|name| {
            let entry = process.read(format!("/children/{name}")).unwrap().unwrap();
            let address = entry.get("address").and_then(Value::as_str).unwrap();
            let expected = format!("{}/children/{name}", process.address());
            assert_eq!(address, expected);
            let text = |field: &str| entry.get(field).map(Value::to_string);
            let how_far = [text("state"), text("version"), text("code")];
            how_far.into_iter().flatten().collect::<Vec<_>>().join(" ")
        })
        .collect();
    all.sort();
    all
}

/// The one child of a process.
async fn child(store: &Arc<dyn ProcessStore>, parent: &DurableProcess) -> DurableProcess {
    let names = parent.discover("/children").unwrap();
    assert_eq!(names.len(), 1, "{names:?}");
    let address = format!("{}/children/{}", parent.address(), names[0]);
    DurableProcess::resume(store.clone(), address)
        .await
        .unwrap()
}

#[tokio::test]
async fn a_child_begins_with_what_its_parent_knows_and_changes_nothing_there() {
    let store: Arc<dyn ProcessStore> = Arc::new(MemoryStore::new());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let there = seen.clone();
    let adder = adder();
    let model = Scripted::from_fn(move |request| {
        let system = request.system.clone().unwrap_or_default();
        there.lock().unwrap().push(system);
        futures_util::FutureExt::now_or_never(replied(&adder, request)).unwrap()
    });
    let ports = Ports::new().spawn(reasoner(model));
    let svit = with_policy(ports, ToolPolicy::new(), store.clone()).await;
    let process = svit.process();
    let before = process.version();
    let activation = process.exec("/lib/ask", "How many?").await.unwrap();
    let output = &activation.output;
    assert_eq!(output.get("text"), Some(&"7 is the count.".into()));
    assert_eq!(output.get("input_tokens"), Some(&220.into()));
    assert_eq!(output.get("output_tokens"), Some(&15.into()));
    assert_eq!(activation.ports.len(), 1);

    // Two entries about the child, and what the script did.
    assert_eq!(activation.version, before + 3);
    assert_eq!(process.read("/memory/count").unwrap(), Some(6.into()));
    assert_eq!(
        process.read("/memory/facts/said").unwrap(),
        Some("7 is the count.".into())
    );
    let version = output.get("version").unwrap();
    assert_eq!(children(process), [format!("\"answered\" {version}")]);
    assert!(seen.lock().unwrap()[0].contains("Count well."));

    let child = child(&store, process).await;
    assert_eq!(
        output.get("address"),
        Some(&child.address().as_str().into())
    );
    assert_eq!(child.read("/memory/count").unwrap(), Some(7.into()));
    assert_eq!(child.read("/children").unwrap(), Some(value!({})));
    assert_eq!(child.read("/ports").unwrap(), Some(value!({})));
    assert_eq!(Value::Int(child.version() as i64), *version);

    // It is in the history of its parent, and can be forgotten there.
    let name = process.discover("/children").unwrap().remove(0);
    process.forget_child(name.clone()).await.unwrap();
    assert!(children(process).is_empty());
    let missing = process.forget_child(name).await.unwrap_err();
    assert_eq!(missing.code(), "missing");
    assert_eq!(child.read("/memory/count").unwrap(), Some(7.into()));
}

/// The reply of a scripted model, so that another one can look at what it is asked.
async fn replied(model: &Scripted, request: &ModelRequest) -> ScriptedReply {
    let stream = model.respond(request.clone()).await.unwrap();
    let response = svit_model::collect(stream, |_| {}).await.unwrap();
    let mut reply = ScriptedReply::text(response.message.text().unwrap_or_default());
    for call in response.message.tool_calls() {
        reply = reply.and_call(call.name.clone(), call.input().unwrap().clone());
    }
    reply.usage(response.usage.input_tokens, response.usage.output_tokens)
}

#[tokio::test]
async fn each_call_has_a_child_of_its_own_also_with_the_same_prompt() {
    let ports = Ports::new().spawn(reasoner(adder()));
    let svit = parent(ports).await;
    let process = svit.process();
    let twice = "(define (main x) (let ((ask (lambda () (value-get (port-call \"spawn\" (value-map \"prompt\" x)) \"/address\")))) (list (ask) (ask))))";
    let output = run(process, twice, "How many?").await.output;
    let addresses = output.as_list().unwrap();
    assert_ne!(addresses.get(0), addresses.get(1));
    process.exec("/lib/ask", "How many?").await.unwrap();
    assert_eq!(children(process).len(), 3);
}

#[tokio::test]
async fn a_model_has_a_child_work_that_knows_the_conversation() {
    let parent_model = Scripted::from_fn(|request| match place(request) {
        (1, 0) => ScriptedReply::text("Hello.").usage(5_000, 500),
        (2, 0) => ScriptedReply::call(
            "exec",
            value!({"path": "/ports/spawn", "input": {"prompt": "How many?"}}),
        ),
        (2, 1) => {
            let last = request.messages.last().unwrap();
            let result = last.tool_results().next().unwrap();
            ScriptedReply::text(result.content.to_json().unwrap())
        }
        other => panic!("asked at {other:?}"),
    });
    let heard = Arc::new(Mutex::new(Vec::new()));
    let there = heard.clone();
    let adder = adder();
    let model = Scripted::from_fn(move |request| {
        let texts = request.messages.iter().filter_map(Message::text);
        *there.lock().unwrap() = texts.map(str::to_owned).collect();
        futures_util::FutureExt::now_or_never(replied(&adder, request)).unwrap()
    });
    let process = create(Arc::new(MemoryStore::new())).await;
    let svit = Svit::persisted(process.clone())
        .unwrap()
        .ports(Ports::new().spawn(reasoner(model)))
        .reasoner(reasoner(parent_model))
        .build()
        .await
        .unwrap();
    svit.start().unwrap();
    svit.inbox().ask(Message::user("Hi.")).await.unwrap();
    let answer = svit.inbox().ask(Message::user("Count.")).await.unwrap();
    let answer = answer.text().unwrap();
    // The tokens are the child's own.
    for expected in [
        "1 is the count.",
        "\"input_tokens\":220",
        "\"output_tokens\":15",
    ] {
        assert!(answer.contains(expected), "no {expected} in {answer}");
    }
    // The turn under way is its parent's matter.
    assert_eq!(*heard.lock().unwrap(), ["Hi.", "Hello.", "How many?"]);
    assert_eq!(process.read("/memory/count").unwrap(), Some(0.into()));
    assert_eq!(children(&process).len(), 1);
}

#[tokio::test]
async fn what_goes_wrong_in_a_child_is_told_and_kept() {
    let model = Scripted::from_fn(|request| {
        let asked = request.messages.last().and_then(Message::text);
        match asked.unwrap_or_default() {
            "refuse" => ScriptedReply::error(ModelError::Refused {
                detail: "never".to_owned(),
            }),
            "write" => ScriptedReply::call("write", value!({"path": "/memory/x", "value": 1})),
            "spend" => ScriptedReply::call("read", value!({"path": "/memory/x"})).usage(5_000, 1),
            "long" => ScriptedReply::text("x".repeat(2_000)),
            // After a tool's answer.
            "" => ScriptedReply::text("Spent.").usage(6_000, 1),
            other => ScriptedReply::text(format!("{other}!")),
        }
    });
    let limits = SpawnLimits {
        max_prompt_bytes: 100,
        max_answer_bytes: 1_000,
        max_turn_tokens: 4_000,
        ..SpawnLimits::default()
    };
    let port = SpawnPort::new(reasoner(model)).limits(limits).unwrap();
    let policy = ToolPolicy::new().ask(["write"]);
    let svit = with_policy(
        Ports::new().port(port),
        policy,
        Arc::new(MemoryStore::new()),
    )
    .await;
    let process = svit.process();
    let mut said = Vec::new();
    for prompt in [
        "refuse",
        "write",
        "spend",
        "long",
        &"y".repeat(101),
        " ",
        "hi",
    ] {
        let output = process.exec("/lib/try", prompt).await.unwrap().output;
        let text = match output.get("error") {
            Some(error) => error.clone(),
            None => output.get("value").unwrap().get("text").cloned().unwrap(),
        };
        let text = text.as_str().unwrap().to_owned();
        said.push(text.replace("port \"spawn\" failed: ", "! "));
    }
    let long = said.remove(3);
    assert!(
        long.ends_with("has 2000 bytes, at most 1000 are given"),
        "{long}"
    );
    assert_eq!(
        said,
        [
            "! the model refused: never",
            "! the child called a tool that needs an approval, and nobody can give it there",
            "! the turn used 5001 tokens; 4000 are allowed",
            "! the prompt has 101 bytes, at most 100 are allowed",
            "! prompt: it is missing or empty",
            "hi!",
        ]
    );
    let mut kept = children(process);
    kept.iter_mut().for_each(|entry| {
        if let Some(answered) = entry.strip_prefix("\"answered\"") {
            assert!(answered.trim().parse::<u64>().is_ok());
            *entry = "answered".to_owned();
        }
    });
    assert_eq!(
        kept,
        [
            "answered",
            "answered",
            "\"failed\" \"max_turn_tokens\"",
            "\"failed\" \"needs_approval\"",
            "\"failed\" \"refused\"",
        ]
    );
}

/// A model that never answers, and counts the calls that are alive.
struct Never(Arc<AtomicUsize>);

struct Alive(Arc<AtomicUsize>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Provider for Never {
    fn respond(&self, _: ModelRequest) -> BoxFuture<'_, Result<ModelStream, ModelError>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        let alive = Alive(self.0.clone());
        Box::pin(async move {
            let _alive = alive;
            std::future::pending().await
        })
    }

    fn limits(&self, _: &str) -> ModelLimits {
        ModelLimits::new(8_000)
    }
}

async fn soon(what: impl Fn() -> bool) {
    tokio::time::timeout(Duration::from_secs(20), async {
        while !what() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_child_ends_with_its_time_and_with_whoever_waits_for_it() {
    let alive = Arc::new(AtomicUsize::new(0));
    let limits = SpawnLimits {
        timeout: Duration::from_millis(50),
        ..SpawnLimits::default()
    };
    let port = SpawnPort::new(reasoner(Never(alive.clone())));
    let svit = parent(Ports::new().port(port.limits(limits).unwrap())).await;
    let process = svit.process();
    let failed = process.exec("/lib/ask", "Now?").await.unwrap_err();
    assert!(failed.to_string().contains("50ms"), "{failed}");
    assert_eq!(children(process), ["\"failed\" \"max_turn_wall\""]);
    soon(|| alive.load(Ordering::SeqCst) == 0).await;

    let port = SpawnPort::new(reasoner(Never(alive.clone())));
    let svit = parent(Ports::new().port(port)).await;
    let process = svit.process().clone();
    let there = process.clone();
    let asking = tokio::spawn(async move { there.exec("/lib/ask", "Now?").await });
    soon(|| alive.load(Ordering::SeqCst) == 1).await;
    assert_eq!(children(&process), ["\"running\""]);
    asking.abort();
    soon(|| alive.load(Ordering::SeqCst) == 0).await;
    // The turn is free again.
    process.write("/memory/count", 8).await.unwrap();
}

// THREAT[TM-PORT-4]
#[tokio::test]
async fn a_child_has_the_ports_that_it_was_given_and_no_others() {
    let calls_spawn = || {
        Scripted::from_fn(|request| match place(request).1 {
            0 => ScriptedReply::call(
                "exec",
                value!({"path": "/ports/spawn", "input": {"prompt": "And you?"}}),
            ),
            _ => {
                let last = request.messages.last().unwrap();
                let result = last.tool_results().next().unwrap();
                ScriptedReply::text(result.content.to_json().unwrap())
            }
        })
    };
    let none = Ports::new().spawn(reasoner(calls_spawn()));
    let svit = parent(none).await;
    let output = svit.process().exec("/lib/ask", "Go.").await.unwrap().output;
    let text = output.get("text").and_then(Value::as_str).unwrap();
    assert!(text.contains("no port"), "{text}");

    // Two generations, since the host wrote two.
    let grandchildren = Ports::new().spawn(reasoner(calls_spawn()));
    let port = SpawnPort::new(reasoner(calls_spawn()));
    let svit = parent(Ports::new().port(port.grant(grandchildren).unwrap())).await;
    let output = svit.process().exec("/lib/ask", "Go.").await.unwrap().output;
    let text = output.get("text").and_then(Value::as_str).unwrap();
    assert!(
        text.contains("no port") && text.contains("/children/"),
        "{text}"
    );
}

#[derive(Default)]
struct Watch {
    asked: Mutex<Vec<String>>,
    told: AtomicUsize,
}

impl Hook for Watch {
    fn name(&self) -> &str {
        "watch"
    }

    fn before(&self, proposed: &Proposed<'_>) -> Result<(), Refusal> {
        self.asked
            .lock()
            .unwrap()
            .push(proposed.address.to_string());
        match proposed.address.as_str().contains("/children/") {
            true => Err(Refusal::new("not_there", "no scripts in children")),
            false => Ok(()),
        }
    }

    fn committed(&self, _: &Change) {
        self.told.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn the_hosts_hooks_are_asked_in_children_too_and_told_of_the_parent_alone() {
    let watch = Arc::new(Watch::default());
    let model = Scripted::from_fn(|request| match place(request).1 {
        0 => ScriptedReply::call("exec", value!({"source": "(define (main x) 1)"})),
        _ => {
            let last = request.messages.last().unwrap();
            ScriptedReply::text(last.tool_results().next().unwrap().content.to_string())
        }
    });
    let svit = Svit::builder(ADDRESS)
        .unwrap()
        .memory("facts", value!({}))
        .library("ask", ASK)
        .hook(watch.clone())
        .ports(Ports::new().spawn(reasoner(model)))
        .build()
        .await
        .unwrap();
    let process = svit.process();
    let output = process.exec("/lib/ask", "Go.").await.unwrap().output;
    let text = output.get("text").and_then(Value::as_str).unwrap();
    assert!(text.contains("no scripts in children"), "{text}");
    let asked = watch.asked.lock().unwrap().clone();
    let child = output.get("address").and_then(Value::as_str).unwrap();
    assert_eq!(asked, [ADDRESS, child]);
    let told = watch.told.load(Ordering::SeqCst) as u64;
    assert_eq!(told, process.version());
}

#[tokio::test]
async fn a_script_that_looked_at_the_children_before_runs_again_and_finds_its_own() {
    let asked = Arc::new(AtomicUsize::new(0));
    let there = asked.clone();
    let model = Scripted::from_fn(move |_| {
        there.fetch_add(1, Ordering::SeqCst);
        ScriptedReply::text("Here.")
    });
    let svit = parent(Ports::new().spawn(reasoner(model))).await;
    let script = "(define (main x) (let ((n (length (discover \"/children\")))) (do (port-call \"spawn\" (value-map \"prompt\" x)) n)))";
    let process = svit.process();
    let activation = run(process, script, "Who?").await;
    assert_eq!(activation.output, 1.into());
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    assert_eq!(children(process).len(), 1);
}

#[tokio::test]
async fn an_address_without_room_for_a_child_is_said_and_nothing_is_made() {
    let store = Arc::new(MemoryStore::new());
    let address = format!("svit://local/{}", "x".repeat(490));
    let process = Process::builder(&*address)
        .unwrap()
        .memory("facts", value!({}))
        .library("ask", ASK)
        .build()
        .unwrap();
    let process = store.create(process).await.unwrap();
    let _svit = Svit::persisted(process.clone())
        .unwrap()
        .ports(Ports::new().spawn(reasoner(adder())))
        .build()
        .await
        .unwrap();
    let failed = process.exec("/lib/ask", "Go.").await.unwrap_err();
    assert!(
        failed.to_string().contains("longer than 512 bytes"),
        "{failed}"
    );
    assert_eq!(store.addresses(None, 10).await.unwrap().len(), 1);
}
