//! Ports inside activations: answers, limits, records, and everything that can come in between.

mod answers;
mod waiting;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use futures_lite::future::{self, block_on};
use svit_tree::guest::HostError;
use svit_txn::{
    BoxFuture, DurableProcess, Error, HistoryQuery, LimitKind, Limits, MemoryStore, Operation,
    Outcome, PortDispatch, PortEffect, PortOutcome, PortRequest, Process, Submission,
};
use svit_value::{Map, Value, value};

use crate::receipts::request;
use crate::steps::{builder, script, seen};

type Behaviour = Arc<
    dyn Fn(PortRequest) -> BoxFuture<'static, Result<Value, HostError>> + Send + Sync + 'static,
>;

/// Ports for tests, and what they were asked.
#[derive(Default)]
struct TestPorts {
    ports: BTreeMap<&'static str, (PortEffect, Behaviour)>,
    asked: Mutex<Vec<PortRequest>>,
    waiting: Arc<AtomicUsize>,
}

impl TestPorts {
    fn port<F>(
        mut self,
        name: &'static str,
        effect: PortEffect,
        behaviour: impl Fn(PortRequest) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Value, HostError>> + Send + 'static,
    {
        let behaviour =
            Arc::new(move |request| -> BoxFuture<'static, _> { Box::pin(behaviour(request)) });
        self.ports.insert(name, (effect, behaviour));
        self
    }

    fn asked(&self) -> Vec<PortRequest> {
        self.asked.lock().unwrap().clone()
    }

    fn keys(&self) -> Vec<String> {
        let asked = self.asked();
        asked
            .iter()
            .map(|request| request.key.to_string())
            .collect()
    }

    /// Waits until so many calls wait.
    fn until_waiting(&self, count: usize) {
        let started = Instant::now();
        while self.waiting.load(Ordering::SeqCst) != count {
            assert!(started.elapsed() < Duration::from_secs(30));
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl PortDispatch for TestPorts {
    fn manuals(&self) -> Map {
        let manual =
            |effect: PortEffect| value!({"effect": (format!("{effect:?}").to_lowercase())});
        let manuals = self.ports.iter();
        Map::from_entries(manuals.map(|(name, (effect, _))| (*name, manual(*effect)))).unwrap()
    }

    fn effect(&self, name: &str) -> Option<PortEffect> {
        Some(self.ports.get(name)?.0)
    }

    fn call(&self, request: PortRequest) -> BoxFuture<'_, Result<Value, HostError>> {
        self.asked.lock().unwrap().push(request.clone());
        (self.ports[request.name.as_str()].1)(request)
    }
}

/// Opened once for everybody who waits at it.
#[derive(Clone)]
struct Gate(
    async_broadcast::InactiveReceiver<()>,
    Arc<Mutex<Option<async_broadcast::Sender<()>>>>,
);

impl Gate {
    fn new() -> Self {
        let (sender, receiver) = async_broadcast::broadcast(1);
        Self(receiver.deactivate(), Arc::new(Mutex::new(Some(sender))))
    }

    fn open(&self) {
        drop(self.1.lock().unwrap().take());
    }

    async fn passed(&self) {
        let _ = self.0.activate_cloned().recv().await;
    }
}

/// Counts a call as waiting for as long as its future lives.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The ports that most tests use: `echo`, `write`, `fails`, `ends`, `panics`, `big`, and `waits` for
/// the gate.
fn ports(gate: &Gate) -> TestPorts {
    let ports = TestPorts::default();
    let (waiting, gate) = (ports.waiting.clone(), gate.clone());
    ports
        .port("echo", PortEffect::Read, |r| async { Ok(r.input) })
        .port("write", PortEffect::Write, |r| async { Ok(r.input) })
        .port("fails", PortEffect::Read, |_| async {
            Err(HostError::soft("no_luck", "it did not work"))
        })
        .port("fails-write", PortEffect::Write, |_| async {
            Err(HostError::soft("no_luck", "it did not work"))
        })
        .port("ends", PortEffect::Read, |_| async {
            Err(HostError::hard("suspended", "not now"))
        })
        .port("panics", PortEffect::Read, |_| async {
            panic!("a port panics, as it should")
        })
        .port("panics-at-once", PortEffect::Read, panics_at_once)
        .port("big", PortEffect::Read, |r| async move {
            Ok("x".repeat(r.input.as_int().unwrap() as usize).into())
        })
        .port("wordy", PortEffect::Read, |_| async {
            Err(HostError::soft("e".repeat(5_000), "\u{e9}".repeat(5_000)))
        })
        .port("waits", PortEffect::Read, move |r| {
            let (gate, counted) = (gate.clone(), Counted::new(&waiting));
            async move {
                gate.passed().await;
                drop(counted);
                Ok(r.input)
            }
        })
}

fn panics_at_once(_: PortRequest) -> future::Ready<Result<Value, HostError>> {
    panic!("a port panics before there is a future")
}

async fn process(ports: &Arc<TestPorts>, sources: &[(&str, &str)]) -> DurableProcess {
    let builder = sources
        .iter()
        .fold(builder("svit://local/ports"), |builder, (name, source)| {
            builder.library(name, script(source))
        });
    let store = Arc::new(MemoryStore::new());
    let process = DurableProcess::create(store, builder.build().unwrap());
    let process = process.await.unwrap();
    process.attach_ports(ports.clone()).await.unwrap();
    process
}

fn exec_on_thread(
    process: &DurableProcess,
    name: &str,
) -> thread::JoinHandle<Result<svit_txn::Activation, Error>> {
    let (process, path) = (process.clone(), format!("/lib/{name}"));
    thread::spawn(move || block_on(process.exec(path, value!(null))))
}

#[test]
fn attaching_is_a_transition_only_if_the_manuals_differ_and_is_never_stored() {
    block_on(async {
        let store = Arc::new(MemoryStore::new());
        let built = builder("svit://local/ports")
            .library("call", script("port echo 1"))
            .build();
        let process = store.create(built.unwrap()).await.unwrap();
        let refused = process.exec("/lib/call", value!(null)).await.unwrap_err();
        assert_eq!(refused.code(), "unavailable");

        let some = Arc::new(ports(&Gate::new()));
        let change = process.attach_ports(some.clone()).await.unwrap().unwrap();
        assert_eq!(
            (change.version, change.source),
            (1, svit_tree::Source::Host)
        );
        assert_eq!(
            process.read("/ports/write/effect").unwrap(),
            Some("write".into())
        );
        assert!(process.attach_ports(some.clone()).await.unwrap().is_none());
        assert_eq!(process.version(), 1);
        assert!(process.exec("/lib/call", value!(null)).await.is_ok());

        // What is restored describes ports and grants none.
        drop(process);
        let guests = [crate::steps::Steps::guest()];
        let process = DurableProcess::resume_with(store, "svit://local/ports", guests).await;
        let process = process.unwrap();
        assert!(process.read("/ports/echo").unwrap().is_some());
        let refused = process.exec("/lib/call", value!(null)).await.unwrap_err();
        assert_eq!(refused.code(), "unavailable");
        assert!(process.attach_ports(some).await.unwrap().is_none());
        assert!(process.exec("/lib/call", value!(null)).await.is_ok());

        // Other ports take the place of these.
        let none = Arc::new(TestPorts::default());
        assert!(process.attach_ports(none).await.unwrap().is_some());
        assert_eq!(process.discover("/ports").unwrap().len(), 0);
        let refused = process.exec("/lib/call", value!(null)).await.unwrap_err();
        assert_eq!(refused.code(), "no_such_port");
    });
}

#[test]
fn manuals_that_cannot_stand_are_refused_and_what_was_attached_stays() {
    struct Bad(Map);
    impl PortDispatch for Bad {
        fn manuals(&self) -> Map {
            self.0.clone()
        }
        fn effect(&self, _: &str) -> Option<PortEffect> {
            Some(PortEffect::Pure)
        }
        fn call(&self, _: PortRequest) -> BoxFuture<'_, Result<Value, HostError>> {
            Box::pin(async { Ok("of the bad one".into()) })
        }
    }
    let good = Arc::new(ports(&Gate::new()));
    block_on(async {
        let process = process(&good, &[("call", "port echo 1")]).await;
        let before = seen(&process);
        let deep = Value::from_json(&("[".repeat(40) + &"]".repeat(40))).unwrap();
        for (manuals, code) in [
            (Map::from_entries([("..", 1)]).unwrap(), "bad_path"),
            (Map::from_entries([("", 1)]).unwrap(), "bad_path"),
            (
                Map::from_entries([("deep", deep)]).unwrap(),
                "max_value_depth",
            ),
        ] {
            let refused = process
                .attach_ports(Arc::new(Bad(manuals)))
                .await
                .unwrap_err();
            assert_eq!(refused.code(), code);
            assert_eq!(seen(&process), before);
        }
        let activation = process.exec("/lib/call", value!(null)).await.unwrap();
        assert_eq!(activation.output, 1.into());
    });
}

#[test]
fn a_child_and_a_process_in_memory_have_no_ports() {
    let ports = Arc::new(ports(&Gate::new()));
    block_on(async {
        let process = process(&ports, &[("call", "port echo 1")]).await;
        let child = process.fork("svit://local/child").await.unwrap();
        assert_eq!(child.discover("/ports").unwrap().len(), 0);
        let refused = child.exec("/lib/call", value!(null)).await.unwrap_err();
        assert_eq!(refused.code(), "unavailable");
    });
    let alone: Process = builder("svit://local/alone")
        .library("call", script("port echo 1"))
        .library("caught", script("try-port echo 1;return 2"))
        .build()
        .unwrap();
    for path in ["/lib/call", "/ports/echo"] {
        let refused = alone.exec(path, value!(null)).unwrap_err();
        assert_eq!(refused.code(), "unavailable");
        assert!(refused.to_string().contains("Process::exec"), "{refused}");
    }
    assert_eq!(
        alone.exec("/lib/caught", value!(null)).unwrap().output,
        2.into()
    );
}
