//! What a running filter has used: steps, bytes, contexts alive, nesting.
//!
//! Operators of values (`+`, `[f]`, comparisons) are called by the interpreter without a context, so the
//! counters are in thread-local cells; a run puts its own in and takes them out again. A counter that is
//! used up stops the run by unwinding, which no filter can catch.

use std::cell::{Cell, RefCell};
use std::panic::resume_unwind;

use super::Interrupt;

/// Bytes that are made for the price of one tick.
const BYTES_PER_TICK: u64 = 64;
/// Ticks between two questions to the caller whether to go on: about a millisecond.
const SLICE: u64 = 16_384;
/// The most evaluations inside each other: what fits the stack that [`super::run`] makes sure of.
pub(crate) const MAX_NESTING: u32 = 4_000;
/// The most contexts alive at once; each has an evaluation or an iterator that waits, of some hundred bytes.
pub(crate) const MAX_WAITING: u32 = 200_000;

/// The most contexts that are spread over different nestings; of those at one nesting, [`PILE`] count. An
/// evaluation knows how deep its own context is nested, but `f` in `p |= f` runs on top of all frames of `p`,
/// which can run on top of others. Their contexts are alive, and at many nestings; those that merely wait in
/// iterators are many at few.
pub(crate) const MAX_SPREAD: u32 = 6_000;
const PILE: u32 = 64;
/// The most contexts made by a filter in which a function passes filters to itself. Each call then holds on to
/// the one before; the whole chain is let go of at once, by recursion that nothing else bounds.
pub(crate) const MAX_CHAINED: u32 = 60_000;

/// What stopped a run. The payload of the unwinding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    Ticks,
    Interrupted,
    Bytes,
    Nesting,
    Waiting,
    Chained,
    Stack,
    Depth,
}

thread_local! {
    /// Ticks until the caller is asked.
    static TICKS: Cell<u64> = const { Cell::new(0) };
    /// Ticks after that.
    static REST: Cell<u64> = const { Cell::new(0) };
    static INTERRUPT: RefCell<Option<Interrupt>> = const { RefCell::new(None) };
    static BYTES: Cell<u64> = const { Cell::new(0) };
    static WAITING: Cell<u32> = const { Cell::new(0) };
    static ALIVE_AT: [Cell<u32>; MAX_NESTING as usize + 2] =
        const { [const { Cell::new(0) }; MAX_NESTING as usize + 2] };
    static SPREAD: Cell<u32> = const { Cell::new(0) };
    static CHAINED: Cell<u32> = const { Cell::new(0) };
    static FLOOR: Cell<usize> = const { Cell::new(0) };
}

pub(crate) fn stop(why: Stop) -> ! {
    // Not `panic!`: this is no bug, and must not reach the program's panic hook.
    resume_unwind(Box::new(why))
}

/// Takes ticks.
#[inline]
pub(crate) fn charge(ticks: u64) {
    match TICKS.get().checked_sub(ticks) {
        Some(left) => TICKS.set(left),
        None => next_slice(ticks),
    }
}

#[cold]
fn next_slice(ticks: u64) {
    let Some(left) = (TICKS.get() + REST.get()).checked_sub(ticks) else {
        share_out(0);
        // The step that did not fit was not made.
        stop(Stop::Ticks);
    };
    let interrupted = INTERRUPT.with_borrow(|ask| ask.as_ref().is_some_and(Interrupt::is_asked));
    if interrupted {
        stop(Stop::Interrupted);
    }
    share_out(left);
}

fn share_out(ticks: u64) {
    let slice = ticks.min(SLICE);
    TICKS.set(slice);
    REST.set(ticks - slice);
}

/// Takes bytes that a value is about to need, and the ticks that filling them costs.
#[inline]
pub(crate) fn alloc(bytes: usize) {
    let bytes = bytes as u64;
    let left = BYTES.get();
    if left < bytes {
        BYTES.set(0);
        stop(Stop::Bytes);
    }
    BYTES.set(left - bytes);
    if bytes >= BYTES_PER_TICK {
        charge(bytes / BYTES_PER_TICK);
    }
}

/// Takes the ticks of looking at that many bytes.
#[inline]
pub(crate) fn look(bytes: usize) {
    if bytes as u64 >= BYTES_PER_TICK {
        charge(bytes as u64 / BYTES_PER_TICK);
    }
}

/// One evaluation begins, at a nesting; `mark` is something on the stack.
#[inline]
pub(crate) fn step(nesting: u32, mark: &u32) {
    charge(1);
    if nesting > MAX_NESTING {
        stop(Stop::Nesting);
    }
    // Only if the frames are larger than anyone has seen: rather a limit than an abort.
    if std::ptr::from_ref(mark).addr() < FLOOR.get() {
        stop(Stop::Stack);
    }
}

/// One more context is alive.
#[inline]
pub(crate) fn enter(nesting: u32) {
    let waiting = WAITING.get() + 1;
    WAITING.set(waiting);
    if waiting > MAX_WAITING {
        stop(Stop::Waiting);
    }
    let chained = CHAINED.get();
    if chained > 0 {
        if chained == 1 {
            stop(Stop::Chained);
        }
        CHAINED.set(chained - 1);
    }
    pile(nesting);
}

/// One context less is alive.
#[inline]
pub(crate) fn leave(nesting: u32) {
    WAITING.set(WAITING.get().wrapping_sub(1));
    unpile(nesting);
}

/// A context is nested one deeper.
#[inline]
pub(crate) fn deeper(nesting: u32) {
    unpile(nesting);
    pile(nesting + 1);
}

fn pile(nesting: u32) {
    ALIVE_AT.with(|alive_at| {
        let Some(alive) = alive_at.get(nesting as usize) else {
            return;
        };
        alive.set(alive.get() + 1);
        if alive.get() <= PILE {
            let spread = SPREAD.get() + 1;
            SPREAD.set(spread);
            if spread > MAX_SPREAD {
                stop(Stop::Nesting);
            }
        }
    });
}

fn unpile(nesting: u32) {
    ALIVE_AT.with(|alive_at| {
        let Some(alive) = alive_at.get(nesting as usize) else {
            return;
        };
        if alive.get() <= PILE {
            SPREAD.set(SPREAD.get().saturating_sub(1));
        }
        alive.set(alive.get().saturating_sub(1));
    });
}

/// Contexts that an earlier run was stopped in making.
fn forget_piles() {
    if SPREAD.replace(0) > 0 {
        ALIVE_AT.with(|alive_at| alive_at.iter().for_each(|alive| alive.set(0)));
    }
}

/// The counters of one run; what was there before comes back when it is dropped.
pub(crate) struct Gauge {
    outer: (u64, u64, u64, u32, u32, usize),
    interrupt: Option<Interrupt>,
    ticks: u64,
}

impl Gauge {
    pub(crate) fn new(
        ticks: u64,
        bytes: u64,
        interrupt: Option<Interrupt>,
        chains: bool,
        floor: usize,
    ) -> Self {
        forget_piles();
        let before = (TICKS.get(), REST.get());
        share_out(ticks);
        Self {
            interrupt: INTERRUPT.replace(interrupt),
            outer: (
                before.0,
                before.1,
                BYTES.replace(bytes),
                WAITING.replace(0),
                CHAINED.replace(if chains { MAX_CHAINED } else { 0 }),
                FLOOR.replace(floor),
            ),
            ticks,
        }
    }

    pub(crate) fn used_ticks(&self) -> u64 {
        self.ticks - TICKS.get() - REST.get()
    }
}

impl Drop for Gauge {
    fn drop(&mut self) {
        TICKS.set(self.outer.0);
        REST.set(self.outer.1);
        BYTES.set(self.outer.2);
        WAITING.set(self.outer.3);
        CHAINED.set(self.outer.4);
        FLOOR.set(self.outer.5);
        INTERRUPT.set(self.interrupt.take());
    }
}
