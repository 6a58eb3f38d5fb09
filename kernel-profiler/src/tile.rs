//! Access to the tile's L1 and wall clock. Every RISC uses this code.

#![allow(unsafe_code, reason = "L1 at addresses that the firmware or a launch names")]

use crate::{
    port::ClockWords,
    registers::{WALL_CLOCK_HIGH, WALL_CLOCK_LOW},
};
use core::{arch::asm, ptr};

/// Reads a word of L1.
#[inline(always)]
pub(crate) fn load(address: u32) -> u32 {
    let word = ptr::with_exposed_provenance::<u32>(address as usize);
    // SAFETY: only ports call this function. Each address is that of a word of the control vector
    // or of a vector of one of the core's RISCs. On the core of a relay, it may also be that of a
    // word that the caller of the relay has given to the relay. These words are aligned and exist
    // as long as the program runs, and no Rust object contains them. Volatile, since other RISCs,
    // the NoC and the host write to them.
    unsafe { word.read_volatile() }
}

/// Writes a word of L1.
#[inline(always)]
pub(crate) fn store(address: u32, value: u32) {
    let word = ptr::with_exposed_provenance_mut::<u32>(address as usize);
    // SAFETY: as in `load`, and the program holds no reference to any of these words. The address
    // of the next record stays within its vector: the used words, the free room, and the room
    // reserved for ends of open zones and for totals of sums add up to the vector's size.
    unsafe { word.write_volatile(value) }
}

/// Makes writes by other RISCs, the NoC and the host visible to this RISC, in case its data cache
/// is on.
///
/// # Compatibility
/// `invalidate_l1_cache` of tt-metal. A Wormhole has no data cache.
#[inline(always)]
pub(crate) fn forget_cached() {
    if cfg!(feature = "blackhole") {
        // SAFETY: empties the data cache, which contains only what is also in memory.
        unsafe { asm!("fence", options(nostack, preserves_flags)) };
    }
}

/// Waits until a store has reached L1. After the store, the caller loads the same address and
/// passes the result of the load as `loaded`.
///
/// A store to a NoC register may overtake a store to L1, but not a load whose result has been used.
/// A load waits for an earlier store to the same address.
#[inline(always)]
pub(crate) fn settle(loaded: u32) {
    // SAFETY: an instruction that only reads a register. It makes the core wait for the load, and
    // is not removed, because the compiler cannot look into it.
    unsafe { asm!("mv zero, {}", in(reg) loaded, options(nostack, preserves_flags)) }
}

/// Reads the low word of the clock and then the current high word, not the one that the hardware
/// latched when the low word was read.
#[inline(always)]
pub(crate) fn clock() -> ClockWords {
    let low = WALL_CLOCK_LOW.read();
    let high = WALL_CLOCK_HIGH.read();
    ClockWords { high, low }
}

/// Reads the low word of the clock.
#[inline(always)]
pub(crate) fn clock_low() -> u32 {
    WALL_CLOCK_LOW.read()
}
