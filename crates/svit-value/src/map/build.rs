//! Building the tree of a long map from sorted entries, and keeping its root canonical.

use super::node::{Body, Node, Split, rank};
use super::{Entry, FLAT_MAX};
use crate::flat;
use crate::measure::Sums;
use std::sync::Arc;

/// A node and the rank of its first key.
type Ranked = (u32, Arc<Node>);

/// The root of a map with these entries, which are sorted and without duplicates.
pub(super) fn root(entries: Vec<Entry>) -> super::Root {
    if entries.len() <= FLAT_MAX {
        let mut sums = Sums::default();
        entries
            .iter()
            .for_each(|entry| sums.add(&super::entry_sums(entry)));
        return super::Root::Flat(flat::pack(sums, entries));
    }
    let mut leaves = Vec::with_capacity(entries.len() / 24);
    let mut entries = entries.into_iter().map(|entry| (rank(&entry.0), entry));
    let mut group: Vec<Entry> = Vec::with_capacity(FLAT_MAX);
    let mut first = 0;
    for (rank, entry) in entries.by_ref() {
        if rank >= 1 && !group.is_empty() {
            leaves.push((first, Node::leaf(std::mem::take(&mut group))));
        }
        if group.is_empty() {
            first = rank;
        }
        group.push(entry);
    }
    leaves.push((first, Node::leaf(group)));
    super::Root::Tree(tower(1, leaves))
}

/// Groups nodes of level `level - 1` until one is left.
fn tower(mut level: u32, mut nodes: Vec<Ranked>) -> Arc<Node> {
    while nodes.len() > 1 {
        let mut above = Vec::with_capacity(nodes.len() / 6 + 1);
        let mut group = Vec::new();
        let mut first = 0;
        for (rank, node) in nodes {
            if rank > level && !group.is_empty() {
                above.push((first, Node::index(level, std::mem::take(&mut group))));
            }
            if group.is_empty() {
                first = rank;
            }
            group.push(node);
        }
        above.push((first, Node::index(level, group)));
        (level, nodes) = (level + 1, above);
    }
    nodes
        .pop()
        .map_or_else(|| Node::leaf(Vec::new()), |(_, node)| node)
}

/// The root above a root that split.
pub(super) fn grow(left: Arc<Node>, split: Split) -> Arc<Node> {
    let level = left.level() + 1;
    tower(level, vec![(0, left), (split.rank, split.right)])
}

/// Drops index nodes at the top that have one child only.
pub(super) fn shrink(root: &mut Arc<Node>) {
    loop {
        let only = match &root.body {
            Body::Index(index) if index.nodes.len() == 1 => Arc::clone(&index.nodes[0]),
            _ => return,
        };
        *root = only;
    }
}
