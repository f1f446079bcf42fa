//! Functions of texts.

use svit_value::{Text, Value};

use super::{Run, functions};
use crate::jq::value::{ELEMENT, Val, ValR, fail, new_list, new_text};
use crate::jq::{gauge, json, number};

pub(super) fn functions() -> Vec<Run> {
    use jaq_core::native::{bome, v};
    functions! {
        "utf8bytelength" => byte_length, 0;
        "fromjson" => from_json, 0;
        "tonumber" => to_number, 0;
        "explode" => explode, 0;
        "implode" => implode, 0;
        "split" => split_text, 1;
        "startswith" => starts_with, 1;
        "endswith" => ends_with, 1;
        "ltrimstr" => trim_start_text, 1;
        "rtrimstr" => trim_end_text, 1;
        "trimstr" => trim_text, 1;
        "trim" => trim, 0;
        "ltrim" => trim_start, 0;
        "rtrim" => trim_end, 0;
        "ascii_downcase" => ascii_downcase, 0;
        "ascii_upcase" => ascii_upcase, 0;
    }
}

fn byte_length(input: Val) -> ValR {
    let text = input.need_text("only strings have UTF-8 byte length")?;
    Ok(Val::from(text.len() as i64))
}

fn from_json(input: Val) -> ValR {
    json::parse(input.need_text("cannot be parsed as JSON")?)
}

fn to_number(input: Val) -> ValR {
    if input.number().is_some() {
        return Ok(input);
    }
    match input.text().and_then(|text| number::parse(text)) {
        Some(number) => Ok(number),
        None => fail(format!("{} cannot be parsed as a number", input.named())),
    }
}

fn explode(input: Val) -> ValR {
    let text = input.need_text("cannot be exploded")?;
    gauge::alloc(ELEMENT.saturating_mul(text.len()));
    Ok(new_list(
        text.chars()
            .map(|c| Value::Int(i64::from(u32::from(c))))
            .collect(),
    ))
}

fn implode(input: Val) -> ValR {
    let Some(list) = input.list() else {
        return fail("implode input must be an array");
    };
    let mut out = String::new();
    for code in list {
        gauge::alloc(4);
        gauge::charge(1);
        let code = Val::Plain(code.clone());
        let character = code
            .number()
            .and_then(|number| u32::try_from(number.truncated()).ok())
            .and_then(char::from_u32);
        match character {
            Some(character) => out.push(character),
            None if code.number().is_some() => out.push(char::REPLACEMENT_CHARACTER),
            None => return fail(format!("{} is no Unicode codepoint", code.named())),
        }
    }
    Ok(new_text(out))
}

/// The pieces between the separators; between all characters if it is empty.
pub(crate) fn split(text: &Text, separator: &Text) -> Val {
    gauge::alloc(text.len());
    if text.is_empty() {
        return new_list(vec![]);
    }
    let mut pieces = Vec::new();
    let mut push = |piece: &str| {
        gauge::alloc(ELEMENT);
        pieces.push(Value::from(piece));
    };
    if separator.is_empty() {
        let mut buffer = [0; 4];
        text.chars().for_each(|c| push(c.encode_utf8(&mut buffer)));
    } else {
        text.split(separator.as_str()).for_each(push);
    }
    new_list(pieces)
}

fn split_text(input: Val, separator: Val) -> ValR {
    match (input.text(), separator.text()) {
        (Some(text), Some(separator)) => Ok(split(text, separator)),
        _ => fail("split input and separator must be strings"),
    }
}

/// Where a part begins in a text, in characters; places may overlap.
pub(crate) fn places(text: &Text, part: &Text) -> Val {
    if part.is_empty() {
        return Val::NULL;
    }
    gauge::look(text.len());
    let mut places = Vec::new();
    let (mut from, mut characters) = (0, 0_i64);
    while let Some(found) = text[from..].find(part.as_str()) {
        gauge::alloc(ELEMENT);
        gauge::charge(1);
        gauge::look(part.len());
        characters += text[from..from + found].chars().count() as i64;
        places.push(Value::Int(characters));
        from += found;
        from += text[from..].chars().next().map_or(1, char::len_utf8);
        characters += 1;
    }
    new_list(places)
}

fn both<'a>(input: &'a Val, other: &'a Val, name: &str) -> ValR<(&'a Text, &'a Text)> {
    match (input.text(), other.text()) {
        (Some(text), Some(other)) => {
            gauge::look(other.len());
            Ok((text, other))
        }
        _ => fail(format!("{name}() requires string inputs")),
    }
}

fn starts_with(input: Val, start: Val) -> ValR {
    let (text, start) = both(&input, &start, "startswith")?;
    Ok(Val::from(text.starts_with(start.as_str())))
}

fn ends_with(input: Val, end: Val) -> ValR {
    let (text, end) = both(&input, &end, "endswith")?;
    Ok(Val::from(text.ends_with(end.as_str())))
}

fn trim_start_text(input: Val, start: Val) -> ValR {
    let (text, start) = both(&input, &start, "startswith")?;
    let rest = text.strip_prefix(start.as_str()).map(Val::from);
    Ok(rest.unwrap_or(input))
}

fn trim_end_text(input: Val, end: Val) -> ValR {
    let (text, end) = both(&input, &end, "endswith")?;
    let rest = text.strip_suffix(end.as_str()).map(Val::from);
    Ok(rest.unwrap_or(input))
}

fn trim_text(input: Val, part: Val) -> ValR {
    trim_end_text(trim_start_text(input, part.clone())?, part)
}

fn trimmed(input: &Val, trim: fn(&str) -> &str) -> ValR {
    let text = input.need_text("cannot be trimmed")?;
    gauge::look(text.len());
    Ok(Val::from(trim(text)))
}

/// Space as the manual of jq lists it. The standard library has a table, which may change.
pub(super) const fn is_space(c: char) -> bool {
    matches!(
        c,
        '\t'..='\r'
            | ' '
            | '\u{85}'
            | '\u{a0}'
            | '\u{1680}'
            | '\u{2000}'..='\u{200a}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{202f}'
            | '\u{205f}'
            | '\u{3000}'
    )
}

fn trim(input: Val) -> ValR {
    trimmed(&input, |text| text.trim_matches(is_space))
}

fn trim_start(input: Val) -> ValR {
    trimmed(&input, |text| text.trim_start_matches(is_space))
}

fn trim_end(input: Val) -> ValR {
    trimmed(&input, |text| text.trim_end_matches(is_space))
}

fn ascii_downcase(input: Val) -> ValR {
    let Some(text) = input.text() else {
        return fail("ascii_downcase input must be a string");
    };
    Ok(new_text(text.to_ascii_lowercase()))
}

fn ascii_upcase(input: Val) -> ValR {
    let Some(text) = input.text() else {
        return fail("ascii_upcase input must be a string");
    };
    Ok(new_text(text.to_ascii_uppercase()))
}
