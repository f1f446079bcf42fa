//! The built-in functions, one file per category, and how they read their arguments.

mod glue;
mod host;
mod iterate;
mod json;
mod lists;
mod logic;
mod maps;
mod numbers;
mod order;
mod query;
mod results;
mod structs;
mod text;

use svit_tree::Path;
use svit_value::{Map, Text, Value};

use crate::engine::K;
use crate::engine::Native;
use crate::engine::call::Call;
use crate::engine::data::{Body, data};
use crate::engine::run::{Fault, soft};
use crate::engine::value::{Items, as_str, as_text, kind};
use crate::table::{Kind, Row};

type Outcome = Result<K, Fault>;

/// Any number of arguments.
const MANY: u32 = u32::MAX;

const fn kinded(
    name: &'static str,
    signature: &'static str,
    category: &'static str,
    summary: &'static str,
    arity: (u32, u32),
    kind: Kind,
) -> Row {
    let max = if arity.1 == MANY { None } else { Some(arity.1) };
    Row {
        name,
        signature,
        category,
        summary,
        min: arity.0,
        max,
        kind,
    }
}

const fn row(
    name: &'static str,
    signature: &'static str,
    category: &'static str,
    summary: &'static str,
    arity: (u32, u32),
    native: Native,
) -> Row {
    kinded(
        name,
        signature,
        category,
        summary,
        arity,
        Kind::Native(native),
    )
}

const fn prelude(
    name: &'static str,
    signature: &'static str,
    category: &'static str,
    summary: &'static str,
    arity: (u32, u32),
) -> Row {
    kinded(name, signature, category, summary, arity, Kind::Prelude)
}

/// All rows of the table.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for part in [
        host::rows(),
        maps::rows(),
        lists::rows(),
        order::rows(),
        iterate::rows(),
        text::rows(),
        numbers::rows(),
        logic::rows(),
        json::rows(),
        results::rows(),
        structs::rows(),
        query::rows(),
        glue::rows(),
    ] {
        rows.extend(part);
    }
    rows
}

fn wrong(index: usize, expected: &str, found: &K) -> Fault {
    soft(
        "wrong_type",
        format!(
            "argument {} should be {expected}, found {}",
            index + 1,
            kind(found)
        ),
    )
}

fn text_at(args: &[K], index: usize) -> Result<&str, Fault> {
    as_str(&args[index]).ok_or_else(|| wrong(index, "a string", &args[index]))
}

fn owned_text_at(args: &[K], index: usize) -> Result<Text, Fault> {
    as_text(&args[index]).ok_or_else(|| wrong(index, "a string", &args[index]))
}

fn map_at(args: &[K], index: usize) -> Result<&Map, Fault> {
    match data(&args[index]).map(|d| &d.body) {
        Some(Body::Tree(Value::Map(map))) => Ok(map),
        _ => Err(wrong(index, "a map", &args[index])),
    }
}

fn items_at(args: &[K], index: usize) -> Result<Items<'_>, Fault> {
    Items::of(&args[index]).ok_or_else(|| wrong(index, "a list", &args[index]))
}

fn int_at(args: &[K], index: usize) -> Result<i64, Fault> {
    match &args[index] {
        K::Integer(n) => n
            .to_i64()
            .ok_or_else(|| soft("overflow", "the integer is too large here")),
        other => Err(wrong(index, "an integer", other)),
    }
}

/// An index or length: a negative number is refused.
fn index_at(args: &[K], index: usize) -> Result<usize, Fault> {
    let n = int_at(args, index)?;
    usize::try_from(n).map_err(|_| {
        soft(
            "out_of_range",
            format!("{n} is negative; positions count from 0"),
        )
    })
}

fn null(call: &Call<'_>) -> Outcome {
    call.run.borrowed(Value::Null)
}

/// A path, paid by its length, since reading one takes longer than the call it is for.
fn path_at(call: &Call<'_>, args: &[K], index: usize) -> Result<Path, Fault> {
    let text = text_at(args, index)?;
    call.run.charge(text.len() as u64 / 64)?;
    Path::parse(text).map_err(|error| soft("bad_path", error.to_string()))
}
