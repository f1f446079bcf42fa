//! Models and providers that do not behave.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use svit::{
    BoxFuture, Limits, LoopError, Message, ModelError, ModelEvent, ModelLimits, ModelRequest,
    ModelStream, Process, Provider, Reasoner, Scripted, ScriptedReply, Svit, Value, value,
};
use tokio::time::timeout;

use super::{Place, counting, soon, started};

/// What it does instead of answering.
#[derive(Clone, Copy, Debug)]
enum Bad {
    Never,
    NeverInTheStream,
    PanicAtOnce,
    PanicInTheFuture,
    PanicInTheStream,
    EmptyStream,
}

struct BadProvider {
    how: Bad,
    /// How many calls are alive: dropping the future or the stream ends one.
    alive: Arc<AtomicUsize>,
}

struct Alive(Arc<AtomicUsize>);

impl Alive {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count.clone())
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Provider for BadProvider {
    fn respond(&self, _: ModelRequest) -> BoxFuture<'_, Result<ModelStream, ModelError>> {
        let alive = Alive::new(&self.alive);
        let how = self.how;
        assert!(!matches!(how, Bad::PanicAtOnce), "on purpose");
        Box::pin(async move {
            match how {
                Bad::Never => std::future::pending().await,
                Bad::PanicInTheFuture => panic!("on purpose"),
                _ => Ok(Box::pin(BadStream {
                    how,
                    _alive: alive,
                    step: 0,
                }) as ModelStream),
            }
        })
    }

    fn limits(&self, _: &str) -> ModelLimits {
        ModelLimits::new(1_000)
    }
}

struct BadStream {
    how: Bad,
    _alive: Alive,
    step: usize,
}

impl futures_util::Stream for BadStream {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        use std::task::Poll;
        self.step += 1;
        match (self.how, self.step) {
            (Bad::EmptyStream, _) => Poll::Ready(None),
            (_, 1) => Poll::Ready(Some(Ok(ModelEvent::TextDelta("half".to_owned())))),
            (Bad::PanicInTheStream, _) => panic!("on purpose"),
            _ => Poll::Pending,
        }
    }
}

fn bad(how: Bad) -> (Reasoner, Arc<AtomicUsize>) {
    let alive = Arc::new(AtomicUsize::new(0));
    let provider = BadProvider {
        how,
        alive: alive.clone(),
    };
    (Reasoner::new("bad", provider), alive)
}

async fn until(what: impl Fn() -> bool) {
    for _ in 0..500 {
        if what() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it did not happen within 5 s");
}

#[tokio::test]
async fn a_provider_that_never_answers_can_be_cancelled() {
    for how in [Bad::Never, Bad::NeverInTheStream] {
        let (reasoner, alive) = bad(how);
        let mut svit = started("svit://local/never", reasoner).await;
        let (inbox, mut outbox) = (svit.inbox(), svit.outbox());
        for _ in 0..2 {
            let id = inbox.send(Message::user("Are you there?")).await.unwrap();
            until(|| alive.load(Ordering::SeqCst) == 1).await;
            svit.cancel_turn();
            match soon(outbox.recv()).await {
                Err(LoopError::TurnFailed { message, code, .. }) => {
                    assert_eq!((message, code.as_str()), (id, "cancelled"));
                }
                other => panic!("{how:?}: {other:?}"),
            }
            until(|| alive.load(Ordering::SeqCst) == 0).await;
        }
        drop(inbox);
        soon(svit.block()).await.unwrap();
    }
}

#[tokio::test]
async fn a_stop_that_waits_for_a_silent_provider_can_be_given_up_and_asked_again() {
    let (reasoner, alive) = bad(Bad::Never);
    let mut svit = started("svit://local/stop", reasoner).await;
    let inbox = svit.inbox();
    inbox.send(Message::user("One.")).await.unwrap();
    inbox.send(Message::user("Two.")).await.unwrap();
    until(|| alive.load(Ordering::SeqCst) == 1).await;
    let short = Duration::from_millis(50);
    assert!(timeout(short, svit.stop()).await.is_err());
    assert_eq!(
        super::code(inbox.send(Message::user("Three.")).await),
        "closed"
    );
    // Each message is given up by itself.
    svit.cancel_turn();
    assert!(timeout(short, svit.stop()).await.is_err());
    svit.cancel_turn();
    timeout(Duration::from_secs(5), svit.stop())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(alive.load(Ordering::SeqCst), 0);
    assert_eq!(svit.discover("/thread/dead").unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_it_ends_the_call_and_frees_the_store() {
    let place = Place::new();
    let (reasoner, alive) = bad(Bad::NeverInTheStream);
    {
        let store = place.open().await.unwrap();
        let process = store
            .create(super::process("svit://local/gone"))
            .await
            .unwrap();
        let svit = Svit::persisted(process).unwrap().reasoner(reasoner);
        let svit = svit.build().await.unwrap();
        svit.start().unwrap();
        svit.inbox().send(Message::user("Hello?")).await.unwrap();
        until(|| alive.load(Ordering::SeqCst) == 1).await;
    }
    until(|| alive.load(Ordering::SeqCst) == 0).await;
    // The task that was aborted lets go of the store soon.
    let mut opened = place.open().await;
    for _ in 0..100 {
        if opened.is_ok() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
        opened = place.open().await;
    }
    let store = opened.unwrap();
    let process = store.resume("svit://local/gone").await.unwrap();
    let mut svit = Svit::persisted(process)
        .unwrap()
        .reasoner(counting())
        .build()
        .await
        .unwrap();
    let mut outbox = svit.outbox_from(0);
    svit.start().unwrap();
    soon(svit.block()).await.unwrap();
    assert_eq!(soon(outbox.recv()).await.unwrap().text(), Some("answer 1"));
}

#[tokio::test]
async fn a_provider_that_panics_stops_the_loop_and_nothing_else() {
    for how in [
        Bad::PanicAtOnce,
        Bad::PanicInTheFuture,
        Bad::PanicInTheStream,
    ] {
        let (reasoner, alive) = bad(how);
        let mut svit = started("svit://local/panics", reasoner).await;
        let (inbox, mut outbox, mut events) = (svit.inbox(), svit.outbox(), svit.events());
        inbox.send(Message::user("Boo.")).await.unwrap();
        match soon(outbox.recv()).await {
            Err(LoopError::Stopped { code, reason }) => {
                assert_eq!(code, "ended", "{how:?}");
                assert!(reason.contains("panicked"), "{reason}");
            }
            other => panic!("{how:?}: {other:?}"),
        }
        assert_eq!(super::code(soon(svit.block()).await), "stopped", "{how:?}");
        assert_eq!(alive.load(Ordering::SeqCst), 0, "{how:?}");
        while !matches!(
            soon(events.recv()).await.unwrap(),
            svit::SvitEvent::Failed { .. }
        ) {}

        // The process is as it was, and another loop answers the message.
        let mut second = Svit::persisted(svit.process().clone())
            .unwrap()
            .reasoner(counting())
            .build()
            .await
            .unwrap();
        let mut answers = second.outbox();
        second.start().unwrap();
        assert_eq!(soon(answers.recv()).await.unwrap().text(), Some("answer 1"));
        soon(second.stop()).await.unwrap();
    }
}

#[tokio::test]
async fn a_stream_that_ends_at_once_is_no_answer() {
    let (reasoner, _) = bad(Bad::EmptyStream);
    let process = Process::builder("svit://local/empty").unwrap();
    let process = process.limits(Limits {
        max_turn_attempts: 1,
        ..Limits::default()
    });
    let store = Arc::new(svit::MemoryStore::new());
    let process = svit::DurableProcess::create(store, process.build().unwrap())
        .await
        .unwrap();
    let svit = Svit::persisted(process)
        .unwrap()
        .reasoner(reasoner)
        .build()
        .await
        .unwrap();
    svit.start().unwrap();
    let error = svit.inbox().ask(Message::user("Well?")).await.unwrap_err();
    assert_eq!(error.code(), "turn_failed");
}

/// A model that answers with the same call, whatever it is told.
fn relentless(name: &'static str, arguments: Value) -> Reasoner {
    let model = Scripted::from_fn(move |_| ScriptedReply::call(name, arguments.clone()));
    Reasoner::new("relentless", model)
}

#[tokio::test]
async fn a_model_that_calls_tools_forever_is_ended_by_the_budget() {
    let arguments = value!({"path": "/memory/x", "value": 1});
    for (name, arguments) in [
        ("write", arguments),
        ("nonsense", value!({})),
        ("read", value!([1])),
    ] {
        let svit = started("svit://local/forever", relentless(name, arguments)).await;
        match svit.inbox().ask(Message::user("Go.")).await {
            Err(LoopError::TurnFailed { code, attempts, .. }) => {
                assert_eq!((code.as_str(), attempts), ("max_turn_steps", 1));
            }
            other => panic!("{name}: {other:?}"),
        }
        // It answers the next message from a clean budget.
        let error = svit.inbox().ask(Message::user("Again.")).await.unwrap_err();
        assert_eq!(error.code(), "turn_failed");
        assert_eq!(svit.discover("/thread/dead").unwrap().len(), 2);
        assert!(svit.discover("/inbox").unwrap().is_empty());
    }
}

#[tokio::test]
async fn a_model_cannot_call_its_way_into_the_host() {
    let attempts = [
        (
            "write",
            value!({"path": "/system/limits/max_ticks", "value": 1_000_000}),
        ),
        (
            "write",
            value!({"path": "/inbox/0000000000000009", "value": "x"}),
        ),
        ("write", value!({"path": "/thread/dead/1", "value": "x"})),
        ("remove", value!({"path": "/memory"})),
        ("remove", value!({"path": "/"})),
        ("write", value!({"path": "/memory/../system/x", "value": 1})),
        ("exec", value!({"path": "/memory/count"})),
        (
            "exec",
            value!({"source": "(define (main x) (port-call \"http\" x))"}),
        ),
        (
            "exec",
            value!({"source": "(define (main x) (exec \"/lib/none\" x))"}),
        ),
        (
            "exec",
            value!({"source": "(define (main x) (spin x)) (define (spin x) (spin x))"}),
        ),
        ("exec", value!({"source": ("(".repeat(400_000))})),
        ("read", value!({"path": ("/a".repeat(400_000))})),
        ("write", value!({"path": "/memory/x"})),
        ("write", value!({"path": 7, "value": 1})),
    ];
    let count = attempts.len();
    let replies = attempts.map(|(name, arguments)| ScriptedReply::call(name, arguments));
    let model = Scripted::new(
        replies
            .into_iter()
            .chain([ScriptedReply::text("I give up.")]),
    )
    // Room for the long ones: here they are to be refused as calls, not forgotten as conversation.
    .context_tokens(10_000_000);
    let svit = started("svit://local/burglar", Reasoner::new("burglar", model)).await;
    let before = svit.read("/system").unwrap();
    let answer = svit.inbox().ask(Message::user("Break in.")).await.unwrap();
    assert_eq!(answer.text(), Some("I give up."));
    let events = svit.recent_events(1_000).await.unwrap();
    let finished = events
        .iter()
        .filter(|event| &*event.kind == "tool.finished");
    let refused = finished
        .filter(|event| event.body.get("is_error").and_then(Value::as_bool) == Some(true))
        .count();
    assert_eq!(refused, count);
    assert_eq!(svit.read("/system").unwrap(), before);
    // The message in, the message out.
    assert_eq!(svit.process().version(), 2);
}
