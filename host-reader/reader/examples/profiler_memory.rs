//! Shows the address of the profiler's words in a firmware file: `profiler_memory brisc.elf`.

use reader::firmware_elf::{debug_info::DebugInfo, profiler::ProfilerMemory};
use std::{env, error::Error, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args().nth(1).ok_or("expected the path of a firmware's ELF file")?;
    let memory = ProfilerMemory::from_debug_info(&DebugInfo::parse(&fs::read(path)?)?)?;
    println!("control vector at {:#x}", memory.control_address);
    println!("{} vectors from {:#x} on", memory.processor_count(), memory.vector_address());
    Ok(())
}

#[test]
fn a_file_without_debug_information_is_refused_with_the_reason() {
    let error = DebugInfo::parse(b"\x7fELF").unwrap_err();
    assert!(error.to_string().starts_with("expected an ELF file with DWARF"), "{error}");
}
