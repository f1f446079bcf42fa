//! Which blocks a value has, and which of them another value lacks.

use crate::cbor::{Pool, Writer};
use crate::list::{self, ListDiff, ListPart, node as list_node};
use crate::map::{self, MapDiff, MapPiece, node as map_node};
use crate::{Digest, Value};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// Iterator over blocks with their digests, see [`Value::blocks`] and [`Value::new_blocks`].
///
/// It shares the value, and makes each block only when it is asked for.
pub struct Blocks {
    /// What is still to be listed, the next last.
    pending: Vec<Pending>,
    listed: BTreeSet<Digest>,
    pool: Pool,
}

/// A part to be listed; `whole` when all below it is to be listed too.
struct Pending {
    part: Part,
    whole: bool,
}

/// What has a block of its own.
enum Part {
    Value(Value),
    MapNode(Arc<map_node::Node>),
    ListNode(Arc<list_node::Node>),
}

impl Part {
    fn digest(&self, pool: &mut Pool) -> Digest {
        match self {
            Part::Value(value) => value.digest_in(pool),
            Part::MapNode(node) => node.digest(pool),
            Part::ListNode(node) => node.digest(pool),
        }
    }

    fn write(&self, writer: &mut Writer<'_>, pool: &mut Pool) {
        match self {
            Part::Value(value) => value.write_block(writer, pool),
            Part::MapNode(node) => node.write_block(writer, pool),
            Part::ListNode(node) => node.write_block(writer, pool),
        }
    }

    /// What its block links to, in key or index order.
    fn links(&self) -> Vec<Part> {
        match self {
            Part::Value(Value::Map(map)) => match &map.root {
                map::Root::Flat(flat) => linked(flat.items.iter().map(|entry| &entry.1)),
                map::Root::Tree(node) => map_links(node),
            },
            Part::Value(Value::List(list)) => match &list.root {
                list::Root::Flat(flat) => linked(flat.items.iter()),
                list::Root::Tree(node) => list_links(node),
            },
            Part::Value(_) => Vec::new(),
            Part::MapNode(node) => map_links(node),
            Part::ListNode(node) => list_links(node),
        }
    }
}

fn linked<'a>(values: impl Iterator<Item = &'a Value>) -> Vec<Part> {
    values
        .filter(|value| value.is_linked())
        .map(|value| Part::Value(value.clone()))
        .collect()
}

fn map_links(node: &map_node::Node) -> Vec<Part> {
    match &node.body {
        map_node::Body::Leaf(entries) => linked(entries.iter().map(|entry| &entry.1)),
        map_node::Body::Index(index) => index.nodes.iter().cloned().map(Part::MapNode).collect(),
    }
}

fn list_links(node: &list_node::Node) -> Vec<Part> {
    match &node.body {
        list_node::Body::Leaf(values) => linked(values.iter()),
        list_node::Body::Index(_, nodes) => nodes
            .iter()
            .flatten()
            .cloned()
            .map(Part::ListNode)
            .collect(),
    }
}

impl Blocks {
    pub(super) fn all(value: &Value) -> Blocks {
        Blocks {
            pending: vec![Pending {
                part: Part::Value(value.clone()),
                whole: true,
            }],
            listed: BTreeSet::new(),
            pool: Pool::default(),
        }
    }

    pub(super) fn new(newer: &Value, older: &Value) -> Blocks {
        let mut pool = Pool::default();
        let mut pending = Vec::new();
        // With all digests known, equal nodes are met as equal, not only shared ones.
        if newer.digest_in(&mut pool) != older.digest_in(&mut pool) {
            changed(newer, Some(older), &mut pending);
        }
        pending.reverse();
        Blocks {
            pending,
            listed: BTreeSet::new(),
            pool,
        }
    }
}

/// Lists what `newer`, which is a block, has and `older` lacks; they differ.
fn changed(newer: &Value, older: Option<&Value>, pending: &mut Vec<Pending>) {
    match (newer, older) {
        (Value::Map(after), Some(Value::Map(before))) => {
            let mut diff = MapDiff::traced(before, after);
            let changes: Vec<_> = diff.by_ref().collect();
            pending.extend(diff.opened().map(|piece| Pending {
                part: match piece {
                    MapPiece::Node(node) => Part::MapNode(Arc::clone(node)),
                    _ => Part::Value(newer.clone()),
                },
                whole: false,
            }));
            for change in changes {
                child(change.after, change.before, pending);
            }
        }
        (Value::List(after), Some(Value::List(before))) => {
            let mut diff = ListDiff::traced(before, after);
            let changes: Vec<_> = diff.by_ref().collect();
            pending.extend(diff.opened().map(|part| Pending {
                part: match part {
                    ListPart::Node(node) => Part::ListNode(Arc::clone(node)),
                    ListPart::Flat(_) => Part::Value(newer.clone()),
                },
                whole: false,
            }));
            for change in changes {
                child(change.after, change.before, pending);
            }
        }
        _ => pending.push(Pending {
            part: Part::Value(newer.clone()),
            whole: true,
        }),
    }
}

fn child(after: Option<&Value>, before: Option<&Value>, pending: &mut Vec<Pending>) {
    if let Some(after) = after
        && after.is_linked()
    {
        changed(after, before, pending);
    }
}

impl Iterator for Blocks {
    type Item = (Digest, Vec<u8>);

    fn next(&mut self) -> Option<(Digest, Vec<u8>)> {
        loop {
            let Pending { part, whole } = self.pending.pop()?;
            let digest = part.digest(&mut self.pool);
            if !self.listed.insert(digest) {
                continue;
            }
            if whole {
                let links = part.links().into_iter().rev();
                self.pending
                    .extend(links.map(|part| Pending { part, whole }));
            }
            let mut writer = Writer::with_capacity(256);
            part.write(&mut writer, &mut self.pool);
            return Some((digest, writer.into_bytes()));
        }
    }
}

impl fmt::Debug for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocks")
            .field("pending", &self.pending.len())
            .field("listed", &self.listed.len())
            .finish()
    }
}
