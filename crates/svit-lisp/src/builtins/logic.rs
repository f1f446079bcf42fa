//! Equality, order, booleans, and questions about kinds.

use std::cmp::Ordering;

use super::{MANY, Outcome, row, wrong};
use crate::engine::K;
use crate::engine::call::Call;
use crate::engine::run::{Fault, soft};
use crate::engine::value::{compare, equal, is_function, is_null, kind};
use crate::table::Row;

const LOGIC: &str = "logic";
const KINDS: &str = "kinds";

pub(super) fn rows() -> Vec<Row> {
    vec![
        row(
            "=",
            "(= a b ...)",
            LOGIC,
            "Whether all are equal; values of different kinds are not.",
            (2, MANY),
            same,
        ),
        row(
            "/=",
            "(/= a b)",
            LOGIC,
            "Whether they differ.",
            (2, 2),
            different,
        ),
        row(
            "<",
            "(< a b ...)",
            LOGIC,
            "Whether each is less than the next.",
            (2, MANY),
            less,
        ),
        row(
            ">",
            "(> a b ...)",
            LOGIC,
            "Whether each is greater than the next.",
            (2, MANY),
            greater,
        ),
        row(
            "<=",
            "(<= a b ...)",
            LOGIC,
            "Whether none is greater than the next.",
            (2, MANY),
            at_most,
        ),
        row(
            ">=",
            "(>= a b ...)",
            LOGIC,
            "Whether none is less than the next.",
            (2, MANY),
            at_least,
        ),
        row(
            "not",
            "(not a)",
            LOGIC,
            "true for false, and false for true.",
            (1, 1),
            not,
        ),
        row(
            "xor",
            "(xor a b)",
            LOGIC,
            "Whether exactly one is true.",
            (2, 2),
            xor,
        ),
        row(
            "identity",
            "(identity value)",
            LOGIC,
            "The value itself.",
            (1, 1),
            identity,
        ),
        row(
            "type-of",
            "(type-of value)",
            KINDS,
            "The kind of a value, as a string.",
            (1, 1),
            type_of,
        ),
        row(
            "map?",
            "(map? value)",
            KINDS,
            "Whether it is a map.",
            (1, 1),
            |_, a| is(a, &["map"]),
        ),
        row(
            "list?",
            "(list? value)",
            KINDS,
            "Whether it is a list.",
            (1, 1),
            |_, a| is(a, &["list"]),
        ),
        row(
            "string?",
            "(string? value)",
            KINDS,
            "Whether it is a string.",
            (1, 1),
            |_, a| is(a, &["string"]),
        ),
        row(
            "number?",
            "(number? value)",
            KINDS,
            "Whether it is a number.",
            (1, 1),
            |_, a| is(a, &["integer", "float", "ratio"]),
        ),
        row(
            "integer?",
            "(integer? value)",
            KINDS,
            "Whether it is an integer.",
            (1, 1),
            |_, a| is(a, &["integer"]),
        ),
        row(
            "float?",
            "(float? value)",
            KINDS,
            "Whether it is a float.",
            (1, 1),
            |_, a| is(a, &["float"]),
        ),
        row(
            "boolean?",
            "(boolean? value)",
            KINDS,
            "Whether it is true or false.",
            (1, 1),
            |_, a| is(a, &["boolean"]),
        ),
        row(
            "bytes?",
            "(bytes? value)",
            KINDS,
            "Whether it is bytes.",
            (1, 1),
            |_, a| is(a, &["bytes"]),
        ),
        row(
            "function?",
            "(function? value)",
            KINDS,
            "Whether it can be called.",
            (1, 1),
            |_, a| Ok(K::Bool(is_function(&a[0]))),
        ),
        row(
            "null?",
            "(null? value)",
            KINDS,
            "Whether it is null.",
            (1, 1),
            |_, a| Ok(K::Bool(is_null(&a[0]))),
        ),
        row("%case", "", LOGIC, "", (1, MANY), case),
    ]
}

fn is(args: &[K], kinds: &[&str]) -> Outcome {
    Ok(K::Bool(kinds.contains(&kind(&args[0]))))
}

fn same(_call: &Call<'_>, args: &[K]) -> Outcome {
    Ok(K::Bool(
        args[1..].iter().all(|other| equal(&args[0], other)),
    ))
}

fn different(_call: &Call<'_>, args: &[K]) -> Outcome {
    Ok(K::Bool(!equal(&args[0], &args[1])))
}

fn ordered(args: &[K], holds: fn(Ordering) -> bool) -> Outcome {
    let mut result = true;
    for pair in args.windows(2) {
        result &= holds(compare(&pair[0], &pair[1])?);
    }
    Ok(K::Bool(result))
}

fn less(_call: &Call<'_>, args: &[K]) -> Outcome {
    ordered(args, Ordering::is_lt)
}

fn greater(_call: &Call<'_>, args: &[K]) -> Outcome {
    ordered(args, Ordering::is_gt)
}

fn at_most(_call: &Call<'_>, args: &[K]) -> Outcome {
    ordered(args, Ordering::is_le)
}

fn at_least(_call: &Call<'_>, args: &[K]) -> Outcome {
    ordered(args, Ordering::is_ge)
}

fn bool_at(args: &[K], index: usize) -> Result<bool, Fault> {
    match &args[index] {
        K::Bool(b) => Ok(*b),
        other => Err(wrong(index, "true or false", other)),
    }
}

fn not(_call: &Call<'_>, args: &[K]) -> Outcome {
    Ok(K::Bool(!bool_at(args, 0)?))
}

fn xor(_call: &Call<'_>, args: &[K]) -> Outcome {
    Ok(K::Bool(bool_at(args, 0)? ^ bool_at(args, 1)?))
}

fn identity(_call: &Call<'_>, args: &[K]) -> Outcome {
    Ok(args[0].clone())
}

fn type_of(_call: &Call<'_>, args: &[K]) -> Outcome {
    Ok(kind(&args[0]).into())
}

/// Whether the subject of a `case` equals one of its keys.
fn case(_call: &Call<'_>, args: &[K]) -> Outcome {
    match args.split_first() {
        Some((subject, keys)) => Ok(K::Bool(keys.iter().any(|key| equal(subject, key)))),
        None => Err(soft("internal", "case without a subject")),
    }
}
