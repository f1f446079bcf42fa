//! `Map`: a persistent, ordered map with text keys and a digest.

mod build;
mod diff;
mod iter;
pub(crate) mod node;
#[cfg(test)]
mod tests;

use crate::cbor::{Pool, Writer, canonical_order, canonical_order_short, head_len};
use crate::flat::{self, FLAT_MAX, Shared};
use crate::measure::Sums;
use crate::text::Probe;
use crate::{Digest, Measure, Text, Value, ValueError};
pub(crate) use diff::Piece as MapPiece;
pub use diff::{MapChange, MapDiff};
pub use iter::MapIter;
use node::Node;
use std::ops::Bound;
use std::sync::Arc;

pub(crate) type Entry = (Text, Value);

/// A persistent map from texts to values, in key order (UTF-8 bytewise).
///
/// A clone costs O(1) and shares everything; an edit costs O(log n), copies what is shared on its
/// path and leaves every other clone as it was. The shape, and with it the digest, depends on the
/// entries only, never on how the map came to be.
///
/// ```
/// use svit_value::{Map, Value};
/// let mut map = Map::new();
/// map.insert("b", 2)?;
/// map.insert("a", 1)?;
/// let before = map.clone();
/// assert_eq!(map.insert("b", 3)?, Some(Value::from(2)));
/// assert_eq!(before.get("b"), Some(&Value::from(2)));
/// assert!(map.keys().eq(["a", "b"]));
/// let changed: Vec<_> = before.diff(&map).map(|change| change.key.as_str()).collect();
/// assert_eq!(changed, ["b"]);
/// # Ok::<(), svit_value::ValueError>(())
/// ```
#[derive(Clone)]
pub struct Map {
    pub(crate) root: Root,
}

#[derive(Clone)]
pub(crate) enum Root {
    /// At most 64 entries.
    Flat(Shared<Entry>),
    /// More.
    Tree(Arc<Node>),
}

#[inline]
pub(crate) fn entry_sums((key, value): &Entry) -> Sums {
    let mut sums = Sums::of(value);
    let len = key.len() as u64;
    sums.text += len;
    sums.cbor += len + head_len(len);
    sums
}

impl Map {
    /// A map without entries.
    #[must_use]
    pub fn new() -> Map {
        Map {
            root: Root::Flat(flat::pack(Sums::default(), Vec::new())),
        }
    }

    /// A map of these entries; of several with one key the last wins. O(n log n), or O(n) when they
    /// come in key order.
    ///
    /// # Errors
    /// [`ValueError::LimitExceeded`] when a value is too deep to be inside a map.
    ///
    /// ```
    /// # use svit_value::{Map, Value};
    /// let map = Map::from_entries([("b", 1), ("a", 2), ("b", 3)])?;
    /// assert_eq!(map.get("b"), Some(&Value::from(3)));
    /// assert_eq!(map.len(), 2);
    /// # Ok::<(), svit_value::ValueError>(())
    /// ```
    pub fn from_entries<K: Into<Text>, V: Into<Value>>(
        entries: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Map, ValueError> {
        let mut entries: Vec<Entry> = entries
            .into_iter()
            .map(|(key, value)| (key.into(), value.into()))
            .collect();
        if !entries.is_sorted_by(|a, b| a.0 < b.0) {
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            // Of equal keys, which the stable sort left in their order, keep the last.
            entries.reverse();
            entries.dedup_by(|a, b| a.0 == b.0);
            entries.reverse();
        }
        Map::from_sorted(entries)
    }

    /// A map of entries that are in key order and without duplicates.
    pub(crate) fn from_sorted(entries: Vec<Entry>) -> Result<Map, ValueError> {
        debug_assert!(entries.is_sorted_by(|a, b| a.0 < b.0));
        let map = Map {
            root: build::root(entries),
        };
        map.sums().check()?;
        Ok(map)
    }

    #[inline]
    pub(crate) fn sums(&self) -> &Sums {
        match &self.root {
            Root::Flat(flat) => &flat.sums,
            Root::Tree(node) => &node.sums,
        }
    }

    /// How many entries it has.
    #[must_use]
    pub fn len(&self) -> usize {
        // Entries are in memory, so their number fits.
        self.sums().count as usize
    }

    /// Whether it has no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value under a key. O(log n).
    #[must_use]
    #[inline]
    pub fn get(&self, key: &str) -> Option<&Value> {
        let key = Probe::new(key);
        match &self.root {
            Root::Flat(flat) => {
                let at = flat.items.binary_search_by(|entry| key.order(&entry.0));
                at.ok().map(|at| &flat.items[at].1)
            }
            Root::Tree(node) => node.get(&key),
        }
    }

    /// Whether it has an entry with this key. O(log n).
    #[must_use]
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Sets a key to a value, and gives the value it had. O(log n).
    ///
    /// # Errors
    /// [`ValueError::LimitExceeded`] when the value is too deep to be inside a map
    /// ([`MAX_DEPTH`](crate::MAX_DEPTH)). The map is then as it was.
    pub fn insert(
        &mut self,
        key: impl Into<Text>,
        value: impl Into<Value>,
    ) -> Result<Option<Value>, ValueError> {
        self.put((key.into(), value.into()))
    }

    fn put(&mut self, entry: Entry) -> Result<Option<Value>, ValueError> {
        let add = entry_sums(&entry);
        self.sums().admit(&add)?;
        match &mut self.root {
            Root::Flat(flat) => {
                let found = flat.items.binary_search_by(|e| e.0.cmp(&entry.0));
                if found.is_err() && flat.items.len() == FLAT_MAX {
                    let mut entries = flat::unpack(flat, 1);
                    entries.insert(found.unwrap_or_else(|at| at), entry);
                    self.root = build::root(entries);
                    return Ok(None);
                }
                let (sums, old, entries) = match found {
                    // An unshared map is edited where it is.
                    Ok(at) => {
                        if let Some(own) = Arc::get_mut(flat) {
                            let old = std::mem::replace(&mut own.items[at], entry);
                            own.sums = sums_of(&own.items);
                            own.digest.take();
                            return Ok(Some(old.1));
                        }
                        let mut entries = flat::unpack(flat, 0);
                        let old = std::mem::replace(&mut entries[at], entry);
                        (sums_of(&entries), Some(old.1), entries)
                    }
                    Err(at) => {
                        let mut sums = flat.sums;
                        sums.add(&add);
                        let mut entries = flat::unpack(flat, 1);
                        entries.insert(at, entry);
                        (sums, None, entries)
                    }
                };
                self.root = Root::Flat(flat::pack(sums, entries));
                Ok(old)
            }
            Root::Tree(root) => {
                let (old, _, split) = node::insert(root, entry);
                if let Some(split) = split {
                    *root = build::grow(Arc::clone(root), split);
                }
                Ok(old)
            }
        }
    }

    /// Removes a key, and gives the value it had. O(log n).
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let probe = Probe::new(key);
        match &mut self.root {
            Root::Flat(flat) => {
                let found = flat.items.binary_search_by(|e| probe.order(&e.0));
                let at = found.ok()?;
                let mut entries = flat::unpack(flat, 0);
                let old = entries.remove(at).1;
                self.root = build::root(entries);
                Some(old)
            }
            Root::Tree(root) => {
                // Looked up first, so that a key that is not there copies nothing.
                root.get(&probe)?;
                if root.sums.count as usize == FLAT_MAX + 1 {
                    let mut entries = Vec::with_capacity(FLAT_MAX + 1);
                    let mut iter = MapIter::all(self);
                    while let Some(entry) = iter.next_entry() {
                        entries.push(entry.clone());
                    }
                    let at = entries.binary_search_by(|e| probe.order(&e.0)).ok()?;
                    let old = entries.remove(at).1;
                    self.root = build::root(entries);
                    return Some(old);
                }
                let (old, _, _) = node::remove(root, &probe, true);
                build::shrink(root);
                old
            }
        }
    }

    /// The entries in key order.
    #[must_use]
    pub fn iter(&self) -> MapIter<'_> {
        MapIter::all(self)
    }

    /// The keys in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &Text> {
        self.iter().map(|(key, _)| key)
    }

    /// The values in key order.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &Value> {
        self.iter().map(|(_, value)| value)
    }

    /// The entries whose keys lie between two bounds, in key order; none when the bounds cross.
    /// O(log n) to start, then O(1) a step: a long listing is paged without touching the rest.
    ///
    /// ```
    /// use std::ops::Bound;
    /// # use svit_value::Map;
    /// let map = Map::from_entries((0..1000).map(|i| (format!("k{i:03}"), i)))?;
    /// let page: Vec<_> = map.range(Bound::Excluded("k499"), Bound::Unbounded).take(2).collect();
    /// assert_eq!(page[0].0, "k500");
    /// assert_eq!(page[1].0, "k501");
    /// # Ok::<(), svit_value::ValueError>(())
    /// ```
    #[must_use]
    pub fn range(&self, from: Bound<&str>, to: Bound<&str>) -> MapIter<'_> {
        MapIter::range(self, from, to)
    }

    fn count_before(&self, key: &str, equal: bool) -> u64 {
        let key = Probe::new(key);
        match &self.root {
            Root::Flat(flat) => {
                let found = flat.items.binary_search_by(|entry| key.order(&entry.0));
                match found {
                    Ok(at) => at as u64 + u64::from(equal),
                    Err(at) => at as u64,
                }
            }
            Root::Tree(node) => node.count_before(&key, equal),
        }
    }

    /// The first key in order.
    #[must_use]
    pub fn first_key(&self) -> Option<&Text> {
        match &self.root {
            Root::Flat(flat) => flat.items.first().map(|entry| &entry.0),
            Root::Tree(node) => node.first_key_ref(),
        }
    }

    /// The last key in order. O(log n).
    #[must_use]
    pub fn last_key(&self) -> Option<&Text> {
        match &self.root {
            Root::Flat(flat) => flat.items.last().map(|entry| &entry.0),
            Root::Tree(node) => node.last().map(|entry| &entry.0),
        }
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
                writer.head(5, flat.items.len() as u64);
                canonical_order_short(&flat.items, |(key, value)| {
                    writer.text(key);
                    value.write_ref(writer, pool);
                });
            }
        }
    }

    pub(crate) fn write(&self, writer: &mut Writer<'_>) {
        writer.head(5, self.sums().count);
        let mut each = |(key, value): &Entry| {
            writer.text(key);
            value.write(writer);
            writer.breathe();
        };
        match &self.root {
            Root::Flat(flat) => canonical_order_short(&flat.items, &mut each),
            Root::Tree(_) => {
                canonical_order(Entries(MapIter::all(self)), &mut each);
            }
        }
    }

    /// Whether both are the same map in memory; then they are equal. O(1).
    #[must_use]
    pub fn ptr_eq(&self, other: &Map) -> bool {
        match (&self.root, &other.root) {
            (Root::Flat(a), Root::Flat(b)) => Arc::ptr_eq(a, b),
            (Root::Tree(a), Root::Tree(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// The keys whose values differ between this map and `after`, in key order, not looking inside
    /// the values. Nodes that both share in memory, or whose digests are known to be equal, are
    /// skipped: O(changes * log n) between versions of one map.
    #[must_use]
    pub fn diff<'a>(&'a self, after: &'a Map) -> MapDiff<'a> {
        MapDiff::new(self, after)
    }
}

fn sums_of(entries: &[Entry]) -> Sums {
    let mut sums = Sums::default();
    entries
        .iter()
        .for_each(|entry| sums.add(&entry_sums(entry)));
    sums
}

/// The entries themselves, where a pair of references would be in the way.
#[derive(Clone)]
struct Entries<'a>(MapIter<'a>);

impl<'a> Iterator for Entries<'a> {
    type Item = &'a Entry;

    #[inline]
    fn next(&mut self) -> Option<&'a Entry> {
        self.0.next_entry()
    }
}

impl Default for Map {
    fn default() -> Map {
        Map::new()
    }
}

impl PartialEq for Map {
    fn eq(&self, other: &Map) -> bool {
        crate::equal::maps(self, other)
    }
}

impl Eq for Map {}

impl std::hash::Hash for Map {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.digest().hash(state);
    }
}

impl std::fmt::Debug for Map {
    /// As the `Display` of a value: cut after about 200 characters.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        crate::show::map(f, self)
    }
}
