//! Doing what a command says, and showing what came of it.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path as File;

use svit::{
    Activation, Change, DurableProcess, HistoryEntry, HistoryQuery, List, LoopError, Message, Path,
    Process, Svit, Value, value,
};

use crate::command::Command;
use crate::diff::{self, Edit};
use crate::failure::Failure;
use crate::model::OPENAI_KEY;
use crate::page;
use crate::printable::{one_line, printable};
use crate::session::Session;

/// Paths of one version that are shown to people.
const SHOWN_PATHS: usize = 4;
/// Edits that `diff` shows to people.
const SHOWN_EDITS: usize = 1_000;
/// Names in one page of a listing.
const NAMES: usize = 1_000;

/// A result in both of its forms: lines for people, and the value that `--json` prints.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) lines: String,
    pub(crate) json: Value,
}

impl Shown {
    /// Prints one of the two.
    pub(crate) fn print(&self, as_json: bool) -> Result<(), Failure> {
        if as_json {
            print(&(self.json.to_json()? + "\n"))
        } else {
            print(&self.lines)
        }
    }
}

/// Prints a text as it is.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Does what was asked.
pub(crate) async fn perform(session: &Session, command: Command) -> Result<Shown, Failure> {
    match command {
        Command::Send { text } => send(session.talk()?, &text).await,
        other => perform_on(session.process(), other).await,
    }
}

/// Does what needs no model.
pub(crate) async fn perform_on(
    process: &DurableProcess,
    command: Command,
) -> Result<Shown, Failure> {
    match command {
        Command::Log { path } => log(process, path).await,
        Command::Diff { from, to } => differing(process, from, to).await,
        Command::Show { path, at } => show(process, path, at).await,
        Command::Discover { path } => discover(process, path),
        Command::Stat { path } => stat(process, path),
        Command::Write { path, value } => written(&process.write(&path, value).await?),
        Command::Remove { path } => written(&process.remove(&path).await?),
        Command::Exec { path, input } => executed(&process.exec(&path, input).await?),
        Command::Export { file } => export(process, &file),
        Command::Import { .. } => Ok(imported(process)),
        Command::Send { .. } => Err(Failure::NoModel {
            variable: OPENAI_KEY,
        }),
    }
}

async fn log(process: &DurableProcess, path: Option<Path>) -> Result<Shown, Failure> {
    let mut lines = String::new();
    let mut json = List::new();
    let mut query = HistoryQuery {
        path,
        ..HistoryQuery::default()
    };
    let path = query.path.clone();
    loop {
        let page = process.history(query.clone()).await?;
        for entry in &page {
            lines += &log_line(entry);
            json.push(log_entry(entry)?)?;
        }
        match page.last() {
            Some(last) => query.from = last.transaction.version + 1,
            None => break,
        }
    }
    if lines.is_empty() {
        lines = match path {
            Some(path) => format!("no version that is kept has changed {path}\n"),
            None => format!("nothing has happened since version {}\n", process.version()),
        };
    }
    Ok(Shown {
        lines,
        json: json.into(),
    })
}

fn log_line(entry: &HistoryEntry) -> String {
    let transaction = &entry.transaction;
    let line = format!(
        "{:>6}  {}  {:<10}  {}",
        transaction.version,
        page::time(transaction.committed_at),
        transaction.source.as_str(),
        changed_words(transaction.mutations.iter().map(|m| &m.path)),
    );
    format!("{}\n", one_line(line.trim_end()))
}

/// The first changed paths of a version, and how many more there are.
pub(crate) fn changed_words<'a>(paths: impl Iterator<Item = &'a Path>) -> String {
    let paths = distinct(paths);
    let shown = paths[..paths.len().min(SHOWN_PATHS)].join(" ");
    match paths.len().saturating_sub(SHOWN_PATHS) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn log_entry(entry: &HistoryEntry) -> Result<Value, Failure> {
    let transaction = &entry.transaction;
    Ok(value!({
        "version": (count(transaction.version)),
        "committed_at": (count(transaction.committed_at)),
        "source": (transaction.source.as_str()),
        "changed": (List::from_values(distinct(transaction.mutations.iter().map(|m| &m.path)))?),
        "root": (transaction.root.to_string()),
        "digest": (entry.digest.to_string()),
    }))
}

/// The text forms of paths, each once, in the order of their edits.
fn distinct<'a>(paths: impl Iterator<Item = &'a Path>) -> Vec<String> {
    let mut all: Vec<String> = paths.map(Path::to_string).collect();
    all.dedup();
    all
}

async fn differing(process: &DurableProcess, from: u64, to: u64) -> Result<Shown, Failure> {
    let edits = diff::between(process, from, to).await?;
    let mut lines = diff::text(&edits, 0, SHOWN_EDITS);
    if edits.len() > SHOWN_EDITS {
        lines += &format!(
            "and {} more edits; --json gives all\n",
            edits.len() - SHOWN_EDITS
        );
    }
    Ok(Shown {
        lines: if edits.is_empty() {
            "no difference\n".to_owned()
        } else {
            printable(&lines)
        },
        json: List::from_values(edits.iter().map(Edit::to_value))?.into(),
    })
}

async fn show(process: &DurableProcess, path: Path, at: Option<u64>) -> Result<Shown, Failure> {
    let found = match at {
        Some(version) => process.read_at(version, &path).await?,
        None => process.read(&path)?,
    };
    let value = found.ok_or(Failure::Nothing { path, at })?;
    Ok(Shown {
        lines: page::value(&value),
        json: value,
    })
}

fn discover(process: &DurableProcess, path: Path) -> Result<Shown, Failure> {
    let (mut lines, mut json, mut after) = (String::new(), List::new(), None);
    if process.stat(&path)?.is_none() {
        return Err(Failure::Nothing { path, at: None });
    }
    loop {
        let page = process.discover_page(&path, after.as_deref(), NAMES)?;
        for name in page.names {
            lines += &(one_line(&name) + "\n");
            json.push(name)?;
        }
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    Ok(Shown {
        lines,
        json: json.into(),
    })
}

fn stat(process: &DurableProcess, path: Path) -> Result<Shown, Failure> {
    let stat = process.stat(&path)?;
    let facts = stat.ok_or(Failure::Nothing { path, at: None })?.to_value();
    Ok(Shown {
        lines: page::value(&facts),
        json: facts,
    })
}

/// Writes the newest version to a new file: what is there stays.
fn export(process: &DurableProcess, file: &File) -> Result<Shown, Failure> {
    let snapshot = process.snapshot();
    let bytes = if file.extension().is_some_and(|ending| ending == "json") {
        Process::restore(snapshot.as_bytes())?
            .export_json()?
            .into_bytes()
    } else {
        snapshot.into_bytes()
    };
    let written = OpenOptions::new().write(true).create_new(true).open(file);
    let written = written.and_then(|mut file| {
        file.write_all(&bytes)?;
        file.sync_all()
    });
    written.map_err(|source| Failure::File {
        what: "written",
        file: file.to_owned(),
        source,
    })?;
    let version = process.version();
    Ok(Shown {
        lines: one_line(&format!(
            "version {version}, {} bytes: {}",
            bytes.len(),
            file.display()
        )) + "\n",
        json: value!({"version": (count(version)), "bytes": (count(bytes.len() as u64))}),
    })
}

fn imported(process: &DurableProcess) -> Shown {
    let version = process.version();
    Shown {
        lines: format!("{} is at version {version}\n", process.address()),
        json: value!({
            "address": (process.address().as_str()),
            "version": (count(version)),
            "root": (process.root_digest().to_string()),
        }),
    }
}

fn written(change: &Change) -> Result<Shown, Failure> {
    let paths = distinct(change.paths.iter().map(|changed| &changed.path));
    let what = match paths.as_slice() {
        [] => "nothing changed".to_owned(),
        paths => format!("changed {}", paths.join(" ")),
    };
    Ok(Shown {
        lines: one_line(&format!("version {}: {what}", change.version)) + "\n",
        json: value!({
            "version": (count(change.version)),
            "changed": (List::from_values(paths)?),
            "root": (change.root.to_string()),
        }),
    })
}

fn executed(activation: &Activation) -> Result<Shown, Failure> {
    let paths = distinct(activation.changed.iter());
    let mut lines = page::value(&activation.output);
    let mut logs = List::new();
    for record in &activation.logs {
        let level = record.level.as_str();
        let text = format!("{level}: {} {}", record.message, record.fields);
        lines += &(one_line(&text) + "\n");
        logs.push(value!({
            "level": (level),
            "message": (record.message.clone()),
            "fields": (record.fields.clone()),
        }))?;
    }
    let summary = format!(
        "version {} to {}, {} of {} ticks, {} messages, changed: {}",
        activation.before,
        activation.version,
        activation.ticks,
        activation.budget,
        activation.messages.len(),
        if paths.is_empty() {
            "nothing".to_owned()
        } else {
            paths.join(" ")
        },
    );
    lines += &(one_line(&summary) + "\n");
    Ok(Shown {
        lines,
        json: value!({
            "output": (activation.output.clone()),
            "logs": logs,
            "messages": (count(activation.messages.len() as u64)),
            "changed": (List::from_values(paths)?),
            "before": (count(activation.before)),
            "version": (count(activation.version)),
            "root": (activation.root.to_string()),
            "ticks": (count(activation.ticks)),
            "budget": (count(activation.budget)),
        }),
    })
}

/// Sends a message and waits for its answer.
pub(crate) async fn send(svit: &Svit, text: &str) -> Result<Shown, Failure> {
    let mut outbox = svit.outbox();
    let message = svit.inbox().send(Message::user(text)).await?;
    let answer = loop {
        match outbox.recv().await {
            // Messages of an earlier call that was cut off are answered first.
            Ok(answer) if answer.in_reply_to() != Some(message) => {}
            Err(LoopError::TurnFailed { message: other, .. }) if other != message => {}
            end => break end?,
        }
    };
    let text = answer.text().unwrap_or_default();
    Ok(Shown {
        lines: printable(text) + "\n",
        json: value!({
            "message": (message.to_string()),
            "answer": (text),
            "version": (count(svit.process().version())),
        }),
    })
}

/// A count as a value.
pub(crate) fn count(n: u64) -> Value {
    Value::Int(i64::try_from(n).unwrap_or(i64::MAX))
}
