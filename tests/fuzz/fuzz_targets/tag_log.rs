//! See `auto_fuzz::tag_log`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| auto_fuzz::tag_log(bytes));
