//! Ops CSVs, to the performance report.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::ops_csv(data));
