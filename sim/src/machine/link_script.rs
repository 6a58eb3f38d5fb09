//! Linker scripts for users' kernels, with the addresses of the embedded firmware's symbols.
//!
//! A kernel is linked with this script and nothing else. The script defines, by name and address,
//! the firmware variables that the profiler's probes use. A kernel therefore works only with the
//! build of the firmware whose addresses are in the script. The value of a symbol identifies that
//! build.

use super::{
    core_code::file_region,
    images::{self, ParsedImage, Selection},
};
use crate::riscv::LOCAL_RAM_BASE;
use std::fmt::Write as _;
use wire::CoreKind;

/// The symbol whose value identifies the build of the firmware.
pub const MARK: &str = "__kprof_firmware";

/// Returns the linker script for kernels on one processor of a Tensix core, for the firmware of a
/// variant of the object code.
///
/// # Panics
/// If a Tensix core has no processor with this index, or if there is no such firmware.
///
/// ```
/// use sim::{arch::Arch, machine::{images::Selection, link_script::link_script}};
/// let script = link_script(Selection::new(Arch::Blackhole, false), 1);
/// assert!(script.contains("ORIGIN = 0x110000"));
/// assert!(script.contains("__kprof_firmware = 0x"));
/// ```
#[must_use]
pub fn link_script(selection: Selection, risc_index: usize) -> String {
    let arch = selection.arch;
    let processor = images::processor(CoreKind::Tensix, risc_index);
    let firmware = images::find(selection, "firmware", processor)
        .expect("each processor has plain firmware, with and without sum zones, and that streams");
    let region = file_region(risc_index);
    let mut script = format!(
        "/* Kernels for {processor} of a simulated {} core, linked with nothing else. */\n\
         ENTRY(kernel_main)\n\
         MEMORY {{ KERNEL (rwx) : ORIGIN = {:#x}, LENGTH = {:#x} }}\n{SECTIONS}\
         /* What the firmware and this kernel share. */\n{MARK} = {:#x};\n",
        arch,
        region.start,
        region.end - region.start,
        mark(firmware),
    );
    for (name, address) in shared(firmware) {
        let _ = writeln!(script, "\"{name}\" = {address:#x};");
    }
    script
}

/// Returns the value that identifies the build of the firmware.
pub(crate) fn mark(firmware: &ParsedImage) -> u32 {
    ((firmware.digest ^ firmware.digest >> 32) & 0xFFFF_FFFF) as u32
}

/// Returns the firmware's symbols that kernels may use: variables and addresses, but no functions
/// and constants.
fn shared(firmware: &ParsedImage) -> Vec<(&str, u32)> {
    let (start, end) = firmware.bounds();
    let places = firmware.symbols().map(|(name, symbol)| (name, symbol.address));
    let shared = places.filter(|&(name, address)| {
        let is_variable = address >= LOCAL_RAM_BASE || name.starts_with("__");
        let is_name = !name.is_empty() && !name.starts_with(['$', '.']);
        is_name && is_variable && !(start..end).contains(&address) && !OWN.contains(&name)
    });
    shared.collect()
}

/// Symbols with the bounds of the firmware's own sections, which kernels must not use.
const OWN: [&str; 3] = ["__bss_start", "__bss_end", "__stack_top"];

const SECTIONS: &str = "\
PHDRS { code PT_LOAD FLAGS(5); data PT_LOAD FLAGS(6); }
SECTIONS
{
  .text : { KEEP(*(.text.kernel_main)) *(.text .text.*) } > KERNEL :code
  .rodata : ALIGN(4) { *(.rodata .rodata.* .srodata .srodata.*) } > KERNEL :code
  /* Variables of the kernel lie in L1; a launch begins with their first values. */
  .data : ALIGN(16) { *(.data .data.* .sdata .sdata.*) } > KERNEL :data
  .bss : ALIGN(4) { *(.bss .bss.* .sbss .sbss.*) . = ALIGN(4); } > KERNEL :data
  .kprof_zones 0 (INFO) : { KEEP(*(.kprof_zones)) }
  /DISCARD/ : { *(.comment .eh_frame .eh_frame_hdr .riscv.attributes .note .note.*) }
}
";
