//! The prelude: built-ins that call functions of the script, written in Svit Lisp itself, so that their
//! loops are charged, bounded and stopped exactly like a script's own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use std::time::Duration;

use svit_tree::guest::GuestLimits;
use svit_value::ValueLimits;

use crate::front::ir::{Code, Def, Lambda, Module};
use crate::front::{Author, analyze};
use crate::table;

const SOURCE: &str = include_str!("../../data/prelude.svit-script");

/// The checked prelude, and which of its functions each of them uses.
pub(crate) struct Prelude {
    pub(crate) module: Module,
    uses: Vec<BTreeSet<usize>>,
    by_row: BTreeMap<u16, usize>,
}

pub(crate) fn prelude() -> &'static Prelude {
    static PRELUDE: OnceLock<Prelude> = OnceLock::new();
    PRELUDE.get_or_init(|| {
        let empty = || Module {
            defs: Vec::new(),
            globals: Vec::new(),
            consts: Vec::new(),
            prelude: Vec::new(),
            sites: Vec::new(),
            main: None,
        };
        // Its own tests read the source; a fault in it would fail them all.
        let module = analyze(SOURCE, &limits(), Author::Prelude).unwrap_or_else(|_| empty());
        let count = module.defs.len();
        let mut prelude = Prelude {
            uses: vec![BTreeSet::new(); count],
            by_row: BTreeMap::new(),
            module,
        };
        for number in 0..count {
            let Def::Function { global, lambda } = &prelude.module.defs[number] else {
                continue;
            };
            let name = &prelude.module.globals[*global as usize].name;
            if let Some((row, _)) = table::find(name) {
                prelude.by_row.insert(row, number);
            }
            let mut found = Uses::default();
            found.lambda(lambda);
            prelude.uses[number] = found.globals;
        }
        prelude
    })
}

/// Limits for the prelude's own text.
pub(crate) fn limits() -> GuestLimits {
    GuestLimits {
        max_execution: Duration::ZERO,
        max_memory: 0,
        max_call_stack: 0,
        max_value_stack: 0,
        max_names: 10_000,
        max_syntax_depth: 64,
        max_integer_bits: 64,
        max_source_bytes: 1 << 20,
        value: ValueLimits::default(),
    }
}

#[cfg(test)]
pub(crate) fn source() -> &'static str {
    SOURCE
}

impl Prelude {
    /// The definitions that these rows need, in order.
    pub(crate) fn needed(&self, rows: &[u16]) -> BTreeSet<usize> {
        let mut open: Vec<usize> = rows
            .iter()
            .filter_map(|row| self.by_row.get(row))
            .copied()
            .collect();
        let mut needed = BTreeSet::new();
        while let Some(number) = open.pop() {
            if needed.insert(number) {
                open.extend(&self.uses[number]);
            }
        }
        needed
    }

    #[cfg(test)]
    pub(crate) fn has(&self, row: u16) -> bool {
        self.by_row.contains_key(&row)
    }
}

/// What a function refers to. In the prelude a global's number is that of its definition.
#[derive(Default)]
struct Uses {
    globals: BTreeSet<usize>,
}

impl Uses {
    fn lambda(&mut self, lambda: &Lambda) {
        self.code(&lambda.body);
    }

    fn all(&mut self, codes: &[Code]) {
        codes.iter().for_each(|code| self.code(code));
    }

    fn code(&mut self, code: &Code) {
        match code {
            Code::Global(number) => {
                self.globals.insert(*number as usize);
            }
            Code::Op { args, .. } => self.all(args),
            Code::Call { function, args, .. } => {
                self.code(function);
                self.all(args);
            }
            Code::Apply {
                function,
                args,
                list,
                ..
            } => {
                self.code(function);
                self.all(args);
                self.code(list);
            }
            Code::CallSelf(codes) | Code::And(codes) | Code::Or(codes) | Code::Do(codes) => {
                self.all(codes);
            }
            Code::If(parts) => {
                self.code(&parts.0);
                self.code(&parts.1);
                self.code(&parts.2);
            }
            Code::Cond(arms, other) => {
                for (test, then) in arms {
                    self.code(test);
                    self.code(then);
                }
                self.code(other);
            }
            Code::Let(bindings, body) => {
                bindings.iter().for_each(|(_, value)| self.code(value));
                self.code(body);
            }
            Code::Lambda(lambda) => self.lambda(lambda),
            _ => {}
        }
    }
}
