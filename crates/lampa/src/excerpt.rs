//! What is shown of one value: a piece of bounded size, in the form that reads best, and where the
//! next piece begins. However large a value is, no more than a piece of it is made into text.

use std::ops::Bound;

use svit::{Kind, List, Map, Path, Stat, Value};

use crate::page;
use crate::printable::one_line;

/// Bytes of a text in one piece.
const TEXT: usize = 16 * 1_024;
/// Bytes of bytes in one piece.
const BYTES: usize = 2 * 1_024;
/// Children of a large container in one piece.
const CHILDREN: usize = 100;
/// Up to here a container is shown whole.
pub(crate) const WHOLE_NODES: u64 = 1_000;
pub(crate) const WHOLE_BYTES: u64 = 16 * 1_024;
/// Characters of one child of a large container.
const PREVIEW: usize = 160;
/// A file of a mount is read as a whole or not at all: up to so many bytes here.
pub(crate) const MOUNTED_BYTES: u64 = 1_024 * 1_024;

/// How a piece is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    Lisp,
    Markdown,
    Text,
    Bytes,
    /// Names of children.
    Listing,
    /// Edits between two versions.
    Diff,
    /// A sentence of ours.
    Note,
}

impl Form {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::Lisp => "Lisp",
            Self::Markdown => "Markdown",
            Self::Text => "text",
            Self::Bytes => "bytes",
            Self::Listing => "listing",
            Self::Diff => "diff",
            Self::Note => "",
        }
    }
}

/// Where a piece begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Place {
    #[default]
    Start,
    /// At a byte of a text or of bytes, or at an edit of a diff.
    At(usize),
    /// Behind a name.
    Behind(String),
}

/// A piece of a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Excerpt {
    pub(crate) form: Form,
    /// Kind and size of the whole, in words.
    pub(crate) facts: String,
    /// The piece; not made printable yet.
    pub(crate) text: String,
    /// Where the next piece begins; none if this is the last.
    pub(crate) next: Option<Place>,
}

impl Excerpt {
    /// A sentence in place of a value.
    pub(crate) fn note(text: impl Into<String>) -> Self {
        Self {
            form: Form::Note,
            facts: String::new(),
            text: text.into(),
            next: None,
        }
    }

    /// A page of names below a path.
    pub(crate) fn names(names: &[impl AsRef<str>], next: Option<&str>, facts: String) -> Self {
        let lines: Vec<String> = names.iter().map(|name| one_line(name.as_ref())).collect();
        Self {
            form: Form::Listing,
            facts,
            text: if lines.is_empty() {
                "nothing is in it".to_owned()
            } else {
                lines.join("\n")
            },
            next: next.map(|name| Place::Behind(name.to_owned())),
        }
    }

    /// The piece of a value that begins at `place`. O(piece + log n).
    pub(crate) fn of(path: &Path, value: &Value, place: &Place) -> Self {
        let start = match place {
            Place::At(at) => *at,
            _ => 0,
        };
        match value {
            Value::Text(text) => of_text(text, start, form_of(path, text)),
            Value::Bytes(bytes) => of_bytes(bytes, start),
            Value::Map(map) if let Some(source) = script(path, map) => {
                of_script(map, source, start)
            }
            Value::Map(map) if !is_small(value) => of_map(map, place),
            Value::List(list) if !is_small(value) => of_list(list, start),
            other => Self {
                form: Form::Json,
                facts: facts_of(other),
                text: page::value(other).trim_end().to_owned(),
                next: None,
            },
        }
    }
}

/// What is known of a path, in words.
pub(crate) fn facts(stat: &Stat) -> String {
    let mut facts = stat.kind.to_string();
    match stat.kind {
        Kind::Map | Kind::List => {
            if let Some(entries) = stat.entries {
                facts += &format!(", {entries} entries");
            }
        }
        _ => {
            if let Some(bytes) = stat.bytes {
                facts += &format!(", {bytes} bytes");
            }
        }
    }
    if let Some(mount) = &stat.mount {
        facts += &format!(", {} ({})", one_line(&mount.source), stat.access.as_str());
        if !mount.attached {
            facts += ", not attached";
        }
    }
    facts
}

fn facts_of(value: &Value) -> String {
    match value {
        Value::Map(map) => format!("map, {} entries", map.len()),
        Value::List(list) => format!("list, {} entries", list.len()),
        Value::Text(text) => format!("text, {} bytes", text.len()),
        Value::Bytes(bytes) => format!("bytes, {} bytes", bytes.len()),
        other => other.kind().to_string(),
    }
}

fn is_small(value: &Value) -> bool {
    let measure = value.measure();
    measure.nodes <= WHOLE_NODES && measure.cbor_len <= WHOLE_BYTES
}

/// The source of the script that a path of `/lib` holds.
fn script<'v>(path: &Path, map: &'v Map) -> Option<&'v str> {
    let is_script = path.len() == 2 && path.segments().next() == Some("lib");
    map.get("source")
        .and_then(Value::as_str)
        .filter(|_| is_script)
}

fn form_of(path: &Path, text: &str) -> Form {
    let name = path.name().unwrap_or_default();
    if path.segments().next() == Some("lib") && name == "source" {
        return Form::Lisp;
    }
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("md" | "markdown") => Form::Markdown,
        Some("lisp" | "scm" | "svit-script") => Form::Lisp,
        Some(_) => Form::Text,
        None if text.starts_with("# ") || text.contains("\n# ") || text.contains("\n## ") => {
            Form::Markdown
        }
        None => Form::Text,
    }
}

fn of_text(text: &str, start: usize, form: Form) -> Excerpt {
    let start = boundary(text, start);
    let mut end = boundary(text, start.saturating_add(TEXT));
    // A piece ends with a line, if it has one that ends.
    if end < text.len()
        && let Some(at) = text[start..end].rfind('\n')
    {
        end = start + at + 1;
    }
    Excerpt {
        form,
        facts: format!("text, {} bytes{}", text.len(), span(start, end, text.len())),
        text: text[start..end].to_owned(),
        next: (end < text.len()).then_some(Place::At(end)),
    }
}

/// The last place between two characters that is not behind `at`.
fn boundary(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at)
}

/// Which part of the whole is shown, where it is not all.
fn span(start: usize, end: usize, of: usize) -> String {
    if start == 0 && end == of {
        String::new()
    } else {
        format!(", {start} to {end}")
    }
}

fn of_bytes(bytes: &[u8], start: usize) -> Excerpt {
    let start = start.min(bytes.len());
    let end = bytes.len().min(start + BYTES);
    let lines = bytes[start..end]
        .chunks(16)
        .enumerate()
        .map(|(row, chunk)| {
            let hex: Vec<String> = chunk.iter().map(|byte| format!("{byte:02x}")).collect();
            let seen = |byte: &u8| {
                if (0x20..0x7f).contains(byte) {
                    char::from(*byte)
                } else {
                    '.'
                }
            };
            let seen: String = chunk.iter().map(seen).collect();
            format!("{:08x}  {:<47}  {seen}", start + row * 16, hex.join(" "))
        });
    Excerpt {
        form: Form::Bytes,
        facts: format!(
            "bytes, {} bytes{}",
            bytes.len(),
            span(start, end, bytes.len())
        ),
        text: lines.collect::<Vec<_>>().join("\n"),
        next: (end < bytes.len()).then_some(Place::At(end)),
    }
}

fn of_script(map: &Map, source: &str, start: usize) -> Excerpt {
    let mut excerpt = of_text(source, start, Form::Lisp);
    let word = |key: &str| map.get(key).and_then(Value::as_str);
    let language = word("language").unwrap_or("svit-lisp@2");
    excerpt.facts = format!("script, {}, {}", preview_text(language), excerpt.facts);
    if start == 0
        && let Some(documentation) = word("documentation")
    {
        let documentation = of_text(documentation, 0, Form::Text).text;
        let comment: Vec<String> = documentation
            .lines()
            .map(|line| format!("; {line}\n"))
            .collect();
        excerpt.text = comment.concat() + &excerpt.text;
    }
    excerpt
}

fn of_map(map: &Map, place: &Place) -> Excerpt {
    let from = match place {
        Place::Behind(name) => Bound::Excluded(name.as_str()),
        _ => Bound::Unbounded,
    };
    let mut rest = map.range(from, Bound::Unbounded);
    let mut lines = Vec::new();
    let mut last = None;
    for (key, child) in rest.by_ref().take(CHILDREN) {
        lines.push(format!("{}: {}", preview_text(key), preview(child)));
        last = Some(key.to_string());
    }
    Excerpt {
        form: Form::Json,
        facts: format!("map, {} entries", map.len()),
        text: lines.join("\n"),
        next: rest.next().and(last).map(Place::Behind),
    }
}

fn of_list(list: &List, start: usize) -> Excerpt {
    let start = start.min(list.len());
    let end = list.len().min(start + CHILDREN);
    let children = list.range(start..end).zip(start..);
    let lines: Vec<String> = children
        .map(|(child, index)| format!("{index}: {}", preview(child)))
        .collect();
    Excerpt {
        form: Form::Json,
        facts: format!(
            "list, {} entries{}",
            list.len(),
            span(start, end, list.len())
        ),
        text: lines.join("\n"),
        next: (end < list.len()).then_some(Place::At(end)),
    }
}

/// A value on one line, of bounded length whatever it is.
pub(crate) fn preview(value: &Value) -> String {
    match value {
        Value::Text(text) => preview_text(text),
        Value::Bytes(bytes) => format!("({} bytes)", bytes.len()),
        Value::List(list) if list.is_empty() => "[]".to_owned(),
        Value::Map(map) if map.is_empty() => "{}".to_owned(),
        Value::List(_) | Value::Map(_) => {
            let measure = value.measure();
            let json = (measure.cbor_len <= PREVIEW as u64)
                .then(|| value.to_json().ok())
                .flatten();
            match (json, value) {
                (Some(json), _) if json.chars().count() <= PREVIEW => json,
                (_, Value::List(list)) => format!("[.. {} entries]", list.len()),
                (_, Value::Map(map)) => format!("{{.. {} entries}}", map.len()),
                _ => String::new(),
            }
        }
        other => other.to_string(),
    }
}

/// The beginning of a text in quotes.
fn preview_text(text: &str) -> String {
    let mut kept: String = text.chars().take(PREVIEW).collect();
    let is_whole = kept.len() == text.len();
    kept = Value::from(kept).to_json().unwrap_or_default();
    if is_whole {
        kept
    } else {
        format!("{kept}.. ({} bytes)", text.len())
    }
}

#[cfg(test)]
mod tests;
