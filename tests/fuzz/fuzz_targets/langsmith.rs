//! See `auto_fuzz::langsmith`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| auto_fuzz::langsmith(bytes));
