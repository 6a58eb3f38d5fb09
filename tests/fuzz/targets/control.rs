//! Control vectors through a mesh.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::control(data));
