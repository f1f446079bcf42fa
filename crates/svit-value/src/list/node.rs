//! The tree below a long list: leaves of 64 elements, index nodes of 64 children.

use super::chunks::{CHUNK, Chunks};
use crate::cbor::{LIST_MARKER, Pool, Writer};
use crate::measure::Sums;
use crate::{Digest, Value};
use std::sync::{Arc, OnceLock};

/// Elements in a full leaf, and children in a full index node.
pub(crate) const FAN: usize = 64;
const FAN_BITS: u32 = FAN.trailing_zeros();

pub(crate) struct Node {
    pub(crate) sums: Sums,
    digest: OnceLock<Digest>,
    pub(crate) body: Body,
}

#[derive(Clone)]
pub(crate) enum Body {
    Leaf(Chunks<Value>),
    /// At `level` 1 or above; each child is there.
    Index(u32, Chunks<Option<Arc<Node>>>),
}

impl Clone for Node {
    /// A copy that is about to be edited: it has no digest yet.
    fn clone(&self) -> Node {
        Node {
            sums: self.sums,
            digest: OnceLock::new(),
            body: self.body.clone(),
        }
    }
}

/// How many elements a full node of a level holds.
fn full(level: u32) -> u64 {
    1u64.checked_shl(FAN_BITS * (level + 1)).unwrap_or(u64::MAX)
}

/// Which child of a node of `level` holds the element at `index`.
#[inline]
pub(super) fn child(level: u32, index: usize) -> usize {
    (index >> (FAN_BITS * level)) % FAN
}

impl Node {
    fn new(body: Body) -> Arc<Node> {
        let mut node = Node {
            sums: Sums::default(),
            digest: OnceLock::new(),
            body,
        };
        node.sum_up();
        Arc::new(node)
    }

    fn sum_up(&mut self) {
        let mut sums = Sums::default();
        match &self.body {
            Body::Leaf(values) => values.iter().for_each(|value| sums.add(&Sums::of(value))),
            Body::Index(_, nodes) => {
                nodes.iter().flatten().for_each(|node| sums.add(&node.sums));
            }
        }
        self.sums = sums;
        self.digest.take();
    }

    /// The tree of more than 64 elements.
    pub(super) fn tower(values: Vec<Value>) -> Arc<Node> {
        let mut values = values.into_iter();
        let mut nodes = Vec::with_capacity(values.len().div_ceil(FAN));
        while values.len() > 0 {
            let leaf = Chunks::gather(values.by_ref().take(FAN));
            nodes.push(Node::new(Body::Leaf(leaf)));
        }
        let mut level = 1;
        while nodes.len() > 1 {
            let mut below = nodes.into_iter().map(Some);
            nodes = Vec::with_capacity(below.len().div_ceil(FAN));
            while below.len() > 0 {
                let group = Chunks::gather(below.by_ref().take(FAN));
                nodes.push(Node::new(Body::Index(level, group)));
            }
            level += 1;
        }
        nodes
            .pop()
            .unwrap_or_else(|| Node::new(Body::Leaf(Chunks::gather([]))))
    }

    pub(crate) fn level(&self) -> u32 {
        match &self.body {
            Body::Leaf(_) => 0,
            Body::Index(level, _) => *level,
        }
    }

    pub(crate) fn known_digest(&self) -> Option<&Digest> {
        self.digest.get()
    }

    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<&Value> {
        if index as u64 >= self.sums.count {
            return None;
        }
        self.leaf(index)?.get(index % FAN)
    }

    /// The leaf that holds the element at `index`.
    #[inline]
    fn leaf(&self, index: usize) -> Option<&Chunks<Value>> {
        let mut node = self;
        loop {
            match &node.body {
                Body::Leaf(values) => return Some(values),
                Body::Index(level, nodes) => node = nodes.get(child(*level, index))?.as_ref()?,
            }
        }
    }

    /// The elements beside that at `index`, and how many of them are before it.
    pub(super) fn around(&self, index: usize) -> Option<(&[Value], usize)> {
        let values = self.leaf(index)?.around(index % FAN);
        Some((values, index % CHUNK))
    }

    pub(crate) fn digest(&self, pool: &mut Pool) -> Digest {
        if let Some(digest) = self.digest.get() {
            return *digest;
        }
        // Children first, so that one buffer serves the whole path.
        if let Body::Index(_, nodes) = &self.body {
            for node in nodes.iter().flatten() {
                node.digest(pool);
            }
        }
        let digest = pool.digest(|writer, pool| self.write_block(writer, pool));
        *self.digest.get_or_init(|| digest)
    }

    pub(crate) fn write_block(&self, writer: &mut Writer<'_>, pool: &mut Pool) {
        match &self.body {
            Body::Leaf(values) => {
                writer.head(4, values.len() as u64);
                for value in values.iter() {
                    value.write_ref(writer, pool);
                }
            }
            Body::Index(level, nodes) => {
                writer.head(4, 3);
                writer.slice(LIST_MARKER);
                writer.head(0, (*level).into());
                writer.head(4, nodes.len() as u64);
                for node in nodes.iter().flatten() {
                    let digest = node.digest(pool);
                    writer.link(&digest);
                }
            }
        }
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        match &self.body {
            Body::Leaf(values) => {
                for value in values.iter() {
                    value.write(writer);
                    writer.breathe();
                }
            }
            Body::Index(_, nodes) => nodes.iter().flatten().for_each(|node| node.write(writer)),
        }
    }
}

fn index(level: u32, nodes: impl IntoIterator<Item = Arc<Node>>) -> Arc<Node> {
    let nodes = Chunks::gather(nodes.into_iter().map(Some));
    Node::new(Body::Index(level, nodes))
}

/// A path of nodes that holds one element, `level` high.
fn spine(level: u32, value: Value) -> Arc<Node> {
    let leaf = Node::new(Body::Leaf(Chunks::gather([value])));
    (1..=level).fold(leaf, |node, level| index(level, [node]))
}

/// Appends an element to the tree below `root`, which may grow by a level.
pub(super) fn push(root: &mut Arc<Node>, value: Value) {
    let level = root.level();
    if root.sums.count == full(level) {
        let left = Arc::clone(root);
        *root = index(level + 1, [left, spine(level, value)]);
        return;
    }
    let add = Sums::of(&value);
    push_below(root, value, &add);
}

fn push_below(node: &mut Arc<Node>, value: Value, add: &Sums) {
    let node = Arc::make_mut(node);
    node.digest.take();
    node.sums.add(add);
    match &mut node.body {
        Body::Leaf(values) => values.push(value),
        Body::Index(level, nodes) => {
            let room = |last: &Arc<Node>| last.sums.count < full(*level - 1);
            if nodes.last().and_then(Option::as_ref).is_some_and(room)
                && let Some(Some(last)) = nodes.last_mut()
            {
                push_below(last, value, add);
            } else {
                nodes.push(Some(spine(*level - 1, value)));
            }
        }
    }
}

/// Replaces the element at an index, if it exists, and gives the old one.
pub(super) fn set(node: &mut Arc<Node>, index: usize, value: Value) -> Option<Value> {
    let add = Sums::of(&value);
    set_below(node, index, value, &add).map(|(old, _)| old)
}

fn set_below(
    node: &mut Arc<Node>,
    index: usize,
    value: Value,
    add: &Sums,
) -> Option<(Value, Sums)> {
    let node = Arc::make_mut(node);
    node.digest.take();
    let (old, sub) = match &mut node.body {
        Body::Leaf(values) => {
            let old = std::mem::replace(values.get_mut(index % FAN)?, value);
            let sub = Sums::of(&old);
            (old, sub)
        }
        Body::Index(level, nodes) => {
            let child = nodes.get_mut(child(*level, index))?.as_mut()?;
            set_below(child, index, value, add)?
        }
    };
    node.sums.subtract(&sub);
    if sub.depth > add.depth && sub.depth >= node.sums.depth {
        // The deepest element may be the one that went.
        node.sums.depth = match &node.body {
            Body::Leaf(values) => values.iter().map(|v| v.measure().depth).max(),
            Body::Index(_, nodes) => nodes.iter().flatten().map(|n| n.sums.depth).max(),
        }
        .unwrap_or(0);
    }
    node.sums.add(add);
    Some((old, sub))
}

/// Cuts the tree to its first `len` elements, `len` > 64 and less than there are.
pub(super) fn truncate(root: &mut Arc<Node>, len: usize) {
    truncate_below(root, len);
    loop {
        let only = match &root.body {
            Body::Index(_, nodes) if nodes.len() == 1 => nodes.get(0).cloned().flatten(),
            _ => None,
        };
        match only {
            Some(only) => *root = only,
            None => return,
        }
    }
}

fn truncate_below(node: &mut Arc<Node>, len: usize) {
    if node.sums.count <= len as u64 {
        return;
    }
    let node = Arc::make_mut(node);
    match &mut node.body {
        Body::Leaf(values) => values.truncate(len),
        Body::Index(level, nodes) => {
            // A node holds 2^bits elements below each child, so this cannot overflow.
            let below = 1usize << (FAN_BITS * *level);
            let last = (len - 1) / below;
            nodes.truncate(last + 1);
            if let Some(Some(node)) = nodes.last_mut() {
                truncate_below(node, len - last * below);
            }
        }
    }
    node.sum_up();
}
