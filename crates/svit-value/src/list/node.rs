//! The tree below a long list: leaves of 64 elements, index nodes of 64 children.

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

pub(crate) enum Body {
    Leaf(Vec<Value>),
    /// At `level` 1 or above.
    Index(u32, Vec<Arc<Node>>),
}

impl Clone for Node {
    /// A copy that is about to be edited: it has no digest yet, and room for one more.
    fn clone(&self) -> Node {
        Node {
            sums: self.sums,
            digest: OnceLock::new(),
            body: match &self.body {
                Body::Leaf(values) => Body::Leaf(roomy(values)),
                Body::Index(level, nodes) => Body::Index(*level, roomy(nodes)),
            },
        }
    }
}

fn roomy<T: Clone>(items: &[T]) -> Vec<T> {
    let mut copy = Vec::with_capacity((items.len() + 1).min(FAN));
    copy.extend_from_slice(items);
    copy
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
            Body::Index(_, nodes) => nodes.iter().for_each(|node| sums.add(&node.sums)),
        }
        self.sums = sums;
        self.digest.take();
    }

    /// The tree of more than 64 elements.
    pub(super) fn tower(values: Vec<Value>) -> Arc<Node> {
        let mut values = values.into_iter();
        let mut nodes = Vec::with_capacity(values.len().div_ceil(FAN));
        while values.len() > 0 {
            let mut leaf = Vec::with_capacity(values.len().min(FAN));
            leaf.extend(values.by_ref().take(FAN));
            nodes.push(Node::new(Body::Leaf(leaf)));
        }
        let mut level = 1;
        while nodes.len() > 1 {
            nodes = nodes
                .chunks(FAN)
                .map(|group| Node::new(Body::Index(level, group.to_vec())))
                .collect();
            level += 1;
        }
        nodes
            .pop()
            .unwrap_or_else(|| Node::new(Body::Leaf(Vec::new())))
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

    /// The elements of the leaf that holds the element at `index`.
    pub(super) fn leaf(&self, index: usize) -> Option<&[Value]> {
        let mut node = self;
        loop {
            match &node.body {
                Body::Leaf(values) => return Some(values),
                Body::Index(level, nodes) => node = nodes.get(child(*level, index))?,
            }
        }
    }

    pub(crate) fn digest(&self, pool: &mut Pool) -> Digest {
        if let Some(digest) = self.digest.get() {
            return *digest;
        }
        // Children first, so that one buffer serves the whole path.
        if let Body::Index(_, nodes) = &self.body {
            for node in nodes {
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
                values
                    .iter()
                    .for_each(|value| value.write_ref(writer, pool));
            }
            Body::Index(level, nodes) => {
                writer.head(4, 3);
                writer.slice(LIST_MARKER);
                writer.head(0, (*level).into());
                writer.head(4, nodes.len() as u64);
                for node in nodes {
                    let digest = node.digest(pool);
                    writer.link(&digest);
                }
            }
        }
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        match &self.body {
            Body::Leaf(values) => {
                for value in values {
                    value.write(writer);
                    writer.breathe();
                }
            }
            Body::Index(_, nodes) => nodes.iter().for_each(|node| node.write(writer)),
        }
    }
}

/// A path of nodes that holds one element, `level` high.
fn spine(level: u32, value: Value) -> Arc<Node> {
    let leaf = Node::new(Body::Leaf(vec![value]));
    (1..=level).fold(leaf, |node, level| {
        Node::new(Body::Index(level, vec![node]))
    })
}

/// Appends an element to the tree below `root`, which may grow by a level.
pub(super) fn push(root: &mut Arc<Node>, value: Value) {
    let level = root.level();
    if root.sums.count == full(level) {
        let left = Arc::clone(root);
        *root = Node::new(Body::Index(level + 1, vec![left, spine(level, value)]));
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
        Body::Index(level, nodes) => match nodes.last_mut() {
            Some(last) if last.sums.count < full(*level - 1) => push_below(last, value, add),
            _ => nodes.push(spine(*level - 1, value)),
        },
    }
}

/// Replaces the element at an index that exists.
pub(super) fn set(node: &mut Arc<Node>, index: usize, value: Value) -> Value {
    let add = Sums::of(&value);
    set_below(node, index, value, &add).0
}

fn set_below(node: &mut Arc<Node>, index: usize, value: Value, add: &Sums) -> (Value, Sums) {
    let node = Arc::make_mut(node);
    node.digest.take();
    let (old, sub) = match &mut node.body {
        Body::Leaf(values) => {
            let old = std::mem::replace(&mut values[index % FAN], value);
            let sub = Sums::of(&old);
            (old, sub)
        }
        Body::Index(level, nodes) => set_below(&mut nodes[child(*level, index)], index, value, add),
    };
    node.sums.subtract(&sub);
    if sub.depth > add.depth && sub.depth >= node.sums.depth {
        // The deepest element may be the one that went.
        node.sums.depth = match &node.body {
            Body::Leaf(values) => values.iter().map(|v| v.measure().depth).max(),
            Body::Index(_, nodes) => nodes.iter().map(|n| n.sums.depth).max(),
        }
        .unwrap_or(0);
    }
    node.sums.add(add);
    (old, sub)
}

/// Cuts the tree to its first `len` elements, `len` > 64 and less than there are.
pub(super) fn truncate(root: &mut Arc<Node>, len: usize) {
    truncate_below(root, len);
    loop {
        let only = match &root.body {
            Body::Index(_, nodes) if nodes.len() == 1 => Arc::clone(&nodes[0]),
            _ => return,
        };
        *root = only;
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
            if let Some(node) = nodes.last_mut() {
                truncate_below(node, len - last * below);
            }
        }
    }
    node.sum_up();
}
