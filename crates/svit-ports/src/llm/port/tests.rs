//! Tests of the port `llm`, with scripted models and with providers made to misbehave.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use expect_test::expect;
use futures_util::stream;
use svit_model::{
    BoxFuture, ContentPart, FinishReason, Message, ModelError, ModelEvent, ModelLimits,
    ModelRequest, ModelStream, Provider, Reasoner, Scripted, ScriptedReply,
};
use svit_tree::Tree;
use svit_value::{Value, value};

use super::{LlmLimits, LlmPort};
use crate::{PortContext, PortError, Ports};

fn ctx() -> PortContext {
    PortContext::new(Arc::new(Tree::new()), "a key")
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
        .block_on(future)
}

fn call(ports: &Ports, input: Value) -> Result<Value, PortError> {
    block_on(ports.dispatch("llm", input, &ctx()))
}

fn scripted(reply: ScriptedReply) -> Reasoner {
    Reasoner::new("small-1", Scripted::new([reply]))
}

/// How a call of a model that answers so ends: its output, or its reason and words.
fn ends(reply: ScriptedReply, input: Value) -> String {
    shown(call(&Ports::new().llm(scripted(reply)), input))
}

fn shown(ended: Result<Value, PortError>) -> String {
    match ended {
        Ok(output) => output.to_json().unwrap(),
        Err(PortError::Failed {
            reason, message, ..
        }) => format!("{reason}: {message}"),
        Err(other) => format!("{}: {other}", other.code()),
    }
}

#[test]
fn the_model_sees_the_prompt_and_nothing_else() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let there = seen.clone();
    let model = Scripted::from_fn(move |request| {
        there.lock().unwrap().push(request.clone());
        ScriptedReply::text("Teal.").usage(7, 2)
    });
    let ports = Ports::new().llm(Reasoner::new("small-1", model));
    for input in [
        value!({"prompt": "A color?"}),
        value!({"prompt": "A color?", "system": null, "max_output_tokens": null}),
        value!({"prompt": "A color?", "system": "Be brief.", "max_output_tokens": 5}),
        value!({"prompt": "A color?", "max_output_tokens": 4_096}),
        value!({"prompt": "A color?", "max_output_tokens": 4_097}),
        value!({"prompt": "A color?", "max_output_tokens": (i64::MAX)}),
    ] {
        let output = call(&ports, input).unwrap();
        let expected = value!({
            "text": "Teal.", "finish": "stop", "model": "small-1",
            "input_tokens": 7, "output_tokens": 2
        });
        assert_eq!(output, expected);
    }
    let asked = |system: Option<&str>, tokens| ModelRequest {
        model: "small-1".to_owned(),
        system: system.map(str::to_owned),
        messages: vec![Message::user("A color?")],
        tools: Vec::new(),
        max_output_tokens: Some(tokens),
    };
    let expected = [
        asked(None, 4_096),
        asked(None, 4_096),
        asked(Some("Be brief."), 5),
        asked(None, 4_096),
        asked(None, 4_096),
        asked(None, 4_096),
    ];
    assert_eq!(*seen.lock().unwrap(), expected);
}

#[test]
fn what_is_no_prompt_never_reaches_the_model() {
    let asked = Arc::new(AtomicUsize::new(0));
    let there = asked.clone();
    let model = Scripted::from_fn(move |_| {
        there.fetch_add(1, Ordering::SeqCst);
        ScriptedReply::text("no")
    });
    let ports = Ports::new().llm(Reasoner::new("small-1", model));
    let mut found = String::new();
    for input in [
        value!(null),
        value!("A color?"),
        value!([]),
        value!({}),
        value!({"prompt": ""}),
        value!({"prompt": " \n"}),
        value!({"prompt": 7}),
        value!({"prompt": ["A color?"]}),
        value!({"prompt": "a", "system": {}}),
        value!({"prompt": "a", "model": "large-1"}),
        value!({"prompt": "a", "tools": []}),
        value!({"prompt": "a", "max_output_tokens": 0}),
        value!({"prompt": "a", "max_output_tokens": (-1)}),
        value!({"prompt": "a", "max_output_tokens": "9"}),
        value!({"prompt": "a", (("x".repeat(10_000))): 1}),
        value!({"prompt": ("é".repeat(128 << 10)), "system": "a"}),
        value!({"prompt": ("x".repeat(2 << 20))}),
    ] {
        found += &shown(call(&ports, input));
        found += "\n";
    }
    expect![[r#"
        bad_input: input: give a map with prompt, and if need be others of prompt, system, max_output_tokens
        bad_input: input: give a map with prompt, and if need be others of prompt, system, max_output_tokens
        bad_input: input: give a map with prompt, and if need be others of prompt, system, max_output_tokens
        bad_input: prompt: it is missing or empty
        bad_input: prompt: it is missing or empty
        bad_input: prompt: it is missing or empty
        bad_input: prompt: it is a text, not int
        bad_input: prompt: it is a text, not list
        bad_input: system: it is a text, not map
        bad_input: input: there is no field "model"; there are prompt, system, max_output_tokens
        bad_input: input: there is no field "tools"; there are prompt, system, max_output_tokens
        bad_input: max_output_tokens: it is a positive integer
        bad_input: max_output_tokens: it is a positive integer
        bad_input: max_output_tokens: it is a positive integer
        bad_input: input: there is no field "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"; there are prompt, system, max_output_tokens
        prompt_too_large: prompt and system have 262145 bytes, at most 262144 are allowed
        port_input_too_large: the input of port "llm" has 2097165 bytes, at most 327680 are allowed
    "#]]
    .assert_eq(&found);
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

#[test]
fn an_answer_is_its_text() {
    let ask = || value!({"prompt": "A color?"});
    let thought = ScriptedReply::text("Te")
        .and_reasoning("hm")
        .and_opaque("sealed", 1)
        .and_text("al.")
        .and_call("write", value!({"path": "/memory/x"}));
    let rows = [
        thought,
        ScriptedReply::text("Te").finish(FinishReason::Length),
        ScriptedReply::text("Te").finish(FinishReason::Other("pause".to_owned())),
        ScriptedReply::text("a\u{0}\u{1f980}"),
        ScriptedReply::call("write", value!({"path": "/memory/x"})),
        ScriptedReply::text(""),
        ScriptedReply::text("Te").and_error(ModelError::Refused {
            detail: "no colors".to_owned(),
        }),
        ScriptedReply::error(ModelError::QuotaExhausted {
            detail: "pay first".to_owned(),
        }),
        ScriptedReply::error(ModelError::RateLimited {
            retry_after: Some(Duration::from_secs(2)),
            detail: "later".to_owned(),
        }),
        // The provider's own bound, which is another one.
        ScriptedReply::error(ModelError::AnswerTooLarge { limit: 64 << 20 }),
    ];
    let found: Vec<String> = rows.into_iter().map(|reply| ends(reply, ask())).collect();
    expect![[r#"
        {"finish":"tool_calls","input_tokens":2,"model":"small-1","output_tokens":7,"text":"Teal."}
        {"finish":"length","input_tokens":2,"model":"small-1","output_tokens":1,"text":"Te"}
        {"finish":"pause","input_tokens":2,"model":"small-1","output_tokens":1,"text":"Te"}
        {"finish":"stop","input_tokens":2,"model":"small-1","output_tokens":2,"text":"a\u0000🦀"}
        no_text: the model gave no text (tool_calls)
        no_text: the model gave no text (stop)
        refused: the model refused: no colors
        quota_exhausted: the account's quota is used up: pay first
        rate_limited: the provider limits the rate of requests (wait 2.0 s): later
        answer_too_large: the answer is larger than 67108864 octets"#]]
    .assert_eq(&found.join("\n"));
}

/// A provider whose answer is this stream; it counts the events that were taken from it, and the
/// streams that were dropped.
struct Streams {
    event: fn(usize) -> Option<ModelEvent>,
    taken: Arc<AtomicUsize>,
    dropped: Arc<AtomicUsize>,
}

struct CountsDrop(Arc<AtomicUsize>);

impl Drop for CountsDrop {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Provider for Streams {
    fn respond(&self, _: ModelRequest) -> BoxFuture<'_, Result<ModelStream, ModelError>> {
        let (event, taken) = (self.event, self.taken.clone());
        let counts = CountsDrop(self.dropped.clone());
        Box::pin(async move {
            let events = stream::poll_fn(move |_| {
                let _counts = &counts;
                match event(taken.fetch_add(1, Ordering::SeqCst)) {
                    Some(event) => Poll::Ready(Some(Ok(event))),
                    None => Poll::Pending,
                }
            });
            Ok(Box::pin(events) as ModelStream)
        })
    }

    fn limits(&self, _: &str) -> ModelLimits {
        ModelLimits::new(8_000)
    }
}

fn streams(
    event: fn(usize) -> Option<ModelEvent>,
    limits: LlmLimits,
) -> (Ports, Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let (taken, dropped) = (Arc::default(), Arc::default());
    let provider = Streams {
        event,
        taken: Arc::clone(&taken),
        dropped: Arc::clone(&dropped),
    };
    let port = LlmPort::new(Reasoner::new("endless", provider)).limits(limits);
    (Ports::new().port(port.unwrap()), taken, dropped)
}

// THREAT[TM-PORT-3]
#[test]
fn an_endless_answer_is_stopped_at_its_limit() {
    let limits = LlmLimits {
        max_answer_bytes: 1_000,
        ..LlmLimits::default()
    };
    let (ports, taken, dropped) =
        streams(|_| Some(ModelEvent::TextDelta("0123456789".into())), limits);
    let error = call(&ports, value!({"prompt": "a"}));
    assert_eq!(
        shown(error),
        "answer_too_large: the answer is larger than 1000 bytes; ask for less, or give max_output_tokens"
    );
    assert_eq!(taken.load(Ordering::SeqCst), 101);
    assert_eq!(dropped.load(Ordering::SeqCst), 1);

    // One that is exactly as large as it may be.
    let (ports, ..) = streams(
        |event| {
            Some(match event {
                0..100 => ModelEvent::TextDelta("0123456789".into()),
                _ => ModelEvent::Finish(FinishReason::Stop),
            })
        },
        limits,
    );
    let output = call(&ports, value!({"prompt": "a"})).unwrap();
    let text = output.get("text").and_then(Value::as_str);
    assert_eq!(text.map(str::len), Some(1_000));
}

#[test]
fn what_is_not_given_is_not_kept() {
    // 10,000 parts of each sort that is not heard: more than an answer may have.
    let limits = LlmLimits {
        max_answer_bytes: 10,
        ..LlmLimits::default()
    };
    let (ports, ..) = streams(
        |event| {
            Some(match event {
                0 => ModelEvent::TextDelta("0123456789".into()),
                1..10_000 => ModelEvent::ReasoningDelta("thinks".into()),
                10_000..20_000 => ModelEvent::Opaque(ContentPart::Text("sealed".into())),
                _ => ModelEvent::Finish(FinishReason::Stop),
            })
        },
        limits,
    );
    let output = call(&ports, value!({"prompt": "a"})).unwrap();
    assert_eq!(output.get("text"), Some(&"0123456789".into()));
}

#[test]
fn a_model_that_says_nothing_is_left_when_its_time_is_up() {
    let limits = LlmLimits {
        timeout: Duration::from_millis(20),
        ..LlmLimits::default()
    };
    let (ports, _, dropped) = streams(
        |event| (event == 0).then(|| ModelEvent::TextDelta("a".into())),
        limits,
    );
    let error = call(&ports, value!({"prompt": "a"}));
    assert_eq!(shown(error), "timeout: no complete answer within 20 ms");
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
}

#[test]
fn a_model_that_talks_without_end_and_says_nothing_is_left_too() {
    let limits = LlmLimits {
        timeout: Duration::from_millis(20),
        ..LlmLimits::default()
    };
    let endless: [fn(usize) -> Option<ModelEvent>; 3] = [
        |_| Some(ModelEvent::TextDelta(String::new())),
        |_| Some(ModelEvent::ReasoningDelta("hm".into())),
        |_| Some(ModelEvent::Opaque(ContentPart::Text("sealed".into()))),
    ];
    for event in endless {
        let (ports, _, dropped) = streams(event, limits);
        let error = call(&ports, value!({"prompt": "a"}));
        assert_eq!(shown(error), "timeout: no complete answer within 20 ms");
        assert_eq!(dropped.load(Ordering::SeqCst), 1);
    }
}

#[test]
fn a_call_that_is_dropped_ends_the_models() {
    let (ports, taken, dropped) = streams(|_| None, LlmLimits::default());
    block_on(async {
        let ctx = ctx();
        let mut call = pin!(ports.dispatch("llm", value!({"prompt": "a"}), &ctx));
        let polled = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending());
    });
    assert_eq!(taken.load(Ordering::SeqCst), 1);
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
}

#[test]
fn an_answer_that_breaks_off_is_none() {
    struct Breaks;
    impl Provider for Breaks {
        fn respond(&self, _: ModelRequest) -> BoxFuture<'_, Result<ModelStream, ModelError>> {
            let events = [Ok(ModelEvent::TextDelta("half".into()))];
            Box::pin(async { Ok(Box::pin(stream::iter(events)) as ModelStream) })
        }
        fn limits(&self, _: &str) -> ModelLimits {
            ModelLimits::new(8_000)
        }
    }
    let ports = Ports::new().llm(Reasoner::new("breaks", Breaks));
    assert_eq!(
        shown(call(&ports, value!({"prompt": "a"}))),
        "transient: the model call failed for now (broken stream): the stream ended before the answer was complete"
    );
}

#[test]
fn without_a_runtime_it_says_so() {
    let ports = Ports::new().llm(scripted(ScriptedReply::text("Teal.")));
    let ctx = ctx();
    let mut call = pin!(ports.dispatch("llm", value!({"prompt": "a"}), &ctx));
    let polled = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    let Poll::Ready(ended) = polled else {
        panic!("it waits");
    };
    assert_eq!(
        shown(ended),
        "no_runtime: the port works only inside a tokio runtime with time"
    );

    let without_time = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let ended = without_time.block_on(ports.dispatch("llm", value!({"prompt": "a"}), &ctx));
    assert!(shown(ended).starts_with("no_runtime"));
}

#[test]
fn limits_that_allow_nothing_or_too_much_are_refused() {
    let good = LlmLimits::default();
    let rows = [
        LlmLimits {
            max_prompt_bytes: 0,
            ..good
        },
        LlmLimits {
            max_prompt_bytes: (32 << 20) + 1,
            ..good
        },
        LlmLimits {
            max_output_tokens: 0,
            ..good
        },
        LlmLimits {
            max_answer_bytes: 0,
            ..good
        },
        LlmLimits {
            max_answer_bytes: u64::MAX,
            ..good
        },
        LlmLimits {
            timeout: Duration::ZERO,
            ..good
        },
    ];
    let port = || LlmPort::new(scripted(ScriptedReply::text("")));
    let found: Vec<String> = rows
        .into_iter()
        .map(|limits| port().limits(limits).unwrap_err().to_string())
        .collect();
    expect![[r#"
        the max_prompt_bytes of port "llm" is not allowed: it is 0, not 1 to 33554432
        the max_prompt_bytes of port "llm" is not allowed: it is 33554433, not 1 to 33554432
        the max_output_tokens of port "llm" is not allowed: it is 0
        the max_answer_bytes of port "llm" is not allowed: it is 0, not 1 to 33554432
        the max_answer_bytes of port "llm" is not allowed: it is 18446744073709551615, not 1 to 33554432
        the timeout of port "llm" is not allowed: it is 0"#]].assert_eq(&found.join("\n"));
    let most = LlmLimits {
        max_prompt_bytes: 32 << 20,
        max_output_tokens: u32::MAX,
        max_answer_bytes: 32 << 20,
        timeout: Duration::MAX,
    };
    let ports = Ports::new().port(port().limits(most).unwrap());
    ports.check().unwrap();
    assert!(
        call(
            &ports,
            value!({"prompt": "a", "max_output_tokens": 5_000_000_000_i64})
        )
        .is_err()
    );
}

#[test]
fn two_models_are_two_ports() {
    let ports = Ports::new()
        .llm(scripted(ScriptedReply::text("small")))
        .port(
            LlmPort::new(Reasoner::new(
                "large-1",
                Scripted::new([ScriptedReply::text("large")]),
            ))
            .named("llm-large"),
        );
    let ask = |name: &str| {
        let output = block_on(ports.dispatch(name, value!({"prompt": "a"}), &ctx())).unwrap();
        let of = |field: &str| output.get(field).and_then(Value::as_str).map(str::to_owned);
        (of("text"), of("model"))
    };
    let pair = |a: &str, b: &str| (Some(a.to_owned()), Some(b.to_owned()));
    assert_eq!(ask("llm"), pair("small", "small-1"));
    assert_eq!(ask("llm-large"), pair("large", "large-1"));
    let twice = ports.llm(scripted(ScriptedReply::text("again")));
    assert_eq!(twice.check().unwrap_err().code(), "duplicate_port");
}

#[test]
fn its_manual_says_what_it_is() {
    let ports = Ports::new().llm(scripted(ScriptedReply::text("a")));
    let manual = ports.manuals().unwrap().get("llm").unwrap().clone();
    expect![[r#"{"description":"Asks the model small-1 and gives its text. It sees the prompt and nothing else, and has no tools. Each call costs tokens.","effect":"read","idempotent":true,"input":{"additionalProperties":false,"properties":{"max_output_tokens":{"description":"4096 if left out, and at most","minimum":1,"type":"integer"},"prompt":{"description":"what the model is asked; it sees nothing else","type":"string"},"system":{"description":"instructions that stand above it","type":"string"}},"required":["prompt"],"type":"object"},"limits":{"max_input_bytes":327680,"max_output_bytes":1114112},"output":{"properties":{"finish":{"description":"stop; length if the bound on tokens cut the text; or the provider's word","type":"string"},"input_tokens":{"description":"0 if the provider did not say","type":"integer"},"model":{"type":"string"},"output_tokens":{"description":"0 if the provider did not say","type":"integer"},"text":{"type":"string"}},"required":["text","finish","model","input_tokens","output_tokens"],"type":"object"},"version":"1"}"#]].assert_eq(&manual.to_json().unwrap());
}
