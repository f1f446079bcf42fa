//! Messages to a model, over real HTTP to a server of the test kit.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::process::{Child, Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;
use svit_testkit::model_server::{Fault, ModelServer, Reply, Script};
use tokio::runtime::Runtime;

use crate::console::{Console, refused, said};

/// A console with a model behind it.
pub(crate) struct Talk {
    pub(crate) console: Console,
    server: ModelServer,
    _runtime: Runtime,
}

impl Talk {
    pub(crate) fn new(script: Script) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let server = runtime.block_on(ModelServer::start(script)).unwrap();
        Self {
            console: Console::new(),
            server,
            _runtime: runtime,
        }
    }

    pub(crate) fn program(&self, words: &[&str]) -> Command {
        let mut program = self.console.program(words);
        program.env("OPENAI_API_KEY", self.server.key());
        program.env("OPENAI_BASE_URL", self.server.url());
        program
    }

    /// A run that has reached the server and waits for it.
    fn asked(&self, words: &[&str]) -> Child {
        let child = self.program(words).spawn().unwrap();
        let started = Instant::now();
        while self.server.journal().is_empty() {
            assert!(
                started.elapsed() < Duration::from_secs(60),
                "it did not ask"
            );
            sleep(Duration::from_millis(5));
        }
        child
    }

    fn output(&self, words: &[&str]) -> Output {
        self.program(words).output().unwrap()
    }
}

#[test]
fn the_answer_is_printed_and_what_the_model_did_is_kept() {
    let talk = Talk::new(Script::turns([
        Reply::call("write", &json!({"path": "/memory/color", "value": "teal"})),
        Reply::text("The color is teal.\u{1b}[2J"),
        Reply::text("As I said: teal."),
    ]));
    let said_first = said(&talk.output(&["send", "Which color?", "--model", "loopback-1"]));
    assert_eq!(said_first, "The color is teal.\\u{1b}[2J\n");
    assert_eq!(talk.console.says(&["show", "/memory/color"]), "teal\n");

    let second = said(&talk.output(&["--json", "send", "And again?"]));
    let second: serde_json::Value = serde_json::from_str(&second).unwrap();
    assert_eq!(second["answer"], json!("As I said: teal."));
    assert!(second["message"].is_string() && second["version"].as_u64() > Some(3));

    let journal = talk.server.journal();
    let bodies = journal
        .iter()
        .map(|exchange| exchange.body.as_ref().unwrap());
    let models: Vec<_> = bodies.map(|body| body["model"].as_str().unwrap()).collect();
    assert_eq!(models, ["loopback-1", "loopback-1", "gpt-5.1"]);
}

#[test]
fn a_second_program_on_the_same_store_is_refused_and_told_who_has_it() {
    let talk = Talk::new(Script::turns([
        Reply::text("never finished").with_fault(Fault::Stall(1))
    ]));
    talk.console.says(&["write", "/memory/x", "1"]);
    let mut first = talk.asked(&["send", "hello"]);
    let text = talk.console.refuses(1, &["show", "/memory/x"]);
    let owner = format!("svit.db is in use by process {}", first.id());
    assert!(text.ends_with(&owner), "{text}");
    talk.console.says(&["--instance", "other", "log"]);
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(talk.console.says(&["show", "/memory/x"]), "1\n");
}

#[test]
fn a_message_that_was_cut_off_is_answered_first_and_only_the_new_answer_printed() {
    let talk = Talk::new(Script::requests([
        Reply::text("never finished").with_fault(Fault::Stall(1)),
        Reply::text("The first answer."),
        Reply::text("The second answer."),
    ]));
    let mut cut_off = talk.asked(&["send", "first"]);
    cut_off.kill().unwrap();
    cut_off.wait().unwrap();
    assert_eq!(
        said(&talk.output(&["send", "second"])),
        "The second answer.\n"
    );
    assert_eq!(talk.server.journal().len(), 3);
}

#[test]
fn a_refused_key_and_an_unreachable_server_are_told() {
    let talk = Talk::new(Script::turns([Reply::text("never")]));
    let mut program = talk.program(&["send", "hello"]);
    let text = refused(
        &program.env("OPENAI_API_KEY", "wrong-key").output().unwrap(),
        1,
    );
    assert!(
        text.contains("refused the key") && !text.contains("wrong-key"),
        "{text}"
    );

    let talk = Talk::new(Script::turns([]));
    let mut program = talk.program(&["send", "hello"]);
    // Nothing listens there.
    let text = refused(
        &program
            .env("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
            .output()
            .unwrap(),
        1,
    );
    assert!(
        text.contains("cannot reach http://127.0.0.1:9/v1"),
        "{text}"
    );
}

#[test]
fn with_a_key_scripts_can_ask_the_model_and_without_one_there_is_no_such_port() {
    let talk = Talk::new(Script::requests([
        Reply::text("teal"),
        Reply::text("It is said."),
    ]));
    let source = r#"(define (main x) (port-call \"llm\" (value-map \"prompt\" x)))"#;
    let script = format!("{{\"source\": \"{source}\"}}");
    talk.console.says(&["write", "/lib/ask", &script]);

    let without = talk
        .console
        .refuses(1, &["exec", "/lib/ask", "\"A color?\""]);
    assert!(without.contains("there is no port"), "{without}");

    let asked = said(&talk.output(&["--json", "exec", "/lib/ask", "\"A color?\""]));
    let asked: serde_json::Value = serde_json::from_str(&asked).unwrap();
    assert_eq!(asked["output"]["text"], json!("teal"), "{asked}");

    let script = script.replace("llm", "spawn");
    talk.console.says(&["write", "/lib/have", &script]);
    let had = said(&talk.output(&["--json", "exec", "/lib/have", "\"And a word?\""]));
    let had: serde_json::Value = serde_json::from_str(&had).unwrap();
    assert_eq!(had["output"]["text"], json!("It is said."), "{had}");
    let children = talk.console.json(&["show", "/children"]);
    assert!(children.to_string().contains("answered"), "{children}");
    let versions = || talk.console.says(&["log"]).lines().count();
    let before = versions();

    // The same is granted to each command, so that nothing is committed to grant it again.
    let folder = said(&talk.output(&["discover", "/mounts/cwd"]));
    assert!(!folder.is_empty());
    assert_eq!(versions(), before);

    // What is granted is said where somebody reads it.
    let mut console = talk.program(&["--plain"]);
    let said = said(&console.stdin(std::process::Stdio::null()).output().unwrap());
    assert!(
        said.contains("by the port llm scripts can ask the model"),
        "{said}"
    );
    assert_eq!(talk.server.journal().len(), 2);
}

#[test]
fn a_name_before_the_model_says_whose_it_is() {
    for (model, variables) in [
        ("openai:gpt-x", ["OPENAI_API_KEY", "OPENAI_BASE_URL"]),
        ("gpt:x:y", ["OPENAI_API_KEY", "OPENAI_BASE_URL"]),
        (
            "anthropic:claude-x",
            ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"],
        ),
        ("gemini:gemini-x", ["GEMINI_API_KEY", "GEMINI_BASE_URL"]),
        ("ollama:llama:8b", ["", "OLLAMA_BASE_URL"]),
    ] {
        let talk = Talk::new(Script::turns([Reply::text(format!("I am {model}."))]));
        let [key, url] = variables;
        let mut program = talk
            .console
            .program(&["send", "Who are you?", "--model", model]);
        let server = match key {
            "OPENAI_API_KEY" => talk.server.url(),
            _ => talk.server.root(),
        };
        program.env(url, server);
        if !key.is_empty() {
            let without = refused(&program.output().unwrap(), 1);
            let expected = format!("there is no model to answer: set {key}, ");
            assert!(without.starts_with(&expected), "{without}");
            program.env(key, talk.server.key());
        }
        assert_eq!(said(&program.output().unwrap()), format!("I am {model}.\n"));
        let asked = talk.server.journal().pop().unwrap().to_json().to_string();
        let id = match model {
            "gpt:x:y" => model,
            other => other.split_once(':').unwrap().1,
        };
        assert!(asked.contains(id), "no {id} in {asked}");
        assert!(
            !asked.contains(&format!("{model}\"")) || id == model,
            "{asked}"
        );
    }
}
