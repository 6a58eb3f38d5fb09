//! A wait through the profiler's macros, and a plain loop. Both compile to the same code if waits
//! are not recorded.

#![allow(unsafe_code, reason = "exported functions, a word that others change")]

use core::ptr;
use kernel_profiler::{device_signal, device_wait};

/// Waits for a word through the profiler's macros.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".text.probe.recorded_wait")]
extern "C" fn recorded_wait(address: u32) {
    device_wait!(SEM_WAIT, address, is_set(address));
    device_signal!(SEM_SET, address);
}

/// Waits for a word without the profiler's macros.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".text.probe.unrecorded_wait")]
extern "C" fn unrecorded_wait(address: u32) {
    if !is_set(address) {
        while !is_set(address) {}
    }
}

#[inline(always)]
fn is_set(address: u32) -> bool {
    let word = ptr::with_exposed_provenance::<u32>(address as usize);
    // SAFETY: a test passes the address of a word of L1, to which nobody has a reference.
    unsafe { word.read_volatile() != 0 }
}
