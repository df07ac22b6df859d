//! See `auto_fuzz::auto_toml`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| auto_fuzz::auto_toml(bytes));
