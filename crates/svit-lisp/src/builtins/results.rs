//! Results as maps, calls that catch failures, and tables of functions.

use std::collections::BTreeMap;

use svit_value::{Map, Text, Value};

use super::{MANY, Outcome, map_at, owned_text_at, prelude, row, text_at, wrong};
use crate::engine::K;
use crate::engine::call::{Call, carry, need_function};
use crate::engine::data::{Body, data};
use crate::engine::run::{Fault, soft};
use crate::engine::value::{held, to_tree, too_large};
use crate::table::Row;

const RESULTS: &str = "results";
const DISPATCH: &str = "dispatch";

pub(super) fn rows() -> Vec<Row> {
    vec![
        row(
            "safe-call",
            "(safe-call function value ...)",
            RESULTS,
            "Calls a function and gives a result map; limits and ticks are not caught.",
            (1, MANY),
            safe_call,
        ),
        row(
            "result-ok",
            "(result-ok value)",
            RESULTS,
            "The result map of a success.",
            (1, 1),
            |call, a| succeeded(call, &a[0]),
        ),
        row(
            "result-error",
            "(result-error message)",
            RESULTS,
            "The result map of a failure.",
            (1, 1),
            result_error,
        ),
        row(
            "result-ok?",
            "(result-ok? result)",
            RESULTS,
            "Whether a result is a success.",
            (1, 1),
            is_ok,
        ),
        row(
            "result-value",
            "(result-value result [default])",
            RESULTS,
            "The value of a success.",
            (1, 2),
            result_value,
        ),
        row(
            "result-error-message",
            "(result-error-message result)",
            RESULTS,
            "The message of a failure, or null.",
            (1, 1),
            result_error_message,
        ),
        prelude(
            "result-map",
            "(result-map function result)",
            RESULTS,
            "The result with its value replaced by (function value).",
            (2, 2),
        ),
        prelude(
            "result-and-then",
            "(result-and-then function result)",
            RESULTS,
            "(function value) of a success; a failure as it is.",
            (2, 2),
        ),
        prelude(
            "result-or-else",
            "(result-or-else function result)",
            RESULTS,
            "(function message) of a failure; a success as it is.",
            (2, 2),
        ),
        row(
            "dispatch-table",
            "(dispatch-table name function ...)",
            DISPATCH,
            "A table from names to functions.",
            (0, MANY),
            dispatch_table,
        ),
        prelude(
            "dispatch",
            "(dispatch table name value ...)",
            DISPATCH,
            "Calls the function that a table has for a name.",
            (2, MANY),
        ),
        prelude(
            "dispatch-safe",
            "(dispatch-safe table name value ...)",
            DISPATCH,
            "The same as a result map.",
            (2, MANY),
        ),
        row("%table-get", "", DISPATCH, "", (2, 2), table_get),
    ]
}

fn result(call: &Call<'_>, ok: bool, field: &str, value: Value, own: u64) -> Outcome {
    let entries = [
        (Text::from("ok"), Value::Bool(ok)),
        (Text::from(field), value),
    ];
    let map = Map::from_entries(entries).map_err(too_large)?;
    call.run.give(Value::Map(map), own + 256)
}

pub(super) fn succeeded(call: &Call<'_>, value: &K) -> Outcome {
    result(call, true, "value", to_tree(value)?, held(value))
}

pub(super) fn failed(call: &Call<'_>, message: &str) -> Outcome {
    let message = crate::error::clip(message, crate::error::MAX_MESSAGE_BYTES);
    result(
        call,
        false,
        "error",
        Value::from(message),
        message.len() as u64,
    )
}

fn result_error(call: &Call<'_>, args: &[K]) -> Outcome {
    let message = owned_text_at(args, 0)?;
    result(call, false, "error", Value::Text(message), held(&args[0]))
}

fn ok_of(args: &[K]) -> Result<bool, Fault> {
    match map_at(args, 0)?.get("ok") {
        Some(Value::Bool(ok)) => Ok(*ok),
        _ => Err(wrong(
            0,
            "a result map such as {\"ok\": true, \"value\": 1}",
            &args[0],
        )),
    }
}

fn is_ok(_call: &Call<'_>, args: &[K]) -> Outcome {
    Ok(K::Bool(ok_of(args)?))
}

fn field(call: &Call<'_>, args: &[K], name: &str) -> Outcome {
    let value = map_at(args, 0)?.get(name).cloned().unwrap_or_default();
    call.run.give(value, held(&args[0]))
}

fn result_value(call: &Call<'_>, args: &[K]) -> Outcome {
    match (ok_of(args)?, args.get(1)) {
        (true, _) => field(call, args, "value"),
        (false, Some(default)) => Ok(default.clone()),
        (false, None) => Err(soft(
            "not_ok",
            "the result is a failure; test it with result-ok?",
        )),
    }
}

fn result_error_message(call: &Call<'_>, args: &[K]) -> Outcome {
    match ok_of(args)? {
        true => super::null(call),
        false => field(call, args, "error"),
    }
}

fn safe_call(call: &Call<'_>, args: &[K]) -> Outcome {
    let Some((function, values)) = args.split_first() else {
        return Err(soft("internal", "no function"));
    };
    need_function(function)?;
    let outcome = call.reenter(function, values);
    let outcome =
        outcome.and_then(|value| succeeded(call, &value).map_err(|fault| carry(call.run, fault)));
    match outcome {
        Ok(result) => Ok(result),
        Err(error) => match call.soft_failure(&error) {
            Some(failure) => failed(call, &failure.message),
            // THREAT[TM-LISP-6]
            None => Err(Fault::Hard),
        },
    }
}

fn dispatch_table(call: &Call<'_>, args: &[K]) -> Outcome {
    if !args.len().is_multiple_of(2) {
        return Err(soft(
            "odd_arguments",
            "takes pairs of a name and a function",
        ));
    }
    let mut entries = BTreeMap::new();
    for (number, pair) in args.chunks_exact(2).enumerate() {
        need_function(&pair[1])?;
        entries.insert(owned_text_at(args, 2 * number)?, pair[1].clone());
    }
    call.run.table(entries)
}

fn table_get(_call: &Call<'_>, args: &[K]) -> Outcome {
    let name = text_at(args, 1)?;
    let Some(Body::Table(entries)) = data(&args[0]).map(|d| &d.body) else {
        return Err(wrong(0, "a dispatch table", &args[0]));
    };
    entries.get(name).cloned().ok_or_else(|| {
        soft(
            "missing",
            format!("the table has no \"{}\"", crate::error::clip(name, 80)),
        )
    })
}
