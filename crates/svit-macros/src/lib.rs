//! Check Svit Lisp scripts when Rust compiles.
