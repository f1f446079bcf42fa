//! What differs between two maps, found by walking only what they do not share.

use super::node::{Body, Node};
use super::{Entry, Map, Root};
use crate::flat::Shared;
use crate::{Digest, Text, Value};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

/// One key whose value differs between two maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapChange<'a> {
    /// The key.
    pub key: &'a Text,
    /// Its value in the first map.
    pub before: Option<&'a Value>,
    /// Its value in the second map.
    pub after: Option<&'a Value>,
}

/// Iterator over the keys that differ between two maps, in key order; see [`Map::diff`].
pub struct MapDiff<'a> {
    before: Vec<Piece<'a>>,
    after: Vec<Piece<'a>>,
    trace: Option<Trace<'a>>,
}

/// What was looked into, because no equal was found for it as a whole.
#[derive(Default)]
struct Trace<'a> {
    before: BTreeSet<Digest>,
    after: Vec<Piece<'a>>,
}

/// What is still to be compared on one side, the next piece last.
#[derive(Clone, Copy)]
pub(crate) enum Piece<'a> {
    Node(&'a Arc<Node>),
    Flat(&'a Shared<Entry>),
    Entry(&'a Entry),
}

impl<'a> Piece<'a> {
    /// Entries below leaves below index nodes.
    fn height(self) -> u32 {
        match self {
            Piece::Entry(_) => 0,
            Piece::Flat(_) => 1,
            Piece::Node(node) => node.level() + 1,
        }
    }

    fn first_key(self) -> Option<&'a Text> {
        match self {
            Piece::Entry(entry) => Some(&entry.0),
            Piece::Flat(flat) => flat.items.first().map(|entry| &entry.0),
            Piece::Node(node) => node.first_key_ref(),
        }
    }

    fn known_digest(self) -> Option<&'a Digest> {
        match self {
            Piece::Entry(_) => None,
            Piece::Flat(flat) => flat.digest.get(),
            Piece::Node(node) => node.known_digest(),
        }
    }

    /// Whether both are known to hold the same entries, without looking inside.
    fn same(self, other: Piece<'a>) -> bool {
        match (self, other) {
            (Piece::Node(a), Piece::Node(b)) if Arc::ptr_eq(a, b) => true,
            (Piece::Flat(a), Piece::Flat(b)) if Arc::ptr_eq(a, b) => true,
            _ => match (self.known_digest(), other.known_digest()) {
                (Some(a), Some(b)) => a == b,
                _ => false,
            },
        }
    }
}

/// Replaces the next piece by what is inside it.
fn open(pieces: &mut Vec<Piece<'_>>) {
    let Some(piece) = pieces.pop() else { return };
    let at = pieces.len();
    match piece {
        Piece::Entry(_) => {}
        Piece::Flat(flat) => pieces.extend(flat.items.iter().map(Piece::Entry)),
        Piece::Node(node) => match &node.body {
            Body::Leaf(entries) => pieces.extend(entries.iter().map(Piece::Entry)),
            Body::Index(index) => pieces.extend(index.nodes.iter().map(Piece::Node)),
        },
    }
    pieces[at..].reverse();
}

impl<'a> MapDiff<'a> {
    pub(super) fn new(before: &'a Map, after: &'a Map) -> MapDiff<'a> {
        let side = |map: &'a Map| match &map.root {
            Root::Flat(flat) => vec![Piece::Flat(flat)],
            Root::Tree(node) => vec![Piece::Node(node)],
        };
        MapDiff {
            before: side(before),
            after: side(after),
            trace: None,
        }
    }

    /// A diff that remembers which nodes only `after` has, given that all digests are known.
    pub(crate) fn traced(before: &'a Map, after: &'a Map) -> MapDiff<'a> {
        MapDiff {
            trace: Some(Trace::default()),
            ..MapDiff::new(before, after)
        }
    }

    /// The nodes that only `after` has, once the diff has been walked.
    pub(crate) fn opened(self) -> impl Iterator<Item = Piece<'a>> {
        let Trace { before, after } = self.trace.unwrap_or_default();
        // An equal of an opened node was opened as well, if it was not skipped with the node.
        after
            .into_iter()
            .filter(move |piece| piece.known_digest().is_none_or(|d| !before.contains(d)))
    }

    fn open_before(&mut self) {
        if let Some(trace) = &mut self.trace
            && let Some(piece) = self.before.last()
        {
            trace.before.extend(piece.known_digest());
        }
        open(&mut self.before);
    }

    fn open_after(&mut self) {
        if let Some(trace) = &mut self.trace
            && let Some(piece) = self.after.last()
        {
            trace.after.push(*piece);
        }
        open(&mut self.after);
    }

    fn removed(&mut self, (key, value): &'a Entry) -> MapChange<'a> {
        self.before.pop();
        MapChange {
            key,
            before: Some(value),
            after: None,
        }
    }

    fn added(&mut self, (key, value): &'a Entry) -> MapChange<'a> {
        self.after.pop();
        MapChange {
            key,
            before: None,
            after: Some(value),
        }
    }
}

impl<'a> Iterator for MapDiff<'a> {
    type Item = MapChange<'a>;

    fn next(&mut self) -> Option<MapChange<'a>> {
        loop {
            match (self.before.last().copied(), self.after.last().copied()) {
                (None, None) => return None,
                // Who asks for new nodes has no use for all that was removed behind them.
                (_, None) if self.trace.is_some() => return None,
                (Some(Piece::Entry(entry)), None) => return Some(self.removed(entry)),
                (None, Some(Piece::Entry(entry))) => return Some(self.added(entry)),
                (Some(_), None) => self.open_before(),
                (None, Some(_)) => self.open_after(),
                (Some(Piece::Entry(a)), Some(Piece::Entry(b))) => match a.0.cmp(&b.0) {
                    Ordering::Less => return Some(self.removed(a)),
                    Ordering::Greater => return Some(self.added(b)),
                    Ordering::Equal => {
                        self.before.pop();
                        self.after.pop();
                        if a.1 != b.1 {
                            return Some(MapChange {
                                key: &a.0,
                                before: Some(&a.1),
                                after: Some(&b.1),
                            });
                        }
                    }
                },
                // An entry in front of a whole node has no equal in it: no need to look inside.
                (Some(Piece::Entry(entry)), Some(b)) if Some(&entry.0) < b.first_key() => {
                    return Some(self.removed(entry));
                }
                (Some(a), Some(Piece::Entry(entry))) if Some(&entry.0) < a.first_key() => {
                    return Some(self.added(entry));
                }
                (Some(a), Some(b)) if a.same(b) => {
                    self.before.pop();
                    self.after.pop();
                }
                // Opens the higher one, or of two alike the one that starts first: the other may
                // still meet its equal.
                (Some(a), Some(b)) => match a.height().cmp(&b.height()) {
                    Ordering::Greater => self.open_before(),
                    Ordering::Less => self.open_after(),
                    Ordering::Equal => match a.first_key().cmp(&b.first_key()) {
                        Ordering::Less => self.open_before(),
                        Ordering::Greater => self.open_after(),
                        Ordering::Equal => {
                            self.open_before();
                            self.open_after();
                        }
                    },
                },
            }
        }
    }
}

impl std::iter::FusedIterator for MapDiff<'_> {}
