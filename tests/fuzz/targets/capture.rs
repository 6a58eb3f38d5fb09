//! Fuzz target: reads the input as a capture.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::capture(data));
