//! Two owners of one process, one of them stale, at every interleaving of their calls to the store: never both
//! commit, nothing acknowledged is missing, and nobody shows what is not durable.
//!
//! The handles are the real ones, on a store at whose every call another task may be next, and whose appends may end
//! with an unknown outcome. Each scenario is run in every order there is.

mod explore;
mod stepped;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use futures_lite::future::block_on;
use svit_tree::guest::Guest;
use svit_tree::{Op, Path};
use svit_txn::control::{Command, Controller, Request, ResponseOutcome};
use svit_txn::{
    DurableProcess, HistoryQuery, MemoryStore, Operation, Outcome, Process, ProcessStore,
    ReceiptKey, RecordQuery, RequestKey, Submission,
};
use svit_value::{Digest, Value};

use crate::steps::{LANGUAGE, Steps, script};
use explore::{Manner, Shared, Task, Turn, begin_a_millisecond, explore, run};
use stepped::{Stepped, Wrong};

const ADDRESS: &str = "svit://local/owned";

/// What a caller knows of its write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// It was acknowledged at this version.
    Committed(u64),
    /// It was refused: it must not be there.
    Refused,
    /// Nothing: the outcome is unknown, or the caller gave up.
    Nothing,
}

/// How bad it gets.
#[derive(Clone, Copy)]
struct Bad {
    /// Appends with an unknown outcome.
    faults: usize,
    /// Callers that give up half-way.
    gives_up: usize,
    /// Scripts are run, on other threads.
    scripts: bool,
    wrong: Wrong,
}

const FINE: Bad = Bad {
    faults: 0,
    gives_up: 0,
    scripts: false,
    wrong: Wrong::Nothing,
};

/// What goes wrong once: an append of unknown outcome, or a caller that gives up.
const ONE_MISHAP: [Bad; 2] = [
    Bad { faults: 1, ..FINE },
    Bad {
        gives_up: 1,
        ..FINE
    },
];

struct World {
    turn: Turn,
    guest: Arc<dyn Guest>,
    memory: MemoryStore,
    store: Arc<Stepped>,
    owners: Mutex<Vec<DurableProcess>>,
    /// What is known of the write of each value; values are never written twice.
    known: Mutex<BTreeMap<i64, Known>>,
}

impl World {
    /// A process with one owner.
    fn new(choices: &Shared, bad: Bad) -> Self {
        let memory = MemoryStore::new();
        let store = Stepped::new(memory.clone(), choices, bad.faults, bad.wrong);
        let turn = Turn::default();
        let guest = Steps::in_turn(turn.clone());
        let process = Process::builder(ADDRESS)
            .unwrap()
            .guest(LANGUAGE, guest.clone())
            .library("put", script("turn; input /memory/x"));
        let process = process.build().unwrap();
        let first = block_on(DurableProcess::create(store.clone(), process)).unwrap();
        Self {
            turn,
            guest,
            memory,
            store,
            owners: Mutex::new(vec![first]),
            known: Mutex::default(),
        }
    }

    fn owner(&self) -> DurableProcess {
        self.owners.lock().unwrap()[0].clone()
    }

    /// Another owner, that takes the process over.
    async fn resume(&self) -> DurableProcess {
        let guests = [self.guest.clone()];
        let owner = DurableProcess::resume_with(self.store.clone(), ADDRESS, guests);
        let owner = owner.await.unwrap();
        self.owners.lock().unwrap().push(owner.clone());
        owner
    }

    async fn write(&self, owner: &DurableProcess, value: i64) {
        let before = self.known.lock().unwrap().insert(value, Known::Nothing);
        assert_eq!(before, None, "each value is written once");
        let known = match owner.write("/memory/x", value).await {
            Ok(change) => Known::Committed(change.version),
            Err(error) if error.code() == "unknown" => Known::Nothing,
            Err(_) => Known::Refused,
        };
        self.known.lock().unwrap().insert(value, known);
    }

    /// The same by a script.
    async fn exec(&self, owner: &DurableProcess, value: i64) {
        self.known.lock().unwrap().insert(value, Known::Nothing);
        let known = match owner.exec("/lib/put", value).await {
            Ok(activation) => Known::Committed(activation.version),
            Err(error) if error.code() == "unknown" => Known::Nothing,
            Err(_) => Known::Refused,
        };
        self.known.lock().unwrap().insert(value, known);
    }

    /// The same by a request of a client, which may send it to each owner.
    async fn ask(&self, owner: DurableProcess, value: i64) {
        let request = Request {
            client_id: "client".into(),
            request_id: value.to_string().into(),
            process_id: ADDRESS.parse().unwrap(),
            expected_version: 0,
            command: Command::Activate {
                script: "/lib/put".parse().unwrap(),
                input: value.into(),
            },
        };
        self.known
            .lock()
            .unwrap()
            .entry(value)
            .or_insert(Known::Nothing);
        let Ok(response) = Controller::new(owner).handle(&request).await else {
            return;
        };
        match response.outcome {
            ResponseOutcome::Committed { version, .. } => {
                let committed = Known::Committed(version);
                let before = self.known.lock().unwrap().insert(value, committed);
                assert!([Some(Known::Nothing), Some(committed)].contains(&before));
            }
            // An owner that has not heard of it may be asked after it was carried out.
            ResponseOutcome::Conflict { .. } => {}
            other => panic!("{other:?}"),
        }
    }

    /// The same request, whoever owns the process; what it writes may land once.
    async fn write_keyed(&self, owner: &DurableProcess, value: i64) {
        let operation = Operation::Write {
            path: "/memory/x".parse().unwrap(),
            value: value.into(),
        };
        let key = RequestKey {
            key: ReceiptKey {
                client: "client".into(),
                request: value.to_string().into(),
            },
            content: Digest::of(&value.to_be_bytes()),
        };
        self.known
            .lock()
            .unwrap()
            .entry(value)
            .or_insert(Known::Nothing);
        let version = match owner.submit(Submission::plain(operation).keyed(key)).await {
            Ok(Outcome::Change(change)) => change.version,
            Ok(Outcome::Replayed(receipt)) => receipt.version,
            _ => return,
        };
        let before = self
            .known
            .lock()
            .unwrap()
            .insert(value, Known::Committed(version));
        if let Some(Known::Committed(before)) = before {
            assert_eq!(before, version, "one request, two commits");
        }
    }

    /// Adds one, as a write that is the same whoever makes it: within a millisecond two owners make the same record.
    async fn increment(&self, owner: &DurableProcess) {
        let added = owner.transact(|tx| {
            let before = tx.read("/memory/x")?.and_then(|x| x.as_int()).unwrap_or(0);
            tx.write("/memory/x", before + 1)
        });
        if let Ok(change) = added.await {
            let mut known = self.known.lock().unwrap();
            let value = i64::try_from(change.version).unwrap();
            let before = known.insert(value, Known::Committed(change.version));
            assert_eq!(
                before, None,
                "two increments were acknowledged, and one was made"
            );
        }
    }

    /// What every owner shows is what the store has at that version.
    fn check_shown(&self) {
        for owner in self.owners.lock().unwrap().iter() {
            let version = owner.version();
            let query = RecordQuery {
                from: version,
                to: version,
                limit: 1,
            };
            let records = block_on(self.memory.records(owner.address(), query)).unwrap();
            let root = records
                .first()
                .map_or(owner.base().root, |record| record.root);
            assert!(
                version == 0 || !records.is_empty(),
                "version {version} is shown and not stored"
            );
            assert_eq!(owner.root_digest(), root, "version {version}");
        }
    }

    /// Everything is over: whoever still does not know finds out, and the history is what was said.
    fn check_history(&self) {
        self.store.no_more_faults();
        let owners = self.owners.lock().unwrap().clone();
        for owner in owners {
            let settled = block_on(owner.submit(Submission::plain(Operation::Note)));
            drop(settled);
        }
        self.check_shown();

        // Replay checks the chain of records, and that they lead to the root.
        let last = block_on(self.memory.resume(ADDRESS)).unwrap();
        let mut written = BTreeMap::new();
        for entry in block_on(last.history(HistoryQuery::default())).unwrap() {
            let record = entry.transaction;
            let x: Path = "/memory/x".parse().unwrap();
            let value = record.mutations.iter().find_map(|edit| match &edit.op {
                Op::Set(value) if edit.path == x => value.as_int(),
                _ => None,
            });
            let before = written.insert(value.unwrap(), record.version);
            assert_eq!(before, None, "{value:?} was committed twice");
        }
        for (value, known) in self.known.lock().unwrap().iter() {
            match known {
                Known::Committed(version) => assert_eq!(
                    written.get(value),
                    Some(version),
                    "{value} was acknowledged and is not there"
                ),
                Known::Refused => assert_eq!(written.get(value), None, "{value} was refused"),
                Known::Nothing => {}
            }
        }

        // One record a version, and never one of an older owner behind one of a newer.
        let landed = self.store.landed();
        let versions: Vec<u64> = landed
            .iter()
            .flat_map(|(_, versions)| versions.clone())
            .collect();
        assert_eq!(versions, (1..=last.version()).collect::<Vec<_>>());
        assert!(landed.is_sorted_by_key(|(epoch, _)| *epoch), "{landed:?}");
        let newest = versions.last().map(|version| {
            let newest = written.iter().find(|(_, at)| *at == version);
            Value::Int(*newest.unwrap().0)
        });
        assert_eq!(last.read("/memory/x").unwrap(), newest);
    }
}

/// Runs what `tasks` makes in every order.
fn in_every_order(bad: Bad, at_least: u64, tasks: impl Fn(&World) -> Vec<Task<'_>>) -> u64 {
    let runs = explore(2_000_000, |choices| {
        let world = World::new(choices, bad);
        let manner = Manner {
            gives_up: bad.gives_up,
            waits_for_threads: bad.scripts,
            turn: world.turn.clone(),
        };
        run(tasks(&world), choices, manner, || world.check_shown());
        world.check_history();
    });
    assert!(runs >= at_least, "but {runs} runs");
    runs
}

/// The first owner writes twice; another takes over and writes as often as that.
fn one_after_the_other(world: &World) -> Vec<Task<'_>> {
    let old = world.owner();
    vec![
        Box::pin(async move {
            world.write(&old, 1).await;
            world.write(&old, 2).await;
        }),
        Box::pin(async move {
            let new = world.resume().await;
            world.write(&new, 11).await;
            world.write(&new, 12).await;
        }),
    ]
}

/// The first owner writes twice; another takes over and writes once.
fn twice_and_once(world: &World) -> Vec<Task<'_>> {
    let old = world.owner();
    vec![
        Box::pin(async move {
            world.write(&old, 1).await;
            world.write(&old, 2).await;
        }),
        Box::pin(async move {
            let new = world.resume().await;
            world.write(&new, 11).await;
        }),
    ]
}

/// Each of them once.
fn once_each(world: &World) -> Vec<Task<'_>> {
    let old = world.owner();
    vec![
        Box::pin(async move { world.write(&old, 1).await }),
        Box::pin(async move {
            let new = world.resume().await;
            world.write(&new, 11).await;
        }),
    ]
}

// THREAT[TM-TXN-2]
#[test]
fn of_two_owners_never_both_commit() {
    let runs = in_every_order(FINE, 100, one_after_the_other);
    println!("{runs} orders");
}

#[test]
fn of_three_owners_only_the_newest_commits() {
    let runs = in_every_order(FINE, 1_000, |world| {
        let mut tasks = once_each(world);
        tasks.push(Box::pin(async move {
            let newer = world.resume().await;
            world.write(&newer, 21).await;
        }));
        tasks
    });
    println!("{runs} orders");
}

#[test]
fn whatever_outcome_is_unknown() {
    let bad = Bad { faults: 1, ..FINE };
    println!("{} orders", in_every_order(bad, 1_000, twice_and_once));
    let bad = Bad { faults: 2, ..FINE };
    println!("{} orders", in_every_order(bad, 1_000, once_each));
}

#[test]
fn whoever_gives_up_half_way() {
    let bad = Bad {
        gives_up: 1,
        ..FINE
    };
    println!("{} orders", in_every_order(bad, 1_000, one_after_the_other));
    let bad = Bad {
        gives_up: 1,
        faults: 1,
        ..FINE
    };
    println!("{} orders", in_every_order(bad, 1_000, once_each));
}

#[test]
fn a_caller_that_gives_up_is_followed_by_another_on_the_same_handle() {
    let bad = Bad {
        gives_up: 1,
        faults: 1,
        ..FINE
    };
    let runs = in_every_order(bad, 100, |world| {
        let (one, two) = (world.owner(), world.owner());
        vec![
            Box::pin(async move { world.write(&one, 1).await }),
            Box::pin(async move { world.write(&two, 2).await }),
        ]
    });
    println!("{runs} orders");
}

#[test]
fn a_request_that_is_sent_to_both_owners_is_carried_out_once() {
    for bad in ONE_MISHAP {
        let runs = in_every_order(bad, 100, |world| {
            let old = world.owner();
            vec![
                Box::pin(async move { world.write_keyed(&old, 1).await }),
                Box::pin(async move {
                    let new = world.resume().await;
                    world.write_keyed(&new, 1).await;
                }),
            ]
        });
        println!("{runs} orders");
    }
}

#[test]
fn scripts_of_two_owners_never_both_commit() {
    for bad in ONE_MISHAP {
        let bad = Bad {
            scripts: true,
            ..bad
        };
        let runs = in_every_order(bad, 100, |world| {
            let old = world.owner();
            vec![
                Box::pin(async move { world.exec(&old, 1).await }),
                Box::pin(async move {
                    let new = world.resume().await;
                    world.exec(&new, 11).await;
                }),
            ]
        });
        println!("{runs} orders");
    }
}

#[test]
fn a_clients_request_to_two_owners_is_carried_out_once() {
    let bad = Bad {
        scripts: true,
        ..FINE
    };
    let runs = in_every_order(bad, 100, |world| {
        let old = world.owner();
        vec![
            Box::pin(async move { world.ask(old, 1).await }),
            Box::pin(async move {
                let new = world.resume().await;
                world.ask(new, 1).await;
            }),
        ]
    });
    println!("{runs} orders");
}

#[test]
fn two_owners_that_make_the_same_record_are_not_both_told_that_it_is_theirs() {
    let bad = Bad { faults: 1, ..FINE };
    let runs = in_every_order(bad, 100, |world| {
        begin_a_millisecond();
        let old = world.owner();
        vec![
            Box::pin(async move { world.increment(&old).await }),
            Box::pin(async move {
                let new = world.resume().await;
                world.increment(&new).await;
                world.increment(&new).await;
            }),
        ]
    });
    println!("{runs} orders");
}

#[test]
fn a_store_that_breaks_its_word_is_noticed() {
    for wrong in [Wrong::NoFence, Wrong::Forgets] {
        let bad = Bad { wrong, ..FINE };
        let checked = catch_unwind(AssertUnwindSafe(|| {
            in_every_order(bad, 1, one_after_the_other)
        }));
        assert!(checked.is_err(), "{wrong:?}");
    }
}
