//! The static library that `kernel_profiler.hpp` calls: this crate's functions with C's
//! calling convention, and what becomes of a panic. How to build and to link it stands in
//! that header.

#![no_std]

extern crate kernel_profiler;

/// Nothing here panics; if it did, the core would stop where a debugger sees it.
#[panic_handler]
fn stop(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        breakpoint();
    }
}

#[allow(unsafe_code, reason = "an instruction")]
fn breakpoint() {
    // SAFETY: stops the core.
    unsafe { core::arch::asm!("ebreak") };
}
