//! The structural difference of two values as edits, and the one reducer that applies edits.
//!
//! A live commit and a replay both end in [`apply`], so that there is one meaning of an edit.

use std::cmp::Ordering;

use svit_value::{List, Map, Value};

use crate::{Mutation, Op, Path, TreeError};

/// The edits that lead from `before` to `after`, such that `apply(before, diff(before, after))` is
/// `after`.
///
/// In tree order: keys bytewise, indexes by number. A subtree is one `set` if its edits would be
/// longer, as they are stored, than that `set`, and if they would need a path that cannot be: a key
/// that no path can name, more than 64 segments. `/` and what stands directly below it are layout,
/// and are replaced whole for the second reason only. Costs O(changes * log n): shared nodes are not
/// entered.
///
/// ```
/// use svit_tree::{apply, diff};
/// use svit_value::value;
///
/// let before = value!({"notes": ["a"], "count": 1});
/// let after = value!({"notes": ["a", "b"], "count": 1});
/// let edits = diff(&before, &after);
/// assert_eq!((edits.len(), edits[0].op.name()), (1, "append"));
/// assert_eq!(apply(&before, &edits)?, after);
/// # Ok::<(), svit_tree::TreeError>(())
/// ```
pub fn diff(before: &Value, after: &Value) -> Vec<Mutation> {
    walk(&Path::root(), before, after).edits
}

/// Paths with fewer segments name `/` and its nodes.
const LAYOUT: usize = 2;

/// Edits, and how long they are as they are stored.
#[derive(Default)]
struct Patch {
    edits: Vec<Mutation>,
    stored_len: u64,
}

impl Patch {
    fn of(edit: Mutation) -> Self {
        Self {
            stored_len: edit.stored_len(),
            edits: vec![edit],
        }
    }

    fn add(&mut self, other: Self) {
        self.edits.extend(other.edits);
        self.stored_len += other.stored_len;
    }
}

/// Needs a path that cannot be.
struct Unaddressable;

fn walk(path: &Path, before: &Value, after: &Value) -> Patch {
    if before == after {
        return Patch::default();
    }
    let inner = match (before, after) {
        (Value::Map(before), Value::Map(after)) => walk_map(path, before, after),
        (Value::List(before), Value::List(after)) => walk_list(path, before, after),
        _ => Err(Unaddressable),
    };
    let whole = Patch::of(Mutation::set(path.clone(), after.clone()));
    match inner {
        Ok(inner) if path.len() < LAYOUT || inner.stored_len <= whole.stored_len => inner,
        _ => whole,
    }
}

fn walk_map(path: &Path, before: &Map, after: &Map) -> Result<Patch, Unaddressable> {
    let mut patch = Patch::default();
    for change in before.diff(after) {
        let child = path.join(change.key).map_err(|_| Unaddressable)?;
        patch.add(match (change.before, change.after) {
            (Some(old), Some(new)) => walk(&child, old, new),
            (None, Some(new)) => Patch::of(Mutation::set(child, new.clone())),
            (_, None) => Patch::of(Mutation::remove(child)),
        });
    }
    Ok(patch)
}

fn walk_list(path: &Path, before: &List, after: &List) -> Result<Patch, Unaddressable> {
    let mut patch = Patch::default();
    for change in before.diff(after) {
        // What only one of them has stands at the end: one edit below covers all of it.
        let (Some(old), Some(new)) = (change.before, change.after) else {
            break;
        };
        let child = path
            .join(&change.index.to_string())
            .map_err(|_| Unaddressable)?;
        patch.add(walk(&child, old, new));
    }
    let (old, new) = (before.len(), after.len());
    let op = match new.cmp(&old) {
        Ordering::Greater => {
            let tail = after.range(old..new).cloned();
            Op::Append(List::from_values(tail).map_err(|_| Unaddressable)?)
        }
        Ordering::Less => Op::Truncate(new as u64),
        Ordering::Equal => return Ok(patch),
    };
    let path = path.clone();
    patch.add(Patch::of(Mutation { path, op }));
    Ok(patch)
}

/// The value after all edits, in order. O(edits * depth * log n).
///
/// # Errors
/// The first edit that does not fit the value; nothing is returned then.
pub fn apply(value: &Value, edits: &[Mutation]) -> Result<Value, TreeError> {
    edits.iter().try_fold(value.clone(), |value, edit| {
        let segments: Vec<&str> = edit.path.segments().collect();
        edit_at(&value, &segments, edit)
    })
}

/// What is at `path`, if anything. O(depth * log n).
pub fn lookup<'a>(value: &'a Value, path: &Path) -> Option<&'a Value> {
    path.segments()
        .try_fold(value, |value, segment| match value {
            Value::Map(map) => map.get(segment),
            Value::List(list) => list.get(list_index(segment)?),
            _ => None,
        })
}

/// A list index in its only text form: decimal, without leading zeros.
fn list_index(segment: &str) -> Option<usize> {
    let canonical = segment == "0" || !segment.starts_with(['0', '+']);
    segment.parse().ok().filter(|_| canonical)
}

/// Applies `edit` below `value`; `rest` are the segments that are still to be walked.
fn edit_at(value: &Value, rest: &[&str], edit: &Mutation) -> Result<Value, TreeError> {
    let Some((&segment, below)) = rest.split_first() else {
        return edit_here(value, edit);
    };
    match value {
        Value::Map(map) => edit_map(map, segment, below, edit),
        Value::List(list) => edit_list(list, segment, below, edit),
        other => Err(TreeError::WrongKind {
            path: prefix(&edit.path, edit.path.len() - rest.len()),
            expected: "map or list",
            found: other.kind(),
        }),
    }
}

/// The edit of the value that the path names: replace it, or lengthen or shorten a list.
fn edit_here(value: &Value, edit: &Mutation) -> Result<Value, TreeError> {
    let list = || match value {
        Value::List(list) => Ok(list.clone()),
        other => Err(TreeError::WrongKind {
            path: edit.path.clone(),
            expected: "list",
            found: other.kind(),
        }),
    };
    match &edit.op {
        Op::Set(new) => Ok(new.clone()),
        Op::Remove => Err(TreeError::Missing {
            path: edit.path.clone(),
        }),
        Op::Append(values) => {
            let mut list = list()?;
            for value in values.iter() {
                list.push(value.clone()).map_err(at(&edit.path))?;
            }
            Ok(Value::List(list))
        }
        Op::Truncate(length) => {
            let mut list = list()?;
            match usize::try_from(*length) {
                Ok(length) if length < list.len() => list.truncate(length),
                _ => {
                    return Err(TreeError::OutOfRange {
                        path: edit.path.clone(),
                        index: length.to_string(),
                        len: list.len(),
                    });
                }
            }
            Ok(Value::List(list))
        }
    }
}

fn edit_map(map: &Map, key: &str, below: &[&str], edit: &Mutation) -> Result<Value, TreeError> {
    let mut map = map.clone();
    let last = below.is_empty();
    let new = match (map.get(key), &edit.op) {
        (Some(_), Op::Remove) if last => {
            map.remove(key);
            return Ok(Value::Map(map));
        }
        (None, Op::Set(new)) if last => new.clone(),
        (Some(child), _) => edit_at(child, below, edit)?,
        (None, _) if last => {
            return Err(TreeError::Missing {
                path: edit.path.clone(),
            });
        }
        (None, _) => {
            return Err(TreeError::NoParent {
                path: edit.path.clone(),
                parent: prefix(&edit.path, edit.path.len() - below.len()),
            });
        }
    };
    map.insert(key, new).map_err(at(&edit.path))?;
    Ok(Value::Map(map))
}

fn edit_list(list: &List, key: &str, below: &[&str], edit: &Mutation) -> Result<Value, TreeError> {
    let mut list = list.clone();
    let found = list_index(key).and_then(|index| Some((index, list.get(index)?.clone())));
    let Some((index, child)) = found else {
        return Err(TreeError::OutOfRange {
            path: prefix(&edit.path, edit.path.len() - below.len() - 1),
            index: crate::error::quote(key),
            len: list.len(),
        });
    };
    if below.is_empty() && matches!(edit.op, Op::Remove) {
        list.remove(index);
        return Ok(Value::List(list));
    }
    let new = edit_at(&child, below, edit)?;
    list.set(index, new).map_err(at(&edit.path))?;
    Ok(Value::List(list))
}

fn at(path: &Path) -> impl FnOnce(svit_value::ValueError) -> TreeError {
    let path = path.clone();
    move |source| TreeError::Value { path, source }
}

/// The first `count` segments of a path.
fn prefix(path: &Path, count: usize) -> Path {
    let mut path = path.clone();
    while path.len() > count
        && let Some(parent) = path.parent()
    {
        path = parent;
    }
    path
}

#[cfg(test)]
mod tests;
