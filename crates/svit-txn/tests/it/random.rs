//! Long random histories against a plain model: live, resumed, and at every version.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_lite::future::block_on;
use proptest::prelude::*;
use svit_testkit::fault::{Fault, FaultyStore};
use svit_txn::{
    DurableProcess, Extras, HistoryQuery, MemoryStore, Operation, Outcome, ProcessStore, Submission,
};
use svit_value::{Digest, Value, value};

use crate::receipts::request;
use crate::steps::{Steps, builder, script};

#[derive(Clone, Debug)]
enum Step {
    Write(u8, i64),
    Remove(u8),
    Add(i64),
    FailingAdd(i64),
    Send(u8),
    Enqueue(i64),
    Acknowledge(usize),
    Bury(usize),
    /// The oldest intent is delivered.
    Deliver,
    Note(u8),
    /// A keyed add; the same name again is a retry.
    Keyed(u8),
    Fork,
    Resume,
    /// The next write of the store goes wrong.
    Fault(Fault),
}

fn any_step() -> impl Strategy<Value = Step> {
    let fault = prop_oneof![
        Just(Fault::Fail),
        Just(Fault::ForgetLost),
        Just(Fault::ForgetLanded),
        Just(Fault::CutLost),
        Just(Fault::CutLanded),
    ];
    prop_oneof![
        4 => (0..4_u8, 0..3_i64).prop_map(|(key, n)| Step::Write(key, n)),
        2 => (0..4_u8).prop_map(Step::Remove),
        4 => (-3..4_i64).prop_map(Step::Add),
        1 => (-3..4_i64).prop_map(Step::FailingAdd),
        1 => (1..3_u8).prop_map(Step::Send),
        4 => (0..9_i64).prop_map(Step::Enqueue),
        2 => (0..5_usize).prop_map(Step::Acknowledge),
        1 => (0..5_usize).prop_map(Step::Bury),
        2 => Just(Step::Deliver),
        2 => (0..3_u8).prop_map(Step::Note),
        3 => (0..6_u8).prop_map(Step::Keyed),
        1 => Just(Step::Fork),
        1 => Just(Step::Resume),
        1 => fault.prop_map(Step::Fault),
    ]
}

/// What a process should hold.
#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    version: u64,
    count: i64,
    memory: BTreeMap<u8, i64>,
    inbox: BTreeMap<u64, i64>,
    dead: BTreeMap<u64, i64>,
    sent: usize,
    events: u64,
    keyed: BTreeMap<u8, i64>,
}

struct Line {
    process: DurableProcess,
    model: Model,
    /// What each version held, and its root.
    past: BTreeMap<u64, (Model, Digest)>,
}

impl Line {
    fn new(process: DurableProcess, model: Model) -> Self {
        let mut line = Self {
            process,
            model,
            past: BTreeMap::new(),
        };
        line.remember();
        line
    }

    fn remember(&mut self) {
        let now = (self.model.clone(), self.process.root_digest());
        self.past.insert(self.model.version, now);
    }

    fn check(&self) {
        let read = |path: &str| self.process.read(path).unwrap();
        assert_eq!(self.process.version(), self.model.version);
        same(&self.model, read("/").unwrap());
    }

    async fn check_past(&self, every: u64) {
        for (version, (model, root)) in self
            .past
            .iter()
            .filter(|(version, _)| *version % every == 0)
        {
            let whole = self.process.read_at(*version, "/").await.unwrap().unwrap();
            assert_eq!(whole.digest(), *root, "version {version}");
            same(model, whole);
        }
        let history = self.process.history(HistoryQuery {
            limit: usize::MAX,
            ..Default::default()
        });
        assert_eq!(history.await.unwrap().len() as u64, self.model.version);
    }
}

/// Whether a root holds what a model says.
fn same(model: &Model, root: Value) {
    let at = |path: &str| svit_tree::lookup(&root, &path.parse().unwrap()).cloned();
    assert_eq!(at("/memory/count"), Some(model.count.into()));
    for key in 0..4 {
        let found = at(&format!("/memory/k{key}")).and_then(|n| n.as_int());
        assert_eq!(found, model.memory.get(&key).copied(), "k{key}");
    }
    let entries = |path: &str, below: &str| -> BTreeMap<u64, i64> {
        let map = at(path).unwrap_or(value!({}));
        let entries = map.as_map().unwrap().iter();
        entries
            .map(|(key, value)| {
                let value = if below.is_empty() {
                    value
                } else {
                    value.get(below).unwrap()
                };
                (key.parse().unwrap(), value.as_int().unwrap())
            })
            .collect()
    };
    assert_eq!(entries("/inbox", ""), model.inbox);
    assert_eq!(entries("/thread/dead", "message"), model.dead);
    let outbox = at("/system/outbox").unwrap();
    assert_eq!(outbox.as_map().unwrap().len(), model.sent);
}

struct World {
    store: Arc<FaultyStore>,
    lines: Vec<Line>,
    /// How many writes of the store were planned to go wrong.
    forks: usize,
}

impl World {
    fn new() -> Self {
        let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
        let built = builder("svit://local/line-0")
            .library("fails", script("add /memory/count input;send 1;runtime"))
            .library("send", script("add /memory/count 0;send 1"))
            .library("send-2", script("send 1;send 2"))
            .build()
            .unwrap();
        let process = block_on(DurableProcess::create(store.clone(), built)).unwrap();
        let model = Model {
            count: 6,
            ..Model::default()
        };
        Self {
            store,
            lines: vec![Line::new(process, model)],
            forks: 0,
        }
    }

    async fn step(&mut self, step: Step, which: usize) {
        let count = self.lines.len();
        let line = &mut self.lines[which % count];
        let exec = |name: &str, by: i64| Operation::Exec {
            path: format!("/lib/{name}").parse().unwrap(),
            input: by.into(),
        };
        let path = |key: u8| format!("/memory/k{key}").parse().unwrap();
        let mut after = line.model.clone();
        after.version += 1;
        let nth = |n: usize| line.model.inbox.keys().nth(n).copied();
        let mut key = None;
        let mut events = 0;
        let (operation, fits) = match step {
            Step::Write(key, n) => {
                after.memory.insert(key, n);
                (
                    Operation::Write {
                        path: path(key),
                        value: n.into(),
                    },
                    true,
                )
            }
            Step::Remove(key) => {
                let there = after.memory.remove(&key).is_some();
                (Operation::Remove { path: path(key) }, there)
            }
            Step::Add(by) => {
                after.count += by;
                (exec("counter", by), true)
            }
            Step::FailingAdd(by) => (exec("fails", by), false),
            Step::Send(n) => {
                after.sent += usize::from(n);
                (exec(if n == 1 { "send" } else { "send-2" }, 0), true)
            }
            Step::Enqueue(n) => {
                after.inbox.insert(after.version, n);
                (Operation::Enqueue { message: n.into() }, true)
            }
            Step::Acknowledge(n) => {
                let sequence = nth(n);
                sequence.map(|sequence| after.inbox.remove(&sequence));
                (
                    Operation::Acknowledge {
                        sequence: sequence.unwrap_or(1 << 30),
                    },
                    sequence.is_some(),
                )
            }
            Step::Bury(n) => {
                let sequence = nth(n);
                if let Some(sequence) = sequence {
                    let message = after.inbox.remove(&sequence).unwrap();
                    after.dead.insert(sequence, message);
                }
                let bury = Operation::Bury {
                    sequence: sequence.unwrap_or(1 << 30),
                    reason: "x".into(),
                };
                (bury, sequence.is_some())
            }
            Step::Deliver => {
                let oldest = line.process.intents(None, 1).unwrap().pop();
                assert_eq!(oldest.is_some(), line.model.sent > 0);
                after.sent = after.sent.saturating_sub(1);
                let (id, message) = match &oldest {
                    Some(intent) => (intent.id.as_str().into(), intent.message.digest()),
                    None => ("none".into(), value!(1).digest()),
                };
                (
                    Operation::AcknowledgeIntent { id, message },
                    oldest.is_some(),
                )
            }
            Step::Note(n) => {
                after.version -= 1;
                events = u64::from(n);
                (Operation::Note, true)
            }
            Step::Keyed(name) => {
                if line.model.keyed.contains_key(&name) {
                    after = line.model.clone();
                } else {
                    after.count += 1;
                    after.keyed.insert(name, after.count);
                }
                key = Some(request(&format!("k{name}"), "add 1"));
                (exec("counter", 1), true)
            }
            Step::Fork => return self.fork(which % count).await,
            Step::Resume => return self.resume(which % count).await,
            Step::Fault(fault) => return self.store.at_write(self.store.writes() + 1, fault),
        };
        after.events += events;
        let submission = Submission::plain(operation.clone()).recording(move |result| Extras {
            outcome: match result {
                Ok(Outcome::Activation(activation)) => activation.output.clone(),
                _ => Value::Null,
            },
            events: vec![("noted".into(), value!(null)); events as usize],
        });
        let submission = match key {
            Some(key) => submission.keyed(key),
            None => submission,
        };
        let result = line.process.submit(submission).await;
        let landed = match &result {
            Ok(_) => {
                assert!(fits, "{operation:?} was taken");
                true
            }
            Err(error) if matches!(error.code(), "unavailable" | "unknown") => {
                // Power comes back, and the next operation finds out.
                self.store.restore();
                line.process
                    .submit(Submission::plain(Operation::Note))
                    .await
                    .unwrap();
                let unknown = error.code() == "unknown";
                assert!(!unknown || fits, "{operation:?}");
                unknown
            }
            Err(error) => {
                assert!(!fits, "{operation:?}: {error}");
                false
            }
        };
        if let (Ok(Outcome::Replayed(receipt)), Step::Keyed(name)) = (&result, &step) {
            assert_eq!(receipt.outcome, line.model.keyed[name].into());
        }
        if landed {
            line.model = after;
        }
        line.remember();
        line.check();
    }

    async fn fork(&mut self, which: usize) {
        if self.lines.len() >= 4 {
            return;
        }
        self.forks += 1;
        self.store.restore();
        let line = &self.lines[which];
        let address = format!("svit://local/line-{}", self.forks);
        let process = line.process.fork(address.as_str()).await.unwrap();
        let model = Model {
            version: line.model.version + 1,
            inbox: BTreeMap::new(),
            dead: BTreeMap::new(),
            sent: 0,
            events: 0,
            keyed: BTreeMap::new(),
            ..line.model.clone()
        };
        let past = line.past.clone();
        let mut child = Line::new(process, model);
        child.past.extend(past);
        child.check();
        self.lines[which].check();
        self.lines.push(child);
    }

    async fn resume(&mut self, which: usize) {
        self.store.restore();
        let line = &mut self.lines[which];
        let store: Arc<dyn ProcessStore> = self.store.clone();
        let address = line.process.address().clone();
        line.process = DurableProcess::resume_with(store, address, [Steps::guest()])
            .await
            .unwrap();
        line.check();
    }

    async fn end(&mut self) {
        for which in 0..self.lines.len() {
            self.resume(which).await;
            let line = &self.lines[which];
            line.check_past(3).await;
            let events = line.process.recent_events(usize::MAX).await.unwrap();
            assert_eq!(events.len() as u64, line.model.events);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_random_history_is_what_a_plain_model_says(steps in prop::collection::vec((any_step(), 0..4_usize), 1..80)) {
        block_on(async {
            let mut world = World::new();
            for (step, which) in steps {
                world.step(step, which).await;
            }
            world.end().await;
        });
    }
}

#[test]
fn a_long_history_is_what_a_plain_model_says() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    block_on(async {
        let mut world = World::new();
        for _ in 0..1_500 {
            let step = (any_step(), 0..4_usize)
                .new_tree(&mut runner)
                .unwrap()
                .current();
            world.step(step.0, step.1).await;
        }
        for line in &mut world.lines {
            line.past.retain(|version, _| *version % 97 == 0);
        }
        world.end().await;
    });
}
