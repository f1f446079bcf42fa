//! Glue: see `svit_fuzz::filter`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: svit_fuzz::filter::Input| svit_fuzz::filter::check(input));
