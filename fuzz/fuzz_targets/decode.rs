//! Glue: see `svit_fuzz::decode`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: svit_fuzz::decode::Input| svit_fuzz::decode::check(input));
