//! Words of a lane.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::decode(data));
