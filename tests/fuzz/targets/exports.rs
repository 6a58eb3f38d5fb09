//! Fuzz target: reads the input as a capture, and writes every export.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::exports(data));
