//! Data records: a number, and the time at which it was recorded.

#![no_std]
#![no_main]

mod work;

use kernel_profiler::device_timestamped_data;

/// Runs the kernel; called by the firmware.
///
/// # Safety
/// `launch` must point to the launch's words: see `work::word`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kernel_main(launch: *const u32, _risc: u32) {
    // SAFETY: the words of a launch contain the argument count and the arguments.
    let word = |index| unsafe { work::word(launch, index) };
    let iterations = if word(3) > 0 { word(4) } else { 3 };
    for i in 0..iterations {
        device_timestamped_data!("IterationData", u64::from(i));
        work::work(50);
    }
}
