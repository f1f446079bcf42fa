//! `+ - * / %` of values, charged by the bytes that they make.

use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

use svit_value::{List, Map, Value};

use super::gauge::{self, Stop};
use super::number::Number;
use super::order::compare;
use super::value::{self, ELEMENT, Val, ValR, fail};

fn refuse(a: &Val, b: &Val, what: &str) -> ValR {
    fail(format!("{} and {} cannot be {what}", a.named(), b.named()))
}

impl Add for Val {
    type Output = ValR;

    fn add(self, other: Self) -> ValR {
        if let (Some(a), Some(b)) = (self.number(), other.number()) {
            return Ok(calculate(a, b, i64::checked_add, |a, b| a + b));
        }
        Ok(match (self, other) {
            (Self::Plain(Value::Null), other) => other,
            (this, Self::Plain(Value::Null)) => this,
            (Self::Plain(Value::Text(a)), Self::Plain(Value::Text(b))) => {
                gauge::alloc(a.len() + b.len() + ELEMENT);
                let mut text = String::with_capacity(a.len() + b.len());
                text.push_str(&a);
                text.push_str(&b);
                Self::Plain(Value::Text(text.into()))
            }
            (Self::Plain(Value::List(a)), Self::Plain(Value::List(b))) => append(a, &b),
            (Self::Plain(Value::Map(a)), Self::Plain(Value::Map(b))) => merge(a, &b),
            (this, other) => return refuse(&this, &other, "added"),
        })
    }
}

/// The longer list stays as it is where it can.
fn append(mut a: List, b: &List) -> Val {
    if a.is_empty() {
        return Val::Plain(Value::List(b.clone()));
    }
    gauge::alloc(ELEMENT * b.len() + 8 * a.len().min(64));
    if a.extend(b.iter().cloned()).is_err() {
        gauge::stop(Stop::Depth);
    }
    Val::Plain(Value::List(a))
}

fn merge(mut a: Map, b: &Map) -> Val {
    if a.is_empty() {
        return Val::Plain(Value::Map(b.clone()));
    }
    for (key, value) in b {
        value::insert(&mut a, key.clone(), value.clone());
    }
    Val::Plain(Value::Map(a))
}

/// Right into left, maps into maps.
fn merge_deep(mut a: Map, b: &Map) -> Map {
    for (key, new) in b {
        gauge::charge(1);
        let merged = match (a.get(key), new) {
            (Some(Value::Map(old)), Value::Map(new)) => Value::Map(merge_deep(old.clone(), new)),
            _ => new.clone(),
        };
        value::insert(&mut a, key.clone(), merged);
    }
    a
}

impl Sub for Val {
    type Output = ValR;

    fn sub(self, other: Self) -> ValR {
        if let (Some(a), Some(b)) = (self.number(), other.number()) {
            return Ok(calculate(a, b, i64::checked_sub, |a, b| a - b));
        }
        let (Some(a), Some(b)) = (self.list(), other.list()) else {
            return refuse(&self, &other, "subtracted");
        };
        let kept = a.iter().filter(|a| {
            !b.iter().any(|b| {
                gauge::charge(1);
                compare(a, b).is_eq()
            })
        });
        Ok(value::new_list(kept.cloned().collect()))
    }
}

impl Mul for Val {
    type Output = ValR;

    fn mul(self, other: Self) -> ValR {
        if let (Some(a), Some(b)) = (self.number(), other.number()) {
            return Ok(calculate(a, b, i64::checked_mul, |a, b| a * b));
        }
        match (&self, &other) {
            (Self::Plain(Value::Text(text)), times) | (times, Self::Plain(Value::Text(text)))
                if times.number().is_some() =>
            {
                let times = times.number().map_or(0.0, Number::float);
                if times.is_nan() || times < 0.0 {
                    return Ok(Self::NULL);
                }
                let times = times as usize;
                gauge::alloc(text.len().saturating_mul(times).saturating_add(ELEMENT));
                Ok(Self::Plain(Value::Text(text.repeat(times).into())))
            }
            (Self::Plain(Value::Map(a)), Self::Plain(Value::Map(b))) => {
                Ok(Self::Plain(Value::Map(merge_deep(a.clone(), b))))
            }
            _ => refuse(&self, &other, "multiplied"),
        }
    }
}

impl Div for Val {
    type Output = ValR;

    fn div(self, other: Self) -> ValR {
        if let (Some(a), Some(b)) = (self.number(), other.number()) {
            if b.float() == 0.0 {
                return refuse(&self, &other, "divided because the divisor is zero");
            }
            return Ok(match (a, b) {
                (Number::Int(a), Number::Int(b)) if a.checked_rem(b) == Some(0) => {
                    Self::from(a / b)
                }
                (a, b) => Self::from(a.float() / b.float()),
            });
        }
        match (self.text(), other.text()) {
            (Some(text), Some(separator)) => Ok(super::natives::text::split(text, separator)),
            _ => refuse(&self, &other, "divided"),
        }
    }
}

impl Rem for Val {
    type Output = ValR;

    fn rem(self, other: Self) -> ValR {
        let (Some(a), Some(b)) = (self.number(), other.number()) else {
            return refuse(&self, &other, "divided");
        };
        if a.is_nan() || b.is_nan() {
            return Ok(Self::Wild(f64::NAN));
        }
        match b.truncated() {
            0 => refuse(&self, &other, "divided because the divisor is zero"),
            b => {
                // The sign is that of the left side.
                let (a, b) = (a.truncated(), b.unsigned_abs());
                let rest = (a.unsigned_abs() % b) as i64;
                Ok(Self::from(if a < 0 { -rest } else { rest }))
            }
        }
    }
}

impl Neg for Val {
    type Output = ValR;

    fn neg(self) -> ValR {
        match self.number() {
            Some(Number::Int(int)) => Ok(int
                .checked_neg()
                .map_or_else(|| Self::from(-(int as f64)), Self::from)),
            Some(Number::Float(float)) => Ok(Self::from(-float)),
            None => fail(format!("{} cannot be negated", self.named())),
        }
    }
}

fn calculate(
    a: Number,
    b: Number,
    exact: fn(i64, i64) -> Option<i64>,
    float: fn(f64, f64) -> f64,
) -> Val {
    if let (Number::Int(a), Number::Int(b)) = (a, b)
        && let Some(exact) = exact(a, b)
    {
        return Val::from(exact);
    }
    Val::from(float(a.float(), b.float()))
}
