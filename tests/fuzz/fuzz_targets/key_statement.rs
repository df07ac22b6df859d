//! See `auto_fuzz::key_statement`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| auto_fuzz::key_statement(bytes));
