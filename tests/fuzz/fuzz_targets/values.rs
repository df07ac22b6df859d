//! See `auto_fuzz::values`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| auto_fuzz::values(bytes));
