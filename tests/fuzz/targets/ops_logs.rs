//! Fuzz target: reads the input as logs of TT-Metal's host and device, for the ops report.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::ops_logs(data));
