//! Run one Svit Lisp script within limits.
//!
//! A script defines `(main input)`. [`Lisp`] reads it with a front end of its own, refuses what the
//! language does not have with the place and what to write instead, and runs it in a fresh interpreter
//! whose only authority is the host it is given. The work is counted in ticks, the same number on every
//! machine and build: a budget of N passes where N - 1 fails.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use svit_lisp::{Lisp, Script, standard_limits};
//! use svit_tree::Path;
//! use svit_tree::guest::{Guest, Host, HostError, LogLevel, Meter};
//! use svit_value::{Text, Value, value};
//!
//! /// A host that grants nothing.
//! struct Nothing(Meter);
//!
//! # fn no<T>() -> Result<T, HostError> { Err(HostError::soft("no_access", "there is nothing here")) }
//! impl Host for Nothing {
//!     fn meter(&self) -> &Meter { &self.0 }
//!     // Every other method refuses.
//! #   fn discover(&self, _: &Path) -> Result<Vec<Text>, HostError> { no() }
//! #   fn read(&self, _: &Path) -> Result<Option<Value>, HostError> { no() }
//! #   fn stat(&self, _: &Path) -> Result<Value, HostError> { no() }
//! #   fn write(&self, _: &Path, _: Value) -> Result<(), HostError> { no() }
//! #   fn remove(&self, _: &Path) -> Result<bool, HostError> { no() }
//! #   fn exec(&self, _: &Path, _: Value) -> Result<Value, HostError> { no() }
//! #   fn log(&self, _: LogLevel, _: Text, _: Value) -> Result<(), HostError> { no() }
//! #   fn send(&self, _: Value) -> Result<(), HostError> { no() }
//! #   fn port_call(&self, _: &str, _: Value) -> Result<Value, HostError> { no() }
//! }
//!
//! let script = Script::new("(define (main input) (map (lambda (x) (* x x)) input))");
//! let program = script.to_program("/lib/squares");
//! let host = Arc::new(Nothing(Meter::new(1_000)));
//! let output = Lisp::new().run(&program, value!([1, 2, 3]), host.clone(), &standard_limits())?;
//! assert_eq!(output, value!([1, 4, 9]));
//! assert_eq!(host.meter().used(), 21);
//!
//! let wrong = Script::new("(define (main input)\n  (println input))").to_program("/lib/wrong");
//! let error = Lisp::new().check(&wrong, &standard_limits()).unwrap_err();
//! assert_eq!(
//!     error.message.as_str(),
//!     "/lib/wrong.svit-script:2:3: `println` is not in this language; \
//!      write (log-info! \"message\" fields)"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Parts
//! - [`Lisp`]: the language behind the guest seam of `svit-tree`.
//! - [`Script`]: what stands under `/lib`, as a type and as a value.
//! - [`check_source`] and [`standard_limits`]: checking a text where there is no host, as the macros of
//!   `svit-macros` do.
//! - [`LispError`]: why a text is refused.
//!
//! # What a script costs
//! Entering a function is one tick. A built-in has a price of `base + cells read * i / 8 + cells made *
//! o / 8`, where a cell is a scalar, 16 bytes of text, or one item or entry; the prices are data
//! (`data/ticks.tsv`), and a change to one is a new version of the language. `map`, `fold`, `sort` with a
//! comparison and their like are written in the language itself and cost their steps. What can be large
//! is paid, and its memory reserved, before it is made. `(runtime-builtins)` lists every built-in with its
//! price, from the same table that registers them.
//!
//! # Containment
//! Lists, maps, texts and bytes are the values of `svit-value`, shared with the tree and never copied in;
//! each counts its bytes against the memory limit for as long as the script holds it. The count is an
//! upper bound: structure that two values share counts for both. A run inside a run (`exec`) gets what the
//! runs around it leave, so the limit is that of the whole activation. Resident memory stays below 2.5 times
//! the limit (`tests/memory.rs` measures it: 0.2 to 0.8 for lists and maps, up to 2 where large texts are made
//! from each other, blocks that the allocator keeps included). What a jq filter makes on the way is bounded by
//! what is left of the limit, as `filter_limit`.
//! Closures are counted by the engine, apart from values, up to once the limit, and three times the limit
//! over 16 runs inside one another. Closures hold at most 256 values, 32 levels deep.
//!
//! Guests run on the calling thread, which gets a stack of 64 MiB for it unless 1 MiB of its own is left; a
//! panic of the engine becomes an error, and the wall clock is a kill switch that leaves out waits for ports.
//!
//! # What it does not do
//! No I/O, no randomness, no clock that a script can see, no modules and no macros. It does not commit, retry
//! or store: that is `svit-txn`'s.
//!
//! # Features
//! - `jq` (default): `(jq filter value)` through `svit-query`. Beside its price it costs what `svit-query`
//!   charges; a filter with a mistake costs 200 ticks and one a byte.
//! - `search` (default): `(search path pattern)` through `svit-query`. Beside its price it costs 50 ticks for
//!   each unit of the pattern's cost and what `svit-query` charges for the walk.
//!
//! The language is the same in every build: a function whose feature is off fails with `unavailable`.

mod builtins;
mod cache;
mod engine;
mod error;
mod front;
mod lisp;
mod script;
mod stack;
mod table;
#[cfg(test)]
mod tests;

pub use error::LispError;
pub use lisp::{Lisp, check_source, standard_limits};
pub use script::Script;

/// The language and its version, as stored with scripts.
pub const LANGUAGE: &str = "svit-lisp@2";
