//! The main job, end to end: a process takes a message, its model remembers a fact, writes a script
//! and runs it, everything is on disk, and a fork goes its own way.
//!
//! `cargo run -p svit --example quickstart` needs no key and no server: a scripted model plays its
//! part. With `OPENAI_API_KEY` (and `OPENAI_BASE_URL`, `SVIT_MODEL`) the same program talks to a
//! real one. Kill it at any moment and start it again: it goes on where it was.
//!
//! `--store FILE` chooses the file, `--fresh` starts over.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program")]

mod scripted;
mod trace;

use std::path::{Path, PathBuf};

use svit::{
    DurableProcess, HistoryQuery, Message, OpenAI, Process, Reasoner, Result, StoreError, Svit,
    TursoProcessStore, value,
};

const PARENT: &str = "svit://local/quickstart";
const CHILD: &str = "svit://local/quickstart-child";
const COLOR: &str = "/memory/facts/release_color";

const INSTRUCTIONS: &str = "Keep facts below /memory/facts, each under its own name in snake case. \
    Keep scripts short, document them, and run a script after you have saved it.";

const REQUEST: &str = "Please remember that the release color is teal, as release_color. Then save \
    a script /lib/announce that reads it, sends the message \"Release <input /version> is <color>\" \
    with send!, and counts the announcements in /memory/facts/announced. Run it for version 1.0.";

#[tokio::main]
async fn main() -> Result<()> {
    let options = Options::parse();
    let file = &options.store;
    if options.fresh {
        remove_store(file);
    }

    println!("== a turn ==");
    println!("store    {}", file.display());
    turn(file).await?;

    println!("\n== recovered from disk ==");
    let store = TursoProcessStore::open(file).await?;
    let parent = store.resume(PARENT).await?;
    println!("{PARENT} is at version {}", parent.version());
    println!("root     {}", parent.root_digest());
    println!("color    {}", trace::shown(parent.read(COLOR)?));

    println!("\n== a fork goes its own way ==");
    let child = fork(&store, &parent).await?;
    println!(
        "child    {CHILD}, forked at version {}",
        child.base().version
    );
    println!("         color {}", trace::shown(child.read(COLOR)?));
    println!(
        "         version {}, root {}",
        child.version(),
        child.root_digest()
    );
    println!("parent   color {}", trace::shown(parent.read(COLOR)?));
    println!(
        "         version {}, root {}",
        parent.version(),
        parent.root_digest()
    );

    println!("\n== history of {PARENT} ==");
    for entry in parent.history(HistoryQuery::default()).await? {
        trace::history(&entry);
    }
    println!("\nRun it again to see that nothing is done twice; --fresh starts over.");
    Ok(())
}

/// Opens the store, sends the request once, lets the model work, and closes the store.
async fn turn(file: &Path) -> Result<()> {
    let store = TursoProcessStore::open(file).await?;
    let mut svit = open(store).await?;
    let (inbox, mut outbox) = (svit.inbox(), svit.outbox_from(0));
    svit.start()?;
    // The key makes a restart harmless: the message is in the inbox once.
    let id = inbox
        .send_keyed("quickstart", Message::user(REQUEST))
        .await?;
    drop(inbox);
    svit.block().await?;
    println!("message  {id}: {REQUEST}");
    trace::turn(&svit.recent_events(200).await?);
    let reply = outbox.recv().await?;
    println!("reply    {}", reply.text().unwrap_or_default());
    println!("remembered: {COLOR} = {}", trace::shown(svit.read(COLOR)?));
    svit.stop().await.map_err(Into::into)
}

/// The process of the store with a loop around it. The store's variable ends here; the process keeps
/// the store open.
async fn open(store: TursoProcessStore) -> Result<Svit> {
    let process = match store.resume(PARENT).await {
        Ok(process) => process,
        Err(svit::ProcessError::Store(StoreError::NotFound { .. })) => {
            let new = Process::builder(PARENT)?
                .memory("facts", value!({}))
                .build()?;
            store.create(new).await?
        }
        Err(other) => return Err(other.into()),
    };
    Ok(Svit::persisted(process)?
        .instructions(INSTRUCTIONS)
        .reasoner(reasoner()?)
        .build()
        .await?)
}

/// A real model if there is a key, else the scripted one.
fn reasoner() -> Result<Reasoner> {
    if std::env::var_os("OPENAI_API_KEY").is_none() {
        println!("model    scripted: no OPENAI_API_KEY, so the answers are part of this example");
        return Ok(Reasoner::new("scripted", scripted::model()));
    }
    let model = std::env::var("SVIT_MODEL").unwrap_or_else(|_| "gpt-5.1".to_owned());
    println!("model    {model}");
    Ok(Reasoner::new(model, OpenAI::from_env()?))
}

/// The child with a color of its own; made once, however often this runs.
async fn fork(store: &TursoProcessStore, parent: &DurableProcess) -> Result<DurableProcess> {
    let child = match parent.fork(CHILD).await {
        Ok(child) => child,
        Err(svit::ProcessError::Store(StoreError::AlreadyExists { .. })) => {
            store.resume(CHILD).await?
        }
        Err(other) => return Err(other.into()),
    };
    if child.read(COLOR)? != Some("crimson".into()) {
        child.write(COLOR, "crimson").await?;
    }
    Ok(child)
}

struct Options {
    store: PathBuf,
    fresh: bool,
}

impl Options {
    fn parse() -> Self {
        let mut options = Self {
            store: PathBuf::from("svit-quickstart.db"),
            fresh: false,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            match (argument.as_str(), arguments.len()) {
                ("--fresh", _) => options.fresh = true,
                ("--store", 1..) => options.store = arguments.next().unwrap_or_default().into(),
                _ => {
                    eprintln!("usage: quickstart [--store FILE] [--fresh]");
                    std::process::exit(2);
                }
            }
        }
        options
    }
}

fn remove_store(file: &Path) {
    for suffix in ["", "-wal", "-shm", "-lock"] {
        let mut name = file.to_owned().into_os_string();
        name.push(suffix);
        // What was never made cannot be removed.
        let _ = std::fs::remove_file(name);
    }
}
