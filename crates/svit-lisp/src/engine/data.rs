//! `Data`: every guest value that is not a scalar, as one foreign value of the engine. Its size for the
//! engine is constant, it shares structure with the tree, and it keeps the memory count.

use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use ketos::{ExecError, ForeignValue};
use svit_value::{Text, Value};

use super::K;
use super::run::{Fault, Memory, Run};
use super::spot::Spot;
use crate::front::ir::StructDef;

/// Nesting of guest-only values: mixed lists, closures, tables.
pub(crate) const MAX_DEPTH: u32 = 32;

pub(crate) enum Body {
    /// A value of the tree: text, bytes, list, map or null.
    Tree(Value),
    /// A list with something in it that only the guest can hold: a function, a name, a ratio.
    Seq(Rc<Vec<K>>),
    /// A table from names to functions.
    Table(Rc<BTreeMap<Text, K>>),
    /// A struct that the script defines.
    StructDef(Arc<StructDef>),
    /// A value of one, its fields in the order of the definition.
    Struct(Arc<StructDef>, Rc<Vec<K>>),
}

pub(crate) struct Data {
    pub(crate) body: Body,
    /// Bytes counted for it in `memory`.
    pub(crate) held: u64,
    /// Size for prices.
    pub(crate) cells: u64,
    /// Nesting of guest-only values.
    pub(crate) depth: u32,
    memory: Rc<Memory>,
}

impl Drop for Data {
    fn drop(&mut self) {
        let live = self.memory.live.get();
        self.memory.live.set(live.saturating_sub(self.held));
    }
}

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())
    }
}

impl Data {
    /// Its kind, as in messages and `type-of`.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.body {
            Body::Tree(Value::Null) => "null",
            Body::Tree(Value::Text(_)) => "string",
            Body::Tree(Value::Bytes(_)) => "bytes",
            Body::Tree(Value::Map(_)) => "map",
            Body::Tree(_) | Body::Seq(_) => "list",
            Body::Table(_) => "dispatch-table",
            Body::StructDef(_) => "struct-def",
            Body::Struct(..) => "struct",
        }
    }
}

impl Data {
    /// The same value, which holds nothing of its own.
    fn view(&self) -> Self {
        let body = match &self.body {
            Body::Tree(value) => Body::Tree(value.clone()),
            Body::Seq(items) => Body::Seq(items.clone()),
            Body::Table(entries) => Body::Table(entries.clone()),
            Body::StructDef(def) => Body::StructDef(def.clone()),
            Body::Struct(def, fields) => Body::Struct(def.clone(), fields.clone()),
        };
        Self {
            body,
            held: 0,
            cells: self.cells,
            depth: self.depth,
            memory: self.memory.clone(),
        }
    }
}

impl ForeignValue for Data {
    fn type_name(&self) -> &'static str {
        self.kind()
    }

    fn size(&self) -> usize {
        4
    }

    fn is_equal_to(&self, rhs: &dyn ForeignValue) -> Result<bool, ExecError> {
        // The engine compares a value with a spot, which answers, or with a constant, which `Data` never is.
        match rhs.downcast_ref::<Spot>() {
            Some(spot) => spot.test(&K::new_foreign(self.view())),
            None => Ok(false),
        }
    }
}

/// Bytes that a tree value takes, counted as if nothing were shared.
pub(crate) fn estimate(value: &Value) -> u64 {
    let measure = value.measure();
    measure.nodes * 64 + measure.text_bytes + 64
}

/// Size of a tree value for prices.
pub(crate) fn tree_cells(value: &Value) -> u64 {
    let measure = value.measure();
    measure.nodes + measure.text_bytes / 16
}

/// Borrows the data of an engine value.
pub(crate) fn data(value: &K) -> Option<&Data> {
    match value {
        K::Foreign(foreign) => foreign.downcast_ref::<Data>(),
        _ => None,
    }
}

/// Borrows the tree value of an engine value, if it is one that is not a scalar.
pub(crate) fn tree(value: &K) -> Option<&Value> {
    match data(value)?.body {
        Body::Tree(ref value) => Some(value),
        _ => None,
    }
}

/// Size of an engine value for prices. O(1) but for closures, whose size is bounded.
pub(crate) fn cells(value: &K) -> u64 {
    match value {
        K::String(text) => 1 + text.len() as u64 / 16,
        K::Integer(n) => 1 + n.bits() as u64 / 64,
        K::Ratio(r) => 1 + (r.numer().bits() + r.denom().bits()) as u64 / 64,
        K::Foreign(_) => data(value).map_or(1, |d| d.cells),
        _ => 1,
    }
}

impl Run {
    // THREAT[TM-LISP-5]
    fn hold(&self, body: Body, held: u64, cells: u64, depth: u32) -> Result<K, Fault> {
        self.reserve(held)?;
        let live = self.memory.live.get();
        self.memory.live.set(live + held);
        Ok(K::new_foreign(Data {
            body,
            held,
            cells,
            depth,
            memory: self.memory.clone(),
        }))
    }

    /// A tree value as an engine value, of which at most `held` bytes are the guest's own.
    pub(crate) fn give(&self, value: Value, held: u64) -> Result<K, Fault> {
        Ok(match value {
            Value::Bool(b) => K::Bool(b),
            Value::Int(n) => n.into(),
            Value::Float(f) => f.get().into(),
            value => {
                let held = held.min(estimate(&value)).max(64);
                let cells = tree_cells(&value);
                return self.hold(Body::Tree(value), held, cells, 0);
            }
        })
    }

    /// A value that was made just now.
    pub(crate) fn fresh(&self, value: Value) -> Result<K, Fault> {
        self.give(value, u64::MAX)
    }

    /// A value that the host or the program holds anyway.
    pub(crate) fn borrowed(&self, value: Value) -> Result<K, Fault> {
        self.give(value, 0)
    }

    /// A text that was made just now.
    pub(crate) fn text(&self, text: impl Into<Text>) -> Result<K, Fault> {
        self.fresh(Value::Text(text.into()))
    }

    /// A list of any values.
    pub(crate) fn seq(&self, items: Vec<K>) -> Result<K, Fault> {
        let (held, size, depth) = self.extent(&items)?;
        self.hold(Body::Seq(Rc::new(items)), held, size, depth)
    }

    /// A value of a struct.
    pub(crate) fn structure(&self, def: Arc<StructDef>, fields: Vec<K>) -> Result<K, Fault> {
        let (held, size, depth) = self.extent(&fields)?;
        self.hold(Body::Struct(def, Rc::new(fields)), held, size, depth)
    }

    /// A struct, which the program holds anyway.
    pub(crate) fn struct_def(&self, def: Arc<StructDef>) -> Result<K, Fault> {
        self.hold(Body::StructDef(def), 64, 1, 0)
    }

    /// Bytes, cells and nesting of something that holds these values.
    fn extent(&self, items: &[K]) -> Result<(u64, u64, u32), Fault> {
        let mut depth = 0;
        let mut held = 64;
        let mut size = 1;
        for item in items {
            let shape = self.shape(item)?;
            depth = depth.max(shape.depth);
            held += shape.bytes;
            size = cells(item).saturating_add(size);
        }
        self.deeper(depth)?;
        Ok((held, size, depth + 1))
    }

    /// A table of functions.
    pub(crate) fn table(&self, entries: BTreeMap<Text, K>) -> Result<K, Fault> {
        let mut depth = 0;
        let mut held = 64;
        for (name, item) in &entries {
            let shape = self.shape(item)?;
            depth = depth.max(shape.depth);
            held += shape.bytes + 64 + name.len() as u64;
        }
        self.deeper(depth)?;
        let size = 1 + 2 * entries.len() as u64;
        self.hold(Body::Table(Rc::new(entries)), held, size, depth + 1)
    }

    fn deeper(&self, depth: u32) -> Result<(), Fault> {
        if depth >= MAX_DEPTH {
            return Err(self.limit("max_closure_depth", MAX_DEPTH.into(), "levels"));
        }
        Ok(())
    }

    /// Nesting and own bytes of a value that a guest-only value is about to hold.
    pub(crate) fn shape(&self, value: &K) -> Result<Shape, Fault> {
        let mut left = MAX_CAPTURED;
        shape(value, &mut left, 0)
            .ok_or_else(|| self.limit("max_closure_values", MAX_CAPTURED.into(), "captured values"))
    }
}

/// Values that one closure may hold, those of closures inside it included.
const MAX_CAPTURED: u32 = 256;

/// Nesting and bytes of a value, as far as its own memory goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) depth: u32,
    pub(crate) bytes: u64,
}

fn shape(value: &K, left: &mut u32, level: u32) -> Option<Shape> {
    *left = left.checked_sub(1)?;
    Some(match value {
        K::Lambda(lambda) => {
            if level > MAX_DEPTH {
                return None;
            }
            let mut all = Shape {
                depth: 1,
                bytes: 128,
            };
            for captured in lambda.values.iter().flat_map(|v| v.iter()) {
                let inner = shape(captured, left, level + 1)?;
                all.depth = all.depth.max(inner.depth + 1);
                all.bytes += inner.bytes;
            }
            all
        }
        K::Foreign(_) => Shape {
            depth: data(value).map_or(0, |d| d.depth),
            bytes: 48,
        },
        K::Integer(n) => Shape {
            depth: 0,
            bytes: 96 + n.bits() as u64 / 8,
        },
        K::Ratio(r) => Shape {
            depth: 0,
            bytes: 160 + (r.numer().bits() + r.denom().bits()) as u64 / 8,
        },
        _ => Shape {
            depth: 0,
            bytes: 48,
        },
    })
}
