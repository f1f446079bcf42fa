//! Glue: see `svit_fuzz::url`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: svit_fuzz::url::Input| svit_fuzz::url::check(input));
