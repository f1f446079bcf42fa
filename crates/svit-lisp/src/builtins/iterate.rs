//! `map`, `filter`, `fold` and their like, which the prelude writes, and the iterators it writes them with.

use std::cell::{Cell, RefCell};

use super::{MANY, Outcome, prelude, row, wrong};
use crate::engine::K;
use crate::engine::call::{Acc, Call, Iter, Source, need_function};
use crate::engine::run::{Fault, soft};
use crate::engine::value::{Items, held};
use crate::table::Row;

const LISTS: &str = "lists";

pub(super) fn rows() -> Vec<Row> {
    vec![
        prelude(
            "map",
            "(map function list)",
            LISTS,
            "The results of calling a function with each item.",
            (2, 2),
        ),
        prelude(
            "filter",
            "(filter test list)",
            LISTS,
            "The items for which the test is true.",
            (2, 2),
        ),
        prelude(
            "fold",
            "(fold function start list)",
            LISTS,
            "Calls (function result item) for each item and gives the last result.",
            (3, 3),
        ),
        prelude(
            "any?",
            "(any? test list)",
            LISTS,
            "Whether the test is true for some item.",
            (2, 2),
        ),
        prelude(
            "all?",
            "(all? test list)",
            LISTS,
            "Whether the test is true for every item.",
            (2, 2),
        ),
        prelude(
            "sort",
            "(sort list [less?])",
            LISTS,
            "The list in order; stable.",
            (1, 2),
        ),
        prelude(
            "sort-by",
            "(sort-by key list)",
            LISTS,
            "The list in the order of (key item); stable.",
            (2, 2),
        ),
        prelude(
            "group-by",
            "(group-by key list)",
            LISTS,
            "A map from (key item) to the items that have it.",
            (2, 2),
        ),
        row("%iter", "", LISTS, "", (1, 1), iter),
        row("%more?", "", LISTS, "", (1, 1), more),
        row("%next", "", LISTS, "", (1, 1), next),
        row("%peek", "", LISTS, "", (1, 1), peek),
        row("%acc", "", LISTS, "", (0, 0), acc),
        row("%acc-push", "", LISTS, "", (2, 2), acc_push),
        row("%acc-rest", "", LISTS, "", (2, 2), acc_rest),
        row("%acc-done", "", LISTS, "", (1, 1), acc_done),
        row("%function", "", LISTS, "", (1, MANY), function),
    ]
}

fn iter(call: &Call<'_>, args: &[K]) -> Outcome {
    let items = if let Some(map) = super::maps::as_map(&args[0]) {
        call.run.charge(map.len() as u64 / 4)?;
        call.run.reserve(map.len() as u64 * 256)?;
        let entries = map.iter().map(|(key, value)| {
            call.run
                .give(super::maps::entry(key, value)?, held(&args[0]))
        });
        Source::Items(entries.collect::<Result<_, _>>()?)
    } else {
        match Items::of(&args[0]) {
            Some(items) => Source::List(args[0].clone(), items.len()),
            None => return Err(super::maps::expected_collection(args, 0)),
        }
    };
    Ok(K::new_foreign(Iter {
        items,
        next: Cell::new(0),
    }))
}

fn internal() -> Fault {
    soft("internal", "the prelude is broken")
}

fn iter_at(args: &[K], index: usize) -> Result<&Iter, Fault> {
    match &args[index] {
        K::Foreign(foreign) => foreign.downcast_ref::<Iter>().ok_or_else(internal),
        other => Err(wrong(index, "an iterator", other)),
    }
}

fn acc_at(args: &[K], index: usize) -> Result<&Acc, Fault> {
    match &args[index] {
        K::Foreign(foreign) => foreign.downcast_ref::<Acc>().ok_or_else(internal),
        other => Err(wrong(index, "a builder", other)),
    }
}

fn left(iter: &Iter) -> usize {
    let all = match &iter.items {
        Source::List(_, len) => *len,
        Source::Items(items) => items.len(),
    };
    all - iter.next.get()
}

fn item(call: &Call<'_>, iter: &Iter) -> Outcome {
    let index = iter.next.get();
    let found = match &iter.items {
        Source::List(list, _) => match Items::of(list) {
            Some(items) => items.get(call.run, index, held(list))?,
            None => None,
        },
        Source::Items(items) => items.get(index).cloned(),
    };
    found.ok_or_else(internal)
}

fn more(_call: &Call<'_>, args: &[K]) -> Outcome {
    Ok(K::Bool(left(iter_at(args, 0)?) > 0))
}

fn next(call: &Call<'_>, args: &[K]) -> Outcome {
    let iter = iter_at(args, 0)?;
    let item = item(call, iter)?;
    iter.next.set(iter.next.get() + 1);
    Ok(item)
}

fn peek(call: &Call<'_>, args: &[K]) -> Outcome {
    item(call, iter_at(args, 0)?)
}

fn acc(_call: &Call<'_>, _args: &[K]) -> Outcome {
    Ok(K::new_foreign(Acc(RefCell::new(Vec::new()))))
}

/// Bytes of a builder per value, until the list is made.
const ACC_ITEM: u64 = 96;

fn acc_push(call: &Call<'_>, args: &[K]) -> Outcome {
    let mut items = acc_at(args, 0)?.0.borrow_mut();
    if items.len() == items.capacity() {
        call.run.reserve(2 * ACC_ITEM * items.len() as u64)?;
    }
    items.push(args[1].clone());
    Ok(K::Unit)
}

/// Adds what an iterator has left, and makes the list.
fn acc_rest(call: &Call<'_>, args: &[K]) -> Outcome {
    let iter = iter_at(args, 1)?;
    let mut items = acc_at(args, 0)?.0.borrow_mut();
    call.run.charge(left(iter) as u64 / 4)?;
    call.run
        .reserve(ACC_ITEM * (items.len() + left(iter)) as u64)?;
    while left(iter) > 0 {
        items.push(item(call, iter)?);
        iter.next.set(iter.next.get() + 1);
    }
    call.run.list(std::mem::take(&mut *items))
}

fn acc_done(call: &Call<'_>, args: &[K]) -> Outcome {
    let items = std::mem::take(&mut *acc_at(args, 0)?.0.borrow_mut());
    call.run.list(items)
}

/// Checks the function before a loop starts, and gives it.
fn function(_call: &Call<'_>, args: &[K]) -> Outcome {
    need_function(&args[0])?;
    Ok(args[0].clone())
}
