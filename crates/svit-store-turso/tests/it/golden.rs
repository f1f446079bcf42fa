//! Databases of every format that was ever released, as it wrote them: each is read, and says what
//! it said then.
//!
//! `tests/golden/README.md` tells how they were made. A file there is never made again.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use svit_store_turso::TursoProcessStore;
use svit_tree::Address;
use svit_txn::{EventQuery, ProcessStore, ReceiptKey, RecordQuery};
use svit_value::{Digest, Value};

use crate::common::{Place, open, place};

/// The formats whose files lie there.
const FORMATS: [u32; 2] = [1, 2];

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

/// A copy of the golden database of a format.
pub(crate) fn copy(format: u32) -> Place {
    let place = place();
    fs::copy(golden(&format!("format-{format}.db")), &place.path).unwrap();
    place
}

/// Everything that a store of its format could be asked, as text.
pub(crate) async fn told(store: &TursoProcessStore) -> String {
    let mut text = String::new();
    for address in store.addresses(None, usize::MAX).await.unwrap() {
        one(store, &address, &mut text).await.unwrap();
    }
    text
}

async fn one(
    store: &TursoProcessStore,
    address: &Address,
    text: &mut String,
) -> Result<(), std::fmt::Error> {
    let head = store.load(address).await.unwrap();
    writeln!(text, "{address}")?;
    writeln!(
        text,
        "  version {} digest {} root {} epoch {} next event {}",
        head.version, head.digest, head.root, head.epoch, head.next_event
    )?;
    writeln!(
        text,
        "  base at {} digest {} root {}",
        head.base.version,
        head.base.digest(),
        head.base.root
    )?;
    let all = RecordQuery {
        from: 0,
        to: u64::MAX,
        limit: usize::MAX,
    };
    for record in store.records(address, all).await.unwrap() {
        let paths: Vec<_> = record.paths.iter().map(ToString::to_string).collect();
        writeln!(
            text,
            "  record {} digest {} previous {} root {} {} bytes, {}",
            record.version,
            record.digest,
            record.previous,
            record.root,
            record.body.len(),
            paths.join(" ")
        )?;
        assert_eq!(Digest::of(&record.body), record.digest);
    }
    let all = EventQuery {
        from: 0,
        limit: usize::MAX,
        newest_first: false,
    };
    for event in store.events(address, all).await.unwrap() {
        let body = event.body.to_json().unwrap();
        writeln!(text, "  event {} {} {body}", event.seq, &*event.kind)?;
    }
    // What format 1 does not have is told only where it is.
    if head.first_event != head.base.first_event() || head.shared != head.base.shared() {
        writeln!(
            text,
            "  events from {} shared {:?}",
            head.first_event, head.shared
        )?;
    }
    for checkpoint in store.checkpoints(address, u64::MAX, 99).await.unwrap() {
        writeln!(
            text,
            "  checkpoint {} record {} root {}",
            checkpoint.version, checkpoint.record, checkpoint.root
        )?;
        let found = store.blocks(vec![checkpoint.root]).await.unwrap();
        assert_eq!(found[0].as_deref().map(Digest::of), Some(checkpoint.root));
    }
    for client in ["client", "other"] {
        for request in 0..9 {
            let key = ReceiptKey {
                client: client.into(),
                request: format!("request-{request}").into(),
            };
            let Some(receipt) = store.receipt(address, &key).await.unwrap() else {
                continue;
            };
            let pinned = receipt.pinned_by.map(|by| format!(" pinned by {by}"));
            writeln!(
                text,
                "  receipt {client} {request} content {} version {} {}{}",
                receipt.content,
                receipt.version,
                receipt.outcome.to_json().unwrap(),
                pinned.unwrap_or_default()
            )?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_file_of_every_format_says_what_it_said_then() {
    for format in FORMATS {
        let place = copy(format);
        let wanted = fs::read_to_string(golden(&format!("format-{format}.txt"))).unwrap();
        // The second time it has been closed by this version.
        for _ in 0..2 {
            let store = open(&place.path).await;
            assert_eq!(told(&store).await, wanted, "format {format}");
            let verified = store.verify().await.unwrap();
            assert!(verified.is_whole(), "{verified:?}");
            store.close().await.unwrap();
        }
    }
}

#[tokio::test]
async fn processes_of_every_format_go_on() {
    for format in FORMATS {
        let place = copy(format);
        let store = open(&place.path).await;
        for (name, count) in [("process", 30), ("fork", 108)] {
            let process = store.resume(format!("svit://golden/{name}")).await.unwrap();
            let read = || process.read("/memory/count").unwrap();
            assert_eq!(read(), Some(Value::Int(count)), "format {format}, {name}");
            let by = svit_value::value!({"by": 2});
            process.exec("/lib/counter", by).await.unwrap();
            assert_eq!(read(), Some(Value::Int(count + 2)));
        }
        assert!(store.verify().await.unwrap().is_whole());
    }
}

#[tokio::test]
async fn a_backup_of_every_format_can_be_restored() {
    for format in FORMATS {
        let (backup, place) = (copy(format), place());
        let verified = TursoProcessStore::restore(&backup.path, &place.path).await;
        assert!(verified.unwrap().is_whole());
        let wanted = fs::read_to_string(golden(&format!("format-{format}.txt"))).unwrap();
        assert_eq!(told(&open(&place.path).await).await, wanted);
        // The backup itself is as it was.
        let name = format!("format-{format}.db");
        assert_eq!(
            fs::read(&backup.path).unwrap(),
            fs::read(golden(&name)).unwrap()
        );
    }
}

/// How the files are made: see `tests/golden/README.md`.
mod make {
    use svit_txn::{
        Base, BaseKind, Batch, Extras, Operation, Outcome, Process, RequestKey, Submission,
    };
    use svit_value::value;

    use super::*;
    use crate::common::Model;
    use crate::grown::{Grown, collect};

    const COUNTER: &str = r#"
(define (main input)
  (let ((count (+ (read "/memory/count") (value-get input "/by"))))
    (do (write "/memory/count" count)
        (value-map "count" count))))
"#;

    #[tokio::test]
    #[ignore = "writes a golden file, once for each format"]
    async fn a_golden_file() {
        let out = std::env::var_os("SVIT_GOLDEN_OUT").unwrap();
        let out = Path::new(&out);
        let store = open(out).await;
        real(&store).await;
        plain(&store).await;
        cut_and_shared(&store).await;
        let told = told(&store).await;
        store.close().await.unwrap();
        fs::write(out.with_extension("txt"), told).unwrap();
        fs::remove_file(crate::common::beside(out, "-lock")).unwrap();
    }

    /// Processes with records that mean something, and a fork.
    async fn real(store: &TursoProcessStore) {
        let process = Process::builder("svit://golden/process")
            .unwrap()
            .memory("count", 6)
            .memory("notes", value!({"text": "a\u{0}b", "list": [1, 2, 3]}))
            .library("counter", COUNTER)
            .build()
            .unwrap();
        let process = store.create(process).await.unwrap();
        for request in 0..4 {
            let submission = Submission::plain(Operation::Exec {
                path: "/lib/counter".parse().unwrap(),
                input: value!({"by": 6}),
            });
            let key = RequestKey {
                key: ReceiptKey {
                    client: "client".into(),
                    request: format!("request-{request}").into(),
                },
                content: Digest::of(b"by 6"),
            };
            let submission = submission.keyed(key).recording(|result| {
                let outcome = match result {
                    Ok(Outcome::Activation(activation)) => activation.output.clone(),
                    other => panic!("{other:?}"),
                };
                Extras {
                    events: vec![("turn.finished".into(), outcome.clone())],
                    outcome,
                }
            });
            process.submit(submission).await.unwrap();
        }
        process
            .write("/memory/notes/list", value!([1, 2, 3, 4]))
            .await
            .unwrap();
        let fork = process.fork("svit://golden/fork").await.unwrap();
        fork.write("/memory/count", 100).await.unwrap();
        let by = value!({"by": 8});
        fork.exec("/lib/counter", by).await.unwrap();
    }

    /// What came with format 2: checkpoints, a cut, trimmed events, a parent that is gone, pins.
    async fn cut_and_shared(store: &TursoProcessStore) {
        let mut one = Grown::create("grown", 40, store).await;
        for key in 0..4 {
            one.set(key, store).await.unwrap();
        }
        one.checkpoint(store).await.unwrap();
        one.set(4, store).await.unwrap();
        one.checkpoint(store).await.unwrap();
        let at = one.model.version;
        let mut child = one.fork("grown-child", at, store).await.unwrap();
        child.set(5, store).await.unwrap();
        one.set(6, store).await.unwrap();
        one.cut(at, store).await.unwrap();
        store
            .trim_events(one.model.address(), one.model.epoch, 2)
            .await
            .unwrap();
        let mut pinned = one.model.receipt("other", 0);
        pinned.pinned_by = Some(7);
        let batch = Batch {
            receipts: vec![pinned],
            ..Batch::default()
        };
        one.model.try_append(store, &batch).await.unwrap();

        // A parent that is gone leaves its events to its child.
        let mut gone = Grown::create("gone", 10, store).await;
        gone.set(1, store).await.unwrap();
        let mut heir = gone.fork("heir", gone.model.version, store).await.unwrap();
        for part in heir.parts(heir.model.version, None, 9) {
            let address = heir.model.address();
            store.put_checkpoint(address, part).await.unwrap();
        }
        heir.set(2, store).await.unwrap();
        store
            .delete(gone.model.address(), gone.model.epoch)
            .await
            .unwrap();
        collect(store, 100).await;
    }

    /// Histories of a model: what a store keeps, whatever it means.
    async fn plain(store: &TursoProcessStore) {
        let mut model = Model::create("model", store).await;
        for size in [0, 500, 20] {
            model.commit(store, size).await.unwrap();
        }
        let others = Batch {
            receipts: (0..3).map(|n| model.receipt("other", n)).collect(),
            ..Batch::default()
        };
        model.try_append(store, &others).await.unwrap();
        let second = &model.records[1];
        let base = Base {
            address: Address::parse("svit://local/model-fork").unwrap(),
            version: second.version,
            root: second.root,
            kind: BaseKind::Forked {
                parent: model.address().clone(),
                record: second.digest,
                events: 2,
            },
        };
        let mut fork = Model::new("model-fork");
        (fork.version, fork.digest, fork.next_event) = (base.version, base.digest(), 2);
        let batch = fork.batch(40);
        fork.epoch = store
            .insert_base(base, Vec::new(), batch.clone())
            .await
            .unwrap();
        fork.landed(&batch);
        fork.commit(store, 7).await.unwrap();
    }
}
