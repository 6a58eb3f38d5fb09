//! Fuzz target: reads zone names from the input as from an ELF file.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tests::fuzz::elf_names(data));
