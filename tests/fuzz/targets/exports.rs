//! Captures, to every export.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::exports(data));
