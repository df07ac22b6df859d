//! See `auto_fuzz::types`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| auto_fuzz::types(bytes));
