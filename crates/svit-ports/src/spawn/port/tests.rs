//! Tests of the port `spawn`, with runners made for them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use expect_test::expect;
use svit_model::{Reasoner, Scripted};
use svit_tree::Tree;
use svit_value::{Value, value};

use super::{SpawnLimits, SpawnPort};
use crate::llm::LlmPort;
use crate::spawn::{ChildAnswer, ChildRun, ChildRunner};
use crate::{BoxFuture, Effect, Port, PortContext, PortDescriptor, PortError, PortFailure, Ports};

/// A runner that keeps what it was to run, and answers so many bytes.
#[derive(Default)]
struct Runner {
    ran: Mutex<Vec<ChildRun>>,
    bytes: usize,
}

impl ChildRunner for Runner {
    fn run(&self, child: ChildRun) -> BoxFuture<'_, Result<ChildAnswer, PortFailure>> {
        Box::pin(async move {
            let fails = child.prompt == "fail";
            self.ran.lock().unwrap().push(child);
            if fails {
                return Err(PortFailure::new("max_turn_wall", "it took too long"));
            }
            Ok(ChildAnswer {
                text: "x".repeat(self.bytes),
                address: "svit://local/demo/children/1".to_owned(),
                version: 3,
                input_tokens: u64::MAX,
                output_tokens: 4,
            })
        })
    }
}

fn reasoner() -> Reasoner {
    Reasoner::new("small-1", Scripted::new([]))
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

fn bare() -> PortContext {
    PortContext::new(Arc::new(Tree::new()), "the key")
}

fn call(port: SpawnPort, runner: &Arc<Runner>, input: Value) -> String {
    let ctx = bare().with_children(runner.clone());
    let ports = Ports::new().port(port);
    match block_on(ports.dispatch("spawn", input, &ctx)) {
        Ok(output) => output.to_json().unwrap(),
        Err(PortError::Failed {
            reason, message, ..
        }) => format!("{reason}: {message}"),
        Err(other) => format!("{}: {other}", other.code()),
    }
}

#[test]
fn a_runner_is_told_what_the_host_has_chosen_and_what_the_guest_asked() {
    let runner = Arc::new(Runner {
        bytes: 4,
        ..Runner::default()
    });
    let limits = SpawnLimits {
        max_turn_tokens: 77,
        timeout: Duration::from_secs(7),
        ..SpawnLimits::default()
    };
    let port = SpawnPort::new(reasoner()).limits(limits).unwrap();
    let port = port.grant(Ports::new().llm(reasoner())).unwrap();
    let answer = call(port, &runner, value!({"prompt": "Which color?"}));
    assert_eq!(
        answer,
        r#"{"address":"svit://local/demo/children/1","input_tokens":9223372036854775807,"output_tokens":4,"text":"xxxx","version":3}"#
    );
    let ran = runner.ran.lock().unwrap();
    let [run] = &ran[..] else {
        panic!("{ran:?}");
    };
    assert_eq!((&*run.key, &*run.prompt), ("the key", "Which color?"));
    assert_eq!(run.reasoner.model(), "small-1");
    assert!(run.ports.descriptor("llm").is_some());
    assert_eq!(
        (run.max_turn_tokens, run.timeout),
        (77, Duration::from_secs(7))
    );
}

#[test]
fn what_is_no_prompt_runs_nothing() {
    let runner = Arc::<Runner>::default();
    let mut found = String::new();
    for input in [
        value!(null),
        value!("Which color?"),
        value!({}),
        value!({"prompt": "\t"}),
        value!({"prompt": ["a"]}),
        value!({"prompt": "a", "ports": ["http"]}),
        value!({"prompt": ("x".repeat((256 << 10) + 1))}),
        value!({"prompt": ("x".repeat(1 << 20))}),
    ] {
        found += &call(SpawnPort::new(reasoner()), &runner, input);
        found += "\n";
    }
    expect![[r#"
        bad_input: input: give a map with prompt
        bad_input: input: give a map with prompt
        bad_input: prompt: it is missing or empty
        bad_input: prompt: it is missing or empty
        bad_input: prompt: it is a text, not list
        bad_input: input: there is no field "ports"; there is prompt
        prompt_too_large: the prompt has 262145 bytes, at most 262144 are allowed
        port_input_too_large: the input of port "spawn" has 1048589 bytes, at most 327680 are allowed
    "#]].assert_eq(&found);
    assert!(runner.ran.lock().unwrap().is_empty());
}

#[test]
fn failures_of_a_child_and_answers_that_are_too_large_are_told() {
    let limits = SpawnLimits {
        max_answer_bytes: 10,
        ..SpawnLimits::default()
    };
    let port = || SpawnPort::new(reasoner()).limits(limits).unwrap();
    let runner = |bytes| {
        Arc::new(Runner {
            bytes,
            ..Runner::default()
        })
    };
    let ask = || value!({"prompt": "a"});
    assert!(call(port(), &runner(10), ask()).contains("xxxxxxxxxx"));
    assert_eq!(
        call(port(), &runner(11), ask()),
        "answer_too_large: the answer of svit://local/demo/children/1 has 11 bytes, at most 10 are given"
    );
    assert_eq!(
        call(port(), &runner(1), value!({"prompt": "fail"})),
        "max_turn_wall: it took too long"
    );
    let ports = Ports::new().port(port());
    let alone = block_on(ports.dispatch("spawn", ask(), &bare())).unwrap_err();
    assert_eq!(
        alone.to_string(),
        "port \"spawn\" failed: no child can be run here: the process is in no loop"
    );
}

/// A port with an effect that is never called.
struct Named(&'static str, Effect);

impl Port for Named {
    fn descriptor(&self) -> PortDescriptor {
        PortDescriptor::new(self.0, "1", "For tests.").effect(self.1)
    }

    fn call<'a>(
        &'a self,
        _: &'a PortContext,
        _: Value,
    ) -> BoxFuture<'a, Result<Value, PortFailure>> {
        Box::pin(async { Ok(Value::Null) })
    }
}

#[test]
fn its_effect_is_the_strongest_that_a_child_can_have() {
    let effect = |ports: Ports| {
        let port = SpawnPort::new(reasoner()).grant(ports).unwrap();
        let descriptor = port.descriptor();
        assert!(descriptor.idempotent);
        descriptor.effect
    };
    let (pure, read, write) = (
        Named("a", Effect::Pure),
        Named("b", Effect::Read),
        Named("c", Effect::Write),
    );
    assert_eq!(effect(Ports::new()), Effect::Read);
    assert_eq!(effect(Ports::new().port(pure)), Effect::Read);
    let both = Ports::new().port(read).port(write);
    assert_eq!(effect(both.clone()), Effect::Write);
    let nested = SpawnPort::new(reasoner()).grant(both).unwrap();
    assert_eq!(effect(Ports::new().port(nested)), Effect::Write);
}

#[test]
fn what_cannot_be_granted_is_refused_where_it_is_written() {
    let twice = Ports::new().llm(reasoner()).port(LlmPort::new(reasoner()));
    let refused = SpawnPort::new(reasoner()).grant(twice).unwrap_err();
    assert_eq!(refused.code(), "duplicate_port");
    let none = SpawnLimits {
        max_turn_tokens: 0,
        ..SpawnLimits::default()
    };
    let refused = SpawnPort::new(reasoner()).limits(none).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the max_turn_tokens of port \"spawn\" is not allowed: it is 0"
    );

    // As many ports as there may be words for.
    let names: Vec<&'static str> = (0..200)
        .map(|n| &*format!("{}{n}", "p".repeat(60)).leak())
        .collect();
    let many = names.into_iter().fold(Ports::new(), |ports, name| {
        ports.port(Named(name, Effect::Read))
    });
    let port = SpawnPort::new(reasoner()).grant(many).unwrap();
    Ports::new().port(port).check().unwrap();
}

#[test]
fn its_manual_says_what_it_is() {
    let port = SpawnPort::new(reasoner());
    let port = port.grant(Ports::new().llm(reasoner())).unwrap();
    let manual = Ports::new().port(port).manuals().unwrap();
    let manual = manual.get("spawn").unwrap().to_json().unwrap();
    expect![[r#"{"description":"Has a child of this process answer a prompt with the model small-1. The child is a fork: it knows what this process knows, and changes nothing here. It has the ports llm and no mounts. Each call costs tokens.","effect":"read","idempotent":true,"input":{"additionalProperties":false,"properties":{"prompt":{"description":"the message that the child answers","type":"string"}},"required":["prompt"],"type":"object"},"limits":{"max_input_bytes":327680,"max_output_bytes":1114112},"output":{"properties":{"address":{"description":"of the child, which stays in the store","type":"string"},"input_tokens":{"description":"0 if the provider did not say","type":"integer"},"output_tokens":{"description":"0 if the provider did not say","type":"integer"},"text":{"type":"string"},"version":{"description":"of the child, once it had answered","type":"integer"}},"required":["text","address","version","input_tokens","output_tokens"],"type":"object"},"version":"1"}"#]].assert_eq(&manual);
}
