//! Shows, for people, what a turn did: what was loaded, run and committed.

use svit::{HistoryEntry, Message, ThreadEvent, Value};

/// A value, or a word for nothing.
pub(crate) fn shown(value: Option<Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), |value| value.to_string())
}

/// The trace of a thread: each tool call with its effect. It is made from the events on disk, so it
/// is the same however often the program was killed in between.
pub(crate) fn turn(events: &[ThreadEvent]) {
    let mut calls: Vec<(String, String)> = Vec::new();
    for event in events {
        match &*event.kind {
            "model.responded" => {
                if let Ok(message) =
                    Message::from_value(event.body.get("message").unwrap_or(&Value::Null))
                {
                    let called = message.tool_calls();
                    calls = called
                        .map(|call| (call.name.clone(), subject(&call.arguments)))
                        .collect();
                }
            }
            "tool.finished" => tool(event, &calls),
            "turn.failed" => println!("failed   {}", text(event.body.get("reason"))),
            _ => {}
        }
    }
}

/// What a call is about.
fn subject(arguments: &Value) -> String {
    match arguments.get("path").and_then(Value::as_str) {
        Some(path) => path.to_owned(),
        None => "a one-off script".to_owned(),
    }
}

fn tool(event: &ThreadEvent, calls: &[(String, String)]) {
    let body = &event.body;
    let index = body.get("index").and_then(Value::as_int).unwrap_or(0);
    let (name, about) = usize::try_from(index)
        .ok()
        .and_then(|index| calls.get(index).cloned())
        .unwrap_or_else(|| (text(body.get("name")), String::new()));
    println!("tool     {name} {about}");
    if body.get("is_error").and_then(Value::as_bool) == Some(true) {
        println!("  error  {}", text(body.get("result")));
    }
    let Some(effect) = body.get("effect").filter(|effect| !effect.is_null()) else {
        return;
    };
    for read in items(effect.get("loaded")) {
        let digest = text(read.get("digest"));
        println!("  load   {} {}", text(read.get("path")), short(&digest));
    }
    if let (Some(ticks), Some(budget)) = (effect.get("ticks"), effect.get("budget")) {
        println!("  run    {ticks} of {budget} ticks");
    }
    let number = |field| effect.get(field).cloned().unwrap_or_default();
    println!(
        "  commit version {} to {}, root {}",
        number("before"),
        number("version"),
        short(&text(effect.get("root")))
    );
    for path in items(effect.get("changed")) {
        println!("         changed {}", text(Some(&path)));
    }
    for intent in items(effect.get("intents")) {
        println!("  intent {}", text(Some(&intent)));
    }
}

/// One line of history.
pub(crate) fn history(entry: &HistoryEntry) {
    let record = &entry.transaction;
    let root = record.root.to_string();
    let edits: Vec<String> = record
        .mutations
        .iter()
        .map(|edit| format!("{} {}", edit.op.name(), edit.path))
        .collect();
    println!(
        "{:>3}  {:<10}  root {}  {}",
        record.version,
        record.source.as_str(),
        short(&root),
        edits.join(", ")
    );
}

fn items(list: Option<&Value>) -> Vec<Value> {
    let list = list.and_then(Value::as_list);
    list.map(|list| list.iter().cloned().collect())
        .unwrap_or_default()
}

fn text(value: Option<&Value>) -> String {
    match value {
        Some(Value::Text(text)) => text.to_string(),
        Some(Value::Null) | None => "-".to_owned(),
        Some(other) => other.to_string(),
    }
}

/// The first twelve digits of a digest.
fn short(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}
