//! Fuzz target: reads the input as a device log.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::device_log(data));
