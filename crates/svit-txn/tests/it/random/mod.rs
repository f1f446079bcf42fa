//! Long random histories of every operation against a plain model: live, resumed, from every
//! checkpoint, from a snapshot, and at every version that is kept.

mod model;
mod step;

use std::sync::Arc;

use futures_lite::future::block_on;
use proptest::prelude::*;
use svit_testkit::fault::FaultyStore;
use svit_txn::{
    CheckpointPolicy, DurableProcess, Error, EventQuery, Extras, Operation, Outcome, ProcessStore,
    Submission,
};
use svit_value::{Value, value};

use crate::receipts::request;
use crate::steps::{Steps, builder, script};
use crate::tampered::Tampered;
use model::{Line, Model, Thread, check_past, events, oldest};
use step::{Step, any_step};

/// How many processes there are at once.
const LIVE: usize = 5;

struct World {
    below: Arc<Tampered>,
    store: Arc<FaultyStore>,
    lines: Vec<Line>,
    /// With fewer processes, none is deleted.
    least: usize,
}

/// Whether the store was asked in vain, so that the same may be asked again.
fn is_fault(error: &Error) -> bool {
    matches!(error.code(), "unavailable" | "unknown")
}

impl World {
    fn new(least: usize) -> Self {
        let below = Arc::new(Tampered::default());
        let mut world = Self {
            store: Arc::new(FaultyStore::new(below.clone())),
            below,
            lines: Vec::new(),
            least,
        };
        world.create();
        world
    }

    fn shared(&self) -> Arc<dyn ProcessStore> {
        self.store.clone()
    }

    fn create(&mut self) {
        if self.live().len() >= LIVE {
            return;
        }
        let address = format!("svit://local/line-{}", self.lines.len());
        let built = builder(&address)
            .library("fails", script("add /memory/count input;send 1;runtime"))
            .library("send", script("add /memory/count 0;send 1"))
            .library("send-2", script("send 1;send 2"))
            .build()
            .unwrap();
        self.store.restore();
        let process = block_on(DurableProcess::create(self.shared(), built)).unwrap();
        process.set_checkpoint_policy(CheckpointPolicy::NEVER);
        let model = Model {
            count: 6,
            ..Model::default()
        };
        let mut line = Line::new(process, model);
        line.thread.turns_end = Some(0);
        self.lines.push(line);
    }

    /// The numbers of the lines that are not deleted.
    fn live(&self) -> Vec<usize> {
        let live = |which: &usize| self.lines[*which].process.is_some();
        (0..self.lines.len()).filter(live).collect()
    }

    async fn step(&mut self, step: Step, which: usize) {
        let live = self.live();
        let which = live[which % live.len()];
        match step {
            Step::Fork => self.fork(which).await,
            Step::ForkAt(percent) => self.fork_at(which, percent).await,
            Step::Resume => self.resume(which).await,
            Step::Checkpoint => self.checkpoint(which).await,
            Step::Cut(percent) => self.cut(which, percent).await,
            Step::Delete => self.delete(which).await,
            Step::Collect => drop(self.below.inner.collect_garbage().await.unwrap()),
            Step::Trim(percent) => self.trim(which, percent).await,
            Step::Snapshot => self.lines[which].check_snapshot(),
            Step::Look(percent) => self.look(which, percent).await,
            Step::Fault(fault) => self.store.at_write(self.store.writes() + 1, fault),
            step => self.operate(step, which).await,
        }
    }

    async fn operate(&mut self, step: Step, which: usize) {
        let line = &mut self.lines[which];
        let process = line.process.clone().unwrap();
        let exec = |name: &str, by: i64| Operation::Exec {
            path: format!("/lib/{name}").parse().unwrap(),
            input: by.into(),
        };
        let path = |key: u8| format!("/memory/k{key}").parse().unwrap();
        let mut after = line.model.clone();
        after.version += 1;
        let nth = |n: usize| line.model.inbox.keys().nth(n).copied();
        let mut key = None;
        let mut noted = Vec::new();
        let (operation, fits) = match step.clone() {
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
                let oldest = process.intents(None, 1).unwrap().pop();
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
            Step::Note(events) => {
                after.version -= 1;
                noted = events;
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
            other => panic!("{other:?} is no operation"),
        };
        let kinds = noted.iter().map(|ends| match ends {
            true => ("turn.finished".into(), value!(null)),
            false => ("noted".into(), value!(null)),
        });
        let kinds: Vec<_> = kinds.collect();
        let submission = Submission::plain(operation.clone()).recording(move |result| Extras {
            outcome: match result {
                Ok(Outcome::Activation(activation)) => activation.output.clone(),
                _ => Value::Null,
            },
            events: kinds,
        });
        let submission = match key {
            Some(key) => submission.keyed(key),
            None => submission,
        };
        let result = process.submit(submission).await;
        let landed = match &result {
            Ok(_) => {
                assert!(fits, "{operation:?} was taken");
                true
            }
            Err(error) if is_fault(error) => {
                // Power comes back, and the next operation finds out.
                self.store.restore();
                let note = Submission::plain(Operation::Note);
                process.submit(note).await.unwrap();
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
            line.thread.note(&noted);
        }
        line.remember();
        line.check();
    }

    async fn fork(&mut self, which: usize) {
        let shown = events(&self.lines, which);
        let line = &mut self.lines[which];
        let shared = *line.thread.turns_end.get_or_insert_with(|| {
            let mut ends = shown.iter().rev().filter(|(_, ends)| **ends);
            ends.next().map_or(0, |(seq, _)| seq + 1)
        });
        let model = line.model.clone();
        self.child(which, model, shared, None).await;
    }

    async fn fork_at(&mut self, which: usize, percent: u64) {
        let version = self.back(which, percent);
        let owner = self.owner(which, version);
        match self.lines[which].past.get(&version) {
            Some((model, _)) if version >= oldest(&self.lines, which) => {
                let model = model.clone();
                self.child(owner, model, 0, Some((which, version))).await;
            }
            _ => {
                let address = "svit://local/never";
                let refused = self.lines[which].process().fork_at(version, address);
                let refused = refused.await.unwrap_err();
                assert!(matches!(refused.code(), "cut" | "no_version"), "{refused}");
            }
        }
    }

    /// Whose history has a version of a line: its own from its base on.
    fn owner(&self, which: usize, version: u64) -> usize {
        let line = &self.lines[which];
        match line.parent {
            Some(parent) if version < line.base => self.owner(parent, version),
            _ => which,
        }
    }

    /// A version so many percent of the way back; more than all of it is one that never was.
    fn back(&self, which: usize, percent: u64) -> u64 {
        let newest = self.lines[which].model.version;
        if percent > 100 {
            return newest + 1;
        }
        newest - newest * percent / 100
    }

    /// Forks a line where it stands, or through the handle of another one where it stood.
    async fn child(&mut self, parent: usize, model: Model, shared: u64, at: Option<(usize, u64)>) {
        if self.live().len() >= LIVE {
            return;
        }
        let address = format!("svit://local/line-{}", self.lines.len());
        let process = loop {
            let forked = match at {
                None => self.lines[parent].process().fork(address.as_str()).await,
                Some((through, version)) => {
                    let through = self.lines[through].process();
                    through.fork_at(version, address.as_str()).await
                }
            };
            match forked {
                Ok(process) => break process,
                Err(error) if is_fault(&error) => self.store.restore(),
                // It landed, and the store could not say so.
                Err(error) if error.code() == "already_exists" => {
                    let resumed = DurableProcess::resume_with(
                        self.shared(),
                        address.as_str(),
                        [Steps::guest()],
                    );
                    break resumed.await.unwrap();
                }
                Err(error) => panic!("{error}"),
            }
        };
        process.set_checkpoint_policy(CheckpointPolicy::NEVER);
        let base = model.version;
        let past = self.lines[parent].past.range(..=base);
        let past = past.map(|(version, then)| (*version, then.clone()));
        let past: Vec<_> = past.collect();
        let model = Model {
            version: base + 1,
            inbox: Default::default(),
            dead: Default::default(),
            sent: 0,
            keyed: Default::default(),
            ..model
        };
        let known = process.resumed_from().is_none();
        let mut child = Line::new(process, model);
        child.past.extend(past);
        child.base = base;
        child.parent = Some(parent);
        child.thread = Thread {
            next: shared,
            shared: (shared > 0).then_some((parent, shared)),
            turns_end: known.then_some(shared),
            ..Thread::default()
        };
        child.check();
        self.lines[parent].check();
        self.lines.push(child);
    }

    async fn resume(&mut self, which: usize) {
        self.store.restore();
        let store = self.shared();
        let line = &mut self.lines[which];
        let address = line.process().address().clone();
        let process = DurableProcess::resume_with(store, address, [Steps::guest()]);
        let process = process.await.unwrap();
        process.set_checkpoint_policy(CheckpointPolicy::NEVER);
        assert!(process.resumed_from().unwrap().fallbacks.is_empty());
        line.process = Some(process);
        line.thread.turns_end = None;
        line.check();
    }

    async fn checkpoint(&mut self, which: usize) {
        loop {
            let line = &self.lines[which];
            match line.process().checkpoint().await {
                Ok(made) => {
                    assert_eq!(made.version, line.model.version);
                    assert_eq!(made.root, line.process().root_digest());
                    return;
                }
                Err(error) => assert!(is_fault(&error), "{error}"),
            }
            self.store.restore();
        }
    }

    async fn cut(&mut self, which: usize, percent: u64) {
        let at = self.back(which, percent);
        loop {
            let line = &mut self.lines[which];
            let is_fork = line.parent.is_some();
            match line.process().cut(at).await {
                Ok(()) => {
                    assert!(at <= line.model.version && (is_fork || at >= line.base));
                    if at > line.base || (at == line.base && is_fork) {
                        line.base = at;
                        line.parent = None;
                    }
                    break;
                }
                Err(Error::NoVersion { newest, .. }) => {
                    assert!(at > newest && newest == line.model.version);
                    break;
                }
                Err(Error::Cut { oldest, .. }) => {
                    assert!(!is_fork && oldest == line.base && at < oldest);
                    break;
                }
                Err(error) => assert!(is_fault(&error), "{error}"),
            }
            self.store.restore();
        }
        self.lines[which].check();
        let kept = self.lines[which].process().oldest_version().await;
        assert_eq!(kept.unwrap(), oldest(&self.lines, which));
    }

    async fn delete(&mut self, which: usize) {
        if self.live().len() < self.least {
            return self.create();
        }
        loop {
            let process = self.lines[which].process();
            match process.delete().await {
                Ok(()) => break,
                Err(error) if error.code() == "not_found" => break,
                Err(error) => assert!(is_fault(&error), "{error}"),
            }
            self.store.restore();
        }
        let process = self.lines[which].process.take().unwrap();
        crate::keeping::not_found(process.read("/memory"));
        let gone = self.lines[which].thread.clone();
        for line in &mut self.lines {
            let Some((_, end)) = line.thread.shared.filter(|(parent, _)| *parent == which) else {
                continue;
            };
            if line.thread.first() == end {
                let shared = gone.own.range(..end);
                let shared: Vec<_> = shared.map(|(seq, ends)| (*seq, *ends)).collect();
                line.thread.own.extend(shared);
            }
            let above = gone.shared.map(|(above, its)| (above, its.min(end)));
            line.thread.shared = above;
        }
    }

    async fn trim(&mut self, which: usize, percent: u64) {
        let before = self.lines[which].thread.next * percent / 100;
        loop {
            match self.lines[which].process().trim_events(before).await {
                Ok(()) => break,
                Err(error) => assert!(is_fault(&error), "{error}"),
            }
            self.store.restore();
        }
        self.lines[which].thread.trim(before);
        self.check_events(which).await;
    }

    async fn check_events(&self, which: usize) {
        let wanted: Vec<u64> = events(&self.lines, which).into_keys().collect();
        for newest_first in [false, true] {
            let query = EventQuery {
                from: if newest_first { u64::MAX } else { 0 },
                limit: usize::MAX,
                newest_first,
            };
            let found = self.lines[which].process().events(query).await.unwrap();
            let mut found: Vec<u64> = found.iter().map(|event| event.seq).collect();
            if newest_first {
                found.reverse();
            }
            assert_eq!(found, wanted, "line {which}");
        }
    }

    async fn look(&mut self, which: usize, percent: u64) {
        let (version, line) = (self.back(which, percent), &self.lines[which]);
        let read = line.process().read_at(version, "/").await;
        match line.past.get(&version) {
            Some((_, root)) if version >= oldest(&self.lines, which) => {
                assert_eq!(read.unwrap().unwrap().digest(), *root);
            }
            Some(_) => assert_eq!(read.unwrap_err().code(), "cut"),
            None => {
                let code = read.map(drop).map_err(|error| error.code().to_owned());
                assert!(version > line.model.version || code.is_ok(), "{code:?}");
            }
        }
        self.check_events(which).await;
    }

    async fn end(&mut self, every: u64) {
        self.store.restore();
        self.below.inner.collect_garbage().await.unwrap();
        for which in self.live() {
            self.without_checkpoints(which).await;
            self.resume(which).await;
            check_past(&self.lines, which, every).await;
            self.check_events(which).await;
            self.lines[which].check_snapshot();
        }
    }

    /// Resumes with the newest, the two newest, all of the checkpoints hidden.
    async fn without_checkpoints(&mut self, which: usize) {
        let line = &self.lines[which];
        let (address, root) = (
            line.process().address().clone(),
            line.process().root_digest(),
        );
        let known = self.below.inner.checkpoints(&address, u64::MAX, usize::MAX);
        let known = known.await.unwrap();
        let own_base = line.parent.is_some() && known.iter().any(|it| it.version == line.base);
        // A fork that was freed of its parent has no other base.
        let hideable = known.len() - usize::from(own_base);
        for hidden in 0..=hideable {
            let limit = hidden.checked_sub(1).map(|hidden| known[hidden].version);
            let of = address.clone();
            self.below.checkpoints(move |address, all| {
                if *address == of {
                    all.retain(|it| limit.is_none_or(|limit| it.version < limit));
                }
            });
            let resumed =
                DurableProcess::resume_with(self.shared(), address.clone(), [Steps::guest()]);
            let resumed = resumed.await.unwrap();
            assert_eq!(resumed.root_digest(), root, "without {hidden}");
        }
        self.below.honest();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_random_history_is_what_a_plain_model_says(steps in prop::collection::vec((any_step(1), 0..LIVE), 1..120)) {
        block_on(async {
            let mut world = World::new(2);
            for (step, which) in steps {
                world.step(step, which).await;
            }
            world.end(1).await;
        });
    }
}

#[test]
fn a_long_history_is_what_a_plain_model_says() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    block_on(async {
        let mut world = World::new(LIVE);
        for _ in 0..6_000 {
            let step = (any_step(8), 0..LIVE)
                .new_tree(&mut runner)
                .unwrap()
                .current();
            world.step(step.0, step.1).await;
        }
        world.end(7).await;
    });
}
