//! A sequence held as small shared runs, so that an edit of a shared leaf copies one run.
//!
//! Runs are a matter of memory only: they are no part of a value's shape, so equal sequences may be
//! cut differently.

use std::cmp::Ordering;
use std::sync::Arc;

/// Items in a run: a copied run is then about 600 bytes of map entries.
const RUN: usize = 12;
/// Runs whose pointers are kept in place, which is enough for most leaves.
const PLACES: usize = 8;

/// A place in a sequence: which run, and which item of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    run: usize,
    item: usize,
}

impl Place {
    pub(crate) const START: Place = Place { run: 0, item: 0 };
}

pub(crate) struct Run<T> {
    len: usize,
    items: [T; RUN],
}

impl<T: Clone + Default> Clone for Run<T> {
    fn clone(&self) -> Self {
        let live = self.items();
        Run {
            len: self.len,
            items: std::array::from_fn(|i| live.get(i).cloned().unwrap_or_default()),
        }
    }
}

impl<T> Run<T> {
    #[inline]
    pub(crate) fn items(&self) -> &[T] {
        &self.items[..self.len.min(RUN)]
    }
}

impl<T: Clone + Default> Run<T> {
    fn gather(items: impl Iterator<Item = T>) -> Option<Arc<Run<T>>> {
        let mut run = Run {
            len: 0,
            items: std::array::from_fn(|_| T::default()),
        };
        for (slot, item) in run.items.iter_mut().zip(items) {
            *slot = item;
            run.len += 1;
        }
        Some(Arc::new(run))
    }

    fn insert(&mut self, at: usize, item: T) {
        self.items[at..=self.len].rotate_right(1);
        self.items[at] = item;
        self.len += 1;
    }

    fn remove(&mut self, at: usize) -> T {
        let item = std::mem::take(&mut self.items[at]);
        self.items[at..self.len].rotate_left(1);
        self.len -= 1;
        item
    }

    /// Takes away the items from `at` on.
    fn split(&mut self, at: usize) -> Option<Arc<Run<T>>> {
        let len = std::mem::replace(&mut self.len, at);
        Run::gather(self.items[at..len].iter_mut().map(std::mem::take))
    }
}

/// Pointers to runs. A slot is empty only beyond the end, and while a run is being moved.
pub(crate) type Slot<T> = Option<Arc<Run<T>>>;

enum Slots<T> {
    /// How many there are, and then empty ones. A byte, which keeps a node 16 bytes smaller.
    Few(u8, [Slot<T>; PLACES]),
    Many(Vec<Slot<T>>),
}

impl<T> Clone for Slots<T> {
    fn clone(&self) -> Self {
        match self {
            Slots::Few(len, slots) => Slots::Few(*len, slots.clone()),
            Slots::Many(slots) => Slots::Many(slots.clone()),
        }
    }
}

impl<T> Slots<T> {
    fn gather(mut slots: Vec<Slot<T>>) -> Self {
        let len = slots.len();
        if len > PLACES {
            slots.shrink_to_fit();
            return Slots::Many(slots);
        }
        let mut slots = slots.into_iter();
        Slots::Few(len as u8, std::array::from_fn(|_| slots.next().flatten()))
    }

    fn into_vec(self) -> Vec<Slot<T>> {
        match self {
            Slots::Few(len, slots) => slots.into_iter().take(len.into()).collect(),
            Slots::Many(slots) => slots,
        }
    }

    #[inline]
    fn as_slice(&self) -> &[Slot<T>] {
        match self {
            Slots::Few(len, slots) => &slots[..usize::from(*len).min(PLACES)],
            Slots::Many(slots) => slots,
        }
    }

    #[inline]
    fn as_mut_slice(&mut self) -> &mut [Slot<T>] {
        match self {
            Slots::Few(len, slots) => &mut slots[..usize::from(*len).min(PLACES)],
            Slots::Many(slots) => slots,
        }
    }

    fn insert(&mut self, at: usize, slot: Slot<T>) {
        match self {
            Slots::Few(len, slots) if usize::from(*len) < PLACES => {
                slots[at..=usize::from(*len)].rotate_right(1);
                slots[at] = slot;
                *len += 1;
            }
            Slots::Few(_, slots) => {
                let mut many = Vec::with_capacity(PLACES + 4);
                many.extend(slots.iter_mut().map(Option::take));
                many.insert(at, slot);
                *self = Slots::Many(many);
            }
            Slots::Many(slots) => slots.insert(at, slot),
        }
    }

    fn remove(&mut self, at: usize) -> Slot<T> {
        match self {
            Slots::Few(len, slots) => {
                let slot = slots[at].take();
                slots[at..usize::from(*len)].rotate_left(1);
                *len -= 1;
                slot
            }
            Slots::Many(slots) => slots.remove(at),
        }
    }
}

pub(crate) struct Runs<T>(Slots<T>);

impl<T> Clone for Runs<T> {
    fn clone(&self) -> Self {
        Runs(self.0.clone())
    }
}

impl<T> Default for Runs<T> {
    fn default() -> Self {
        Runs(Slots::Few(0, [const { None }; PLACES]))
    }
}

#[inline]
fn items<T>(slot: &Slot<T>) -> &[T] {
    slot.as_ref().map_or(&[], |run| run.items())
}

impl<T> Runs<T> {
    /// The runs in order; each `Some`.
    #[inline]
    pub(crate) fn slots(&self) -> &[Slot<T>] {
        self.0.as_slice()
    }

    #[inline]
    pub(crate) fn iter(&self) -> Iter<'_, T> {
        Iter {
            runs: self.slots().iter(),
            items: [].iter(),
        }
    }

    /// From `at` to the end.
    pub(crate) fn iter_from(&self, at: Place) -> Iter<'_, T> {
        let Some((first, rest)) = self.slots().get(at.run..).and_then(<[_]>::split_first) else {
            return Iter {
                runs: [].iter(),
                items: [].iter(),
            };
        };
        Iter {
            runs: rest.iter(),
            items: items(first).get(at.item..).unwrap_or_default().iter(),
        }
    }

    /// The place behind the item at `at`.
    pub(crate) fn after(&self, at: Place) -> Place {
        let Place { run, item } = at;
        match self.slots().get(run) {
            Some(slot) if item + 1 < items(slot).len() => Place {
                run,
                item: item + 1,
            },
            _ => Place {
                run: run + 1,
                item: 0,
            },
        }
    }

    /// How many items come before `at`.
    pub(crate) fn count_before(&self, at: Place) -> usize {
        let before = self.slots().iter().take(at.run);
        before.map(|slot| items(slot).len()).sum::<usize>() + at.item
    }

    #[inline]
    pub(crate) fn first(&self) -> Option<&T> {
        self.slots().first().and_then(|slot| items(slot).first())
    }

    #[inline]
    pub(crate) fn last(&self) -> Option<&T> {
        self.slots().last().and_then(|slot| items(slot).last())
    }

    #[inline]
    pub(crate) fn get(&self, at: Place) -> Option<&T> {
        self.slots()
            .get(at.run)
            .and_then(|slot| items(slot).get(at.item))
    }

    /// Where the item is that `order` calls equal, or where it would have to go.
    #[inline]
    pub(crate) fn find(&self, mut order: impl FnMut(&T) -> Ordering) -> Result<Place, Place> {
        let after = self
            .slots()
            .partition_point(|slot| items(slot).first().is_some_and(|item| order(item).is_le()));
        let Some(run) = after.checked_sub(1) else {
            return Err(Place::START);
        };
        match items(&self.slots()[run]).binary_search_by(order) {
            Ok(item) => Ok(Place { run, item }),
            Err(item) => Err(Place { run, item }),
        }
    }
}

impl<T: Clone + Default> Runs<T> {
    /// Cuts items into runs that leave room for a few more each.
    pub(crate) fn gather(items: Vec<T>) -> Self {
        let len = items.len();
        let count = len.div_ceil(RUN * 7 / 8);
        let mut items = items.into_iter();
        let slots = (0..count)
            .map(|i| Run::gather(items.by_ref().take(len * (i + 1) / count - len * i / count)))
            .collect();
        Runs(Slots::gather(slots))
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, at: Place) -> Option<&mut T> {
        let run = Arc::make_mut(self.0.as_mut_slice().get_mut(at.run)?.as_mut()?);
        run.items[..run.len.min(RUN)].get_mut(at.item)
    }

    /// Puts an item at a place that [`Runs::find`] gave, and says where it is then.
    pub(crate) fn insert(&mut self, at: Place, item: T) -> Place {
        let Place {
            run: mut r,
            item: mut i,
        } = at;
        let Some(slot) = self.0.as_mut_slice().get_mut(r).and_then(Option::as_mut) else {
            self.0.insert(0, Run::gather(std::iter::once(item)));
            return Place::START;
        };
        let run = Arc::make_mut(slot);
        if run.len < RUN {
            run.insert(i, item);
            return at;
        }
        // Runs filled from one end stay full; others are halved.
        let half = match i {
            0 => 1,
            RUN => RUN - 1,
            _ => RUN / 2,
        };
        let mut right = run.split(half);
        if i <= half {
            run.insert(i, item);
        } else {
            (r, i) = (r + 1, i - half);
            if let Some(right) = right.as_mut().and_then(Arc::get_mut) {
                right.insert(i, item);
            }
        }
        self.0.insert(at.run + 1, right);
        Place { run: r, item: i }
    }

    pub(crate) fn remove(&mut self, at: Place) -> Option<T> {
        let run = Arc::make_mut(self.0.as_mut_slice().get_mut(at.run)?.as_mut()?);
        if at.item >= run.len {
            return None;
        }
        let item = run.remove(at.item);
        if run.len == 0 {
            self.0.remove(at.run);
        } else {
            self.join(at.run);
            self.join(at.run.wrapping_sub(1));
        }
        Some(item)
    }

    /// Joins the run at `left` with the next when both are small.
    fn join(&mut self, left: usize) {
        let slots = self.0.as_slice();
        let (Some(a), Some(b)) = (slots.get(left), slots.get(left.wrapping_add(1))) else {
            return;
        };
        if items(a).len() + items(b).len() > RUN * 3 / 4 {
            return;
        }
        let right = self.0.remove(left + 1);
        if let Some(run) = self.0.as_mut_slice()[left].as_mut() {
            let run = Arc::make_mut(run);
            for (slot, item) in run.items[run.len..].iter_mut().zip(items(&right)) {
                *slot = item.clone();
            }
            run.len += items(&right).len();
        }
    }

    /// Takes away everything from `at` on.
    pub(crate) fn split_off(&mut self, at: Place) -> Self {
        let mut left = std::mem::take(self).0.into_vec();
        let mut right = left.split_off(at.run.min(left.len()));
        if at.item > 0
            && let Some(first) = right.first_mut()
        {
            let (keep, go) = items(first).split_at(at.item.min(items(first).len()));
            left.push(Run::gather(keep.iter().cloned()));
            let go = (!go.is_empty()).then(|| Run::gather(go.iter().cloned()));
            match go {
                Some(run) => *first = run,
                None => drop(right.remove(0)),
            }
        }
        self.0 = Slots::gather(left);
        let mut right = Runs(Slots::gather(right));
        right.join(0);
        self.join(self.slots().len().wrapping_sub(2));
        right
    }

    pub(crate) fn append(&mut self, other: Runs<T>) {
        let mut slots = std::mem::take(self).0.into_vec();
        let seam = slots.len();
        slots.append(&mut other.0.into_vec());
        self.0 = Slots::gather(slots);
        self.join(seam.wrapping_sub(1));
    }
}

pub(crate) struct Iter<'a, T> {
    runs: std::slice::Iter<'a, Slot<T>>,
    items: std::slice::Iter<'a, T>,
}

impl<T> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Iter {
            runs: self.runs.clone(),
            items: self.items.clone(),
        }
    }
}

impl<T> Default for Iter<'_, T> {
    fn default() -> Self {
        Iter {
            runs: [].iter(),
            items: [].iter(),
        }
    }
}

impl<'a, T> Iterator for Iter<'a, T> {
    type Item = &'a T;

    #[inline]
    fn next(&mut self) -> Option<&'a T> {
        loop {
            if let Some(item) = self.items.next() {
                return Some(item);
            }
            self.items = items(self.runs.next()?).iter();
        }
    }
}
