//! A zone that lasts from the macro to the end of its block.

#![no_std]
#![no_main]

mod work;

use kernel_profiler::device_zone_scoped;

/// Runs the kernel; called by the firmware.
///
/// # Safety
/// `launch` must point to the launch's words: see `work::word`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kernel_main(_launch: *const u32, _risc: u32) {
    device_zone_scoped!("MyKernelOperation");
    work::work(100);
}
