//! `Run`: what one activation of a script shares: its host, ticks, memory, clock and first failure.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use svit_tree::guest::{GuestErrorKind, GuestLimits, Host, HostError, HostErrorKind};
use svit_value::Text;

use super::K;

/// Ticks between two looks at the wall clock and at the meter that all of the activation shares.
const WINDOW: u64 = 256;

thread_local! {
    /// Time that guests on this thread have spent waiting for ports; it does not count against them.
    static WAITED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    /// What the runs hold that wait on this thread for a run inside them.
    static OUTER: Cell<Outer> = const { Cell::new(Outer { runs: 0, bytes: 0 }) };
}

/// The runs that a run is inside of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outer {
    pub(crate) runs: u32,
    /// Bytes that their values hold.
    bytes: u64,
}

impl Outer {
    pub(crate) fn now() -> Self {
        OUTER.get()
    }
}

/// Puts the count back however the run inside ends.
struct Restore(Outer);

impl Drop for Restore {
    fn drop(&mut self) {
        OUTER.set(self.0);
    }
}

/// Why a built-in did not return a value.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The script may catch it.
    Soft(Box<Soft>),
    /// The run is stopped; [`Run::stop`] says why.
    Hard,
}

/// A failure that a script may catch.
#[derive(Clone, Debug)]
pub(crate) struct Soft {
    pub(crate) kind: GuestErrorKind,
    pub(crate) code: Text,
    pub(crate) message: String,
    pub(crate) host: Option<HostError>,
}

/// A failure of a script's own making.
pub(crate) fn soft(code: &'static str, message: impl Into<String>) -> Fault {
    Fault::Soft(Box::new(Soft {
        kind: GuestErrorKind::Runtime,
        code: Text::from(code),
        message: message.into(),
        host: None,
    }))
}

/// A value that cannot leave the script.
pub(crate) fn conversion(message: impl Into<String>) -> Fault {
    Fault::Soft(Box::new(Soft {
        kind: GuestErrorKind::Conversion,
        code: Text::from("conversion"),
        message: message.into(),
        host: None,
    }))
}

/// Why a run was stopped for good.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    pub(crate) kind: GuestErrorKind,
    pub(crate) code: Text,
    pub(crate) message: String,
    pub(crate) host: Option<HostError>,
}

/// Bytes that values of the guest hold, kept by the values themselves.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) live: Cell<u64>,
    /// The limit of the activation, less what the runs hold that this one is inside of.
    pub(crate) limit: u64,
}

pub(crate) struct Run {
    host: Arc<dyn Host>,
    pub(crate) limits: GuestLimits,
    pub(crate) memory: Rc<Memory>,
    pub(crate) stop: RefCell<Option<Stop>>,
    /// The failure that an engine error stands for, while it travels through the engine.
    pub(crate) fault: RefCell<Option<Soft>>,
    /// Number of the last call site, 0 if none.
    pub(crate) site: Cell<u32>,
    /// Native re-entries into the engine that are open.
    pub(crate) reentry: Cell<u32>,
    pub(crate) input: RefCell<K>,
    started: Instant,
    waited: Duration,
    /// Set with `stop`, and cheaper to look at.
    stopped: Cell<bool>,
    /// Ticks that may be used before the meter must be asked again.
    credit: Cell<u64>,
    /// What the credit was when the meter was last asked; the difference is owed to it.
    granted: Cell<u64>,
}

impl Run {
    pub(crate) fn new(host: Arc<dyn Host>, limits: &GuestLimits) -> Self {
        Self {
            host,
            memory: Rc::new(Memory {
                live: Cell::new(0),
                limit: limits.max_memory.saturating_sub(OUTER.get().bytes),
            }),
            limits: limits.clone(),
            stop: RefCell::new(None),
            fault: RefCell::new(None),
            site: Cell::new(0),
            reentry: Cell::new(0),
            input: RefCell::new(K::Unit),
            started: Instant::now(),
            waited: WAITED.get(),
            stopped: Cell::new(false),
            credit: Cell::new(0),
            granted: Cell::new(0),
        }
    }

    /// Takes ticks, and looks at the clock now and then. Everything that can repeat comes by here.
    ///
    /// The meter is atomic and behind the host, so ticks come out of a small credit, which is never more
    /// than the meter has left: nothing passes that the meter would refuse. It is told what was used before
    /// anybody else can look at it, see [`Run::settle`].
    // THREAT[TM-LISP-1]
    #[inline]
    pub(crate) fn charge(&self, ticks: u64) -> Result<(), Fault> {
        let credit = self.credit.get();
        if ticks <= credit {
            self.credit.set(credit - ticks);
            return Ok(());
        }
        self.charge_meter(ticks)
    }

    #[cold]
    fn charge_meter(&self, ticks: u64) -> Result<(), Fault> {
        self.settle()?;
        if self.host.meter().charge(ticks).is_err() {
            return Err(self.out_of_ticks());
        }
        self.look_at_clock()?;
        let credit = self.host.meter().left().min(WINDOW);
        self.credit.set(credit);
        self.granted.set(credit);
        Ok(())
    }

    /// Tells the meter what was used of the credit, and gives the rest back. Nobody but this run charges the
    /// meter meanwhile, so this fails only if the ticks were taken away to end the activation.
    pub(crate) fn settle(&self) -> Result<(), Fault> {
        let owed = self.granted.replace(0) - self.credit.replace(0);
        match self.host.meter().charge(owed) {
            Ok(()) => Ok(()),
            Err(_) => Err(self.out_of_ticks()),
        }
    }

    /// The host, with its meter up to date.
    pub(crate) fn host(&self) -> Result<&Arc<dyn Host>, Fault> {
        self.settle()?;
        Ok(&self.host)
    }

    /// The budget of ticks is used up.
    pub(crate) fn out_of_ticks(&self) -> Fault {
        let message = format!("used up its budget of {} ticks", self.host.meter().budget());
        self.halt(GuestErrorKind::OutOfTicks, "out_of_ticks", message)
    }

    /// Fails if the run has taken too long or is stopped.
    pub(crate) fn look_at_clock(&self) -> Result<(), Fault> {
        if self.is_stopped() {
            return Err(Fault::Hard);
        }
        let waited = WAITED.get().saturating_sub(self.waited);
        if self.started.elapsed().saturating_sub(waited) < self.limits.max_execution {
            return Ok(());
        }
        let millis = self.limits.max_execution.as_millis();
        Err(self.halt(
            GuestErrorKind::Timeout,
            "timeout",
            format!("ran longer than {millis} ms"),
        ))
    }

    /// Whether the run should end, for work that takes long and does not come back here meanwhile: its time is
    /// up, or its ticks were taken away.
    #[cfg(feature = "jq")]
    pub(crate) fn ending(&self) -> Result<impl Fn() -> bool + Send + Sync + use<>, Fault> {
        let host = self.host()?.clone();
        let waited = WAITED.get().saturating_sub(self.waited);
        let (started, limit) = (self.started, self.limits.max_execution);
        Ok(
            move || {
                host.meter().is_overdrawn() || started.elapsed().saturating_sub(waited) >= limit
            },
        )
    }

    /// Runs `wait` without counting its time against this run or those that called it.
    pub(crate) fn off_the_clock<T>(&self, wait: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = wait();
        WAITED.set(WAITED.get() + start.elapsed());
        result
    }

    /// Runs `inside`, in which other programs may run; they get what this run leaves of the memory.
    pub(crate) fn around<T>(&self, inside: impl FnOnce() -> T) -> T {
        let outer = OUTER.get();
        let _restore = Restore(outer);
        OUTER.set(Outer {
            runs: outer.runs + 1,
            bytes: outer.bytes + self.memory.live.get(),
        });
        inside()
    }

    /// Stops the run for good; the first reason stays.
    pub(crate) fn halt(
        &self,
        kind: GuestErrorKind,
        code: impl Into<Text>,
        message: impl Into<String>,
    ) -> Fault {
        self.halt_with(Stop {
            kind,
            code: code.into(),
            message: message.into(),
            host: None,
        })
    }

    fn halt_with(&self, stop: Stop) -> Fault {
        self.stop.borrow_mut().get_or_insert(stop);
        self.stopped.set(true);
        Fault::Hard
    }

    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.get()
    }

    /// A limit was passed.
    pub(crate) fn limit(&self, limit: &'static str, allowed: u64, unit: &str) -> Fault {
        self.halt(
            GuestErrorKind::Limit,
            limit,
            format!("past the limit {limit} of {allowed} {unit}"),
        )
    }

    /// Fails if `bytes` more would pass the limit on memory; called before they are allocated.
    pub(crate) fn reserve(&self, bytes: u64) -> Result<(), Fault> {
        if self.memory.live.get().saturating_add(bytes) > self.memory.limit {
            return Err(self.limit("max_guest_memory", self.limits.max_memory, "bytes"));
        }
        Ok(())
    }

    /// Bytes that the values of the run may still take.
    #[cfg(feature = "jq")]
    pub(crate) fn memory_left(&self) -> u64 {
        self.memory.limit.saturating_sub(self.memory.live.get())
    }

    /// A refusal of the host, which stops the run if it is hard.
    pub(crate) fn host_error(&self, error: HostError) -> Fault {
        let kind = match &*error.code {
            "out_of_ticks" => GuestErrorKind::OutOfTicks,
            "timeout" => GuestErrorKind::Timeout,
            "cancelled" => GuestErrorKind::Cancelled,
            _ => GuestErrorKind::Host,
        };
        match error.kind {
            HostErrorKind::Soft => Fault::Soft(Box::new(Soft {
                kind: GuestErrorKind::Host,
                code: error.code.clone(),
                message: error.message.to_string(),
                host: Some(error),
            })),
            HostErrorKind::Hard => self.halt_with(Stop {
                kind,
                code: error.code.clone(),
                message: error.message.to_string(),
                host: Some(error),
            }),
        }
    }
}
