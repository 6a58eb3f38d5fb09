//! A whole capture, damaged as the bytes say.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::damaged_capture(data));
