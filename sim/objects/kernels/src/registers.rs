//! Volatile reads and writes of registers and memory words by address.

#![allow(unsafe_code, reason = "registers of the NoC and of streams")]

use core::ptr;

/// True if the object code is for a Blackhole.
pub(crate) const IS_BLACKHOLE: bool = cfg!(feature = "blackhole");

#[inline(always)]
pub(crate) fn read(register: u32) -> u32 {
    // SAFETY: callers name registers that exist and may be read.
    unsafe { ptr::with_exposed_provenance::<u32>(register as usize).read_volatile() }
}

#[inline(always)]
pub(crate) fn write(register: u32, word: u32) {
    // SAFETY: callers name registers that may be written, or memory that belongs to the kernel and
    // to which nobody holds a reference.
    unsafe { ptr::with_exposed_provenance_mut::<u32>(register as usize).write_volatile(word) }
}
