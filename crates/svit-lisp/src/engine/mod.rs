//! The only place that knows the engine: a fresh restricted interpreter per activation, filled with what
//! one checked program needs, run once, and dropped.

pub(crate) mod call;
pub(crate) mod data;
mod emit;
mod failure;
pub(crate) mod prelude;
pub(crate) mod run;
pub(crate) mod value;

use std::rc::Rc;
use std::sync::Arc;

use ketos::module::NullModuleLoader;
use ketos::trace::TraceItem;
use ketos::{Builder, GlobalIo, Interpreter, RestrictConfig};
use svit_tree::guest::{GuestError, GuestErrorKind, GuestLimits, Host, Position};
use svit_value::Value;

pub(crate) use call::Native;
/// A value of the engine.
pub(crate) type K = ketos::Value;

use crate::error::located;
use crate::front::ir::Module;
use crate::table;
use call::{Builtin, Hook};
use emit::Emitter;
use run::{Fault, Outer, Run, Soft, Stop};

/// Bytes of guest memory that one unit of the engine's own count stands for: a small closure takes
/// about that much.
const BYTES_PER_UNIT: u64 = 32;
/// The least part of the memory limit that the engine's own count of a nested run may reach.
const LEAST_SHARE: u32 = 4;

fn interpreter(limits: &GuestLimits) -> Interpreter {
    // What the engine of a waiting run holds cannot be asked, so those inside get less: a half, a
    // quarter, down to a sixteenth. Sixteen of them stay below three times the limit.
    let share = Outer::now().runs.min(LEAST_SHARE);
    let size = |n: u32| n as usize;
    Builder::new()
        .restrict(RestrictConfig {
            // The wall clock is looked at where ticks are charged, and leaves out waits for ports.
            execution_time: None,
            call_stack_size: size(limits.max_call_stack).max(8),
            value_stack_size: size(limits.max_value_stack).max(64),
            // Counted by the front end.
            namespace_size: usize::MAX,
            memory_limit: ((limits.max_memory >> share) / BYTES_PER_UNIT) as usize,
            max_integer_size: size(limits.max_integer_bits),
            max_syntax_nesting: 0,
        })
        .io(Rc::new(GlobalIo::null()))
        .module_loader(Box::new(NullModuleLoader))
        .finish()
}

/// An interpreter with one program loaded.
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
    fn register(&self, index: u16) {
        let scope = self.interpreter.scope();
        let name = scope.add_name(&format!("!{}", table::row(index).name));
        scope.add_value(name, Builtin::value(index, &self.run));
    }

    /// Loads the program and runs its top level.
    fn load(&self) -> Result<(), Failed> {
        let context = self.interpreter.context();
        let scope = self.interpreter.scope();
        let run = &self.run;
        let set = |name: &str, value: K| scope.add_value(scope.add_name(name), value);
        let compiled = match &self.program.code {
            Some(bytes) => {
                let mut bytes = bytes.as_slice();
                let loaded =
                    ketos::encode::read_bytecode(&mut bytes, &std::path::PathBuf::new(), context)?;
                for (name, value) in loaded.values {
                    scope.add_value(name, value);
                }
                loaded.code
            }
            None => compile_into(context, &self.program.module)?,
        };
        set("#ticks", K::new_foreign(Hook(run.clone())));
        set("#null", run.borrowed(Value::Null)?);
        set("#input", run.input.borrow().clone());
        for index in &self.program.builtins {
            self.register(*index);
        }
        let emitter = Emitter::new(context, &self.program.module, '$');
        for (name, value) in emitter.literals(run)? {
            scope.add_value(name, value);
        }
        for code in compiled {
            ketos::exec::execute(context, code)?;
        }
        Ok(())
    }

    fn call_main(&self, input: K) -> Result<Value, Failed> {
        self.load()?;
        let Some(main) = self.interpreter.get_value("$main") else {
            return Err(run::soft("no_main", NO_MAIN).into());
        };
        let output = ketos::exec::call_function(self.interpreter.context(), main, vec![input])?;
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

/// Built-ins that the emitter itself uses.
fn internals() -> &'static [u16] {
    use std::sync::OnceLock;
    static INTERNALS: OnceLock<Vec<u16>> = OnceLock::new();
    INTERNALS.get_or_init(|| {
        let names = ["%rest", "%close", "%site"];
        names
            .iter()
            .filter_map(|name| table::find(name))
            .map(|(index, _)| index)
            .collect()
    })
}

/// Runs a compiled program once.
pub(crate) fn run(
    program: &Compiled,
    name: &str,
    input: Value,
    host: Arc<dyn Host>,
    limits: &GuestLimits,
) -> Result<Value, GuestError> {
    let loaded = Loaded {
        interpreter: interpreter(limits),
        run: Rc::new(Run::new(host, limits)),
        program,
        name,
    };
    let input = match loaded.run.borrowed(input) {
        Ok(input) => input,
        Err(fault) => return Err(loaded.error(fault.into())),
    };
    *loaded.run.input.borrow_mut() = input.clone();
    let result = loaded.call_main(input);
    // The run's own handle would outlive the interpreter's count.
    *loaded.run.input.borrow_mut() = K::Unit;
    result.map_err(|failed| loaded.error(failed))
}

/// A checked program and the engine's code for it, as bytes that any thread can load.
#[derive(Debug)]
pub(crate) struct Compiled {
    module: Module,
    /// None if the program is too large for the engine's encoding; it is then compiled for each run.
    code: Option<Vec<u8>>,
    /// Rows of the built-ins that it needs, those of the prelude included.
    builtins: Vec<u16>,
}

/// Compiles the functions that the program and its part of the prelude define, and gives the code that
/// must run for the rest of its top level.
fn compile_into(
    context: &ketos::Context,
    module: &Module,
) -> Result<Vec<Rc<ketos::Code>>, ketos::Error> {
    if !module.prelude.is_empty() {
        let prelude = prelude::prelude();
        let mut emitter = Emitter::new(context, &prelude.module, '!');
        for number in prelude.needed(&module.prelude) {
            emitter.compile(&prelude.module.defs[number])?;
        }
    }
    let mut emitter = Emitter::new(context, module, '$');
    let mut pending = Vec::new();
    for def in &module.defs {
        pending.extend(emitter.compile(def)?);
    }
    Ok(pending)
}

/// Compiles a checked program.
pub(crate) fn compile(module: Module, limits: &GuestLimits) -> Result<Compiled, String> {
    let interpreter = interpreter(limits);
    let context = interpreter.context();
    let pending = compile_into(context, &module).map_err(|error| {
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
    let code = ketos::module::ModuleCode::new(pending, scope);
    let mut bytes = Vec::new();
    let path = std::path::PathBuf::new();
    let encoded = ketos::encode::write_bytecode(&mut bytes, &path, &code, &scope.borrow_names());
    let mut builtins: Vec<u16> = internals().to_vec();
    builtins.extend(&module.builtins);
    if !module.prelude.is_empty() {
        let prelude = prelude::prelude();
        for number in prelude.needed(&module.prelude) {
            builtins.extend(&prelude.builtins[number]);
        }
    }
    builtins.sort_unstable();
    builtins.dedup();
    Ok(Compiled {
        module,
        code: encoded.is_ok().then_some(bytes),
        builtins,
    })
}
