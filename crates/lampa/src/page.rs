//! Values and times as people read them on a terminal.

use svit::Value;

use crate::printable::printable;

/// A value with a newline at its end: a text as it is, everything else as indented JSON.
pub(crate) fn value(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Text(text) => out += text,
        other => indented(other, 0, &mut out),
    }
    printable(&out) + "\n"
}

/// JSON with two spaces for each level. The depth of a value bounds the recursion.
fn indented(value: &Value, level: usize, out: &mut String) {
    let line = |out: &mut String, first: bool, level: usize| {
        *out += if first { "\n" } else { ",\n" };
        *out += &"  ".repeat(level);
    };
    match value {
        Value::List(list) if !list.is_empty() => {
            out.push('[');
            for (index, item) in list.iter().enumerate() {
                line(out, index == 0, level + 1);
                indented(item, level + 1, out);
            }
            line(out, true, level);
            out.push(']');
        }
        Value::Map(map) if !map.is_empty() => {
            out.push('{');
            for (index, (key, item)) in map.iter().enumerate() {
                line(out, index == 0, level + 1);
                *out += &scalar(&Value::from(key.clone()));
                *out += ": ";
                indented(item, level + 1, out);
            }
            line(out, true, level);
            out.push('}');
        }
        other => *out += &scalar(other),
    }
}

/// What has no parts always has a JSON form; only a map can lack one.
fn scalar(value: &Value) -> String {
    value.to_json().unwrap_or_else(|_| value.to_string())
}

/// Milliseconds since the Unix epoch as a date and time, UTC.
pub(crate) fn time(millis: u64) -> String {
    let (days, second) = (millis / 86_400_000, millis / 1_000 % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}Z")
}

/// The Gregorian date so many days after 1970-01-01.
fn date(days: u64) -> (u64, u64, u64) {
    const DAYS_IN_400_YEARS: u64 = 146_097;
    let mut year = 1970 + days / DAYS_IN_400_YEARS * 400;
    let mut left = days % DAYS_IN_400_YEARS;
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    loop {
        let in_year = 365 + u64::from(is_leap(year));
        if left < in_year {
            break;
        }
        left -= in_year;
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for in_month in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if left < in_month {
            break;
        }
        left -= in_month;
        month += 1;
    }
    (year, month, left + 1)
}

#[cfg(test)]
mod tests;
