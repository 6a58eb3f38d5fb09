//! Zone logs.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::zone_log(data));
