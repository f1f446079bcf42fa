//! What a model gets to see of a result: of bounded length, saying what was cut and how to see the
//! rest.

use svit_model::ToolResult;
use svit_tree::Path;
use svit_txn::{Activation, LogRecord, MountOutcome, MountWritten, Outcome};
use svit_value::{List, Map, Text, Value, ValueError, value};

use crate::thread::count;

/// The most bytes of JSON that one value takes up in a result.
const MAX_BYTES: usize = 24 * 1024;

/// The most bytes of JSON that the log records of a script take up.
const MAX_LOG_BYTES: usize = 8 * 1024;

/// The most characters of an error. A script can raise any text.
const MAX_ERROR: usize = 2_000;

/// How many changed paths are named.
const PATHS: usize = 100;

/// How many names one `discover` gives unless the model asks for fewer.
pub(super) const PAGE: usize = 200;

/// The error of a call, in words for the model.
pub(crate) fn error(call_id: &str, why: &str) -> ToolResult {
    let mut text: String = why.chars().take(MAX_ERROR).collect();
    if text.len() < why.len() {
        text.push('…');
    }
    ToolResult::error(call_id, text)
}

/// How long a value is as JSON; past `MAX_BYTES` at least that it is longer, without writing it.
fn json_len(value: &Value) -> usize {
    // JSON is never shorter than a quarter of the encoding.
    if value.measure().cbor_len > 4 * MAX_BYTES as u64 {
        return usize::MAX;
    }
    value.to_json().map_or(usize::MAX, |json| json.len())
}

/// A value as it is, or its beginning with a note on how to see the rest.
fn bounded(value: &Value, hint: &str) -> Value {
    if json_len(value) <= MAX_BYTES {
        return value.clone();
    }
    let beginning = match value {
        Value::Text(text) => prefix(text, MAX_BYTES).into(),
        other if other.measure().cbor_len <= 16 * MAX_BYTES as u64 => {
            let json = other.to_json().unwrap_or_default();
            prefix(&json, MAX_BYTES).into()
        }
        _ => Value::Null,
    };
    value!({
        "cut": true,
        "kind": value.kind().to_string(),
        "bytes": count(value.measure().cbor_len),
        "beginning": beginning,
        "hint": hint,
    })
}

fn prefix(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// What `read` shows of a value, from an offset on where one was given.
pub(super) fn read(value: &Value, offset: Option<usize>) -> Result<Value, ValueError> {
    if offset.is_none() && json_len(value) <= MAX_BYTES {
        return Ok(value.clone());
    }
    let from = offset.unwrap_or(0);
    match value {
        Value::Text(text) => part_of_text(text, from),
        Value::List(list) => part_of_list(list, from),
        other => Ok(bounded(
            other,
            "too long to show at once; discover this path and read its children",
        )),
    }
}

fn part_of_text(text: &str, from: usize) -> Result<Value, ValueError> {
    let rest = text
        .char_indices()
        .nth(from)
        .map_or("", |(at, _)| &text[at..]);
    let mut shown = prefix(rest, MAX_BYTES);
    // Control characters take six bytes each in JSON.
    while json_len(&shown.into()) > 2 * MAX_BYTES {
        shown = prefix(shown, shown.len() / 2);
    }
    let mut part = Map::new();
    part.insert("text", shown)?;
    part.insert("characters", count(text.chars().count() as u64))?;
    next_offset(
        &mut part,
        from + shown.chars().count(),
        shown.len() < rest.len(),
    )?;
    Ok(part.into())
}

fn part_of_list(list: &List, from: usize) -> Result<Value, ValueError> {
    let mut items = List::new();
    let mut left = MAX_BYTES;
    for item in list.range(from.min(list.len())..list.len()) {
        let len = json_len(item);
        if len > left && !items.is_empty() {
            break;
        }
        left = left.saturating_sub(len);
        items.push(bounded(
            item,
            "too long to show here; read this item's path",
        ))?;
    }
    let next = from.min(list.len()) + items.len();
    let mut part = Map::new();
    part.insert("items", items)?;
    part.insert("length", count(list.len() as u64))?;
    next_offset(&mut part, next, next < list.len())?;
    Ok(part.into())
}

fn next_offset(part: &mut Map, next: usize, is_cut: bool) -> Result<(), ValueError> {
    if is_cut {
        part.insert("cut", true)?;
        part.insert("next_offset", count(next as u64))?;
        part.insert("hint", "call read again with `offset` set to `next_offset`")?;
    }
    Ok(())
}

/// A page of names, from behind one of them.
pub(super) fn page(
    names: Vec<Text>,
    after: Option<&str>,
    limit: usize,
) -> Result<Value, ValueError> {
    let start = after.map_or(0, |after| {
        // Indexes of a list sort by number, so a page continues behind the name, not by order.
        let seen = names.iter().position(|name| name.as_str() == after);
        seen.map_or_else(
            || names.partition_point(|name| name.as_str() <= after),
            |at| at + 1,
        )
    });
    let behind = &names[start.min(names.len())..];
    let mut shown = List::new();
    let mut left = MAX_BYTES;
    for name in behind.iter().take(limit) {
        if name.len() > left && !shown.is_empty() {
            break;
        }
        left = left.saturating_sub(name.len());
        shown.push(name.clone())?;
    }
    let more = behind.len() - shown.len();
    let mut page = Map::new();
    page.insert("names", shown)?;
    if more > 0 {
        page.insert("more", count(more as u64))?;
        let hint = "call discover again with `after` set to the last name";
        page.insert("hint", hint)?;
    }
    Ok(page.into())
}

/// The result of a committed operation for the model, and its effect for the trace.
pub(crate) fn committed(
    call_id: &str,
    outcome: &Outcome,
) -> Result<(ToolResult, Value), ValueError> {
    match outcome {
        Outcome::Activation(activation) => {
            let mut result = ToolResult::new(call_id, activation_result(activation)?);
            result.is_error = activation
                .mounts
                .iter()
                .any(|write| write.outcome != MountOutcome::Made);
            Ok((result, activation_effect(activation)?))
        }
        Outcome::Change(change) => {
            let paths = || change.paths.iter().map(|changed| &changed.path);
            let mut result = Map::new();
            result.insert("version", count(change.version))?;
            insert_changed(&mut result, paths())?;
            let mut effect = result.clone();
            effect.insert("before", count(change.version.saturating_sub(1)))?;
            effect.insert("root", change.root.to_string())?;
            Ok((ToolResult::new(call_id, result), effect.into()))
        }
        _ => Ok((ToolResult::new(call_id, Value::Null), Value::Null)),
    }
}

fn insert_changed<'a>(
    into: &mut Map,
    paths: impl ExactSizeIterator<Item = &'a Path>,
) -> Result<(), ValueError> {
    let more = paths.len().saturating_sub(PATHS);
    let named = List::from_values(paths.take(PATHS).map(Path::to_string))?;
    into.insert("changed", named)?;
    if more > 0 {
        into.insert("more_changed", count(more as u64))?;
    }
    Ok(())
}

fn activation_result(activation: &Activation) -> Result<Value, ValueError> {
    let mut result = Map::new();
    let hint = "too long to show; let the script return less, or write it below /memory and read \
                parts of it";
    result.insert("output", bounded(&activation.output, hint))?;
    insert_logs(&mut result, &activation.logs)?;
    result.insert("version", count(activation.version))?;
    insert_changed(&mut result, activation.changed.iter())?;
    result.insert("ticks", count(activation.ticks))?;
    insert_mounts(&mut result, &activation.mounts)?;
    Ok(result.into())
}

/// What became of writes below mounts, if there were any.
fn insert_mounts(result: &mut Map, writes: &[MountWritten]) -> Result<(), ValueError> {
    if writes.is_empty() {
        return Ok(());
    }
    let shown = writes.iter().take(PATHS).map(|write| {
        let outcome = match &write.outcome {
            MountOutcome::Pending => "not known".to_owned(),
            MountOutcome::Made => "made".to_owned(),
            MountOutcome::Failed(failure) => format!("failed: {failure}"),
            MountOutcome::Skipped => "not tried, since one before it failed".to_owned(),
        };
        value!({"path": write.path.to_string(), "outcome": outcome})
    });
    result.insert("mounts", List::from_values(shown)?)?;
    if writes.len() > PATHS {
        result.insert("more_mounts", count((writes.len() - PATHS) as u64))?;
    }
    Ok(())
}

fn insert_logs(result: &mut Map, logs: &[LogRecord]) -> Result<(), ValueError> {
    let mut shown = List::new();
    let mut left = MAX_LOG_BYTES;
    for log in logs {
        let record = value!({
            "level": log.level.as_str(),
            "message": log.message.clone(),
            "fields": log.fields.clone(),
        });
        let len = json_len(&record);
        if len > left {
            break;
        }
        left -= len;
        shown.push(record)?;
    }
    let more = logs.len() - shown.len();
    result.insert("logs", shown)?;
    if more > 0 {
        result.insert("more_logs", count(more as u64))?;
    }
    Ok(())
}

fn activation_effect(activation: &Activation) -> Result<Value, ValueError> {
    let loaded = activation.loaded.iter().map(|read| {
        value!({
            "path": read.path.to_string(),
            "digest": read.digest.map_or(Value::Null, |digest| Value::from(digest.to_string())),
        })
    });
    let intents = activation.messages.iter().map(|intent| intent.id.as_str());
    let mut effect = Map::new();
    effect.insert("before", count(activation.before))?;
    effect.insert("version", count(activation.version))?;
    effect.insert("root", activation.root.to_string())?;
    effect.insert("ticks", count(activation.ticks))?;
    effect.insert("budget", count(activation.budget))?;
    effect.insert("loaded", List::from_values(loaded)?)?;
    insert_changed(&mut effect, activation.changed.iter())?;
    effect.insert("intents", List::from_values(intents)?)?;
    Ok(effect.into())
}
