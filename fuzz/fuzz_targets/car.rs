//! Glue: see `svit_fuzz::car`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: svit_fuzz::car::Input| svit_fuzz::car::check(input));
