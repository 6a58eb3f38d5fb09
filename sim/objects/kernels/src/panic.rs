//! Panic handler of kernels.

#![allow(unsafe_code, reason = "an instruction")]

use core::panic::PanicInfo;

/// Stops the core in a way that a debugger sees. No code here panics.
#[panic_handler]
fn stop(_: &PanicInfo<'_>) -> ! {
    loop {
        // SAFETY: stops the core.
        unsafe { core::arch::asm!("ebreak") };
    }
}
