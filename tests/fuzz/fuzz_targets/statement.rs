//! See `auto_fuzz::statement`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| auto_fuzz::statement(bytes));
