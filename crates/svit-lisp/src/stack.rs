//! Room for a guest, on the thread that asks for the run: a thread with enough stack runs it as it is,
//! another gets a larger stack for as long as the run takes. Handing the run to a thread made for it
//! would cost two wake-ups, which take longer than most activations.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a run needs. The worst known, sixteen safe calls inside one another, takes a quarter of it where
/// nothing is optimized; a run inside a run asks anew.
pub(crate) const RUN: usize = 1 << 20;
/// What checking and compiling needs: the reader and the compiler recurse with the nesting of the
/// program text, to its hard maximum.
pub(crate) const COMPILE: usize = 8 << 20;
/// The size of a larger stack. Only what is touched takes memory.
const SIZE: usize = 64 << 20;
/// Runs inside runs on one thread; the host's own limit is below it.
const MAX_NESTED: u32 = 66;

thread_local! {
    /// Runs that are open on this thread.
    static OPEN: Cell<u32> = const { Cell::new(0) };
}

/// Why a job gave no result.
#[derive(Debug)]
pub(crate) enum Lost {
    /// It panicked, or there was no memory for its stack.
    Panicked,
    /// There are too many runs inside one another.
    TooDeep,
}

/// Does `job` with at least so many bytes of stack, and contains a panic in it.
pub(crate) fn with<T>(room: usize, job: impl FnOnce() -> T) -> Result<T, Lost> {
    let open = OPEN.get();
    if open >= MAX_NESTED {
        return Err(Lost::TooDeep);
    }
    OPEN.set(open + 1);
    // What a panic says is for the panic hook; a guest's error carries none of it.
    // THREAT[TM-LISP-4]
    let result = catch_unwind(AssertUnwindSafe(|| stacker::maybe_grow(room, SIZE, job)));
    OPEN.set(open);
    result.map_err(|_| Lost::Panicked)
}
