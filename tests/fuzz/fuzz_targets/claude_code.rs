//! See `auto_fuzz::claude_code`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| auto_fuzz::claude_code(bytes));
