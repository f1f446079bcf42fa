//! The seam between a guest language and the world: what a script may ask ([`Host`]), who runs it
//! ([`Guest`]), and the one counter both charge ([`Meter`]). Neither side imports the other.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use svit_value::{Text, Value, ValueLimits};

use crate::Path;

mod entry;

pub use entry::{EntryError, LibraryEntry};

/// The tick budget of one activation.
///
/// A tick is the unit of guest work; it is counted the same on every machine, build and run. One
/// meter is shared by everything that an activation does: its script, nested `exec`, `jq`, `search`.
/// Cloning is not possible on purpose; share it by reference or `Arc`.
///
/// ```
/// use svit_tree::guest::Meter;
///
/// let meter = Meter::new(10);
/// assert!(meter.charge(10).is_ok());
/// let stopped = meter.charge(1).unwrap_err();
/// assert_eq!((stopped.budget, meter.used(), meter.left()), (10, 10, 0));
/// ```
#[derive(Debug)]
pub struct Meter {
    budget: u64,
    used: AtomicU64,
    overdrawn: AtomicBool,
}

/// The budget of ticks is used up. Nothing that a script does may swallow this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfTicks {
    /// The whole budget of the activation, in ticks.
    pub budget: u64,
}

impl fmt::Display for OutOfTicks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the budget of {} ticks is used up", self.budget)
    }
}

impl std::error::Error for OutOfTicks {}

impl Meter {
    /// A meter with nothing used.
    pub const fn new(budget: u64) -> Self {
        Self {
            budget,
            used: AtomicU64::new(0),
            overdrawn: AtomicBool::new(false),
        }
    }

    /// Takes `ticks` from the budget. O(1).
    ///
    /// # Errors
    /// [`OutOfTicks`] when fewer are left. The budget then counts as wholly used, so that a second,
    /// smaller charge cannot pass.
    pub fn charge(&self, ticks: u64) -> Result<(), OutOfTicks> {
        let charged = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                used.checked_add(ticks)
                    .filter(|&total| total <= self.budget)
            });
        match charged {
            Ok(_) => Ok(()),
            Err(_) => {
                self.used.store(self.budget, Ordering::Relaxed);
                self.overdrawn.store(true, Ordering::Relaxed);
                Err(OutOfTicks {
                    budget: self.budget,
                })
            }
        }
    }

    /// Whether more was asked for than the budget holds. A host commits nothing of such a run, even
    /// if its guest went on.
    pub fn is_overdrawn(&self) -> bool {
        self.overdrawn.load(Ordering::Relaxed)
    }

    /// Ticks used so far.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Ticks that can still be charged.
    pub fn left(&self) -> u64 {
        self.budget - self.used()
    }

    /// The whole budget.
    pub const fn budget(&self) -> u64 {
        self.budget
    }
}

/// What one run of a guest program may use. Ticks are not among them: they are in the [`Meter`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestLimits {
    /// Wall clock that is left for this run. A kill switch: it ends a run only as an error.
    pub max_execution: Duration,
    /// Bytes of memory for the guest's own values.
    pub max_memory: u64,
    /// Frames on the guest's call stack.
    pub max_call_stack: u32,
    /// Values on the guest's value stack.
    pub max_value_stack: u32,
    /// Names that a program may define.
    pub max_names: u32,
    /// Nesting of the program text.
    pub max_syntax_depth: u32,
    /// Bits of one integer inside the guest.
    pub max_integer_bits: u32,
    /// Bytes of program text.
    pub max_source_bytes: u64,
    /// Limits of the input, of the output, and of each written value.
    pub value: ValueLimits,
}

impl Default for GuestLimits {
    /// What a process grants unless its host chooses otherwise.
    fn default() -> Self {
        Self {
            max_execution: Duration::from_secs(1),
            max_memory: 8 << 20,
            max_call_stack: 1_024,
            max_value_stack: 4_096,
            max_names: 1_024,
            max_syntax_depth: 64,
            max_integer_bits: 64,
            max_source_bytes: 64 << 10,
            value: ValueLimits {
                max_depth: 32,
                max_nodes: 100_000,
                max_text_bytes: 1 << 20,
                ..ValueLimits::default()
            },
        }
    }
}

/// A program as it stands in `/lib`, or given for one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The path it came from, such as `/lib/counter`; used in diagnostics only.
    pub name: Text,
    /// The program text.
    pub source: Text,
    /// The language it is written in, such as `svit-lisp@2`.
    pub language: Text,
}

/// How serious a log record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// Something worth knowing.
    Info,
    /// Something that may be wrong.
    Warn,
    /// Something that is wrong.
    Error,
}

impl LogLevel {
    /// `info`, `warn` or `error`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// Whether a script may catch an error of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostErrorKind {
    /// A refusal that the script can handle: a bad path, no access, a failed nested call.
    Soft,
    /// A limit, a stop or a suspension. It ends the activation, whatever the script does.
    Hard,
}

/// A refusal of the host, in words fit for a script and for a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostError {
    /// Whether a script may catch it.
    pub kind: HostErrorKind,
    /// Stable, in snake case.
    pub code: Text,
    /// One sentence.
    pub message: Text,
}

impl HostError {
    /// An error that the script may handle.
    pub fn soft(code: impl Into<Text>, message: impl Into<Text>) -> Self {
        Self {
            kind: HostErrorKind::Soft,
            code: code.into(),
            message: message.into(),
        }
    }

    /// An error that ends the activation.
    pub fn hard(code: impl Into<Text>, message: impl Into<Text>) -> Self {
        Self {
            kind: HostErrorKind::Hard,
            ..Self::soft(code, message)
        }
    }
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for HostError {}

impl From<OutOfTicks> for HostError {
    fn from(stopped: OutOfTicks) -> Self {
        Self::hard("out_of_ticks", stopped.to_string())
    }
}

/// What a running script may ask of the world.
///
/// Implemented by the working copy of an activation. Every method takes `&self`, and no borrow spans
/// a call into the guest. Prices are charged by the guest, from its own table; a host charges the
/// meter only for what nobody else can see.
pub trait Host: Send + Sync {
    /// The budget that everything in this activation draws on.
    fn meter(&self) -> &Meter;

    /// Sorted names of the children of `path`; empty for a scalar or a missing path.
    ///
    /// # Errors
    /// No access, or more entries than a listing may have.
    fn discover(&self, path: &Path) -> Result<Vec<Text>, HostError>;

    /// The value at `path`, if there is one.
    ///
    /// # Errors
    /// No access, or a mount that is not attached.
    fn read(&self, path: &Path) -> Result<Option<Value>, HostError>;

    /// Facts about `path` as a map; see [`Stat`](crate::Stat) for the fields.
    ///
    /// # Errors
    /// No access.
    fn stat(&self, path: &Path) -> Result<Value, HostError>;

    /// Sets the value at `path` in the working copy.
    ///
    /// # Errors
    /// No access, a missing parent, or a limit.
    fn write(&self, path: &Path, value: Value) -> Result<(), HostError>;

    /// Removes what is at `path` from the working copy, and says whether there was anything.
    ///
    /// # Errors
    /// No access.
    fn remove(&self, path: &Path) -> Result<bool, HostError>;

    /// Runs another script in the same working copy. A failed call rolls back to its start.
    ///
    /// # Errors
    /// No such script, its failure, or the limit on nesting.
    fn exec(&self, path: &Path, input: Value) -> Result<Value, HostError>;

    /// Adds a log record to the activation.
    ///
    /// # Errors
    /// The limit on log records.
    fn log(&self, level: LogLevel, message: Text, fields: Value) -> Result<(), HostError>;

    /// Buffers a message intent, committed with everything else.
    ///
    /// # Errors
    /// The limit on messages.
    fn send(&self, message: Value) -> Result<(), HostError>;

    /// Calls a port and waits for its answer.
    ///
    /// # Errors
    /// No such port, or its failure.
    fn port_call(&self, name: &str, input: Value) -> Result<Value, HostError>;
}

/// A place in a program, both counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// Why a program was refused or stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GuestErrorKind {
    /// Refused before it ran.
    Syntax,
    /// Failed while it ran.
    Runtime,
    /// Made something that is not a value of svit.
    Conversion,
    /// Went past a limit other than ticks and time.
    Limit,
    /// Used up its ticks.
    OutOfTicks,
    /// Used up its wall clock.
    Timeout,
    /// The host refused something, and the script did not handle it.
    Host,
    /// The engine failed inside; the interpreter was dropped.
    Panic,
    /// The activation was cancelled.
    Cancelled,
}

/// The failure of a program: owned text, capped at 1 KiB, without paths of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestError {
    /// What sort of failure it is.
    pub kind: GuestErrorKind,
    /// Stable, in snake case, finer than `kind`.
    pub code: Text,
    /// One or two sentences; names the program and the place where they are known.
    pub message: Text,
    /// Where in the program, if known.
    pub at: Option<Position>,
    /// The host's refusal behind it, if that is what it was.
    pub host: Option<HostError>,
}

impl GuestError {
    /// An error without a place.
    pub fn new(kind: GuestErrorKind, code: impl Into<Text>, message: impl Into<Text>) -> Self {
        Self {
            kind,
            code: code.into(),
            message: message.into(),
            at: None,
            host: None,
        }
    }

    /// Whether nothing that called this program may carry on: limits, ticks, time, cancelling.
    pub fn is_hard(&self) -> bool {
        match self.kind {
            GuestErrorKind::Limit
            | GuestErrorKind::OutOfTicks
            | GuestErrorKind::Timeout
            | GuestErrorKind::Panic
            | GuestErrorKind::Cancelled => true,
            GuestErrorKind::Host => self
                .host
                .as_ref()
                .is_some_and(|e| e.kind == HostErrorKind::Hard),
            _ => false,
        }
    }
}

impl fmt::Display for GuestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for GuestError {}

/// A guest language.
///
/// The contract, whatever the language: a program has no authority but its [`Host`]; the same
/// program, input and tree give the same output, logs, intents and ticks on every machine; a failure
/// leaves nothing behind that a later run could see; neither call panics, aborts or hangs.
pub trait Guest: Send + Sync {
    /// The name and version of the language, such as `svit-lisp@2`.
    fn language(&self) -> &str;

    /// Checks a program without running it, as is done before a script is committed.
    ///
    /// # Errors
    /// What is wrong with it, with a place.
    fn check(&self, program: &Program, limits: &GuestLimits) -> Result<(), GuestError>;

    /// Runs a program and returns its result; blocks until it ended. Ticks are drawn from
    /// `host.meter()`. A host may call this again, on the same thread, from inside [`Host::exec`].
    ///
    /// # Errors
    /// Why the program was stopped.
    fn run(
        &self,
        program: &Program,
        input: Value,
        host: Arc<dyn Host>,
        limits: &GuestLimits,
    ) -> Result<Value, GuestError>;
}

#[cfg(test)]
mod tests;
