//! Every rule of the guest contract as a check that runs against any language, given the language's own
//! scripts for what the checks need.

mod hosts;
mod limits;
mod pure;
#[cfg(test)]
mod tests;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use svit_tree::guest::Guest;

use super::{Broken, ensure, ensure_eq};

/// What a language must be able to say: one program for each check, as text. `input` is what a program is
/// given, and "gives" what its run returns.
#[derive(Clone, Debug)]
pub struct GuestScripts {
    /// Gives its input, whatever it is.
    pub echo: String,
    /// Is no program of the language.
    pub broken: String,
    /// Adds up the integers from 1 to the input, one after the other, and gives the sum.
    pub sum: String,
    /// Never ends, and holds no more the longer it runs.
    pub spin: String,
    /// Calls itself without end, and has something left to do after each call.
    pub recurse: String,
    /// Holds more and more without end.
    pub hoard: String,
    /// Gives something that is no value of svit, such as a function.
    pub unstorable: String,
    /// Reads `/memory/a`, logs it as information with the message `read`, writes the input to `/memory/b`,
    /// removes `/memory/c`, sends the input, calls the port `echo` with the input, and gives its answer.
    pub ask: String,
    /// Writes 1 to `/memory/a`, then fails by itself.
    pub fail: String,
    /// Writes 1 to `/denied`, which the host refuses, and does not handle that.
    pub denied: String,
    /// Writes 1 to `/denied`, and gives `"caught"` if that fails in a way that it can handle.
    pub catch_denied: String,
    /// Writes 1 to `/hard`, and gives `"caught"` if that fails in a way that it can handle.
    pub catch_hard: String,
    /// Never ends, and gives `"caught"` if that is stopped in a way that it can handle.
    pub catch_spin: String,
    /// Recurses without end, as `recurse`, and gives `"caught"` if that fails in a way that it can handle.
    pub catch_recurse: String,
    /// Runs `/lib/inner` with its input, and gives what that gives.
    pub exec: String,
    /// Runs `/lib/inner` with its input, and gives `"caught"` if that fails in a way that it can handle.
    pub catch_exec: String,
    /// Programs that reach for what only a host grants: files, the clock, randomness, other programs. Each
    /// must be refused or fail.
    pub reaching: Vec<String>,
}

/// A language under test.
struct Subject {
    guest: Arc<dyn Guest>,
    scripts: GuestScripts,
}

/// One rule, and the code that checks it. An error says what was seen instead.
struct Check {
    name: &'static str,
    run: fn(&Subject) -> Result<(), String>,
}

/// The checks of one file.
macro_rules! checks {
    ($($name:ident)*) => {
        pub(super) const CHECKS: &[super::Check] = &[
            $(super::Check { name: stringify!($name), run: $name },)*
        ];
    };
}

use checks;

/// Runs every rule of [`Guest`] against the languages that `make` makes, each against a new one.
///
/// # Errors
/// [`Broken`], with every rule that does not hold.
pub fn guest<G: Guest + 'static>(
    make: impl Fn() -> G,
    scripts: &GuestScripts,
) -> Result<(), Broken> {
    let mut broken = Vec::new();
    for check in all() {
        let subject = Subject {
            guest: Arc::new(make()),
            scripts: scripts.clone(),
        };
        let seen = catch_unwind(AssertUnwindSafe(|| (check.run)(&subject)))
            .unwrap_or_else(|_| Err("the guest panicked".to_owned()));
        if let Err(seen) = seen {
            broken.push((check.name, seen));
        }
    }
    Broken::unless_none("guest", broken)
}

/// The names of all rules, in the order in which they are checked.
pub fn guest_rules() -> impl Iterator<Item = &'static str> {
    all().map(|check| check.name)
}

fn all() -> impl Iterator<Item = &'static Check> {
    [pure::CHECKS, limits::CHECKS, hosts::CHECKS]
        .into_iter()
        .flatten()
}
