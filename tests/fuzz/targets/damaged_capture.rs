//! Fuzz target: damages a valid capture in the ways that the input encodes, and reads it.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::damaged_capture(data));
