//! Glue: see `svit_fuzz::pattern`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: svit_fuzz::pattern::Input| svit_fuzz::pattern::check(input));
