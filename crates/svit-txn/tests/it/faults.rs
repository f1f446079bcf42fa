//! The store goes wrong at the Nth call, for every N of a scenario and in every way: everything that
//! was asked for is done once, and everything that was acknowledged is there.

use std::sync::Arc;

use futures_lite::future;
use futures_lite::future::block_on;
use svit_testkit::fault::{Fault, FaultyStore};
use svit_txn::{
    DurableProcess, Error, Extras, MemoryStore, Operation, Outcome, ProcessStore, Submission,
};
use svit_value::{Digest, value};

use crate::receipts::request;
use crate::steps::{Steps, builder, script};

const ROOT: &str = "svit://local/root";
const CHILD: &str = "svit://local/child";

/// What is done, to which process.
fn scenario() -> Vec<(&'static str, Operation)> {
    let exec = |name: &str, input: i64| Operation::Exec {
        path: format!("/lib/{name}").parse().unwrap(),
        input: input.into(),
    };
    let write = |path: &str, value: i64| Operation::Write {
        path: path.parse().unwrap(),
        value: value.into(),
    };
    vec![
        (ROOT, exec("counter", 3)),
        (
            ROOT,
            Operation::Enqueue {
                message: "first".into(),
            },
        ),
        (ROOT, exec("send", 0)),
        (ROOT, exec("fails", 0)),
        (ROOT, Operation::Acknowledge { sequence: 2 }),
        (ROOT, Operation::Note),
        (CHILD, write("/memory/mine", 1)),
        (ROOT, write("/memory/mine", 2)),
        (
            CHILD,
            Operation::Enqueue {
                message: "second".into(),
            },
        ),
        (CHILD, exec("counter", 4)),
        (
            ROOT,
            Operation::Remove {
                path: "/memory/kept".parse().unwrap(),
            },
        ),
    ]
}

/// How the program goes on after a fault.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Recovery {
    /// With the same handles.
    GoOn,
    /// It has ended; another one opens the store.
    Restart,
}

/// A program that does the scenario and never gives up.
struct Program {
    store: Arc<FaultyStore>,
    recovery: Recovery,
    root: Option<DurableProcess>,
    child: Option<DurableProcess>,
}

impl Program {
    /// Carries out one call, with none for one that hung.
    async fn attempt<T>(
        &self,
        call: impl Future<Output = Result<T, Error>>,
    ) -> Option<Result<T, Error>> {
        let before = self.store.hanging();
        let hung = async {
            while self.store.hanging() == before {
                future::yield_now().await;
            }
            None
        };
        future::or(async { Some(call.await) }, hung).await
    }

    fn after_a_fault(&mut self) {
        self.store.restore();
        if self.recovery == Recovery::Restart {
            (self.root, self.child) = (None, None);
        }
    }

    async fn open(&mut self, address: &str) -> DurableProcess {
        loop {
            let known = if address == ROOT {
                &self.root
            } else {
                &self.child
            };
            if let Some(process) = known {
                return process.clone();
            }
            let store: Arc<dyn ProcessStore> = self.store.clone();
            let parent = match address {
                CHILD => Some(Box::pin(self.open(ROOT)).await),
                _ => None,
            };
            let call = async {
                let resumed =
                    DurableProcess::resume_with(store.clone(), address, [Steps::guest()]).await;
                match (resumed, parent) {
                    (Err(error), None) if error.code() == "not_found" => {
                        let built = builder(ROOT)
                            .library(
                                "send",
                                script("send {\"to\":1};stage made return 1;write /memory/s true"),
                            )
                            .library("fails", script("write /memory/s false;runtime"))
                            .build()?;
                        DurableProcess::create(store, built).await
                    }
                    (Err(error), Some(parent)) if error.code() == "not_found" => {
                        parent.fork(CHILD).await
                    }
                    (resumed, _) => resumed,
                }
            };
            match self.attempt(call).await {
                Some(Ok(process)) if address == ROOT => self.root = Some(process),
                Some(Ok(process)) => self.child = Some(process),
                Some(Err(error)) => {
                    assert!(transient(&error), "{error}");
                    self.after_a_fault();
                }
                None => self.after_a_fault(),
            }
        }
    }

    async fn run(&mut self) {
        for (index, (address, operation)) in scenario().into_iter().enumerate() {
            loop {
                let process = self.open(address).await;
                let name = format!("op-{index}");
                let submission = Submission::plain(operation.clone())
                    .keyed(request(&name, &name))
                    .recording(|result| Extras {
                        outcome: value!(result.is_ok()),
                        events: vec![("done".into(), value!(result.is_ok()))],
                    });
                let should_fail = matches!(&operation, Operation::Exec { path, .. } if path.name() == Some("fails"));
                match self.attempt(process.submit(submission)).await {
                    Some(Ok(Outcome::Replayed(receipt))) => {
                        assert_eq!(receipt.outcome, value!((!should_fail)), "{name}");
                        break;
                    }
                    Some(Ok(_)) => break assert!(!should_fail, "{name}"),
                    Some(Err(error)) if should_fail && error.code() == "runtime" => break,
                    Some(Err(error)) => {
                        assert!(transient(&error), "{name}: {error}");
                        self.after_a_fault();
                    }
                    None => self.after_a_fault(),
                }
            }
        }
    }
}

fn transient(error: &Error) -> bool {
    matches!(error.code(), "unavailable" | "unknown")
}

#[derive(Debug, PartialEq)]
struct Ended {
    version: u64,
    root: Digest,
    events: Vec<(u64, svit_value::Value)>,
}

async fn ended(store: &Arc<FaultyStore>) -> [Ended; 2] {
    let store: Arc<dyn ProcessStore> = store.clone();
    let mut all = Vec::new();
    for address in [ROOT, CHILD] {
        let process = crate::steps::resume(&store, address).await;
        let events = process.recent_events(99).await.unwrap();
        all.push(Ended {
            version: process.version(),
            root: process.root_digest(),
            events: events
                .into_iter()
                .map(|event| (event.seq, event.body))
                .collect(),
        });
    }
    let child = all.pop().unwrap();
    [all.pop().unwrap(), child]
}

fn run(plan: Option<(u64, Fault)>, recovery: Recovery) -> ([Ended; 2], u64) {
    block_on(async {
        let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
        if let Some((call, fault)) = plan {
            store.at_call(call, fault);
        }
        let mut program = Program {
            store: store.clone(),
            recovery,
            root: None,
            child: None,
        };
        program.run().await;
        let calls = store.calls();
        store.restore();
        (ended(&store).await, calls)
    })
}

#[test]
fn a_fault_at_any_call_changes_nothing_in_the_end() {
    let (sure, calls) = run(None, Recovery::GoOn);
    assert!(calls > 20, "{calls}");
    assert_eq!((sure[0].version, sure[1].version), (6, 8));
    for call in 1..=calls {
        for fault in Fault::ALL {
            for recovery in [Recovery::GoOn, Recovery::Restart] {
                let (after, _) = run(Some((call, fault)), recovery);
                assert_eq!(
                    after, sure,
                    "{fault:?} at call {call} of {calls}, {recovery:?}"
                );
            }
        }
    }
}
