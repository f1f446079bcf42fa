//! An agent with a folder and a port, on a disk, across a restart.
#![cfg(unix)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use svit::mount::FolderMount;
use svit::port::{Effect, PortContext, PortDescriptor, PortFailure};
use svit::{
    BoxFuture, DurableProcess, Message, Port, Ports, Process, Reasoner, Scripted, ScriptedReply,
    Svit, TursoProcessStore, Value, value,
};

/// Says how many words a text has.
struct Words(Arc<AtomicUsize>);

impl Port for Words {
    fn descriptor(&self) -> PortDescriptor {
        PortDescriptor::new("words", "1", "Counts the words of a text.")
            .effect(Effect::Pure)
            .idempotent(true)
    }

    fn call<'a>(
        &'a self,
        _: &'a PortContext,
        input: Value,
    ) -> BoxFuture<'a, Result<Value, PortFailure>> {
        Box::pin(async move {
            self.0.fetch_add(1, Ordering::SeqCst);
            let text = input
                .as_str()
                .ok_or_else(|| PortFailure::new("bad_input", "give text"))?;
            Ok(Value::Int(text.split_whitespace().count() as i64))
        })
    }
}

const COUNT: &str = r#"
(define (main name)
  (let ((words (port-call "words" (read (string-format "/mounts/notes/{}.txt" name)))))
    (do (write (string-format "/memory/words/{}" name) words)
        (write (string-format "/mounts/notes/{}.count" name) (to-string words))
        words)))
"#;

async fn ask(process: &DurableProcess, folder: FolderMount, calls: &Arc<AtomicUsize>) -> String {
    let model = Scripted::from_fn(|request| {
        let last = request.messages.last().unwrap();
        if last.role == svit::Role::User {
            ScriptedReply::call("exec", value!({"path": "/lib/count", "input": "today"}))
        } else {
            ScriptedReply::text("Counted.")
        }
    });
    let mut svit = Svit::persisted(process.clone())
        .unwrap()
        .ports(Ports::new().port(Words(calls.clone())))
        .mount("notes", folder.source("my notes"))
        .reasoner(Reasoner::new("scripted", model))
        .build()
        .await
        .unwrap();
    svit.start().unwrap();
    let answer = svit
        .inbox()
        .ask(Message::user("Count today's words."))
        .await
        .unwrap();
    svit.stop().await.unwrap();
    answer.text().unwrap().to_owned()
}

#[tokio::test]
async fn a_script_reads_a_file_calls_a_port_and_writes_a_file_and_a_restart_grants_nothing() {
    let place = tempfile::tempdir().unwrap();
    let notes = place.path().join("notes");
    std::fs::create_dir(&notes).unwrap();
    std::fs::write(notes.join("today.txt"), "buy some tea").unwrap();
    let folder = || FolderMount::read_write(&notes).unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let database = place.path().join("agent.db");

    let store = TursoProcessStore::open(&database).await.unwrap();
    let process = Process::builder("svit://local/notes")
        .unwrap()
        .memory("words", value!({}))
        .library("count", COUNT)
        .build()
        .unwrap();
    let process = store.create(process).await.unwrap();
    assert_eq!(ask(&process, folder(), &calls).await, "Counted.");
    assert_eq!(process.read("/memory/words/today").unwrap(), Some(3.into()));
    assert_eq!(
        std::fs::read_to_string(notes.join("today.count")).unwrap(),
        "3"
    );
    assert_eq!(
        process.read("/mounts/notes/today.count").unwrap(),
        Some("3".into())
    );
    let root = process.root_digest();
    drop((process, store));

    // What is stored describes the folder and the port, and opens neither.
    let store = TursoProcessStore::open(&database).await.unwrap();
    let process = store.resume("svit://local/notes").await.unwrap();
    assert_eq!(process.root_digest(), root);
    assert!(process.read("/ports/words").unwrap().is_some());
    let refused = process.read("/mounts/notes/today.txt").unwrap_err();
    assert_eq!(refused.code(), "not_attached");
    let refused = process.exec("/lib/count", "today").await.unwrap_err();
    assert_eq!(refused.code(), "not_attached");

    // Granted again, it goes on, and nothing was committed to grant it.
    std::fs::write(notes.join("today.txt"), "buy some tea and milk").unwrap();
    assert_eq!(ask(&process, folder(), &calls).await, "Counted.");
    assert_eq!(process.read("/memory/words/today").unwrap(), Some(5.into()));
    assert_eq!(
        std::fs::read_to_string(notes.join("today.count")).unwrap(),
        "5"
    );
    assert_eq!(calls.load(Ordering::SeqCst), 2);
}
