//! Functions of lists and maps.

use std::cmp::Ordering;

use jaq_core::path::Opt;
use jaq_core::{Exn, ValT as _};
use svit_value::{List, Text, Value};

use super::{Run, functions};
use crate::jq::gauge;
use crate::jq::number::Number;
use crate::jq::order::{compare, sort};
use crate::jq::value::{self, ELEMENT, Val, ValR, fail, new_list};

pub(super) fn functions() -> Vec<Run> {
    use jaq_core::native::{bome, v};
    functions! {
        "length" => length, 0;
        "keys" => keys, 0;
        "keys_unsorted" => keys, 0;
        "has" => has, 1;
        "contains" => contains, 1;
        "reverse" => reverse, 0;
        "sort" => sorted, 0;
        "_sort_by" => sort_by, 1;
        "_group_by" => group_by, 1;
        "min" => min, 0;
        "max" => max, 0;
        "_min_by" => min_by, 1;
        "_max_by" => max_by, 1;
        "flatten" => flatten, 1;
        "add" => add, 0;
        "join" => join, 1;
        "transpose" => transpose, 0;
        "indices" => indices, 1;
        "delpaths" => delete_paths, 1;
        "bsearch" => binary_search, 1;
    }
}

fn length(input: Val) -> ValR {
    Ok(match &input {
        Val::Plain(Value::Null) => Val::from(0_i64),
        Val::Plain(Value::Text(text)) => {
            gauge::look(text.len());
            Val::from(text.chars().count() as i64)
        }
        Val::Plain(Value::Bytes(bytes)) => Val::from(bytes.len() as i64),
        Val::Plain(Value::List(list)) => Val::from(list.len() as i64),
        Val::Plain(Value::Map(map)) => Val::from(map.len() as i64),
        Val::Plain(Value::Bool(_)) => return fail(format!("{} has no length", input.named())),
        _ => match input.number() {
            Some(Number::Int(int)) if int != i64::MIN => Val::from(int.abs()),
            Some(number) => Val::from(number.float().abs()),
            None => Val::NULL,
        },
    })
}

fn keys(input: Val) -> ValR {
    match &input {
        Val::Plain(Value::Map(map)) => Ok(new_list(map.keys().cloned().map(Value::Text).collect())),
        Val::Plain(Value::List(list)) => {
            gauge::alloc(ELEMENT.saturating_mul(list.len()));
            Ok(new_list((0..list.len() as i64).map(Value::Int).collect()))
        }
        _ => fail(format!("{} has no keys", input.named())),
    }
}

fn has(input: Val, key: Val) -> ValR {
    match (&input, &key) {
        (Val::Plain(Value::Map(map)), Val::Plain(Value::Text(key))) => {
            Ok(Val::from(map.contains_key(key)))
        }
        (Val::Plain(Value::List(list)), _) if key.number().is_some() => {
            let index = key
                .number()
                .filter(|number| !number.is_nan())
                .map(Number::floor);
            Ok(Val::from(index.is_some_and(|index| {
                (0..list.len() as i64).contains(&index)
            })))
        }
        _ => fail(format!(
            "Cannot check whether {} has a {} key",
            input.type_name(),
            key.type_name()
        )),
    }
}

fn contains(input: Val, other: Val) -> ValR {
    let comparable = match (&input, &other) {
        (Val::Plain(Value::Bool(a)), Val::Plain(Value::Bool(b))) => a == b,
        _ => input.type_name() == other.type_name(),
    };
    if !comparable {
        return fail(format!(
            "{} and {} cannot have their containment checked",
            input.named(),
            other.named()
        ));
    }
    Ok(Val::from(contained(
        &input.into_value(),
        &other.into_value(),
    )))
}

fn contained(a: &Value, b: &Value) -> bool {
    gauge::charge(1);
    match (a, b) {
        (Value::Map(a), Value::Map(b)) => b
            .iter()
            .all(|(key, b)| a.get(key).is_some_and(|a| contained(a, b))),
        (Value::List(a), Value::List(b)) => b.iter().all(|b| a.iter().any(|a| contained(a, b))),
        (Value::Text(a), Value::Text(b)) => {
            gauge::look(a.len() + b.len());
            a.contains(b.as_str())
        }
        _ => compare(a, b).is_eq(),
    }
}

fn reverse(input: Val) -> ValR {
    match &input {
        Val::Plain(Value::Null) => Ok(new_list(vec![])),
        Val::Plain(Value::Map(map)) if map.is_empty() => Ok(new_list(vec![])),
        Val::Plain(Value::List(list)) => Ok(new_list(list.iter().rev().cloned().collect())),
        _ => fail(format!("Cannot reverse {}", input.named())),
    }
}

/// The elements, which are about to be put in an order.
fn sortable(input: &Val) -> ValR<Vec<Value>> {
    match input.list() {
        Some(list) => {
            // Sorting takes a second copy.
            gauge::alloc(2 * ELEMENT.saturating_mul(list.len()));
            Ok(list.iter().cloned().collect())
        }
        None => fail(format!(
            "{} cannot be sorted, as it is not an array",
            input.named()
        )),
    }
}

fn sorted(input: Val) -> ValR {
    let mut values = sortable(&input)?;
    sort(&mut values, &|value: &Value| value);
    Ok(new_list(values))
}

/// The elements with their keys, in the order of the keys.
fn by_key(input: &Val, keys: &Val) -> ValR<Vec<(Value, Value)>> {
    let values = sortable(input)?;
    let keys = keys.list().into_iter().flatten().cloned();
    let mut pairs: Vec<_> = keys.zip(values).collect();
    sort(&mut pairs, &|pair: &(Value, Value)| &pair.0);
    Ok(pairs)
}

fn sort_by(input: Val, keys: Val) -> ValR {
    let pairs = by_key(&input, &keys)?;
    Ok(new_list(
        pairs.into_iter().map(|(_, value)| value).collect(),
    ))
}

fn group_by(input: Val, keys: Val) -> ValR {
    let mut groups: Vec<Value> = Vec::new();
    let mut group = Vec::new();
    let mut last: Option<Value> = None;
    for (key, value) in by_key(&input, &keys)? {
        if last
            .as_ref()
            .is_some_and(|last| compare(last, &key).is_ne())
        {
            groups.push(new_list(std::mem::take(&mut group)).into_value());
        }
        group.push(value);
        last = Some(key);
    }
    if last.is_some() {
        groups.push(new_list(group).into_value());
    }
    Ok(new_list(groups))
}

fn extreme(input: &Val, keys: Option<&Val>, take: fn(Ordering) -> bool) -> ValR {
    let Some(values) = input.list() else {
        return fail(format!("Cannot iterate over {}", input.named()));
    };
    let keys = keys.and_then(Val::list).unwrap_or(values);
    let mut best: Option<(&Value, &Value)> = None;
    for (key, value) in keys.iter().zip(values) {
        gauge::charge(1);
        if best.is_none_or(|(best, _)| take(compare(key, best))) {
            best = Some((key, value));
        }
    }
    Ok(Val::Plain(
        best.map(|(_, value)| value.clone()).unwrap_or_default(),
    ))
}

fn min(input: Val) -> ValR {
    extreme(&input, None, Ordering::is_lt)
}

fn max(input: Val) -> ValR {
    extreme(&input, None, Ordering::is_ge)
}

fn min_by(input: Val, keys: Val) -> ValR {
    extreme(&input, Some(&keys), Ordering::is_lt)
}

fn max_by(input: Val, keys: Val) -> ValR {
    extreme(&input, Some(&keys), Ordering::is_ge)
}

fn flatten(input: Val, depth: Val) -> ValR {
    let depth = depth.number().map_or(0, Number::truncated);
    if depth < 0 {
        return fail("flatten depth must not be negative");
    }
    let Some(list) = input.list() else {
        return match input.map() {
            Some(map) => {
                let values = new_list(map.values().cloned().collect());
                flatten(values, Val::from(depth))
            }
            None => fail(format!("Cannot iterate over {}", input.named())),
        };
    };
    let mut flat = Vec::new();
    flat_into(&mut flat, list, depth);
    Ok(value::list(flat))
}

fn flat_into(flat: &mut Vec<Value>, list: &List, depth: i64) {
    for value in list {
        gauge::alloc(ELEMENT);
        gauge::charge(1);
        match value {
            Value::List(inner) if depth > 0 => flat_into(flat, inner, depth - 1),
            _ => flat.push(value.clone()),
        }
    }
}

fn add(input: Val) -> ValR {
    if input.is_null() {
        return Ok(Val::NULL);
    }
    // Texts and lists in one go: one by one, each sum would be copied again.
    if let Some(list) = input.list().filter(|list| !list.is_empty()) {
        gauge::charge(list.len() as u64);
        if list.iter().all(|value| matches!(value, Value::Text(_))) {
            return Ok(concat(list, ""));
        }
        if list.iter().all(|value| matches!(value, Value::List(_))) {
            let mut all = Vec::new();
            for part in list.iter().filter_map(Value::as_list) {
                gauge::alloc(ELEMENT.saturating_mul(part.len()));
                all.extend(part.iter().cloned());
            }
            return Ok(value::list(all));
        }
    }
    let mut sum = Val::NULL;
    for value in input.values() {
        sum = (sum + value?)?;
    }
    Ok(sum)
}

/// Texts one after another.
fn concat(list: &List, separator: &str) -> Val {
    let mut out = String::new();
    for (at, text) in list.iter().filter_map(Value::as_str).enumerate() {
        gauge::alloc(text.len() + separator.len());
        if at > 0 {
            out.push_str(separator);
        }
        out.push_str(text);
    }
    gauge::alloc(ELEMENT);
    Val::Plain(Value::Text(out.into()))
}

fn join(input: Val, separator: Val) -> ValR {
    let parts: Vec<Val> = input.values().collect::<ValR<_>>()?;
    if parts.is_empty() {
        return Ok(Val::from(""));
    }
    if !separator.is_null() {
        separator.need_text("cannot be used to join")?;
    }
    let mut texts = Vec::with_capacity(parts.len());
    for part in parts {
        gauge::alloc(ELEMENT);
        let text = match part {
            Val::Plain(Value::Null) => Value::Text(Text::default()),
            Val::Plain(Value::Text(text)) => Value::Text(text),
            part if part.type_name() == "number" || part.type_name() == "boolean" => {
                part.into_string().into_value()
            }
            part => {
                return fail(format!("{} cannot be joined", part.named()));
            }
        };
        texts.push(text);
    }
    let Val::Plain(Value::List(texts)) = value::list(texts) else {
        return Ok(Val::NULL);
    };
    Ok(concat(&texts, separator.text().map_or("", Text::as_str)))
}

fn transpose(input: Val) -> ValR {
    let mut rows = Vec::new();
    for row in input.values() {
        match row? {
            Val::Plain(Value::List(row)) => rows.push(row),
            other => return fail(format!("Cannot index {} with number", other.type_name())),
        }
    }
    let width = rows.iter().map(List::len).max().unwrap_or_default();
    let mut columns = Vec::new();
    for at in 0..width {
        gauge::charge(rows.len() as u64);
        let column = rows
            .iter()
            .map(|row| row.get(at).cloned().unwrap_or_default());
        columns.push(new_list(column.collect()).into_value());
    }
    Ok(new_list(columns))
}

fn indices(input: Val, wanted: Val) -> ValR {
    match (&input, &wanted) {
        (Val::Plain(Value::Null), _) => Ok(Val::NULL),
        (Val::Plain(Value::Text(text)), Val::Plain(Value::Text(part))) => {
            Ok(super::text::places(text, part))
        }
        (Val::Plain(Value::List(list)), Val::Plain(Value::List(part))) => Ok(places_of(list, part)),
        (Val::Plain(Value::List(list)), _) => {
            let wanted = wanted.into_value();
            Ok(places(list.iter().map(|value| {
                gauge::charge(1);
                compare(value, &wanted).is_eq()
            })))
        }
        _ => fail(format!(
            "Cannot determine indices of {} in {}",
            wanted.named(),
            input.named()
        )),
    }
}

/// Where one list begins inside another.
pub(crate) fn places_of(list: &List, part: &List) -> Val {
    if part.is_empty() {
        return Val::NULL;
    }
    let starts = 0..list.len().saturating_sub(part.len() - 1);
    places(starts.map(|start| {
        gauge::charge(1);
        list.range(start..start + part.len())
            .zip(part)
            .all(|(a, b)| {
                gauge::charge(1);
                compare(a, b).is_eq()
            })
    }))
}

fn places(found: impl Iterator<Item = bool>) -> Val {
    let places = found.enumerate().filter(|(_, found)| *found);
    new_list(places.map(|(at, _)| Value::Int(at as i64)).collect())
}

/// Paths are deleted from the last to the first, so that indexes mean what they meant.
fn delete_paths(input: Val, paths: Val) -> ValR {
    let Some(list) = paths.list() else {
        return fail("Paths must be specified as an array");
    };
    if let Some(path) = list.iter().find(|path| path.as_list().is_none()) {
        let path = Val::Plain(path.clone());
        return fail(format!(
            "Path must be specified as an array, not {}",
            path.named()
        ));
    }
    let mut paths = sortable(&paths)?;
    sort(&mut paths, &|path: &Value| path);
    let mut left = input;
    for path in paths.iter().rev().filter_map(Value::as_list) {
        let path: Vec<Val> = path.iter().cloned().map(Val::Plain).collect();
        left = delete(left, &path)?;
    }
    Ok(left)
}

fn delete(value: Val, path: &[Val]) -> ValR {
    gauge::charge(1);
    let Some((key, rest)) = path.split_first() else {
        return Ok(Val::NULL);
    };
    // What is not there need not be deleted.
    if value.clone().index(key)?.is_null() && (value.is_null() || !rest.is_empty()) {
        return Ok(value);
    }
    if let (Some(list), Some(_)) = (value.list(), key.number()) {
        let known = has(Val::Plain(Value::List(list.clone())), key.clone())?.as_bool();
        let from_end = key.number().is_some_and(|number| {
            let at = number.floor();
            at < 0 && at >= -(list.len() as i64)
        });
        if !known && !from_end {
            return Ok(value);
        }
    }
    let changed = value.map_index(key, Opt::Essential, |child| {
        let left = (!rest.is_empty()).then(|| delete(child, rest).map_err(Exn::from));
        left.into_iter()
    });
    match changed {
        Ok(changed) => Ok(changed),
        // Only `break` and the like are no errors, and there are none in here.
        Err(exception) => match exception.get_err() {
            Ok(error) => Err(error),
            Err(_) => fail("cannot delete"),
        },
    }
}

/// The index of a value in a sorted list, or -1 - the index where it would be.
fn binary_search(input: Val, wanted: Val) -> ValR {
    let Some(list) = input.list() else {
        return fail(format!("{} cannot be searched from", input.named()));
    };
    let wanted = wanted.into_value();
    let (mut low, mut high) = (0, list.len());
    while low < high {
        gauge::charge(1);
        let middle = low + (high - low) / 2;
        match list.get(middle).map(|value| compare(value, &wanted)) {
            Some(Ordering::Less) => low = middle + 1,
            Some(Ordering::Equal) => return Ok(Val::from(middle as i64)),
            _ => high = middle,
        }
    }
    Ok(Val::from(-1 - low as i64))
}
