//! Walking a list's elements, whole or a range of it.

use super::node::Node;
use super::{List, Root};
use crate::Value;
use std::ops::Range;

/// Iterator over elements of a [`List`]; see [`List::iter`] and [`List::range`].
///
/// Its length is known, and it can be walked from both ends. Each step is O(1) on average.
#[derive(Clone)]
pub struct ListIter<'a> {
    tree: Option<&'a Node>,
    /// Elements already found, at the front and at the back.
    front: std::slice::Iter<'a, Value>,
    back: std::slice::Iter<'a, Value>,
    /// Indexes of elements that are in neither.
    left: Range<usize>,
}

impl<'a> ListIter<'a> {
    pub(super) fn new(list: &'a List, indexes: Range<usize>) -> ListIter<'a> {
        let end = indexes.end.min(list.len());
        let start = indexes.start.min(end);
        let (tree, front, left) = match &list.root {
            Root::Flat(flat) => (None, flat.items[start..end].iter(), 0..0),
            Root::Tree(node) => (Some(&**node), [].iter(), start..end),
        };
        ListIter {
            tree,
            front,
            back: [].iter(),
            left,
        }
    }
}

impl<'a> Iterator for ListIter<'a> {
    type Item = &'a Value;

    #[inline]
    fn next(&mut self) -> Option<&'a Value> {
        if let Some(value) = self.front.next() {
            return Some(value);
        }
        if !self.left.is_empty() {
            let (values, before) = self.tree?.around(self.left.start)?;
            let end = values.len().min(before + self.left.len());
            self.front = values.get(before..end)?.iter();
            self.left.start += end - before;
            return self.front.next();
        }
        self.back.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.front.len() + self.left.len() + self.back.len();
        (len, Some(len))
    }
}

impl DoubleEndedIterator for ListIter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        if let Some(value) = self.back.next_back() {
            return Some(value);
        }
        if !self.left.is_empty() {
            let (values, before) = self.tree?.around(self.left.end - 1)?;
            let start = (before + 1).saturating_sub(self.left.len());
            self.back = values.get(start..=before)?.iter();
            self.left.end -= before + 1 - start;
            return self.back.next_back();
        }
        self.front.next_back()
    }
}

impl ExactSizeIterator for ListIter<'_> {}
impl std::iter::FusedIterator for ListIter<'_> {}

impl<'a> IntoIterator for &'a List {
    type Item = &'a Value;
    type IntoIter = ListIter<'a>;

    fn into_iter(self) -> ListIter<'a> {
        self.iter()
    }
}
