//! Glue: see `svit_fuzz::edits`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: svit_fuzz::edits::Input| svit_fuzz::edits::check(input));
