//! See `auto_fuzz::auto_jsonl`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| auto_fuzz::auto_jsonl(bytes));
