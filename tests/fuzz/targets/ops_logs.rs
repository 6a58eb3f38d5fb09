//! Logs of TT-Metal's host and device, to the ops report.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::ops_logs(data));
