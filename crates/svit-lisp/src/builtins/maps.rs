//! Maps, and access to nested values by path.

use svit_value::{Map, Value};

use super::results::{failed, succeeded};
use super::{
    MANY, Outcome, index_at, items_at, map_at, owned_text_at, path_at, row, text_at, wrong,
};
use crate::engine::K;
use crate::engine::call::Call;
use crate::engine::data::data;
use crate::engine::run::{Fault, soft};
use crate::engine::value::{as_str, held, is_null, to_tree, too_large};
use crate::table::Row;

const MAPS: &str = "maps";
const VALUES: &str = "values";

/// Bytes that one changed entry takes at most: the nodes on its path are made anew.
const PATH_COPY: u64 = 512;

pub(super) fn rows() -> Vec<Row> {
    vec![
        row(
            "value-map",
            "(value-map key value ...)",
            VALUES,
            "A map of the given entries.",
            (0, MANY),
            value_map,
        ),
        row(
            "value-array",
            "(value-array value ...)",
            VALUES,
            "A list of the given values.",
            (0, MANY),
            value_array,
        ),
        row(
            "value-get",
            "(value-get value path [default])",
            VALUES,
            "What is at a path such as \"/a/0\" inside a value.",
            (2, 3),
            value_get,
        ),
        row(
            "value-at",
            "(value-at value key-or-index)",
            VALUES,
            "An entry of a map or an item of a list.",
            (2, 2),
            value_at,
        ),
        row(
            "value-at-safe",
            "(value-at-safe value key-or-index)",
            VALUES,
            "The same as a result map.",
            (2, 2),
            value_at_safe,
        ),
        row(
            "value-has-path?",
            "(value-has-path? value path)",
            VALUES,
            "Whether there is something at a path inside a value.",
            (2, 2),
            value_has_path,
        ),
        row(
            "value-null?",
            "(value-null? value)",
            VALUES,
            "Whether the value is null.",
            (1, 1),
            value_null,
        ),
        row(
            "map-get",
            "(map-get map key [default])",
            MAPS,
            "The value of a key; an error if it is missing and no default is given.",
            (2, 3),
            map_get,
        ),
        row(
            "map-get-safe",
            "(map-get-safe map key)",
            MAPS,
            "The same as a result map.",
            (2, 2),
            map_get_safe,
        ),
        row(
            "map-has?",
            "(map-has? map key)",
            MAPS,
            "Whether the map has a key.",
            (2, 2),
            map_has,
        ),
        row(
            "map-set",
            "(map-set map key value)",
            MAPS,
            "The map with one entry set.",
            (3, 3),
            map_set,
        ),
        row(
            "map-remove",
            "(map-remove map key)",
            MAPS,
            "The map without a key.",
            (2, 2),
            map_remove,
        ),
        row(
            "map-keys",
            "(map-keys map)",
            MAPS,
            "The keys in order.",
            (1, 1),
            map_keys,
        ),
        row(
            "map-values",
            "(map-values map)",
            MAPS,
            "The values in order of their keys.",
            (1, 1),
            map_values,
        ),
        row(
            "map-entries",
            "(map-entries map)",
            MAPS,
            "The entries as lists of key and value, in order.",
            (1, 1),
            map_entries,
        ),
    ]
}

fn value_map(call: &Call<'_>, args: &[K]) -> Outcome {
    if !args.len().is_multiple_of(2) {
        return Err(soft("odd_arguments", "takes pairs of a key and a value"));
    }
    let mut map = Map::new();
    let mut own = 64;
    for (number, pair) in args.chunks_exact(2).enumerate() {
        let key = owned_text_at(args, 2 * number)?;
        own += 128 + key.len() as u64 + held(&pair[1]);
        map.insert(key, to_tree(&pair[1])?).map_err(too_large)?;
    }
    call.run.give(Value::Map(map), own)
}

fn value_array(call: &Call<'_>, args: &[K]) -> Outcome {
    call.run.list(args.to_vec())
}

fn follow(call: &Call<'_>, args: &[K]) -> Result<Option<K>, Fault> {
    let path = path_at(call, args, 1)?;
    let root = to_tree(&args[0])?;
    match svit_tree::lookup(&root, &path) {
        Some(found) => call.run.give(found.clone(), held(&args[0])).map(Some),
        None => Ok(None),
    }
}

fn value_get(call: &Call<'_>, args: &[K]) -> Outcome {
    match (follow(call, args)?, args.get(2)) {
        (Some(found), _) => Ok(found),
        (None, Some(default)) => Ok(default.clone()),
        (None, None) => Err(soft(
            "missing",
            format!(
                "nothing at {}; give a default as the third argument",
                shorten(text_at(args, 1)?)
            ),
        )),
    }
}

fn value_has_path(call: &Call<'_>, args: &[K]) -> Outcome {
    Ok(K::Bool(follow(call, args)?.is_some()))
}

fn shorten(text: &str) -> &str {
    crate::error::clip(text, 200)
}

fn value_at(call: &Call<'_>, args: &[K]) -> Outcome {
    if let Some(key) = as_str(&args[1]) {
        let Some(found) = map_at(args, 0)?.get(key) else {
            return Err(soft("missing", format!("no key \"{}\"", shorten(key))));
        };
        return call.run.give(found.clone(), held(&args[0]));
    }
    let index = index_at(args, 1)?;
    let items = items_at(args, 0)?;
    match items.get(call.run, index, held(&args[0]))? {
        Some(item) => Ok(item),
        None => Err(soft(
            "out_of_range",
            format!("no item {index} in a list of {}", items.len()),
        )),
    }
}

fn value_at_safe(call: &Call<'_>, args: &[K]) -> Outcome {
    as_result(call, value_at(call, args))
}

fn as_result(call: &Call<'_>, outcome: Outcome) -> Outcome {
    match outcome {
        Ok(value) => succeeded(call, &value),
        Err(Fault::Soft(failure)) => failed(call, &failure.message),
        Err(hard) => Err(hard),
    }
}

fn value_null(_call: &Call<'_>, args: &[K]) -> Outcome {
    Ok(K::Bool(is_null(&args[0])))
}

fn map_get(call: &Call<'_>, args: &[K]) -> Outcome {
    let key = text_at(args, 1)?;
    match (map_at(args, 0)?.get(key), args.get(2)) {
        (Some(found), _) => call.run.give(found.clone(), held(&args[0])),
        (None, Some(default)) => Ok(default.clone()),
        (None, None) => Err(soft(
            "missing",
            format!(
                "no key \"{}\"; give a default as the third argument",
                shorten(key)
            ),
        )),
    }
}

fn map_get_safe(call: &Call<'_>, args: &[K]) -> Outcome {
    as_result(call, map_get(call, args))
}

fn map_has(_call: &Call<'_>, args: &[K]) -> Outcome {
    Ok(K::Bool(map_at(args, 0)?.contains_key(text_at(args, 1)?)))
}

fn map_set(call: &Call<'_>, args: &[K]) -> Outcome {
    let key = owned_text_at(args, 1)?;
    let mut map = map_at(args, 0)?.clone();
    let own = held(&args[0]) + held(&args[2]) + PATH_COPY + key.len() as u64;
    map.insert(key, to_tree(&args[2])?).map_err(too_large)?;
    call.run.give(Value::Map(map), own)
}

fn map_remove(call: &Call<'_>, args: &[K]) -> Outcome {
    let mut map = map_at(args, 0)?.clone();
    map.remove(text_at(args, 1)?);
    call.run.give(Value::Map(map), held(&args[0]) + PATH_COPY)
}

fn listed(
    call: &Call<'_>,
    args: &[K],
    pick: fn(&svit_value::Text, &Value) -> Result<Value, Fault>,
) -> Outcome {
    let map = map_at(args, 0)?;
    call.run.reserve(map.len() as u64 * 128)?;
    let values = map
        .iter()
        .map(|(k, v)| pick(k, v))
        .collect::<Result<Vec<_>, _>>()?;
    let own = held(&args[0]) + 128 * values.len() as u64;
    let list = svit_value::List::from_values(values).map_err(too_large)?;
    call.run.give(Value::List(list), own)
}

fn map_keys(call: &Call<'_>, args: &[K]) -> Outcome {
    listed(call, args, |key, _| Ok(Value::Text(key.clone())))
}

fn map_values(call: &Call<'_>, args: &[K]) -> Outcome {
    listed(call, args, |_, value| Ok(value.clone()))
}

fn map_entries(call: &Call<'_>, args: &[K]) -> Outcome {
    listed(call, args, entry)
}

/// An entry of a map as a list of two.
pub(super) fn entry(key: &svit_value::Text, value: &Value) -> Result<Value, Fault> {
    let pair = [Value::Text(key.clone()), value.clone()];
    svit_value::List::from_values(pair)
        .map(Value::List)
        .map_err(too_large)
}

/// The map behind a value, if it is one.
pub(super) fn as_map(value: &K) -> Option<&Map> {
    match &data(value)?.body {
        crate::engine::data::Body::Tree(Value::Map(map)) => Some(map),
        _ => None,
    }
}

/// A refusal that names the kind found.
pub(super) fn expected_collection(args: &[K], index: usize) -> Fault {
    wrong(index, "a list or a map", &args[index])
}
