//! Bytes that a viewer of Tracy sends.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::tracy_live(data));
