//! See `auto_fuzz::envelope`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| auto_fuzz::envelope(bytes));
