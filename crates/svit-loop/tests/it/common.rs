//! What the tests share: a story whose end is known, and a way to compare ends.

use std::sync::Arc;

use svit_loop::{LoopError, Svit};
use svit_model::{
    Message, ModelError, ModelRequest, Provider, Reasoner, Role, Scripted, ScriptedReply,
};
use svit_tree::Source;
use svit_txn::{
    DurableProcess, EventQuery, HistoryQuery, MemoryStore, Process, ProcessStore, ThreadEvent,
};
use svit_value::{Digest, Map, Value, value};

pub(crate) const ADDRESS: &str = "svit://local/story";

const ADD: &str = "(define (main input) (let ((n (+ (read \"/memory/count\") (value-get input \"/by\")))) \
     (do (write \"/memory/count\" n) (send! n) n)))";

/// A process with a counter.
pub(crate) async fn create(store: Arc<dyn ProcessStore>) -> DurableProcess {
    let process = Process::builder(ADDRESS)
        .unwrap()
        .memory("count", 0)
        .memory("facts", value!({}))
        .build()
        .unwrap();
    DurableProcess::create(store, process).await.unwrap()
}

pub(crate) async fn resume(
    store: Arc<dyn ProcessStore>,
) -> Result<DurableProcess, svit_txn::Error> {
    DurableProcess::resume(store, ADDRESS).await
}

/// How many messages of a user, and how many answers since the newest of them, a request holds.
pub(crate) fn place(request: &ModelRequest) -> (usize, usize) {
    let role = |role: Role| move |m: &&Message| m.role == role;
    let asked = request.messages.iter().filter(role(Role::User)).count();
    let newest = request.messages.iter().rposition(|m| m.role == Role::User);
    let since = &request.messages[newest.unwrap_or(0)..];
    (asked, since.iter().filter(role(Role::Assistant)).count())
}

/// A model that does everything a model does: several calls at once that read, write, run and fail;
/// a script of its own; a call that cannot be run; one-off source; and then an answer.
pub(crate) fn story() -> Scripted {
    Scripted::from_fn(|request| match place(request) {
        (1, 0) => ScriptedReply::call(
            "write",
            value!({"path": "/lib/add", "value": {"source": ADD}}),
        )
        .and_call("read", value!({"path": "/memory/count"}))
        .and_call("exec", value!({"path": "/lib/add", "input": {"by": 2}}))
        .and_call("fly", value!({}))
        .and_call(
            "write",
            value!({"path": "/memory/facts/color", "value": "teal"}),
        ),
        (1, 1) => ScriptedReply::text("Once more.")
            .and_call("exec", value!({"path": "/lib/add", "input": {"by": 5}}))
            .and_call(
                "exec",
                value!({"path": "/lib/add", "input": {"by": "five"}}),
            ),
        (1, 2) => ScriptedReply::text("It is seven."),
        (2, 0) => ScriptedReply::call("remove", value!({"path": "/memory/facts/color"})),
        (2, 1) => ScriptedReply::call(
            "exec",
            value!({"source": "(define (main input) (exec \"/lib/add\" (value-map \"by\" 10)))"}),
        ),
        (2, 2) => ScriptedReply::text("Gone."),
        // One that cannot be answered, and one after it.
        (3, 0) => ScriptedReply::call("write", value!({"path": "/memory/facts/half", "value": 1})),
        (3, 1) => ScriptedReply::error(ModelError::Refused {
            detail: "never".to_owned(),
        }),
        (4, 0) => ScriptedReply::text("Still here."),
        other => panic!("asked at {other:?}"),
    })
}

pub(crate) fn reasoner(provider: impl Provider + 'static) -> Reasoner {
    Reasoner::new("scripted", provider)
}

pub(crate) async fn svit(
    process: DurableProcess,
    provider: impl Provider + 'static,
) -> Result<Svit, LoopError> {
    Svit::persisted(process)?
        .reasoner(reasoner(provider))
        // A paused clock jumps ahead while a guest runs on its own thread.
        .max_turn_wall(std::time::Duration::MAX)
        .build()
        .await
}

/// A new process in memory with a model, started.
pub(crate) async fn started(provider: impl Provider + 'static) -> Svit {
    let process = create(Arc::new(MemoryStore::new())).await;
    let svit = svit(process, provider).await.unwrap();
    svit.start().unwrap();
    svit
}

/// Where a story has ended, in all that must not depend on how often it was interrupted.
#[derive(Debug, PartialEq)]
pub(crate) struct End {
    pub(crate) version: u64,
    pub(crate) root: Digest,
    pub(crate) answers: Vec<String>,
    pub(crate) events: Vec<String>,
}

impl End {
    /// As `assert_eq`, but it shows only what differs.
    pub(crate) fn assert_is(&self, expected: &Self, when: &str) {
        let events = self.events.iter().zip(&expected.events);
        if let Some((found, expected)) = events.into_iter().find(|(a, b)| a != b) {
            panic!("{when}: found {found}\nexpected {expected}");
        }
        assert_eq!(self.events.len(), expected.events.len(), "{when}");
        assert_eq!(self.answers, expected.answers, "{when}");
        assert_eq!(self.version, expected.version, "{when}");
        assert_eq!(self.root, expected.root, "{when}");
    }
}

/// Checks what must hold at any moment, in the middle of a story too: what belongs together landed
/// together.
pub(crate) async fn assert_whole(process: &DurableProcess, when: &str) {
    let query = EventQuery {
        from: 0,
        limit: 10_000,
        newest_first: false,
    };
    let events = process.events(query).await.unwrap();
    let inbox = process.discover("/inbox").unwrap();
    let waits = |turn: i64| inbox.iter().any(|key| key.parse() == Ok(turn));
    let mut open = None;
    let mut committed = Vec::new();
    for event in &events {
        let turn = event.body.get("turn").and_then(Value::as_int);
        match &*event.kind {
            "turn.started" => open = turn,
            "turn.finished" => open = open.filter(|open| Some(*open) != turn),
            "turn.failed" if event.body.get("final") == Some(&true.into()) => {
                open = open.filter(|open| Some(*open) != turn);
                let dead = process.discover("/thread/dead").unwrap();
                let is_dead = dead.iter().any(|key| key.parse() == Ok(turn.unwrap()));
                assert!(
                    is_dead && !waits(turn.unwrap()),
                    "{when}: {dead:?} {inbox:?}"
                );
            }
            "tool.finished" => {
                let effect = event.body.get("effect").and_then(|e| e.get("version"));
                committed.extend(effect.and_then(Value::as_int));
            }
            _ => {}
        }
        if &*event.kind == "turn.finished" {
            assert!(!waits(turn.unwrap()), "{when}: a finished turn waits");
        }
    }
    if let Some(turn) = open {
        assert!(waits(turn), "{when}: an open turn has left the inbox");
    }
    let history = process.history(HistoryQuery::default()).await.unwrap();
    let by_tools = history
        .iter()
        .filter(|entry| matches!(entry.transaction.source, Source::Host | Source::Activation))
        .map(|entry| i64::try_from(entry.transaction.version).unwrap());
    assert_eq!(committed, by_tools.collect::<Vec<_>>(), "{when}");
}

pub(crate) async fn end_of(process: &DurableProcess) -> End {
    let query = EventQuery {
        from: 0,
        limit: 10_000,
        newest_first: false,
    };
    let events = process.events(query).await.unwrap();
    End {
        version: process.version(),
        root: process.root_digest(),
        answers: answers(process).await,
        events: events
            .iter()
            .filter_map(|event| told(event, &events))
            .collect(),
    }
}

/// Every answer of a thread, with what it answers.
pub(crate) async fn answers(process: &DurableProcess) -> Vec<String> {
    let svit = Svit::persisted(process.clone())
        .unwrap()
        .build()
        .await
        .unwrap();
    let mut outbox = svit.outbox_from(0);
    // Nothing works on it, so that there is an end.
    drop(svit);
    let mut answers = Vec::new();
    loop {
        answers.push(match outbox.recv().await {
            Ok(message) => format!("{}: {:?}", message.in_reply_to().unwrap(), message.text()),
            Err(error @ LoopError::TurnFailed { .. }) => error.to_string(),
            Err(LoopError::Closed) => return answers,
            Err(error) => panic!("{error}"),
        });
    }
}

/// An event without what a restart may add: repeats, and the numbers that they shift.
fn told(event: &ThreadEvent, all: &[ThreadEvent]) -> Option<String> {
    if matches!(&*event.kind, "session.started" | "model.requested") {
        return None;
    }
    let mut body = event.body.as_map().unwrap().clone();
    for field in ["answer", "before", "keep_from"] {
        if let Some(number) = body.get(field).and_then(Value::as_int) {
            let of = &all[usize::try_from(number).unwrap()];
            body.insert(field, value!([of.kind.clone(), of.body.clone()]))
                .unwrap();
        }
    }
    let body: Value = Map::into(body);
    Some(format!("{} {}", event.kind, body.to_json().unwrap()))
}
