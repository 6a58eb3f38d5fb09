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
        // SAFETY: no instruction at all. The compiler counts it as one, and therefore considers the
        // beginning of a probe too long to be copied to the end of the previous probe.
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
        // SAFETY: no instruction at all. The compiler must place all earlier stores before it, and
        // all uses of `high` after it. Otherwise the core would stall at the first use of `high`
        // before it has issued the stores.
        unsafe { asm!("/* {} */", inout(reg) high, options(nostack, preserves_flags)) };
        ClockWords { high, low }
    }

    /// Keeps the mask in a register across a loop. With the default implementation, the compiler
    /// would use two shifts for each mask operation.
    #[inline(always)]
    fn await_masked(&mut self, reading: ClockWords) -> ClockWords {
        let ClockWords { mut high, low } = reading;
        // SAFETY: one instruction that uses only registers. For its position, see `await_reading`.
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
