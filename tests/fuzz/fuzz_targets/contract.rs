//! See `auto_fuzz::contract`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| auto_fuzz::contract(bytes));
