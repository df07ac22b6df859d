//! See `auto_fuzz::cbin`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| auto_fuzz::cbin(bytes));
