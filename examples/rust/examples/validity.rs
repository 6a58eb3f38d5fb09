//! Discards the records of a launch with invalid data; the runtime argument is 0 if it is invalid.

#![no_std]
#![no_main]

mod work;

use kernel_profiler::{device_validate_profiler, device_zone_scoped};

/// Runs the kernel; called by the firmware.
///
/// # Safety
/// `launch` must point to the launch's words: see `work::word`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kernel_main(launch: *const u32, _risc: u32) {
    // SAFETY: a launch has the count of its arguments, and those.
    let word = |index| unsafe { work::word(launch, index) };
    let data_valid = word(3) > 0 && word(4) != 0;
    device_validate_profiler!(data_valid);
    if data_valid {
        device_zone_scoped!("MyKernelOperation");
        work::work(100);
    }
}
