//! What differs between two lists, found by walking only what they do not share.

use super::chunks::Iter;
use super::node::{Body, FAN, Node, child};
use super::{List, Root};
use crate::{Digest, Value};
use std::sync::Arc;

/// One index whose element differs between two lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListChange<'a> {
    /// The index.
    pub index: usize,
    /// The element in the first list; absent behind its end.
    pub before: Option<&'a Value>,
    /// The element in the second list; absent behind its end.
    pub after: Option<&'a Value>,
}

/// Iterator over the indexes that differ between two lists, in order; see [`List::diff`].
pub struct ListDiff<'a> {
    /// What is still to be compared, the next pair last.
    pairs: Vec<Pair<'a>>,
    leaf: Leaf<'a>,
    /// Parts of the second list that the first does not have in the same place.
    trace: Option<Vec<Part<'a>>>,
}

struct Leaf<'a> {
    before: Iter<'a, Value>,
    after: Iter<'a, Value>,
    index: usize,
}

/// Two parts of the same index range: nodes of `level` or, where a list is shorter, lower ones.
struct Pair<'a> {
    before: Option<Part<'a>>,
    after: Option<Part<'a>>,
    level: u32,
    base: usize,
}

#[derive(Clone, Copy)]
pub(crate) enum Part<'a> {
    Node(&'a Arc<Node>),
    Flat(&'a crate::flat::Shared<Value>),
}

impl<'a> Part<'a> {
    fn level(self) -> u32 {
        match self {
            Part::Node(node) => node.level(),
            Part::Flat(_) => 0,
        }
    }

    fn known_digest(self) -> Option<&'a Digest> {
        match self {
            Part::Node(node) => node.known_digest(),
            Part::Flat(flat) => flat.digest.get(),
        }
    }

    fn same(self, other: Part<'a>) -> bool {
        match (self, other) {
            (Part::Node(a), Part::Node(b)) if Arc::ptr_eq(a, b) => true,
            (Part::Flat(a), Part::Flat(b)) if Arc::ptr_eq(a, b) => true,
            _ => match (self.known_digest(), other.known_digest()) {
                (Some(a), Some(b)) => a == b,
                _ => false,
            },
        }
    }

    fn values(self) -> Iter<'a, Value> {
        match self {
            Part::Flat(flat) => Iter::of_slice(&flat.items),
            Part::Node(node) => match &node.body {
                Body::Leaf(values) => values.iter(),
                Body::Index(..) => Iter::of_slice(&[]),
            },
        }
    }

    /// The `at`-th part one level below `level`.
    fn below(self, level: u32, at: usize) -> Option<Part<'a>> {
        if self.level() < level {
            return (at == 0).then_some(self);
        }
        match self {
            Part::Flat(_) => None,
            Part::Node(node) => match &node.body {
                Body::Leaf(_) => None,
                Body::Index(_, nodes) => nodes.get(at)?.as_ref().map(Part::Node),
            },
        }
    }
}

impl<'a> ListDiff<'a> {
    pub(super) fn new(before: &'a List, after: &'a List) -> ListDiff<'a> {
        let part = |list: &'a List| match &list.root {
            Root::Flat(flat) => Part::Flat(flat),
            Root::Tree(node) => Part::Node(node),
        };
        let (before, after) = (part(before), part(after));
        ListDiff {
            leaf: Leaf {
                before: Iter::of_slice(&[]),
                after: Iter::of_slice(&[]),
                index: 0,
            },
            trace: None,
            pairs: vec![Pair {
                level: before.level().max(after.level()),
                before: Some(before),
                after: Some(after),
                base: 0,
            }],
        }
    }

    /// A diff that remembers which nodes only `after` has, given that all digests are known.
    pub(crate) fn traced(before: &'a List, after: &'a List) -> ListDiff<'a> {
        ListDiff {
            trace: Some(Vec::new()),
            ..ListDiff::new(before, after)
        }
    }

    /// The nodes that only `after` has, once the diff has been walked.
    pub(crate) fn opened(self) -> impl Iterator<Item = Part<'a>> {
        self.trace.unwrap_or_default().into_iter()
    }
}

impl<'a> Iterator for ListDiff<'a> {
    type Item = ListChange<'a>;

    fn next(&mut self) -> Option<ListChange<'a>> {
        loop {
            while let Some(change) = self.leaf.step() {
                if change.before != change.after {
                    return Some(change);
                }
            }
            let Pair {
                before,
                after,
                level,
                base,
            } = self.pairs.pop()?;
            // Who asks for new nodes has no use for what was cut off.
            if after.is_none() && self.trace.is_some() {
                continue;
            }
            if let (Some(a), Some(b)) = (before, after)
                && a.same(b)
            {
                continue;
            }
            if let Some(trace) = &mut self.trace
                && let Some(after) = after
                && after.level() == level
            {
                trace.push(after);
            }
            if level == 0 {
                self.leaf = Leaf {
                    before: before.map_or(Iter::of_slice(&[]), Part::values),
                    after: after.map_or(Iter::of_slice(&[]), Part::values),
                    index: base,
                };
                continue;
            }
            for at in (0..FAN).rev() {
                let below = |part: Option<Part<'a>>| part.and_then(|part| part.below(level, at));
                let (before, after) = (below(before), below(after));
                if before.is_some() || after.is_some() {
                    self.pairs.push(Pair {
                        before,
                        after,
                        level: level - 1,
                        base: base + at * step(level),
                    });
                }
            }
        }
    }
}

/// How many indexes a child of a node of `level` covers.
fn step(level: u32) -> usize {
    debug_assert_eq!(child(level, 1usize << (6 * level)), 1);
    1 << (6 * level)
}

impl<'a> Leaf<'a> {
    fn step(&mut self) -> Option<ListChange<'a>> {
        let before = self.before.next();
        let after = self.after.next();
        if before.is_none() && after.is_none() {
            return None;
        }
        let index = self.index;
        self.index += 1;
        Some(ListChange {
            index,
            before,
            after,
        })
    }
}

impl std::iter::FusedIterator for ListDiff<'_> {}
