//! Glue: see `svit_fuzz::lisp`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: svit_fuzz::lisp::Input| svit_fuzz::lisp::check(input));
