//! The RISC that runs a kernel, and what the firmware calls.

#![allow(unsafe_code, reason = "entry points, the wall clock and the launch message")]

use crate::body::{self, Environment};
use core::{panic::PanicInfo, ptr};

/// A kernel's part of the launch message: launch index, argument count, arguments.
pub(crate) struct Launch(*const u32);

impl Launch {
    #[inline(always)]
    fn word(&self, index: u32) -> u32 {
        let word = self.0.wrapping_add(index as usize);
        // SAFETY: the firmware passes the address of the message, and only words that its
        // own count says are there are asked for.
        unsafe { word.read_volatile() }
    }
}

impl Environment for Launch {
    #[inline(always)]
    fn spin(&mut self, cycles: u32) {
        let start = wall_clock_low();
        while wall_clock_low().wrapping_sub(start) < cycles {}
    }

    #[inline(always)]
    fn arg(&self, index: u32) -> u32 {
        if index < self.word(1) { self.word(2 + index) } else { 0 }
    }
}

#[inline(always)]
fn wall_clock_low() -> u32 {
    // SAFETY: the register exists on every tile; reading it changes no memory.
    unsafe { ptr::with_exposed_provenance::<u32>(WALL_CLOCK_LOW).read_volatile() }
}

const WALL_CLOCK_LOW: usize = 0xFFB1_21F0;

/// What the firmware calls: one function per kernel, named like its body.
macro_rules! exported {
    ($($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            #[unsafe(link_section = ".text.kernel")]
            extern "C" fn $name(launch: *const u32) {
                body::$name(&mut Launch(launch));
            }
        )*
    };
}

exported! {
    empty work full_buffer timestamped_events wide_data cycle_count sums
    matmul_reader matmul_compute matmul_writer
}

/// Nothing here panics; if it did, the core would stop where a debugger sees it.
#[panic_handler]
fn stop(_: &PanicInfo<'_>) -> ! {
    loop {
        // SAFETY: stops the core.
        unsafe { core::arch::asm!("ebreak") };
    }
}
