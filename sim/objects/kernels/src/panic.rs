//! What a kernel does that panics.

#![allow(unsafe_code, reason = "an instruction")]

use core::panic::PanicInfo;

/// Stops the core where a debugger sees it. Nothing here panics.
#[panic_handler]
fn stop(_: &PanicInfo<'_>) -> ! {
    loop {
        // SAFETY: stops the core.
        unsafe { core::arch::asm!("ebreak") };
    }
}
