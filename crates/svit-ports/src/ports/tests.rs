//! Tests of the registry and the dispatch, with ports made for them.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use expect_test::{Expect, expect};
use svit_tree::guest::HostError;
use svit_tree::{Access, Mutation, Path, Stat, Tree};
use svit_value::{List, Text, Value, value};

use super::Ports;
use crate::{
    BoxFuture, CommittedState, Effect, MAX_PORT_BYTES, Port, PortContext, PortDescriptor,
    PortError, PortFailure, PortLimits,
};

type Call =
    dyn Fn(PortContext, Value) -> BoxFuture<'static, Result<Value, PortFailure>> + Send + Sync;

/// A port made of a descriptor and a function.
struct Made {
    descriptor: PortDescriptor,
    call: Box<Call>,
}

impl Port for Made {
    fn descriptor(&self) -> PortDescriptor {
        self.descriptor.clone()
    }

    fn call<'a>(
        &'a self,
        ctx: &'a PortContext,
        input: Value,
    ) -> BoxFuture<'a, Result<Value, PortFailure>> {
        (self.call)(ctx.clone(), input)
    }
}

fn made<F>(
    descriptor: PortDescriptor,
    call: impl Fn(PortContext, Value) -> F + Send + Sync + 'static,
) -> Made
where
    F: Future<Output = Result<Value, PortFailure>> + Send + 'static,
{
    Made {
        descriptor,
        call: Box::new(move |ctx, input| Box::pin(call(ctx, input))),
    }
}

fn named(name: &str) -> PortDescriptor {
    PortDescriptor::new(name, "1", "For tests.")
}

fn echo(descriptor: PortDescriptor) -> Made {
    made(descriptor, async |_, input| Ok(input))
}

fn ctx() -> PortContext {
    let path = Path::parse("/memory/facts").unwrap();
    let tree = Tree::new()
        .apply(&[Mutation::set(path, value!({"a": 1, "b": [2]}))])
        .unwrap();
    PortContext::new(Arc::new(tree), "svit://local/demo#7.0")
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
        .block_on(future)
}

fn dispatch(ports: &Ports, name: &str, input: Value) -> Result<Value, PortError> {
    block_on(ports.dispatch(name, input, &ctx()))
}

#[track_caller]
fn refused(error: &PortError, code: &str, text: Expect) {
    assert_eq!(error.code(), code);
    text.assert_eq(&error.to_string());
}

#[test]
fn an_empty_set_grants_nothing() {
    let ports = Ports::new();
    assert!(ports.manuals().unwrap().is_empty());
    assert_eq!(ports.descriptors().count(), 0);
    for name in ["", "http", "/ports/http", &"x".repeat(5_000)] {
        let error = dispatch(&ports, name, Value::Null).unwrap_err();
        assert_eq!(error.code(), "no_such_port");
        assert!(error.to_string().len() < 250);
    }
}

#[test]
fn a_call_gives_the_output_of_the_port_of_that_name() {
    let ports = Ports::new()
        .port(echo(named("echo")))
        .port(made(named("length"), async |_, input| {
            Ok(Value::from(input.as_str().unwrap_or_default().len() as i64))
        }));
    assert_eq!(
        dispatch(&ports, "echo", value!({"a": 1})),
        Ok(value!({"a": 1}))
    );
    assert_eq!(dispatch(&ports, "length", value!("four")), Ok(value!(4)));
    assert_eq!(
        dispatch(&ports.clone(), "length", value!("four")),
        Ok(value!(4))
    );
    for name in ["Echo", "echo ", "ech", "echo/", "ECHO"] {
        assert_eq!(
            dispatch(&ports, name, Value::Null).unwrap_err().code(),
            "no_such_port"
        );
    }
}

#[test]
fn a_shared_port_can_be_granted_twice_in_different_sets() {
    let port = Arc::new(echo(named("echo")));
    for ports in [Ports::new().port(port.clone()), Ports::new().port(port)] {
        assert_eq!(dispatch(&ports, "echo", value!(1)), Ok(value!(1)));
    }
}

#[test]
fn names_are_checked_at_the_edge() {
    for name in ["a", "http", "My.Port-2_x", &"x".repeat(64)] {
        assert_eq!(
            Ports::new().port(echo(named(name))).check(),
            Ok(()),
            "{name}"
        );
    }
    for name in [
        "",
        "1x",
        "-x",
        ".x",
        "_x",
        "a/b",
        "a b",
        "a\0",
        "é",
        "a~b",
        &"x".repeat(65),
    ] {
        let error = Ports::new().port(echo(named(name))).check().unwrap_err();
        assert_eq!(error.code(), "bad_port_name", "{name}");
    }
    refused(
        &Ports::new().port(echo(named("a b"))).check().unwrap_err(),
        "bad_port_name",
        expect!["a port's name is 1 to 64 of `A-Z a-z 0-9 _ - .`, a letter first, not \"a b\""],
    );
}

#[test]
fn the_rest_of_a_descriptor_is_checked_at_the_edge() {
    let check = |descriptor: PortDescriptor| Ports::new().port(echo(descriptor)).check();
    let field = |descriptor: PortDescriptor| match check(descriptor) {
        Err(PortError::BadDescriptor { field, .. }) => field,
        other => panic!("{other:?}"),
    };
    let deep = |levels: usize| (1..levels).fold(value!({}), |inner, _| value!({"x": inner}));
    let limits = |max_input_bytes, max_output_bytes| PortLimits {
        max_input_bytes,
        max_output_bytes,
    };

    assert_eq!(
        check(PortDescriptor::new("x", "v".repeat(64), "d".repeat(4_096))),
        Ok(())
    );
    assert_eq!(field(PortDescriptor::new("x", "", "d")), "version");
    assert_eq!(
        field(PortDescriptor::new("x", "v".repeat(65), "d")),
        "version"
    );
    assert_eq!(field(PortDescriptor::new("x", "1", "")), "description");
    assert_eq!(
        field(PortDescriptor::new("x", "1", "d".repeat(4_097))),
        "description"
    );

    assert_eq!(check(named("x").input(deep(32)).output(deep(32))), Ok(()));
    assert_eq!(field(named("x").input(deep(33))), "input");
    assert_eq!(field(named("x").output(deep(200))), "output");
    assert_eq!(field(named("x").input(value!(true))), "input");
    assert_eq!(field(named("x").output(value!([]))), "output");
    assert_eq!(
        field(named("x").input(value!({"title": ("t".repeat(70_000))}))),
        "input"
    );

    assert_eq!(check(named("x").limits(limits(1, MAX_PORT_BYTES))), Ok(()));
    assert_eq!(field(named("x").limits(limits(0, 1))), "max_input_bytes");
    assert_eq!(field(named("x").limits(limits(1, 0))), "max_output_bytes");
    assert_eq!(
        field(named("x").limits(limits(MAX_PORT_BYTES + 1, 1))),
        "max_input_bytes"
    );

    refused(
        &check(named("x").limits(limits(0, 1))).unwrap_err(),
        "bad_port_descriptor",
        expect![[r#"the max_input_bytes of port "x" is not allowed: it is 0, not 1 to 67108864"#]],
    );
}

#[test]
fn a_set_with_a_mistake_grants_nothing_at_all() {
    let ports = Ports::new()
        .port(echo(named("echo")))
        .port(echo(named("echo")))
        .port(echo(named("1")));
    let error = ports.check().unwrap_err();
    refused(
        &error,
        "duplicate_port",
        expect![[r#"there is a port "echo" already"#]],
    );
    assert_eq!(ports.manuals(), Err(error.clone()));
    assert_eq!(dispatch(&ports, "echo", Value::Null), Err(error));
}

#[test]
fn manuals_are_data_made_from_the_descriptors() {
    let ports = Ports::new().port(echo(named("zeta"))).port(echo(
        PortDescriptor::new("alpha", "2.1", "Looks something up.")
            .input(value!({"type": "object"}))
            .output(value!({"type": "string"}))
            .effect(Effect::Read)
            .idempotent(true)
            .limits(PortLimits {
                max_input_bytes: 10,
                max_output_bytes: 20,
            }),
    ));
    let manuals = ports.manuals().unwrap();
    expect![[r#"{"alpha":{"description":"Looks something up.","effect":"read","idempotent":true,"input":{"type":"object"},"limits":{"max_input_bytes":10,"max_output_bytes":20},"output":{"type":"string"},"version":"2.1"},"zeta":{"description":"For tests.","effect":"write","idempotent":false,"input":{},"limits":{"max_input_bytes":1048576,"max_output_bytes":8388608},"output":{},"version":"1"}}"#]]
    .assert_eq(&Value::from(manuals).to_json().unwrap());
    let names: Vec<&str> = ports.descriptors().map(|d| d.name.as_str()).collect();
    assert_eq!(names, ["alpha", "zeta"]);
    assert!(ports.descriptor("alpha").is_some_and(|d| d.idempotent));
    assert_eq!(ports.descriptor("beta"), None);
    expect![[r#"Ports { ports: ["alpha", "zeta"], failure: None }"#]]
        .assert_eq(&format!("{ports:?}"));
}

#[test]
fn sizes_are_checked_before_and_behind_the_port() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    // A text of up to 23 bytes is encoded in one byte more.
    let limits = PortLimits {
        max_input_bytes: 11,
        max_output_bytes: 21,
    };
    let ports = Ports::new().port(made(named("double").limits(limits), move |_, input| {
        counted.fetch_add(1, Ordering::Relaxed);
        async move { Ok(Value::from(input.as_str().unwrap_or_default().repeat(2))) }
    }));
    assert_eq!(
        dispatch(&ports, "double", value!("0123456789")),
        Ok(value!("01234567890123456789"))
    );
    assert_eq!(calls.load(Ordering::Relaxed), 1);

    let error = dispatch(&ports, "double", value!("0123456789x")).unwrap_err();
    refused(
        &error,
        "port_input_too_large",
        expect![[r#"the input of port "double" has 12 bytes, at most 11 are allowed"#]],
    );
    assert_eq!(calls.load(Ordering::Relaxed), 1, "it was not called");

    let limits = PortLimits {
        max_output_bytes: 20,
        ..limits
    };
    let ports = Ports::new().port(made(named("double").limits(limits), async |_, input| {
        Ok(Value::from(input.as_str().unwrap_or_default().repeat(2)))
    }));
    let error = dispatch(&ports, "double", value!("0123456789")).unwrap_err();
    refused(
        &error,
        "port_output_too_large",
        expect![[r#"the output of port "double" has 21 bytes, at most 20 are allowed"#]],
    );
}

#[test]
fn a_failure_is_told_in_the_ports_words_and_bounded() {
    let ports = Ports::new()
        .port(made(named("short"), async |_, _| {
            Err(PortFailure::new("no_money", "the account is empty"))
        }))
        .port(made(named("long"), async |_, _| {
            Err(PortFailure::new("é".repeat(1_000), "é".repeat(100_000)))
        }));
    let error = dispatch(&ports, "short", Value::Null).unwrap_err();
    refused(
        &error,
        "port_failed",
        expect![[r#"port "short" failed: the account is empty"#]],
    );
    assert!(matches!(error, PortError::Failed { reason, .. } if reason.as_str() == "no_money"));
    let PortError::Failed {
        reason, message, ..
    } = dispatch(&ports, "long", Value::Null).unwrap_err()
    else {
        panic!("not a failure");
    };
    assert_eq!((reason.len(), message.len()), (64, 1_024));
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("the key is 12345");
    }
}

/// A future that is ready at once and panics when it is put away.
struct Armed(#[allow(dead_code, reason = "it is there to be dropped")] Bomb);

impl Future for Armed {
    type Output = Result<Value, PortFailure>;

    fn poll(self: std::pin::Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(Ok(Value::Null))
    }
}

#[test]
fn a_panic_ends_the_call_only_and_its_text_is_not_told() {
    let broken = |at: &'static str| Made {
        descriptor: named(at),
        call: Box::new(move |_, input| {
            assert!(at != "start" || input.is_null(), "the key is 12345");
            if at == "drop" && !input.is_null() {
                return Box::pin(Armed(Bomb));
            }
            Box::pin(async move {
                assert!(at != "poll" || input.is_null(), "the key is 12345");
                tokio::time::sleep(Duration::from_millis(1)).await;
                assert!(at != "later" || input.is_null(), "the key is 12345");
                Ok(input)
            })
        }),
    };
    let places = ["start", "poll", "later", "drop"];
    let ports = places
        .into_iter()
        .fold(Ports::new(), |ports, at| ports.port(broken(at)));
    for at in places {
        let error = dispatch(&ports, at, value!(1)).unwrap_err();
        assert_eq!(error, PortError::Panicked { port: at.into() });
        assert_eq!(error.code(), "port_panicked");
        assert!(!format!("{error} {error:?}").contains("12345"));
        assert_eq!(
            dispatch(&ports, at, Value::Null),
            Ok(Value::Null),
            "it can be called again"
        );
    }
}

#[test]
fn a_port_sees_the_committed_process_and_its_key() {
    let ports = Ports::new().port(made(named("look"), async |ctx, _| {
        let stat: Stat = ctx
            .stat("/memory/facts")?
            .ok_or_else(|| PortFailure::new("gone", "gone"))?;
        assert_eq!((stat.entries, stat.access), (Some(2), Access::Read));
        assert_eq!(ctx.stat("/memory/none")?, None);
        assert_eq!(ctx.read("/memory/none")?, None);
        let names = List::from_values(ctx.discover("/memory/facts")?)?;
        Ok(value!({
            "names": names,
            "a": (ctx.read("/memory/facts/a")?),
            "key": (ctx.idempotency_key()),
        }))
    }));
    assert_eq!(
        dispatch(&ports, "look", Value::Null),
        Ok(value!({"names": ["a", "b"], "a": 1, "key": "svit://local/demo#7.0"}))
    );
}

/// A state whose mounts cannot be read.
struct Detached;

impl CommittedState for Detached {
    fn read(&self, path: &Path) -> Result<Option<Value>, HostError> {
        Err(HostError::soft(
            "not_attached",
            format!("{path} is not attached"),
        ))
    }

    fn stat(&self, path: &Path) -> Result<Option<Stat>, HostError> {
        self.read(path).map(|_| None)
    }

    fn discover(&self, path: &Path) -> Result<Vec<Text>, HostError> {
        self.read(path).map(|_| Vec::new())
    }
}

#[test]
fn what_a_port_could_not_see_can_be_its_failure() {
    let ports = Ports::new().port(made(named("look"), async |ctx, input| {
        let path = input.as_str().unwrap_or_default();
        ctx.stat(path)?;
        Ok(Value::Null)
    }));
    let reason = |path: &str| {
        let ctx = PortContext::new(Arc::new(Detached), "k");
        match block_on(ports.dispatch("look", path.into(), &ctx)) {
            Err(PortError::Failed { reason, .. }) => reason.as_str().to_owned(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(reason("memory"), "bad_path");
    assert_eq!(reason("/mounts/x"), "not_attached");
}

#[test]
fn dropping_a_dispatch_cancels_the_call_and_calls_run_side_by_side() {
    struct Mark(Arc<AtomicUsize>);
    impl Drop for Mark {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let dropped = Arc::new(AtomicUsize::new(0));
    let seen = dropped.clone();
    let ports = Ports::new().port(made(named("wait"), move |_, input| {
        let mark = Mark(seen.clone());
        async move {
            if input.is_null() {
                std::future::pending::<()>().await;
            }
            drop(mark);
            Ok(input)
        }
    }));
    let ctx = ctx();
    {
        let mut waiting = pin!(ports.dispatch("wait", Value::Null, &ctx));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(waiting.as_mut().poll(&mut cx).is_pending());
        assert_eq!(
            block_on(ports.dispatch("wait", value!(1), &ctx)),
            Ok(value!(1))
        );
        assert_eq!(dropped.load(Ordering::Relaxed), 1);
    }
    assert_eq!(dropped.load(Ordering::Relaxed), 2);
}

#[test]
fn the_dispatch_can_be_sent_between_threads() {
    fn sendable<T: Send>(value: T) -> T {
        value
    }
    let (ports, ctx) = (Ports::new().port(echo(named("echo"))), ctx());
    assert_eq!(
        block_on(sendable(ports.dispatch("echo", value!(1), &ctx))),
        Ok(value!(1))
    );
}
