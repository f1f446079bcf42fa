//! What differs between two versions, with what was there before.

use svit::{DurableProcess, List, Map, Op, Path, Value};

use crate::excerpt::{WHOLE_BYTES, WHOLE_NODES, preview};
use crate::failure::Failure;
use crate::page;
use crate::place::find;

/// Lines of one text that a diff shows.
const LINES: usize = 40;
/// Up to so many bytes a value is one line.
const SHORT: u64 = 48;

/// One place that differs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Edit {
    path: Path,
    op: Op,
    /// What is there in the first version; none for nothing.
    before: Option<Value>,
}

/// The edits that lead from one version to another. Reads both: O(state + records).
pub(crate) async fn between(
    process: &DurableProcess,
    from: u64,
    to: u64,
) -> Result<Vec<Edit>, Failure> {
    let mutations = process.diff(from, to).await?;
    let root = process
        .read_at(from, Path::root())
        .await?
        .unwrap_or(Value::Null);
    let edit = |mutation: svit::Mutation| Edit {
        before: find(&root, &mutation.path).cloned(),
        path: mutation.path,
        op: mutation.op,
    };
    Ok(mutations.into_iter().map(edit).collect())
}

/// Some of the edits for people: `-` is what was there, `+` what is there now.
pub(crate) fn text(edits: &[Edit], first: usize, count: usize) -> String {
    edits
        .iter()
        .skip(first)
        .take(count)
        .map(Edit::text)
        .collect()
}

impl Edit {
    fn text(&self) -> String {
        let path = &self.path;
        match (&self.op, &self.before) {
            (Op::Set(value), None) => format!("{path}\n{}", signed('+', &lines(value))),
            (Op::Set(value), Some(before)) => format!("{path}\n{}", replaced(before, value)),
            (Op::Remove, Some(before)) => format!("{path}\n{}", signed('-', &lines(before))),
            (Op::Remove, None) => format!("{path}\n- removed\n"),
            (Op::Append(values), before) => {
                let length = before
                    .as_ref()
                    .and_then(Value::as_list)
                    .map_or(0, List::len);
                let mut text = format!("{path} grows from {length} by {}\n", values.len());
                for value in values.iter().take(LINES) {
                    text += &format!("+ {}\n", preview(value));
                }
                text
            }
            (Op::Truncate(length), before) => {
                let before = before
                    .as_ref()
                    .and_then(Value::as_list)
                    .map_or(0, List::len);
                format!("{path} shrinks from {before} to {length}\n")
            }
        }
    }

    /// The edit in the form of a stored one, with `before`.
    pub(crate) fn to_value(&self) -> Value {
        let mutation = svit::Mutation {
            path: self.path.clone(),
            op: self.op.clone(),
        };
        let stored = mutation
            .to_value()
            .unwrap_or_else(|_| self.path.to_string().into());
        let mut map = stored.as_map().cloned().unwrap_or_else(Map::new);
        if let Some(before) = &self.before {
            // A value as deep as values may be does not fit into the edit.
            let _ = map.insert("before", before.clone());
        }
        map.into()
    }
}

/// The lines of a text, or of the JSON of a value, if that is not too much; else a value in short.
fn lines(value: &Value) -> Vec<String> {
    if let Some(text) = value.as_str() {
        if text.contains('\n') {
            return text.lines().map(str::to_owned).collect();
        }
        return vec![preview(value)];
    }
    let measure = value.measure();
    if measure.cbor_len <= SHORT || measure.cbor_len > WHOLE_BYTES || measure.nodes > WHOLE_NODES {
        return vec![preview(value)];
    }
    page::value(value).lines().map(str::to_owned).collect()
}

/// What differs between two texts, without the lines that both begin and end with.
fn replaced(before: &Value, after: &Value) -> String {
    let (old, new) = (lines(before), lines(after));
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[same..], &new[same..]);
    let tail = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    let place = match same {
        0 => String::new(),
        same => format!("@ line {}\n", same + 1),
    };
    place + &signed('-', old) + &signed('+', new)
}

fn signed(sign: char, lines: &[String]) -> String {
    let mut text: String = lines
        .iter()
        .take(LINES)
        .map(|line| format!("{sign} {line}\n"))
        .collect();
    if lines.len() > LINES {
        text += &format!("{sign} .. {} more lines\n", lines.len() - LINES);
    }
    text
}

#[cfg(test)]
mod tests;
