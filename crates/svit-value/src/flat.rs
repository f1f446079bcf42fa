//! A short container in one allocation: its sums, its digest once known, and at most 64 items.

use crate::Digest;
use crate::measure::Sums;
use std::sync::{Arc, OnceLock};

/// The most entries that a list or map holds in one block.
pub(crate) const FLAT_MAX: usize = 64;

pub(crate) struct Flat<T: ?Sized> {
    pub(crate) sums: Sums,
    pub(crate) digest: OnceLock<Digest>,
    pub(crate) items: T,
}

pub(crate) type Shared<T> = Arc<Flat<[T]>>;

/// An array of a known length can become a slice behind the `Arc` without `unsafe`.
fn sized<T: Default, const N: usize>(sums: Sums, items: Vec<T>) -> Shared<T> {
    let items = <[T; N]>::try_from(items).unwrap_or_else(|items| {
        let mut items = items.into_iter();
        std::array::from_fn(|_| items.next().unwrap_or_default())
    });
    Arc::new(Flat {
        sums,
        digest: OnceLock::new(),
        items,
    })
}

/// Packs at most [`FLAT_MAX`] items whose sums are `sums`.
pub(crate) fn pack<T: Default>(sums: Sums, items: Vec<T>) -> Shared<T> {
    debug_assert!(items.len() <= FLAT_MAX && sums.count == items.len() as u64);
    macro_rules! by_len {
        ($($len:literal)*) => {
            match items.len() {
                $($len => sized::<T, $len>(sums, items),)*
                _ => sized::<T, 64>(sums, items),
            }
        };
    }
    by_len!(
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
        32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60
        61 62 63
    )
}

/// The items in a vector with room for `more`: moved when nobody shares them, else cloned.
pub(crate) fn unpack<T: Clone + Default>(flat: &mut Shared<T>, more: usize) -> Vec<T> {
    let mut items = Vec::with_capacity(flat.items.len() + more);
    match Arc::get_mut(flat) {
        Some(flat) => items.extend(flat.items.iter_mut().map(std::mem::take)),
        None => items.extend(flat.items.iter().cloned()),
    }
    items
}
