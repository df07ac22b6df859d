//! See `auto_fuzz::returned`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| auto_fuzz::returned(bytes));
