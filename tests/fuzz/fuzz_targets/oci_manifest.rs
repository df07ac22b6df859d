//! See `auto_fuzz::oci_manifest`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| auto_fuzz::oci_manifest(bytes));
