//! The only place that knows the engine: a fresh restricted interpreter per activation, filled with what
//! one checked program needs, run once, and dropped.

pub(crate) mod call;
pub(crate) mod data;
mod emit;
mod failure;
pub(crate) mod prelude;
mod prepared;
pub(crate) mod run;
mod spot;
pub(crate) mod value;

use std::rc::Rc;
use std::sync::Arc;

use ketos::module::NullModuleLoader;
use ketos::trace::TraceItem;
use ketos::{Builder, GlobalIo, Interpreter, RestrictConfig, Scope};
use svit_tree::guest::{GuestError, GuestErrorKind, GuestLimits, Host, Position};
use svit_value::Value;

pub(crate) use call::Native;
/// A value of the engine.
pub(crate) type K = ketos::Value;

use crate::error::located;
use crate::front::ir::Module;
use emit::{Emitter, Needs};
use prepared::Prepared;
use run::{Fault, Outer, Run, Soft, Stop};

/// Bytes of guest memory that one unit of the engine's own count stands for: a small closure takes
/// about that much.
const BYTES_PER_UNIT: u64 = 32;
/// The least part of the memory limit that the engine's own count of a nested run may reach.
const LEAST_SHARE: u32 = 4;

fn restrict(limits: &GuestLimits) -> RestrictConfig {
    // What the engine of a waiting run holds cannot be asked, so those inside get less: a half, a
    // quarter, down to a sixteenth. Sixteen of them stay below three times the limit.
    let share = Outer::now().runs.min(LEAST_SHARE);
    let size = |n: u32| n as usize;
    RestrictConfig {
        // The wall clock is looked at where ticks are charged, and leaves out waits for ports.
        execution_time: None,
        call_stack_size: size(limits.max_call_stack).max(8),
        value_stack_size: size(limits.max_value_stack).max(64),
        // Counted by the front end.
        namespace_size: usize::MAX,
        memory_limit: ((limits.max_memory >> share) / BYTES_PER_UNIT) as usize,
        max_integer_size: size(limits.max_integer_bits),
        max_syntax_nesting: 0,
    }
}

// THREAT[TM-LISP-3]
fn interpreter(limits: &GuestLimits) -> Interpreter {
    Builder::new()
        .restrict(restrict(limits))
        .io(Rc::new(GlobalIo::null()))
        .module_loader(Box::new(NullModuleLoader))
        .finish()
}

/// An interpreter on a scope that has the names of a program already.
// THREAT[TM-LISP-7]
fn interpreter_in(scope: Scope, limits: &GuestLimits) -> Interpreter {
    Builder::new()
        .restrict(restrict(limits))
        .scope(scope)
        .finish()
}

/// One activation: a scope of its own, and what it runs.
struct Loaded<'a> {
    interpreter: Interpreter,
    run: Rc<Run>,
    program: &'a Compiled,
    name: &'a str,
}

/// How a step of a run failed: in the engine, or before it.
enum Failed {
    Engine(ketos::Error),
    Fault(Fault),
}

impl From<ketos::Error> for Failed {
    fn from(error: ketos::Error) -> Self {
        Self::Engine(error)
    }
}

impl From<Fault> for Failed {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl Loaded<'_> {
    /// Fills the scope, runs the top level, and then `main`.
    fn call_main(&self, prepared: &Prepared, input: K) -> Result<Value, Failed> {
        let context = self.interpreter.context();
        let scope = self.interpreter.scope();
        prepared.fill(scope, &self.run)?;
        for code in prepared.top_level(scope) {
            ketos::exec::execute(context, code)?;
        }
        let Some(main) = scope.get_value(prepared.main()) else {
            return Err(run::soft("no_main", NO_MAIN).into());
        };
        let output = ketos::exec::call_function(context, main, vec![input])?;
        let output = value::to_tree(&output)?;
        let limits = &self.run.limits.value;
        if let Err(error) = limits.check(&output) {
            let message = format!("the output is too large: {error}");
            return Err(self
                .run
                .halt(GuestErrorKind::Limit, "output_too_large", message)
                .into());
        }
        Ok(output)
    }

    fn error(&self, failed: Failed) -> GuestError {
        let at = self.place(&failed);
        let failure = match failed {
            Failed::Engine(error) => failure::soften(&self.run, &error, self.interpreter.scope()),
            Failed::Fault(Fault::Soft(failure)) => Some(*failure),
            Failed::Fault(Fault::Hard) => None,
        };
        let stop = self.run.stop.borrow_mut().take();
        let Stop {
            kind,
            code,
            message,
            host,
        } = match (stop, failure) {
            (Some(stop), _) => stop,
            (
                None,
                Some(Soft {
                    kind,
                    code,
                    message,
                    host,
                }),
            ) => Stop {
                kind,
                code,
                message,
                host,
            },
            (None, None) => Stop {
                kind: GuestErrorKind::Panic,
                code: "engine".into(),
                message: "the engine failed".into(),
                host: None,
            },
        };
        let mut error = GuestError::new(kind, code, located(self.name, at, &message));
        error.at = at;
        error.host = host;
        error
    }

    /// Where it failed: the call of a built-in, if that is what failed, else the function of the
    /// program that was running.
    fn place(&self, failed: &Failed) -> Option<Position> {
        let trace = ketos::take_traceback();
        let by_builtin = self.run.fault.borrow().is_some() || self.run.is_stopped();
        if by_builtin || matches!(failed, Failed::Fault(_)) {
            let site = self.run.site.get() as usize;
            return self
                .program
                .module
                .sites
                .get(site)
                .copied()
                .filter(|at| at.line > 0);
        }
        let trace = trace?;
        trace.items().iter().rev().find_map(|item| match item {
            TraceItem::CallCode(_, name) => self.interpreter.scope().with_name(*name, |name| {
                let name = name.strip_prefix('$')?;
                let global = self
                    .program
                    .module
                    .globals
                    .iter()
                    .find(|g| &*g.name == name)?;
                Some(global.at)
            }),
            _ => None,
        })
    }
}

pub(crate) const NO_MAIN: &str = "a script defines (main input): write (define (main input) body)";

/// Ends a run however it ends: the meter is told what was used, and after a panic nothing that this thread
/// keeps is used again.
struct Ending<'a>(&'a Run);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        // If the ticks were taken away, the run already ended or is about to.
        let _ = self.0.settle();
        if std::thread::panicking() {
            Prepared::forget_all();
        }
    }
}

/// Runs a compiled program once.
pub(crate) fn run(
    program: &Arc<Compiled>,
    name: &str,
    input: Value,
    host: Arc<dyn Host>,
    limits: &GuestLimits,
) -> Result<Value, GuestError> {
    let run = Rc::new(Run::new(host, limits));
    let _ending = Ending(&run);
    let prepared = Prepared::of(program, limits);
    let interpreter = match &prepared {
        Ok(prepared) => interpreter_in(prepared.new_scope(), limits),
        Err(_) => interpreter(limits),
    };
    let loaded = Loaded {
        interpreter,
        run: run.clone(),
        program,
        name,
    };
    let result = loaded
        .run
        .borrowed(input)
        .map_err(Failed::from)
        .and_then(|input| {
            *loaded.run.input.borrow_mut() = input.clone();
            loaded.call_main(&*prepared?, input)
        })
        // A run whose ticks were taken away has no result.
        .and_then(|output| Ok(loaded.run.settle().map(|()| output)?));
    // The run's own handle would outlive the interpreter's count.
    *loaded.run.input.borrow_mut() = K::Unit;
    result.map_err(|failed| loaded.error(failed))
}

/// A checked program and the engine's code for it, as bytes that any thread can load.
#[derive(Debug)]
pub(crate) struct Compiled {
    module: Module,
    /// None if the program is too large for the engine's encoding; each thread then compiles it.
    code: Option<Vec<u8>>,
    /// What the code needs, that of the prelude included.
    needs: Needs,
}

/// What compiling a program gives beside the functions, which are in the scope.
struct Emitted {
    /// What must run for the rest of the top level.
    top_level: Vec<Rc<ketos::Code>>,
    /// The names of the functions.
    functions: Vec<ketos::Name>,
    needs: Needs,
}

/// Compiles the functions that the program and its part of the prelude define.
fn compile_into(context: &ketos::Context, module: &Module) -> Result<Emitted, ketos::Error> {
    let mut functions = Vec::new();
    let mut needs = Needs::default();
    if !module.prelude.is_empty() {
        let prelude = prelude::prelude();
        let mut emitter = Emitter::new(context, &prelude.module, '!', needs);
        for number in prelude.needed(&module.prelude) {
            let def = &prelude.module.defs[number];
            emitter.compile(def)?;
            functions.extend(emitter.function_name(def));
        }
        needs = emitter.needs();
    }
    let mut emitter = Emitter::new(context, module, '$', needs);
    let mut top_level = Vec::new();
    for def in &module.defs {
        top_level.extend(emitter.compile(def)?);
        functions.extend(emitter.function_name(def));
    }
    Ok(Emitted {
        top_level,
        functions,
        needs: emitter.needs(),
    })
}

/// Compiles a checked program.
pub(crate) fn compile(module: Module, limits: &GuestLimits) -> Result<Compiled, String> {
    let interpreter = interpreter(limits);
    let context = interpreter.context();
    let emitted = compile_into(context, &module).map_err(|error| {
        ketos::clear_traceback();
        match error {
            ketos::Error::CompileError(ketos::CompileError::OperandOverflow(_)) => {
                "a function is too large; split it".to_owned()
            }
            ketos::Error::ExecError(_) => {
                "a condition that is always the same must be true or false".to_owned()
            }
            _ => "the engine cannot compile this program".to_owned(),
        }
    })?;
    let scope = interpreter.scope();
    let code = ketos::module::ModuleCode::new(emitted.top_level, scope);
    let mut bytes = Vec::new();
    let path = std::path::PathBuf::new();
    let encoded = ketos::encode::write_bytecode(&mut bytes, &path, &code, &scope.borrow_names());
    Ok(Compiled {
        module,
        code: encoded.is_ok().then_some(bytes),
        needs: emitted.needs,
    })
}
