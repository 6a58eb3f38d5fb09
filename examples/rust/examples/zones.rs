//! A zone for each phase of a kernel.

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
    {
        device_zone_scoped!("LoadData");
        work::work(100);
    }
    {
        device_zone_scoped!("Compute");
        work::work(300);
    }
    {
        device_zone_scoped!("StoreData");
        work::work(200);
    }
}
