//! See `auto_fuzz::anthropic`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| auto_fuzz::anthropic(bytes));
