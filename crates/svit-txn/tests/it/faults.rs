//! The store goes wrong at the Nth call, for every N of a scenario and in every way: everything that
//! was asked for is done once, and everything that was acknowledged is there.

use std::sync::Arc;

use futures_lite::future;
use futures_lite::future::block_on;
use svit_testkit::fault::{Fault, FaultyStore};
use svit_txn::{
    DurableProcess, Error, Extras, MemoryStore, Operation, Outcome, ProcessStore, ProcessStoreExt,
    Submission,
};
use svit_value::{Digest, value};

use crate::receipts::request;
use crate::steps::{Steps, builder, script};

const ROOT: &str = "svit://local/root";
const CHILD: &str = "svit://local/child";

/// What is done, to which process.
#[derive(Clone, Debug)]
enum Act {
    Do(&'static str, Operation),
    Checkpoint(&'static str),
    Cut(&'static str, u64),
    Trim(&'static str, u64),
    Delete(&'static str),
    Collect,
}

fn scenario() -> Vec<Act> {
    let exec = |name: &str, input: i64| Operation::Exec {
        path: format!("/lib/{name}").parse().unwrap(),
        input: input.into(),
    };
    let write = |path: &str, value: i64| Operation::Write {
        path: path.parse().unwrap(),
        value: value.into(),
    };
    let enqueue = |message: &str| Operation::Enqueue {
        message: message.into(),
    };
    let remove = Operation::Remove {
        path: "/memory/kept".parse().unwrap(),
    };
    vec![
        Act::Do(ROOT, exec("counter", 3)),
        Act::Do(ROOT, enqueue("first")),
        Act::Do(ROOT, exec("send", 0)),
        Act::Checkpoint(ROOT),
        Act::Do(ROOT, exec("fails", 0)),
        Act::Do(ROOT, Operation::Acknowledge { sequence: 2 }),
        Act::Do(ROOT, Operation::Note),
        // The child is forked here, at version 4.
        Act::Do(CHILD, write("/memory/mine", 1)),
        Act::Do(ROOT, write("/memory/mine", 2)),
        Act::Cut(ROOT, 3),
        Act::Do(CHILD, enqueue("second")),
        Act::Collect,
        Act::Do(ROOT, remove),
        Act::Cut(ROOT, 6),
        Act::Collect,
        Act::Do(CHILD, exec("counter", 4)),
        Act::Checkpoint(CHILD),
        Act::Do(ROOT, exec("counter", 9)),
        Act::Delete(ROOT),
        Act::Collect,
        Act::Do(CHILD, write("/memory/mine", 3)),
        Act::Trim(CHILD, 1),
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
    /// The root has been deleted, and is not to be made again.
    is_deleted: bool,
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

    /// A process: the one that is open, or resumed, or made; none if it has been deleted.
    async fn open(&mut self, address: &'static str) -> Option<DurableProcess> {
        loop {
            let known = match address {
                ROOT => &self.root,
                _ => &self.child,
            };
            if let Some(process) = known {
                return Some(process.clone());
            }
            let store: Arc<dyn ProcessStore> = self.store.clone();
            let resumes = DurableProcess::resume_with(store, address, [Steps::guest()]);
            let resumed = match self.attempt(resumes).await {
                Some(Err(error)) if error.code() == "not_found" => {
                    if address == ROOT && self.is_deleted {
                        return None;
                    }
                    self.make(address).await
                }
                resumed => resumed,
            };
            match resumed {
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

    async fn make(&mut self, address: &'static str) -> Option<Result<DurableProcess, Error>> {
        if address == CHILD {
            let parent = Box::pin(self.open(ROOT)).await.unwrap();
            return self.attempt(parent.fork(CHILD)).await;
        }
        let send = "send {\"to\":1};stage made return 1;write /memory/s true";
        let built = builder(ROOT)
            .library("send", script(send))
            .library("fails", script("write /memory/s false;runtime"))
            .build()
            .unwrap();
        let store = self.store.clone();
        self.attempt(DurableProcess::create(store, built)).await
    }

    async fn run(&mut self) {
        for (index, act) in scenario().into_iter().enumerate() {
            match act {
                Act::Do(address, operation) => self.operate(address, operation, index).await,
                act => self.keep(act).await,
            }
        }
    }

    async fn operate(&mut self, address: &'static str, operation: Operation, index: usize) {
        loop {
            let process = self.open(address).await.unwrap();
            let name = format!("op-{index}");
            let submission = Submission::plain(operation.clone())
                .keyed(request(&name, &name))
                .recording(|result| Extras {
                    outcome: value!(result.is_ok()),
                    events: vec![("done".into(), value!(result.is_ok()))],
                });
            let should_fail =
                matches!(&operation, Operation::Exec { path, .. } if path.name() == Some("fails"));
            match self.attempt(process.submit(submission)).await {
                Some(Ok(Outcome::Replayed(receipt))) => {
                    assert_eq!(receipt.outcome, value!((!should_fail)), "{name}");
                    return;
                }
                Some(Ok(_)) => return assert!(!should_fail, "{name}"),
                Some(Err(error)) if should_fail && error.code() == "runtime" => return,
                Some(Err(error)) => {
                    assert!(transient(&error), "{name}: {error}");
                    self.after_a_fault();
                }
                None => self.after_a_fault(),
            }
        }
    }

    /// What may be asked again and again until it is done.
    async fn keep(&mut self, act: Act) {
        loop {
            let address = match act {
                Act::Checkpoint(address) | Act::Cut(address, _) => address,
                Act::Trim(address, _) | Act::Delete(address) | Act::Do(address, _) => address,
                Act::Collect => "",
            };
            let process = match address {
                "" => None,
                address => self.open(address).await,
            };
            let shared: Arc<dyn ProcessStore> = self.store.clone();
            let call = async {
                match (&act, &process) {
                    (Act::Collect, _) => shared.collect_garbage().await.map(drop)?,
                    // Deleted by an attempt whose end nobody saw.
                    (Act::Delete(_), None) => {}
                    (act, None) => panic!("{act:?}: {address} is not there"),
                    (Act::Checkpoint(_), Some(process)) => process.checkpoint().await.map(drop)?,
                    (Act::Cut(_, at), Some(process)) => process.cut(*at).await?,
                    (Act::Trim(_, before), Some(process)) => process.trim_events(*before).await?,
                    (Act::Delete(_), Some(process)) => process.delete().await?,
                    (Act::Do(..), _) => {}
                }
                Ok(())
            };
            let done = self.attempt(call).await;
            let is_gone = matches!(&done, Some(Err(error)) if error.code() == "not_found");
            if matches!(act, Act::Delete(_)) {
                self.is_deleted = true;
                if is_gone {
                    self.root = None;
                    return;
                }
            }
            match done {
                Some(Ok(())) => return,
                Some(Err(error)) => assert!(transient(&error), "{act:?}: {error}"),
                None => {}
            }
            self.after_a_fault();
        }
    }
}

fn transient(error: &Error) -> bool {
    matches!(error.code(), "unavailable" | "unknown")
}

#[derive(Debug, PartialEq)]
struct Ended {
    version: u64,
    roots: Vec<Digest>,
    events: Vec<(u64, svit_value::Value)>,
}

/// What is there in the end: the child, from where it began.
async fn ended(memory: &MemoryStore) -> Ended {
    assert_eq!(memory.list(None, 9).await.unwrap().len(), 1);
    memory.collect_garbage().await.unwrap();
    let store: Arc<dyn ProcessStore> = Arc::new(memory.clone());
    let process = crate::steps::resume(&store, CHILD).await;
    assert!(process.resumed_from().unwrap().fallbacks.is_empty());
    assert_eq!(process.oldest_version().await.unwrap(), 4);
    let mut roots = Vec::new();
    for version in 4..=process.version() {
        let whole = process.read_at(version, "/").await.unwrap().unwrap();
        roots.push(whole.digest());
    }
    assert_eq!(process.read_at(3, "/").await.unwrap_err().code(), "cut");
    let events = process.recent_events(99).await.unwrap();
    let events = events.into_iter().map(|event| (event.seq, event.body));
    Ended {
        version: process.version(),
        roots,
        events: events.collect(),
    }
}

fn run(plan: Option<(u64, Fault)>, recovery: Recovery) -> (Ended, u64) {
    block_on(async {
        let memory = MemoryStore::new();
        let store = Arc::new(FaultyStore::new(Arc::new(memory.clone())));
        if let Some((call, fault)) = plan {
            store.at_call(call, fault);
        }
        let mut program = Program {
            store: store.clone(),
            recovery,
            root: None,
            child: None,
            is_deleted: false,
        };
        program.run().await;
        (ended(&memory).await, store.calls())
    })
}

#[test]
fn a_fault_at_any_call_changes_nothing_in_the_end() {
    let (sure, calls) = run(None, Recovery::GoOn);
    assert!(calls > 60, "{calls}");
    assert_eq!(
        (sure.version, sure.roots.len(), sure.events.len()),
        (9, 6, 3)
    );
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
