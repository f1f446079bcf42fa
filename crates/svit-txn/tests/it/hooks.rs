//! Hooks: asked once before an activation, told once of each commit, and never in the way.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread;

use futures_lite::future::{self, block_on};
use svit_testkit::fault::{Fault, FaultyStore};
use svit_tree::Change;
use svit_txn::control::{Command, Controller, Request, ResponseOutcome};
use svit_txn::{
    Attachments, DurableProcess, Error, Hook, MemoryStore, Operation, Outcome, Process,
    ProcessStore, Proposed, ProposedCode, Refusal, Submission,
};
use svit_value::{Value, value};

use crate::receipts::request;
use crate::steps::{Steps, builder, resume, script, seen, seen_in_memory, store};

const ADDRESS: &str = "svit://local/hooked";

/// Notes what it is asked and told; the input `refuse` is refused, and at `panic` it panics.
#[derive(Default)]
struct Spy {
    asked: Mutex<Vec<String>>,
    told: Mutex<Vec<u64>>,
    lets_all_pass: AtomicBool,
    panics_when_told: AtomicBool,
}

impl Spy {
    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    fn told(&self) -> Vec<u64> {
        std::mem::take(&mut self.told.lock().unwrap())
    }
}

impl Hook for Spy {
    fn name(&self) -> &str {
        "spy"
    }

    fn before(&self, proposed: &Proposed<'_>) -> Result<(), Refusal> {
        let code = match proposed.code {
            ProposedCode::Library(path) => path.to_string(),
            ProposedCode::Given(source) => format!("`{source}`"),
            _ => "something".to_owned(),
        };
        let (address, version, input) = (proposed.address, proposed.version, proposed.input);
        let note = format!("{address} {version} {code} {input}");
        self.asked.lock().unwrap().push(note);
        match input.as_str() {
            _ if self.lets_all_pass.load(Ordering::SeqCst) => Ok(()),
            Some("refuse") => Err(Refusal::new("not_today", "come back tomorrow")),
            Some("panic") => panic!("a hook panics before, as the test wants"),
            _ => Ok(()),
        }
    }

    fn committed(&self, change: &Change) {
        self.told.lock().unwrap().push(change.version);
        if self.panics_when_told.load(Ordering::SeqCst) {
            panic!("a hook panics afterwards, as the test wants");
        }
    }
}

/// A process with a spy.
fn process() -> (Process, Arc<Spy>) {
    let spy = Arc::new(Spy::default());
    let process = builder(ADDRESS)
        .library("outer", script("exec counter;exec counter"))
        .library("send", script("send 1"))
        .hook(spy.clone())
        .build();
    (process.unwrap(), spy)
}

async fn durable() -> (DurableProcess, Arc<Spy>, Arc<MemoryStore>) {
    let (memory, store) = store();
    let (process, spy) = process();
    let durable = DurableProcess::create(store, process).await.unwrap();
    (durable, spy, memory)
}

fn exec(script: &str, input: impl Into<Value>) -> Operation {
    Operation::Exec {
        path: script.parse().unwrap(),
        input: input.into(),
    }
}

fn plain(operation: Operation) -> Submission<'static> {
    Submission::plain(operation)
}

#[test]
fn a_refusal_is_typed_and_leaves_everything_as_it_was() {
    block_on(async {
        let (durable, spy, memory) = durable().await;
        let (plain, other_spy) = process();
        durable.exec("/lib/send", 1).await.unwrap();
        plain.exec("/lib/send", 1).unwrap();
        for (input, code, message) in [
            ("refuse", "not_today", "come back tomorrow"),
            (
                "panic",
                "hook_panicked",
                "the hook failed before it could answer",
            ),
        ] {
            let (was, head) = (
                seen(&durable),
                memory.load(durable.address()).await.unwrap(),
            );
            let was_plain = seen_in_memory(&plain);
            let refusals = [
                durable.exec("/lib/counter", input).await.unwrap_err(),
                plain.exec("/lib/counter", input).unwrap_err(),
            ];
            for refused in refusals {
                assert_eq!(refused.code(), code);
                assert_eq!(refused.to_string(), format!("refused by spy: {message}"));
                assert!(matches!(refused, Error::Refused { hook, .. } if hook == "spy"));
            }
            assert_eq!(seen(&durable), was);
            assert_eq!(memory.load(durable.address()).await.unwrap(), head);
            assert_eq!(seen_in_memory(&plain), was_plain);
        }
        assert_eq!((spy.told(), other_spy.told()), (vec![1], vec![1]));
        assert_eq!(durable.exec("/lib/counter", 1).await.unwrap().version, 2);
        assert_eq!(plain.exec("/lib/counter", 1).unwrap().version, 2);
    });
}

#[test]
fn a_hook_sees_what_is_proposed_once_and_before_it_is_looked_at() {
    block_on(async {
        let (durable, spy, _) = durable().await;
        durable.exec("/lib/outer", "in").await.unwrap();
        durable.exec("/lib/none", value!(null)).await.unwrap_err();
        let given = Operation::ExecSource {
            source: "no script at all".into(),
            input: 7.into(),
        };
        durable.submit(plain(given)).await.unwrap_err();
        // Nobody asks a hook about what the host does.
        durable.write("/memory/x", 1).await.unwrap();
        durable
            .submit(plain(Operation::Enqueue { message: 1.into() }))
            .await
            .unwrap();
        assert_eq!(
            spy.asked(),
            [
                format!("{ADDRESS} 0 /lib/outer \"in\""),
                format!("{ADDRESS} 1 /lib/none null"),
                format!("{ADDRESS} 1 `no script at all` 7"),
            ]
        );
        let (plain, spy) = process();
        plain.exec("/lib/outer", "in").unwrap();
        plain.write("/memory/x", 1).unwrap();
        assert_eq!(spy.asked(), [format!("{ADDRESS} 0 /lib/outer \"in\"")]);
    });
}

#[test]
fn hooks_are_asked_in_order_until_one_refuses_and_all_are_told() {
    let spies: [Arc<Spy>; 3] = Default::default();
    spies[0].lets_all_pass.store(true, Ordering::SeqCst);
    let hooked = spies.iter().fold(builder(ADDRESS), |builder, spy| {
        builder.hook(spy.clone() as Arc<dyn Hook>)
    });
    let process = hooked.build().unwrap();
    process.exec("/lib/counter", "refuse").unwrap_err();
    let asked: Vec<usize> = spies.iter().map(|spy| spy.asked().len()).collect();
    assert_eq!(asked, [1, 1, 0]);
    process.exec("/lib/counter", 1).unwrap();
    assert!(spies.iter().all(|spy| spy.told() == [1]));
}

#[test]
fn a_refused_request_is_remembered_like_any_rejection_and_a_retry_asks_nobody() {
    block_on(async {
        let (durable, spy, _) = durable().await;
        let submit = |input: &str| plain(exec("/lib/counter", input)).keyed(request("one", input));
        durable.submit(submit("refuse")).await.unwrap_err();
        assert_eq!(spy.asked().len(), 1);
        spy.lets_all_pass.store(true, Ordering::SeqCst);
        let again = durable.submit(submit("refuse")).await.unwrap();
        assert!(matches!(again, Outcome::Replayed(_)));
        let reused = durable.submit(submit("else")).await.unwrap_err();
        assert_eq!(reused.code(), "reused_key");
        let stale = plain(exec("/lib/counter", 1)).expecting(9);
        assert_eq!(durable.submit(stale).await.unwrap_err().code(), "conflict");
        assert_eq!((spy.asked(), spy.told()), (vec![], vec![]));
        assert_eq!(durable.version(), 0);
    });
}

#[test]
fn through_the_controller_a_refusal_is_a_rejection_with_its_code() {
    block_on(async {
        let (durable, spy, memory) = durable().await;
        let controller = Controller::new(durable);
        let asked = Request {
            client_id: "cli".into(),
            request_id: "1".into(),
            process_id: ADDRESS.parse().unwrap(),
            expected_version: 0,
            command: Command::Activate {
                script: "/lib/counter".parse().unwrap(),
                input: "refuse".into(),
            },
        };
        let first = controller.handle(&asked).await.unwrap();
        let ResponseOutcome::Rejected { version, code, .. } = &first.outcome else {
            panic!("{first:?}");
        };
        assert_eq!((*version, code.as_str()), (0, "not_today"));
        drop(controller);
        // It is in the store: an owner without hooks gives the same answer.
        let store: Arc<dyn ProcessStore> = memory;
        let controller = Controller::new(resume(&store, ADDRESS).await);
        let again = controller.handle(&asked).await.unwrap();
        assert_eq!((again.replayed, again.outcome), (true, first.outcome));
        assert_eq!(spy.asked().len(), 1);
    });
}

#[test]
fn every_commit_of_every_sort_is_told_once_and_in_order() {
    block_on(async {
        let (durable, spy, _) = durable().await;
        durable.exec("/lib/send", 1).await.unwrap();
        durable.write("/memory/x", 1).await.unwrap();
        durable.transact(|tx| tx.remove("/memory/x")).await.unwrap();
        for operation in [
            Operation::Enqueue { message: 1.into() },
            Operation::Acknowledge { sequence: 4 },
            Operation::Note,
            Operation::AcknowledgeIntent {
                id: format!("{ADDRESS}#1.0").into(),
                message: value!(1).digest(),
            },
        ] {
            durable.submit(plain(operation)).await.unwrap();
        }
        durable.write("/system/x", 1).await.unwrap_err();
        assert_eq!(spy.told(), [1, 2, 3, 4, 5, 6]);
        // What was committed before is no news for who resumes.
        let (plain, spy) = process();
        plain.exec("/lib/send", 1).unwrap();
        plain.write("/memory/x", 1).unwrap();
        plain.remove("/memory/x").unwrap();
        let sequence = plain.enqueue(1).unwrap();
        plain.acknowledge(sequence).unwrap();
        let id = format!("{ADDRESS}#1.0");
        plain.acknowledge_intent(&id, value!(1).digest()).unwrap();
        plain.exec("/lib/none", 1).unwrap_err();
        assert_eq!(spy.told(), [1, 2, 3, 4, 5, 6]);
    });
}

#[test]
fn commits_of_many_threads_are_told_once_and_in_order() {
    let (process, spy) = process();
    let durable = block_on(DurableProcess::create(
        Arc::new(MemoryStore::new()),
        builder(ADDRESS).hook(spy.clone()).build().unwrap(),
    ))
    .unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..50).for_each(|n| assert_ne!(process.enqueue(n).unwrap(), 0)));
        }
    });
    assert_eq!(spy.told(), (1..=200).collect::<Vec<_>>());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                block_on(async {
                    for n in 0..50 {
                        let message = Operation::Enqueue { message: n.into() };
                        durable.submit(plain(message)).await.unwrap();
                    }
                });
            });
        }
    });
    assert_eq!(spy.told(), (1..=200).collect::<Vec<_>>());
}

#[test]
fn a_commit_whose_outcome_was_not_known_is_told_when_it_is_settled() {
    for fault in Fault::ALL {
        block_on(async {
            let (process, spy) = process();
            let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
            let durable = DurableProcess::create(store.clone(), process)
                .await
                .unwrap();
            durable.write("/memory/x", 0).await.unwrap();
            store.at_write(store.writes() + 1, fault);
            let write = async { Some(durable.write("/memory/x", 1).await) };
            let hung = async {
                while store.hanging() == 0 {
                    future::yield_now().await;
                }
                None
            };
            let result = future::or(write, hung).await;
            let told = spy.told();
            match &result {
                Some(Ok(_)) => assert_eq!(told, [1, 2], "{fault:?}"),
                _ => assert_eq!(told, [1], "{fault:?}: nothing is told before it is durable"),
            }
            store.restore();
            // Whatever settles it tells.
            durable.checkpoint().await.unwrap();
            let settled = durable.version();
            let expected: Vec<u64> = (told.len() as u64 + 1..=settled).collect();
            assert_eq!(spy.told(), expected, "{fault:?}");
            durable.write("/memory/x", 2).await.unwrap();
            assert_eq!(spy.told(), [settled + 1], "{fault:?}");
        });
    }
}

#[test]
fn a_hook_that_panics_when_told_is_nobody_elses_matter() {
    block_on(async {
        let (broken, spy) = (Arc::new(Spy::default()), Arc::new(Spy::default()));
        broken.panics_when_told.store(true, Ordering::SeqCst);
        let build = || {
            builder(ADDRESS)
                .hook(broken.clone())
                .hook(spy.clone())
                .build()
        };
        let plain = build().unwrap();
        plain.write("/memory/x", 1).unwrap();
        assert_eq!(plain.exec("/lib/counter", 1).unwrap().version, 2);
        assert_eq!((broken.told(), spy.told()), (vec![1, 2], vec![1, 2]));

        let (_, store) = store();
        let durable = DurableProcess::create(store, build().unwrap())
            .await
            .unwrap();
        durable.write("/memory/x", 1).await.unwrap();
        assert_eq!(durable.exec("/lib/counter", 1).await.unwrap().version, 2);
        assert_eq!((broken.told(), spy.told()), (vec![1, 2], vec![1, 2]));
    });
}

/// Reads the process when asked, and changes it when told, up to version 4.
#[derive(Default)]
struct Meddler {
    plain: Mutex<Weak<Process>>,
    durable: Mutex<Option<DurableProcess>>,
    told: Mutex<Vec<u64>>,
}

impl Hook for Meddler {
    fn name(&self) -> &str {
        "meddler"
    }

    fn before(&self, proposed: &Proposed<'_>) -> Result<(), Refusal> {
        if let Some(process) = self.plain.lock().unwrap().upgrade() {
            assert_eq!(process.version(), proposed.version);
            process.read("/memory/count").unwrap();
        }
        if let Some(process) = &*self.durable.lock().unwrap() {
            assert_eq!(process.version(), proposed.version);
            process.read("/memory/count").unwrap();
        }
        Ok(())
    }

    fn committed(&self, change: &Change) {
        self.told.lock().unwrap().push(change.version);
        if change.version >= 4 {
            return;
        }
        let plain = self.plain.lock().unwrap().upgrade();
        if let Some(process) = plain {
            process.exec("/lib/counter", 1).unwrap();
        }
        let durable = self.durable.lock().unwrap().clone();
        if let Some(process) = durable {
            block_on(process.exec("/lib/counter", 1)).unwrap();
        }
    }
}

#[test]
fn a_hook_may_read_when_asked_and_change_the_process_when_told() {
    let meddler = Arc::new(Meddler::default());
    let build = || builder(ADDRESS).hook(meddler.clone()).build().unwrap();
    let plain = Arc::new(build());
    *meddler.plain.lock().unwrap() = Arc::downgrade(&plain);
    plain.exec("/lib/counter", 1).unwrap();
    assert_eq!(plain.version(), 4);
    assert_eq!(
        std::mem::take(&mut *meddler.told.lock().unwrap()),
        [1, 2, 3, 4]
    );
    drop(plain);

    let (_, store) = store();
    let durable = block_on(DurableProcess::create(store, build())).unwrap();
    *meddler.durable.lock().unwrap() = Some(durable.clone());
    block_on(durable.exec("/lib/counter", 1)).unwrap();
    assert_eq!(durable.version(), 4);
    assert_eq!(*meddler.told.lock().unwrap(), [1, 2, 3, 4]);
}

#[test]
fn an_activation_that_has_to_run_again_asks_once() {
    let (guest, waiting) = Steps::gated();
    let spy = Arc::new(Spy::default());
    let process = Process::builder(ADDRESS)
        .unwrap()
        .guest(crate::steps::LANGUAGE, guest)
        .library("reads", script("discover /inbox;wait"))
        .hook(spy.clone())
        .build()
        .unwrap();
    let (_, store) = store();
    let process = block_on(DurableProcess::create(store, process)).unwrap();
    let running = process.clone();
    let run = thread::spawn(move || block_on(running.exec("/lib/reads", 1)));
    waiting.reached();
    let message = Operation::Enqueue { message: 1.into() };
    block_on(process.submit(plain(message))).unwrap();
    waiting.go_on.send(()).unwrap();
    waiting.reached();
    waiting.go_on.send(()).unwrap();
    assert_eq!(run.join().unwrap().unwrap().version, 2);
    assert_eq!(spy.asked(), [format!("{ADDRESS} 0 /lib/reads 1")]);
    assert_eq!(spy.told(), [1, 2]);
}

#[test]
fn hooks_are_neither_inherited_nor_stored() {
    block_on(async {
        let (plain, spy) = process();
        let child = plain.fork("svit://local/child").unwrap();
        child.exec("/lib/counter", "refuse").unwrap();
        assert_eq!((spy.asked(), spy.told()), (vec![], vec![]));
        let child = child.hook(spy.clone());
        child.exec("/lib/counter", "refuse").unwrap_err();
        let restored = Process::restore(plain.snapshot().as_bytes()).unwrap();
        let restored = restored.guest(crate::steps::LANGUAGE, Steps::guest());
        restored.exec("/lib/counter", "refuse").unwrap();
        assert_eq!((spy.asked().len(), spy.told()), (1, vec![]));

        let (durable, spy, memory) = durable().await;
        let child = durable.fork("svit://local/child").await.unwrap();
        child.exec("/lib/counter", "refuse").await.unwrap();
        let child = durable.fork_at(0, "svit://local/other").await.unwrap();
        child.exec("/lib/counter", "refuse").await.unwrap();
        let store: Arc<dyn ProcessStore> = memory;
        let again = resume(&store, ADDRESS).await;
        again.exec("/lib/counter", "refuse").await.unwrap();
        assert_eq!((spy.asked(), spy.told()), (vec![], vec![]));

        let attached = Attachments::new().guest(Steps::guest()).hook(spy.clone());
        let hooked = DurableProcess::resume_with(store, ADDRESS, attached)
            .await
            .unwrap();
        let clone = hooked.clone();
        clone.exec("/lib/counter", "refuse").await.unwrap_err();
        clone.exec("/lib/counter", 1).await.unwrap();
        assert_eq!((spy.asked().len(), spy.told()), (2, vec![2]));
    });
}

#[test]
fn a_hook_is_no_longer_than_an_error_may_be() {
    struct Wordy(String);
    impl Hook for Wordy {
        fn name(&self) -> &str {
            &self.0
        }

        fn before(&self, _: &Proposed<'_>) -> Result<(), Refusal> {
            Err(Refusal::new(self.0.as_str(), self.0.as_str()))
        }
    }
    let wordy = Arc::new(Wordy("ü".repeat(10_000)));
    let process = builder(ADDRESS).hook(wordy).build().unwrap();
    let refused = process.exec("/lib/counter", 1).unwrap_err();
    assert_eq!(refused.code().len(), 1_024);
    assert!(refused.to_string().len() < 3_000);
}
