//! `Spot`: one place of a program that does arithmetic, compares, or asks for a kind. The shared function
//! values of [`super::call`] get their place and every operand from the engine's stack; a spot knows its
//! place, a constant operand and the tick of its function's entry, and computes on small integers directly.
//! What it charges and what it gives is the same.

use std::fmt;
use std::rc::Rc;

use ketos::{Context, Error, ExecError, ForeignValue};
use svit_value::Text;

use super::K;
use super::call::{Call, carry_named, ticks_before};
use super::data::cells;
use super::run::{Fault, Run, soft};
use crate::front::ir::Code;
use crate::table::{self, Kind, Price, Row};

/// Spots of one program; calls past that go the general way. Each is a value that an activation makes.
pub(super) const MAX_SPOTS: usize = 64;

/// A constant operand.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fixed {
    Int(i64),
    Text(Text),
}

/// A spot of a compiled program, as any thread can hold it.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    row: u16,
    site: u32,
    /// Whether it also takes the tick of entering the function that it comes first in.
    entry: bool,
    fixed: Option<Fixed>,
    /// Whether the constant is the first operand.
    fixed_first: bool,
}

impl Plan {
    pub(super) fn takes_entry(&mut self) {
        self.entry = true;
    }
}

/// The plan for a direct call of a built-in and the operands that are left, if it can be a spot.
///
/// As the test of an `if`, a spot with one operand is not called but compared with it, which gives a truth
/// value and costs the engine less than a call.
pub(super) fn plan(row: u16, site: u32, args: &[Code], test: bool) -> Option<(Plan, Vec<&Code>)> {
    let name = table::row(row).name;
    let plan = |fixed, fixed_first| Plan {
        row,
        site,
        entry: false,
        fixed,
        fixed_first,
    };
    match args {
        [only] if test && truth_of_one(name) && !is_literal(only) => {
            Some((plan(None, false), vec![only]))
        }
        [first, second] if operation(name).is_some() => match (fixed(first), fixed(second)) {
            (None, Some(constant)) if !is_literal(first) => {
                Some((plan(Some(constant), false), vec![first]))
            }
            (Some(constant), None) if !is_literal(second) => {
                Some((plan(Some(constant), true), vec![second]))
            }
            _ => Some((plan(None, false), vec![first, second])),
        },
        _ => None,
    }
}

/// Whether a spot with one operand gives a truth value.
pub(super) fn is_truth(row: u16) -> bool {
    let name = table::row(row).name;
    truth_of_one(name) || matches!(operation(name), Some(Operation::Truth(_)))
}

fn fixed(code: &Code) -> Option<Fixed> {
    match code {
        Code::Int(n) => Some(Fixed::Int(*n)),
        Code::Text(text) => Some(Fixed::Text(text.clone())),
        _ => None,
    }
}

/// The engine compares constants by itself.
fn is_literal(code: &Code) -> bool {
    !matches!(
        code,
        Code::Local(_)
            | Code::Global(_)
            | Code::Op { .. }
            | Code::Call { .. }
            | Code::CallSelf(_)
            | Code::Apply { .. }
            | Code::If(_)
            | Code::Cond(..)
            | Code::Do(_)
            | Code::Let(..)
    )
}

fn truth_of_one(name: &str) -> bool {
    matches!(
        name,
        "not" | "zero" | "empty?" | "value-null?" | "result-ok?" | "%more?"
    ) || name.ends_with('?') && table::find(name).is_some_and(|(_, row)| row.category == "kinds")
}

/// What a built-in does to two small integers.
#[derive(Clone, Copy)]
enum Operation {
    Number(fn(i64, i64) -> Option<i64>),
    Truth(fn(&i64, &i64) -> bool),
}

fn operation(name: &str) -> Option<Operation> {
    use Operation::{Number, Truth};
    Some(match name {
        "+" => Number(i64::checked_add),
        "-" => Number(i64::checked_sub),
        "*" => Number(i64::checked_mul),
        "=" => Truth(i64::eq),
        "/=" => Truth(i64::ne),
        "<" => Truth(i64::lt),
        ">" => Truth(i64::gt),
        "<=" => Truth(i64::le),
        ">=" => Truth(i64::ge),
        _ => return None,
    })
}

/// An integer that counts as one cell for prices.
fn small(value: &K) -> Option<i64> {
    match value {
        K::Integer(n) => n.to_i64().filter(|n| *n != i64::MIN),
        _ => None,
    }
}

/// A spot in one activation.
pub(super) struct Spot {
    row: &'static Row,
    price: Price,
    site: u32,
    entry: u64,
    operation: Option<Operation>,
    /// Ticks for two small integers.
    small_ticks: u64,
    /// The constant, and as a small integer if it is one.
    fixed: Option<(K, Option<i64>)>,
    fixed_first: bool,
    run: Rc<Run>,
}

impl Spot {
    pub(super) fn value(plan: &Plan, run: &Rc<Run>) -> K {
        let row = table::row(plan.row);
        let price = table::price(plan.row);
        let entry = u64::from(plan.entry);
        // Results of two small integers are below 65 bits; a host may allow fewer.
        let operation = match operation(row.name) {
            Some(Operation::Number(_)) if run.limits.max_integer_bits < 64 => None,
            operation => operation,
        };
        let fixed = plan.fixed.as_ref().map(|fixed| {
            let value: K = match fixed {
                Fixed::Int(n) => (*n).into(),
                Fixed::Text(text) => text.as_str().into(),
            };
            let number = small(&value);
            (value, number)
        });
        K::new_foreign(Self {
            row,
            price,
            site: plan.site,
            entry,
            operation,
            small_ticks: entry + price.base + 2 * price.input / 8,
            fixed,
            fixed_first: plan.fixed_first,
            run: run.clone(),
        })
    }

    /// The two operands as small integers.
    #[inline]
    fn small(&self, operand: &K, other: Option<&K>) -> Option<(i64, i64)> {
        let operand = small(operand)?;
        match (&self.fixed, other) {
            (Some((_, number)), _) if self.fixed_first => Some(((*number)?, operand)),
            (Some((_, number)), _) => Some((operand, (*number)?)),
            (None, Some(other)) => Some((operand, small(other)?)),
            (None, None) => None,
        }
    }

    #[inline]
    fn start(&self) -> Result<(), Fault> {
        if self.run.is_stopped() {
            return Err(Fault::Hard);
        }
        if self.site != 0 {
            self.run.site.set(self.site);
        }
        Ok(())
    }

    /// What the built-in's own function gives.
    fn general(
        &self,
        context: Option<&Context>,
        operand: &K,
        other: Option<&K>,
    ) -> Result<K, Fault> {
        let call = Call::new(&self.run, self.row.name, context);
        match (other, &self.fixed) {
            (Some(other), _) => self.native(&call, &[operand.clone(), other.clone()]),
            (None, None) => self.native(&call, std::slice::from_ref(operand)),
            (None, Some((fixed, _))) if self.fixed_first => {
                self.native(&call, &[fixed.clone(), operand.clone()])
            }
            (None, Some((fixed, _))) => self.native(&call, &[operand.clone(), fixed.clone()]),
        }
    }

    fn native(&self, call: &Call<'_>, args: &[K]) -> Result<K, Fault> {
        let run = &*self.run;
        run.charge(self.entry.saturating_add(ticks_before(self.price, args)))?;
        let Kind::Native(native) = self.row.kind else {
            return Err(soft("internal", "not a native function"));
        };
        let result = native(call, args)?;
        if self.price.output > 0 {
            run.charge(cells(&result).saturating_mul(self.price.output) / 8)?;
        }
        Ok(result)
    }

    fn call(&self, context: &Context, operand: &K, other: Option<&K>) -> Result<K, Fault> {
        self.start()?;
        if let Some(operation) = self.operation
            && let Some((a, b)) = self.small(operand, other)
        {
            let result: Option<K> = match operation {
                Operation::Number(of) => of(a, b).map(K::from),
                Operation::Truth(of) => Some(K::Bool(of(&a, &b))),
            };
            if let Some(result) = result {
                self.run.charge(self.small_ticks)?;
                return Ok(result);
            }
        }
        self.general(Some(context), operand, other)
    }

    pub(super) fn test(&self, operand: &K) -> Result<bool, ExecError> {
        self.truth(operand).map_err(|fault| {
            carry_named(&self.run, self.row.name, fault);
            ExecError::Panic(None)
        })
    }

    fn truth(&self, operand: &K) -> Result<bool, Fault> {
        self.start()?;
        if let Some(Operation::Truth(of)) = self.operation
            && let Some((a, b)) = self.small(operand, None)
        {
            self.run.charge(self.small_ticks)?;
            return Ok(of(&a, &b));
        }
        match self.general(None, operand, None)? {
            K::Bool(truth) => Ok(truth),
            _ => Err(soft("internal", "a test without a truth value")),
        }
    }
}

impl fmt::Debug for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{} at {}>", self.row.name, self.site)
    }
}

impl ForeignValue for Spot {
    fn type_name(&self) -> &'static str {
        "function"
    }

    fn size(&self) -> usize {
        2
    }

    fn is_equal_to_value(&self, operand: &K) -> Result<bool, ExecError> {
        self.test(operand)
    }

    fn call_value(&self, context: &Context, args: &mut [K]) -> Result<K, Error> {
        let result = match args {
            [operand] => self.call(context, operand, None),
            [operand, other] => self.call(context, operand, Some(other)),
            _ => Err(soft("internal", "a spot with other operands")),
        };
        result.map_err(|fault| carry_named(&self.run, self.row.name, fault))
    }
}
