//! What engine values mean: their kinds, their way into the tree, equality and order.

use std::borrow::Cow;
use std::cmp::Ordering;

use svit_value::{List, Text, Value};

use super::K;
use super::data::{Body, cells, data, tree};
use super::run::{Fault, Run, conversion, soft};

/// The kind of a value, as in messages and `type-of`.
pub(crate) fn kind(value: &K) -> &'static str {
    match value {
        K::Unit | K::List(_) => "list",
        K::Unbound => "nothing",
        K::Bool(_) => "boolean",
        K::Float(_) => "float",
        K::Integer(_) => "integer",
        K::Ratio(_) => "ratio",
        K::Name(_) => "name",
        K::Keyword(_) => "keyword",
        K::String(_) => "string",
        K::Function(_) | K::Lambda(_) => "function",
        K::Foreign(_) => data(value).map_or("function", |d| d.kind()),
        _ => "value",
    }
}

/// The text of a string.
pub(crate) fn as_str(value: &K) -> Option<&str> {
    match value {
        K::String(text) => Some(text),
        _ => tree(value)?.as_str(),
    }
}

/// The text of a string, shared where it can be.
pub(crate) fn as_text(value: &K) -> Option<Text> {
    match value {
        K::String(text) => Some(Text::from(&**text)),
        _ => tree(value)?.as_text().cloned(),
    }
}

/// Whether a value can be called.
pub(crate) fn is_function(value: &K) -> bool {
    match value {
        K::Function(_) | K::Lambda(_) => true,
        K::Foreign(_) => data(value).is_none(),
        _ => false,
    }
}

pub(crate) fn is_null(value: &K) -> bool {
    tree(value).is_some_and(Value::is_null)
}

/// A value as one of the tree; nothing is copied but the items of a mixed list.
pub(crate) fn to_tree(value: &K) -> Result<Value, Fault> {
    Ok(match value {
        K::Unit => Value::List(List::new()),
        K::Bool(b) => Value::Bool(*b),
        K::Integer(n) => match n.to_i64() {
            Some(n) => Value::Int(n),
            None => {
                return Err(conversion(
                    "an integer outside 64 bits cannot leave the script; use (float n) or (to-string n)",
                ));
            }
        },
        K::Float(f) => {
            Value::float(*f).map_err(|_| conversion("NaN and infinity cannot leave the script"))?
        }
        K::Ratio(_) => {
            return Err(conversion(
                "a ratio cannot leave the script; use (float r), (floor r) or (// a b)",
            ));
        }
        K::String(text) => Value::Text(Text::from(&**text)),
        K::Name(_) | K::Keyword(_) => {
            return Err(conversion(
                "a name or keyword cannot leave the script; use a string",
            ));
        }
        K::Foreign(_) => match data(value).map(|d| &d.body) {
            Some(Body::Tree(value)) => value.clone(),
            Some(Body::Seq(items)) => {
                let items: Vec<Value> = items.iter().map(to_tree).collect::<Result<_, _>>()?;
                Value::List(List::from_values(items).map_err(too_large)?)
            }
            Some(Body::Table(_)) => {
                return Err(conversion("a dispatch table cannot leave the script"));
            }
            Some(Body::StructDef(_) | Body::Struct(..)) => {
                return Err(conversion(
                    "a struct cannot leave the script; use (value-map \"field\" (. s :field))",
                ));
            }
            None => return Err(conversion("a function cannot leave the script")),
        },
        K::Lambda(_) | K::Function(_) => {
            return Err(conversion("a function cannot leave the script"));
        }
        _ => {
            return Err(conversion(format!(
                "a {} cannot leave the script",
                kind(value)
            )));
        }
    })
}

/// Why the value crate refused to build something.
pub(crate) fn too_large(error: impl std::fmt::Display) -> Fault {
    soft("value_too_large", error.to_string())
}

impl Run {
    /// A list, of the tree if every item can be in one.
    pub(crate) fn list(&self, items: Vec<K>) -> Result<K, Fault> {
        self.reserve(items.len() as u64 * 64)?;
        let plain = items.iter().all(is_plain);
        if !plain {
            return self.seq(items);
        }
        let mut held = 64;
        for item in &items {
            held += 64 + data(item).map_or_else(|| 8 * cells(item), |d| d.held);
        }
        let values: Vec<Value> = items.iter().map(to_tree).collect::<Result<_, _>>()?;
        let list = List::from_values(values).map_err(too_large)?;
        self.give(Value::List(list), held)
    }
}

/// Whether a value can be in a list of the tree.
pub(crate) fn is_plain(value: &K) -> bool {
    match value {
        K::Unit | K::Bool(_) | K::String(_) => true,
        K::Integer(n) => n.bits() < 64 || n.to_i64().is_some(),
        K::Float(f) => f.is_finite(),
        _ => tree(value).is_some(),
    }
}

/// The items of a list, as a view.
pub(crate) enum Items<'a> {
    Empty,
    Tree(&'a List),
    Seq(&'a [K]),
}

impl Items<'_> {
    pub(crate) fn of(value: &K) -> Option<Items<'_>> {
        match value {
            K::Unit => Some(Items::Empty),
            _ => match &data(value)?.body {
                Body::Tree(Value::List(list)) => Some(Items::Tree(list)),
                Body::Seq(items) => Some(Items::Seq(items)),
                _ => None,
            },
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Items::Empty => 0,
            Items::Tree(list) => list.len(),
            Items::Seq(items) => items.len(),
        }
    }

    /// The item at `index`; `held` is what the whole list holds.
    pub(crate) fn get(&self, run: &Run, index: usize, held: u64) -> Result<Option<K>, Fault> {
        match self {
            Items::Empty => Ok(None),
            Items::Tree(list) => list
                .get(index)
                .map(|v| run.give(v.clone(), held))
                .transpose(),
            Items::Seq(items) => Ok(items.get(index).cloned()),
        }
    }

    pub(crate) fn to_vec(&self, run: &Run, held: u64) -> Result<Vec<K>, Fault> {
        match self {
            Items::Empty => Ok(Vec::new()),
            Items::Tree(list) => list.iter().map(|v| run.give(v.clone(), held)).collect(),
            Items::Seq(items) => Ok(items.to_vec()),
        }
    }
}

/// What a value counts for in memory.
pub(crate) fn held(value: &K) -> u64 {
    data(value).map_or(64, |d| d.held)
}

fn is_number(value: &K) -> bool {
    matches!(value, K::Integer(_) | K::Float(_) | K::Ratio(_))
}

/// Equality by value; values of different kinds are different, numbers compare by what they are.
pub(crate) fn equal(a: &K, b: &K) -> bool {
    if is_number(a) && is_number(b) {
        return a.is_equal(b).unwrap_or(false);
    }
    if let (Some(a), Some(b)) = (as_str(a), as_str(b)) {
        return a == b;
    }
    match (a, b) {
        (K::Bool(a), K::Bool(b)) => a == b,
        (K::Name(a), K::Name(b)) | (K::Keyword(a), K::Keyword(b)) => a == b,
        _ => match (Items::of(a), Items::of(b)) {
            (Some(Items::Tree(a)), Some(Items::Tree(b))) => a == b,
            (Some(a), Some(b)) => equal_items(&a, &b),
            (None, None) => match (tree(a), tree(b)) {
                (Some(a), Some(b)) => a == b,
                _ => equal_structs(a, b),
            },
            _ => false,
        },
    }
}

fn equal_structs(a: &K, b: &K) -> bool {
    match (data(a).map(|d| &d.body), data(b).map(|d| &d.body)) {
        (Some(Body::Struct(def, fields)), Some(Body::Struct(other, others))) => {
            def.number == other.number && fields.iter().zip(others.iter()).all(|(a, b)| equal(a, b))
        }
        (Some(Body::StructDef(def)), Some(Body::StructDef(other))) => def.number == other.number,
        _ => false,
    }
}

fn equal_items(a: &Items<'_>, b: &Items<'_>) -> bool {
    let same = |seq: &[K], list: &List| {
        seq.iter().zip(list.iter()).all(|(x, y)| match to_tree(x) {
            Ok(x) => x == *y,
            Err(_) => false,
        })
    };
    a.len() == b.len()
        && match (a, b) {
            (Items::Seq(a), Items::Seq(b)) => a.iter().zip(b.iter()).all(|(a, b)| equal(a, b)),
            (Items::Seq(a), Items::Tree(b)) | (Items::Tree(b), Items::Seq(a)) => same(a, b),
            _ => true,
        }
}

/// Order of numbers, strings, booleans, and lists of them.
pub(crate) fn compare(a: &K, b: &K) -> Result<Ordering, Fault> {
    if is_number(a) && is_number(b) {
        return a
            .compare(b)
            .map_err(|_| soft("not_comparable", "NaN has no order"));
    }
    if let (Some(a), Some(b)) = (as_str(a), as_str(b)) {
        return Ok(a.cmp(b));
    }
    if let (K::Bool(a), K::Bool(b)) = (a, b) {
        return Ok(a.cmp(b));
    }
    match (tree_or_empty(a), tree_or_empty(b)) {
        (Some(a), Some(b)) => compare_trees(&a, &b),
        _ => Err(no_order(kind(a), kind(b))),
    }
}

fn tree_or_empty(value: &K) -> Option<Cow<'_, Value>> {
    match value {
        K::Unit => Some(Cow::Owned(Value::List(List::new()))),
        _ => tree(value).map(Cow::Borrowed),
    }
}

fn no_order(a: &str, b: &str) -> Fault {
    soft(
        "not_comparable",
        format!("a {a} and a {b} have no order; compare numbers, strings or lists of them"),
    )
}

fn compare_trees(a: &Value, b: &Value) -> Result<Ordering, Fault> {
    let float = |v: &Value| match v {
        Value::Int(n) => Some(K::from(*n)),
        Value::Float(f) => Some(K::from(f.get())),
        _ => None,
    };
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Ok(a.cmp(b)),
        (Value::Text(a), Value::Text(b)) => Ok(a.as_str().cmp(b.as_str())),
        (Value::Bool(a), Value::Bool(b)) => Ok(a.cmp(b)),
        (Value::Bytes(a), Value::Bytes(b)) => Ok(a[..].cmp(&b[..])),
        (Value::List(a), Value::List(b)) => {
            for (a, b) in a.iter().zip(b.iter()) {
                match compare_trees(a, b)? {
                    Ordering::Equal => {}
                    other => return Ok(other),
                }
            }
            Ok(a.len().cmp(&b.len()))
        }
        _ => match (float(a), float(b)) {
            (Some(a), Some(b)) => compare(&a, &b),
            _ => Err(no_order(&a.kind().to_string(), &b.kind().to_string())),
        },
    }
}
