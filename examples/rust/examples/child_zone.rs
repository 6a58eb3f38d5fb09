//! A zone for the whole kernel, and a zone for its inner loop.

#![no_std]
#![no_main]

mod work;

use kernel_profiler::{device_zone_scoped_main, device_zone_scoped_main_child};

/// Runs the kernel; called by the firmware.
///
/// # Safety
/// `launch` must point to the launch's words: see `work::word`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kernel_main(_launch: *const u32, _risc: u32) {
    device_zone_scoped_main!("KERNEL-MAIN");
    work::work(50);
    {
        device_zone_scoped_main_child!("KERNEL-INNER-LOOP");
        work::work(100);
    }
}
