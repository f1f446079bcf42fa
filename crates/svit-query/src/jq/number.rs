//! Numbers: integers stay exact while they fit 64 bits, and become floats when they do not.

use std::cmp::Ordering;

use svit_value::Value;

use super::value::Val;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    Int(i64),
    Float(f64),
}

/// 2^63, the first float above all integers.
const ABOVE: f64 = 9_223_372_036_854_775_808.0;

impl Number {
    pub(crate) fn float(self) -> f64 {
        match self {
            Self::Int(int) => int as f64,
            Self::Float(float) => float,
        }
    }

    /// Rounded to zero; NaN is 0, and what is too large the nearest.
    pub(crate) fn truncated(self) -> i64 {
        match self {
            Self::Int(int) => int,
            Self::Float(float) => float as i64,
        }
    }

    /// Rounded down.
    pub(crate) fn floor(self) -> i64 {
        match self {
            Self::Int(int) => int,
            Self::Float(float) => float.floor() as i64,
        }
    }

    /// Rounded up.
    pub(crate) fn ceil(self) -> i64 {
        match self {
            Self::Int(int) => int,
            Self::Float(float) => float.ceil() as i64,
        }
    }

    pub(crate) fn is_nan(self) -> bool {
        matches!(self, Self::Float(float) if float.is_nan())
    }

    /// The order of jq: NaN is below all numbers, itself included.
    pub(crate) fn order(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a.cmp(&b),
            (Self::Float(a), Self::Float(b)) => floats(a, b),
            (Self::Int(a), Self::Float(b)) => int_float(a, b),
            (Self::Float(a), Self::Int(b)) if a.is_nan() => floats(a, b as f64),
            (Self::Float(a), Self::Int(b)) => int_float(b, a).reverse(),
        }
    }
}

fn floats(a: f64, b: f64) -> Ordering {
    match a.partial_cmp(&b) {
        Some(order) => order,
        None if a.is_nan() => Ordering::Less,
        None => Ordering::Greater,
    }
}

/// Exact, also where a float has no place for all digits of an integer.
fn int_float(a: i64, b: f64) -> Ordering {
    if b.is_nan() {
        Ordering::Greater
    } else if b >= ABOVE {
        Ordering::Less
    } else if b < -ABOVE {
        Ordering::Greater
    } else {
        let whole = b.trunc();
        a.cmp(&(whole as i64)).then_with(|| floats(0.0, b - whole))
    }
}

impl From<Number> for Val {
    fn from(number: Number) -> Self {
        match number {
            Number::Int(int) => Self::from(int),
            Number::Float(float) => Self::from(float),
        }
    }
}

/// A float that is whole as an integer, if it fits one; for functions that round.
pub(crate) fn whole(float: f64) -> Val {
    if float.trunc() == float && (-ABOVE..ABOVE).contains(&float) {
        Val::from(float as i64)
    } else {
        Val::from(float)
    }
}

/// A number that is not finite as the value that stands for it.
pub(crate) fn tame(float: f64) -> Value {
    if float.is_nan() {
        return Value::Null;
    }
    Value::float(float.clamp(-f64::MAX, f64::MAX)).unwrap_or_default()
}

/// A number from its JSON or jq form; `None` if it is none.
pub(crate) fn parse(text: &str) -> Option<Val> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    if let Ok(int) = text.parse::<i64>() {
        return Some(Val::from(int));
    }
    // Rust reads what jq reads here; words such as `inf` were refused above.
    let float: f64 = text.parse().ok()?;
    Some(Val::from(float.clamp(-f64::MAX, f64::MAX)))
}

/// The shortest digits that mean this float, written as jq writes them: `3`, `0.5`, `1e-05`, `1e+17`.
pub(crate) fn write_float(out: &mut String, float: f64) {
    use std::fmt::Write as _;
    // `d.ddde-5`: writing to a string cannot fail.
    let mut short = String::new();
    let _ = write!(short, "{float:e}");
    let (mantissa, exponent) = short.split_once('e').unwrap_or((&short, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    out.push_str(sign);
    if !(-4..17).contains(&exponent) {
        let (first, rest) = digits.split_at(1);
        out.push_str(first);
        if !rest.is_empty() {
            out.push('.');
            out.push_str(rest);
        }
        let _ = write!(
            out,
            "e{}{:02}",
            if exponent < 0 { '-' } else { '+' },
            exponent.abs()
        );
        return;
    }
    let point = exponent + 1;
    if point <= 0 {
        out.push_str("0.");
        out.extend(std::iter::repeat_n('0', point.unsigned_abs() as usize));
        out.push_str(&digits);
    } else if point as usize >= digits.len() {
        out.push_str(&digits);
        out.extend(std::iter::repeat_n('0', point as usize - digits.len()));
    } else {
        let (before, after) = digits.split_at(point as usize);
        out.push_str(before);
        out.push('.');
        out.push_str(after);
    }
}
