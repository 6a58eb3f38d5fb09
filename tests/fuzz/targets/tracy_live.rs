//! Fuzz target: sends the input to kprof's Tracy server, in place of a viewer's bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::tracy_live(data));
