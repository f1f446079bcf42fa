//! From the checked program to the engine: builds the engine's own syntax, wraps every function body
//! in the hook that charges its entry, and lets the engine compile it.
//!
//! No name of a script reaches the engine as it stands: globals, locals, built-ins, literals and
//! quoted names each get their own first character, so none can meet a form or function of the engine.

use std::collections::BTreeSet;
use std::rc::Rc;

use ketos::name::standard_names as standard;
use ketos::{Context, Error, Name, Scope};

use super::K;
use super::run::{Fault, Run};
use super::spot::{self, MAX_SPOTS, Plan};
use crate::front::ir::{Code, Def, Lambda, Literal, Module};
use crate::table::{self, Kind};

/// A name without the character that says what sort it is.
pub(crate) fn plain_name(name: &str) -> &str {
    let mut chars = name.chars();
    match chars.next() {
        Some('$' | '!' | '\'' | '#' | '.') => chars.as_str(),
        _ => name,
    }
}

/// What the code that was emitted needs beside its own names.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    /// The spots, in the order of their names.
    pub(crate) spots: Vec<Plan>,
    /// Built-ins that are called or passed by name.
    pub(crate) builtins: BTreeSet<u16>,
}

/// The name of a spot.
pub(crate) fn spot_name(number: usize) -> String {
    format!("~{number}")
}

/// Who takes the tick of entering a function.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entry {
    /// Nobody yet; all that was emitted of the body so far cannot fail, call or branch.
    Open,
    /// The first spot of the body, which every entry comes by.
    Spot,
    /// The hook around the body.
    Hook,
}

/// Builds and compiles one module in one interpreter.
pub(crate) struct Emitter<'a> {
    context: &'a Context,
    locals: Vec<Name>,
    globals: Vec<Name>,
    /// First character of this module's globals: `$` for a script, `!` for the prelude.
    mark: char,
    needs: Needs,
    entry: Entry,
}

impl<'a> Emitter<'a> {
    /// `needs` is what code emitted before in this interpreter needs.
    pub(crate) fn new(context: &'a Context, module: &Module, mark: char, needs: Needs) -> Self {
        let scope = context.scope();
        let globals = module
            .globals
            .iter()
            .map(|g| scope.add_name(&format!("{mark}{}", g.name)));
        Self {
            context,
            locals: Vec::new(),
            globals: globals.collect(),
            mark,
            needs,
            entry: Entry::Hook,
        }
    }

    /// The name of the function that a definition defines.
    pub(crate) fn function_name(&self, def: &Def) -> Option<Name> {
        match def {
            Def::Function { global, .. } => Some(self.global_name(*global)),
            _ => None,
        }
    }

    pub(crate) fn needs(self) -> Needs {
        self.needs
    }

    pub(crate) fn global_name(&self, number: u32) -> Name {
        self.globals[number as usize]
    }

    fn name(&self, text: &str) -> Name {
        self.context.scope().add_name(text)
    }

    fn local(&mut self, slot: u32) -> K {
        while self.locals.len() <= slot as usize {
            let name = self.name(&format!(".{}", self.locals.len()));
            self.locals.push(name);
        }
        K::Name(self.locals[slot as usize])
    }

    /// Compiles one definition; the code, if any, must be run for it to take effect.
    pub(crate) fn compile(&mut self, def: &Def) -> Result<Option<Rc<ketos::Code>>, Error> {
        let (form, run) = match def {
            Def::Function { global, lambda } => {
                let (params, body) = self.lambda(lambda);
                let mut signature = vec![K::Name(self.global_name(*global))];
                signature.extend(params);
                let form = vec![K::Name(standard::DEFINE), signature.into(), body];
                (K::from(form), false)
            }
            Def::Value { global, value } => {
                let value = self.code(value);
                let name = K::Name(self.global_name(*global));
                (vec![K::Name(standard::DEFINE), name, value].into(), true)
            }
            Def::Effect(code) => (self.code(code), true),
        };
        let code = ketos::compile::compile(self.context, &form)?;
        Ok(run.then(|| Rc::new(code)))
    }

    fn lambda(&mut self, lambda: &Lambda) -> (Vec<K>, K) {
        let params = &lambda.params;
        let mut list: Vec<K> = params
            .required
            .iter()
            .map(|&slot| self.local(slot))
            .collect();
        let null = K::Name(self.name("#null"));
        if !params.optional.is_empty() {
            list.push(K::Keyword(standard::OPTIONAL));
            for &slot in &params.optional {
                list.push(vec![self.local(slot), null.clone()].into());
            }
        }
        let mut bindings = Vec::new();
        if !params.keys.is_empty() {
            list.push(K::Keyword(standard::KEY));
            for (key, slot) in &params.keys {
                // The engine matches keywords by the parameter's own name.
                let outer = K::Name(self.name(&format!("'{key}")));
                list.push(vec![outer.clone(), null.clone()].into());
                bindings.push(K::from(vec![self.local(*slot), outer]));
            }
        }
        if let Some(slot) = params.rest {
            list.push(K::Keyword(standard::REST));
            let raw = K::Name(self.name("#rest"));
            list.push(raw.clone());
            let to_list = self.builtin_named("%rest");
            bindings.push(vec![self.local(slot), vec![to_list, raw].into()].into());
        }
        // What is bound before the body may take long, and comes after the tick.
        let entry = if bindings.is_empty() {
            Entry::Open
        } else {
            Entry::Hook
        };
        let outer = std::mem::replace(&mut self.entry, entry);
        let mut body = self.code(&lambda.body);
        if std::mem::replace(&mut self.entry, outer) == Entry::Spot {
            return (list, body);
        }
        if !bindings.is_empty() {
            body = vec![K::Name(standard::LET), bindings.into(), body].into();
        }
        let hook = K::Name(self.name("#ticks"));
        let charge: K = vec![K::from(vec![K::from(1)]), K::Unit].into();
        let otherwise: K = vec![K::Name(standard::ELSE), body].into();
        let body = vec![K::Name(standard::CASE), hook, charge, otherwise].into();
        (list, body)
    }

    /// From here on the code may fail, call or branch.
    fn may_leave(&mut self) {
        if self.entry == Entry::Open {
            self.entry = Entry::Hook;
        }
    }

    fn builtin_named(&mut self, name: &str) -> K {
        if let Some((row, found)) = table::find(name)
            && matches!(found.kind, Kind::Native(_))
        {
            self.needs.builtins.insert(row);
        }
        K::Name(self.name(&format!("!{name}")))
    }

    fn builtin(&mut self, row: u16) -> K {
        self.builtin_named(table::row(row).name)
    }

    /// A direct call of a built-in; `test` says that it decides an `if`.
    fn op(&mut self, row: u16, site: u32, args: &[Code], test: bool) -> K {
        let planned = spot::plan(row, site, args, test);
        let Some((mut plan, operands)) = planned.filter(|_| self.needs.spots.len() < MAX_SPOTS)
        else {
            let mut list = vec![self.builtin(row)];
            if site != 0 {
                list.push(site_mark(site));
            }
            list.extend(args.iter().map(|code| self.code(code)));
            self.may_leave();
            return list.into();
        };
        let mut list: Vec<K> = operands.into_iter().map(|code| self.code(code)).collect();
        if self.entry == Entry::Open {
            self.entry = Entry::Spot;
            plan.takes_entry();
        }
        let name = K::Name(self.name(&spot_name(self.needs.spots.len())));
        self.needs.spots.push(plan);
        match list.as_slice() {
            [_] if test && spot::is_truth(row) => {
                // In this order, so that the engine asks the spot about the operand.
                list.insert(0, K::Name(standard::EQ));
                list.push(name);
            }
            _ => list.insert(0, name),
        }
        list.into()
    }

    /// Code that decides an `if`.
    fn test(&mut self, code: &Code) -> K {
        let test = match code {
            Code::Op { row, site, args } => self.op(*row, *site, args, true),
            code => self.code(code),
        };
        self.may_leave();
        test
    }

    fn codes(&mut self, head: K, codes: &[Code]) -> K {
        let mut list = vec![head];
        list.extend(codes.iter().map(|code| self.code(code)));
        list.into()
    }

    /// Codes of which only the first is sure to run.
    fn branches(&mut self, head: K, codes: &[Code]) -> K {
        let mut list = vec![head];
        for code in codes {
            list.push(self.code(code));
            self.may_leave();
        }
        list.into()
    }

    /// What records the place of a call that is about to happen.
    fn site_record(&mut self, site: u32) -> Option<K> {
        if site == 0 {
            return None;
        }
        self.may_leave();
        Some(vec![self.builtin_named("%site"), site_mark(site)].into())
    }

    fn code(&mut self, code: &Code) -> K {
        match code {
            Code::Null => K::Name(self.name("#null")),
            Code::Input => K::Name(self.name("#input")),
            Code::Empty => K::Unit,
            Code::Bool(b) => K::Bool(*b),
            Code::Int(n) => (*n).into(),
            Code::Float(f) => (*f).into(),
            Code::Text(text) => text.as_str().into(),
            Code::Keyword(name) => K::Keyword(self.name(&format!("'{name}"))),
            Code::Const(number) => K::Name(self.name(&format!("#{}{number}", self.mark))),
            Code::Local(slot) => self.local(*slot),
            Code::Global(number) => {
                // It may not be defined yet.
                self.may_leave();
                K::Name(self.global_name(*number))
            }
            Code::Builtin(row) | Code::Prelude(row) => self.builtin(*row),
            Code::Op { row, site, args } => self.op(*row, *site, args, false),
            Code::Call {
                function,
                site,
                args,
            } => {
                let head = match **function {
                    // Looked up when the arguments are there.
                    Code::Global(number) => K::Name(self.global_name(number)),
                    Code::Prelude(row) => {
                        let record = self.site_record(*site);
                        let head = self.builtin(row);
                        let call = self.codes(head, args);
                        self.may_leave();
                        return match record {
                            Some(record) => vec![K::Name(standard::DO), record, call].into(),
                            None => call,
                        };
                    }
                    _ => self.code(function),
                };
                let call = self.codes(head, args);
                self.may_leave();
                call
            }
            Code::CallSelf(args) => {
                let call = self.codes(K::Name(standard::CALL_SELF), args);
                self.may_leave();
                call
            }
            Code::Apply {
                function,
                args,
                list,
                ..
            } => {
                self.may_leave();
                let mut form = vec![K::Name(standard::APPLY), self.code(function)];
                form.extend(args.iter().map(|code| self.code(code)));
                form.push(self.code(list));
                form.into()
            }
            Code::If(parts) => {
                let (test, then, other) = &**parts;
                vec![
                    K::Name(standard::IF),
                    self.test(test),
                    self.code(then),
                    self.code(other),
                ]
                .into()
            }
            Code::Cond(arms, other) => {
                let mut form = vec![K::Name(standard::COND)];
                for (test, then) in arms {
                    form.push(vec![self.test(test), self.code(then)].into());
                }
                form.push(vec![K::Name(standard::ELSE), self.code(other)].into());
                form.into()
            }
            Code::And(codes) => self.branches(K::Name(standard::AND), codes),
            Code::Or(codes) => self.branches(K::Name(standard::OR), codes),
            Code::Do(codes) => self.codes(K::Name(standard::DO), codes),
            Code::Let(bindings, body) => {
                let mut list = Vec::with_capacity(bindings.len());
                for (slot, value) in bindings {
                    let value = self.code(value);
                    list.push(K::from(vec![self.local(*slot), value]));
                }
                vec![K::Name(standard::LET), list.into(), self.code(body)].into()
            }
            Code::Lambda(lambda) => {
                self.may_leave();
                let captures = lambda.captures;
                let (params, body) = self.lambda(lambda);
                let form: K = vec![K::Name(standard::LAMBDA), params.into(), body].into();
                if captures {
                    // Bounds what a closure may hold before anything can hold the closure.
                    vec![self.builtin_named("%close"), form].into()
                } else {
                    form
                }
            }
        }
    }
}

/// A literal as a value.
pub(crate) fn literal(scope: &Scope, run: &Run, given: &Literal) -> Result<K, Fault> {
    use svit_value::{Bytes, Value};
    Ok(match given {
        Literal::Empty => K::Unit,
        Literal::Bool(b) => K::Bool(*b),
        Literal::Int(n) => (*n).into(),
        Literal::Float(f) => (*f).into(),
        Literal::Null => run.borrowed(Value::Null)?,
        Literal::Text(text) => run.borrowed(Value::Text(text.clone()))?,
        Literal::Bytes(bytes) => run.borrowed(Value::Bytes(Bytes::from(bytes.clone())))?,
        Literal::Name(name) => K::Name(scope.add_name(&format!("'{name}"))),
        Literal::Keyword(name) => K::Keyword(scope.add_name(&format!("'{name}"))),
        Literal::Struct(def) => run.struct_def(def.clone())?,
        Literal::List(items) => {
            let items = items
                .iter()
                .map(|item| literal(scope, run, item))
                .collect::<Result<_, _>>()?;
            run.list(items)?
        }
    })
}

/// A place, as the one kind of constant that no script can write.
fn site_mark(site: u32) -> K {
    K::Char(char::from_u32(if site >= 0xd800 { site + 0x800 } else { site }).unwrap_or('\0'))
}
