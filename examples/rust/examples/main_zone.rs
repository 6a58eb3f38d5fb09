//! A zone for the whole kernel, within the firmware's zone, which uses the guaranteed slots.

#![no_std]
#![no_main]

mod work;

use kernel_profiler::device_zone_scoped_main;

/// Runs the kernel; called by the firmware.
///
/// # Safety
/// `launch` must point to the launch's words: see `work::word`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kernel_main(_launch: *const u32, _risc: u32) {
    device_zone_scoped_main!("KERNEL-MAIN");
    work::work(100);
}
