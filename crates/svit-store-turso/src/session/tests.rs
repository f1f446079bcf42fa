//! Commits whose outcome is open, pragmas, and the schema as it is kept.

use std::sync::Arc;

use svit_tree::Address;
use svit_txn::{
    Base, BaseKind, Batch, Block, Checkpoint, CheckpointPart, Receipt, ReceiptKey, ThreadEvent,
};
use svit_value::{Text, Value};

use super::*;
use crate::prepared;
use crate::sql::Bind;

fn open() -> (tempfile::TempDir, Session) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("svit.db");
    let session = reopen(&path);
    (folder, session)
}

fn reopen(path: &Path) -> Session {
    match Session::open(path, &OpenOptions::new()) {
        Ok(session) => session,
        Err(OpenError::Store(error)) => panic!("{error}"),
        Err(OpenError::Held { pid }) => panic!("held by {pid:?}"),
    }
}

fn address(name: &str) -> Address {
    Address::parse(&format!("svit://local/{name}")).unwrap()
}

fn start(name: &str) -> (Write, Digest) {
    let data = vec![0xa0];
    let root = Digest::of(&data);
    let base = Base {
        address: address(name),
        version: 0,
        root,
        kind: BaseKind::Created,
    };
    let digest = base.digest();
    let block = Block { digest: root, data };
    let start = prepared::start(base, vec![block], Batch::default()).unwrap();
    (Write::Start(Arc::new(start)), digest)
}

/// A batch of one event and one receipt, number `seq`.
fn append(name: &str, expected: Digest, seq: u64) -> Write {
    let address = address(name);
    let batch = Batch {
        records: Vec::new(),
        receipts: vec![Receipt {
            key: ReceiptKey {
                client: Text::from("c"),
                request: Text::from(seq.to_string()),
            },
            content: Digest::of(b""),
            outcome: Value::Null,
            version: 0,
            pinned_by: None,
        }],
        events: vec![ThreadEvent {
            seq,
            kind: Text::from("k"),
            body: Value::Null,
        }],
        ..Batch::default()
    };
    let rows = prepared::rows(&address, batch).unwrap();
    Write::Append {
        address,
        expected,
        epoch: 1,
        rows,
    }
}

fn next_event(session: &mut Session, name: &str) -> u64 {
    let address = address(name);
    session
        .read(|reading| reading.load(&address))
        .unwrap()
        .next_event
}

fn codes(answers: Vec<Result<Written, StoreError>>) -> Vec<&'static str> {
    answers
        .into_iter()
        .map(|answer| answer.map_or_else(|error| error.code(), |_| "ok"))
        .collect()
}

#[test]
fn a_commit_that_did_not_land_is_told_from_one_that_did() {
    let (_folder, mut session) = open();
    let (one, head) = start("one");
    let (two, _) = start("two");
    assert_eq!(codes(session.commit(&[one, two])), ["ok", "ok"]);

    session.injected = Some(Injected::NotLanded);
    let answers = session.commit(&[append("one", head, 0), append("two", head, 0)]);
    // The second of them expected a wrong head; the batch as a whole failed, and nothing was done.
    assert_eq!(codes(answers), ["unavailable", "unavailable"]);
    assert_eq!(next_event(&mut session, "one"), 0);

    session.injected = Some(Injected::Landed);
    let mut second = append("two", head, 0);
    if let Write::Append { epoch, .. } = &mut second {
        *epoch = 2;
    }
    let answers = session.commit(&[append("one", head, 0), second]);
    assert_eq!(codes(answers), ["ok", "conflict"]);
    assert_eq!(next_event(&mut session, "one"), 1);

    // And it goes on, with the same counts as the database has.
    assert_eq!(codes(session.commit(&[append("one", head, 1)])), ["ok"]);
    let path = session.path().to_owned();
    session.close();
    assert_eq!(next_event(&mut reopen(&path), "one"), 2);
}

#[test]
fn an_outcome_that_stays_unknown_is_settled_by_the_next_command() {
    let (_folder, mut session) = open();
    let (one, head) = start("one");
    assert_eq!(codes(session.commit(&[one])), ["ok"]);
    session.injected = Some(Injected::Unreadable);
    assert_eq!(
        codes(session.commit(&[append("one", head, 0)])),
        ["unknown"]
    );
    // It had landed, as the next look shows; and the store goes on from there.
    assert_eq!(next_event(&mut session, "one"), 1);
    assert_eq!(codes(session.commit(&[append("one", head, 1)])), ["ok"]);
    let path = session.path().to_owned();
    session.close();
    assert_eq!(next_event(&mut reopen(&path), "one"), 2);
}

#[test]
fn a_store_that_changed_behind_its_back_stops_instead_of_guessing() {
    let (_folder, mut session) = open();
    let (one, head) = start("one");
    assert_eq!(codes(session.commit(&[one])), ["ok"]);
    assert_eq!(codes(session.commit(&[append("one", head, 0)])), ["ok"]);
    // While its connection is gone, somebody puts an older database there.
    let path = session.path().to_owned();
    session.lose(&injected());
    let mut connection = Connection::open(&path).unwrap();
    let mut meta = Meta::read(&mut connection).unwrap().unwrap();
    meta.batch -= 1;
    meta.write(&mut connection).unwrap();
    drop(connection);
    let answers = session.commit(&[append("one", head, 1)]);
    assert_eq!(codes(answers), ["corrupt"]);
    assert_eq!(
        codes(session.commit(&[append("one", head, 1)])),
        ["unavailable"]
    );
}

#[test]
fn a_lost_connection_is_opened_again_by_the_next_command() {
    let (_folder, mut session) = open();
    let (one, head) = start("one");
    assert_eq!(codes(session.commit(&[one])), ["ok"]);
    session.lose(&injected());
    assert_eq!(next_event(&mut session, "one"), 0);
    session.lose(&injected());
    assert_eq!(codes(session.commit(&[append("one", head, 0)])), ["ok"]);
}

#[test]
fn a_failed_savepoint_leaves_no_rows_and_no_counts() {
    let (_folder, mut session) = open();
    let (one, head) = start("one");
    assert_eq!(codes(session.commit(&[one])), ["ok"]);
    // Its receipt is written before its event is found to leave a gap.
    let answers = session.commit(&[
        append("one", head, 0),
        append("one", head, 7),
        append("one", head, 1),
    ]);
    assert_eq!(codes(answers), ["ok", "bad_batch", "ok"]);
    let State::Live(live) = &mut session.state else {
        panic!("not open");
    };
    let sql = "SELECT count(*) FROM receipt";
    let mut row = live.connection.row(sql, &[]).unwrap().unwrap();
    assert_eq!(row.int(0).unwrap(), 2);
    let path = session.path().to_owned();
    session.close();
    assert_eq!(next_event(&mut reopen(&path), "one"), 2);
}

/// What lives in memory is taken back with the batch, and done again with it.
#[test]
fn a_write_that_fails_half_way_leaves_the_others_of_its_batch_as_they_were() {
    let (_folder, mut session) = open();
    let (one, head) = start("one");
    assert_eq!(codes(session.commit(&[one])), ["ok"]);
    let part = |index: u64, last: bool| {
        let data = vec![0x18, 0x20 + index as u8];
        Write::Part {
            address: address("one"),
            part: Box::new(CheckpointPart {
                checkpoint: Checkpoint {
                    version: 0,
                    record: head,
                    root: Digest::of(&[0xa0]),
                },
                since: None,
                index,
                blocks: vec![Block {
                    digest: Digest::of(&data),
                    data,
                }],
                last,
            }),
        }
    };
    let half = || append("one", head, 7);
    assert_eq!(codes(session.commit(&[part(0, false)])), ["ok"]);
    assert!(!session.mark(1).unwrap(), "a run is under way");
    let answers = session.commit(&[part(1, false), half(), part(2, false), part(4, false)]);
    assert_eq!(codes(answers), ["ok", "bad_batch", "ok", "bad_batch"]);
    assert_eq!(session.meta().blocks.rows, 4);
    assert_eq!(session.unfinished(), 1);
    while !session.mark(1).unwrap() {}
    let answers = session.commit(&[half(), part(3, true), Write::Sweep { steps: 99 }]);
    assert_eq!(codes(answers), ["bad_batch", "ok", "ok"]);
    assert_eq!(
        (session.unfinished(), session.meta().checkpoints.rows),
        (0, 1)
    );
    // Nothing leads to these blocks. Those that came while it ran stay for this run; one was there.
    assert_eq!(session.meta().blocks.rows, 5 - 1);
    assert_eq!(codes(session.commit(&[Write::Sweep { steps: 99 }])), ["ok"]);
    // A sweep that is rolled back with its batch has not happened: what it removed is removed later.
    while !session.mark(1).unwrap() {}
    let answers = session.commit(&[Write::Sweep { steps: 99 }, half()]);
    assert!(matches!(&answers[0], Ok(Written::Swept(swept)) if !swept.done));
    assert_eq!(codes(answers), ["ok", "bad_batch"]);
    assert_eq!(session.meta().blocks.rows, 4);
    while !session.mark(1).unwrap() {}
    assert_eq!(codes(session.commit(&[Write::Sweep { steps: 99 }])), ["ok"]);
    assert_eq!(session.meta().blocks.rows, 1);
}

#[test]
fn checkpoints_cuts_and_sweeps_of_unknown_outcome_are_settled_too() {
    let (_folder, mut session) = open();
    let (one, head) = start("one");
    assert_eq!(codes(session.commit(&[one])), ["ok"]);
    let root = Digest::of(&[0xa0]);
    let part = || Write::Part {
        address: address("one"),
        part: Box::new(CheckpointPart {
            checkpoint: Checkpoint {
                version: 0,
                record: head,
                root,
            },
            since: None,
            index: 0,
            blocks: Vec::new(),
            last: true,
        }),
    };
    let cut = || {
        let base = Base {
            address: address("one"),
            version: 0,
            root,
            kind: BaseKind::Checkpoint {
                record: head,
                thread: None,
            },
        };
        Write::Cut {
            address: address("one"),
            epoch: 1,
            base: Box::new(prepared::new_base(base).unwrap()),
        }
    };
    let garbage = || {
        let (Write::Start(mut start), _) = start("two") else {
            panic!("no start");
        };
        let data = vec![0x18, 0x99];
        let digest = Digest::of(&data);
        let blocks = &mut Arc::get_mut(&mut start).unwrap().blocks;
        blocks.push(Block { digest, data });
        Write::Start(start)
    };
    for injected in [Injected::NotLanded, Injected::Landed] {
        let wanted = match injected {
            Injected::NotLanded => "unavailable",
            _ => "ok",
        };
        for write in [part(), cut(), garbage()] {
            session.injected = Some(injected);
            let batch = session.meta().batch;
            let said = codes(session.commit(&[write]));
            // A cut needs the checkpoint before it, which did not land the first time.
            let early = said == ["bad_batch"] && injected == Injected::NotLanded;
            assert!(early || said == [wanted], "{said:?} {injected:?}");
            let landed = u64::from(wanted == "ok");
            assert_eq!(session.meta().batch, batch + landed);
            session.injected = None;
        }
    }
    assert_eq!(session.meta().blocks.rows, 2);
    for injected in [Injected::NotLanded, Injected::Landed] {
        while !session.mark(9).unwrap() {}
        session.injected = Some(injected);
        let said = codes(session.commit(&[Write::Sweep { steps: 9 }]));
        let landed = injected == Injected::Landed;
        assert_eq!(said, [if landed { "ok" } else { "unavailable" }]);
        assert_eq!(session.meta().blocks.rows, 2 - u64::from(landed));
    }
    let path = session.path().to_owned();
    session.close();
    let mut session = reopen(&path);
    let address = address("one");
    let head = session.read(|reading| reading.load(&address)).unwrap();
    assert!(matches!(head.base.kind, BaseKind::Checkpoint { .. }));
    assert_eq!(session.meta().checkpoints.rows, 1);
}

/// A lone write has no savepoint: its whole transaction is rolled back.
#[test]
fn a_lone_write_that_failed_leaves_no_rows_and_no_head() {
    let (_folder, mut session) = open();
    let (one, head) = start("one");
    assert_eq!(codes(session.commit(&[one])), ["ok"]);
    let batch = session.meta().batch;
    assert_eq!(
        codes(session.commit(&[append("one", head, 7)])),
        ["bad_batch"]
    );
    assert_eq!(codes(session.commit(&[start("one").0])), ["already_exists"]);
    assert_eq!(session.meta().batch, batch);
    assert_eq!(codes(session.commit(&[append("one", head, 0)])), ["ok"]);
    let State::Live(live) = &mut session.state else {
        panic!("not open");
    };
    let sql = "SELECT count(*) FROM receipt";
    let mut row = live.connection.row(sql, &[]).unwrap().unwrap();
    assert_eq!(row.int(0).unwrap(), 1);
    let path = session.path().to_owned();
    session.close();
    assert_eq!(next_event(&mut reopen(&path), "one"), 1);
}

#[test]
fn the_connection_is_set_up_as_the_design_says() {
    let (_folder, mut session) = open();
    let State::Live(live) = &mut session.state else {
        panic!("not open");
    };
    for (pragma, wanted) in [
        ("locking_mode", "exclusive"),
        ("journal_mode", "wal"),
        ("synchronous", "2"),
        ("foreign_keys", "1"),
        ("wal_autocheckpoint", "1000"),
        ("cell_size_check", "1"),
        ("page_size", "4096"),
        ("application_id", "1937140084"),
        ("user_version", "3"),
        ("encoding", "UTF-8"),
    ] {
        let found = live.connection.pragma(&format!("PRAGMA {pragma}")).unwrap();
        assert_eq!(found, wanted, "{pragma}");
    }
}

#[test]
fn a_changed_definition_of_a_table_is_noticed() {
    let (_folder, mut session) = open();
    let path = session.path().to_owned();
    let State::Live(live) = &mut session.state else {
        panic!("not open");
    };
    live.connection
        .execute_once("CREATE INDEX extra ON record(digest)")
        .unwrap();
    session.close();
    match Session::open(&path, &OpenOptions::new()) {
        Err(OpenError::Store(StoreError::Corrupt { what, .. })) => {
            assert!(what.contains("extra"), "{what}");
        }
        _ => panic!("it was not noticed"),
    }
}

#[test]
fn a_row_changed_behind_the_sums_is_named() {
    let rows = [
        ("UPDATE head SET epoch=epoch+1", "head"),
        ("UPDATE head SET next_event=0", "head"),
        ("UPDATE receipt SET version=9", "receipt"),
        ("DELETE FROM receipt", "receipt"),
        ("UPDATE base SET body=x'00'", "base"),
        ("DELETE FROM base", "base"),
        ("DELETE FROM head", "head"),
        ("UPDATE meta SET heads=heads+1", "meta"),
    ];
    for (sql, place) in rows {
        let (_folder, mut session) = open();
        let (one, head) = start("one");
        assert_eq!(codes(session.commit(&[one])), ["ok"]);
        assert_eq!(codes(session.commit(&[append("one", head, 0)])), ["ok"]);
        let path = session.path().to_owned();
        let State::Live(live) = &mut session.state else {
            panic!("not open");
        };
        live.connection.execute(sql, &[]).unwrap();
        session.close();
        let address = address("one");
        let result = match Session::open(&path, &OpenOptions::new()) {
            Ok(mut session) => session.read(|reading| reading.load(&address)).map(drop),
            Err(OpenError::Store(error)) => Err(error),
            Err(OpenError::Held { .. }) => panic!("held"),
        };
        match result {
            Err(StoreError::Corrupt { place: found, .. }) => {
                assert!(found.contains(place), "{sql}: {found}");
            }
            other => panic!("{sql}: {other:?}"),
        }
    }
}

#[test]
fn a_block_that_is_damaged_is_mended_when_it_is_stored_again() {
    let (_folder, mut session) = open();
    assert_eq!(codes(session.commit(&[start("one").0])), ["ok"]);
    let root = Digest::of(&[0xa0]);
    let State::Live(live) = &mut session.state else {
        panic!("not open");
    };
    live.connection
        .execute("UPDATE block SET data=x'a1'", &[])
        .unwrap();
    let read = |session: &mut Session| {
        let page = session.read(|reading| reading.blocks(&[root]));
        page.map(|mut page| page.items.remove(0))
    };
    assert_eq!(read(&mut session).unwrap_err().code(), "corrupt");
    assert_eq!(codes(session.commit(&[start("two").0])), ["ok"]);
    assert_eq!(read(&mut session).unwrap(), Some(vec![0xa0]));
    assert_eq!(session.meta.blocks.rows, 1);
}

#[test]
fn binds_of_the_schema_fit_its_columns() {
    // STRICT refuses a wrong type, so a swapped column fails here and not in the field.
    let (_folder, mut session) = open();
    let State::Live(live) = &mut session.state else {
        panic!("not open");
    };
    let wrong = live.connection.execute(
        "INSERT INTO base(address, digest, body) VALUES(?1, ?2, ?3)",
        &[Bind::Blob(b"a"), Bind::Int(1), Bind::Blob(b"")],
    );
    assert_eq!(wrong.unwrap_err().primary(), 19);
}
