//! Fuzz target: decodes the input as the words of a lane.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::decode(data));
