//! Lists, and the functions that work on lists and strings alike.

use svit_value::{Bytes, List, Text, Value};

use super::{MANY, Outcome, index_at, int_at, items_at, row, wrong};
use crate::engine::K;
use crate::engine::call::Call;
use crate::engine::data::tree;
use crate::engine::run::{Fault, soft};
use crate::engine::value::{Items, as_str, held, is_plain, to_tree, too_large};
use crate::table::Row;

const LISTS: &str = "lists";
const BOTH: &str = "lists and strings";

pub(super) fn rows() -> Vec<Row> {
    vec![
        row(
            "list",
            "(list value ...)",
            LISTS,
            "A list of the given values.",
            (0, MANY),
            list,
        ),
        row(
            "list-get",
            "(list-get list index [default])",
            LISTS,
            "The item at an index, counted from 0.",
            (2, 3),
            list_get,
        ),
        row(
            "list-set",
            "(list-set list index value)",
            LISTS,
            "The list with one item replaced.",
            (3, 3),
            list_set,
        ),
        row(
            "list-push",
            "(list-push list value)",
            LISTS,
            "The list with a value at its end.",
            (2, 2),
            list_push,
        ),
        row(
            "append",
            "(append list value ...)",
            LISTS,
            "The list with values at its end.",
            (1, MANY),
            append,
        ),
        row(
            "list-slice",
            "(list-slice list begin [end])",
            LISTS,
            "The items from begin up to, not including, end.",
            (2, 3),
            slice,
        ),
        row(
            "range",
            "(range end) or (range begin end [step])",
            LISTS,
            "A list of integers; end is not included.",
            (1, 3),
            range,
        ),
        row(
            "zip",
            "(zip a b)",
            LISTS,
            "Lists of the first items, the second items, and so on.",
            (2, 2),
            zip,
        ),
        row(
            "first",
            "(first list)",
            BOTH,
            "The first item or character.",
            (1, 1),
            first,
        ),
        row(
            "second",
            "(second list)",
            BOTH,
            "The second item or character.",
            (1, 1),
            second,
        ),
        row(
            "last",
            "(last list)",
            BOTH,
            "The last item or character.",
            (1, 1),
            last,
        ),
        row(
            "tail",
            "(tail list)",
            BOTH,
            "All but the first.",
            (1, 1),
            tail,
        ),
        row(
            "init",
            "(init list)",
            BOTH,
            "All but the last.",
            (1, 1),
            init,
        ),
        row(
            "elt",
            "(elt list index)",
            BOTH,
            "The item or character at an index.",
            (2, 2),
            elt,
        ),
        row(
            "slice",
            "(slice list begin [end])",
            BOTH,
            "A part of a list or string; end is not included.",
            (2, 3),
            slice,
        ),
        row(
            "reverse",
            "(reverse list)",
            BOTH,
            "The list or string backwards.",
            (1, 1),
            reverse,
        ),
        row(
            "concat",
            "(concat a b ...)",
            BOTH,
            "Strings, lists or bytes one after the other.",
            (1, MANY),
            concat,
        ),
        row(
            "length",
            "(length value)",
            BOTH,
            "Items, entries, characters or bytes.",
            (1, 1),
            length,
        ),
        row(
            "len",
            "(len value)",
            BOTH,
            "The same as length.",
            (1, 1),
            length,
        ),
        row(
            "empty?",
            "(empty? value)",
            BOTH,
            "Whether there is nothing in a list, map or string.",
            (1, 1),
            empty,
        ),
    ]
}

fn list(call: &Call<'_>, args: &[K]) -> Outcome {
    call.run.list(args.to_vec())
}

fn out_of_range(index: usize, len: usize) -> Fault {
    soft(
        "out_of_range",
        format!("no item {index} in a list of {len}"),
    )
}

fn item(call: &Call<'_>, args: &[K], index: usize) -> Outcome {
    if let Some(text) = as_str(&args[0]) {
        let found = text.chars().nth(index);
        let found = found.ok_or_else(|| {
            soft(
                "out_of_range",
                format!(
                    "no character {index} in a string of {}",
                    text.chars().count()
                ),
            )
        })?;
        return call.run.text(Text::from(found));
    }
    let items = Items::of(&args[0]).ok_or_else(|| wrong(0, "a list or string", &args[0]))?;
    items
        .get(call.run, index, held(&args[0]))?
        .ok_or_else(|| out_of_range(index, items.len()))
}

fn list_get(call: &Call<'_>, args: &[K]) -> Outcome {
    let index = index_at(args, 1)?;
    let items = items_at(args, 0)?;
    match (items.get(call.run, index, held(&args[0]))?, args.get(2)) {
        (Some(item), _) => Ok(item),
        (None, Some(default)) => Ok(default.clone()),
        (None, None) => Err(out_of_range(index, items.len())),
    }
}

fn list_set(call: &Call<'_>, args: &[K]) -> Outcome {
    let index = index_at(args, 1)?;
    let items = items_at(args, 0)?;
    if index >= items.len() {
        return Err(out_of_range(index, items.len()));
    }
    match (&items, is_plain(&args[2])) {
        (Items::Tree(list), true) => {
            let mut list = (*list).clone();
            list.set(index, to_tree(&args[2])?).map_err(too_large)?;
            call.run
                .give(Value::List(list), held(&args[0]) + held(&args[2]) + 512)
        }
        _ => {
            let mut all = items.to_vec(call.run, held(&args[0]))?;
            call.run.charge(all.len() as u64 / 4)?;
            all[index] = args[2].clone();
            call.run.list(all)
        }
    }
}

fn pushed(call: &Call<'_>, list: &K, values: &[K]) -> Outcome {
    let items = Items::of(list).ok_or_else(|| wrong(0, "a list", list))?;
    let plain = values.iter().all(is_plain);
    if plain && !matches!(items, Items::Seq(_)) {
        let mut tree = match items {
            Items::Tree(tree) => tree.clone(),
            _ => List::new(),
        };
        let mut own = held(list);
        for value in values {
            tree.push(to_tree(value)?).map_err(too_large)?;
            own += 512 + held(value);
        }
        return call.run.give(Value::List(tree), own);
    }
    call.run.charge(items.len() as u64 / 4)?;
    let mut all = items.to_vec(call.run, held(list))?;
    all.extend_from_slice(values);
    call.run.list(all)
}

fn list_push(call: &Call<'_>, args: &[K]) -> Outcome {
    pushed(call, &args[0], &args[1..])
}

fn append(call: &Call<'_>, args: &[K]) -> Outcome {
    pushed(call, &args[0], &args[1..])
}

fn part(call: &Call<'_>, value: &K, begin: usize, end: usize) -> Outcome {
    if let Some(text) = as_str(value) {
        let part: String = text.chars().skip(begin).take(end - begin).collect();
        return call.run.text(part);
    }
    let items = Items::of(value).ok_or_else(|| wrong(0, "a list or string", value))?;
    match items {
        Items::Empty => Ok(K::Unit),
        Items::Tree(list) => {
            call.run.reserve((end - begin) as u64 * 64)?;
            let part = List::from_values(list.range(begin..end).cloned()).map_err(too_large)?;
            call.run
                .give(Value::List(part), held(value) + 64 * (end - begin) as u64)
        }
        Items::Seq(items) => call.run.list(items[begin..end].to_vec()),
    }
}

/// Items or characters of a list or string.
fn size(value: &K) -> Result<usize, Fault> {
    match as_str(value) {
        Some(text) => Ok(text.chars().count()),
        None => Items::of(value)
            .map(|items| items.len())
            .ok_or_else(|| wrong(0, "a list or string", value)),
    }
}

fn slice(call: &Call<'_>, args: &[K]) -> Outcome {
    let len = size(&args[0])?;
    let begin = index_at(args, 1)?;
    let end = match args.get(2) {
        Some(_) => index_at(args, 2)?,
        None => len,
    };
    if begin > end || end > len {
        return Err(soft(
            "out_of_range",
            format!("no part {begin} to {end} of {len}"),
        ));
    }
    part(call, &args[0], begin, end)
}

fn first(call: &Call<'_>, args: &[K]) -> Outcome {
    item(call, args, 0)
}

fn second(call: &Call<'_>, args: &[K]) -> Outcome {
    item(call, args, 1)
}

fn last(call: &Call<'_>, args: &[K]) -> Outcome {
    match size(&args[0])?.checked_sub(1) {
        Some(index) => item(call, args, index),
        None => Err(soft("out_of_range", "it is empty")),
    }
}

fn tail(call: &Call<'_>, args: &[K]) -> Outcome {
    match size(&args[0])? {
        0 => Err(soft("out_of_range", "it is empty")),
        len => part(call, &args[0], 1, len),
    }
}

fn init(call: &Call<'_>, args: &[K]) -> Outcome {
    match size(&args[0])?.checked_sub(1) {
        Some(end) => part(call, &args[0], 0, end),
        None => Err(soft("out_of_range", "it is empty")),
    }
}

fn elt(call: &Call<'_>, args: &[K]) -> Outcome {
    item(call, args, index_at(args, 1)?)
}

fn reverse(call: &Call<'_>, args: &[K]) -> Outcome {
    if let Some(text) = as_str(&args[0]) {
        return call.run.text(text.chars().rev().collect::<String>());
    }
    let items = Items::of(&args[0]).ok_or_else(|| wrong(0, "a list or string", &args[0]))?;
    let mut all = items.to_vec(call.run, held(&args[0]))?;
    all.reverse();
    call.run.list(all)
}

fn concat(call: &Call<'_>, args: &[K]) -> Outcome {
    if as_str(&args[0]).is_some() {
        let mut parts = Vec::with_capacity(args.len());
        for (index, arg) in args.iter().enumerate() {
            parts.push(as_str(arg).ok_or_else(|| {
                let fault = wrong(index, "a string like the first", arg);
                advise(
                    fault,
                    "; use (to-string value) or (string-format \"{}\" value)",
                )
            })?);
        }
        return joined(call, &parts, "");
    }
    if let Some(Value::Bytes(_)) = tree(&args[0]) {
        let mut bytes = Vec::new();
        for (index, arg) in args.iter().enumerate() {
            let part = tree(arg).and_then(Value::as_bytes);
            let part = part.ok_or_else(|| wrong(index, "bytes like the first", arg))?;
            call.run.reserve((bytes.len() + part.len()) as u64)?;
            bytes.extend_from_slice(part);
        }
        return call.run.fresh(Value::Bytes(Bytes::from(bytes)));
    }
    let mut own = 0;
    let mut len = 0;
    for (index, arg) in args.iter().enumerate() {
        let items = Items::of(arg)
            .ok_or_else(|| wrong(index, "a list, string or bytes like the first", arg))?;
        len += items.len() as u64;
        own += held(arg);
    }
    call.run.charge(len / 4)?;
    call.run.reserve(len * 64)?;
    if let [Items::Tree(head), rest @ ..] = args
        .iter()
        .filter_map(Items::of)
        .collect::<Vec<_>>()
        .as_slice()
        && rest.iter().all(|items| !matches!(items, Items::Seq(_)))
    {
        let mut list = (*head).clone();
        for items in rest {
            if let Items::Tree(more) = items {
                list.extend(more.iter().cloned()).map_err(too_large)?;
            }
        }
        return call.run.give(Value::List(list), own + 64 * len);
    }
    let mut all = Vec::new();
    for arg in args {
        if let Some(items) = Items::of(arg) {
            all.extend(items.to_vec(call.run, held(arg))?);
        }
    }
    call.run.list(all)
}

fn advise(fault: Fault, advice: &str) -> Fault {
    match fault {
        Fault::Soft(mut failure) => {
            failure.message.push_str(advice);
            Fault::Soft(failure)
        }
        hard => hard,
    }
}

/// Strings with a separator between them; the size is known before anything is built.
pub(super) fn joined(call: &Call<'_>, parts: &[&str], separator: &str) -> Outcome {
    let text: u64 = parts.iter().map(|p| p.len() as u64).sum();
    let between = parts.len().saturating_sub(1) as u64 * separator.len() as u64;
    call.run.charge((text + between) / 128)?;
    call.run.reserve(text + between)?;
    call.run.text(parts.join(separator))
}

fn length(call: &Call<'_>, args: &[K]) -> Outcome {
    let n = match tree(&args[0]) {
        Some(Value::Map(map)) => map.len(),
        Some(Value::Bytes(bytes)) => bytes.len(),
        _ => match as_str(&args[0]) {
            Some(text) => {
                call.run.charge(text.len() as u64 / 256)?;
                text.chars().count()
            }
            None => match Items::of(&args[0]) {
                Some(items) => items.len(),
                None => return Err(wrong(0, "a list, map, string or bytes", &args[0])),
            },
        },
    };
    Ok((n as i64).into())
}

fn empty(_call: &Call<'_>, args: &[K]) -> Outcome {
    let empty = match (&args[0], tree(&args[0])) {
        (K::String(text), _) => text.is_empty(),
        (_, Some(Value::Map(map))) => map.is_empty(),
        (_, Some(Value::Text(text))) => text.is_empty(),
        (_, Some(Value::Bytes(bytes))) => bytes.is_empty(),
        (_, Some(Value::Null)) => true,
        _ => match Items::of(&args[0]) {
            Some(items) => items.len() == 0,
            None => return Err(wrong(0, "a list, map or string", &args[0])),
        },
    };
    Ok(K::Bool(empty))
}

fn range(call: &Call<'_>, args: &[K]) -> Outcome {
    let (begin, end) = match args.len() {
        1 => (0, int_at(args, 0)?),
        _ => (int_at(args, 0)?, int_at(args, 1)?),
    };
    let step = match args.get(2) {
        Some(_) => int_at(args, 2)?,
        None => 1,
    };
    if step == 0 {
        return Err(soft("bad_step", "the step is 0"));
    }
    let span = i128::from(end) - i128::from(begin);
    let count = if (span > 0) == (step > 0) && span != 0 {
        span.unsigned_abs()
            .div_ceil(i128::from(step).unsigned_abs())
    } else {
        0
    };
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    call.run.charge(count / 4)?;
    call.run.reserve(count.saturating_mul(64))?;
    let numbers = (0..count as i64).map(|i| Value::Int(begin + i * step));
    call.run
        .fresh(Value::List(List::from_values(numbers).map_err(too_large)?))
}

fn zip(call: &Call<'_>, args: &[K]) -> Outcome {
    let (a, b) = (items_at(args, 0)?, items_at(args, 1)?);
    let len = a.len().min(b.len());
    call.run.charge(len as u64 / 2)?;
    call.run.reserve(len as u64 * 192)?;
    let mut pairs = Vec::with_capacity(len);
    for index in 0..len {
        let pair = [
            a.get(call.run, index, held(&args[0]))?,
            b.get(call.run, index, held(&args[1]))?,
        ];
        pairs.push(call.run.list(pair.into_iter().flatten().collect())?);
    }
    call.run.list(pairs)
}
