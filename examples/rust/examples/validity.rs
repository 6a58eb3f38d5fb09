//! Discards the records of a launch with invalid data, which the runtime argument 0 indicates.

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
    // SAFETY: the words of a launch contain the argument count and the arguments.
    let word = |index| unsafe { work::word(launch, index) };
    let data_valid = word(3) > 0 && word(4) != 0;
    device_validate_profiler!(data_valid);
    if data_valid {
        device_zone_scoped!("MyKernelOperation");
        work::work(100);
    }
}
