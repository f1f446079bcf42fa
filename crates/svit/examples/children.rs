//! A script that sorts tickets: an easy one by one call of a model, a hard one by a child that looks
//! into it.
//!
//! `cargo run -p svit --example children` needs no key and no network: the models are scripted. The
//! child is a fork, so it has the tickets and notes of its parent; what it writes stays with it, and the
//! parent keeps what its own script makes of the answer.

#![allow(clippy::print_stdout, reason = "a program")]

use std::error::Error;

use svit::{MemoryStore, Message, Ports, Process, Reasoner, Scripted, ScriptedReply, Svit, value};

const SORT: &str = r#"
(define (ask-model ticket)
  (value-get (port-call "llm" (value-map
    "system" "Answer with one word: bug, wish or unclear."
    "prompt" ticket)) "/text"))

(define (ask-child ticket)
  (value-get (port-call "spawn" (value-map
    "prompt" (string-format "Look at /memory/notes. Is this a bug or a wish? {}" ticket))) "/text"))

(define (main name)
  (let ((ticket (read (string-format "/memory/tickets/{}" name)))
        (guess (ask-model ticket))
        (kind (if (= guess "unclear") (ask-child ticket) guess)))
    (do (write (string-format "/memory/sorted/{}" name) kind)
        kind)))
"#;

/// Stands for a small model: it knows a bug when it reads of a crash.
fn small() -> Reasoner {
    let model = Scripted::from_fn(|request| {
        let ticket = request.messages.last().and_then(Message::text);
        let is_crash = ticket.unwrap_or_default().contains("crash");
        ScriptedReply::text(if is_crash { "bug" } else { "unclear" })
    });
    Reasoner::new("small", model)
}

/// Stands for a large model: it reads the notes, leaves one of its own, and answers.
fn large() -> Reasoner {
    let model = Scripted::new([
        ScriptedReply::call("read", value!({"path": "/memory/notes"})),
        ScriptedReply::call(
            "write",
            value!({"path": "/memory/notes/teal", "value": "asked for by one"}),
        ),
        ScriptedReply::text("wish"),
    ]);
    Reasoner::new("large", model)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let process = Process::builder("svit://local/sorter")?
        .memory(
            "tickets",
            value!({"a": "A crash when I press x.", "b": "It should be teal."}),
        )
        .memory("notes", value!({"colors": "are chosen by users"}))
        .memory("sorted", value!({}))
        .library("sort", SORT)
        .build()?;
    let store = MemoryStore::new();
    let process = store.create(process).await?;
    let svit = Svit::persisted(process)?
        .ports(Ports::new().llm(small()).spawn(large()))
        .build()
        .await?;

    let process = svit.process();
    for ticket in ["a", "b"] {
        let activation = process.exec("/lib/sort", ticket).await?;
        let calls: Vec<&str> = activation.ports.iter().map(|call| &*call.name).collect();
        println!(
            "ticket {ticket} is a {}, by {}",
            activation.output.as_str().unwrap_or_default(),
            calls.join(" and ")
        );
    }
    println!(
        "sorted: {}",
        svit.read("/memory/sorted")?.unwrap_or_default()
    );
    println!("notes of the parent: {:?}", svit.discover("/memory/notes")?);
    for name in svit.discover("/children")? {
        let address = format!("{}/children/{name}", process.address());
        let child = store.resume(&*address).await?;
        println!("notes of its child: {:?}", child.discover("/memory/notes")?);
    }
    Ok(())
}
