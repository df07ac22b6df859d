//! See `auto_fuzz::otlp`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| auto_fuzz::otlp(bytes));
