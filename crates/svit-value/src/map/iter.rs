//! Walking a map's entries in key order, whole or a range of it.

use super::node::{Body, Node};
use super::{Entry, Map, Root};
use crate::runs;
use crate::text::Probe;
use crate::{Text, Value};
use std::ops::Bound;
use std::sync::Arc;

/// Iterator over the entries of a [`Map`] in key order; see [`Map::iter`] and [`Map::range`].
///
/// Its length is known. Each step is O(1) on average.
#[derive(Clone, Default)]
pub struct MapIter<'a> {
    above: Vec<std::slice::Iter<'a, Arc<Node>>>,
    leaf: runs::Iter<'a, Entry>,
    flat: std::slice::Iter<'a, Entry>,
    left: usize,
}

impl<'a> MapIter<'a> {
    pub(super) fn all(map: &'a Map) -> MapIter<'a> {
        let mut iter = MapIter {
            left: map.len(),
            ..MapIter::default()
        };
        match &map.root {
            Root::Flat(flat) => iter.flat = flat.items.iter(),
            Root::Tree(node) => iter.descend(node),
        }
        iter
    }

    pub(super) fn range(map: &'a Map, from: Bound<&str>, to: Bound<&str>) -> MapIter<'a> {
        let start = match from {
            Bound::Unbounded => 0,
            Bound::Included(key) => map.count_before(key, false),
            Bound::Excluded(key) => map.count_before(key, true),
        };
        let end = match to {
            Bound::Unbounded => map.len() as u64,
            Bound::Included(key) => map.count_before(key, true),
            Bound::Excluded(key) => map.count_before(key, false),
        };
        // `end - start` fits: both are lengths of what is in memory.
        let left = end.saturating_sub(start) as usize;
        if left == 0 {
            return MapIter::default();
        }
        let mut iter = MapIter {
            left,
            ..MapIter::default()
        };
        match (&map.root, from) {
            (Root::Flat(flat), _) => {
                iter.flat = flat.items.get(start as usize..).unwrap_or_default().iter();
            }
            (Root::Tree(node), Bound::Unbounded) => iter.descend(node),
            (Root::Tree(node), Bound::Included(key)) => iter.seek(node, key, false),
            (Root::Tree(node), Bound::Excluded(key)) => iter.seek(node, key, true),
        }
        iter
    }

    fn descend(&mut self, mut node: &'a Node) {
        loop {
            match &node.body {
                Body::Leaf(entries) => {
                    self.leaf = entries.iter();
                    return;
                }
                Body::Index(index) => {
                    let mut nodes = index.nodes.iter();
                    let Some(first) = nodes.next() else { return };
                    self.above.push(nodes);
                    node = first;
                }
            }
        }
    }

    fn seek(&mut self, mut node: &'a Node, key: &str, skip_equal: bool) {
        let key = Probe::new(key);
        loop {
            match &node.body {
                Body::Leaf(entries) => {
                    match entries.find(|entry| key.order(&entry.0)) {
                        Err(at) => self.leaf = entries.iter_from(at),
                        Ok(at) => {
                            self.leaf = entries.iter_from(at);
                            if skip_equal {
                                self.leaf.next();
                            }
                        }
                    }
                    return;
                }
                Body::Index(index) => {
                    let child = index.child(&key);
                    self.above.push(index.nodes[child + 1..].iter());
                    node = &index.nodes[child];
                }
            }
        }
    }
}

impl<'a> MapIter<'a> {
    #[inline]
    pub(super) fn next_entry(&mut self) -> Option<&'a Entry> {
        self.left = self.left.checked_sub(1)?;
        if let Some(entry) = self.flat.next() {
            return Some(entry);
        }
        loop {
            if let Some(entry) = self.leaf.next() {
                return Some(entry);
            }
            match self.above.last_mut()?.next() {
                Some(node) => self.descend(node),
                None => drop(self.above.pop()),
            }
        }
    }
}

impl<'a> Iterator for MapIter<'a> {
    type Item = (&'a Text, &'a Value);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.next_entry().map(|(key, value)| (key, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for MapIter<'_> {}
impl std::iter::FusedIterator for MapIter<'_> {}

impl<'a> IntoIterator for &'a Map {
    type Item = (&'a Text, &'a Value);
    type IntoIter = MapIter<'a>;

    fn into_iter(self) -> MapIter<'a> {
        self.iter()
    }
}
