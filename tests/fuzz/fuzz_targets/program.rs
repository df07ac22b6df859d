//! See `auto_fuzz::program`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| auto_fuzz::program(bytes));
