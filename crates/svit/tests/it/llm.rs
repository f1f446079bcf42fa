//! The port `llm`: a script that asks a model, over real HTTP, and what is kept of it.
#![cfg(all(feature = "providers", feature = "lisp", feature = "persistence-turso"))]

use std::sync::Arc;

use svit::llm::{LlmLimits, LlmPort};
use svit::port::PortOutcome;
use svit::{
    DurableProcess, HistoryQuery, MemoryStore, Message, OpenAI, Ports, Process, Reasoner, Scripted,
    ScriptedReply, Svit, TursoProcessStore, Value, value,
};
use svit_testkit::model_server::{Fault, ModelServer, Reply, Script};

const SORT: &str = r#"
(define (main ticket)
  (let ((answer (port-call "llm" (value-map
          "system" "Answer with one word: bug or wish."
          "prompt" (read (string-format "/memory/tickets/{}" ticket))
          "max_output_tokens" 200))))
    (do (write (string-format "/memory/sorted/{}" ticket) (value-get answer "/text"))
        answer)))
"#;

const TRY: &str = r#"
(define (main prompt)
  (safe-call (lambda () (port-call "llm" (value-map "prompt" prompt)))))
"#;

fn process() -> Process {
    Process::builder("svit://local/sorter")
        .unwrap()
        .memory("tickets", value!({"a": "It ends when I press x."}))
        .memory("sorted", value!({}))
        .library("sort", SORT)
        .library("try", TRY)
        .build()
        .unwrap()
}

fn reasoner(server: &ModelServer) -> Reasoner {
    let provider = OpenAI::new(server.key()).base_url(server.url());
    Reasoner::new("loopback-1", provider)
}

async fn agent(process: &DurableProcess, ports: Ports) -> Svit {
    let idle = Reasoner::new("idle", Scripted::new([]));
    Svit::persisted(process.clone())
        .unwrap()
        .ports(ports)
        .reasoner(idle)
        .build()
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_model_answered_is_committed_with_what_the_script_made_of_it() {
    let script = Script::requests([Reply::text("bug").usage(31, 2)]);
    let server = ModelServer::start(script).await.unwrap();
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("sorter.db");
    let store = TursoProcessStore::open(&file).await.unwrap();
    let process = store.create(process()).await.unwrap();
    let _svit = agent(&process, Ports::new().llm(reasoner(&server))).await;
    let activation = process.exec("/lib/sort", "a").await.unwrap();
    assert_eq!(
        activation.output,
        value!({
            "text": "bug", "finish": "stop", "model": "loopback-1",
            "input_tokens": 31, "output_tokens": 2
        })
    );
    let [call] = &activation.ports[..] else {
        panic!("{:?}", activation.ports);
    };
    assert_eq!(&*call.name, "llm");
    assert_eq!(call.outcome, PortOutcome::Ok(activation.output.digest()));

    // What it was asked, and no more than that.
    let [exchange] = &server.journal()[..] else {
        panic!("{:?}", server.journal());
    };
    let sent = exchange.to_json().to_string();
    for expected in [
        "Answer with one word: bug or wish.",
        "It ends when I press x.",
        "\"max_tokens\":200",
    ] {
        assert!(sent.contains(expected), "no {expected:?} in {sent}");
    }
    assert!(!sent.contains("\"tools\""), "{sent}");

    // Read again, nobody is asked again.
    let root = process.root_digest();
    drop((_svit, process, store));
    let store = TursoProcessStore::open(&file).await.unwrap();
    let process = store.resume("svit://local/sorter").await.unwrap();
    assert_eq!(process.root_digest(), root);
    assert_eq!(
        process.read("/memory/sorted/a").unwrap(),
        Some("bug".into())
    );
    let history = process.history(HistoryQuery::default()).await.unwrap();
    assert!(!history.is_empty());
    assert_eq!(server.journal().len(), 1);
    let refused = process.exec("/lib/sort", "a").await.unwrap_err();
    assert_eq!(refused.code(), "unavailable");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_is_told_why_there_is_no_answer_and_may_go_on() {
    let script = Script::requests([
        Reply::fault(Fault::status(500)),
        Reply::fault(Fault::status(401)),
        Reply::refusal("I would rather not."),
        Reply::text("x".repeat(2_000)),
        Reply::text("good"),
    ]);
    let server = ModelServer::start(script).await.unwrap();
    let limits = LlmLimits {
        max_answer_bytes: 1_000,
        max_prompt_bytes: 100,
        ..LlmLimits::default()
    };
    let port = LlmPort::new(reasoner(&server)).limits(limits).unwrap();
    let store = Arc::new(MemoryStore::new());
    let process = DurableProcess::create(store, process()).await.unwrap();
    let _svit = agent(&process, Ports::new().port(port)).await;
    let mut found = Vec::new();
    for prompt in ["a", "b", "c", "d", &"e".repeat(101), "", "f"] {
        let activation = process.exec("/lib/try", prompt).await.unwrap();
        let output = activation.output;
        let said = match output.get("error") {
            Some(error) => Some(error),
            None => output.get("value").and_then(|value| value.get("text")),
        };
        let said = said.and_then(Value::as_str).unwrap().to_owned();
        assert!(!said.contains(server.key()), "{said}");
        found.push(said);
    }
    let failed = |why: &str| format!("port \"llm\" failed: {why}");
    assert_eq!(
        found,
        [
            failed("the model call failed for now (status 500): Injected status 500."),
            failed("the provider refused the key: Injected status 401."),
            failed("the model refused: I would rather not."),
            failed("the answer is larger than 1000 bytes; ask for less, or give max_output_tokens"),
            failed("prompt and system have 101 bytes, at most 100 are allowed"),
            failed("prompt: it is missing or empty"),
            "good".to_owned(),
        ]
    );
    assert_eq!(server.journal().len(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_calls_another_by_its_port() {
    let small = Scripted::from_fn(|request| {
        let asked = request.messages.last().and_then(Message::text);
        ScriptedReply::text(format!("{}: a wish", asked.unwrap_or_default()))
    });
    let large = Scripted::new([
        ScriptedReply::call(
            "exec",
            value!({"path": "/ports/llm", "input": {"prompt": "Make it blue"}}),
        ),
        ScriptedReply::text("It is a wish."),
    ]);
    let store = Arc::new(MemoryStore::new());
    let process = DurableProcess::create(store, process()).await.unwrap();
    let mut svit = Svit::persisted(process.clone())
        .unwrap()
        .ports(Ports::new().llm(Reasoner::new("small", small)))
        .reasoner(Reasoner::new("large", large))
        .build()
        .await
        .unwrap();
    svit.start().unwrap();
    let answer = svit.inbox().ask(Message::user("Sort it.")).await.unwrap();
    assert_eq!(answer.text(), Some("It is a wish."));
    let events = svit.recent_events(100).await.unwrap();
    let thread: String = events
        .iter()
        .map(|event| event.body.to_json().unwrap())
        .collect();
    svit.stop().await.unwrap();
    assert!(thread.contains("Make it blue: a wish"), "{thread}");
}

#[test]
fn the_example_sorts_one_ticket_by_itself_and_one_by_a_child() {
    let output = crate::example::said(&crate::example::program("children").output().unwrap());
    let expected = [
        "ticket a is a bug, by llm",
        "ticket b is a wish, by llm and spawn",
        r#"sorted: {"a": "bug", "b": "wish"}"#,
        r#"notes of the parent: ["colors"]"#,
        r#"notes of its child: ["colors", "teal"]"#,
    ];
    assert_eq!(output.lines().collect::<Vec<_>>(), expected);
}
