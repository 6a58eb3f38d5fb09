//! A loop that polls, in each of four passes until 1,000 cycles have passed for each earlier pass:
//! its waits are added up into one record, and the first pass waits for nothing.
//!
//! Needs the feature `waits` and a linker script of `kprof sdk --waits`.

#![no_std]
#![no_main]

mod work;

use kernel_profiler::device_wait;

/// Address of the word for which a kernel would wait; this one waits for the clock.
const READY: u32 = 0x1234;

/// Runs the kernel; called by the firmware.
///
/// # Safety
/// `launch` must point to the launch's words: see `work::word`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kernel_main(_launch: *const u32, _risc: u32) {
    for pass in 0..4 {
        let begun = work::now();
        device_wait!(SEM_WAIT, READY, work::now().wrapping_sub(begun) >= 1000 * pass);
    }
}
