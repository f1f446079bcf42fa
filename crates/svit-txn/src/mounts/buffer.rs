//! Mount writes that are not made yet, and how a mount reads with them.

use svit_tree::mount::{MountError, MountPath, MountStat};
use svit_tree::{Mutation, Path, apply, lookup};
use svit_value::{Kind, Map, Text, Value};

use super::Mount;
use crate::{Error, Limits};

/// A write below a mount, or a removal, that waits for its transition to be committed.
#[derive(Clone, Debug)]
pub(crate) struct MountWrite {
    pub(crate) path: Path,
    pub(crate) mount: Mount,
    pub(crate) inside: MountPath,
    /// None removes.
    pub(crate) value: Option<Value>,
}

/// One node of a mount as it will be once the writes are made.
pub(super) struct Overlay<'a> {
    /// What the newest write at or above the node leaves there; none if there is no such write.
    base: Option<Option<Value>>,
    /// Later writes below the node, with their paths from it.
    below: Vec<(Path, &'a Option<Value>)>,
}

impl<'a> Overlay<'a> {
    pub(super) fn of(
        writes: &'a [MountWrite],
        mount: &Mount,
        node: &MountPath,
        limits: &Limits,
    ) -> Result<Self, Error> {
        for list in shifted(writes, mount, node) {
            // No list stands above this one: it would have been found in an earlier round.
            let overlay = Self::by_place(writes, mount, &list);
            if overlay.is_list(mount, &list)? {
                let rest = tail(node.as_path(), list.as_path().len());
                let list = overlay.read(mount, &list, limits)?;
                let value = list.as_ref().and_then(|list| lookup(list, &rest)).cloned();
                return Ok(Self {
                    base: Some(value),
                    below: Vec::new(),
                });
            }
        }
        Ok(Self::by_place(writes, mount, node))
    }

    /// Where no element of a list was moved, the node is found by its place.
    fn by_place(writes: &'a [MountWrite], mount: &Mount, node: &MountPath) -> Self {
        let node = node.as_path();
        let (mut base, mut below) = (None, Vec::new());
        for write in writes.iter().filter(|w| w.mount.place == mount.place) {
            let at = write.inside.as_path();
            if node.starts_with(at) {
                let rest = tail(node, at.len());
                let value = write.value.as_ref();
                base = Some(value.and_then(|value| lookup(value, &rest)).cloned());
                below.clear();
            } else if at.starts_with(node) {
                below.push((tail(at, node.len()), &write.value));
            }
        }
        Self { base, below }
    }

    fn is_list(&self, mount: &Mount, node: &MountPath) -> Result<bool, Error> {
        Ok(match &self.base {
            Some(value) => matches!(value, Some(Value::List(_))),
            None => mount
                .stat(node)?
                .is_some_and(|stat| stat.kind == Kind::List),
        })
    }

    pub(super) fn read(
        self,
        mount: &Mount,
        node: &MountPath,
        limits: &Limits,
    ) -> Result<Option<Value>, Error> {
        let value = match self.base {
            Some(value) => value,
            None => mount.read(node, limits)?,
        };
        if self.below.is_empty() {
            return Ok(value);
        }
        // What is written below a node that is not there makes it a map.
        let value = value.unwrap_or_else(|| Map::new().into());
        let edits = self.below.into_iter().map(|(path, value)| match value {
            Some(value) => Mutation::set(path, value.clone()),
            None => Mutation::remove(path),
        });
        let edits: Vec<Mutation> = edits.collect();
        apply(&value, &edits).map(Some).map_err(|error| {
            mount.failed(MountError::Refused {
                path: node.clone(),
                why: format!("what was written below it does not fit: {error}"),
            })
        })
    }

    pub(super) fn list(
        self,
        mount: &Mount,
        node: &MountPath,
        limits: &Limits,
    ) -> Result<Vec<Text>, Error> {
        let names = if !self.below.is_empty() && self.is_list(mount, node)? {
            // Edits of a list move what is behind them.
            match self.read(mount, node, limits)? {
                Some(value) => children(&value),
                None => Vec::new(),
            }
        } else {
            let mut names = match &self.base {
                Some(value) => value.as_ref().map(children).unwrap_or_default(),
                None => mount.list(node, limits)?,
            };
            for (path, value) in &self.below {
                edit_names(&mut names, path, value.is_some());
            }
            names
        };
        mount.check_entries(node, names.len(), limits)?;
        Ok(names)
    }

    pub(super) fn stat(self, mount: &Mount, node: &MountPath) -> Result<Option<MountStat>, Error> {
        let stat = match &self.base {
            Some(value) => value.as_ref().map(facts),
            None => mount.stat(node)?,
        };
        if self.below.is_empty() {
            return Ok(stat);
        }
        let is_made = self.below.iter().any(|(_, value)| value.is_some());
        let kind = match stat {
            Some(stat) => Some(stat.kind),
            None => is_made.then_some(Kind::Map),
        };
        // How many children it will have is not known without listing them.
        Ok(kind.map(|kind| MountStat {
            kind,
            entries: None,
            bytes: None,
        }))
    }
}

/// The nodes above `node` from which something was removed by an index, from the mount's root down:
/// what stood behind it in one that is a list has moved.
fn shifted(writes: &[MountWrite], mount: &Mount, node: &MountPath) -> Vec<MountPath> {
    let node = node.as_path();
    let removals = writes
        .iter()
        .filter(|w| w.mount.place == mount.place && w.value.is_none());
    let above = removals.filter_map(|write| {
        let at = write.inside.as_path();
        let is_index = at.name().is_some_and(|name| name.parse::<u64>().is_ok());
        let list = at.parent().filter(|_| is_index)?;
        let is_above = node.len() > list.len() && node.starts_with(&list);
        MountPath::parse(list).ok().filter(|_| is_above)
    });
    let mut above: Vec<MountPath> = above.collect();
    above.sort_by_key(|list| list.as_path().len());
    above.dedup();
    above
}

/// The path without its first segments.
fn tail(path: &Path, skipped: usize) -> Path {
    let rest = path.segments().skip(skipped);
    // Segments of a path are good segments, and fewer of them are no longer.
    rest.fold(Path::root(), |path, segment| {
        path.join(segment).unwrap_or(path)
    })
}

/// What a write at `path` from a node does to the sorted names of the node's children.
fn edit_names(names: &mut Vec<Text>, path: &Path, is_set: bool) {
    let Some(child) = path.segments().next() else {
        return;
    };
    match names.binary_search_by(|name| name.as_str().cmp(child)) {
        Err(place) if is_set => names.insert(place, Text::from(child)),
        Ok(place) if !is_set && path.len() == 1 => drop(names.remove(place)),
        _ => {}
    }
}

fn children(value: &Value) -> Vec<Text> {
    match value {
        Value::Map(map) => map.keys().cloned().collect(),
        Value::List(list) => (0..list.len()).map(|n| Text::from(n.to_string())).collect(),
        _ => Vec::new(),
    }
}

fn facts(value: &Value) -> MountStat {
    let (entries, bytes) = match value {
        Value::Map(map) => (Some(map.len() as u64), None),
        Value::List(list) => (Some(list.len() as u64), None),
        Value::Text(text) => (Some(0), Some(text.len() as u64)),
        Value::Bytes(bytes) => (Some(0), Some(bytes.len() as u64)),
        _ => (Some(0), None),
    };
    MountStat {
        kind: value.kind(),
        entries,
        bytes,
    }
}
