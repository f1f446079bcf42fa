//! Enough stack for the recursion of parser and interpreter, whatever stack the caller has.

/// What a call needs, unoptimized builds included, where an evaluation takes some 5 KiB; with less than that left, it gets a stack of its own.
const NEEDED: usize = 48 << 20;
/// The size of such a stack. Only what is touched takes memory.
const SIZE: usize = 64 << 20;
/// What is kept back: for functions of the interpreter that recurse without evaluating anything.
const RESERVE: usize = 4 << 20;

/// What a filter needs whose calls hold on to each other; see [`super::gauge::MAX_CHAINED`].
const NEEDED_FOR_CHAINS: usize = 128 << 20;

pub(super) fn with_enough<T>(chains: bool, work: impl FnOnce() -> T) -> T {
    if chains {
        stacker::maybe_grow(NEEDED_FOR_CHAINS, NEEDED_FOR_CHAINS + SIZE, work)
    } else {
        stacker::maybe_grow(NEEDED, SIZE, work)
    }
}

/// The address that the stack of an evaluation may not pass.
pub(super) fn floor() -> usize {
    let mark = 0_u8;
    let here = std::ptr::from_ref(&mark).addr();
    let left = stacker::remaining_stack().unwrap_or(NEEDED);
    here.saturating_sub(left.saturating_sub(RESERVE))
}
