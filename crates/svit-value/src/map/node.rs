//! The tree below a long map: leaves of entries, index nodes of children, cut by the keys' ranks.
//!
//! Node boundaries depend on the keys alone (see `rank`), so the same entries always make the same
//! tree. An edit copies the nodes on its path when they are shared, and changes them in place when not.

use super::{Entry, entry_sums};
use crate::cbor::{MAP_MARKER, Pool, Writer, canonical_order};
use crate::measure::Sums;
use crate::runs::{Place, Runs};
use crate::text::Probe;
use crate::{Digest, Text, Value};
use std::sync::{Arc, OnceLock};

/// The highest level at whose boundaries `key` starts a new node; 0 for most keys. 1 in 32 keys
/// starts a leaf, and 1 in 8 of these a node one level up, and so on.
// THREAT[TM-VALUE-5]
pub(super) fn rank(key: &Text) -> u32 {
    let hash = blake3::hash(key.as_bytes());
    let mut word = [0; 8];
    word.copy_from_slice(&hash.as_bytes()[..8]);
    match u64::from_be_bytes(word).leading_zeros() {
        0..5 => 0,
        zeros => 1 + (zeros - 5) / 3,
    }
}

pub(crate) struct Node {
    pub(crate) sums: Sums,
    digest: OnceLock<Digest>,
    pub(crate) body: Body,
}

#[derive(Clone)]
pub(crate) enum Body {
    Leaf(Runs<Entry>),
    Index(Index),
}

/// Children and the first key of each, at `level` 1 or above.
#[derive(Clone)]
pub(crate) struct Index {
    pub(crate) level: u32,
    pub(crate) keys: Arc<[Text]>,
    pub(crate) nodes: Vec<Arc<Node>>,
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

/// What an edit added to and took from the sums of every node on its path.
#[derive(Default)]
pub(super) struct Delta {
    pub(super) add: Sums,
    pub(super) sub: Sums,
}

/// A node that split off to the right, and the rank of its first key.
pub(super) struct Split {
    pub(super) right: Arc<Node>,
    pub(super) rank: u32,
}

impl Index {
    fn new(level: u32, nodes: Vec<Arc<Node>>) -> Index {
        Index {
            level,
            keys: nodes.iter().map(|node| node.first_key()).collect(),
            nodes,
        }
    }

    /// The child in whose range `key` falls; the first also takes all keys before it.
    #[inline]
    pub(super) fn child(&self, key: &Probe<'_>) -> usize {
        self.keys
            .partition_point(|first| key.order(first).is_le())
            .saturating_sub(1)
    }

    fn put_key(&mut self, at: usize, key: Text) {
        if let Some(slot) = Arc::make_mut(&mut self.keys).get_mut(at) {
            *slot = key;
        }
    }

    fn insert(&mut self, at: usize, node: Arc<Node>) {
        let mut keys = self.keys.to_vec();
        keys.insert(at, node.first_key());
        self.keys = keys.into();
        self.nodes.insert(at, node);
    }

    fn remove(&mut self, at: usize) -> Arc<Node> {
        let mut keys = self.keys.to_vec();
        keys.remove(at);
        self.keys = keys.into();
        self.nodes.remove(at)
    }

    fn split_off(&mut self, at: usize) -> Index {
        let right = Index {
            level: self.level,
            keys: self.keys[at..].into(),
            nodes: self.nodes.split_off(at),
        };
        self.keys = self.keys[..at].into();
        right
    }
}

impl Node {
    pub(super) fn new(body: Body) -> Node {
        let mut node = Node {
            sums: Sums::default(),
            digest: OnceLock::new(),
            body,
        };
        node.sum_up();
        node
    }

    pub(super) fn leaf(entries: Vec<Entry>) -> Arc<Node> {
        Arc::new(Node::new(Body::Leaf(Runs::gather(entries))))
    }

    pub(super) fn index(level: u32, nodes: Vec<Arc<Node>>) -> Arc<Node> {
        Arc::new(Node::new(Body::Index(Index::new(level, nodes))))
    }

    pub(crate) fn level(&self) -> u32 {
        match &self.body {
            Body::Leaf(_) => 0,
            Body::Index(index) => index.level,
        }
    }

    pub(crate) fn first_key(&self) -> Text {
        self.first_key_ref().cloned().unwrap_or_default()
    }

    pub(super) fn first_key_ref(&self) -> Option<&Text> {
        match &self.body {
            Body::Leaf(entries) => entries.first().map(|entry| &entry.0),
            Body::Index(index) => index.keys.first(),
        }
    }

    pub(super) fn last(&self) -> Option<&Entry> {
        let mut node = self;
        loop {
            match &node.body {
                Body::Leaf(entries) => return entries.last(),
                Body::Index(index) => node = index.nodes.last()?,
            }
        }
    }

    pub(crate) fn known_digest(&self) -> Option<&Digest> {
        self.digest.get()
    }

    fn sum_up(&mut self) {
        let mut sums = Sums::default();
        match &self.body {
            Body::Leaf(entries) => entries
                .iter()
                .for_each(|entry| sums.add(&entry_sums(entry))),
            Body::Index(index) => index.nodes.iter().for_each(|node| sums.add(&node.sums)),
        }
        self.sums = sums;
        self.digest.take();
    }

    fn apply(&mut self, delta: &Delta) {
        self.digest.take();
        self.sums.subtract(&delta.sub);
        if delta.sub.depth > delta.add.depth && delta.sub.depth >= self.sums.depth {
            // The deepest entry may be the one that went; the first as deep as it ends the search.
            let was = self.sums.depth;
            self.sums.depth = match &self.body {
                Body::Leaf(entries) => deepest(entries.iter().map(|e| e.1.measure().depth), was),
                Body::Index(index) => deepest(index.nodes.iter().map(|n| n.sums.depth), was),
            };
        }
        self.sums.add(&delta.add);
    }

    #[inline]
    pub(super) fn get(&self, key: &Probe<'_>) -> Option<&Value> {
        let mut node = self;
        loop {
            match &node.body {
                Body::Leaf(entries) => {
                    let at = entries.find(|entry| key.order(&entry.0)).ok()?;
                    return entries.get(at).map(|entry| &entry.1);
                }
                Body::Index(index) => node = index.nodes.get(index.child(key))?,
            }
        }
    }

    /// How many keys come before `key`; with `equal`, `key` itself is counted too.
    pub(super) fn count_before(&self, key: &Probe<'_>, equal: bool) -> u64 {
        let mut count = 0;
        let mut node = self;
        loop {
            match &node.body {
                Body::Leaf(entries) => {
                    let (at, found) = match entries.find(|entry| key.order(&entry.0)) {
                        Ok(at) => (at, equal),
                        Err(at) => (at, false),
                    };
                    return count + entries.count_before(at) as u64 + u64::from(found);
                }
                Body::Index(index) => {
                    let child = index.child(key);
                    count += index.nodes[..child]
                        .iter()
                        .map(|n| n.sums.count)
                        .sum::<u64>();
                    node = &index.nodes[child];
                }
            }
        }
    }

    pub(crate) fn digest(&self, pool: &mut Pool) -> Digest {
        if let Some(digest) = self.digest.get() {
            return *digest;
        }
        // Children first, so that one buffer serves the whole path.
        if let Body::Index(index) = &self.body {
            for node in &index.nodes {
                node.digest(pool);
            }
        }
        let digest = pool.digest(|writer, pool| self.write_block(writer, pool));
        *self.digest.get_or_init(|| digest)
    }

    pub(crate) fn write_block(&self, writer: &mut Writer<'_>, pool: &mut Pool) {
        match &self.body {
            Body::Leaf(entries) => {
                writer.head(5, self.sums.count);
                canonical_order(entries.iter(), |(key, value)| {
                    writer.text(key);
                    value.write_ref(writer, pool);
                });
            }
            Body::Index(index) => {
                writer.head(4, 3);
                writer.slice(MAP_MARKER);
                writer.head(0, index.level.into());
                writer.head(4, index.nodes.len() as u64);
                for (key, node) in index.keys.iter().zip(&index.nodes) {
                    writer.head(4, 2);
                    writer.text(key);
                    let digest = node.digest(pool);
                    writer.link(&digest);
                }
            }
        }
    }
}

fn deepest(depths: impl Iterator<Item = u32>, most: u32) -> u32 {
    let mut deepest = 0;
    for depth in depths {
        deepest = deepest.max(depth);
        if deepest >= most {
            break;
        }
    }
    deepest
}

/// Inserts or replaces below `node`.
pub(super) fn insert(node: &mut Arc<Node>, entry: Entry) -> (Option<Value>, Delta, Option<Split>) {
    let probe = Probe::Short(entry.0.clone());
    insert_at(node, entry, &probe)
}

fn insert_at(
    node: &mut Arc<Node>,
    entry: Entry,
    key: &Probe<'_>,
) -> (Option<Value>, Delta, Option<Split>) {
    let node = Arc::make_mut(node);
    match &mut node.body {
        Body::Leaf(entries) => match entries.find(|e| key.order(&e.0)) {
            Ok(at) => {
                let mut delta = Delta {
                    add: entry_sums(&entry),
                    sub: Sums::default(),
                };
                let old = entries
                    .get_mut(at)
                    .map(|slot| std::mem::replace(slot, entry));
                if let Some(old) = &old {
                    delta.sub = entry_sums(old);
                }
                node.apply(&delta);
                (old.map(|old| old.1), delta, None)
            }
            Err(at) => {
                // In front of all others, it is the old first key that may start a new leaf now.
                let front = at == Place::START;
                let rank = match entries.first() {
                    Some(first) if front => rank(&first.0),
                    _ => rank(&entry.0),
                };
                let delta = Delta {
                    add: entry_sums(&entry),
                    sub: Sums::default(),
                };
                let at = entries.insert(at, entry);
                if rank == 0 {
                    node.apply(&delta);
                    return (None, delta, None);
                }
                let cut = if front { entries.after(at) } else { at };
                let right = entries.split_off(cut);
                node.sum_up();
                let right = Arc::new(Node::new(Body::Leaf(right)));
                (None, delta, Some(Split { right, rank }))
            }
        },
        Body::Index(index) => {
            let child = index.child(key);
            if child == 0 && key.order(&index.keys[0]).is_gt() {
                index.put_key(0, entry.0.clone());
            }
            let (old, delta, split) = insert_at(&mut index.nodes[child], entry, key);
            if let Some(Split { right, rank }) = split {
                index.insert(child + 1, right);
                if rank > index.level {
                    let right = index.split_off(child + 1);
                    node.sum_up();
                    let right = Arc::new(Node::new(Body::Index(right)));
                    return (old, delta, Some(Split { right, rank }));
                }
            }
            node.apply(&delta);
            (old, delta, None)
        }
    }
}

/// Removes `key` below `node`. The flag says that `node` lost its first key and is not at the left
/// edge of the map, so that nothing separates it from the node before it any more.
pub(super) fn remove(
    node: &mut Arc<Node>,
    key: &Probe<'_>,
    left_edge: bool,
) -> (Option<Value>, Delta, bool) {
    let node = Arc::make_mut(node);
    match &mut node.body {
        Body::Leaf(entries) => {
            let found = entries.find(|entry| key.order(&entry.0));
            let Some((at, old)) = found.ok().and_then(|at| Some((at, entries.remove(at)?))) else {
                return (None, Delta::default(), false);
            };
            let delta = Delta {
                add: Sums::default(),
                sub: entry_sums(&old),
            };
            node.apply(&delta);
            (Some(old.1), delta, at == Place::START && !left_edge)
        }
        Body::Index(index) => {
            let child = index.child(key);
            let edge = left_edge && child == 0;
            let (old, delta, mut join) = remove(&mut index.nodes[child], key, edge);
            if join && child > 0 {
                let right = index.remove(child);
                concat(&mut index.nodes[child - 1], right);
                join = false;
            } else if edge {
                let first = &index.nodes[0];
                if first.sums.count == 0 {
                    index.remove(0);
                } else if first.first_key_ref() != index.keys.first() {
                    let first = first.first_key();
                    index.put_key(0, first);
                }
            }
            node.apply(&delta);
            (old, delta, join)
        }
    }
}

/// Appends the entries of `right`, whose first key is gone, to `left`: one node at each level.
fn concat(left: &mut Arc<Node>, right: Arc<Node>) {
    let right = Arc::unwrap_or_clone(right);
    let left = Arc::make_mut(left);
    left.digest.take();
    left.sums.add(&right.sums);
    match (&mut left.body, right.body) {
        (Body::Leaf(left), Body::Leaf(right)) => left.append(right),
        (Body::Index(left), Body::Index(right)) => {
            let mut nodes = right.nodes.into_iter();
            if let (Some(last), Some(first)) = (left.nodes.last_mut(), nodes.next()) {
                concat(last, first);
            }
            left.keys = left
                .keys
                .iter()
                .chain(right.keys.iter().skip(1))
                .cloned()
                .collect();
            left.nodes.extend(nodes);
        }
        // Two children of one node have the same level.
        _ => debug_assert!(false, "levels differ"),
    }
}
