//! Glue: see `svit_fuzz::path`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: svit_fuzz::path::Input| svit_fuzz::path::check(input));
