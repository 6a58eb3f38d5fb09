//! Fuzz target: reads the input as a zone log.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::zone_log(data));
