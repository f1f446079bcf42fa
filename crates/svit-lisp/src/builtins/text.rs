//! Strings. Case and white space are ASCII, so that no table of Unicode decides what a state is.

use svit_value::{Bytes, List, Text, Value};

use super::lists::joined;
use super::{MANY, Outcome, owned_text_at, row, text_at, wrong};
use crate::engine::K;
use crate::engine::call::Call;
use crate::engine::data::tree;
use crate::engine::run::{Fault, conversion, soft};
use crate::engine::value::{Items, as_str, equal, held, to_tree, too_large};
use crate::table::Row;

const TEXT: &str = "strings";

pub(super) fn rows() -> Vec<Row> {
    vec![
        row(
            "string-format",
            "(string-format \"{} and {}\" value ...)",
            TEXT,
            "The text with each {} replaced by the next value; {{ and }} stand for braces.",
            (1, MANY),
            string_format,
        ),
        row(
            "to-string",
            "(to-string value)",
            TEXT,
            "A value as text; lists and maps as JSON.",
            (1, 1),
            to_string,
        ),
        row(
            "string",
            "(string value)",
            TEXT,
            "The same as to-string.",
            (1, 1),
            to_string,
        ),
        row(
            "split",
            "(split text separator)",
            TEXT,
            "The parts between separators; \"\" splits into characters.",
            (2, 2),
            split,
        ),
        row(
            "join",
            "(join separator list)",
            TEXT,
            "The items of a list as one string.",
            (2, MANY),
            join,
        ),
        row(
            "trim",
            "(trim text)",
            TEXT,
            "Without white space at both ends.",
            (1, 1),
            trim,
        ),
        row(
            "replace",
            "(replace text from to)",
            TEXT,
            "Every occurrence replaced.",
            (3, 3),
            replace,
        ),
        row(
            "upper",
            "(upper text)",
            TEXT,
            "ASCII letters in upper case.",
            (1, 1),
            upper,
        ),
        row(
            "lower",
            "(lower text)",
            TEXT,
            "ASCII letters in lower case.",
            (1, 1),
            lower,
        ),
        row(
            "starts-with?",
            "(starts-with? text part)",
            TEXT,
            "Whether the text starts with a part.",
            (2, 2),
            starts_with,
        ),
        row(
            "ends-with?",
            "(ends-with? text part)",
            TEXT,
            "Whether the text ends with a part.",
            (2, 2),
            ends_with,
        ),
        row(
            "contains?",
            "(contains? text part)",
            TEXT,
            "Whether a text has a part, a list an item, or a map a key.",
            (2, 2),
            contains,
        ),
        row(
            "index-of",
            "(index-of text part)",
            TEXT,
            "The first position of a part, in characters, or null.",
            (2, 2),
            index_of,
        ),
        row(
            "parse-int",
            "(parse-int text [default])",
            TEXT,
            "A decimal integer.",
            (1, 2),
            parse_int,
        ),
        row(
            "parse-float",
            "(parse-float text [default])",
            TEXT,
            "A decimal number as a float.",
            (1, 2),
            parse_float,
        ),
        row(
            "bytes",
            "(bytes text)",
            TEXT,
            "The UTF-8 bytes of a string.",
            (1, 1),
            bytes,
        ),
    ]
}

/// A value as text.
pub(super) fn shown(value: &K) -> Result<String, Fault> {
    if let Some(text) = as_str(value) {
        return Ok(text.to_owned());
    }
    Ok(match value {
        K::Bool(b) => b.to_string(),
        K::Integer(n) => n.to_string(),
        K::Float(f) => format!("{f:?}"),
        K::Ratio(r) => r.to_string(),
        K::Name(_) | K::Keyword(_) => {
            return Err(conversion("a name has no text here; use a string"));
        }
        _ => match tree(value) {
            Some(Value::Null) => "null".into(),
            _ => to_tree(value)?.to_json().map_err(too_large)?,
        },
    })
}

/// A value as text, names included; bounded before it is built.
fn display(call: &Call<'_>, value: &K) -> Result<String, Fault> {
    if let Some(name) = call.name_text(value) {
        return Ok(name);
    }
    if let Some(tree) = tree(value) {
        // Escapes and base64 make the text at most six times as long as the data.
        let measure = tree.measure();
        call.run
            .reserve(measure.cbor_len.saturating_mul(6) + measure.nodes * 8)?;
    }
    shown(value)
}

fn to_string(call: &Call<'_>, args: &[K]) -> Outcome {
    if as_str(&args[0]).is_some() {
        return Ok(args[0].clone());
    }
    call.run.text(display(call, &args[0])?)
}

fn string_format(call: &Call<'_>, args: &[K]) -> Outcome {
    let pattern = text_at(args, 0)?;
    let mut values = args[1..].iter();
    let mut parts: Vec<String> = Vec::new();
    let mut plain = String::new();
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('{', Some('{')) | ('}', Some('}')) => {
                chars.next();
                plain.push(c);
            }
            ('{', Some('}')) => {
                chars.next();
                let Some(value) = values.next() else {
                    return Err(soft(
                        "bad_format",
                        format!("there are more {{}} than the {} values", args.len() - 1),
                    ));
                };
                parts.push(std::mem::take(&mut plain));
                let text = display(call, value)?;
                call.run.reserve(
                    parts.iter().map(|p| p.len() as u64).sum::<u64>() + text.len() as u64,
                )?;
                parts.push(text);
            }
            ('{' | '}', _) => {
                return Err(soft(
                    "bad_format",
                    "write {} for a value, and {{ or }} for a brace",
                ));
            }
            _ => plain.push(c),
        }
    }
    if values.next().is_some() {
        return Err(soft(
            "bad_format",
            format!("there are fewer {{}} than the {} values", args.len() - 1),
        ));
    }
    parts.push(plain);
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    joined(call, &parts, "")
}

fn split(call: &Call<'_>, args: &[K]) -> Outcome {
    let text = text_at(args, 0)?;
    let separator = text_at(args, 1)?;
    let parts: Vec<&str> = match separator {
        "" => {
            call.run.reserve(text.len() as u64 * 96)?;
            let ends = text
                .char_indices()
                .skip(1)
                .map(|(i, _)| i)
                .chain([text.len()]);
            let starts = text.char_indices().map(|(i, _)| i);
            starts.zip(ends).map(|(a, b)| &text[a..b]).collect()
        }
        _ => {
            let count = text.matches(separator).count() as u64 + 1;
            call.run.charge(count / 4)?;
            call.run.reserve(count * 96 + text.len() as u64)?;
            text.split(separator).collect()
        }
    };
    let list = List::from_values(parts).map_err(too_large)?;
    call.run.fresh(Value::List(list))
}

fn join(call: &Call<'_>, args: &[K]) -> Outcome {
    let separator = text_at(args, 0)?;
    let several;
    let items = match (args.len(), Items::of(&args[1])) {
        (2, Some(items)) => items,
        _ => {
            several = args[1..].to_vec();
            Items::Seq(&several)
        }
    };
    call.run.charge(items.len() as u64 / 4)?;
    call.run.reserve(items.len() as u64 * 96)?;
    let mut owned = Vec::with_capacity(items.len());
    let mut total = 0_u64;
    for index in 0..items.len() {
        let item = items
            .get(call.run, index, held(&args[1]))?
            .unwrap_or(K::Unit);
        let text = match as_str(&item) {
            Some(_) => owned_text_at(std::slice::from_ref(&item), 0)?,
            None => Text::from(display(call, &item)?),
        };
        total = total.saturating_add(text.len() as u64 + separator.len() as u64);
        call.run.reserve(total)?;
        owned.push(text);
    }
    let parts: Vec<&str> = owned.iter().map(Text::as_str).collect();
    joined(call, &parts, separator)
}

fn trim(call: &Call<'_>, args: &[K]) -> Outcome {
    call.run
        .text(text_at(args, 0)?.trim_matches(|c: char| c.is_ascii_whitespace()))
}

fn replace(call: &Call<'_>, args: &[K]) -> Outcome {
    let (text, from, to) = (text_at(args, 0)?, text_at(args, 1)?, text_at(args, 2)?);
    if from.is_empty() {
        return Err(soft("bad_argument", "the text to replace is empty"));
    }
    let count = text.matches(from).count() as u64;
    let size = text.len() as u64 + count * to.len() as u64;
    call.run.charge(size / 128)?;
    call.run.reserve(size)?;
    call.run.text(text.replace(from, to))
}

fn upper(call: &Call<'_>, args: &[K]) -> Outcome {
    call.run.text(text_at(args, 0)?.to_ascii_uppercase())
}

fn lower(call: &Call<'_>, args: &[K]) -> Outcome {
    call.run.text(text_at(args, 0)?.to_ascii_lowercase())
}

fn starts_with(_call: &Call<'_>, args: &[K]) -> Outcome {
    Ok(K::Bool(text_at(args, 0)?.starts_with(text_at(args, 1)?)))
}

fn ends_with(_call: &Call<'_>, args: &[K]) -> Outcome {
    Ok(K::Bool(text_at(args, 0)?.ends_with(text_at(args, 1)?)))
}

fn contains(call: &Call<'_>, args: &[K]) -> Outcome {
    if let Some(text) = as_str(&args[0]) {
        return Ok(K::Bool(text.contains(text_at(args, 1)?)));
    }
    if let Some(map) = super::maps::as_map(&args[0]) {
        return Ok(K::Bool(map.contains_key(text_at(args, 1)?)));
    }
    let items = Items::of(&args[0]).ok_or_else(|| wrong(0, "a string, list or map", &args[0]))?;
    for index in 0..items.len() {
        if let Some(item) = items.get(call.run, index, held(&args[0]))?
            && equal(&item, &args[1])
        {
            return Ok(K::Bool(true));
        }
    }
    Ok(K::Bool(false))
}

fn index_of(call: &Call<'_>, args: &[K]) -> Outcome {
    let (text, part) = (text_at(args, 0)?, text_at(args, 1)?);
    match text.find(part) {
        Some(at) => Ok((text[..at].chars().count() as i64).into()),
        None => super::null(call),
    }
}

fn parsed<T>(args: &[K], value: Option<T>, into: fn(T) -> K, what: &str) -> Outcome {
    match (value, args.get(1)) {
        (Some(value), _) => Ok(into(value)),
        (None, Some(default)) => Ok(default.clone()),
        (None, None) => {
            let text = crate::error::clip(text_at(args, 0)?, 40);
            Err(soft("parse_error", format!("\"{text}\" is not {what}")))
        }
    }
}

fn parse_int(_call: &Call<'_>, args: &[K]) -> Outcome {
    let text = text_at(args, 0)?.trim_matches(|c: char| c.is_ascii_whitespace());
    parsed(
        args,
        text.parse::<i64>().ok(),
        K::from,
        "an integer of 64 bits",
    )
}

fn parse_float(_call: &Call<'_>, args: &[K]) -> Outcome {
    let text = text_at(args, 0)?.trim_matches(|c: char| c.is_ascii_whitespace());
    let plain = text
        .bytes()
        .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'+' | b'e' | b'E'));
    let number = text.parse::<f64>().ok().filter(|f| plain && f.is_finite());
    parsed(args, number, K::from, "a number")
}

fn bytes(call: &Call<'_>, args: &[K]) -> Outcome {
    match as_str(&args[0]) {
        Some(text) => call.run.fresh(Value::Bytes(Bytes::from(text.as_bytes()))),
        None if tree(&args[0]).is_some_and(|v| v.as_bytes().is_some()) => Ok(args[0].clone()),
        None => Err(wrong(0, "a string", &args[0])),
    }
}
