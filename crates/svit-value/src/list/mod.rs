//! `List`: a persistent list with a digest.

mod chunks;
mod diff;
mod iter;
pub(crate) mod node;
#[cfg(test)]
mod tests;

use crate::cbor::{Pool, Writer};
use crate::flat::{self, FLAT_MAX, Shared};
use crate::measure::Sums;
use crate::{Digest, Measure, Value, ValueError};
pub(crate) use diff::Part as ListPart;
pub use diff::{ListChange, ListDiff};
pub use iter::ListIter;
use node::Node;
use std::ops::Range;
use std::sync::Arc;

/// A persistent list of values.
///
/// A clone costs O(1) and shares everything; `get`, `set`, `push` and `truncate` cost O(log n) and
/// copy what is shared on their path. The shape, and with it the digest, depends on the elements
/// only. Removing in the middle moves all elements behind it: queues are better kept as maps.
///
/// ```
/// use svit_value::{List, Value};
/// let mut list = List::from_values([1, 2])?;
/// let before = list.clone();
/// list.push("three")?;
/// list.set(0, Value::Null)?;
/// assert_eq!(before.get(0), Some(&Value::from(1)));
/// assert_eq!(list.len(), 3);
/// assert!(before.diff(&list).map(|change| change.index).eq([0, 2]));
/// # Ok::<(), svit_value::ValueError>(())
/// ```
#[derive(Clone)]
pub struct List {
    pub(crate) root: Root,
}

#[derive(Clone)]
pub(crate) enum Root {
    /// At most 64 elements.
    Flat(Shared<Value>),
    /// More.
    Tree(Arc<Node>),
}

fn root(values: Vec<Value>) -> Root {
    if values.len() > FLAT_MAX {
        return Root::Tree(Node::tower(values));
    }
    let sums = sums_of(&values);
    Root::Flat(flat::pack(sums, values))
}

fn sums_of(values: &[Value]) -> Sums {
    let mut sums = Sums::default();
    values.iter().for_each(|value| sums.add(&Sums::of(value)));
    sums
}

impl List {
    /// A list without elements.
    #[must_use]
    pub fn new() -> List {
        List {
            root: Root::Flat(flat::pack(Sums::default(), Vec::new())),
        }
    }

    /// A list of these values. O(n).
    ///
    /// # Errors
    /// [`ValueError::LimitExceeded`] when a value is too deep to be inside a list.
    pub fn from_values<V: Into<Value>>(
        values: impl IntoIterator<Item = V>,
    ) -> Result<List, ValueError> {
        List::from_vec(values.into_iter().map(Into::into).collect())
    }

    pub(crate) fn from_vec(values: Vec<Value>) -> Result<List, ValueError> {
        let list = List { root: root(values) };
        list.sums().check()?;
        Ok(list)
    }

    #[inline]
    pub(crate) fn sums(&self) -> &Sums {
        match &self.root {
            Root::Flat(flat) => &flat.sums,
            Root::Tree(node) => &node.sums,
        }
    }

    /// How many elements it has.
    #[must_use]
    pub fn len(&self) -> usize {
        // Elements are in memory, so their number fits.
        self.sums().count as usize
    }

    /// Whether it has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at an index. O(log n).
    #[must_use]
    #[inline]
    pub fn get(&self, index: usize) -> Option<&Value> {
        match &self.root {
            Root::Flat(flat) => flat.items.get(index),
            Root::Tree(node) => node.get(index),
        }
    }

    /// Appends a value. O(log n).
    ///
    /// # Errors
    /// [`ValueError::LimitExceeded`] when the value is too deep to be inside a list
    /// ([`MAX_DEPTH`](crate::MAX_DEPTH)). The list is then as it was.
    pub fn push(&mut self, value: impl Into<Value>) -> Result<(), ValueError> {
        let value = value.into();
        let add = Sums::of(&value);
        self.sums().admit(&add)?;
        match &mut self.root {
            Root::Flat(flat) => {
                let mut sums = flat.sums;
                sums.add(&add);
                let mut values = flat::unpack(flat, 1);
                values.push(value);
                self.root = if values.len() > FLAT_MAX {
                    root(values)
                } else {
                    Root::Flat(flat::pack(sums, values))
                };
            }
            Root::Tree(node) => node::push(node, value),
        }
        Ok(())
    }

    /// Appends all values. O(k log n).
    ///
    /// # Errors
    /// As [`List::push`]; the list is then as it was.
    pub fn extend<V: Into<Value>>(
        &mut self,
        values: impl IntoIterator<Item = V>,
    ) -> Result<(), ValueError> {
        let mut longer = self.clone();
        let mut values = values.into_iter();
        if let Root::Flat(flat) = &mut longer.root {
            let mut all = flat::unpack(flat, values.size_hint().0);
            all.extend(values.by_ref().map(Into::into));
            longer = List::from_vec(all)?;
        }
        for value in values {
            longer.push(value)?;
        }
        *self = longer;
        Ok(())
    }

    /// Replaces the element at an index, and gives the old one. O(log n).
    ///
    /// # Errors
    /// [`ValueError::IndexOutOfRange`], or [`ValueError::LimitExceeded`] as [`List::push`]. The list
    /// is then as it was.
    pub fn set(&mut self, index: usize, value: impl Into<Value>) -> Result<Value, ValueError> {
        let len = self.len();
        if index >= len {
            return Err(ValueError::IndexOutOfRange { index, len });
        }
        let value = value.into();
        self.sums().admit(&Sums::of(&value))?;
        match &mut self.root {
            Root::Flat(flat) => {
                if let Some(own) = Arc::get_mut(flat) {
                    let old = std::mem::replace(&mut own.items[index], value);
                    own.sums = sums_of(&own.items);
                    own.digest.take();
                    return Ok(old);
                }
                let mut values = flat::unpack(flat, 0);
                let old = std::mem::replace(&mut values[index], value);
                self.root = root(values);
                Ok(old)
            }
            Root::Tree(node) => {
                node::set(node, index, value).ok_or(ValueError::IndexOutOfRange { index, len })
            }
        }
    }

    /// Removes the element at an index, and gives it. O(n - index): the elements behind it move.
    pub fn remove(&mut self, index: usize) -> Option<Value> {
        let removed = self.get(index)?.clone();
        let behind: Vec<Value> = self.range(index + 1..self.len()).cloned().collect();
        self.truncate(index);
        // These values were in this list, so nothing new has to be checked.
        for value in behind {
            self.push(value).ok()?;
        }
        Some(removed)
    }

    /// Keeps the first `len` elements; nothing happens when there are not more. O(log n).
    pub fn truncate(&mut self, len: usize) {
        if len >= self.len() {
            return;
        }
        if len <= FLAT_MAX {
            let values = self.range(0..len).cloned().collect();
            self.root = root(values);
        } else if let Root::Tree(node) = &mut self.root {
            node::truncate(node, len);
        }
    }

    /// The elements in order.
    #[must_use]
    pub fn iter(&self) -> ListIter<'_> {
        self.range(0..self.len())
    }

    /// The elements at these indexes, as many as there are. O(log n) to start, then O(1) a step.
    ///
    /// ```
    /// # use svit_value::List;
    /// let list = List::from_values(0..1000)?;
    /// assert_eq!(list.range(998..2000).len(), 2);
    /// # Ok::<(), svit_value::ValueError>(())
    /// ```
    #[must_use]
    pub fn range(&self, indexes: Range<usize>) -> ListIter<'_> {
        ListIter::new(self, indexes)
    }

    /// Its size. O(1).
    #[must_use]
    pub fn measure(&self) -> Measure {
        self.sums().measure()
    }

    /// The digest of its block, as [`Value::digest`]. Cached; after an edit only the nodes on the
    /// changed path are hashed again.
    #[must_use]
    pub fn digest(&self) -> Digest {
        match self.known_digest() {
            Some(digest) => *digest,
            None => self.digest_in(&mut Pool::default()),
        }
    }

    pub(crate) fn known_digest(&self) -> Option<&Digest> {
        match &self.root {
            Root::Flat(flat) => flat.digest.get(),
            Root::Tree(node) => node.known_digest(),
        }
    }

    pub(crate) fn digest_in(&self, pool: &mut Pool) -> Digest {
        match &self.root {
            Root::Tree(node) => node.digest(pool),
            Root::Flat(flat) => {
                if let Some(digest) = flat.digest.get() {
                    return *digest;
                }
                let digest = pool.digest(|writer, pool| self.write_block(writer, pool));
                *flat.digest.get_or_init(|| digest)
            }
        }
    }

    pub(crate) fn write_block(&self, writer: &mut Writer<'_>, pool: &mut Pool) {
        match &self.root {
            Root::Tree(node) => node.write_block(writer, pool),
            Root::Flat(flat) => {
                writer.head(4, flat.items.len() as u64);
                flat.items
                    .iter()
                    .for_each(|value| value.write_ref(writer, pool));
            }
        }
    }

    pub(crate) fn write(&self, writer: &mut Writer<'_>) {
        writer.head(4, self.sums().count);
        match &self.root {
            Root::Tree(node) => node.write(writer),
            Root::Flat(flat) => {
                for value in &flat.items {
                    value.write(writer);
                    writer.breathe();
                }
            }
        }
    }

    /// Whether both are the same list in memory; then they are equal. O(1).
    #[must_use]
    pub fn ptr_eq(&self, other: &List) -> bool {
        match (&self.root, &other.root) {
            (Root::Flat(a), Root::Flat(b)) => Arc::ptr_eq(a, b),
            (Root::Tree(a), Root::Tree(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// The indexes whose elements differ between this list and `after`, position by position and in
    /// order, not looking inside the elements. Nodes that both share in memory, or whose digests are
    /// known to be equal, are skipped: O(changes * log n) between versions of one list.
    #[must_use]
    pub fn diff<'a>(&'a self, after: &'a List) -> ListDiff<'a> {
        ListDiff::new(self, after)
    }
}

impl Default for List {
    fn default() -> List {
        List::new()
    }
}

impl PartialEq for List {
    fn eq(&self, other: &List) -> bool {
        crate::equal::lists(self, other)
    }
}

impl Eq for List {}

impl std::hash::Hash for List {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.digest().hash(state);
    }
}

impl std::fmt::Debug for List {
    /// As the `Display` of a value: cut after about 200 characters.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        crate::show::list(f, self)
    }
}
