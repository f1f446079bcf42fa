//! `Lisp`: the language as the rest of svit sees it, one value behind the guest seam.

use std::sync::Arc;

use svit_tree::guest::{Guest, GuestError, GuestErrorKind, GuestLimits, Host, Position, Program};
use svit_value::Value;

use crate::cache::Cache;
use crate::engine::{self, Compiled};
use crate::error::located;
use crate::front::{Author, analyze};
use crate::stack::{self, Lost};
use crate::{LANGUAGE, LispError};

/// Runs Svit Lisp.
///
/// A program defines `(main input)`; each run gets a fresh interpreter, on the calling thread, and what
/// it makes is dropped with it. It gets a larger stack there if the thread's own may not do. Ticks are
/// charged to the host's meter, the same number on every machine, build and run. Checked programs are
/// kept by the digest of their text, up to a bound; cloning shares them.
///
/// See the crate's documentation for an example.
#[derive(Clone, Debug, Default)]
pub struct Lisp {
    cache: Arc<Cache>,
}

impl Lisp {
    /// The language with an empty cache.
    pub fn new() -> Self {
        Self::default()
    }
}

/// Refuses a build that could not contain a guest.
#[cfg(panic = "abort")]
compile_error!("svit-lisp contains guests by unwinding: build it with panic = \"unwind\"");

impl Guest for Lisp {
    fn language(&self) -> &str {
        LANGUAGE
    }

    fn check(&self, program: &Program, limits: &GuestLimits) -> Result<(), GuestError> {
        checked(&self.cache, program, limits).map(drop)
    }

    fn run(
        &self,
        program: &Program,
        input: Value,
        host: Arc<dyn Host>,
        limits: &GuestLimits,
    ) -> Result<Value, GuestError> {
        let compiled = checked(&self.cache, program, limits)?;
        let run = || engine::run(&compiled, &program.name, input, host, limits);
        settle(&program.name, stack::with(stack::RUN, run))
    }
}

fn settle<T>(name: &str, result: Result<Result<T, GuestError>, Lost>) -> Result<T, GuestError> {
    let (kind, code, message) = match result {
        Ok(result) => return result,
        Err(Lost::Panicked) => (
            GuestErrorKind::Panic,
            "engine_panic",
            "the engine failed inside; the interpreter was dropped",
        ),
        Err(Lost::TooDeep) => (
            GuestErrorKind::Limit,
            "max_exec_depth",
            "too many runs inside one another",
        ),
    };
    Err(GuestError::new(kind, code, located(name, None, message)))
}

fn checked(
    cache: &Cache,
    program: &Program,
    limits: &GuestLimits,
) -> Result<Arc<Compiled>, GuestError> {
    if program.language.as_str() != LANGUAGE {
        let message = format!("the language is {}, not {LANGUAGE}", program.language);
        let message = located(&program.name, None, &message);
        return Err(GuestError::new(
            GuestErrorKind::Syntax,
            "other_language",
            message,
        ));
    }
    if let Some(compiled) = cache.get(&program.source, limits) {
        return Ok(compiled);
    }
    let parse = || parse(&program.source, limits).map_err(|error| error.into_guest(&program.name));
    let compiled = Arc::new(settle(&program.name, stack::with(stack::COMPILE, parse))?);
    cache.put(&program.source, limits, compiled.clone());
    Ok(compiled)
}

/// Reads, checks and compiles a program.
fn parse(source: &str, limits: &GuestLimits) -> Result<Compiled, LispError> {
    let module = analyze(source, limits, Author::Script)?;
    let start = Position { line: 1, column: 1 };
    fn fail(at: Position, code: &'static str, problem: &str) -> Result<Compiled, LispError> {
        let problem = problem.into();
        Err(LispError::Syntax { at, code, problem })
    }
    match module.main.map(|main| &module.globals[main as usize]) {
        None => return fail(start, "no_main", engine::NO_MAIN),
        Some(main) if main.arity.is_none_or(|arity| !arity.accepts(1)) => {
            return fail(main.at, "no_main", engine::NO_MAIN);
        }
        Some(_) => {}
    }
    engine::compile(module, limits).or_else(|problem| fail(start, "too_complex", &problem))
}

/// The limits that a host has unless it says otherwise, for checking a text where there is no host.
pub fn standard_limits() -> GuestLimits {
    GuestLimits::default()
}

/// Checks a text as [`Guest::check`] does, with enough stack; `limits` bound it.
///
/// # Errors
/// What is wrong with it, with a place.
pub fn check_source(source: &str, limits: &GuestLimits) -> Result<(), LispError> {
    let start = Position { line: 1, column: 1 };
    stack::with(stack::COMPILE, || parse(source, limits).map(drop)).unwrap_or_else(|_| {
        Err(LispError::Syntax {
            at: start,
            code: "engine_panic",
            problem: "the program could not be checked".into(),
        })
    })
}
