//! The functions that the engine can call: one foreign value per built-in that a program uses, the hook
//! that charges each entry of a function, and the iterators and builders of the prelude.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;

use ketos::{Context, Error, ExecError, ForeignValue};

use super::K;
use super::data::cells;
use super::run::{Fault, Run, soft};
use super::spot::Spot;
use super::value::is_function;
use crate::table::{self, Kind, Price, Row};

/// The implementation of a built-in. The number of arguments is already checked.
pub(crate) type Native = fn(&Call<'_>, &[K]) -> Result<K, Fault>;

/// One call of a built-in.
pub(crate) struct Call<'a> {
    pub(crate) run: &'a Run,
    pub(crate) name: &'static str,
    /// None where the engine only asks for a truth value; nothing that needs it is called so.
    context: Option<&'a Context>,
}

/// Open native re-entries that one run may have.
const MAX_REENTRY: u32 = 16;

impl<'a> Call<'a> {
    pub(super) fn new(run: &'a Run, name: &'static str, context: Option<&'a Context>) -> Self {
        Self { run, name, context }
    }

    /// Calls a function of the script, or a built-in, in the engine again.
    pub(crate) fn reenter(&self, function: &K, args: &[K]) -> Result<K, Error> {
        let depth = self.run.reentry.get();
        if depth >= MAX_REENTRY {
            let fault = self
                .run
                .limit("max_reentry", MAX_REENTRY.into(), "nested safe calls");
            return Err(carry(self.run, fault));
        }
        let context = self.context().map_err(|fault| carry(self.run, fault))?;
        self.run.reentry.set(depth + 1);
        let result = match function {
            K::Foreign(foreign) => foreign.call_value(context, &mut args.to_vec()),
            _ => ketos::exec::call_function(context, function.clone(), args.to_vec()),
        };
        self.run.reentry.set(depth);
        result
    }

    /// The failure behind an engine error, in words.
    pub(crate) fn soft_failure(&self, error: &Error) -> Option<super::run::Soft> {
        super::failure::soften(self.run, error, self.context?.scope())
    }

    /// The text of a name or keyword.
    pub(crate) fn name_text(&self, value: &K) -> Option<String> {
        match value {
            K::Name(name) | K::Keyword(name) => {
                let text = self.context?.scope().with_name(*name, str::to_owned);
                Some(super::emit::plain_name(&text).to_owned())
            }
            _ => None,
        }
    }

    pub(crate) fn context(&self) -> Result<&'a Context, Fault> {
        self.context
            .ok_or_else(|| soft("internal", "called without a context"))
    }
}

/// The engine error that stands for a fault; the fault itself waits in the run.
pub(crate) fn carry(run: &Run, fault: Fault) -> Error {
    if let Fault::Soft(failure) = fault {
        *run.fault.borrow_mut() = Some(*failure);
    }
    Error::ExecError(ExecError::Panic(None))
}

/// The engine error for a failure of a built-in, which its message names.
pub(super) fn carry_named(run: &Run, name: &str, fault: Fault) -> Error {
    let fault = match fault {
        Fault::Soft(mut failure) => {
            if !name.starts_with('%') && failure.host.is_none() && failure.code.as_str() != "panic"
            {
                failure.message = format!("{name}: {}", failure.message);
            }
            Fault::Soft(failure)
        }
        hard => hard,
    };
    carry(run, fault)
}

/// Ticks of a call before its result is known.
pub(super) fn ticks_before(price: Price, args: &[K]) -> u64 {
    if price.input == 0 {
        return price.base;
    }
    let read = args.iter().map(cells).fold(0, u64::saturating_add);
    price
        .base
        .saturating_add(read.saturating_mul(price.input) / 8)
}

/// A built-in, as the engine sees it.
pub(crate) struct Builtin {
    row: &'static Row,
    price: Price,
    run: Rc<Run>,
}

impl Builtin {
    pub(crate) fn value(index: u16, run: &Rc<Run>) -> K {
        K::new_foreign(Self {
            row: table::row(index),
            price: table::price(index),
            run: run.clone(),
        })
    }

    fn call(&self, context: &Context, args: &mut [K]) -> Result<K, Fault> {
        let run = &*self.run;
        let row = self.row;
        // A direct call passes its place first, as a character, which no script can make.
        let args = match args.split_first_mut() {
            Some((K::Char(site), rest)) => {
                let site = *site as u32;
                if site != 0 {
                    run.site
                        .set(if site >= 0xe000 { site - 0x800 } else { site });
                }
                rest
            }
            _ => args,
        };
        if !row.arity().accepts(args.len()) {
            return Err(soft(
                "wrong_arity",
                format!("takes {}, found {}", row.arity().text(), args.len()),
            ));
        }
        run.charge(ticks_before(self.price, args))?;
        let Kind::Native(native) = row.kind else {
            return Err(soft("internal", "not a native function"));
        };
        let result = native(&Call::new(run, row.name, Some(context)), args)?;
        if self.price.output > 0 {
            run.charge(cells(&result).saturating_mul(self.price.output) / 8)?;
        }
        Ok(result)
    }
}

impl fmt::Debug for Builtin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<built-in {}>", self.row.name)
    }
}

impl ForeignValue for Builtin {
    fn type_name(&self) -> &'static str {
        "function"
    }

    fn size(&self) -> usize {
        2
    }

    fn is_equal_to(&self, rhs: &dyn ForeignValue) -> Result<bool, ExecError> {
        match rhs.downcast_ref::<Spot>() {
            Some(spot) => spot.test(&K::new_foreign(Self {
                run: self.run.clone(),
                ..*self
            })),
            None => Ok(false),
        }
    }

    fn call_value(&self, context: &Context, args: &mut [K]) -> Result<K, Error> {
        if self.run.is_stopped() {
            return Err(carry(&self.run, Fault::Hard));
        }
        self.call(context, args)
            .map_err(|fault| carry_named(&self.run, self.row.name, fault))
    }
}

/// What a function body is wrapped in: comparing it with a number charges that many ticks. A script
/// cannot get hold of it.
pub(crate) struct Hook(pub(crate) Rc<Run>);

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<ticks>")
    }
}

impl ForeignValue for Hook {
    fn type_name(&self) -> &'static str {
        "ticks"
    }

    fn is_equal_to_value(&self, _cost: &K) -> Result<bool, ExecError> {
        match self.0.charge(1) {
            Ok(()) => Ok(false),
            Err(_) => Err(ExecError::Panic(None)),
        }
    }
}

/// Walks over the items of a list or the entries of a map; prelude only.
pub(crate) struct Iter {
    pub(crate) items: Source,
    pub(crate) next: Cell<usize>,
}

pub(crate) enum Source {
    /// A list, by index.
    List(K, usize),
    /// Items made beforehand.
    Items(Vec<K>),
}

/// Collects values for a list; prelude only.
pub(crate) struct Acc(pub(crate) RefCell<Vec<K>>);

macro_rules! opaque {
    ($type:ty, $name:literal) => {
        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($name)
            }
        }

        impl ForeignValue for $type {
            fn type_name(&self) -> &'static str {
                $name
            }
        }
    };
}

opaque!(Iter, "iterator");
opaque!(Acc, "builder");

/// Checks that an argument can be called, before a loop starts.
pub(crate) fn need_function(value: &K) -> Result<(), Fault> {
    if is_function(value) {
        return Ok(());
    }
    Err(soft(
        "wrong_type",
        format!("expected a function, found {}", super::value::kind(value)),
    ))
}
