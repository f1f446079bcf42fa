//! svit: memory and behavior, committed together.
