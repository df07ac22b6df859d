//! See `auto_fuzz::papers`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| auto_fuzz::papers(bytes));
