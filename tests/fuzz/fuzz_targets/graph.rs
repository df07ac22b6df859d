//! See `auto_fuzz::graph`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| auto_fuzz::graph(bytes));
