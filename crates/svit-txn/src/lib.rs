//! Versioned atomic state transitions of one process.
