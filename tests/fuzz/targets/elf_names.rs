//! Zone names in ELFs.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::elf_names(data));
