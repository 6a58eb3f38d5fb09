//! Panic handler of kernels.

#![allow(unsafe_code, reason = "an instruction")]

use core::panic::PanicInfo;

/// Stops the core with `ebreak`, which a debugger reports. Required by `no_std`; no kernel panics.
#[panic_handler]
fn stop(_: &PanicInfo<'_>) -> ! {
    loop {
        // SAFETY: stops the core.
        unsafe { core::arch::asm!("ebreak") };
    }
}
