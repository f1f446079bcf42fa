//! What each subcommand does, and how it shows what came of it.

use std::io::{self, Write};

use svit::{
    Activation, Change, DurableProcess, HistoryEntry, HistoryQuery, List, LoopError, Message,
    OpenAI, Path, Reasoner, Svit, Value, value,
};

use crate::arguments::{Call, Command};
use crate::failure::Failure;
use crate::instance::Instance;
use crate::page;

/// The model that `send` talks to if nobody chose one.
const DEFAULT_MODEL: &str = "gpt-5.1";
/// Paths of one version that `log` shows to people.
const SHOWN_PATHS: usize = 4;

/// A result in both of its forms: lines for people, and the value that `--json` prints.
struct Shown {
    lines: String,
    json: Value,
}

/// Does what was asked and prints the result.
pub(crate) async fn run(call: Call) -> Result<(), Failure> {
    // Without a model there is nothing to open an instance for.
    let reasoner = match &call.command {
        Command::Send { model, .. } => Some(reasoner(model.clone())?),
        _ => None,
    };
    let instance = Instance::open(call.data_dir, &call.instance).await?;
    let result = perform(&instance.process, call.command, reasoner).await;
    let closed = instance.close().await;
    let shown = result?;
    closed?;
    if call.json {
        print(&(shown.json.to_json()? + "\n"))
    } else {
        print(&shown.lines)
    }
}

/// Prints a text as it is.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

async fn perform(
    process: &DurableProcess,
    command: Command,
    reasoner: Option<Reasoner>,
) -> Result<Shown, Failure> {
    match command {
        Command::Log => log(process).await,
        Command::Show { path, at } => show(process, path, at).await,
        Command::Write { path, value } => {
            let change = process.write(&path, value).await?;
            written(&change)
        }
        Command::Exec { path, input } => executed(&process.exec(&path, input).await?),
        Command::Send { text, .. } => {
            let reasoner = reasoner.ok_or(Failure::NoModel)?;
            send(process, &text, reasoner).await
        }
    }
}

async fn log(process: &DurableProcess) -> Result<Shown, Failure> {
    let mut lines = String::new();
    let mut json = List::new();
    let mut query = HistoryQuery::default();
    loop {
        let page = process.history(query).await?;
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
        lines = format!("nothing has happened since version {}\n", process.version());
    }
    Ok(Shown {
        lines,
        json: json.into(),
    })
}

fn log_line(entry: &HistoryEntry) -> String {
    let transaction = &entry.transaction;
    let paths: Vec<String> = changed(transaction.mutations.iter().map(|m| &m.path));
    let more = match paths.len().saturating_sub(SHOWN_PATHS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let shown = &paths[..paths.len().min(SHOWN_PATHS)];
    let line = format!(
        "{:>6}  {}  {:<10}  {}{more}",
        transaction.version,
        page::time(transaction.committed_at),
        transaction.source.as_str(),
        shown.join(" "),
    );
    format!("{}\n", page::one_line(line.trim_end()))
}

fn log_entry(entry: &HistoryEntry) -> Result<Value, Failure> {
    let transaction = &entry.transaction;
    Ok(value!({
        "version": (count(transaction.version)),
        "committed_at": (count(transaction.committed_at)),
        "source": (transaction.source.as_str()),
        "changed": (List::from_values(changed(transaction.mutations.iter().map(|m| &m.path)))?),
        "root": (transaction.root.to_string()),
        "digest": (entry.digest.to_string()),
    }))
}

/// The text forms of paths, each once, in the order of their edits.
fn changed<'a>(paths: impl Iterator<Item = &'a Path>) -> Vec<String> {
    let mut all: Vec<String> = paths.map(Path::to_string).collect();
    all.dedup();
    all
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

fn written(change: &Change) -> Result<Shown, Failure> {
    let paths = changed(change.paths.iter().map(|changed| &changed.path));
    let what = match paths.as_slice() {
        [] => "nothing changed".to_owned(),
        paths => format!("changed {}", paths.join(" ")),
    };
    Ok(Shown {
        lines: page::one_line(&format!("version {}: {what}", change.version)) + "\n",
        json: value!({
            "version": (count(change.version)),
            "changed": (List::from_values(paths)?),
            "root": (change.root.to_string()),
        }),
    })
}

fn executed(activation: &Activation) -> Result<Shown, Failure> {
    let paths = changed(activation.changed.iter());
    let mut lines = page::value(&activation.output);
    let mut logs = List::new();
    for record in &activation.logs {
        let level = record.level.as_str();
        let text = format!("{level}: {} {}", record.message, record.fields);
        lines += &(page::one_line(&text) + "\n");
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
    lines += &(page::one_line(&summary) + "\n");
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

fn reasoner(model: Option<String>) -> Result<Reasoner, Failure> {
    let model = model
        .or_else(|| std::env::var("SVIT_MODEL").ok())
        .unwrap_or_else(|| DEFAULT_MODEL.to_owned());
    Ok(Reasoner::new(model, OpenAI::from_env()?))
}

async fn send(process: &DurableProcess, text: &str, reasoner: Reasoner) -> Result<Shown, Failure> {
    let mut svit = Svit::persisted(process.clone())?
        .reasoner(reasoner)
        .build()
        .await?;
    let inbox = svit.inbox();
    let mut outbox = svit.outbox();
    let message = inbox.send(Message::user(text)).await?;
    drop(inbox);
    svit.start()?;
    let answer = loop {
        match outbox.recv().await {
            // Messages of an earlier call that was cut off are answered first.
            Ok(answer) if answer.in_reply_to() != Some(message) => {}
            Err(LoopError::TurnFailed { message: other, .. }) if other != message => {}
            end => break end?,
        }
    };
    svit.stop().await?;
    let text = answer.text().unwrap_or_default();
    Ok(Shown {
        lines: page::printable(text) + "\n",
        json: value!({
            "message": (message.to_string()),
            "answer": (text),
            "version": (count(process.version())),
        }),
    })
}

fn count(n: u64) -> Value {
    Value::Int(i64::try_from(n).unwrap_or(i64::MAX))
}
