//! `Prepared`: a compiled program decoded on one thread, from which each activation takes a fresh scope.
//!
//! Interpreters cannot leave their thread, so a thread keeps the last few programs that it ran: their code,
//! which never changes, and the names in it. An activation gets a scope of its own with values of its own;
//! functions that make functions are built anew in it, since the engine ties those to a scope. What a script
//! can change, or see of another run, is in no part of what is kept.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use ketos::function::Lambda;
use ketos::{Code, Error, GlobalScope, Name, Scope};
use svit_tree::guest::GuestLimits;
use svit_value::Value;

use super::call::{Builtin, Hook};
use super::emit::{literal, spot_name};
use super::run::{Fault, Run};
use super::spot::Spot;
use super::{Compiled, K, compile_into, interpreter};
use crate::table;

/// Programs that a thread keeps.
const MAX_KEPT: usize = 8;

thread_local! {
    /// The programs of this thread, the last used first.
    static KEPT: RefCell<Vec<Rc<Prepared>>> = const { RefCell::new(Vec::new()) };
}

/// What stands under a name in the scope of an activation.
enum Slot {
    Ticks,
    Null,
    Input,
    Builtin(u16),
    Spot(usize),
    Literal(usize),
    /// A function of the program or the prelude.
    Function(Rc<Code>),
}

pub(super) struct Prepared {
    program: Arc<Compiled>,
    /// Holds the names only.
    names: Scope,
    /// In the order of names, which is how a scope keeps them.
    slots: Vec<(Name, Slot)>,
    /// What runs at top level.
    top_level: Vec<Rc<Code>>,
    main: Name,
}

impl Prepared {
    /// The program, decoded now or earlier on this thread.
    pub(super) fn of(program: &Arc<Compiled>, limits: &GuestLimits) -> Result<Rc<Self>, Error> {
        let kept = KEPT.with_borrow_mut(|kept| {
            let at = kept
                .iter()
                .position(|kept| Arc::ptr_eq(&kept.program, program))?;
            kept[..=at].rotate_right(1);
            kept.first().cloned()
        });
        if let Some(kept) = kept {
            return Ok(kept);
        }
        let prepared = Rc::new(Self::new(program.clone(), limits)?);
        KEPT.with_borrow_mut(|kept| {
            kept.truncate(MAX_KEPT - 1);
            kept.insert(0, prepared.clone());
        });
        Ok(prepared)
    }

    /// Lets go of everything that this thread keeps.
    pub(super) fn forget_all() {
        KEPT.with(|kept| {
            if let Ok(mut kept) = kept.try_borrow_mut() {
                kept.clear();
            }
        });
    }

    fn new(program: Arc<Compiled>, limits: &GuestLimits) -> Result<Self, Error> {
        let interpreter = interpreter(limits);
        let context = interpreter.context();
        let scope = interpreter.scope();
        let mut slots = Vec::new();
        let mut function = |name: Name, value: K| {
            if let K::Lambda(lambda) = value {
                slots.push((name, Slot::Function(lambda.code)));
            }
        };
        let top_level = match &program.code {
            Some(bytes) => {
                let mut bytes = bytes.as_slice();
                let place = std::path::PathBuf::new();
                let loaded = ketos::encode::read_bytecode(&mut bytes, &place, context)?;
                for (name, value) in loaded.values {
                    function(name, value);
                }
                loaded.code
            }
            None => {
                let emitted = compile_into(context, &program.module)?;
                for name in emitted.functions {
                    if let Some(value) = scope.get_value(name) {
                        function(name, value);
                    }
                }
                emitted.top_level
            }
        };
        let mut slot = |name: &str, slot: Slot| slots.push((scope.add_name(name), slot));
        slot("#ticks", Slot::Ticks);
        slot("#null", Slot::Null);
        slot("#input", Slot::Input);
        for &row in &program.needs.builtins {
            slot(&format!("!{}", table::row(row).name), Slot::Builtin(row));
        }
        for number in 0..program.needs.spots.len() {
            slot(&spot_name(number), Slot::Spot(number));
        }
        for number in 0..program.module.consts.len() {
            slot(&format!("#${number}"), Slot::Literal(number));
        }
        slots.sort_by_key(|(name, _)| *name);
        let main = scope.add_name("$main");
        Ok(Self {
            names: GlobalScope::new_using(scope.name(), scope),
            program,
            slots,
            top_level,
            main,
        })
    }

    /// An empty scope that knows the program's names.
    pub(super) fn new_scope(&self) -> Scope {
        GlobalScope::new_using(self.names.name(), &self.names)
    }

    /// Puts everything that the program refers to in a new scope, but the effects of its top level.
    pub(super) fn fill(&self, scope: &Scope, run: &Rc<Run>) -> Result<(), Fault> {
        for (name, slot) in &self.slots {
            let value = match slot {
                Slot::Ticks => K::new_foreign(Hook(run.clone())),
                Slot::Null => run.borrowed(Value::Null)?,
                Slot::Input => run.input.borrow().clone(),
                Slot::Builtin(row) => Builtin::value(*row, run),
                Slot::Spot(number) => Spot::value(&self.program.needs.spots[*number], run),
                Slot::Literal(number) => literal(scope, run, &self.program.module.consts[*number])?,
                Slot::Function(code) => K::Lambda(Lambda::new(in_scope(code, scope), scope)),
            };
            scope.add_value(*name, value);
        }
        Ok(())
    }

    /// What runs at top level, in the scope of one activation.
    pub(super) fn top_level(&self, scope: &Scope) -> impl Iterator<Item = Rc<Code>> {
        self.top_level.iter().map(|code| in_scope(code, scope))
    }

    pub(super) fn main(&self) -> Name {
        self.main
    }
}

/// The code, with the functions in it tied to `scope`.
fn in_scope(code: &Rc<Code>, scope: &Scope) -> Rc<Code> {
    if !code
        .consts
        .iter()
        .any(|value| matches!(value, K::Lambda(_)))
    {
        return code.clone();
    }
    let consts = code.consts.iter().map(|value| match value {
        K::Lambda(lambda) => K::Lambda(Lambda::new(in_scope(&lambda.code, scope), scope)),
        other => other.clone(),
    });
    Rc::new(Code {
        name: code.name,
        consts: consts.collect(),
        code: code.code.clone(),
        kw_params: code.kw_params.clone(),
        n_params: code.n_params,
        req_params: code.req_params,
        flags: code.flags,
        doc: None,
    })
}
