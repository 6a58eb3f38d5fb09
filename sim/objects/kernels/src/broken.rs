//! Kernels that fail, to test how the simulator reports failures.

#![allow(unsafe_code, reason = "going wrong is the purpose")]

use core::{arch::asm, ptr};
use kernel_profiler::device_zone_scoped;

/// Never returns.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".text.kernel")]
extern "C" fn broken_endless(_: *const u32) {
    device_zone_scoped!("ENDLESS");
    loop {
        // SAFETY: does nothing.
        unsafe { asm!("nop") };
    }
}

/// Stores beyond the end of L1.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".text.kernel")]
extern "C" fn broken_store(_: *const u32) {
    device_zone_scoped!("STORE-OUTSIDE");
    // SAFETY: there is none; the simulator stops here.
    unsafe { ptr::with_exposed_provenance_mut::<u32>(0x0100_0000).write_volatile(1) };
}

/// Loads from a register that does not exist.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".text.kernel")]
extern "C" fn broken_load(_: *const u32) {
    // SAFETY: there is none; the simulator stops here.
    unsafe { ptr::with_exposed_provenance::<u32>(0xFFB1_2FFC).read_volatile() };
}

/// Overwrites the first instruction of its own firmware.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".text.kernel")]
extern "C" fn broken_overwrite(_: *const u32) {
    // SAFETY: there is none; the simulator stops here.
    unsafe { ptr::with_exposed_provenance_mut::<u32>(0x4000).write_volatile(0) };
}

/// Executes a word that is not an instruction.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".text.kernel")]
extern "C" fn broken_instruction(_: *const u32) {
    // SAFETY: there is none; the simulator stops here.
    unsafe { asm!(".word 0") };
}

/// Stops the core, as a panic does.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".text.kernel")]
extern "C" fn broken_panic(_: *const u32) {
    // SAFETY: stops the core.
    unsafe { asm!("ebreak") };
}
