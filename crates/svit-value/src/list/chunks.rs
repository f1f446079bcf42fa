//! Up to 64 items in four shared chunks, so that an edit of a shared node copies one of them.
//!
//! Where an item is follows from its index alone, so reading needs no search.

use std::sync::Arc;

/// Items in a full chunk.
pub(super) const CHUNK: usize = 16;
const CHUNKS: usize = 4;

/// Items of a node; an item beyond the length is the default.
pub(crate) struct Chunks<T> {
    len: u8,
    chunks: [Option<Arc<[T; CHUNK]>>; CHUNKS],
}

impl<T> Clone for Chunks<T> {
    fn clone(&self) -> Self {
        Chunks {
            len: self.len,
            chunks: self.chunks.clone(),
        }
    }
}

impl<T> Chunks<T> {
    pub(crate) fn len(&self) -> usize {
        self.len.into()
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        self.around(index).get(index % CHUNK)
    }

    /// The items of the chunk that holds an index.
    #[inline]
    pub(super) fn around(&self, index: usize) -> &[T] {
        let chunk = self.chunks.get(index / CHUNK).and_then(Option::as_ref);
        let left = self.len().saturating_sub(index - index % CHUNK);
        chunk.map_or(&[], |items| &items[..left.min(CHUNK)])
    }

    pub(crate) fn iter(&self) -> Iter<'_, T> {
        Iter {
            items: [].iter(),
            chunks: self.chunks.iter(),
            left: self.len(),
        }
    }

    pub(crate) fn last(&self) -> Option<&T> {
        self.get(self.len().checked_sub(1)?)
    }
}

impl<T: Clone + Default> Chunks<T> {
    /// At most 64 items.
    pub(super) fn gather(items: impl IntoIterator<Item = T>) -> Self {
        let mut made = Chunks {
            len: 0,
            chunks: [const { None }; CHUNKS],
        };
        let mut items = items.into_iter();
        for slot in &mut made.chunks {
            let before = made.len;
            let chunk = std::array::from_fn(|_| match items.next() {
                Some(item) => {
                    made.len += 1;
                    item
                }
                None => T::default(),
            });
            if made.len == before {
                break;
            }
            *slot = Some(Arc::new(chunk));
        }
        made
    }

    #[inline]
    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        if index >= self.len() {
            return None;
        }
        let chunk = self.chunks.get_mut(index / CHUNK)?.as_mut()?;
        Arc::make_mut(chunk).get_mut(index % CHUNK)
    }

    pub(super) fn last_mut(&mut self) -> Option<&mut T> {
        self.get_mut(self.len().checked_sub(1)?)
    }

    /// Appends an item, if there is room for one.
    pub(super) fn push(&mut self, item: T) {
        let Some(slot) = self.chunks.get_mut(usize::from(self.len) / CHUNK) else {
            debug_assert!(false, "a full node was pushed to");
            return;
        };
        let chunk = slot.get_or_insert_with(|| Arc::new(std::array::from_fn(|_| T::default())));
        Arc::make_mut(chunk)[usize::from(self.len) % CHUNK] = item;
        self.len += 1;
    }

    pub(super) fn truncate(&mut self, len: usize) {
        if len >= self.len() {
            return;
        }
        // What goes is dropped, and not kept alive behind the end.
        let keep = self.around(len)[..len % CHUNK].to_vec();
        for slot in self.chunks.iter_mut().skip(len / CHUNK) {
            *slot = None;
        }
        self.len = (len - len % CHUNK) as u8;
        for item in keep {
            self.push(item);
        }
    }
}

/// Items in order, of a node or of a slice.
pub(crate) struct Iter<'a, T> {
    items: std::slice::Iter<'a, T>,
    chunks: std::slice::Iter<'a, Option<Arc<[T; CHUNK]>>>,
    left: usize,
}

impl<'a, T> Iter<'a, T> {
    pub(super) fn of_slice(items: &'a [T]) -> Self {
        Iter {
            items: items.iter(),
            chunks: [].iter(),
            left: items.len(),
        }
    }
}

impl<'a, T> Iterator for Iter<'a, T> {
    type Item = &'a T;

    #[inline]
    fn next(&mut self) -> Option<&'a T> {
        self.left = self.left.checked_sub(1)?;
        if let Some(item) = self.items.next() {
            return Some(item);
        }
        self.items = self.chunks.next()?.as_ref()?.iter();
        self.items.next()
    }
}
