//! What a plain model says of a process: what it holds, what it held, and what is kept of that.

use std::collections::BTreeMap;

use svit_txn::{DurableProcess, Error, HistoryQuery, Process};
use svit_value::{Digest, Value, value};

/// What a process should hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Model {
    pub(super) version: u64,
    pub(super) count: i64,
    pub(super) memory: BTreeMap<u8, i64>,
    pub(super) inbox: BTreeMap<u64, i64>,
    pub(super) dead: BTreeMap<u64, i64>,
    pub(super) sent: usize,
    pub(super) keyed: BTreeMap<u8, i64>,
}

/// The thread of a process: which events it has under its own address.
#[derive(Clone, Debug, Default)]
pub(super) struct Thread {
    /// Their numbers, with whether they end a turn.
    pub(super) own: BTreeMap<u64, bool>,
    pub(super) next: u64,
    /// Whose events it shares, and the number of the first that it does not.
    pub(super) shared: Option<(usize, u64)>,
    /// The number behind the last that ended a turn, if the handle knows it.
    pub(super) turns_end: Option<u64>,
}

impl Thread {
    pub(super) fn first(&self) -> u64 {
        self.own.keys().next().copied().unwrap_or(self.next)
    }

    pub(super) fn note(&mut self, events: &[bool]) {
        for ends in events {
            self.own.insert(self.next, *ends);
            self.next += 1;
            if *ends {
                self.turns_end = Some(self.next);
            }
        }
    }

    pub(super) fn trim(&mut self, before: u64) {
        self.own.retain(|seq, _| *seq >= before);
    }
}

/// A process with what is known of it. Lines are never taken away, so that their numbers stay.
pub(super) struct Line {
    /// None once it has been deleted.
    pub(super) process: Option<DurableProcess>,
    pub(super) model: Model,
    pub(super) thread: Thread,
    /// Where its own history starts.
    pub(super) base: u64,
    /// Who has what is before the base.
    pub(super) parent: Option<usize>,
    /// What each version held, and its root.
    pub(super) past: BTreeMap<u64, (Model, Digest)>,
}

impl Line {
    pub(super) fn new(process: DurableProcess, model: Model) -> Self {
        let mut line = Self {
            base: model.version,
            process: Some(process),
            model,
            thread: Thread::default(),
            parent: None,
            past: BTreeMap::new(),
        };
        line.remember();
        line
    }

    pub(super) fn process(&self) -> &DurableProcess {
        self.process.as_ref().unwrap()
    }

    pub(super) fn remember(&mut self) {
        let now = (self.model.clone(), self.process().root_digest());
        self.past.insert(self.model.version, now);
    }

    pub(super) fn check(&self) {
        let process = self.process();
        assert_eq!(process.version(), self.model.version);
        assert_eq!(process.base().version, self.base);
        same(&self.model, process.read("/").unwrap().unwrap());
    }

    /// A snapshot, restored, is the same state.
    pub(super) fn check_snapshot(&self) {
        let process = self.process();
        let snapshot = process.snapshot();
        let restored = Process::restore(snapshot.as_bytes()).unwrap();
        assert_eq!(restored.root_digest(), process.root_digest());
        assert_eq!(restored.version(), process.version());
    }
}

/// The oldest version of a line that is kept.
pub(super) fn oldest(lines: &[Line], which: usize) -> u64 {
    let line = &lines[which];
    match line.parent {
        Some(parent) if lines[parent].process.is_some() && lines[parent].base <= line.base => {
            oldest(lines, parent)
        }
        _ => line.base,
    }
}

/// The numbers of the events that a line shows, with whether they end a turn.
pub(super) fn events(lines: &[Line], which: usize) -> BTreeMap<u64, bool> {
    let thread = &lines[which].thread;
    let mut all = match thread.shared {
        Some((parent, end)) if thread.first() == end => {
            let mut shared = events(lines, parent);
            shared.retain(|seq, _| *seq < end);
            shared
        }
        _ => BTreeMap::new(),
    };
    all.extend(thread.own.clone());
    all
}

/// Every version that is kept, or one in so many, is what was live then; the others are cut.
pub(super) async fn check_past(lines: &[Line], which: usize, every: u64) {
    let line = &lines[which];
    let (process, oldest) = (line.process(), oldest(lines, which));
    assert_eq!(process.oldest_version().await.unwrap(), oldest);
    for (version, (model, root)) in &line.past {
        if version % every != 0 && *version != oldest {
            continue;
        }
        match process.read_at(*version, "/").await {
            Ok(whole) => {
                assert!(*version >= oldest, "version {version} is not forgotten");
                let whole = whole.unwrap();
                assert_eq!(whole.digest(), *root, "version {version}");
                same(model, whole);
            }
            Err(Error::Cut { oldest: kept, .. }) => {
                assert!(
                    *version < oldest && kept == oldest,
                    "{version} {kept} {oldest}"
                );
            }
            Err(error) => panic!("version {version}: {error}"),
        }
    }
    let all = HistoryQuery {
        limit: usize::MAX,
        ..HistoryQuery::default()
    };
    let history = process.history(all).await.unwrap();
    let versions = history.iter().map(|entry| entry.transaction.version);
    assert!(versions.eq(oldest + 1..=line.model.version));
    for entry in &history {
        if let Some((_, root)) = line.past.get(&entry.transaction.version) {
            assert_eq!(entry.transaction.root, *root);
        }
    }
    for path in [
        "/memory/k1",
        "/memory/k2/below",
        "/memory",
        "/inbox",
        "/lib",
    ] {
        let path: svit_tree::Path = path.parse().unwrap();
        let of_it = HistoryQuery {
            path: Some(path.clone()),
            limit: usize::MAX,
            ..HistoryQuery::default()
        };
        let found = process.history(of_it).await.unwrap();
        let wanted = history.iter().filter(|entry| {
            let mut edits = entry.transaction.mutations.iter();
            edits.any(|edit| edit.path.starts_with(&path) || path.starts_with(&edit.path))
        });
        assert!(found.iter().eq(wanted), "{path}");
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
