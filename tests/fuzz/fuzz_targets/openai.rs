//! See `auto_fuzz::openai`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| auto_fuzz::openai(bytes));
