//! The order of all values, as jq has it: null, false, true, numbers, strings, arrays, objects; bytes, which
//! jq does not know, are between strings and arrays.

use std::cmp::Ordering;

use svit_value::{Map, Value};

use super::gauge;
use super::value::Val;

fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(false) => 1,
        Value::Bool(true) => 2,
        Value::Int(_) | Value::Float(_) => 3,
        Value::Text(_) => 4,
        Value::Bytes(_) => 5,
        Value::List(_) => 6,
        Value::Map(_) => 7,
    }
}

/// Compares, and charges for each pair it looks at.
pub(crate) fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Text(a), Value::Text(b)) => {
            gauge::look(a.len().min(b.len()));
            a.cmp(b)
        }
        (Value::Bytes(a), Value::Bytes(b)) => {
            gauge::look(a.len().min(b.len()));
            a.cmp(b)
        }
        (Value::List(a), Value::List(b)) => {
            if a.ptr_eq(b) {
                return Ordering::Equal;
            }
            for (a, b) in a.iter().zip(b.iter()) {
                gauge::charge(1);
                let order = compare(a, b);
                if order.is_ne() {
                    return order;
                }
            }
            a.len().cmp(&b.len())
        }
        (Value::Map(a), Value::Map(b)) => maps(a, b),
        _ if rank(a) != rank(b) => rank(a).cmp(&rank(b)),
        _ => match (Val::from(a.clone()).number(), Val::from(b.clone()).number()) {
            (Some(a), Some(b)) => a.order(b),
            _ => Ordering::Equal,
        },
    }
}

/// First the keys, then the values in the order of the keys.
fn maps(a: &Map, b: &Map) -> Ordering {
    if a.ptr_eq(b) {
        return Ordering::Equal;
    }
    for (a, b) in a.keys().zip(b.keys()) {
        gauge::charge(1);
        gauge::look(a.len().min(b.len()));
        let order = a.cmp(b);
        if order.is_ne() {
            return order;
        }
    }
    let order = a.len().cmp(&b.len());
    if order.is_ne() {
        return order;
    }
    for (a, b) in a.values().zip(b.values()) {
        gauge::charge(1);
        let order = compare(a, b);
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

/// Stable merge sort: ours, so that the number of comparisons, which are charged, stays as it is when the
/// standard library finds a better way.
pub(crate) fn sort<T: Clone>(items: &mut [T], key: &impl Fn(&T) -> &Value) {
    if items.len() < 2 {
        return;
    }
    let (left, right) = items.split_at_mut(items.len() / 2);
    sort(left, key);
    sort(right, key);
    let (left, right) = (left.to_vec(), right.to_vec());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    for slot in items {
        gauge::charge(1);
        let from_right = match (left.peek(), right.peek()) {
            (Some(a), Some(b)) => compare(key(a), key(b)).is_gt(),
            (None, _) => true,
            (_, None) => false,
        };
        let next = if from_right {
            right.next()
        } else {
            left.next()
        };
        if let Some(item) = next {
            *slot = item;
        }
    }
}

impl PartialEq for Val {
    fn eq(&self, other: &Self) -> bool {
        if let (Some(a), Some(b)) = (self.number(), other.number()) {
            return !a.is_nan() && !b.is_nan() && a.order(b).is_eq();
        }
        match (self, other) {
            (Self::Plain(a), Self::Plain(b)) => rank(a) == rank(b) && compare(a, b).is_eq(),
            _ => false,
        }
    }
}

impl PartialOrd for Val {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        if let (Some(a), Some(b)) = (self.number(), other.number()) {
            return Some(a.order(b));
        }
        Some(match (self, other) {
            (Self::Plain(a), Self::Plain(b)) => compare(a, b),
            (Self::Wild(_), Self::Plain(b)) => 3.cmp(&rank(b)),
            (Self::Plain(a), Self::Wild(_)) => rank(a).cmp(&3),
            (Self::Wild(_), Self::Wild(_)) => Ordering::Equal,
        })
    }
}
