//! See `auto_fuzz::registry_index`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| auto_fuzz::registry_index(bytes));
