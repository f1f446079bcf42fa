//! Equality of values: by pointer, size and known digest; a walk only where it is short.

use crate::{List, Map, Value};

/// Containers with more values than this are compared by digest, which is then cached: a walk could
/// meet one shared part over and over.
const WALK: u64 = 64;

pub(crate) fn values(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::Float(a), Value::Float(b)) => a == b,
        (Value::Text(a), Value::Text(b)) => a == b,
        (Value::Bytes(a), Value::Bytes(b)) => a == b,
        (Value::List(a), Value::List(b)) => lists(a, b),
        (Value::Map(a), Value::Map(b)) => maps(a, b),
        _ => false,
    }
}

pub(crate) fn lists(a: &List, b: &List) -> bool {
    if a.ptr_eq(b) {
        return true;
    }
    if a.sums() != b.sums() {
        return false;
    }
    if let (Some(a), Some(b)) = (a.known_digest(), b.known_digest()) {
        return a == b;
    }
    if a.sums().nodes <= WALK {
        return a.iter().eq(b.iter());
    }
    a.digest() == b.digest()
}

pub(crate) fn maps(a: &Map, b: &Map) -> bool {
    if a.ptr_eq(b) {
        return true;
    }
    if a.sums() != b.sums() {
        return false;
    }
    if let (Some(a), Some(b)) = (a.known_digest(), b.known_digest()) {
        return a == b;
    }
    if a.sums().nodes <= WALK {
        return a.iter().eq(b.iter());
    }
    a.digest() == b.digest()
}
