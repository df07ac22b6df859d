//! See `auto_fuzz::tau_bench`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| auto_fuzz::tau_bench(bytes));
