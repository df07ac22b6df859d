//! See `auto_fuzz::langfuse`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| auto_fuzz::langfuse(bytes));
