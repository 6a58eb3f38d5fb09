//! Fuzz target: reads the input as an ops CSV, for the performance report.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::ops_csv(data));
