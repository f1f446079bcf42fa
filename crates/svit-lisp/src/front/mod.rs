//! The front end: program text to a checked program, with every refusal of the language. Nothing here
//! knows the engine.

mod check;
pub(crate) mod ir;
mod node;
mod reader;
mod refuse;

use svit_tree::guest::GuestLimits;

pub(crate) use check::Author;

use crate::LispError;
use ir::Module;

/// Reads and checks a program.
pub(crate) fn analyze(
    source: &str,
    limits: &GuestLimits,
    author: Author,
) -> Result<Module, LispError> {
    let forms = reader::read(source, limits)?;
    check::check(&forms, limits, author)
}
