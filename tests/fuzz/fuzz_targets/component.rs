//! See `auto_fuzz::component`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| auto_fuzz::component(bytes));
