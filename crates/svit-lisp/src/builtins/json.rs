//! JSON: the lossless form that the rest of svit uses, in and out.

use svit_value::Value;

use super::results::{failed, succeeded};
use super::{Outcome, row, text_at};
use crate::engine::K;
use crate::engine::call::Call;
use crate::engine::run::{Fault, soft};
use crate::engine::value::{to_tree, too_large};
use crate::table::Row;

const JSON: &str = "json";

pub(super) fn rows() -> Vec<Row> {
    vec![
        row(
            "json-parse",
            "(json-parse text)",
            JSON,
            "The value that a JSON text stands for.",
            (1, 1),
            json_parse,
        ),
        row(
            "json-parse-safe",
            "(json-parse-safe text)",
            JSON,
            "The same as a result map.",
            (1, 1),
            json_parse_safe,
        ),
        row(
            "json-stringify",
            "(json-stringify value)",
            JSON,
            "A value as JSON text; keys in order, no spaces.",
            (1, 1),
            json_stringify,
        ),
    ]
}

fn json_parse(call: &Call<'_>, args: &[K]) -> Outcome {
    let text = text_at(args, 0)?;
    // Every value but the first stands after one of these.
    let marks = text
        .bytes()
        .filter(|b| matches!(b, b',' | b'[' | b'{' | b':'))
        .count() as u64;
    call.run.reserve((marks + 1) * 128 + text.len() as u64)?;
    let value = Value::from_json_with(text, &call.run.limits.value)
        .map_err(|error| soft("bad_json", error.to_string()))?;
    call.run.fresh(value)
}

fn json_parse_safe(call: &Call<'_>, args: &[K]) -> Outcome {
    match json_parse(call, args) {
        Ok(value) => succeeded(call, &value),
        Err(Fault::Soft(failure)) => failed(call, &failure.message),
        Err(hard) => Err(hard),
    }
}

fn json_stringify(call: &Call<'_>, args: &[K]) -> Outcome {
    let value = to_tree(&args[0])?;
    let measure = value.measure();
    call.run
        .reserve(measure.cbor_len.saturating_mul(6) + measure.nodes * 8)?;
    call.run.text(value.to_json().map_err(too_large)?)
}
