//! From the checked program to the engine: builds the engine's own syntax, wraps every function body
//! in the hook that charges its entry, and lets the engine compile it.
//!
//! No name of a script reaches the engine as it stands: globals, locals, built-ins, literals and
//! quoted names each get their own first character, so none can meet a form or function of the engine.

use std::rc::Rc;

use ketos::name::standard_names as standard;
use ketos::{Context, Error, Name};

use super::K;
use super::run::{Fault, Run};
use crate::front::ir::{Code, Def, Lambda, Literal, Module};
use crate::table;

/// A name without the character that says what sort it is.
pub(crate) fn plain_name(name: &str) -> &str {
    let mut chars = name.chars();
    match chars.next() {
        Some('$' | '!' | '\'' | '#' | '.') => chars.as_str(),
        _ => name,
    }
}

/// Builds and compiles one module in one interpreter.
pub(crate) struct Emitter<'a> {
    context: &'a Context,
    module: &'a Module,
    locals: Vec<Name>,
    globals: Vec<Name>,
    /// First character of this module's globals: `$` for a script, `!` for the prelude.
    mark: char,
}

impl<'a> Emitter<'a> {
    pub(crate) fn new(context: &'a Context, module: &'a Module, mark: char) -> Self {
        let scope = context.scope();
        let globals = module
            .globals
            .iter()
            .map(|g| scope.add_name(&format!("{mark}{}", g.name)));
        Self {
            context,
            module,
            locals: Vec::new(),
            globals: globals.collect(),
            mark,
        }
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
        let mut body = self.code(&lambda.body);
        if !bindings.is_empty() {
            body = vec![K::Name(standard::LET), bindings.into(), body].into();
        }
        let hook = K::Name(self.name("#ticks"));
        let charge: K = vec![K::from(vec![K::from(1)]), K::Unit].into();
        let otherwise: K = vec![K::Name(standard::ELSE), body].into();
        let body = vec![K::Name(standard::CASE), hook, charge, otherwise].into();
        (list, body)
    }

    fn builtin_named(&self, name: &str) -> K {
        K::Name(self.name(&format!("!{name}")))
    }

    fn builtin(&self, row: u16) -> K {
        self.builtin_named(table::row(row).name)
    }

    fn codes(&mut self, head: K, codes: &[Code]) -> K {
        let mut list = vec![head];
        list.extend(codes.iter().map(|code| self.code(code)));
        list.into()
    }

    /// `code`, with the place of the call recorded first.
    fn at_site(&self, site: u32, code: K) -> K {
        if site == 0 {
            return code;
        }
        let record = vec![self.builtin_named("%site"), site_mark(site)].into();
        vec![K::Name(standard::DO), record, code].into()
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
            Code::Global(number) => K::Name(self.global_name(*number)),
            Code::Builtin(row) | Code::Prelude(row) => self.builtin(*row),
            Code::Op { row, site, args } => {
                let mut list = vec![self.builtin(*row)];
                if *site != 0 {
                    list.push(site_mark(*site));
                }
                list.extend(args.iter().map(|code| self.code(code)));
                list.into()
            }
            Code::Call {
                function,
                site,
                args,
            } => {
                let head = self.code(function);
                let call = self.codes(head, args);
                match **function {
                    Code::Prelude(_) => self.at_site(*site, call),
                    _ => call,
                }
            }
            Code::CallSelf(args) => self.codes(K::Name(standard::CALL_SELF), args),
            Code::Apply {
                function,
                args,
                list,
                ..
            } => {
                let mut form = vec![K::Name(standard::APPLY), self.code(function)];
                form.extend(args.iter().map(|code| self.code(code)));
                form.push(self.code(list));
                form.into()
            }
            Code::If(parts) => {
                let (test, then, other) = &**parts;
                vec![
                    K::Name(standard::IF),
                    self.code(test),
                    self.code(then),
                    self.code(other),
                ]
                .into()
            }
            Code::Cond(arms, other) => {
                let mut form = vec![K::Name(standard::COND)];
                for (test, then) in arms {
                    form.push(vec![self.code(test), self.code(then)].into());
                }
                form.push(vec![K::Name(standard::ELSE), self.code(other)].into());
                form.into()
            }
            Code::And(codes) => self.codes(K::Name(standard::AND), codes),
            Code::Or(codes) => self.codes(K::Name(standard::OR), codes),
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

    /// The literals of the module as values under their names.
    pub(crate) fn literals(&self, run: &Run) -> Result<Vec<(Name, K)>, Fault> {
        let named = self
            .module
            .consts
            .iter()
            .enumerate()
            .map(|(number, literal)| {
                let name = self.name(&format!("#{}{number}", self.mark));
                Ok((name, self.literal(run, literal)?))
            });
        named.collect()
    }

    fn literal(&self, run: &Run, literal: &Literal) -> Result<K, Fault> {
        use svit_value::{Bytes, Value};
        Ok(match literal {
            Literal::Empty => K::Unit,
            Literal::Bool(b) => K::Bool(*b),
            Literal::Int(n) => (*n).into(),
            Literal::Float(f) => (*f).into(),
            Literal::Null => run.borrowed(Value::Null)?,
            Literal::Text(text) => run.borrowed(Value::Text(text.clone()))?,
            Literal::Bytes(bytes) => run.borrowed(Value::Bytes(Bytes::from(bytes.clone())))?,
            Literal::Name(name) => K::Name(self.name(&format!("'{name}"))),
            Literal::Keyword(name) => K::Keyword(self.name(&format!("'{name}"))),
            Literal::List(items) => {
                let items = items
                    .iter()
                    .map(|item| self.literal(run, item))
                    .collect::<Result<_, _>>()?;
                run.list(items)?
            }
        })
    }
}

/// A place, as the one kind of constant that no script can write.
fn site_mark(site: u32) -> K {
    K::Char(char::from_u32(if site >= 0xd800 { site + 0x800 } else { site }).unwrap_or('\0'))
}
