//! The tile's wall clock.

use super::Tensix;
use crate::{
    port::{Clock, ClockWords},
    tile,
};
use core::arch::asm;
use wire::marker;

impl Clock for Tensix {
    #[inline(always)]
    fn now(&mut self) -> ClockWords {
        // SAFETY: no instruction at all. Counts as one, so that the compiler does not take a
        // probe's beginning for so short that it copies it behind the probe before.
        unsafe { asm!("", options(nomem, nostack, preserves_flags)) };
        tile::clock()
    }

    #[inline(always)]
    fn now_low(&mut self) -> u32 {
        tile::clock_low()
    }

    #[inline(always)]
    fn await_reading(&mut self, reading: ClockWords) -> ClockWords {
        let ClockWords { mut high, low } = reading;
        // SAFETY: no instruction at all. The compiler must have done all stores before it,
        // and cannot compute with `high` until after it; the core would stall at the first
        // use of `high`, with the stores behind it.
        unsafe { asm!("/* {} */", inout(reg) high, options(nostack, preserves_flags)) };
        ClockWords { high, low }
    }

    /// Keeps the mask in a register across a loop. Without this implementation, the compiler would
    /// use two shifts each time.
    #[inline(always)]
    fn await_masked(&mut self, reading: ClockWords) -> ClockWords {
        let ClockWords { mut high, low } = reading;
        // SAFETY: one instruction between registers; what is said above holds as well.
        unsafe {
            asm!(
                "and {high}, {high}, {mask}",
                high = inout(reg) high,
                mask = in(reg) marker::TIME_HIGH_MASK,
                options(nostack, preserves_flags),
            );
        };
        ClockWords { high, low }
    }
}
