//! Sorting, grouping and removing what repeats.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use svit_value::{Text, Value};

use super::{Outcome, items_at, row};
use crate::engine::K;
use crate::engine::call::Call;
use crate::engine::data::cells;
use crate::engine::run::{Fault, soft};
use crate::engine::value::{as_text, compare, held, kind, to_tree, too_large};
use crate::table::Row;

const LISTS: &str = "lists";

pub(super) fn rows() -> Vec<Row> {
    vec![
        row(
            "unique",
            "(unique list)",
            LISTS,
            "The list without repeated values; the first of each stays.",
            (1, 1),
            unique,
        ),
        row("%sort", "", LISTS, "", (1, 1), sort),
        row("%sort-keys", "", LISTS, "", (2, 2), sort_keys),
        row("%group", "", LISTS, "", (2, 2), group),
    ]
}

fn unique(call: &Call<'_>, args: &[K]) -> Outcome {
    let items = items_at(args, 0)?;
    call.run.reserve(items.len() as u64 * 96)?;
    let mut seen = BTreeSet::new();
    let mut kept = Vec::new();
    for item in items.to_vec(call.run, held(&args[0]))? {
        if seen.insert(to_tree(&item)?.digest()) {
            kept.push(item);
        }
    }
    call.run.list(kept)
}

/// Charges for sorting before it starts: cells times the logarithm of the length.
fn charge_sort(call: &Call<'_>, list: &K, len: usize) -> Result<(), Fault> {
    let rounds = u64::from(usize::BITS - len.leading_zeros());
    call.run.charge(cells(list).saturating_mul(rounds) / 8)
}

/// Sorts stably by a comparison that may fail; the first failure is kept.
fn sorted<T>(items: &mut [T], by: impl Fn(&T, &T) -> Result<Ordering, Fault>) -> Result<(), Fault> {
    let mut failure = None;
    items.sort_by(|a, b| {
        by(a, b).unwrap_or_else(|fault| {
            failure.get_or_insert(fault);
            Ordering::Equal
        })
    });
    failure.map_or(Ok(()), Err)
}

fn sort(call: &Call<'_>, args: &[K]) -> Outcome {
    let items = items_at(args, 0)?;
    charge_sort(call, &args[0], items.len())?;
    let mut all = items.to_vec(call.run, held(&args[0]))?;
    sorted(&mut all, compare)?;
    call.run.list(all)
}

/// Sorts the second list by the keys in the first.
fn sort_keys(call: &Call<'_>, args: &[K]) -> Outcome {
    let (keys, items) = (items_at(args, 0)?, items_at(args, 1)?);
    charge_sort(call, &args[0], keys.len())?;
    call.run.charge(items.len() as u64 / 4)?;
    let keys = keys.to_vec(call.run, held(&args[0]))?;
    let items = items.to_vec(call.run, held(&args[1]))?;
    let mut pairs: Vec<(K, K)> = keys.into_iter().zip(items).collect();
    sorted(&mut pairs, |a, b| compare(&a.0, &b.0))?;
    call.run
        .list(pairs.into_iter().map(|(_, item)| item).collect())
}

/// A map from keys, in the first list, to lists of the items of the second that have them.
fn group(call: &Call<'_>, args: &[K]) -> Outcome {
    let (keys, items) = (items_at(args, 0)?, items_at(args, 1)?);
    call.run.charge(items.len() as u64)?;
    call.run.reserve(items.len() as u64 * 192)?;
    let mut groups: BTreeMap<Text, Vec<K>> = BTreeMap::new();
    for index in 0..keys.len().min(items.len()) {
        let key = keys
            .get(call.run, index, held(&args[0]))?
            .unwrap_or(K::Unit);
        let key = match (&key, as_text(&key)) {
            (_, Some(text)) => text,
            (K::Integer(_) | K::Float(_) | K::Bool(_), None) => {
                Text::from(super::text::shown(&key)?)
            }
            (other, None) => {
                let found = kind(other);
                return Err(soft(
                    "wrong_type",
                    format!("a key should be a string, number or boolean, found {found}"),
                ));
            }
        };
        let item = items.get(call.run, index, held(&args[1]))?;
        groups.entry(key).or_default().extend(item);
    }
    let mut own = 64;
    let mut map = svit_value::Map::new();
    for (key, group) in groups {
        let list = call.run.list(group)?;
        own += held(&list) + 192 + key.len() as u64;
        map.insert(key, to_tree(&list)?).map_err(too_large)?;
    }
    call.run.give(Value::Map(map), own)
}
