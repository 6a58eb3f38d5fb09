//! Fuzz target: reads a mesh with control vectors and DRAM words from the input.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::control(data));
